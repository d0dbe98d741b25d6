package peer;

import akka.actor.ActorContext;
import akka.actor.ActorRef;
import akka.actor.Props;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import peer.Savina.Part;
import peer.Savina.PseudoRandom;
import peer.Savina.Tally;

/** The small benchmarks of Savina. Senders are those that every message of Akka carries. */
final class SavinaMicro {
    private static final long MOST = 100_000_000;

    private enum Order { GO, STOP, GET, END }

    private record Number(long value) {}

    private record Sum(long value) {}

    private record Next(ActorRef actor) {}

    private record End(long left) {}

    private SavinaMicro() {}

    private static final class Ping extends Part {
        private final long n;
        private final ActorRef pong;
        private long sent;

        Ping(Tally tally, long n, ActorRef pong) {
            super(tally);
            this.n = n;
            this.pong = pong;
        }

        @Override
        public void onReceive(Object message) {
            msgs++;
            if (message == Order.GO) {
                pong.tell(new Number(sent++), getSelf());
            } else if (message instanceof Number number) {
                check += number.value;
                if (sent < n) {
                    getSelf().tell(Order.GO, getSelf());
                } else {
                    pong.tell(Order.STOP, getSelf());
                    end();
                }
            }
        }
    }

    private static final class Pong extends Part {
        Pong(Tally tally) {
            super(tally);
        }

        @Override
        public void onReceive(Object message) {
            msgs++;
            if (message instanceof Number number) {
                check += number.value;
                getSender().tell(new Number(number.value), getSelf());
            } else {
                end();
            }
        }
    }

    private static final class Counter extends Part {
        private long sum;

        Counter(Tally tally) {
            super(tally);
        }

        @Override
        public void onReceive(Object message) {
            msgs++;
            if (message instanceof Number number) {
                sum += number.value;
            } else {
                getSender().tell(new Sum(sum), getSelf());
                end();
            }
        }
    }

    private static final class Producer extends Part {
        private final long n;
        private final ActorRef counter;

        Producer(Tally tally, long n, ActorRef counter) {
            super(tally);
            this.n = n;
            this.counter = counter;
        }

        @Override
        public void onReceive(Object message) {
            msgs++;
            if (message instanceof Sum sum) {
                check = sum.value;
                end();
            } else {
                for (long i = 0; i < n; i++) {
                    counter.tell(new Number(1), getSelf());
                }
                counter.tell(Order.GET, getSelf());
            }
        }
    }

    /** fjthrput and fjcreate: so many messages, each of which costs a sine. */
    private static final class Worker extends Part {
        private long left;

        Worker(Tally tally, long n) {
            super(tally);
            left = n;
        }

        @Override
        public void onReceive(Object message) {
            msgs++;
            check += ((Number) message).value;
            Savina.theta();
            if (--left == 0) {
                end();
            }
        }
    }

    private static final class Member extends Part {
        private final long actors;
        private ActorRef next;

        Member(Tally tally, long actors) {
            super(tally);
            this.actors = actors;
        }

        @Override
        public void onReceive(Object message) {
            msgs++;
            if (message instanceof Next first) {
                next = first.actor;
            } else if (message instanceof Number token) {
                check += token.value;
                next.tell(token.value == 0 ? new End(actors - 1) : new Number(token.value - 1), getSelf());
            } else if (message instanceof End order) {
                if (order.left > 0) {
                    next.tell(new End(order.left - 1), getSelf());
                }
                end();
            }
        }
    }

    private record Meet(int colour, ActorRef creature) {}

    private record Change(int colour) {}

    private record Met(long meetings) {}

    private static final class Creature extends Part {
        private final ActorRef mall;
        private int colour;
        private long meetings;

        Creature(Tally tally, int colour, ActorRef mall) {
            super(tally);
            this.colour = colour;
            this.mall = mall;
        }

        @Override
        public void preStart() {
            meet();
        }

        private void meet() {
            mall.tell(new Meet(colour, getSelf()), getSelf());
        }

        @Override
        public void onReceive(Object message) {
            msgs++;
            if (message instanceof Meet other) {
                colour = colour == other.colour ? colour : 3 - colour - other.colour;
                other.creature.tell(new Change(colour), getSelf());
                meetings++;
                meet();
            } else if (message instanceof Change change) {
                colour = change.colour;
                meetings++;
                meet();
            } else {
                mall.tell(new Met(meetings), getSelf());
            }
        }
    }

    /** Its creatures end with it. */
    private static final class Mall extends Part {
        private final long actors;
        private long meetings;
        private long living;
        private ActorRef waiting;

        Mall(Tally tally, long n, long actors) {
            super(tally);
            this.actors = actors;
            meetings = n;
            living = actors;
        }

        @Override
        public void preStart() {
            ActorRef mall = getSelf();
            Tally all = tally;
            for (int i = 0; i < actors; i++) {
                int colour = i % 3;
                all.start(getContext(), Props.create(Creature.class, () -> new Creature(all, colour, mall)));
            }
        }

        @Override
        public void onReceive(Object message) {
            msgs++;
            if (message instanceof Meet meet) {
                if (meetings == 0) {
                    meet.creature.tell(Order.END, getSelf());
                } else if (waiting == null) {
                    waiting = meet.creature;
                } else {
                    meetings--;
                    waiting.tell(meet, getSelf());
                    waiting = null;
                }
            } else if (message instanceof Met met) {
                check += met.meetings;
                if (--living == 0) {
                    end();
                }
            }
        }
    }

