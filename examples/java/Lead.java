// Acts only while it leads. It needs Podesta.java: javac Lead.java Podesta.java && java Lead
import java.net.URI;
import java.net.http.*;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.concurrent.TimeUnit;

class Lead {
  public static void main(String[] args) throws Exception {
    Podesta.run(lead -> {
      do {
        lead.check(); // right before each act: throws Over
        act(lead.epoch);
      } while (!lead.over.await(50, TimeUnit.MILLISECONDS));
    });
  }

  static void act(long epoch) throws Exception { // the resource refuses an epoch that is stale
    var put = HttpRequest.newBuilder(URI.create(System.getenv("RESOURCE")));
    put.header("Podesta-Epoch", "" + epoch).PUT(BodyPublishers.ofString(System.getenv("HOSTNAME")));
    put.timeout(java.time.Duration.ofSeconds(1));
    var answer = HttpClient.newHttpClient().send(put.build(), BodyHandlers.discarding());
    if (answer.statusCode() != 200) throw new IllegalStateException("refused: another one leads");
  }
}
