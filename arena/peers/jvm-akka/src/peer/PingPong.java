package peer;

import akka.actor.ActorRef;
import akka.actor.PoisonPill;
import akka.actor.Props;
import akka.actor.UntypedAbstractActor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Pairs that tell each other; the reply address is the sender that every message carries. */
final class PingPong {
    record Ping(long number) {}

    record Pong(long number) {}

    /** The client has all its answers: what it sent and received, and the sum of the numbers. */
    record Done(long msgs, long sum) {}

    enum Order { START }

    private PingPong() {}

    static final class Server extends UntypedAbstractActor {
        @Override
        public void onReceive(Object message) {
            if (message instanceof Ping ping) {
                getSender().tell(new Pong(ping.number), getSelf());
            } else {
                unhandled(message);
            }
        }
    }

    private static final class Client extends UntypedAbstractActor {
        private final ActorRef server;
        private final long n;
        private final long window;
        private long sent;
        private long answered;
        private long sum;

        Client(ActorRef server, long n, long window) {
            this.server = server;
            this.n = n;
            this.window = window;
        }

        @Override
        public void onReceive(Object message) {
            if (message instanceof Pong pong) {
                sum += pong.number;
                answered++;
                if (sent < n) {
                    server.tell(new Ping(sent++), getSelf());
                } else if (answered == n) {
                    server.tell(PoisonPill.getInstance(), getSelf());
                    getContext().getParent().tell(new Done(sent + answered, sum), getSelf());
                    getContext().stop(getSelf());
                }
            } else if (message == Order.START) {
                while (sent < window && sent < n) {
                    server.tell(new Ping(sent++), getSelf());
                }
            } else {
                unhandled(message);
            }
        }
    }

    /** Makes p pairs, starts them, and adds what the clients did. */
    abstract static class Pairs extends Driver {
        private final long p;
        private long ended;
        private long msgs;
        private long sum;

        Pairs(long p) {
            this.p = p;
        }

        abstract Props server();

        abstract Props client(ActorRef server);

        @Override
        void begin() {
            ended = 0;
            msgs = 0;
            sum = 0;
            Props server = server();
            List<ActorRef> clients = new ArrayList<>();
            for (long i = 0; i < p; i++) {
                clients.add(getContext().actorOf(client(getContext().actorOf(server))));
            }
            for (ActorRef client : clients) {
                client.tell(Order.START, getSelf());
            }
        }

        @Override
        void received(Object message) {
            if (message instanceof Done done) {
                msgs += done.msgs;
                sum += done.sum;
                if (++ended == p) {
                    finished(msgs, 2 * ended, sum);
                }
            } else {
                unhandled(message);
            }
        }
    }

    private static final class Tell extends Pairs {
        private final long n;
        private final long window;

        Tell(long p, long n, long window) {
            super(p);
            this.n = n;
            this.window = window;
        }

        @Override
        Props server() {
            return Props.create(Server.class, Server::new);
        }

        @Override
        Props client(ActorRef server) {
            return Props.create(Client.class, () -> new Client(server, n, window));
        }
    }

    private static Cell tell(long window, int throughput) {
        return words -> {
            long p = words.size("p", 1_000_000);
            long n = words.size("n", 1L << 31);
            long w = Math.min(words.number("w", window), 1_000_000);
            return Driver.warm(Actors.config(words, throughput, Actors.Order.FIFO),
                Props.create(Tell.class, () -> new Tell(p, n, w)));
        };
    }

    static void add(Map<String, Cell> cells) {
        cells.put("pingpong/tell", tell(1, Actors.THROUGHPUT));
        cells.put("pingpong/tell-w100", tell(100, Actors.THROUGHPUT));
        cells.put("pingpong/tell-w1000", tell(1000, Actors.THROUGHPUT));
        for (int batch : new int[] {1, 5, 20, 100}) {
            cells.put("pingpong/batch-" + batch, tell(1000, batch));
        }
    }
}
