package peer;

import akka.actor.ActorSystem;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import java.util.concurrent.TimeUnit;

/** The actor system and its settings. All that tells Akka from Pekko is here: the name, and the root of the configuration. */
final class Actors {
    static final String NAME = ActorSystem.class.getName().contains(".pekko.") ? "pekko" : "akka";
    static final String SYSTEM = "arena";
    static final String VERSION = ActorSystem.Version();
    /** Messages an actor may handle per turn on a thread. */
    static final int THROUGHPUT = 100;

    private static final String SETTINGS = """
        SYSTEM {
          # Without the one that akka-stream would start: it is on the class path for remoting only.
          library-extensions = ["PACKAGE.serialization.SerializationExtension$"]
          loglevel = ERROR
          stdout-loglevel = ERROR
          log-dead-letters = off
          log-dead-letters-during-shutdown = off
          daemonic = on
          actor {
            default-dispatcher {
              executor = fork-join-executor
              fork-join-executor { parallelism-min = THREADS, parallelism-max = THREADS }
              throughput = TURN
            }
            # The system's own actors share it: threads=T means T threads.
            internal-dispatcher = SYSTEM.actor.default-dispatcher
            default-mailbox.mailbox-type = PACKAGE.dispatch.SingleConsumerOnlyUnboundedMailbox
          }
        }
        """;

    private Actors() {}

    static Config config(Words words, int throughput) {
        String pack = ActorSystem.class.getPackageName().replace(".actor", "");
        long threads = words.size("threads", 1024);
        String settings = SETTINGS.replace("SYSTEM", NAME).replace("PACKAGE", pack)
            .replace("THREADS", Long.toString(threads)).replace("TURN", Integer.toString(throughput));
        return ConfigFactory.parseString(settings).withFallback(ConfigFactory.load());
    }

    static Config config(Words words) {
        return config(words, THROUGHPUT);
    }

    static ActorSystem start(Config config) {
        return ActorSystem.create(SYSTEM, config);
    }

    /** Ends a system and waits until it is gone. */
    static void end(ActorSystem system) {
        try {
            system.terminate();
            system.getWhenTerminated().toCompletableFuture().get(30, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new IllegalStateException("the actor system does not end", e);
        }
    }
}