    private record Neighbours(List<ActorRef> all) {}

    private record Pinged(int from) {}

    private record Ponged(int from) {}

    private static final class Big extends Part {
        private final int place;
        private final long n;
        private final ActorRef sink;
        private final PseudoRandom random;
        private List<ActorRef> neighbours = List.of();
        private long pings;
        private int pinged = -1;

        Big(Tally tally, int place, long n, ActorRef sink) {
            super(tally);
            this.place = place;
            this.n = n;
            this.sink = sink;
            random = new PseudoRandom(place);
        }

        @Override
        public void onReceive(Object message) {
            msgs++;
            if (message instanceof Pinged ping) {
                neighbours.get(ping.from).tell(new Ponged(place), getSelf());
            } else if (message instanceof Ponged pong) {
                if (pong.from != pinged) {
                    throw new IllegalStateException("an answer from who was not asked");
                }
                check += Math.max(pong.from, 0);
                if (pings == n) {
                    sink.tell(Order.END, getSelf());
                } else {
                    pings++;
                    pinged = (int) random.below(neighbours.size());
                    neighbours.get(pinged).tell(new Pinged(place), getSelf());
                }
            } else if (message instanceof Neighbours known) {
                neighbours = known.all;
            } else {
                end();
            }
        }
    }

    private static final class Sink extends Part {
        private List<ActorRef> neighbours = List.of();
        private int done;

        Sink(Tally tally) {
            super(tally);
        }

        @Override
        public void onReceive(Object message) {
            msgs++;
            if (message instanceof Neighbours known) {
                neighbours = known.all;
            } else if (++done == neighbours.size()) {
                neighbours.forEach(actor -> actor.tell(Order.END, getSelf()));
                end();
            }
        }
    }

    private static void pingpong(ActorContext context, Tally tally, long n) {
        ActorRef pong = tally.start(context, Props.create(Pong.class, () -> new Pong(tally)));
        tally.start(context, Props.create(Ping.class, () -> new Ping(tally, n, pong))).tell(Order.GO, ActorRef.noSender());
    }

    private static void count(ActorContext context, Tally tally, long n) {
        ActorRef counter = tally.start(context, Props.create(Counter.class, () -> new Counter(tally)));
        tally.start(context, Props.create(Producer.class, () -> new Producer(tally, n, counter))).tell(Order.GO, ActorRef.noSender());
    }

    private static void throughput(ActorContext context, Tally tally, long n, long actors) {
        List<ActorRef> all = new ArrayList<>();
        for (long i = 0; i < actors; i++) {
            all.add(tally.start(context, Props.create(Worker.class, () -> new Worker(tally, n))));
        }
        for (long number = 0; number < n; number++) {
            for (ActorRef actor : all) {
                actor.tell(new Number(number), ActorRef.noSender());
            }
        }
    }

    private static void create(ActorContext context, Tally tally, long n) {
        for (long number = 0; number < n; number++) {
            ActorRef worker = tally.start(context, Props.create(Worker.class, () -> new Worker(tally, 1)));
            worker.tell(new Number(number), ActorRef.noSender());
        }
    }

    private static void ring(ActorContext context, Tally tally, long n, int actors) {
        List<ActorRef> all = new ArrayList<>();
        for (int i = 0; i < actors; i++) {
            all.add(tally.start(context, Props.create(Member.class, () -> new Member(tally, actors))));
        }
        for (int i = 0; i < actors; i++) {
            all.get(i).tell(new Next(all.get((i + 1) % actors)), ActorRef.noSender());
        }
        all.get(0).tell(new Number(n), ActorRef.noSender());
    }

    private static void big(ActorContext context, Tally tally, long n, int actors) {
        ActorRef sink = tally.start(context, Props.create(Sink.class, () -> new Sink(tally)));
        List<ActorRef> all = new ArrayList<>();
        for (int i = 0; i < actors; i++) {
            int place = i;
            all.add(tally.start(context, Props.create(Big.class, () -> new Big(tally, place, n, sink))));
        }
        Neighbours neighbours = new Neighbours(List.copyOf(all));
        sink.tell(neighbours, ActorRef.noSender());
        all.forEach(actor -> actor.tell(neighbours, ActorRef.noSender()));
        all.forEach(actor -> actor.tell(new Ponged(-1), ActorRef.noSender()));
    }

    static void add(Map<String, Cell> cells) {
        Savina.add(cells, "pingpong", MOST, (n, words) -> (context, tally) -> pingpong(context, tally, n));
        Savina.add(cells, "count", MOST, (n, words) -> (context, tally) -> count(context, tally, n));
        Savina.add(cells, "fjthrput", MOST, (n, words) -> {
            long actors = words.size("A", 100_000);
            return (context, tally) -> throughput(context, tally, n, actors);
        });
        Savina.add(cells, "fjcreate", 10_000_000, (n, words) -> (context, tally) -> create(context, tally, n));
        Savina.add(cells, "threadring", MOST, (n, words) -> {
            int actors = (int) words.size("A", 100_000);
            return (context, tally) -> ring(context, tally, n, actors);
        });
        Savina.add(cells, "chameneos", MOST, (n, words) -> {
            long actors = words.size("A", 100_000);
            return (context, tally) -> tally.start(context, Props.create(Mall.class, () -> new Mall(tally, n, actors)));
        });
        Savina.add(cells, "big", 1_000_000, (n, words) -> {
            int actors = (int) words.size("A", 100_000);
            return (context, tally) -> big(context, tally, n, actors);
        });
    }
}
