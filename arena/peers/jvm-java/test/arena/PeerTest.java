package arena;

import arena.Protocol.Cell;
import arena.Protocol.Command;
import arena.Protocol.Counts;
import arena.Protocol.Peer;
import arena.Protocol.Prepared;
import arena.Protocol.Timed;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/** Every cell at odd sizes, and the protocol by hand. Ends with 1 if anything is wrong. */
public final class PeerTest {
    private static final Map<String, List<String>> ODD = Map.of(
            "pingpong", List.of("p=3 n=997", "p=1 n=1", "p=2 n=7 w=3", "p=5 n=1500"),
            "net", List.of("N=7 M=31", "N=1 M=1"),
            "chain", List.of("A=1", "A=7", "A=103"),
            "fan", List.of("N=1", "N=997", "N=5003"),
            "counter", List.of("P=3 n=997", "P=1 n=1", "P=11 n=3001"),
            "skynet", List.of("S=1", "S=10", "S=1000"),
            "spawn", List.of("n=1", "n=997"));

    private static final Set<String> TWO_PROCESSES = Set.of("net/echo", "net/echo-mux", "net/paced");

    /** Commands, and what must be in the answer to each. */
    private static final String[][] SCRIPT = {
        {"ping id=1", "\"t\":\"ok\",\"id\":1}"},
        {"run id=2 inner=1", "\"t\":\"err\",\"id\":2,\"kind\":\"bug\""},
        {"prep id=3 cell=nope/nope", "\"t\":\"err\",\"id\":3,\"kind\":\"unsupported\""},
        {"prep id=4 cell=spawn/joined n=0", "\"id\":4,\"kind\":\"limit\""},
        {"prep id=5 cell=spawn/joined n=99999999999999999999", "\"id\":5,\"kind\":\"limit\""},
        {"prep id=6 cell=spawn/joined seed=1 unknown=x n=5", "\"t\":\"ok\",\"id\":6}"},
        {"run id=7 inner=3", "\"inner\":3,\"msgs\":15,\"units\":15,\"check\":15,\"gc\":["},
        {"run id=8 inner=1 alloc=1", "\"t\":\"sample\",\"id\":8"},
        {"run id=9 inner=0", "\"kind\":\"limit\""},
        {"drop id=10", "\"t\":\"ok\",\"id\":10}"},
        {"run id=11", "\"kind\":\"bug\""},
        {"", "\"t\":\"err\",\"id\":0,\"kind\":\"unsupported\""},
        {"dance\"\\ id=12", "\"kind\":\"unsupported\",\"msg\":\"unknown command dance\\\"\\\\\""},
        {"prep id=13 cell=skynet/tasks S=20", "\"kind\":\"limit\""},
        {"prep id=15 cell=net/echo N=2 M=2", "\"id\":15,\"kind\":\"limit\""},
        {"prep id=16 cell=net/echo-oneproc N=2 M=2", "\"t\":\"ok\",\"id\":16,\"ready_ns\":"},
        {"run id=17 hist=1 rate=0 secs=1", "\"id\":17,\"kind\":\"limit\""},
        {"prep id=14 cell=spawn/joined threads=4711 n=5", "\"kind\":\"unsupported\""},
    };

    private static int wrong;

    public static void main(String[] args) throws Exception {
        int cells = 0;
        for (String system : List.of("java-vt", "java-pools", "java-streams")) {
            Peer peer = Main.system(system);
            for (Map.Entry<String, Cell> cell : peer.cells().entrySet()) {
                everySize(peer, cell.getKey(), cell.getValue());
                cells++;
            }
        }
        protocol();
        System.out.println(cells + " cells, " + wrong + " wrong");
        System.exit(wrong == 0 ? 0 : 1);
    }

