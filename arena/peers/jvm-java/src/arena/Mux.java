package arena;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedTransferQueue;
import java.util.stream.Stream;

/**
 * All pairs over one connection: at each end a virtual thread that reads and routes and one that writes what waits, and at the
 * server one with a queue of its own for every pair.
 */
final class Mux implements Echo.Transport {
    private static final int PARCEL_BYTES = 12;
    private static final int FRAME_BYTES = 4 + PARCEL_BYTES;
    private static final int BUFFER_BYTES = FRAME_BYTES * 4096;

    /** What one frame holds. */
    private record Parcel(int pair, long number) {}

    /** The ends of queues, not sent. */
    private static final Parcel LAST_PARCEL = new Parcel(-1, 0);
    private static final long LAST = Long.MIN_VALUE;

    private final int pairs;

    Mux(int pairs) {
        this.pairs = pairs;
    }

    private List<BlockingQueue<Long>> queues() {
        return Stream.generate(LinkedTransferQueue<Long>::new).<BlockingQueue<Long>>map(queue -> queue).limit(pairs).toList();
    }

    /** Joins what waits into one write. */
    private static void write(OutputStream out, BlockingQueue<Parcel> parcels) throws IOException, InterruptedException {
        ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES);
        for (Parcel parcel = parcels.take(); parcel != LAST_PARCEL; ) {
            buffer.putInt(PARCEL_BYTES).putInt(parcel.pair).putLong(parcel.number);
            Parcel next = parcels.poll();
            if (next == null || next == LAST_PARCEL || !buffer.hasRemaining()) {
                out.write(buffer.array(), 0, buffer.position());
                buffer.clear();
            }
            parcel = next == null ? parcels.take() : next;
        }
    }

    /** Hands every number to its pair until the other side closes. */
    private static void route(InputStream in, List<BlockingQueue<Long>> queues) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES);
        for (int had = read(in, buffer); had >= 0; had = read(in, buffer)) {
            buffer.flip();
            while (buffer.remaining() >= FRAME_BYTES) {
                int length = buffer.getInt();
                int pair = buffer.getInt();
                if (length != PARCEL_BYTES || pair < 0 || pair >= queues.size()) {
                    throw new IOException("a frame of " + length + " bytes for pair " + pair + " of " + queues.size());
                }
                queues.get(pair).add(buffer.getLong());
            }
            buffer.compact();
        }
        if (buffer.position() > 0) {
            throw new EOFException("the connection ended within a frame");
        }
    }

    private static int read(InputStream in, ByteBuffer buffer) throws IOException {
        int had = in.read(buffer.array(), buffer.position(), buffer.remaining());
        buffer.position(buffer.position() + Math.max(had, 0));
        return had;
    }

    @Override
    public void serve(Socket connection) throws Exception {
        BlockingQueue<Parcel> answers = new LinkedTransferQueue<>();
        List<BlockingQueue<Long>> queues = queues();
        Virtual servers = Virtual.group();
        for (int i = 0; i < pairs; i++) {
            int pair = i;
            servers.add(() -> {
                BlockingQueue<Long> requests = queues.get(pair);
                for (long number = requests.take(); number != LAST; number = requests.take()) {
                    answers.add(new Parcel(pair, number));
                }
                return Protocol.Counts.NONE;
            });
        }
        OutputStream out = connection.getOutputStream();
        Thread writer = Virtual.start(() -> write(out, answers));
        try {
            route(connection.getInputStream(), queues);
        } finally {
            queues.forEach(queue -> queue.add(LAST));
            servers.join();
            answers.add(LAST_PARCEL);
            writer.join();
        }
    }

    @Override
    public Clients.Ends connect(String addr) throws IOException {
        return new Shared(Echo.dial(addr));
    }

    private final class Shared implements Clients.Ends {
        private final Socket socket;
        private final BlockingQueue<Parcel> requests = new LinkedTransferQueue<>();
        private final List<BlockingQueue<Long>> answers = queues();
        private final Thread writer;
        private final Thread reader;

        Shared(Socket socket) throws IOException {
            this.socket = socket;
            InputStream in = socket.getInputStream();
            OutputStream out = socket.getOutputStream();
            writer = Virtual.start(() -> write(out, requests));
            reader = Virtual.start(() -> read(in));
        }

        private void read(InputStream in) throws IOException {
            try {
                route(in, answers);
            } catch (IOException e) {
                if (!socket.isClosed()) {
                    throw e;
                }
            } finally {
                answers.forEach(queue -> queue.add(LAST));
            }
        }

        @Override
        public Clients.End end(int pair) {
            BlockingQueue<Long> mine = answers.get(pair);
            return number -> {
                requests.add(new Parcel(pair, number));
                long answer = mine.take();
                if (answer == LAST) {
                    throw new EOFException("the connection ended");
                }
                return answer;
            };
        }

        @Override
        public void close() throws Exception {
            requests.add(LAST_PARCEL);
            writer.join();
            socket.close();
            reader.join();
        }
    }
}
