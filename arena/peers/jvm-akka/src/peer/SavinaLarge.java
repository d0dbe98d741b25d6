package peer;

import akka.actor.ActorContext;
import akka.actor.ActorRef;
import akka.actor.Props;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import peer.Savina.Part;
import peer.Savina.PseudoRandom;
import peer.Savina.Tally;

/** Problems of concurrency and parallel programs of Savina in which messages dominate. */
final class SavinaLarge {
    private enum Order { GO, DONE, GET, RECEIVED }

    private record Value(long value) {}

    private SavinaLarge() {}

    private record Write(long key, long value) {}

    private record Read(long key) {}

    /** concdict: at first each key has itself as its value. */
    private static final class Dictionary extends Part {
        private final Map<Long, Long> written = new HashMap<>();

        Dictionary(Tally tally) {
            super(tally);
        }

        @Override
        public void onReceive(Object message) {
            msgs++;
            if (message instanceof Write write) {
                written.put(write.key, write.value);
                getSender().tell(new Value(write.value), getSelf());
            } else if (message instanceof Read read) {
                getSender().tell(new Value(written.getOrDefault(read.key, read.key)), getSelf());
            }
        }
    }

    /** Its keys are its own, so that what it reads does not depend on the others. */
    private static final class Worker extends Part {
        private final long id;
        private final long workers;
        private final long writes;
        private final ActorRef dictionary;
        private final PseudoRandom random;
        private long left;

        Worker(Tally tally, long id, long n, long workers, long writes, ActorRef dictionary) {
            super(tally);
            this.id = id;
            this.workers = workers;
            this.writes = writes;
            this.dictionary = dictionary;
            random = new PseudoRandom(id + n + writes);
            left = n;
        }

        @Override
        public void onReceive(Object message) {
            msgs++;
            if (message instanceof Value value) {
                check += value.value;
            }
            if (left-- == 0) {
                getContext().getParent().tell(Order.DONE, getSelf());
                return;
            }
            boolean isWrite = random.below(100) < writes;
            long key = random.next() * workers + id;
            dictionary.tell(isWrite ? new Write(key, random.next()) : new Read(key), getSelf());
        }
    }

    /** The others end with it. */
    private static final class Master extends Part {
        private final long n;
        private final long workers;
        private final long writes;
        private long left;

        Master(Tally tally, long n, long workers, long writes) {
            super(tally);
            this.n = n;
            this.workers = workers;
            this.writes = writes;
            left = workers;
        }

        @Override
        public void preStart() {
            Tally all = tally;
            ActorRef dictionary = all.start(getContext(), Props.create(Dictionary.class, () -> new Dictionary(all)));
            for (long i = 0; i < workers; i++) {
                long id = i;
                all.start(getContext(), Props.create(Worker.class, () -> new Worker(all, id, n, workers, writes, dictionary)))
                    .tell(Order.GO, getSelf());
            }
        }

        @Override
        public void onReceive(Object message) {
            msgs++;
            if (--left == 0) {
                end();
            }
        }
    }

    private record Term(double value) {}

    /** logmap: computes the next term. */
    private static final class Computer extends Part {
        private final double rate;

        Computer(Tally tally, double rate) {
            super(tally);
            this.rate = rate;
        }

        @Override
        public void onReceive(Object message) {
            msgs++;
            double term = ((Term) message).value;
            getSender().tell(new Term(rate * term * (1 - term)), getSelf());
        }
    }

    /** While a term is computed, orders for more are counted, and the question for the last is kept. */
    private static final class Series extends Part {
        private final ActorRef computer;
        private double term;
        private boolean computing;
        private boolean asked;
        private long orders;

        Series(Tally tally, double term, ActorRef computer) {
            super(tally);
            this.term = term;
            this.computer = computer;
        }

