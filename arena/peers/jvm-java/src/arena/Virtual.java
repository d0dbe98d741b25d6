package arena;

import arena.Protocol.Counts;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** Virtual threads: alone, or several that are waited for together. */
final class Virtual {
    interface Body {
        void run() throws Exception;
    }

    interface Work {
        Counts run() throws Exception;
    }

    private final List<Member> members = new ArrayList<>();

    private Virtual() {}

    static Virtual group() {
        return new Virtual();
    }

    static Thread start(Body body) {
        return Thread.startVirtualThread(() -> {
            try {
                body.run();
            } catch (RuntimeException e) {
                throw e;
            } catch (Exception e) {
                throw new IllegalStateException(e.toString(), e);
            }
        });
    }

    /** What the future is completed with; it never fails here. */
    static <T> T await(CompletableFuture<T> future) throws InterruptedException {
        try {
            return future.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        }
    }

    /** Starts a virtual thread whose counts {@link #join} adds. */
    void add(Work work) {
        Member member = new Member();
        member.thread = start(() -> member.counts = work.run());
        members.add(member);
    }

    /** Waits for all and adds what they did. */
    Counts join() throws InterruptedException {
        Counts total = Counts.NONE;
        for (Member member : members) {
            member.thread.join();
            total = total.plus(member.counts);
        }
        return total;
    }

    private static final class Member {
        Thread thread;
        Counts counts;
    }
}
