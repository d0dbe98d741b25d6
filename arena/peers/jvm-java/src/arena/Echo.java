package arena;

import arena.Protocol.Cell;
import arena.Protocol.Command;
import arena.Protocol.Prepared;
import arena.Protocol.Refusal;
import arena.Protocol.Timed;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Clients that ask servers of their own over TCP; a connection per client here, a shared one in {@link Mux}. */
final class Echo {
    private static final int NUMBER_BYTES = 8;
    private static final int FRAME_BYTES = 4 + NUMBER_BYTES;

    /** How a server serves a connection, and how clients connect. */
    interface Transport {
        void serve(Socket connection) throws Exception;

        Clients.Ends connect(String addr) throws Exception;
    }

    /** A connection per client. */
    private static final Transport EACH = new Transport() {
        @Override
        public void serve(Socket connection) throws IOException {
            InputStream in = connection.getInputStream();
            OutputStream out = connection.getOutputStream();
            byte[] frame = new byte[FRAME_BYTES];
            while (read(in, frame)) {
                out.write(frame);
            }
        }

        @Override
        public Clients.Ends connect(String addr) {
            return new Connections(addr);
        }
    };

    static void addTo(Map<String, Cell> cells) {
        cells.put("net/echo", twoProcesses(sizes -> EACH));
        cells.put("net/echo-mux", twoProcesses(sizes -> new Mux(pairs(sizes))));
        cells.put("net/echo-oneproc", sizes -> {
            Server server = new Server(EACH);
            try {
                Clients clients = Clients.connect(pairs(sizes), () -> EACH.connect(server.addr()));
                return prepared(clients, requests(sizes), server);
            } catch (Exception e) {
                server.close();
                throw e;
            }
        });
        cells.put("net/paced", twoProcesses(sizes -> EACH));
    }

    private interface Made {
        Transport of(Command sizes) throws Refusal;
    }

    private static Cell twoProcesses(Made made) {
        return sizes -> {
            Transport transport = made.of(sizes);
            long requests = requests(sizes);
            int pairs = pairs(sizes);
            String role = sizes.values().getOrDefault("role", "");
            String addr = sizes.values().getOrDefault("addr", "");
            return switch (role) {
                case "server" -> prepared(new Server(transport));
                case "client" -> prepared(Clients.connect(pairs, () -> transport.connect(addr)), requests, null);
                default -> throw new Refusal("limit", "role=" + role + ": must be server or client");
            };
        };
    }

    private static int pairs(Command sizes) throws Refusal {
        return (int) sizes.size("N", 100_000);
    }

    private static long requests(Command sizes) throws Refusal {
        return sizes.size("M", 1L << 31);
    }

    private static Prepared prepared(Server server) {
        return new Prepared() {
            @Override
            public Timed run(long inner) throws Refusal {
                throw new Refusal("bug", "a server runs nothing");
            }

            @Override
            public String told() {
                return ",\"addr\":\"" + server.addr() + "\"";
            }

            @Override
            public void close() {
                server.close();
            }
        };
    }

    /** The clients, and their server if it is in this process. */
    private static Prepared prepared(Clients clients, long requests, Server server) {
        return new Prepared() {
            @Override
            public Timed run(long inner) throws Exception {
                return clients.run(inner, requests);
            }

            @Override
            public Timed paced(long rate, long secs) throws Exception {
                return clients.paced(rate, secs);
            }

            @Override
            public String told() {
                return ",\"ready_ns\":" + clients.ready();
            }

            @Override
            public void close() throws Exception {
                clients.close();
                if (server != null) {
                    server.close();
                }
            }
        };
    }

    static Socket dial(String addr) throws IOException {
        int colon = addr.lastIndexOf(':');
        Socket socket = new Socket(addr.substring(0, colon), Integer.parseInt(addr.substring(colon + 1)));
        socket.setOption(StandardSocketOptions.TCP_NODELAY, true);
        return socket;
    }

    /** Fills the frame; false if the other side has closed before. */
    private static boolean read(InputStream in, byte[] frame) throws IOException {
        int had = in.readNBytes(frame, 0, FRAME_BYTES);
        if (had > 0 && had < FRAME_BYTES) {
            throw new EOFException("the connection ended within a frame");
        }
        if (had == FRAME_BYTES && ByteBuffer.wrap(frame).getInt() != NUMBER_BYTES) {
            throw new IOException("a frame of " + ByteBuffer.wrap(frame).getInt() + " bytes");
        }
        return had > 0;
    }

    private static final class Connections implements Clients.Ends {
        private final String addr;
        private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();

        Connections(String addr) {
            this.addr = addr;
        }

        @Override
        public Clients.End end(int pair) throws IOException {
            Socket socket = dial(addr);
            sockets.add(socket);
            InputStream in = socket.getInputStream();
            OutputStream out = socket.getOutputStream();
            byte[] frame = new byte[FRAME_BYTES];
            ByteBuffer content = ByteBuffer.wrap(frame);
            return number -> {
                content.putInt(0, NUMBER_BYTES).putLong(4, number);
                out.write(frame);
                if (!read(in, frame)) {
                    throw new EOFException("the connection ended");
                }
                return content.getLong(4);
            };
        }

        @Override
        public void close() throws IOException {
            for (Socket socket : sockets) {
                socket.close();
            }
        }
    }

    private Echo() {}
}
