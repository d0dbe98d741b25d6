package arena;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.StandardSocketOptions;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Accepts connections and runs a virtual thread for each. */
final class Server implements AutoCloseable {
    /** A thousand clients connect at once; with the default of 50 many would have to try again. */
    private static final int BACKLOG = 4096;

    private final ServerSocket listener = new ServerSocket(0, BACKLOG, InetAddress.getLoopbackAddress());
    private final Set<Socket> connections = ConcurrentHashMap.newKeySet();
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    Server(Echo.Transport transport) throws IOException {
        threads.execute(() -> accept(transport));
    }

    String addr() {
        return "127.0.0.1:" + listener.getLocalPort();
    }

    private void accept(Echo.Transport transport) {
        try {
            while (true) {
                Socket connection = listener.accept();
                connection.setOption(StandardSocketOptions.TCP_NODELAY, true);
                connections.add(connection);
                threads.execute(() -> serve(transport, connection));
            }
        } catch (IOException e) {
            if (!listener.isClosed()) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private void serve(Echo.Transport transport, Socket connection) {
        try (connection) {
            transport.serve(connection);
        } catch (Exception e) {
            if (!listener.isClosed()) {
                throw new IllegalStateException("server: " + e, e);
            }
        } finally {
            connections.remove(connection);
        }
    }

    /** Ends what is still connected, and waits for its threads. */
    @Override
    public void close() {
        try {
            listener.close();
            for (Socket connection : connections) {
                connection.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        threads.close();
    }
}
