package peer;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** The Akka and the Pekko peer of the arena: {@code Main --arena 1 --system akka|pekko}. */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        System.setOut(System.err); // whatever a library prints goes to the log
        Map<String, String> given = Map.of();
        if (args.length == 4) {
            given = Map.of(args[0], args[1], args[2], args[3]);
        }
        if (!"1".equals(given.get("--arena")) || !Actors.NAME.equals(given.get("--system"))) {
            System.err.println("this peer speaks to the arena: --arena 1 --system " + Actors.NAME);
            System.exit(2);
        }
        new Protocol(System.in, out).serve(Cells.all());
        System.exit(0); // whatever an actor system still does
    }
}
