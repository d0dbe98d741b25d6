package arena;

import arena.Protocol.Cell;
import arena.Protocol.Counts;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedTransferQueue;

/** Each node makes the next; the pongs come back through all of them. */
final class Chain {
    private enum Kind { PING, PONG }

    /** A ping carries the number of its receiver (the root is 0), a pong the depth below its receiver. */
    private record Message(Kind kind, long value) {}

    private interface Root<T> {
        void run(long actors, BlockingQueue<T> self, CompletableFuture<Long> done) throws InterruptedException;
    }

    static void addTo(Map<String, Cell> cells) {
        cells.put("chain/struct", cell(new Message(Kind.PING, 0), Chain::root));
        cells.put("chain/obj", cell((Object) new Ping(0), Chain::rootObj));
    }

    private static <T> Cell cell(T first, Root<T> root) {
        return sizes -> {
            long actors = sizes.size("A", 1_000_000);
            return Protocol.repeat(() -> {
                BlockingQueue<T> mailbox = new LinkedTransferQueue<>();
                CompletableFuture<Long> done = new CompletableFuture<>();
                Virtual.start(() -> root.run(actors, mailbox, done));
                mailbox.put(first);
                long depth = Virtual.await(done);
                // One ping and one pong for each child that answered, the first ping, the last child's pong to itself.
                return new Counts(2 * depth + 2, depth + 1, depth);
            });
        };
    }

    private static void root(long actors, BlockingQueue<Message> self, CompletableFuture<Long> done)
            throws InterruptedException {
        Message message = self.take();
        while (message.kind() == Kind.PING) {
            child(actors, message.value() + 1, self);
            message = self.take();
        }
        done.complete(message.value());
    }

    private static void node(long actors, BlockingQueue<Message> self, BlockingQueue<Message> parent)
            throws InterruptedException {
        Message message = self.take();
        while (message.kind() == Kind.PING) {
            if (message.value() < actors) {
                child(actors, message.value() + 1, self);
            } else {
                self.put(new Message(Kind.PONG, 0));
            }
            message = self.take();
        }
        parent.put(new Message(Kind.PONG, message.value() + 1));
    }

    private static void child(long actors, long number, BlockingQueue<Message> parent) throws InterruptedException {
        BlockingQueue<Message> mailbox = new LinkedTransferQueue<>();
        Virtual.start(() -> node(actors, mailbox, parent));
        mailbox.put(new Message(Kind.PING, number));
    }

    // The same with dynamic messages.

    private record Ping(long number) {}

    private record Pong(long depth) {}

    private static void rootObj(long actors, BlockingQueue<Object> self, CompletableFuture<Long> done)
            throws InterruptedException {
        for (;;) {
            Object message = self.take();
            if (message instanceof Ping ping) {
                childObj(actors, ping.number() + 1, self);
            } else if (message instanceof Pong pong) {
                done.complete(pong.depth());
                return;
            }
        }
    }

    private static void nodeObj(long actors, BlockingQueue<Object> self, BlockingQueue<Object> parent)
            throws InterruptedException {
        for (;;) {
            Object message = self.take();
            if (message instanceof Ping ping) {
                if (ping.number() < actors) {
                    childObj(actors, ping.number() + 1, self);
                } else {
                    self.put(new Pong(0));
                }
            } else if (message instanceof Pong pong) {
                parent.put(new Pong(pong.depth() + 1));
                return;
            }
        }
    }

    private static void childObj(long actors, long number, BlockingQueue<Object> parent) throws InterruptedException {
        BlockingQueue<Object> mailbox = new LinkedTransferQueue<>();
        Virtual.start(() -> nodeObj(actors, mailbox, parent));
        mailbox.put(new Ping(number));
    }

    private Chain() {}
}
