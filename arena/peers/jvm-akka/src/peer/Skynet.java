package peer;

import akka.actor.ActorRef;
import akka.actor.Props;
import akka.actor.UntypedAbstractActor;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/** A tree of actors; every node is an actor with a mailbox of its own and stops when it has answered. */
final class Skynet {
    private static final int CHILDREN = 10;

    /** What a node is to do. It tells a node its place, so all nodes have the same Props. */
    private record Start(long number, long size) {}

    private record Sum(long value) {}

    private enum Order { ANSWER }

    /** What the nodes of one repetition share. */
    private static final class Tree {
        private final LongAdder nodes; // null when they are not counted
        private final AtomicLong missing; // leaves not yet there; null without a barrier
        private final ActorRef driver;

        Tree(LongAdder nodes, AtomicLong missing, ActorRef driver) {
            this.nodes = nodes;
            this.missing = missing;
            this.driver = driver;
        }
    }

    private Skynet() {}

    private static final class Node extends UntypedAbstractActor {
        private final Tree tree;
        private long sum;
        private int answers;
        private boolean leaf;

        Node(Tree tree) {
            this.tree = tree;
        }

        static Props props(Tree tree) {
            return Props.create(Node.class, () -> new Node(tree));
        }

        @Override
        public void onReceive(Object message) {
            if (message instanceof Sum answer) {
                sum += answer.value;
                if (++answers == CHILDREN) {
                    answer();
                }
            } else if (message instanceof Start start) {
                if (tree.nodes != null) {
                    tree.nodes.increment();
                }
                if (start.size > 1) {
                    children(start);
                } else {
                    sum = start.number;
                    leaf = true;
                    exists();
                }
            } else if (message == Order.ANSWER) {
                if (leaf) {
                    answer();
                } else {
                    getContext().getChildren().forEach(child -> child.tell(Order.ANSWER, getSelf()));
                }
            } else {
                unhandled(message);
            }
        }

        private void children(Start start) {
            long size = start.size / CHILDREN;
            for (int i = 0; i < CHILDREN; i++) {
                getContext().actorOf(getContext().props()).tell(new Start(start.number + i * size, size), getSelf());
            }
        }

        /** The last leaf opens the barrier: the driver passes the word to the root, and every node to its children. */
        private void exists() {
            if (tree.missing == null) {
                answer();
            } else if (tree.missing.decrementAndGet() == 0) {
                tree.driver.tell(Order.ANSWER, getSelf());
            }
        }

        private void answer() {
            getContext().getParent().tell(new Sum(sum), getSelf());
            getContext().stop(getSelf());
        }
    }

    private static final class Repeat extends Driver {
        private final long size;
        private final boolean barrier;
        private ActorRef root;
        private LongAdder counting = new LongAdder();
        private long nodes;

        Repeat(long size, boolean barrier) {
            this.size = size;
            this.barrier = barrier;
        }

        @Override
        void begin() {
            Tree tree = new Tree(counting, barrier ? new AtomicLong(size) : null, getSelf());
            root = getContext().actorOf(Node.props(tree));
            root.tell(new Start(0, size), getSelf());
        }

        @Override
        void received(Object message) {
            if (message instanceof Sum answer) {
                if (counting != null) {
                    nodes = counting.sum();
                    counting = null;
                }
                finished(nodes, nodes, answer.value);
            } else if (message == Order.ANSWER) {
                root.tell(Order.ANSWER, getSelf());
            } else {
                unhandled(message);
            }
        }
    }

    static void powerOfTen(long size) {
        long rest = size;
        while (rest % CHILDREN == 0) {
            rest /= CHILDREN;
        }
        if (rest != 1) {
            throw new Refusal("limit", "S must be a power of 10");
        }
    }

    /**
     * prep runs the tree once to count its nodes. The dispatcher takes the newest actor first, so that a branch ends before
     * the next begins; in order of arrival all actors of a level come to live at once.
     */
    private static Cell cell(boolean barrier) {
        return words -> {
            long size = words.size("S", 10_000_000);
            powerOfTen(size);
            Sample sample = Driver.warm(Actors.config(words, Actors.THROUGHPUT, Actors.Order.LIFO),
                Props.create(Repeat.class, () -> new Repeat(size, barrier)));
            sample.run(1);
            return sample;
        };
    }

    static void add(Map<String, Cell> cells) {
        cells.put("skynet/tree", cell(false));
        cells.put("skynet/alive", cell(true));
    }
}
