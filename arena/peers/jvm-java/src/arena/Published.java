package arena;

import arena.Protocol.Cell;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Supplier;

/**
 * Skynet as the seed's Java program has it: a task per node, the parent blocks on the futures of its children, and the
 * executor is made and closed in the timed region.
 */
final class Published {
    /** A thread per node, and a cached pool that reuses some: a larger tree is more threads than Linux allows by default. */
    private static final long MOST_PLATFORM = 10_000;
    private static final long MOST_CACHED = 100_000;
    private static final long MOST = 1_000_000;

    static void addVirtual(Map<String, Cell> cells) {
        cells.put("skynet/original:virtual-threads",
                Skynet.cell(MOST, (units, leaves) -> run(units, leaves, Executors::newVirtualThreadPerTaskExecutor)));
    }

    static void addPools(Map<String, Cell> cells) {
        cells.put("skynet/original:work-stealing",
                Skynet.cell(MOST, (units, leaves) -> run(units, leaves, Executors::newWorkStealingPool)));
        cells.put("skynet/original:cached-pool",
                Skynet.cell(MOST_CACHED, (units, leaves) -> run(units, leaves, Executors::newCachedThreadPool)));
        cells.put("skynet/original:platform", Skynet.cell(MOST_PLATFORM, (units, leaves) -> run(units, leaves,
                () -> Executors.newThreadPerTaskExecutor(Executors.defaultThreadFactory()))));
    }

    private static long run(Skynet.Units units, long leaves, Supplier<ExecutorService> make)
            throws ExecutionException, InterruptedException {
        try (ExecutorService executor = make.get()) {
            return executor.submit(() -> node(units, executor, 0L, leaves)).get();
        }
    }

    private static Long node(Skynet.Units units, ExecutorService executor, long number, long size)
            throws ExecutionException, InterruptedException {
        units.born();
        if (size == 1) {
            return number;
        }
        List<Future<Long>> children = new ArrayList<>();
        long part = size / Skynet.CHILDREN;
        for (int i = 0; i < Skynet.CHILDREN; i++) {
            long first = number + i * part;
            children.add(executor.submit(() -> node(units, executor, first, part)));
        }
        long sum = 0;
        for (Future<Long> child : children) {
            sum += child.get();
        }
        return sum;
    }

    private Published() {}
}
