package peer;

import akka.actor.ActorRef;
import akka.actor.PoisonPill;
import akka.actor.Props;
import akka.actor.UntypedAbstractActor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * pingpong as Akka's own TellThroughputPerformanceSpec has it, which gave the 50 million: one message object for all, which
 * carries nothing; a burst of at most 1,000; two classes of clients and of destinations in turn; the making of the actors is
 * not timed. With no number in the message the client adds how many answers it had before.
 */
final class TellThroughput {
    private static final long BURST = 1000;

    private enum Order { RUN, MSG }

    private TellThroughput() {}

    private static final class Destination1 extends UntypedAbstractActor {
        @Override
        public void onReceive(Object message) {
            if (message == Order.MSG) {
                getSender().tell(Order.MSG, getSelf());
            } else {
                unhandled(message);
            }
        }
    }

    private static final class Destination2 extends UntypedAbstractActor {
        @Override
        public void onReceive(Object message) {
            if (message == Order.MSG) {
                getSender().tell(Order.MSG, getSelf());
            } else {
                unhandled(message);
            }
        }
    }

    private abstract static class Client extends UntypedAbstractActor {
        private final ActorRef to;
        private final long repeat;
        private long sent;
        private long received;
        private long sum;

        Client(ActorRef to, long repeat) {
            this.to = to;
            this.repeat = repeat;
        }

        final void run() {
            for (; sent < Math.min(BURST, repeat); sent++) {
                to.tell(Order.MSG, getSelf());
            }
        }

        final void answered() {
            sum += received;
            received++;
            if (sent < repeat) {
                to.tell(Order.MSG, getSelf());
                sent++;
            } else if (received >= repeat) {
                to.tell(PoisonPill.getInstance(), getSelf());
                getContext().getParent().tell(new PingPong.Done(sent + received, sum), getSelf());
                getContext().stop(getSelf());
            }
        }
    }

    private static final class Client1 extends Client {
        Client1(ActorRef to, long repeat) {
            super(to, repeat);
        }

        @Override
        public void onReceive(Object message) {
            if (message == Order.MSG) {
                answered();
            } else if (message == Order.RUN) {
                run();
            } else {
                unhandled(message);
            }
        }
    }

    private static final class Client2 extends Client {
        Client2(ActorRef to, long repeat) {
            super(to, repeat);
        }

        @Override
        public void onReceive(Object message) {
            if (message == Order.MSG) {
                answered();
            } else if (message == Order.RUN) {
                run();
            } else {
                unhandled(message);
            }
        }
    }

    private static final class Repeat extends Driver {
        private final long pairs;
        private final long n;
        private long ended;
        private long msgs;
        private long sum;

        Repeat(long pairs, long n) {
            this.pairs = pairs;
            this.n = n;
        }

        @Override
        void begin() {
            ended = 0;
            msgs = 0;
            sum = 0;
            List<ActorRef> clients = new ArrayList<>();
            for (long i = 0; i < pairs; i++) {
                boolean first = i % 2 == 0;
                ActorRef to = getContext().actorOf(first ? Props.create(Destination1.class, Destination1::new)
                    : Props.create(Destination2.class, Destination2::new));
                clients.add(getContext().actorOf(first ? Props.create(Client1.class, () -> new Client1(to, n))
                    : Props.create(Client2.class, () -> new Client2(to, n))));
            }
            startClock();
            for (ActorRef client : clients) {
                client.tell(Order.RUN, getSelf());
            }
        }

        @Override
        void received(Object message) {
            if (message instanceof PingPong.Done done) {
                msgs += done.msgs();
                sum += done.sum();
                if (++ended == pairs) {
                    finished(msgs, 2 * ended, sum);
                }
            } else {
                unhandled(message);
            }
        }
    }

    static void add(Map<String, Cell> cells) {
        cells.put("pingpong/original:tell-throughput", words -> {
            long pairs = words.size("p", 1_000_000);
            long n = words.size("n", 1L << 31);
            return Driver.warm(Actors.config(words), Props.create(Repeat.class, () -> new Repeat(pairs, n)));
        });
    }
}
