package arena;

import arena.Protocol.Cell;
import arena.Protocol.Peer;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;

/** The RxJava peer of the arena. */
public final class Main {
    private static final String SYSTEM = "rxjava";

    public static void main(String[] args) throws IOException {
        String system = SYSTEM;
        String arena = "";
        for (int i = 0; i + 1 < args.length; i += 2) {
            switch (args[i]) {
                case "--arena" -> arena = args[i + 1];
                case "--system" -> system = args[i + 1];
                default -> { }
            }
        }
        if (!arena.equals("1") || !system.equals(SYSTEM)) {
            System.err.println("speaks to the arena: --arena 1 --system " + SYSTEM);
            System.exit(2);
        }
        Map<String, Cell> cells = new TreeMap<>();
        Counter.addTo(cells);
        Skynet.addTo(cells);
        FileOutputStream out = new FileOutputStream(FileDescriptor.out);
        System.setOut(System.err); // a stray print is no line of the protocol
        Protocol.serve(new Peer("jvm-rx", system, version(), Runnable::run, cells), System.in, out);
        System.exit(0);
    }

    /** RxJava's jar is named after its version, and so is its manifest. */
    private static String version() {
        String version = rx.Observable.class.getPackage().getImplementationVersion();
        return version == null ? "1.3.8" : version;
    }

    private Main() {}
}
