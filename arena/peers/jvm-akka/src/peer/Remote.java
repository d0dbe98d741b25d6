package peer;

import akka.actor.ActorRef;
import akka.actor.ActorSelection;
import akka.actor.ActorSystem;
import akka.actor.ExtendedActorSystem;
import akka.actor.Props;
import akka.actor.UntypedAbstractActor;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * net/echo-mux: two actor systems in two processes, joined by Artery over TCP. Every client tells its own server the number and
 * is told it. Servers are found by their path with the first echo; their references come with the replies.
 */
final class Remote {
    record Request(long number) {}

    record Reply(long number) {}

    private record Done(long answered, long sum) {}

    private enum Order { READY, START }

    private static final String SERVERS = "servers";

    private static final String SETTINGS = """
        SYSTEM {
          actor {
            provider = remote
            serializers.numbers = "peer.Numbers"
            serialization-bindings {
              "peer.Remote$Request" = numbers
              "peer.Remote$Reply" = numbers
            }
          }
          remote {
            artery {
              transport = tcp
              canonical { hostname = "127.0.0.1", port = 0 }
              advanced {
                # threads=T means T threads, and a second hand-over of every message to one of four lanes buys nothing then.
                use-dispatcher = "SYSTEM.actor.default-dispatcher"
                inbound-lanes = 1
                outbound-message-queue-size = QUEUE
                # The harness stops both processes between turns.
                stop-idle-outbound-after = 1 day
                quarantine-idle-outbound-after = 2 days
              }
            }
          }
        }
        """;

    private Remote() {}

    private static Config config(Words words) {
        // Each client has one request under way, and what does not fit is lost.
        long queue = Math.max(3072, 2 * pairs(words));
        String settings = SETTINGS.replace("SYSTEM", Actors.NAME).replace("QUEUE", Long.toString(queue));
        return ConfigFactory.parseString(settings).withFallback(Actors.config(words));
    }

    private static long pairs(Words words) {
        return words.size("N", 100_000);
    }

    private static final class Server extends UntypedAbstractActor {
        @Override
        public void onReceive(Object message) {
            if (message instanceof Request request) {
                getSender().tell(new Reply(request.number), getSelf());
            } else {
                unhandled(message);
            }
        }
    }

    /** The parent of the servers, which are named by the numbers of their pairs. */
    private static final class Servers extends UntypedAbstractActor {
        private final long pairs;

        Servers(long pairs) {
            this.pairs = pairs;
        }

        @Override
        public void preStart() {
            Props server = Props.create(Server.class, Server::new);
            for (long i = 0; i < pairs; i++) {
                getContext().actorOf(server, Long.toString(i));
            }
        }

        @Override
        public void onReceive(Object message) {
            unhandled(message);
        }
    }

    /** Lives as long as the association; makes so many requests at every start. */
    private static final class Client extends UntypedAbstractActor {
        private final String path;
        private final long requests;
        private ActorRef server;
        private long expected;
        private long sum;

        Client(String path, long requests) {
            this.path = path;
            this.requests = requests;
        }

        @Override
        public void preStart() {
            expected = -1;
            ActorSelection selection = getContext().actorSelection(path);
            selection.tell(new Request(expected), getSelf());
        }

        @Override
        public void onReceive(Object message) {
            if (message instanceof Reply reply && reply.number == expected) {
                if (expected == -1) {
                    server = getSender();
                    getContext().getParent().tell(Order.READY, getSelf());
                    return;
                }
                sum += reply.number;
                expected++;
                if (expected < requests) {
                    server.tell(new Request(expected), getSelf());
                } else {
                    getContext().getParent().tell(new Done(expected, sum), getSelf());
                }
            } else if (message == Order.START) {
                expected = 0;
                sum = 0;
                server.tell(new Request(expected), getSelf());
            } else {
                throw new Refusal("bug", "asked " + expected + ", the answer is " + message);
            }
        }
    }

    /** The first run makes the clients and is over when each has had its echo; every other starts them. */
    private static final class Clients extends Driver {
        private final String servers;
        private final long pairs;
        private final long requests;
        private final List<ActorRef> clients = new ArrayList<>();
        private long ready;
        private long ended;
        private long answered;
        private long sum;

        Clients(String servers, long pairs, long requests) {
            this.servers = servers;
            this.pairs = pairs;
            this.requests = requests;
        }

        @Override
        void begin() {
            ended = 0;
            answered = 0;
            sum = 0;
            if (clients.isEmpty()) {
                for (long i = 0; i < pairs; i++) {
                    String path = servers + i;
                    clients.add(getContext().actorOf(Props.create(Client.class, () -> new Client(path, requests))));
                }
            } else {
                clients.forEach(client -> client.tell(Order.START, getSelf()));
            }
        }

        @Override
        void received(Object message) {
            if (message instanceof Done done) {
                answered += done.answered;
                sum += done.sum;
                if (++ended == pairs) {
                    finished(2 * answered, 2 * ended, sum);
                }
            } else if (message == Order.READY) {
                if (++ready == pairs) {
                    finished(0, 0, 0);
                }
            } else {
                unhandled(message);
            }
        }
    }

    private static Sample server(Words words) {
        ActorSystem system = Actors.start(config(words));
        system.actorOf(Props.create(Servers.class, () -> new Servers(pairs(words))), SERVERS);
        int port = (Integer) ((ExtendedActorSystem) system).provider().getDefaultAddress().port().get();
        return new Sample() {
            @Override
            public Result run(long inner) {
                throw new Refusal("bug", "a server runs nothing");
            }

            @Override
            public String told() {
                return ",\"addr\":\"127.0.0.1:" + port + "\"";
            }

            @Override
            public void close() {
                Actors.end(system);
            }
        };
    }

    private static Sample client(Words words) throws Exception {
        String servers = Actors.NAME + "://" + Actors.SYSTEM + "@" + words.word("addr") + "/user/" + SERVERS + "/";
        long pairs = pairs(words);
        long requests = words.size("M", 1L << 31);
        Sample clients = Driver.warm(config(words),
            Props.create(Clients.class, () -> new Clients(servers, pairs, requests)));
        long ready = clients.run(1).ns();
        return new Sample() {
            @Override
            public Result run(long inner) throws Exception {
                return clients.run(inner);
            }

            @Override
            public String told() {
                return ",\"ready_ns\":" + ready;
            }

            @Override
            public void close() {
                clients.close();
            }
        };
    }

    static void add(Map<String, Cell> cells) {
        cells.put("net/echo-mux", words -> switch (words.word("role")) {
            case "server" -> server(words);
            case "client" -> client(words);
            default -> throw new Refusal("limit", "role=" + words.word("role") + ": must be server or client");
        });
    }
}
