package peer;

import java.util.HashMap;
import java.util.Map;

/** All cells of the peer; Akka and Pekko have the same. */
final class Cells {
    private Cells() {}

    static Map<String, Cell> all() {
        Map<String, Cell> cells = new HashMap<>();
        PingPong.add(cells);
        Call.add(cells);
        TellThroughput.add(cells);
        Local.add(cells);
        Remote.add(cells);
        Chain.add(cells);
        Fan.add(cells);
        Counter.add(cells);
        Skynet.add(cells);
        Spawn.add(cells);
        SavinaMicro.add(cells);
        SavinaLarge.add(cells);
        return cells;
    }
}
