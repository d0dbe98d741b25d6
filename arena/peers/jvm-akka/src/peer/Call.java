package peer;

import akka.actor.ActorRef;
import akka.actor.Props;
import akka.actor.UntypedAbstractActor;
import akka.pattern.Patterns;
import akka.util.Timeout;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import scala.concurrent.Future;

/** pingpong by the ask pattern: every call has a reply cell of its own, a temporary actor with a timeout. */
final class Call {
    private static final Timeout PATIENCE = Timeout.apply(2, TimeUnit.MINUTES);

    private Call() {}

    /**
     * Scala's Future, not Java's CompletionStage: that continues in the JVM's common pool, where two processors mean a thread
     * per call.
     */
    static Future<Object> ask(ActorRef server, Object question) {
        return Patterns.ask(server, question, PATIENCE);
    }

    /** Asks for {@code n} numbers, one after the other; the answers are piped to itself. */
    static final class Client extends UntypedAbstractActor {
        private final ActorRef server;
        private final long n;
        private long sent;
        private long answered;
        private long sum;

        Client(ActorRef server, long n) {
            this.server = server;
            this.n = n;
        }

        private void ask() {
            Patterns.pipe(Call.ask(server, new PingPong.Ping(sent++)), getContext().getDispatcher()).to(getSelf());
        }

        @Override
        public void onReceive(Object message) {
            if (message instanceof PingPong.Pong pong) {
                if (pong.number() != answered) {
                    throw new Refusal("bug", "asked " + answered + ", the answer is " + pong.number());
                }
                sum += pong.number();
                answered++;
                if (answered < n) {
                    ask();
                } else {
                    getContext().getParent().tell(new PingPong.Done(sent + answered, sum), getSelf());
                    getContext().stop(getSelf());
                }
            } else if (message == PingPong.Order.START) {
                ask();
            } else {
                throw new Refusal("bug", "the answer is " + message);
            }
        }
    }

    private static final class Pairs extends PingPong.Pairs {
        private final long n;

        Pairs(long p, long n) {
            super(p);
            this.n = n;
        }

        @Override
        Props server() {
            return Props.create(PingPong.Server.class, PingPong.Server::new);
        }

        @Override
        Props client(ActorRef server) {
            return Props.create(Client.class, () -> new Client(server, n));
        }
    }

    static void add(Map<String, Cell> cells) {
        Cell call = words -> {
            long p = words.size("p", 1_000_000);
            long n = words.size("n", 1L << 31);
            return Driver.warm(Actors.config(words), Props.create(Pairs.class, () -> new Pairs(p, n)));
        };
        cells.put("pingpong/call", call);
        cells.put("pingpong/call-send", call);
    }
}
