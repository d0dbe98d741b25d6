package arena;

import arena.Protocol.Cell;
import arena.Protocol.Counts;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/** Many producers, one counter that owns the sum. */
final class Counter {
    private static final long STEP = 100;
    private static final int ROOM = 1024;

    private sealed interface Message {}

    private record Add(long amount) implements Message {}

    private record GetAndReset(CompletableFuture<Long> reply) implements Message {}

    /** Ends the counter, not counted. */
    private record Stop() implements Message {}

    private interface Receiver {
        void run(BlockingQueue<Message> inbox) throws InterruptedException;
    }

    private interface Producers {
        Counts run(long producers, long n, BlockingQueue<Message> inbox) throws InterruptedException;
    }

    static void addTo(Map<String, Cell> cells) {
        cells.put("counter/send", cell(LinkedTransferQueue::new, Counter::oneByOne, Counter::onceAtTheEnd));
        cells.put("counter/give", cell(SynchronousQueue::new, Counter::oneByOne, Counter::onceAtTheEnd));
        cells.put(
                "counter/bounded-1024",
                cell(() -> new ArrayBlockingQueue<>(ROOM), Counter::allAtOnce, Counter::onceAtTheEnd));
        cells.put("counter/ask-each", cell(LinkedTransferQueue::new, Counter::oneByOne, Counter::askEach));
        cells.put("counter/threads", cell(LinkedTransferQueue::new, Counter::oneByOne, Counter::platformThreads));
        cells.put("counter/mutex", sizes -> {
            long producers = sizes.size("P", 1_000_000);
            long n = sizes.size("n", 1L << 31);
            return Protocol.repeat(() -> mutex(producers, n));
        });
    }

    private static Cell cell(Supplier<BlockingQueue<Message>> mailbox, Receiver receiver, Producers scenario) {
        return sizes -> {
            long producers = sizes.size("P", 1_000_000);
            long n = sizes.size("n", 1L << 31);
            return Protocol.repeat(() -> {
                BlockingQueue<Message> inbox = mailbox.get();
                Virtual.start(() -> receiver.run(inbox));
                Counts counts = scenario.run(producers, n, inbox);
                inbox.put(new Stop());
                return counts.plus(new Counts(0, 1, 0));
            });
        };
    }

    /** What the counter owns. */
    private static final class Sum {
        private long value;

        /** Takes a message; false for the last one. */
        boolean take(Message message) {
            if (message instanceof Add add) {
                value += add.amount();
            } else if (message instanceof GetAndReset get) {
                get.reply().complete(value);
                value = 0;
            } else {
                return false;
            }
            return true;
        }
    }

    private static void oneByOne(BlockingQueue<Message> inbox) throws InterruptedException {
        Sum sum = new Sum();
        while (sum.take(inbox.take())) {
        }
    }

    /** Takes all that is there under one lock. */
    private static void allAtOnce(BlockingQueue<Message> inbox) throws InterruptedException {
        Sum sum = new Sum();
        List<Message> batch = new ArrayList<>(ROOM);
        for (;;) {
            batch.add(inbox.take());
            inbox.drainTo(batch);
            for (Message message : batch) {
                if (!sum.take(message)) {
                    return;
                }
            }
            batch.clear();
        }
    }

    private static long send(long n, BlockingQueue<Message> inbox) throws InterruptedException {
        long sent = 0;
        for (; sent < n; sent++) {
            inbox.put(new Add(STEP));
        }
        return sent;
    }

    private static long ask(BlockingQueue<Message> inbox) throws InterruptedException {
        CompletableFuture<Long> reply = new CompletableFuture<>();
        inbox.put(new GetAndReset(reply));
        return Virtual.await(reply);
    }

    private static Counts onceAtTheEnd(long producers, long n, BlockingQueue<Message> inbox)
            throws InterruptedException {
        Virtual threads = Virtual.group();
        for (long i = 0; i < producers; i++) {
            threads.add(() -> new Counts(send(n, inbox), 1, 0));
        }
        return threads.join().plus(new Counts(0, 0, ask(inbox)));
    }

    /** Every producer asks for itself; the replies are added. */
    private static Counts askEach(long producers, long n, BlockingQueue<Message> inbox) throws InterruptedException {
        Virtual threads = Virtual.group();
        for (long i = 0; i < producers; i++) {
            threads.add(() -> new Counts(send(n, inbox), 1, ask(inbox)));
        }
        return threads.join();
    }

    private static Counts platformThreads(long producers, long n, BlockingQueue<Message> inbox)
            throws InterruptedException {
        List<Producer> threads = new ArrayList<>();
        for (long i = 0; i < producers; i++) {
            Producer producer = new Producer(n, inbox);
            producer.start();
            threads.add(producer);
        }
        long sent = 0;
        for (Producer producer : threads) {
            producer.join();
            sent += producer.sent;
        }
        return new Counts(sent, producers, ask(inbox));
    }

    /** A producer on a platform thread. */
    private static final class Producer extends Thread {
        private final long n;
        private final BlockingQueue<Message> inbox;
        private long sent;

        Producer(long n, BlockingQueue<Message> inbox) {
            this.n = n;
            this.inbox = inbox;
        }

        @Override
        public void run() {
            try {
                sent = send(n, inbox);
            } catch (InterruptedException e) {
                throw new IllegalStateException("interrupted", e);
            }
        }
    }

    /** No messages: a floor. */
    private static Counts mutex(long producers, long n) throws InterruptedException {
        ReentrantLock lock = new ReentrantLock();
        long[] sum = {0};
        Virtual threads = Virtual.group();
        for (long i = 0; i < producers; i++) {
            threads.add(() -> {
                long added = 0;
                for (; added < n; added++) {
                    lock.lock();
                    try {
                        sum[0] += STEP;
                    } finally {
                        lock.unlock();
                    }
                }
                return new Counts(added, 1, 0);
            });
        }
        return threads.join().plus(new Counts(0, 1, sum[0]));
    }

    private Counter() {}
}
