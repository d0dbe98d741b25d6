package arena;

import arena.Protocol.Cell;
import arena.Protocol.Counts;
import arena.Protocol.Timed;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedTransferQueue;

/** Clients that ask servers of their own, through queues: no socket. */
final class Net {
    private record Request(long number, CompletableFuture<Long> reply) {}

    private static final Request LAST = new Request(-1, null);

    static void addTo(Map<String, Cell> cells) {
        cells.put("net/local", sizes -> {
            long clients = sizes.size("N", 1_000_000);
            long requests = sizes.size("M", 1L << 31);
            return inner -> {
                long ns = 0;
                Counts total = Counts.NONE;
                for (long i = 0; i < inner; i++) {
                    Timed timed = local(clients, requests);
                    ns += timed.ns();
                    total = total.plus(timed.counts());
                }
                return new Timed(ns, total);
            };
        });
    }

    private static Timed local(long clients, long requests) throws InterruptedException {
        Virtual threads = Virtual.group();
        CountDownLatch ready = new CountDownLatch(Math.toIntExact(clients));
        CountDownLatch start = new CountDownLatch(1);
        for (long i = 0; i < clients; i++) {
            BlockingQueue<Request> server = new LinkedTransferQueue<>();
            threads.add(() -> serve(server));
            threads.add(() -> {
                echo(server, 0);
                ready.countDown();
                start.await();
                long sent = 0;
                long sum = 0;
                for (; sent < requests; sent++) {
                    sum += echo(server, sent);
                }
                server.put(LAST);
                return new Counts(sent, 1, sum);
            });
        }
        ready.await();
        long begin = System.nanoTime();
        start.countDown();
        Counts counts = threads.join();
        return new Timed(System.nanoTime() - begin, counts);
    }

    private static Counts serve(BlockingQueue<Request> requests) throws InterruptedException {
        long served = -1; // the echo before the start
        for (Request request = requests.take(); request != LAST; request = requests.take()) {
            request.reply().complete(request.number());
            served++;
        }
        return new Counts(served, 1, 0);
    }

    private static long echo(BlockingQueue<Request> server, long number) throws InterruptedException {
        CompletableFuture<Long> reply = new CompletableFuture<>();
        server.put(new Request(number, reply));
        long answer = Virtual.await(reply);
        if (answer != number) {
            throw new IllegalStateException("asked " + number + ", the answer is " + answer);
        }
        return answer;
    }

    private Net() {}
}