        @Override
        public void onReceive(Object message) {
            msgs++;
            if (message instanceof Term result) {
                term = result.value;
                computing = false;
            } else if (message == Order.GET) {
                asked = true;
            } else {
                orders++;
            }
            if (!computing && orders > 0) {
                orders--;
                computing = true;
                computer.tell(new Term(term), getSelf());
            } else if (!computing && asked) {
                asked = false;
                getContext().getParent().tell(new Term(term), getSelf());
            }
        }
    }

    /** The others end with it. */
    private static final class Terms extends Part {
        private final long n;
        private final long size;
        private final List<ActorRef> series = new ArrayList<>();
        private long left;

        Terms(Tally tally, long n, long size) {
            super(tally);
            this.n = n;
            this.size = size;
            left = size;
        }

        @Override
        public void preStart() {
            Tally all = tally;
            for (long i = 0; i < size; i++) {
                double offset = i * 0.0025;
                ActorRef computer = all.start(getContext(), Props.create(Computer.class, () -> new Computer(all, 3.46 + offset)));
                series.add(all.start(getContext(), Props.create(Series.class, () -> new Series(all, offset, computer))));
            }
        }

        @Override
        public void onReceive(Object message) {
            msgs++;
            if (message instanceof Term last) {
                check += Savina.fingerprint(last.value);
                if (--left == 0) {
                    end();
                }
                return;
            }
            for (long i = 0; i < n; i++) {
                for (ActorRef one : series) {
                    one.tell(Order.GO, getSelf());
                }
            }
            for (ActorRef one : series) {
                one.tell(Order.GET, getSelf());
            }
        }
    }

    private record Pay(long amount, ActorRef to) {}

    private record Deposit(long amount) {}

    /** banking: one that pays waits until the other has it, and keeps what comes meanwhile, with its senders. */
    private static final class Account extends Part {
        private record Kept(Object message, ActorRef sender) {}

        private final long place;
        private final Deque<Kept> kept = new ArrayDeque<>();
        private boolean paying;

        Account(Tally tally, long place) {
            super(tally);
            this.place = place;
        }

        @Override
        public void onReceive(Object message) {
            msgs++;
            if (paying && message != Order.RECEIVED) {
                kept.add(new Kept(message, getSender()));
                return;
            }
            handle(message, getSender());
            while (!paying && !kept.isEmpty()) {
                Kept next = kept.remove();
                handle(next.message, next.sender);
            }
        }

        private void handle(Object message, ActorRef sender) {
            if (message instanceof Pay pay) {
                check -= place * pay.amount;
                paying = true;
                pay.to.tell(new Deposit(pay.amount), getSelf());
            } else if (message instanceof Deposit deposit) {
                check += place * deposit.amount;
                sender.tell(Order.RECEIVED, getSelf());
            } else {
                paying = false;
                getContext().getParent().tell(Order.DONE, getSelf());
            }
        }
    }

    /** Its accounts end with it. */
    private static final class Teller extends Part {
        private final long n;
        private final long size;
        private final List<ActorRef> accounts = new ArrayList<>();
        private long left;

        Teller(Tally tally, long n, long size) {
            super(tally);
            this.n = n;
            this.size = size;
            left = n;
        }

        @Override
        public void preStart() {
            Tally all = tally;
            for (long i = 0; i < size; i++) {
                long place = i;
                accounts.add(all.start(getContext(), Props.create(Account.class, () -> new Account(all, place))));
            }
        }

        @Override
        public void onReceive(Object message) {
            msgs++;
            if (message == Order.DONE) {
                if (--left == 0) {
                    end();
                }
                return;
            }
            PseudoRandom random = new PseudoRandom(123_456);
            for (long i = 0; i < n; i++) {
                long from = random.below(size / 10 * 8);
                long to = from + Math.max(random.below(size - from), 1);
                long amount = random.below(1000) + 1;
                accounts.get((int) from).tell(new Pay(amount, accounts.get((int) to)), getSelf());
            }
        }
    }

    /** radixsort: by one bit; the last only looks. */
    private static final class Stage extends Part {
        private final long bit;
        private final ActorRef next;
        private final List<Value> withBit = new ArrayList<>();
        private long left;
        private long last;

