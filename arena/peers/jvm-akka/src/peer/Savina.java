package peer;

import akka.actor.ActorContext;
import akka.actor.ActorRef;
import akka.actor.Props;
import akka.actor.UntypedAbstractActor;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/** What the benchmarks of the Savina suite (SAVINA.md) have in common. An actor may end its children with itself. */
final class Savina {
    private Savina() {}

    /** The suite's pseudo-random numbers. */
    static final class PseudoRandom {
        private long value;

        PseudoRandom(long seed) {
            value = seed;
        }

        /** From 0 to 65,535. */
        long next() {
            value = (value * 1309 + 13849) & 65535;
            return value;
        }

        long below(long limit) {
            return next() % limit;
        }
    }

    /** The computation of a message. */
    static void theta() {
        double sine = Math.sin(37.2);
        if (sine * sine <= 0) {
            throw new IllegalStateException("a square is not positive");
        }
    }

    /** A small number that another result hardly has. */
    static long fingerprint(double result) {
        return Long.remainderUnsigned(Double.doubleToRawLongBits(result), 1_000_003);
    }

    /** All actors of a repetition; the last that ends tells the driver. */
    static final class Tally {
        private final AtomicLong msgs = new AtomicLong();
        private final AtomicLong units = new AtomicLong();
        private final AtomicLong check = new AtomicLong();
        private final AtomicLong living = new AtomicLong(1);
        private final ActorRef driver;

        private Tally(ActorRef driver) {
            this.driver = driver;
        }

        /** Starts a {@link Part}. */
        ActorRef start(ActorContext context, Props part) {
            living.incrementAndGet();
            units.incrementAndGet();
            return context.actorOf(part);
        }

        private void end(long moreMsgs, long moreCheck) {
            msgs.addAndGet(moreMsgs);
            check.addAndGet(moreCheck);
            if (living.decrementAndGet() == 0) {
                driver.tell(this, ActorRef.noSender());
            }
        }
    }

    /** An actor that counts what it does. */
    abstract static class Part extends UntypedAbstractActor {
        final Tally tally;
        long msgs;
        long check;

        Part(Tally tally) {
            this.tally = tally;
        }

        final void end() {
            getContext().stop(getSelf());
        }

        @Override
        public final void postStop() {
            tally.end(msgs, check);
        }
    }

    /** Starts the actors of one repetition. */
    interface Program {
        void start(ActorContext context, Tally tally);
    }

    private static final class Repeat extends Driver {
        private final Program program;

        Repeat(Program program) {
            this.program = program;
        }

        @Override
        void begin() {
            Tally tally = new Tally(getSelf());
            program.start(getContext(), tally);
            tally.end(0, 0);
        }

        @Override
        void received(Object message) {
            if (message instanceof Tally tally) {
                finished(tally.msgs.get(), tally.units.get(), tally.check.get());
            } else {
                unhandled(message);
            }
        }
    }

    /** The sizes of a prep command, as a program. */
    interface Sized {
        Program of(long n, Words words);
    }

    static void add(Map<String, Cell> cells, String id, long most, Sized sized) {
        cells.put("savina/" + id, words -> {
            Program program = sized.of(words.size("n", most), words);
            return Driver.warm(Actors.config(words), Props.create(Repeat.class, () -> new Repeat(program)));
        });
    }
}
