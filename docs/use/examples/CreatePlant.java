import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;

/**
 * Creates one plant, and retries until the outcome is known. Needs Java 17 or later.
 *
 * <pre>URL=http://127.0.0.1:8080 TOKEN=... java CreatePlant.java ID NAME [TAG]</pre>
 *
 * Exit code: 0 stored, 1 not stored, 2 may be stored.
 */
public class CreatePlant {
  static final Duration CREATE_TIMEOUT = ofSeconds(60);
  static final Duration ATTEMPT_TIMEOUT = ofSeconds(10);
  static final Duration PAUSE_MAX = ofSeconds(5);
  // Errors of status 503 that say that the plant was not stored: overloaded, shutting down.
  static final Pattern NOT_STORED = Pattern.compile("\"error\":(50300|50302),");

  static class CreateException extends Exception {
    /**
     * False: nothing was stored. True: the plant is stored once, or not at all. Creating the same
     * plant again settles the outcome.
     */
    final boolean mayBeStored;

    CreateException(boolean mayBeStored, String why) {
      super((mayBeStored ? "may be stored: " : "not stored: ") + why);
      this.mayBeStored = mayBeStored;
    }
  }

  // Follows no redirect, which would send the token to a different address.
  final HttpClient client = HttpClient.newHttpClient();
  final HttpRequest.Builder requests;

  CreatePlant(String url, String token) {
    requests =
        HttpRequest.newBuilder(URI.create(url.replaceAll("/+$", "") + "/plants"))
            .header("Authorization", "Bearer " + token.strip())
            .header("Content-Type", "application/json");
  }

  /** Returns when the plant is stored. A plant without a tag has the tag null. */
  void create(long id, String name, String tag) throws CreateException, InterruptedException {
    // All attempts send the same body. A long is exact.
    var tagMember = tag == null ? "" : ",\"tag\":" + quote(tag);
    var body = "{\"id\":%d,\"name\":%s%s}".formatted(id, quote(name), tagMember);
    var deadline = System.nanoTime() + CREATE_TIMEOUT.toNanos();
    var mayBeStored = false;
    for (var limit = ofMillis(100); ; limit = min(limit.multipliedBy(2), PAUSE_MAX)) {
      var pause = ofMillis(ThreadLocalRandom.current().nextLong(limit.toMillis()));
      String why;
      try {
        var reply = send(body, Duration.ofNanos(deadline - System.nanoTime()));
        var status = reply.statusCode();
        var requestId = field(reply, "X-Request-Id");
        why = "status %d %s (request %s)".formatted(status, reply.body(), requestId);
        if (status == 200) {
          checkId(id, field(reply, "Plant-Id"));
          return;
        }
        // A 400 of the service is about the plant, and so holds for the attempts before.
        if (status == 400 && reply.body().contains("\"error\":40")) throw new CreateException(false, why);
        if (status < 500 && status != 408 && status != 429)
          throw new CreateException(mayBeStored, why);
        if (status >= 500 && !NOT_STORED.matcher(reply.body()).find()) mayBeStored = true;
        pause = pause.plus(seconds(field(reply, "Retry-After")));
      } catch (IOException noReply) {
        mayBeStored = true;
        why = "no reply: " + noReply;
      }
      // Too little time would be left for an attempt.
      if (System.nanoTime() + pause.plusSeconds(1).toNanos() > deadline)
        throw new CreateException(mayBeStored, why);
      Thread.sleep(pause.toMillis());
    }
  }

  HttpResponse<String> send(String body, Duration left) throws IOException, InterruptedException {
    var timeout = min(ATTEMPT_TIMEOUT, left);
    var request = requests.copy().timeout(timeout).POST(BodyPublishers.ofString(body)).build();
    return client.send(request, BodyHandlers.ofString());
  }

  static void checkId(long sent, String stored) throws CreateException {
    if (!stored.equals(Long.toString(sent)))
      throw new CreateException(true, "the service has stored the id " + stored);
  }

  static String field(HttpResponse<?> reply, String name) {
    return reply.headers().firstValue(name).orElse("");
  }

  /** A proxy may send a date in Retry-After, which counts as 0. */
  static Duration seconds(String retryAfter) {
    return ofSeconds(retryAfter.matches("\\d{1,9}") ? Long.parseLong(retryAfter) : 0);
  }

  static Duration min(Duration one, Duration other) {
    return one.compareTo(other) < 0 ? one : other;
  }

  /** A JSON string. */
  static String quote(String text) {
    var quoted = new StringBuilder("\"");
    for (var unit : text.toCharArray())
      if (unit < ' ' || unit == '"' || unit == '\\') quoted.append("\\u%04x".formatted((int) unit));
      else quoted.append(unit);
    return quoted.append('"').toString();
  }

  public static void main(String[] args) throws InterruptedException {
    if (args.length < 2 || !args[0].matches("-?\\d{1,19}")) {
      System.err.println("usage: CreatePlant ID NAME [TAG]");
      System.exit(1);
    }
    var plants = new CreatePlant(System.getenv("URL"), System.getenv("TOKEN"));
    try {
      plants.create(Long.parseLong(args[0]), args[1], args.length > 2 ? args[2] : null);
      System.out.println("stored: " + args[0]);
    } catch (CreateException failure) {
      System.err.println(failure.getMessage());
      System.exit(failure.mayBeStored ? 2 : 1);
    }
  }
}
