package arena;

import arena.Protocol.Cell;
import arena.Protocol.Counts;
import java.util.Map;
import rx.Observable;
import rx.schedulers.Schedulers;
import rx.subjects.AsyncSubject;
import rx.subjects.PublishSubject;
import rx.subjects.SerializedSubject;
import rx.subjects.Subject;

/** Many producers push into one subject; a scan on a thread of its own keeps the sum. */
final class Counter {
    private static final long STEP = 100;

    private interface Message {}

    private record Add(long amount) implements Message {}

    private record GetAndReset(Subject<Long, Long> reply) implements Message {}

    static void addTo(Map<String, Cell> cells) {
        cells.put("counter/send", sizes -> {
            int producers = Math.toIntExact(sizes.size("P", 1_000_000));
            int n = Math.toIntExact(sizes.size("n", Integer.MAX_VALUE));
            return Protocol.repeat(() -> send(producers, n));
        });
    }

    private static Counts send(int producers, int n) {
        Subject<Message, Message> inbox = new SerializedSubject<>(PublishSubject.create());
        // Without the buffer a subject that pushes faster than the scan takes is an error.
        inbox.onBackpressureBuffer().observeOn(Schedulers.computation()).scan(0L, Counter::step).subscribe();
        long sent = Observable.range(0, producers)
                .flatMap(producer -> Observable.range(0, n)
                        .subscribeOn(Schedulers.computation())
                        .doOnNext(i -> inbox.onNext(new Add(STEP)))
                        .countLong())
                .reduce(0L, Long::sum)
                .toBlocking().single();
        Subject<Long, Long> reply = AsyncSubject.create();
        inbox.onNext(new GetAndReset(reply));
        long sum = reply.toBlocking().single();
        inbox.onCompleted();
        return new Counts(sent, producers + 1L, sum);
    }

    private static Long step(Long sum, Message message) {
        if (message instanceof Add add) {
            return sum + add.amount();
        }
        Subject<Long, Long> reply = ((GetAndReset) message).reply();
        reply.onNext(sum);
        reply.onCompleted();
        return 0L;
    }

    private Counter() {}
}
