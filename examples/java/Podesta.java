import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * Act only while this process leads its group: a file to copy. {@link #run} asks the Podesta agent
 * in the same pod (ELECTOR_PATH). The group must be Guarded, and the system Linux.
 *
 * <p>A lead is over when the agent revokes it or is gone, and when it is not renewed: three
 * quarters of the permission have passed then, and the work has the rest to stop. After a pause of
 * the program, {@link Lead#check} is the first to notice. The program may still be paused between
 * check and the effect. Where that matters, the resource must check the epoch.
 */
public final class Podesta {
  /** The lead is over: this process may act no more, or cannot know that it may. */
  public static final class Over extends RuntimeException {
    private static final long serialVersionUID = 1;

    Over(String why) { super("the lead is over: " + why); }
  }

  /** What is done while this process leads. It must end soon when the lead is over. */
  public interface Work { void lead(Lead lead) throws Exception; }

  /** The right to act, under one epoch, until it is over. */
  public static final class Lead {
    /** Pass it to every resource that you change. */
    public final long epoch;
    /** Is counted down when the lead is over. */
    public final CountDownLatch over = new CountDownLatch(1);
    private volatile String why; // null while it is not over
    private volatile long until, end;
    private long renewed, hangsAt; // from hangsAt on the work hangs; 0: its permission is not over
    private volatile boolean left; // the work has ended

    private Lead(Permission p, long at) {
      epoch = p.epoch;
      until = p.until;
      renewed = p.renewed;
      end = endOf(until, at);
    }

    /** Throws {@link Over} unless this process leads now. It reads the clock each time. */
    public void check() {
      look(clock());
      if (why != null) throw new Over(why);
    }

    private void look(long at) { if (at >= end) finish("the agent did not renew it in time"); }

    private synchronized void finish(String reason) {
      if (why == null) why = reason;
      over.countDown();
    }

    private void extend(Permission p, long at) { // it counts if the lease was renewed since
      until = Math.max(until, p.until);
      if (!p.renews(renewed)) return;
      renewed = p.renewed;
      end = Math.max(end, endOf(until, at));
    }
  }

  /**
   * Calls the work each time that this process leads, on the caller's thread, until the work ends
   * before its lead is over, or the JVM shuts down. It gives back the rest of the permission when
   * the work has ended, and not before. Work that goes on 50 ms after the permission has ended
   * loses the session: this process is no candidate until it has ended.
   */
  public static void run(Work work) throws Exception {
    if (!Files.isReadable(Path.of("/proc/uptime")))
      throw new UnsupportedOperationException("agents run on Linux: there is no /proc/uptime");
    var podesta = new Podesta();
    var ended = new CountDownLatch(1);
    var hook = new Thread(() -> { // SIGTERM: the work stops first
      podesta.stop();
      try { ended.await(); } catch (InterruptedException e) { }
    });
    Runtime.getRuntime().addShutdownHook(hook);
    try {
      podesta.sessions(work);
    } finally {
      ended.countDown();
      try { Runtime.getRuntime().removeShutdownHook(hook); } catch (IllegalStateException e) { }
    }
  }

  private static final long MS = 1_000_000; // in nanoseconds
  private static final long TICK = 10 * MS; // of /proc/uptime
  private static final int LINE = 64 << 10; // the longest line of the agent; real ones have 300

  private final URI agent = URI.create(
      "http://" + System.getenv().getOrDefault("ELECTOR_PATH", "127.0.0.1:4040"));
  private final CountDownLatch stopped = new CountDownLatch(1);
  private volatile Session session;

  private void stop() {
    stopped.countDown();
    var s = session;
    if (s != null) s.close("this program has stopped it");
  }

  private void sessions(Work work) throws Exception {
    for (int failures = 1; stopped.getCount() > 0; failures = session.heard ? 1 : failures + 1) {
      session = new Session();
      if (stopped.getCount() == 0) return;
      if (session.run(work)) return;
      var most = Math.min(50L << Math.min(failures - 1, 6), 2000);
      stopped.await(ThreadLocalRandom.current().nextLong(most), TimeUnit.MILLISECONDS);
    }
  }

  /** One session. Its thread reads what the agent sends; the work is on another one. */
  private final class Session {
    final BlockingQueue<Object> leads = new LinkedBlockingQueue<>(); // each Lead, then why it ended
    final long opened = clock();
    boolean heard, closing;
    Lead lead;
    Permission last = Permission.NONE, newest = Permission.NONE;
    long epoch, until;
    Socket socket, told;

    /** Reports whether no other session follows. */
    boolean run(Work work) throws Exception {
      var reader = new Thread(this::read, "podesta");
      reader.setDaemon(true);
      reader.start();
      try {
        while (true) {
          var next = leads.take();
          if (next instanceof Exception failure) throw failure;
          if (!(next instanceof Lead given)) return false;
          try {
            work.lead(given);
            if (given.why == null) return true;
          } catch (Over over) {
            if (given.why == null) throw over;
          } finally {
            left(given);
          }
        }
      } finally {
        shut();
      }
    }

    synchronized void left(Lead given) {
      if (given.why == null) close("its work has ended");
      given.left = true;
      if (closing) shut();
    }

    /** Ends the lead, and the session when the work has ended. */
    synchronized void close(String why) {
      closing = true;
      if (lead != null) lead.finish(why);
      if (!works()) shut();
    }

    synchronized void shut() {
      closing = true;
      try {
        if (socket != null) socket.close();
        if (told != null) told.close();
      } catch (IOException e) { }
    }

    boolean works() { return lead != null && !lead.left; }

    void read() {
      Object end = "the agent has ended the session";
      try {
        open();
        var in = socket.getInputStream();
        var buffer = new byte[LINE];
        for (int used = 0; step(); ) {
          int n;
          try { n = in.read(buffer, used, LINE - used); }
          catch (SocketTimeoutException e) { continue; }
          if (n <= 0) break; // 0: its line is too long
          used += n;
          int from = 0;
          for (int i = 0; i < used; i++) {
            if (buffer[i] != '\n') continue;
            hear(new String(buffer, from, i - from, StandardCharsets.UTF_8));
            from = i + 1;
          }
          System.arraycopy(buffer, from, buffer, 0, used -= from);
        }
      } catch (IOException e) { // the agent is not there, or this program has closed the session
        end = "the agent cannot be asked: " + e.getMessage();
      } catch (RuntimeException e) {
        end = e;
      }
      close("" + end);
      leads.add(end);
      while (hangs() > 0) { // closing gives the permission back, so the work ends first
        try { Thread.sleep(Math.max(1, hangs() / MS)); } catch (InterruptedException e) { return; }
      }
      shut();
    }

    synchronized long hangs() { return works() ? until + 50 * MS - clock() : 0; }

    void open() throws IOException {
      var s = connect("GET /v1/session", "Podesta-Session: acknowledged");
      synchronized (this) {
        socket = s;
        if (closing) shut();
      }
    }

    synchronized void hear(String line) throws IOException {
      if (line.startsWith("HTTP/") && !line.contains(" 200 ")) throw new IOException(line.trim());
      if (!line.startsWith("data: ")) return;
      var asked = Pattern.compile("\"acknowledge\":\"(\\w+)\"").matcher(line);
      if (asked.find()) post("/v1/acknowledge", "Podesta-Acknowledge: " + asked.group(1));
      if (!line.contains("\"mayAct\":")) return;
      long at = clock();
      var p = Permission.of(line, opened, at);
      heard = true;
      long gap = at - (last.until - last.length); // in which this program has read nothing
      boolean follows = last.length > 0 && p.length > 0 && last.epoch == p.epoch;
      boolean slow = follows && gap > last.length / 2;
      last = p;
      if (lead != null) lead.look(at);
      if (lead != null && (!p.granted() || p.epoch < epoch)) {
        p = Permission.NONE;
        if (at < until) close("the agent revoked it"); // else nothing is left to give back
      } else if (lead != null && lead.why == null) {
        lead.extend(p, at);
      }
      newest = p;
      epoch = Math.max(epoch, p.epoch);
      until = Math.max(until, p.until);
      if (slow) post("/v1/paused", "Podesta-Paused: " + gap / MS); // it asks for a longer lease
    }

    /** Does what is due, and reports whether the session stays open. */
    synchronized boolean step() throws IOException {
      long at = clock();
      if (lead != null) lead.look(at);
      if (!works()) {
        if (closing) return false;
        boolean fresh = newest.granted() && (lead == null || newest.renews(lead.renewed));
        if (fresh && at < endOf(newest.until, at)) leads.add(lead = new Lead(newest, at));
      } else if (lead.why != null && at >= lead.until) {
        if (lead.hangsAt == 0) lead.hangsAt = at + 50 * MS;
        if (at >= lead.hangsAt) return false;
      }
      long due = !works() ? 0 : lead.why == null ? lead.end :
          lead.hangsAt > 0 ? lead.hangsAt : lead.until;
      socket.setSoTimeout(due == 0 ? 0 : (int) Math.max(1, Math.min((due - at) / MS, 60_000)));
      return true;
    }

    void post(String path, String header) { // the agent asks again if that fails
      try {
        if (told != null) told.close(); // nobody reads what the agent says to it
        told = connect("POST " + path, header);
      } catch (IOException e) { }
    }

    Socket connect(String line, String header) throws IOException {
      var s = new Socket(agent.getHost(), agent.getPort()); // HTTP/1.0: its answers have no chunks
      var head = line + " HTTP/1.0\r\nHost: " + agent.getAuthority() + "\r\n" + header;
      head += "\r\nContent-Length: 0\r\n\r\n";
      s.getOutputStream().write(head.getBytes(StandardCharsets.UTF_8));
      return s;
    }
  }

  /** What the agent permits. Instants are readings of clock(). */
  private record Permission(long epoch, long until, long length, long renewed) {
    static final Permission NONE = new Permission(0, 0, 0, 0);

    static Permission of(String json, long opened, long at) {
      if (!json.contains("\"mayAct\":true")) return NONE;
      if (field(json, "epoch") == 0)
        throw new IllegalStateException("the group is Classic, and a lead needs a Guarded one");
      long until = field(json, "deadlineBoottimeNanoseconds");
      long length = Math.min(field(json, "remainingMilliseconds"), 3_600_000) * MS;
      if (until - length > at + MS || until - length < opened - TICK - MS)
        throw new IllegalStateException("the agent has another clock than /proc/uptime");
      long renewed = field(json, "renewedBoottimeNanoseconds");
      return new Permission(field(json, "epoch"), until, length, renewed);
    }

    boolean granted() { return epoch > 0; }

    boolean renews(long since) { return renewed == 0 || renewed > since; }

    private static long field(String json, String name) { // 0 if there is none
      var found = Pattern.compile("\"" + name + "\":(\\d+)").matcher(json);
      return found.find() ? Long.parseLong(found.group(1)) : 0;
    }
  }

  /** When a lead is over under a permission that is received at that instant. */
  private static long endOf(long until, long at) {
    return until - Math.max((until - at) / 4, 10 * MS);
  }

  /** CLOCK_BOOTTIME, the agent's clock. /proc/uptime is cut off: it is late by less than TICK. */
  private static long clock() {
    try {
      var seconds = Files.readString(Path.of("/proc/uptime")).split(" ")[0];
      return new BigDecimal(seconds).movePointRight(9).longValueExact() + TICK;
    } catch (IOException e) { throw new UncheckedIOException(e); }
  }
}
