package arena;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.stream.Collectors;

/** The peer protocol of the arena: a line of words comes in, one line of JSON goes out. */
final class Protocol {
    private static final long MOST_INNER = 1L << 30;

    /** What runs here; {@code driver} is the thread of every sample and every preparation. */
    record Peer(String id, String system, String version, Executor driver, Map<String, Cell> cells) {}

    private final Peer peer;
    private final OutputStream out;
    private Prepared current;
    private volatile CompletableFuture<?> pending = new CompletableFuture<>();

    private Protocol(Peer peer, OutputStream out) {
        this.peer = peer;
        this.out = out;
    }

    /** Serves until {@code quit} or the end of the input. */
    static void serve(Peer peer, InputStream in, OutputStream out) throws IOException {
        Protocol protocol = new Protocol(peer, out);
        // A task that dies would leave the others waiting: its failure is the answer.
        Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> {
            if (!protocol.pending.completeExceptionally(failure)) {
                failure.printStackTrace();
            }
        });
        BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
        // The first call of each takes milliseconds, which must not fall into the first sample.
        sample(1, new Timed(0, Counts.NONE), collections());
        protocol.send(protocol.hello());
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Command command = Command.parse(line);
            if (command.word().equals("quit")) {
                return;
            }
            protocol.send(protocol.answer(command));
        }
    }

    private void send(String body) throws IOException {
        out.write(("{\"arena\":1," + body + "}\n").getBytes(StandardCharsets.UTF_8));
        out.flush();
    }

    private String hello() {
        String flags = String.join(" ", ManagementFactory.getRuntimeMXBean().getInputArguments());
        String runtime = System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version") + " "
                + System.getProperty("java.vendor.version", "-") + " " + System.getProperty("os.arch");
        String cells = peer.cells().keySet().stream().map(Protocol::quote).collect(Collectors.joining(","));
        return "\"t\":\"hello\",\"system\":" + quote(peer.system()) + ",\"peer\":" + quote(peer.id())
                + ",\"version\":" + quote(peer.version()) + ",\"runtime\":" + quote(runtime)
                + ",\"flags\":" + quote(flags) + ",\"threads\":" + threads()
                + ",\"pid\":" + ProcessHandle.current().pid() + ",\"clock_ns\":" + clockStep()
                + ",\"caps\":[\"gc\"" + (peer.cells().containsKey("net/paced") ? ",\"hist\"" : "") + "],\"cells\":[" + cells + "]";
    }

    private String answer(Command command) {
        long id = 0;
        try {
            id = command.number("id", 0);
            String told = "";
            switch (command.word()) {
                case "prep" -> {
                    prep(command);
                    told = current.told();
                }
                case "run" -> {
                    return "\"t\":\"sample\",\"id\":" + id + run(command);
                }
                case "drop" -> {
                    drop();
                    System.gc();
                }
                case "ping" -> { }
                default -> throw new Refusal("unsupported", "unknown command " + command.word());
            }
            return "\"t\":\"ok\",\"id\":" + id + told;
        } catch (Throwable thrown) {
            Throwable failure = thrown;
            while (failure instanceof ExecutionException && failure.getCause() != null) {
                failure = failure.getCause();
            }
            String kind = failure instanceof OutOfMemoryError ? "oom" : "bug";
            if (failure instanceof Refusal refusal) {
                kind = refusal.kind();
            } else {
                failure.printStackTrace();
            }
            String message = failure.getMessage() == null ? failure.toString() : failure.getMessage();
            return "\"t\":\"err\",\"id\":" + id + ",\"kind\":\"" + kind + "\",\"msg\":" + quote(message);
        }
    }

    private void prep(Command command) throws Exception {
        drop();
        String name = command.values().getOrDefault("cell", "");
        Cell cell = peer.cells().get(name);
        if (cell == null) {
            throw new Refusal("unsupported", "no cell " + name + " in " + peer.system());
        }
        long asked = command.number("threads", threads());
        if (asked != threads()) {
            throw new Refusal("unsupported", "started for " + threads() + " threads, not " + asked);
        }
        current = onDriver(() -> cell.prepare(command));
    }

    private String run(Command command) throws Exception {
        if (current == null) {
            throw new Refusal("bug", "run without prep");
        }
        long inner = command.number("inner", 1);
        if (inner < 1 || inner > MOST_INNER) {
            throw new Refusal("limit", "inner=" + inner + ": this peer takes 1 to " + MOST_INNER);
        }
        Prepared cell = current;
        long[] before = collections();
        boolean paced = command.number("hist", 0) == 1;
        long rate = command.number("rate", 0);
        long secs = command.number("secs", 0);
        Timed timed = onDriver(() -> paced ? cell.paced(rate, secs) : cell.run(inner));
        return sample(inner, timed, before);
    }

    /** The answer, with the collections since {@code before}. */
    private static String sample(long inner, Timed timed, long[] before) {
        long[] now = collections();
        StringBuilder gc = new StringBuilder();
        for (int i = 0; i < now.length; i++) {
            gc.append(i == 0 ? "" : ",").append(now[i] - before[i]);
        }
        Counts counts = timed.counts();
        return ",\"ns\":" + timed.ns() + ",\"inner\":" + inner + ",\"msgs\":" + counts.msgs()
                + ",\"units\":" + counts.units() + ",\"check\":" + counts.check() + ",\"gc\":[" + gc + "]" + timed.more();
    }

    private void drop() throws Exception {
        if (current != null) {
            Prepared last = current;
            current = null;
            last.close();
        }
    }

    private <T> T onDriver(Callable<T> work) throws Exception {
        CompletableFuture<T> result = new CompletableFuture<>();
        pending = result;
        peer.driver().execute(() -> {
            try {
                result.complete(work.call());
            } catch (Throwable failure) {
                result.completeExceptionally(failure);
            }
        });
        return result.get();
    }

    /** The JVM takes its thread count at the start: {@code -XX:ActiveProcessorCount}. */
    private static int threads() {
        return Runtime.getRuntime().availableProcessors();
    }

    /** Collections so far, the young generation first: its collector has fewer pools to look after. */
    private static long[] collections() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream()
                .sorted(Comparator.comparingInt(bean -> bean.getMemoryPoolNames().length))
                .mapToLong(GarbageCollectorMXBean::getCollectionCount).toArray();
    }

    /** The smallest step of the clock that was seen. */
    private static long clockStep() {
        long least = Long.MAX_VALUE;
        long last = System.nanoTime();
        for (int i = 0; i < 20_000; i++) {
            long now = System.nanoTime();
            if (now > last) {
                least = Math.min(least, now - last);
            }
            last = now;
        }
        return least;
    }

    private static String quote(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                quoted.append('\\').append(c);
            } else if (c < ' ') {
                quoted.append(String.format("\\u%04x", (int) c));
            } else {
                quoted.append(c);
            }
        }
        return quoted.append('"').toString();
    }

    /** A command: its first word, and its {@code key=value} words. */
    record Command(String word, Map<String, String> values) {
        static Command parse(String line) {
            String[] words = line.trim().split(" +");
            Map<String, String> values = new TreeMap<>();
            for (int i = 1; i < words.length; i++) {
                int equals = words[i].indexOf('=');
                if (equals > 0) {
                    values.put(words[i].substring(0, equals), words[i].substring(equals + 1));
                }
            }
            return new Command(words[0], values);
        }

        long number(String key, long absent) throws Refusal {
            String word = values.get(key);
            try {
                return word == null ? absent : Long.parseLong(word);
            } catch (NumberFormatException e) {
                throw new Refusal("limit", key + "=" + word + " is not a 64-bit number");
            }
        }

        /** A size of the scenario, from 1 to {@code most}. */
        long size(String key, long most) throws Refusal {
            long value = number(key, 0);
            if (value < 1 || value > most) {
                throw new Refusal("limit", key + "=" + value + ": this peer takes 1 to " + most);
            }
            return value;
        }
    }

    /** A command that is answered by an {@code err} line of this kind. */
    static final class Refusal extends Exception {
        private static final long serialVersionUID = 1;
        private final String kind;

        Refusal(String kind, String message) {
            super(message);
            this.kind = kind;
        }

        String kind() {
            return kind;
        }
    }

    /** What one repetition, or the sum of several, really did. */
    record Counts(long msgs, long units, long check) {
        static final Counts NONE = new Counts(0, 0, 0);

        Counts plus(Counts other) {
            return new Counts(msgs + other.msgs, units + other.units, check + other.check);
        }
    }

    /** {@code more} is what the answer holds beside: fields of JSON, each after a comma. */
    record Timed(long ns, Counts counts, String more) {
        Timed(long ns, Counts counts) {
            this(ns, counts, "");
        }
    }

    /** A workload in one variant: checks the sizes and makes everything that is not timed. */
    interface Cell {
        Prepared prepare(Command sizes) throws Exception;
    }

    /** A cell that can be run. */
    interface Prepared {
        Timed run(long inner) throws Exception;

        /** Requests on a schedule, with histograms of their latencies. */
        default Timed paced(long rate, long secs) throws Exception {
            throw new Refusal("unsupported", "no schedule in this cell");
        }

        /** What the answer to {@code prep} holds beside: fields of JSON, each after a comma. */
        default String told() {
            return "";
        }

        default void close() throws Exception {}
    }

    /** One repetition. */
    interface Scenario {
        Counts run() throws Exception;
    }

    /** A scenario that has no part outside the timed region. */
    static Prepared repeat(Scenario scenario) {
        return inner -> {
            Counts total = Counts.NONE;
            long start = System.nanoTime();
            for (long i = 0; i < inner; i++) {
                total = total.plus(scenario.run());
            }
            return new Timed(System.nanoTime() - start, total);
        };
    }
}
