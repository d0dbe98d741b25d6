package arena;

import arena.Protocol.Cell;
import arena.Protocol.Counts;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedTransferQueue;

/** One parent, one child, N messages each way. Both count the messages they take. */
final class Fan {
    private enum Kind { START, PING, PONG, STOP }

    private record Message(Kind kind, long index) {}

    private interface Parent<T> {
        Counts run(long n, BlockingQueue<T> self, Virtual threads) throws InterruptedException;
    }

    static void addTo(Map<String, Cell> cells) {
        cells.put("fan/struct", cell(new Message(Kind.START, 0), Fan::parent));
        cells.put("fan/obj", cell((Object) new Start(), Fan::parentObj));
    }

    private static <T> Cell cell(T start, Parent<T> parent) {
        return sizes -> {
            long n = sizes.size("N", 50_000_000);
            return Protocol.repeat(() -> {
                BlockingQueue<T> mailbox = new LinkedTransferQueue<>();
                Virtual children = Virtual.group();
                Virtual threads = Virtual.group();
                threads.add(() -> parent.run(n, mailbox, children));
                mailbox.put(start);
                return threads.join().plus(children.join());
            });
        };
    }

    private static Counts parent(long n, BlockingQueue<Message> self, Virtual children) throws InterruptedException {
        long taken = 0;
        long sum = 0;
        for (;;) {
            Message message = self.take();
            taken++;
            switch (message.kind()) {
                case START -> {
                    BlockingQueue<Message> child = new LinkedTransferQueue<>();
                    children.add(() -> child(n, child, self));
                    for (long i = 0; i < n; i++) {
                        child.put(new Message(Kind.PING, i));
                    }
                }
                case PONG -> {
                    sum += message.index();
                    if (message.index() == n - 1) {
                        self.put(new Message(Kind.STOP, 0));
                    }
                }
                default -> {
                    return new Counts(taken, 1, sum);
                }
            }
        }
    }

    private static Counts child(long n, BlockingQueue<Message> self, BlockingQueue<Message> parent)
            throws InterruptedException {
        long taken = 0;
        for (;;) {
            Message message = self.take();
            taken++;
            if (message.kind() == Kind.STOP) {
                return new Counts(taken, 1, 0);
            }
            parent.put(new Message(Kind.PONG, message.index()));
            if (message.index() == n - 1) {
                self.put(new Message(Kind.STOP, 0));
            }
        }
    }

    // The same with dynamic messages.

    private record Start() {}

    private record Ping(long index) {}

    private record Pong(long index) {}

    private record Stop() {}

    private static Counts parentObj(long n, BlockingQueue<Object> self, Virtual children) throws InterruptedException {
        long taken = 0;
        long sum = 0;
        for (;;) {
            Object message = self.take();
            taken++;
            if (message instanceof Pong pong) {
                sum += pong.index();
                if (pong.index() == n - 1) {
                    self.put(new Stop());
                }
            } else if (message instanceof Start) {
                BlockingQueue<Object> child = new LinkedTransferQueue<>();
                children.add(() -> childObj(n, child, self));
                for (long i = 0; i < n; i++) {
                    child.put(new Ping(i));
                }
            } else if (message instanceof Stop) {
                return new Counts(taken, 1, sum);
            }
        }
    }

    private static Counts childObj(long n, BlockingQueue<Object> self, BlockingQueue<Object> parent)
            throws InterruptedException {
        long taken = 0;
        for (;;) {
            Object message = self.take();
            taken++;
            if (message instanceof Ping ping) {
                parent.put(new Pong(ping.index()));
                if (ping.index() == n - 1) {
                    self.put(new Stop());
                }
            } else if (message instanceof Stop) {
                return new Counts(taken, 1, 0);
            }
        }
    }

    private Fan() {}
}
