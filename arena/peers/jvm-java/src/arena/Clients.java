package arena;

import arena.Protocol.Counts;
import arena.Protocol.Refusal;
import arena.Protocol.Timed;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/** Connected clients, each a virtual thread in every repetition. The connections last for all of them. */
final class Clients {
    /** The client's end of a pair. */
    interface End {
        long echo(long number) throws Exception;
    }

    /** All of them, over connections of their own or one. */
    interface Ends {
        End end(int pair) throws Exception;

        void close() throws Exception;
    }

    private static final long LAST = -1;

    private final Ends connections;
    private final End[] ends;
    private final long ready;

    private Clients(int pairs, Callable<Ends> connect) throws Exception {
        long begin = System.nanoTime();
        connections = connect.call();
        ends = new End[pairs];
        Virtual threads = Virtual.group();
        for (int i = 0; i < pairs; i++) {
            int pair = i;
            threads.add(() -> {
                ends[pair] = connections.end(pair);
                verified(ends[pair], -1);
                return Counts.NONE;
            });
        }
        threads.join();
        ready = System.nanoTime() - begin;
    }

    /** Connects all at once; each has one echo. */
    static Clients connect(int pairs, Callable<Ends> connect) throws Exception {
        return new Clients(pairs, connect);
    }

    private static long verified(End end, long number) throws Exception {
        long answer = end.echo(number);
        if (answer != number) {
            throw new IllegalStateException("asked " + number + ", the answer is " + answer);
        }
        return answer;
    }

    /** How long it took to connect. */
    long ready() {
        return ready;
    }

    /** All start together and make so many requests each. */
    Timed run(long inner, long requests) throws InterruptedException {
        Timed total = new Timed(0, Counts.NONE);
        for (long i = 0; i < inner; i++) {
            Timed once = once(requests);
            total = new Timed(total.ns() + once.ns(), total.counts().plus(once.counts()));
        }
        return total;
    }

    private Timed once(long requests) throws InterruptedException {
        Virtual threads = Virtual.group();
        CountDownLatch start = new CountDownLatch(1);
        for (End end : ends) {
            threads.add(() -> {
                start.await();
                long answered = 0;
                long sum = 0;
                for (; answered < requests; answered++) {
                    sum += verified(end, answered);
                }
                return new Counts(2 * answered, 2, sum);
            });
        }
        long begin = System.nanoTime();
        start.countDown();
        Counts counts = threads.join();
        return new Timed(System.nanoTime() - begin, counts);
    }

    /** Makes rate * secs requests; request k belongs to client k mod N and is due at k / rate. */
    Timed paced(long rate, long secs) throws Exception {
        if (rate < 1 || rate > 100_000_000 || secs < 1 || secs > 10_000 || rate * secs > Integer.MAX_VALUE) {
            throw new Refusal("limit", "rate=" + rate + " secs=" + secs);
        }
        long requests = rate * secs;
        int each = (int) (requests / ends.length + 1);
        long[][] sinceDue = new long[ends.length][each];
        long[][] sinceSent = new long[ends.length][each];
        Virtual threads = Virtual.group();
        List<BlockingQueue<Long>> queues = Stream.generate(LinkedTransferQueue<Long>::new)
                .<BlockingQueue<Long>>map(queue -> queue).limit(ends.length).toList();
        long start = System.nanoTime();
        for (int i = 0; i < ends.length; i++) {
            int client = i;
            threads.add(() -> {
                BlockingQueue<Long> queue = queues.get(client);
                int answered = 0;
                long sum = 0;
                for (long k = queue.take(); k != LAST; k = queue.take()) {
                    long sent = System.nanoTime();
                    sum += verified(ends[client], k);
                    long now = System.nanoTime();
                    sinceSent[client][answered] = now - sent;
                    sinceDue[client][answered++] = now - start - due(k, rate);
                }
                sinceDue[client] = Arrays.copyOf(sinceDue[client], answered);
                sinceSent[client] = Arrays.copyOf(sinceSent[client], answered);
                return new Counts(2L * answered, 2, sum);
            });
        }
        // A platform thread, which the kernel wakes in time: the timers of virtual threads are one more thread away.
        Thread pacer = Thread.ofPlatform().start(() -> handOut(queues, start, rate, requests));
        Counts counts = threads.join();
        long ns = System.nanoTime() - start;
        pacer.join();
        return new Timed(ns, counts, ",\"hist\":" + Histogram.of(sinceDue) + ",\"hist_service\":" + Histogram.of(sinceSent));
    }

    /** Gives each client its requests as they fall due. */
    private static void handOut(List<BlockingQueue<Long>> queues, long start, long rate, long requests) {
        for (long k = 0; k < requests; ) {
            long ahead = due(k, rate) - (System.nanoTime() - start);
            if (ahead > 0) {
                LockSupport.parkNanos(ahead);
            } else {
                queues.get((int) (k % queues.size())).add(k++);
            }
        }
        queues.forEach(queue -> queue.add(LAST));
    }

    private static long due(long k, long rate) {
        return k / rate * 1_000_000_000 + k % rate * 1_000_000_000 / rate;
    }

    void close() throws Exception {
        connections.close();
    }
}
