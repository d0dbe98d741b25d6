package arena;

import arena.Protocol.Cell;
import arena.Protocol.Peer;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Executor;

/** The Java peer of the arena: the JDK alone. */
public final class Main {
    /** The system of this name, or null. */
    static Peer system(String name) {
        Map<String, Cell> cells = new TreeMap<>();
        // Samples of virtual threads are driven by one, so that no platform thread must be woken at the end of each.
        Executor driver = Runnable::run;
        switch (name) {
            case "java-vt" -> {
                driver = Thread::startVirtualThread;
                PingPong.addTo(cells);
                Chain.addTo(cells);
                Fan.addTo(cells);
                Counter.addTo(cells);
                Skynet.addTo(cells);
                Published.addVirtual(cells);
                Spawn.addTo(cells);
                Net.addTo(cells);
                Echo.addTo(cells);
            }
            case "java-pools" -> {
                ForkJoin.addTo(cells);
                Published.addPools(cells);
            }
            case "java-streams" -> Streams.addTo(cells);
            default -> {
                return null;
            }
        }
        return new Peer("jvm-java", name, System.getProperty("java.version"), driver, cells);
    }

    public static void main(String[] args) throws IOException {
        String system = "java-vt";
        String arena = "";
        for (int i = 0; i + 1 < args.length; i += 2) {
            switch (args[i]) {
                case "--arena" -> arena = args[i + 1];
                case "--system" -> system = args[i + 1];
                default -> { }
            }
        }
        Peer peer = system(system);
        if (!arena.equals("1") || peer == null) {
            System.err.println("speaks to the arena: --arena 1 --system java-vt|java-pools|java-streams");
            System.exit(2);
        }
        FileOutputStream out = new FileOutputStream(FileDescriptor.out);
        System.setOut(System.err); // a stray print is no line of the protocol
        Protocol.serve(peer, System.in, out);
        System.exit(0);
    }

    private Main() {}
}
