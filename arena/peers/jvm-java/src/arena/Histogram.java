package arena;

import java.util.StringJoiner;

/** Latencies in buckets: exact below 64 ns, then 32 for each power of two. */
final class Histogram {
    private static final int BUCKETS = 59 * 32;

    /** The buckets that are not empty, as the protocol writes them. */
    static String of(long[][] latencies) {
        long[] counts = new long[BUCKETS];
        for (long[] part : latencies) {
            for (long latency : part) {
                counts[bucket(Math.max(latency, 0))]++;
            }
        }
        StringJoiner list = new StringJoiner(",", "[", "]");
        for (int bucket = 0; bucket < BUCKETS; bucket++) {
            if (counts[bucket] > 0) {
                list.add("[" + bucket + "," + counts[bucket] + "]");
            }
        }
        return list.toString();
    }

    private static int bucket(long ns) {
        int shift = 63 - Long.numberOfLeadingZeros(ns | 63) - 5;
        return shift * 32 + (int) (ns >> shift);
    }

    private Histogram() {}
}
