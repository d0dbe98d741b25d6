package peer;

import akka.actor.ActorRef;
import akka.actor.Props;
import akka.actor.UntypedAbstractActor;
import java.util.Map;

/** Every actor makes the next one; a Pong comes back along the way. */
final class Chain {
    /** Levels of supervision before a child is made at the top: making an actor costs time in proportion to its path. */
    private static final long LEVELS = 100;

    private record Ping(long number) {}

    private record Pong(long depth) {}

    private Chain() {}

    private static final class Child extends UntypedAbstractActor {
        private final long actors;
        private ActorRef parent;

        Child(long actors) {
            this.actors = actors;
        }

        static Props props(long actors) {
            return Props.create(Child.class, () -> new Child(actors));
        }

        @Override
        public void onReceive(Object message) {
            if (message instanceof Ping ping) {
                parent = getSender();
                if (ping.number == actors) {
                    getSelf().tell(new Pong(0), getSelf());
                } else {
                    Props next = getContext().props();
                    boolean deep = ping.number % LEVELS == 0;
                    ActorRef child = deep ? getContext().getSystem().actorOf(next) : getContext().actorOf(next);
                    child.tell(new Ping(ping.number + 1), getSelf());
                }
            } else if (message instanceof Pong pong) {
                parent.tell(new Pong(pong.depth + 1), getSelf());
                getContext().stop(getSelf());
            } else {
                unhandled(message);
            }
        }
    }

    private static final class Root extends UntypedAbstractActor {
        private final Props child;

        Root(long actors) {
            child = Child.props(actors);
        }

        @Override
        public void onReceive(Object message) {
            if (message instanceof Ping) {
                getContext().actorOf(child).tell(new Ping(1), getSelf());
            } else if (message instanceof Pong pong) {
                getContext().getParent().tell(pong, getSelf());
                getContext().stop(getSelf());
            } else {
                unhandled(message);
            }
        }
    }

    private static final class Repeat extends Driver {
        private final Props root;

        Repeat(long actors) {
            root = Props.create(Root.class, () -> new Root(actors));
        }

        @Override
        void begin() {
            getContext().actorOf(root).tell(new Ping(0), getSelf());
        }

        /** One Ping and one Pong for each child that answered, the driver's Ping and the last child's Pong to itself. */
        @Override
        void received(Object message) {
            if (message instanceof Pong pong) {
                finished(2 * pong.depth + 2, pong.depth + 1, pong.depth);
            } else {
                unhandled(message);
            }
        }
    }

    private static Props driver(Words words) {
        long actors = words.size("A", 5_000_000);
        return Props.create(Repeat.class, () -> new Repeat(actors));
    }

    static void add(Map<String, Cell> cells) {
        cells.put("chain/obj", words -> Driver.warm(Actors.config(words), driver(words)));
        cells.put("chain/cold-system", words -> Driver.cold(Actors.config(words), driver(words)));
    }
}
