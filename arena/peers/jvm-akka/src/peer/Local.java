package peer;

import akka.actor.ActorRef;
import akka.actor.PoisonPill;
import akka.actor.Props;
import akka.actor.UntypedAbstractActor;
import akka.pattern.Patterns;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** net/local: every client asks its own server, one request after the other, and each answer is verified. */
final class Local {
    private record Request(long number) {}

    private record Reply(long number) {}

    private record Done(long answered, long sum) {}

    private enum Order { READY, START }

    private Local() {}

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

    /** Makes one echo, says that it is ready, waits for the start, then makes {@code requests} more. */
    private static final class Client extends UntypedAbstractActor {
        private final ActorRef server;
        private final long requests;
        private final boolean asks; // a fresh reply cell per request; otherwise the reply comes to the mailbox
        private long expected = -1;
        private long sum;

        Client(ActorRef server, long requests, boolean asks) {
            this.server = server;
            this.requests = requests;
            this.asks = asks;
        }

        @Override
        public void preStart() {
            request();
        }

        private void request() {
            Request request = new Request(expected);
            if (asks) {
                Patterns.pipe(Call.ask(server, request), getContext().getDispatcher()).to(getSelf());
            } else {
                server.tell(request, getSelf());
            }
        }

        @Override
        public void onReceive(Object message) {
            if (message instanceof Reply reply && reply.number == expected) {
                expected++;
                if (expected == 0) {
                    getContext().getParent().tell(Order.READY, getSelf());
                    return;
                }
                sum += reply.number;
                if (expected < requests) {
                    request();
                } else {
                    server.tell(PoisonPill.getInstance(), getSelf());
                    getContext().getParent().tell(new Done(expected, sum), getSelf());
                    getContext().stop(getSelf());
                }
            } else if (message == Order.START) {
                request();
            } else {
                throw new Refusal("bug", "asked " + expected + ", the answer is " + message);
            }
        }
    }

    private static final class Repeat extends Driver {
        private final long pairs;
        private final long requests;
        private final boolean asks;
        private final List<ActorRef> clients = new ArrayList<>();
        private long ready;
        private long ended;
        private long answered;
        private long sum;

        Repeat(long pairs, long requests, boolean asks) {
            this.pairs = pairs;
            this.requests = requests;
            this.asks = asks;
        }

        @Override
        void begin() {
            clients.clear();
            ready = 0;
            ended = 0;
            answered = 0;
            sum = 0;
            for (long i = 0; i < pairs; i++) {
                ActorRef server = getContext().actorOf(Props.create(Server.class, Server::new));
                clients.add(getContext().actorOf(Props.create(Client.class, () -> new Client(server, requests, asks))));
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
                    startClock();
                    clients.forEach(client -> client.tell(Order.START, getSelf()));
                }
            } else {
                unhandled(message);
            }
        }
    }

    private static Cell cell(boolean asks) {
        return words -> {
            long pairs = words.size("N", 1_000_000);
            long requests = words.size("M", 1L << 31);
            return Driver.warm(Actors.config(words), Props.create(Repeat.class, () -> new Repeat(pairs, requests, asks)));
        };
    }

    static void add(Map<String, Cell> cells) {
        cells.put("net/local", cell(true));
        cells.put("net/original:akka-pingpong", cell(false));
    }
}