        Stage(Tally tally, long n, long bit, ActorRef next) {
            super(tally);
            this.bit = bit;
            this.next = next;
            left = n;
        }

        @Override
        public void onReceive(Object message) {
            msgs++;
            Value value = (Value) message;
            if (next == null) {
                if (value.value < last) {
                    throw new IllegalStateException("values arrive unsorted");
                }
                last = value.value;
                check += last;
            } else if ((value.value & bit) == 0) {
                next.tell(value, getSelf());
            } else {
                withBit.add(value);
            }
            if (--left == 0) {
                withBit.forEach(kept -> next.tell(kept, getSelf()));
                end();
            }
        }
    }

    private static final class Source extends Part {
        private final long n;

        Source(Tally tally, long n) {
            super(tally);
            this.n = n;
        }

        @Override
        public void onReceive(Object message) {
            msgs++;
            PseudoRandom random = new PseudoRandom(2048);
            for (long i = 0; i < n; i++) {
                ((ActorRef) message).tell(new Value(random.next()), getSelf());
            }
            end();
        }
    }

    private record Request(long n) {}

    /** fib: an actor for each call. */
    private static final class Fib extends Part {
        private final ActorRef parent;
        private long sum;
        private int missing;

        Fib(Tally tally, ActorRef parent) {
            super(tally);
            this.parent = parent;
        }

        @Override
        public void onReceive(Object message) {
            msgs++;
            if (message instanceof Request request) {
                if (request.n <= 2) {
                    sum = 1;
                } else {
                    missing = 2;
                    ask(request.n - 1);
                    ask(request.n - 2);
                }
            } else {
                sum += ((Value) message).value;
                missing--;
            }
            if (missing > 0) {
                return;
            }
            if (parent == null) {
                check = sum;
            } else {
                parent.tell(new Value(sum), getSelf());
            }
            end();
        }

        private void ask(long n) {
            Tally all = tally;
            ActorRef me = getSelf();
            all.start(getContext(), Props.create(Fib.class, () -> new Fib(all, me))).tell(new Request(n), me);
        }
    }

    private static void radix(ActorContext context, Tally tally, long n) {
        ActorRef next = tally.start(context, Props.create(Stage.class, () -> new Stage(tally, n, 0, null)));
        for (int place = 59; place >= 0; place--) {
            long bit = 1L << place;
            ActorRef after = next;
            next = tally.start(context, Props.create(Stage.class, () -> new Stage(tally, n, bit, after)));
        }
        tally.start(context, Props.create(Source.class, () -> new Source(tally, n))).tell(next, ActorRef.noSender());
    }

    static void add(Map<String, Cell> cells) {
        Savina.add(cells, "concdict", 1_000_000, (n, words) -> {
            long workers = words.size("P", 100_000);
            long writes = words.size("w", 100);
            return (context, tally) -> tally.start(context, Props.create(Master.class, () -> new Master(tally, n, workers, writes)));
        });
        Savina.add(cells, "logmap", 10_000_000, (n, words) -> {
            long size = words.size("A", 100_000);
            return (context, tally) -> tally.start(context, Props.create(Terms.class, () -> new Terms(tally, n, size)))
                .tell(Order.GO, ActorRef.noSender());
        });
        Savina.add(cells, "banking", 10_000_000, (n, words) -> {
            long size = words.size("A", 100_000);
            if (size < 10) {
                throw new Refusal("limit", "A=" + size + ": there must be 10 accounts");
            }
            return (context, tally) -> tally.start(context, Props.create(Teller.class, () -> new Teller(tally, n, size)))
                .tell(Order.GO, ActorRef.noSender());
        });
        Savina.add(cells, "radixsort", 10_000_000, (n, words) -> (context, tally) -> radix(context, tally, n));
        Savina.add(cells, "fib", 35, (n, words) -> (context, tally) -> tally
            .start(context, Props.create(Fib.class, () -> new Fib(tally, null)))
            .tell(new Request(n), ActorRef.noSender()));
    }
}
