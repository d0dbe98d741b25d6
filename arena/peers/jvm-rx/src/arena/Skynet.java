package arena;

import arena.Protocol.Cell;
import arena.Protocol.Counts;
import arena.Protocol.Refusal;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import rx.Observable;
import rx.Scheduler;
import rx.schedulers.Schedulers;

/**
 * Skynet as the seed's RxJava program has it: an inner node is a range, a switchMap over its children and a reduce, a
 * leaf is a value. One thread of the scheduler does it all.
 */
final class Skynet {
    private static final int CHILDREN = 10;

    static void addTo(Map<String, Cell> cells) {
        cells.put("skynet/original:computation", cell(Schedulers.computation()));
        cells.put("skynet/original:immediate", cell(Schedulers.immediate()));
        cells.put("skynet/original:io", cell(Schedulers.io()));
    }

    private static Cell cell(Scheduler scheduler) {
        return sizes -> {
            long leaves = sizes.size("S", 100_000_000);
            long rest = leaves;
            while (rest % CHILDREN == 0) {
                rest /= CHILDREN;
            }
            if (rest != 1) {
                throw new Refusal("limit", "S=" + leaves + " is not a power of 10");
            }
            // Units are the inner nodes, counted in this untimed pass.
            AtomicLong inner = new AtomicLong();
            run(scheduler, inner, leaves);
            long units = inner.get();
            long nodes = (CHILDREN * leaves - 1) / (CHILDREN - 1);
            return Protocol.repeat(() -> new Counts(nodes, units, run(scheduler, null, leaves)));
        };
    }

    private static long run(Scheduler scheduler, AtomicLong inner, long leaves) {
        return node(inner, 0, leaves).toSingle().subscribeOn(scheduler).toBlocking().value();
    }

    private static Observable<Long> node(AtomicLong inner, long number, long size) {
        if (size == 1) {
            return Observable.just(number);
        }
        if (inner != null) {
            inner.incrementAndGet();
        }
        long part = size / CHILDREN;
        return Observable.range(0, CHILDREN)
                .switchMap(i -> node(inner, number + i * part, part))
                .reduce(Long::sum);
    }

    private Skynet() {}
}
