package peer;

import akka.actor.ActorRef;
import akka.actor.ActorSystem;
import akka.actor.OneForOneStrategy;
import akka.actor.Props;
import akka.actor.SupervisorStrategy;
import akka.actor.UntypedAbstractActor;
import akka.japi.pf.DeciderBuilder;
import com.typesafe.config.Config;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/**
 * The actor that does the repetitions of a sample one after the other, as parent of the actors of the scenario. Being an
 * actor it needs no switch to the main thread, which holds the clock, between two repetitions. It is made by prep and is no
 * unit.
 */
abstract class Driver extends UntypedAbstractActor {
    private record Run(long inner, CompletableFuture<Result> done) {}

    private final SupervisorStrategy strategy = new OneForOneStrategy(DeciderBuilder.matchAny(e -> {
        failed(e);
        return SupervisorStrategy.stop();
    }).build());
    private CompletableFuture<Result> done;
    private Result total;
    private long left;
    private long begun;
    private long untimed;

    /** Starts one repetition, which ends by {@link #finished}. */
    abstract void begin();

    /** Takes a message of the scenario's actors. */
    abstract void received(Object message);

    @Override
    public final void onReceive(Object message) {
        if (message instanceof Run run) {
            done = run.done;
            total = Result.NONE;
            left = run.inner;
            untimed = 0;
            if (left == 0) {
                done.complete(total);
            } else {
                next();
            }
        } else {
            received(message);
        }
    }

    private void next() {
        begun = System.nanoTime();
        begin();
    }

    /** For scenarios with an untimed beginning: the timed part starts now. */
    final void startClock() {
        untimed += System.nanoTime() - begun;
    }

    final void finished(long msgs, long units, long check) {
        total = total.plus(new Result(0, msgs, units, check));
        left--;
        if (left == 0) {
            done.complete(total.plus(new Result(-untimed, 0, 0, 0)));
        } else {
            next();
        }
    }

    /** A child that throws ends the sample. Asked for at the end of every child. */
    @Override
    public final SupervisorStrategy supervisorStrategy() {
        return strategy;
    }

    private void failed(Throwable e) {
        done.completeExceptionally(e);
    }

    private static Result run(ActorRef driver, long inner) throws Exception {
        CompletableFuture<Result> done = new CompletableFuture<>();
        long begun = System.nanoTime();
        driver.tell(new Run(inner, done), ActorRef.noSender());
        try {
            Result result = done.get();
            return result.plus(new Result(System.nanoTime() - begun, 0, 0, 0));
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        }
    }

    /** One system for all samples, made by prep. */
    static Sample warm(Config config, Props props) throws Exception {
        ActorSystem system = Actors.start(config);
        ActorRef driver = system.actorOf(props);
        run(driver, 0); // it is there, and so are the threads
        return new Sample() {
            @Override
            public Result run(long inner) throws Exception {
                return Driver.run(driver, inner);
            }

            @Override
            public void close() {
                Actors.end(system);
            }
        };
    }

    /** A system for every repetition: starting and ending it is timed too. */
    static Sample cold(Config config, Props props) {
        return new Sample() {
            @Override
            public Result run(long inner) throws Exception {
                Result total = Result.NONE;
                long begun = System.nanoTime();
                for (long i = 0; i < inner; i++) {
                    ActorSystem system = Actors.start(config);
                    total = total.plus(Driver.run(system.actorOf(props), 1));
                    Actors.end(system);
                }
                return new Result(System.nanoTime() - begun, total.msgs(), total.units(), total.check());
            }

            @Override
            public void close() {}
        };
    }
}
