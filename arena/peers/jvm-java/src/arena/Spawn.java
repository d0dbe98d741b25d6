package arena;

import arena.Protocol.Cell;
import arena.Protocol.Counts;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicLong;

/** Virtual threads that do next to nothing. */
final class Spawn {
    /** After so many starts the starter lets the others run, so that less is alive at once. */
    private static final long BURST = 64;

    static void addTo(Map<String, Cell> cells) {
        cells.put("spawn/detached", sizes -> {
            long n = sizes.size("n", 1_000_000_000);
            return Protocol.repeat(() -> detached(n));
        });
        cells.put("spawn/joined", sizes -> {
            long n = sizes.size("n", 1_000_000_000);
            return Protocol.repeat(() -> joined(n));
        });
    }

    /** Nobody joins; the thread that brings the counter to n says so. */
    private static Counts detached(long n) throws InterruptedException {
        AtomicLong counter = new AtomicLong();
        CountDownLatch done = new CountDownLatch(1);
        Runnable task = () -> {
            if (counter.incrementAndGet() == n) {
                done.countDown();
            }
        };
        Thread.startVirtualThread(() -> {
            for (long i = 1; i <= n; i++) {
                Thread.startVirtualThread(task);
                if (i % BURST == 0) {
                    Thread.yield();
                }
            }
        });
        done.await();
        long ran = counter.get();
        return new Counts(ran, ran, ran);
    }

    /** Start one, await its result, n times. */
    private static Counts joined(long n) throws Exception {
        long sum = 0;
        long started = 0;
        for (; started < n; started++) {
            FutureTask<Long> task = new FutureTask<>(() -> 1L);
            Thread.startVirtualThread(task);
            sum += task.get();
        }
        return new Counts(sum, started, sum);
    }

    private Spawn() {}
}
