package peer;

import akka.actor.ActorRef;
import akka.actor.PoisonPill;
import akka.actor.Props;
import akka.actor.UntypedAbstractActor;
import java.util.Map;

/** Producers add to one counter. */
final class Counter {
    private static final long STEP = 100;
    /** After so many sends a producer lets others use its thread: it tells itself to go on. */
    private static final long STRETCH = 100;

    private record Add(long value) {}

    private record Sum(long value) {}

    private record Done(long sent, long sum) {}

    private enum Order { GO_ON, GET_AND_RESET }

    private Counter() {}

    private static final class Count extends UntypedAbstractActor {
        private long sum;

        @Override
        public void onReceive(Object message) {
            if (message instanceof Add add) {
                sum += add.value;
            } else if (message == Order.GET_AND_RESET) {
                getSender().tell(new Sum(sum), getSelf());
                sum = 0;
            } else {
                unhandled(message);
            }
        }
    }

    private static final class Producer extends UntypedAbstractActor {
        private final ActorRef counter;
        private final long n;
        private final boolean asks;
        private long sent;

        Producer(ActorRef counter, long n, boolean asks) {
            this.counter = counter;
            this.n = n;
            this.asks = asks;
        }

        @Override
        public void onReceive(Object message) {
            if (message == Order.GO_ON) {
                long until = Math.min(n, sent + STRETCH);
                for (; sent < until; sent++) {
                    counter.tell(new Add(STEP), getSelf());
                }
                if (sent < n) {
                    getSelf().tell(Order.GO_ON, getSelf());
                } else if (asks) {
                    counter.tell(Order.GET_AND_RESET, getSelf());
                } else {
                    end(0);
                }
            } else if (message instanceof Sum answer) {
                end(answer.value);
            } else {
                unhandled(message);
            }
        }

        private void end(long sum) {
            getContext().getParent().tell(new Done(sent, sum), getSelf());
            getContext().stop(getSelf());
        }
    }

    private static final class Repeat extends Driver {
        private final long producers;
        private final long n;
        private final boolean askEach;
        private ActorRef counter;
        private long ended;
        private long sent;
        private long sum;

        Repeat(long producers, long n, boolean askEach) {
            this.producers = producers;
            this.n = n;
            this.askEach = askEach;
        }

        @Override
        void begin() {
            ended = 0;
            sent = 0;
            sum = 0;
            ActorRef to = getContext().actorOf(Props.create(Count.class, Count::new));
            counter = to;
            Props producer = Props.create(Producer.class, () -> new Producer(to, n, askEach));
            for (long i = 0; i < producers; i++) {
                getContext().actorOf(producer).tell(Order.GO_ON, getSelf());
            }
        }

        @Override
        void received(Object message) {
            if (message instanceof Done done) {
                sent += done.sent;
                sum += done.sum;
                if (++ended == producers) {
                    if (askEach) {
                        end();
                    } else {
                        counter.tell(Order.GET_AND_RESET, getSelf());
                    }
                }
            } else if (message instanceof Sum answer) {
                sum = answer.value;
                end();
            } else {
                unhandled(message);
            }
        }

        private void end() {
            counter.tell(PoisonPill.getInstance(), getSelf());
            finished(sent, ended + 1, sum);
        }
    }

    private static Cell cell(boolean askEach) {
        return words -> {
            long producers = words.size("P", 1_000_000);
            long n = words.size("n", 1L << 31);
            return Driver.warm(Actors.config(words), Props.create(Repeat.class, () -> new Repeat(producers, n, askEach)));
        };
    }

    static void add(Map<String, Cell> cells) {
        cells.put("counter/send", cell(false));
        cells.put("counter/ask-each", cell(true));
    }
}
