package peer;

import akka.actor.ActorRef;
import akka.actor.Props;
import akka.actor.Terminated;
import akka.actor.UntypedAbstractActor;
import java.util.Map;

/** A parent sends all its Pings, a child answers each. */
final class Fan {
    private record Ping(long index) {}

    private record Pong(long index) {}

    private enum Order { START, STOP }

    /** What the child took from its mailbox, and the parent with it, and the sum of the indices. */
    private record Done(long taken, long sum) {}

    /** Written by the child before it ends, read by the parent after that. */
    private static final class Taken {
        private long count;
    }

    private Fan() {}

    private static final class Child extends UntypedAbstractActor {
        private final long n;
        private final Taken report;
        private long taken;

        Child(long n, Taken report) {
            this.n = n;
            this.report = report;
        }

        @Override
        public void onReceive(Object message) {
            taken++;
            if (message instanceof Ping ping) {
                getSender().tell(new Pong(ping.index), getSelf());
                if (ping.index == n - 1) {
                    getSelf().tell(Order.STOP, getSelf());
                }
            } else if (message == Order.STOP) {
                report.count = taken;
                getContext().stop(getSelf());
            } else {
                unhandled(message);
            }
        }
    }

    /** A parent that stops takes its children with it, so it lets the child end by its own Stop first. */
    private static final class Parent extends UntypedAbstractActor {
        private final long n;
        private final Taken child = new Taken();
        private long taken;
        private long sum;
        private boolean childEnded;
        private boolean stopped;

        Parent(long n) {
            this.n = n;
        }

        @Override
        public void onReceive(Object message) {
            if (message instanceof Pong pong) {
                taken++;
                sum += pong.index;
                if (pong.index == n - 1) {
                    getSelf().tell(Order.STOP, getSelf());
                }
            } else if (message == Order.START) {
                taken++;
                ActorRef to = getContext().actorOf(Props.create(Child.class, () -> new Child(n, child)));
                getContext().watch(to);
                for (long i = 0; i < n; i++) {
                    to.tell(new Ping(i), getSelf());
                }
            } else if (message == Order.STOP) {
                taken++;
                stopped = true;
                endIfBoth();
            } else if (message instanceof Terminated) {
                childEnded = true;
                endIfBoth();
            } else {
                unhandled(message);
            }
        }

        private void endIfBoth() {
            if (stopped && childEnded) {
                getContext().getParent().tell(new Done(taken + child.count, sum), getSelf());
                getContext().stop(getSelf());
            }
        }
    }

    private static final class Repeat extends Driver {
        private final Props parent;

        Repeat(long n) {
            parent = Props.create(Parent.class, () -> new Parent(n));
        }

        @Override
        void begin() {
            getContext().actorOf(parent).tell(Order.START, getSelf());
        }

        @Override
        void received(Object message) {
            if (message instanceof Done done) {
                finished(done.taken, 2, done.sum);
            } else {
                unhandled(message);
            }
        }
    }

    private static Props driver(Words words) {
        long n = words.size("N", 100_000_000);
        return Props.create(Repeat.class, () -> new Repeat(n));
    }

    static void add(Map<String, Cell> cells) {
        cells.put("fan/obj", words -> Driver.warm(Actors.config(words), driver(words)));
        cells.put("fan/cold-system", words -> Driver.cold(Actors.config(words), driver(words)));
    }
}
