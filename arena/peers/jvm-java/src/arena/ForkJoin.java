package arena;

import arena.Protocol.Cell;
import arena.Protocol.Command;
import arena.Protocol.Counts;
import arena.Protocol.Prepared;
import arena.Protocol.Timed;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.RecursiveAction;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.atomic.AtomicLong;

/** The fork/join pool; it is made by prep and lives until drop. */
final class ForkJoin {
    private static final long MOST_LEAVES = 100_000_000;

    private interface Maker {
        Prepared make(Command sizes, ForkJoinPool pool) throws Exception;
    }

    static void addTo(Map<String, Cell> cells) {
        cells.put("skynet/tasks", cell((sizes, pool) -> Skynet.prepare(sizes, MOST_LEAVES,
                (units, leaves) -> pool.invoke(new Node(units, 0, leaves)))));
        cells.put("spawn/detached", cell((sizes, pool) -> {
            long n = sizes.size("n", 100_000_000);
            return Protocol.repeat(() -> detached(pool, n));
        }));
        cells.put("spawn/joined", cell((sizes, pool) -> {
            long n = sizes.size("n", 1_000_000_000);
            return Protocol.repeat(() -> pool.submit(() -> joined(n)).get());
        }));
    }

    private static Cell cell(Maker maker) {
        return sizes -> {
            ForkJoinPool pool = new ForkJoinPool(Runtime.getRuntime().availableProcessors());
            Prepared prepared = maker.make(sizes, pool);
            return new Prepared() {
                @Override
                public Timed run(long inner) throws Exception {
                    return prepared.run(inner);
                }

                @Override
                public void close() {
                    pool.shutdownNow();
                }
            };
        };
    }

    /** Every node is a task, the leaves too. */
    private static final class Node extends RecursiveTask<Long> {
        private static final long serialVersionUID = 1;
        private final transient Skynet.Units units;
        private final long number;
        private final long size;

        Node(Skynet.Units units, long number, long size) {
            this.units = units;
            this.number = number;
            this.size = size;
        }

        @Override
        protected Long compute() {
            units.born();
            if (size == 1) {
                return number;
            }
            Node[] children = new Node[Skynet.CHILDREN];
            long part = size / Skynet.CHILDREN;
            for (int i = 0; i < children.length; i++) {
                children[i] = new Node(units, number + i * part, part);
            }
            invokeAll(children);
            long sum = 0;
            for (Node child : children) {
                sum += child.join();
            }
            return sum;
        }
    }

    /** One task forks n, which nobody joins. */
    private static Counts detached(ForkJoinPool pool, long n) throws InterruptedException {
        AtomicLong counter = new AtomicLong();
        CountDownLatch done = new CountDownLatch(1);
        pool.execute(() -> {
            for (long i = 0; i < n; i++) {
                new One(counter, n, done).fork();
            }
        });
        done.await();
        long ran = counter.get();
        return new Counts(ran, ran, ran);
    }

    private static final class One extends RecursiveAction {
        private static final long serialVersionUID = 1;
        private final transient AtomicLong counter;
        private final long n;
        private final transient CountDownLatch done;

        One(AtomicLong counter, long n, CountDownLatch done) {
            this.counter = counter;
            this.n = n;
            this.done = done;
        }

        @Override
        protected void compute() {
            if (counter.incrementAndGet() == n) {
                done.countDown();
            }
        }
    }

    /** A worker that joins a task it has just forked runs it itself, unless another took it. */
    private static Counts joined(long n) {
        long sum = 0;
        long started = 0;
        for (; started < n; started++) {
            sum += ForkJoinTask.adapt(() -> 1L).fork().join();
        }
        return new Counts(sum, started, sum);
    }

    private ForkJoin() {}
}
