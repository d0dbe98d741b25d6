package arena;

import arena.Protocol.Cell;
import arena.Protocol.Command;
import arena.Protocol.Counts;
import arena.Protocol.Prepared;
import arena.Protocol.Refusal;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/** The tree of ten children per node, every node a virtual thread. */
final class Skynet {
    static final int CHILDREN = 10;

    /** All nodes may live at once, since the scheduler is first in, first out: some 3 GB at this size. */
    private static final long MOST_LEAVES = 1_000_000;

    /** What all nodes share: in the untimed pass of prep they count themselves. */
    static final class Units {
        private final AtomicLong born;

        Units(boolean counting) {
            born = counting ? new AtomicLong() : null;
        }

        void born() {
            if (born != null) {
                born.incrementAndGet();
            }
        }
    }

    /** One way to grow the tree; gives the sum of the leaves. */
    interface Grower {
        long grow(Units units, long leaves) throws Exception;
    }

    static void addTo(Map<String, Cell> cells) {
        cells.put("skynet/tree-ch", cell(MOST_LEAVES, Skynet::treeCh));
        cells.put("skynet/alive", cell(MOST_LEAVES, Skynet::alive));
        cells.put("skynet/tasks", cell(MOST_LEAVES, Skynet::tasks));
    }

    static Cell cell(long most, Grower grower) {
        return sizes -> prepare(sizes, most, grower);
    }

    static Prepared prepare(Command sizes, long most, Grower grower) throws Exception {
        long leaves = leaves(sizes, most);
        Units uncounted = new Units(false);
        // Smaller trees first: a thread that waits in code compiled before any thread came out of it costs a deoptimization
        // when it comes out, some 20 us for each of S leaves.
        for (long smaller = 1; smaller < leaves; smaller *= CHILDREN) {
            grower.grow(uncounted, smaller);
        }
        Units counted = new Units(true);
        grower.grow(counted, leaves);
        long units = counted.born.get();
        return Protocol.repeat(() -> new Counts(nodes(leaves), units, grower.grow(uncounted, leaves)));
    }

    /** S, which must be a power of ten. */
    static long leaves(Command sizes, long most) throws Refusal {
        long leaves = sizes.size("S", most);
        long rest = leaves;
        while (rest % CHILDREN == 0) {
            rest /= CHILDREN;
        }
        if (rest != 1) {
            throw new Refusal("limit", "S=" + leaves + " is not a power of 10");
        }
        return leaves;
    }

    static long nodes(long leaves) {
        return (CHILDREN * leaves - 1) / (CHILDREN - 1);
    }

    private static long treeCh(Units units, long leaves) throws InterruptedException {
        BlockingQueue<Long> result = new ArrayBlockingQueue<>(1);
        Virtual.start(() -> node(units, null, result, 0, leaves));
        return result.take();
    }

    /** As tree-ch, but a leaf answers only when all leaves exist. */
    private static long alive(Units units, long leaves) throws InterruptedException {
        CountDownLatch gate = new CountDownLatch(Math.toIntExact(leaves));
        BlockingQueue<Long> result = new ArrayBlockingQueue<>(1);
        Virtual.start(() -> node(units, gate, result, 0, leaves));
        return result.take();
    }

    /** An inner node waits on a queue of its own, with room for all its children. */
    private static void node(Units units, CountDownLatch gate, BlockingQueue<Long> parent, long number, long size)
            throws InterruptedException {
        units.born();
        if (size == 1) {
            if (gate != null) {
                gate.countDown();
                gate.await();
            }
            parent.put(number);
            return;
        }
        BlockingQueue<Long> replies = new ArrayBlockingQueue<>(CHILDREN);
        long part = size / CHILDREN;
        for (int i = 0; i < CHILDREN; i++) {
            long first = number + i * part;
            Virtual.start(() -> node(units, gate, replies, first, part));
        }
        long sum = 0;
        for (int i = 0; i < CHILDREN; i++) {
            sum += replies.take();
        }
        parent.put(sum);
    }

    private static long tasks(Units units, long leaves) throws InterruptedException {
        Task root = new Task(units, 0, leaves);
        Thread.startVirtualThread(root).join();
        return root.sum;
    }

    /** The parent starts its children, joins them and reads their results. */
    private static final class Task implements Runnable {
        private final Units units;
        private final long number;
        private final long size;
        private long sum;

        Task(Units units, long number, long size) {
            this.units = units;
            this.number = number;
            this.size = size;
        }

        @Override
        public void run() {
            units.born();
            if (size == 1) {
                sum = number;
                return;
            }
            Task[] children = new Task[CHILDREN];
            Thread[] threads = new Thread[CHILDREN];
            long part = size / CHILDREN;
            for (int i = 0; i < CHILDREN; i++) {
                children[i] = new Task(units, number + i * part, part);
                threads[i] = Thread.startVirtualThread(children[i]);
            }
            try {
                for (int i = 0; i < CHILDREN; i++) {
                    threads[i].join();
                    sum += children[i].sum;
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException("interrupted", e);
            }
        }
    }

    private Skynet() {}
}
