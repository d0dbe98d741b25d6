package arena;

import arena.Protocol.Cell;
import arena.Protocol.Counts;
import java.util.Map;
import java.util.stream.LongStream;

/** Skynet without messages: nested streams as the seed's Java program has them, and plain recursion. */
final class Streams {
    private static final long MOST_LEAVES = 100_000_000;

    static void addTo(Map<String, Cell> cells) {
        cells.put("skynet/floor", sizes -> {
            long leaves = Skynet.leaves(sizes, MOST_LEAVES);
            return Protocol.repeat(() -> new Counts(Skynet.nodes(leaves), 0, floor(0, leaves)));
        });
        cells.put("skynet/original:streams-seq", sizes -> {
            long leaves = Skynet.leaves(sizes, MOST_LEAVES);
            return Protocol.repeat(() -> new Counts(Skynet.nodes(leaves), 0, sequential(0, leaves)));
        });
        cells.put("skynet/original:streams-parallel",
                Skynet.cell(MOST_LEAVES, (units, leaves) -> parallel(units, 0, leaves)));
    }

    private static long floor(long number, long size) {
        if (size == 1) {
            return number;
        }
        long sum = 0;
        long part = size / Skynet.CHILDREN;
        for (int i = 0; i < Skynet.CHILDREN; i++) {
            sum += floor(number + i * part, part);
        }
        return sum;
    }

    private static long sequential(long number, long size) {
        if (size == 1) {
            return number;
        }
        long part = size / Skynet.CHILDREN;
        return LongStream.range(0, Skynet.CHILDREN).map(i -> sequential(number + i * part, part)).sum();
    }

    /** The units counted are the parallel streams, one per inner node; the fork/join tasks below one do not show. */
    private static long parallel(Skynet.Units units, long number, long size) {
        if (size == 1) {
            return number;
        }
        units.born();
        long part = size / Skynet.CHILDREN;
        return LongStream.range(0, Skynet.CHILDREN).map(i -> parallel(units, number + i * part, part)).parallel().sum();
    }

    private Streams() {}
}
