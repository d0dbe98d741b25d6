package peer;

import akka.actor.Props;
import akka.actor.UntypedAbstractActor;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/** Actors that do next to nothing. */
final class Spawn {
    private enum Order { ALL }

    private record One(long value) {}

    private Spawn() {}

    /** Adds 1 and ends; the one that brings the counter to n says so. */
    private static final class Detached extends UntypedAbstractActor {
        private final AtomicLong counter;
        private final long n;

        Detached(AtomicLong counter, long n) {
            this.counter = counter;
            this.n = n;
        }

        @Override
        public void preStart() {
            if (counter.incrementAndGet() == n) {
                getContext().getParent().tell(Order.ALL, getSelf());
            }
            getContext().stop(getSelf());
        }

        @Override
        public void onReceive(Object message) {
            unhandled(message);
        }
    }

    /** Sends its parent a 1 and ends. */
    private static final class Joined extends UntypedAbstractActor {
        @Override
        public void preStart() {
            getContext().getParent().tell(new One(1), getSelf());
            getContext().stop(getSelf());
        }

        @Override
        public void onReceive(Object message) {
            unhandled(message);
        }
    }

    private static final class AllAtOnce extends Driver {
        private final long n;
        private AtomicLong counter;

        AllAtOnce(long n) {
            this.n = n;
        }

        @Override
        void begin() {
            AtomicLong adds = new AtomicLong();
            counter = adds;
            Props props = Props.create(Detached.class, () -> new Detached(adds, n));
            for (long i = 0; i < n; i++) {
                getContext().actorOf(props);
            }
        }

        @Override
        void received(Object message) {
            finished(counter.get(), counter.get(), counter.get());
        }
    }

    private static final class OneByOne extends Driver {
        private final long n;
        private final Props props = Props.create(Joined.class, Joined::new);
        private long started;
        private long sum;

        OneByOne(long n) {
            this.n = n;
        }

        @Override
        void begin() {
            started = 0;
            sum = 0;
            start();
        }

        private void start() {
            started++;
            getContext().actorOf(props);
        }

        @Override
        void received(Object message) {
            if (message instanceof One one) {
                sum += one.value;
                if (started < n) {
                    start();
                } else {
                    finished(sum, started, sum);
                }
            } else {
                unhandled(message);
            }
        }
    }

    static void add(Map<String, Cell> cells) {
        cells.put("spawn/detached", words -> {
            long n = words.size("n", 100_000_000);
            return Driver.warm(Actors.config(words), Props.create(AllAtOnce.class, () -> new AllAtOnce(n)));
        });
        cells.put("spawn/joined", words -> {
            long n = words.size("n", 1L << 31);
            return Driver.warm(Actors.config(words), Props.create(OneByOne.class, () -> new OneByOne(n)));
        });
    }
}
