package peer;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** The peer's side of PROTOCOL.md: one command of words per line in, one line of JSON out. */
final class Protocol {
    private final BufferedReader in;
    private final PrintStream out;
    private Sample current;

    Protocol(InputStream in, PrintStream out) {
        this.in = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
        this.out = out;
    }

    /** Answers commands until quit or the end of the input. */
    void serve(Map<String, Cell> cells) throws IOException {
        hello(cells);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Words words = new Words(line);
            if (words.command().equals("quit")) {
                break;
            }
            String reply;
            try {
                reply = "\"t\":" + answer(cells, words);
            } catch (Refusal e) {
                reply = error(words, e.kind, e.getMessage());
            } catch (OutOfMemoryError e) {
                current = null;
                reply = error(words, "oom", e.toString());
            } catch (Exception | StackOverflowError e) {
                e.printStackTrace();
                reply = error(words, "bug", e.toString());
            }
            say(reply);
        }
        drop();
    }

    private String answer(Map<String, Cell> cells, Words words) throws Exception {
        long id = words.number("id", 0);
        switch (words.command()) {
            case "prep" -> {
                drop();
                Cell cell = cells.get(words.word("cell"));
                if (cell == null) {
                    throw new Refusal("unsupported", "no cell " + words.word("cell"));
                }
                current = cell.prepare(words);
                return "\"ok\",\"id\":" + id + current.told();
            }
            case "run" -> {
                return sample(id, words.size("inner", 1L << 40));
            }
            case "drop" -> {
                drop();
                System.gc();
            }
            case "ping" -> { }
            default -> throw new Refusal("unsupported", "unknown command " + words.command());
        }
        return "\"ok\",\"id\":" + id;
    }

    private String sample(long id, long inner) throws Exception {
        if (current == null) {
            throw new Refusal("bug", "run without prep");
        }
        long[] before = collections();
        Result result = current.run(inner);
        return line(id, inner, result, before);
    }

    private static String line(long id, long inner, Result r, long[] before) {
        long[] after = collections();
        StringBuilder gc = new StringBuilder();
        for (int i = 0; i < after.length; i++) {
            gc.append(i == 0 ? "" : ",").append(after[i] - before[i]);
        }
        return String.format("\"sample\",\"id\":%d,\"ns\":%d,\"inner\":%d,\"msgs\":%d,\"units\":%d,\"check\":%d,\"gc\":[%s]",
            id, r.ns(), inner, r.msgs(), r.units(), r.check(), gc);
    }

    private void drop() {
        if (current != null) {
            current.close();
            current = null;
        }
    }

    private void hello(Map<String, Cell> cells) {
        line(0, 0, Result.NONE, collections()); // loads what a sample needs after its timed part
        String names = new TreeSet<>(cells.keySet()).stream().map(Protocol::quote).collect(Collectors.joining(","));
        String flags = String.join(" ", ManagementFactory.getRuntimeMXBean().getInputArguments());
        Runtime.Version java = Runtime.version();
        say(String.format("\"t\":\"hello\",\"system\":%s,\"peer\":\"jvm-akka\",\"version\":%s,\"runtime\":%s,\"flags\":%s,"
                + "\"threads\":%d,\"pid\":%d,\"clock_ns\":%d,\"caps\":[\"gc\"],\"cells\":[%s]",
            quote(Actors.NAME), quote(Actors.VERSION), quote(System.getProperty("java.vm.name") + " " + java), quote(flags),
            Runtime.getRuntime().availableProcessors(), ProcessHandle.current().pid(), clockStep(), names));
    }

    /** Collections so far, the young generation first. */
    private static long[] collections() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream()
            .sorted(Comparator.comparing(bean -> !bean.getName().matches(".*(Scavenge|Young|Copy).*")))
            .mapToLong(GarbageCollectorMXBean::getCollectionCount).toArray();
    }

    /** The smallest step of the clock that is not zero. */
    private static long clockStep() {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 20_000; i++) {
            long begin = System.nanoTime();
            long end = System.nanoTime();
            while (end == begin) {
                end = System.nanoTime();
            }
            least = Math.min(least, end - begin);
        }
        return least;
    }

    private static String error(Words words, String kind, String message) {
        String id = words.word("id").matches("\\d{1,18}") ? words.word("id") : "0";
        return "\"t\":\"err\",\"id\":" + id + ",\"kind\":" + quote(kind) + ",\"msg\":" + quote(message);
    }

    private void say(String fields) {
        out.print("{\"arena\":1," + fields + "}\n");
        out.flush();
    }

    private static String quote(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        text.codePoints().limit(2000).forEach(c -> {
            if (c == '"' || c == '\\') {
                quoted.append('\\').appendCodePoint(c);
            } else if (c < ' ') {
                quoted.append(String.format("\\u%04x", c));
            } else {
                quoted.appendCodePoint(c);
            }
        });
        return quoted.append('"').toString();
    }
}
