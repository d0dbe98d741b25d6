package arena;

import arena.Protocol.Cell;
import arena.Protocol.Counts;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.SynchronousQueue;

/** Pairs of virtual threads; each side waits on a queue of its own. */
final class PingPong {
    private record Ping(long number, BlockingQueue<Long> reply) {}

    private record Call(long number, CompletableFuture<Long> reply) {}

    /** Sent after the last request, not counted: queues cannot be closed. */
    private static final Ping LAST_PING = new Ping(-1, null);
    private static final Call LAST_CALL = new Call(-1, null);
    private static final Long LAST = -1L;

    private interface Mailbox {
        <T> BlockingQueue<T> make();
    }

    private interface Starter {
        void start(Virtual threads, long n, long window);
    }

    static void addTo(Map<String, Cell> cells) {
        cells.put("pingpong/tell", cell(1, (t, n, w) -> tell(t, n, w, LinkedTransferQueue::new)));
        cells.put("pingpong/tell-w100", cell(100, (t, n, w) -> tell(t, n, w, LinkedTransferQueue::new)));
        cells.put("pingpong/tell-w1000", cell(1000, (t, n, w) -> tell(t, n, w, LinkedTransferQueue::new)));
        cells.put("pingpong/tell-bounded", cell(1, (t, n, w) -> tell(t, n, 1, PingPong::oneSlot)));
        cells.put("pingpong/give", cell(1, (t, n, w) -> tell(t, n, 1, SynchronousQueue::new)));
        cells.put("pingpong/tell-fixed", cell(1, (t, n, w) -> fixed(t, n, LinkedTransferQueue::new)));
        cells.put("pingpong/give-fixed", cell(1, (t, n, w) -> fixed(t, n, SynchronousQueue::new)));
        cells.put("pingpong/call", cell(1, (t, n, w) -> call(t, n, SynchronousQueue::new)));
        cells.put("pingpong/call-send", cell(1, (t, n, w) -> call(t, n, LinkedTransferQueue::new)));
    }

    private static <T> BlockingQueue<T> oneSlot() {
        return new ArrayBlockingQueue<>(1);
    }

    private static Cell cell(long defaultWindow, Starter pair) {
        return sizes -> {
            long p = sizes.size("p", 1_000_000);
            long n = sizes.size("n", 1L << 31);
            long w = sizes.number("w", 0) == 0 ? defaultWindow : sizes.size("w", 1_000_000);
            return Protocol.repeat(() -> {
                Virtual threads = Virtual.group();
                for (long i = 0; i < p; i++) {
                    pair.start(threads, n, w);
                }
                return threads.join();
            });
        };
    }

    private static void tell(Virtual threads, long n, long window, Mailbox mailbox) {
        BlockingQueue<Ping> requests = mailbox.make();
        BlockingQueue<Long> replies = mailbox.make();
        threads.add(() -> {
            long sent = 0;
            for (Ping ping = requests.take(); ping != LAST_PING; ping = requests.take()) {
                ping.reply().put(ping.number());
                sent++;
            }
            return new Counts(sent, 1, 0);
        });
        threads.add(() -> {
            long sent = 0;
            long sum = 0;
            while (sent < window && sent < n) {
                requests.put(new Ping(sent++, replies));
            }
            for (long answered = 0; answered < n; answered++) {
                sum += replies.take();
                if (sent < n) {
                    requests.put(new Ping(sent++, replies));
                }
            }
            requests.put(LAST_PING);
            return new Counts(sent, 1, sum);
        });
    }

    /** Two queues per pair that both sides know; the message is the number alone. */
    private static void fixed(Virtual threads, long n, Mailbox mailbox) {
        BlockingQueue<Long> requests = mailbox.make();
        BlockingQueue<Long> replies = mailbox.make();
        threads.add(() -> {
            long sent = 0;
            for (Long number = requests.take(); number != LAST; number = requests.take()) {
                replies.put(number);
                sent++;
            }
            return new Counts(sent, 1, 0);
        });
        threads.add(() -> {
            long sum = 0;
            for (long i = 0; i < n; i++) {
                requests.put(i);
                sum += replies.take();
            }
            requests.put(LAST);
            return new Counts(n, 1, sum);
        });
    }

    /** A fresh future per request takes the reply. */
    private static void call(Virtual threads, long n, Mailbox mailbox) {
        BlockingQueue<Call> requests = mailbox.make();
        threads.add(() -> {
            long sent = 0;
            for (Call call = requests.take(); call != LAST_CALL; call = requests.take()) {
                call.reply().complete(call.number());
                sent++;
            }
            return new Counts(sent, 1, 0);
        });
        threads.add(() -> {
            long sum = 0;
            for (long i = 0; i < n; i++) {
                CompletableFuture<Long> reply = new CompletableFuture<>();
                requests.put(new Call(i, reply));
                sum += Virtual.await(reply);
            }
            requests.put(LAST_CALL);
            return new Counts(n, 1, sum);
        });
    }

    private PingPong() {}
}
