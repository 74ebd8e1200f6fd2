// Acts only while it may, in a Guarded group: java Lead.java. It ends when it can no longer know,
// and is started again, as the containers of a pod are.
import java.io.*;
import java.math.BigDecimal;
import java.net.URI;
import java.net.http.*;
import java.nio.file.*;
import java.util.regex.Pattern;

class Lead {
  static volatile boolean over;
  static final HttpClient http = HttpClient.newHttpClient();

  public static void main(String[] args) throws Exception {
    var session = new Session();
    var work = Thread.currentThread();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> { // SIGTERM: the work stops first
      over = true;
      try { work.join(); } catch (InterruptedException e) { }
    }));
    for (; !over && !session.ended; Thread.sleep(50)) {
      session.acknowledge(); // from here, because it says that this loop goes on
      var p = session.permission;
      if (clock() < field(p, "deadlineBoottimeNanoseconds")) act(field(p, "epoch")); // right before each act
      else if (session.revoked()) { // the work has stopped, and closing gives back what is left
        var last = session;
        session = new Session();
        last.events.close();
      }
    }
  } // the work has stopped: only now does the session end, which gives the permission back

  static class Session { // opening one ties the candidacy of this pod to this program
    volatile String permission = "", question = "";
    volatile boolean granted, ended;
    final InputStream events;

    Session() throws Exception {
      var open = agent("/v1/session").header("Podesta-Session", "acknowledged").build();
      events = http.send(open, HttpResponse.BodyHandlers.ofInputStream()).body();
      var follower = new Thread(() -> {
        try { new BufferedReader(new InputStreamReader(events)).lines().forEach(this::read); }
        catch (UncheckedIOException e) { } // this program, or the agent, has closed it
        finally { ended = true; }
      });
      follower.setDaemon(true);
      follower.start();
    }

    void acknowledge() throws Exception { // the agent asks again if it gets no answer
      if (question.isEmpty()) return;
      var answer = agent("/v1/acknowledge").header("Podesta-Acknowledge", question);
      answer.POST(HttpRequest.BodyPublishers.noBody()).timeout(java.time.Duration.ofSeconds(1));
      question = "";
      try { http.send(answer.build(), HttpResponse.BodyHandlers.discarding()); } catch (IOException e) { }
    }

    boolean revoked() { return granted && permission.isEmpty(); } // in this order: read changes granted last

    void read(String line) {
      if (!line.startsWith("data: ")) return;
      var asked = Pattern.compile("\"acknowledge\":\"(\\w+)\"").matcher(line);
      if (asked.find()) { question = asked.group(1); return; }
      long left = field(line, "remainingMilliseconds") * 1_000_000;
      if (field(line, "deadlineBoottimeNanoseconds") - left > clock() + 1_000_000)
        throw new IllegalStateException("the agent has another clock than /proc/uptime");
      permission = line.contains("\"mayAct\":true") ? line : "";
      granted |= !permission.isEmpty();
    }
  }

  static HttpRequest.Builder agent(String path) {
    var address = System.getenv().getOrDefault("ELECTOR_PATH", "127.0.0.1:4040");
    return HttpRequest.newBuilder(URI.create("http://" + address + path));
  }

  // The number of a field of the permission; 0 if it has no such field.
  static long field(String json, String name) {
    var found = Pattern.compile("\"" + name + "\":(\\d+)").matcher(json);
    return found.find() ? Long.parseLong(found.group(1)) : 0;
  }

  // /proc/uptime is CLOCK_BOOTTIME, the agent's clock, cut off after 10 ms: it is at most this
  // late.
  static long clock() {
    try {
      var seconds = Files.readString(Path.of("/proc/uptime")).split(" ")[0];
      return new BigDecimal(seconds).movePointRight(9).longValueExact() + 10_000_000;
    } catch (IOException e) { throw new UncheckedIOException(e); }
  }

  // The resource refuses an epoch that is lower than one it has seen.
  static void act(long epoch) throws Exception {
    var name = HttpRequest.BodyPublishers.ofString(System.getenv("HOSTNAME"));
    var put = HttpRequest.newBuilder(URI.create(System.getenv("RESOURCE"))).PUT(name);
    put.header("Podesta-Epoch", "" + epoch).timeout(java.time.Duration.ofSeconds(1));
    if (http.send(put.build(), HttpResponse.BodyHandlers.discarding()).statusCode() != 200)
      throw new IllegalStateException("refused: another process coordinates");
  }
}