    private static void everySize(Peer peer, String name, Cell cell) throws Exception {
        for (String sizes : ODD.get(name.substring(0, name.indexOf('/')))) {
            Command command = Command.parse("prep " + sizes);
            Prepared server = null;
            if (TWO_PROCESSES.contains(name)) {
                server = cell.prepare(Command.parse("prep role=server " + sizes));
                String addr = server.told().replaceAll(".*:\"|\"", "");
                command = Command.parse("prep role=client addr=" + addr + " " + sizes);
            }
            Prepared prepared = cell.prepare(command);
            for (long inner : new long[] {1, 3}) {
                Timed timed = prepared.run(inner);
                Counts once = expected(name, command);
                // The programs of the seed count their units in their own way.
                long units = name.contains("original:") ? timed.counts().units() : inner * once.units();
                Counts all = new Counts(inner * once.msgs(), units, inner * once.check());
                expect(peer.system() + " " + name + " " + sizes, timed.counts().equals(all) && timed.ns() > 0,
                        timed + ", must be " + all);
            }
            if (name.equals("net/paced")) {
                paced(prepared.paced(500, 1), 500, command.number("N", 0));
            }
            prepared.close();
            if (server != null) {
                server.close();
            }
        }
    }

    private static void paced(Timed timed, long requests, long clients) {
        expect("paced", timed.counts().equals(new Counts(2 * requests, 2 * clients, below(requests))), timed.toString());
        expect("its time", timed.ns() >= 998_000_000, timed.toString());
        String[] lists = timed.more().split("hist_service");
        expect("two histograms", lists.length == 2, timed.more());
        for (String list : lists) {
            long count = Pattern.compile(",([0-9]+)\\]").matcher(list).results().mapToLong(m -> Long.parseLong(m.group(1))).sum();
            expect("requests in a histogram", count == requests, list);
        }
    }

    /** WORKLOADS.md in numbers. */
    private static Counts expected(String cell, Command sizes) throws Exception {
        long p = sizes.number("p", 0);
        long n = sizes.number("n", 0);
        return switch (cell.substring(0, cell.indexOf('/'))) {
            case "pingpong" -> new Counts(2 * p * n, 2 * p, p * below(n));
            case "net" -> {
                long clients = sizes.number("N", 0);
                long requests = sizes.number("M", 0);
                yield new Counts(2 * clients * requests, 2 * clients, clients * below(requests));
            }
            case "chain" -> {
                long actors = sizes.number("A", 0);
                yield new Counts(2 * actors + 2, actors + 1, actors);
            }
            case "fan" -> new Counts(2 * sizes.number("N", 0) + 3, 2, below(sizes.number("N", 0)));
            case "counter" -> {
                long producers = sizes.number("P", 0);
                yield new Counts(producers * n, producers + 1, 100 * producers * n);
            }
            case "skynet" -> {
                long leaves = sizes.number("S", 0);
                long nodes = (10 * leaves - 1) / 9;
                yield new Counts(nodes, cell.endsWith("/floor") ? 0 : nodes, below(leaves));
            }
            default -> new Counts(n, n, n);
        };
    }

    private static long below(long n) {
        return n * (n - 1) / 2;
    }

    private static void protocol() throws Exception {
        List<String> commands = new ArrayList<>();
        for (String[] step : SCRIPT) {
            commands.add(step[0]);
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] in = String.join("\n", commands).getBytes(StandardCharsets.UTF_8); // ends without a quit
        Protocol.serve(Main.system("java-vt"), new ByteArrayInputStream(in), out);
        String[] answers = out.toString(StandardCharsets.UTF_8).split("\n");
        expect("number of lines", answers.length == SCRIPT.length + 1, String.join("\n", answers));
        expect("hello", answers[0].startsWith("{\"arena\":1,\"t\":\"hello\",\"system\":\"java-vt\""), answers[0]);
        for (int i = 0; i < SCRIPT.length; i++) {
            expect(SCRIPT[i][0], answers[i + 1].startsWith("{\"arena\":1,") && answers[i + 1].contains(SCRIPT[i][1]),
                    answers[i + 1]);
        }
    }

    private static void expect(String what, boolean holds, String seen) {
        if (!holds) {
            wrong++;
            System.out.println("WRONG " + what + ": " + seen);
        }
    }

    private PeerTest() {}
}
