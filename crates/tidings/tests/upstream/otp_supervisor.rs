//! Erlang/OTP's `lib/stdlib/test/supervisor_SUITE.erl`, and the part of it about significant
//! children that is younger.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::both::{on_all, run, seeded, watchdog};
use tidings::actor::{
    ActorRef, AutoShutdown, Backoff, CallError, Child, Exit, Mailbox, Reply, Restart, Shutdown,
    Strategy, Supervisor, SupervisorError, SupervisorRef,
};
use tidings::time::Instant;
use tidings::{Event, after, oneshot, unbounded};

/// What the workers of these tests are told.
enum Tell {
    /// Say which life this is.
    Ping(Reply<u64>),
    /// End in order.
    Quit,
    Fail,
    /// Panic with a message in hand.
    Crash(Option<Reply<u64>>),
    /// Heed nothing any more.
    Hang,
}

/// A panic that prints nothing.
fn crash() -> ! {
    std::panic::resume_unwind(Box::new("crash"))
}

async fn work(mut mailbox: Mailbox<Tell>) -> Result<(), &'static str> {
    while let Ok(told) = mailbox.recv().await {
        match told {
            Tell::Ping(reply) => {
                let _ = reply.send(mailbox.incarnation());
            }
            Tell::Quit => return Ok(()),
            Tell::Fail => return Err("told to"),
            Tell::Crash(reply) => {
                let _reply = reply;
                crash();
            }
            Tell::Hang => std::future::pending().await,
        }
    }
    Ok(())
}

type Worker = ActorRef<Tell>;

fn worker() -> (Worker, Child<Tell>) {
    let child = Child::new(work);
    (child.actor_ref(), child)
}

/// A supervisor of so many workers, which allows two restarts in an hour.
fn supervise<const N: usize>(strategy: Strategy) -> ([Worker; N], SupervisorRef) {
    let workers = std::array::from_fn::<_, N, _>(|_| worker());
    let mut supervisor = Supervisor::new(strategy).intensity(2, Duration::from_secs(3600));
    let mut refs = Vec::new();
    for (actor, child) in workers {
        refs.push(actor);
        supervisor = supervisor.child(child);
    }
    (refs.try_into().unwrap(), supervisor.start())
}

async fn life(worker: &Worker) -> u64 {
    worker.call(Tell::Ping).await.unwrap()
}

/// Ends a life of a worker, which is answered with another.
async fn crashes(worker: &Worker) {
    let before = life(worker).await;
    let caller = worker.call(|reply| Tell::Crash(Some(reply))).await;
    assert!(
        matches!(&caller, Err(CallError::Ended(Exit::Panicked(why))) if &**why == "crash"),
        "{caller:?}"
    );
    assert_eq!(worker.restarted(before).await.unwrap(), before + 1);
}

/// Specs, and those that live.
async fn counts(supervisor: &SupervisorRef) -> (usize, usize) {
    let count = supervisor.count_children().await.unwrap();
    assert_eq!(count.specs, count.supervisors + count.workers);
    (count.specs, count.active)
}

fn gave_up(exit: &Exit) -> bool {
    let Exit::Failed(error) = exit else {
        return false;
    };
    matches!(
        error.downcast_ref(),
        Some(SupervisorError::Intensity { .. })
    )
}

/// `sup_start_normal`, `sup_start_map` (what is not said has a default).
#[test]
fn a_supervisor_starts_and_ends_in_order() {
    on_all(|| async {
        let empty = Supervisor::new(Strategy::OneForOne).start();
        assert_eq!(counts(&empty).await, (0, 0));
        empty.stop();
        assert!(matches!(empty.down().await, Exit::Stopped));

        let (actor, child) = worker();
        let supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
        let info = supervisor.which_children().await.unwrap().pop().unwrap();
        assert_eq!(
            (info.actor, info.restart),
            (actor.any(), Restart::Permanent)
        );
        assert!(info.active && !info.supervisor);
        // Its last reference goes: it ends its children, and so do they.
        drop(supervisor);
        assert!(matches!(actor.down().await, Exit::Stopped));
    });
}

/// `sup_start_ignore_child`, `sup_start_ignore_temporary_child`,
/// `sup_start_ignore_temporary_child_start_child`, `.._simple`: a child that has nothing to do ends
/// in order before it takes messages, which is no failure.
#[test]
fn a_child_that_has_nothing_to_do_is_no_failure() {
    on_all(|| async {
        for strategy in [Strategy::OneForOne, Strategy::Dynamic] {
            let idle = || {
                Child::new(|_: Mailbox<Tell>| async {}).restart(Restart::Temporary)
            };
            let (actor, child) = worker();
            let ignored = idle();
            let ended = ignored.actor_ref();
            let supervisor = Supervisor::new(strategy).child(ignored).child(child).start();
            assert!(matches!(ended.down().await, Exit::Normal));
            assert_eq!(life(&actor).await, 1);
            assert_eq!(counts(&supervisor).await, (1, 1));
            assert!(supervisor.start_child(idle()).await.unwrap().is_ok());
            assert_eq!(counts(&supervisor).await, (1, 1));
        }
    });
}

/// `sup_start_fail`, `sup_start_error_return`, `faulty_application_shutdown`: the supervisor names
/// the child and the cause, ends those that it has started and starts no other.
#[test]
fn a_child_that_fails_to_start_fails_its_supervisor() {
    on_all(|| async {
        let (first, second, third) = (worker(), worker(), worker());
        drop(second.1);
        let broken = tidings::actor::Builder::new()
            .name("broken")
            .child(|_: Mailbox<Tell>| async { Err::<(), _>("no disk") })
            .restart(Restart::Temporary);
        let supervisor = Supervisor::new(Strategy::OneForOne)
            .child(first.1)
            .child(broken)
            .child(third.1)
            .start();
        let exit = supervisor.down().await;
        assert_eq!(
            exit.to_string(),
            "failed: broken did not start: it failed: no disk"
        );
        assert!(matches!(first.0.exit(), Some(Exit::Stopped)));
        assert_eq!((first.0.incarnation(), third.0.incarnation()), (1, 0));
        for never_started in [second.0, third.0] {
            assert!(matches!(never_started.exit(), Some(Exit::Killed)));
        }
    });
}

/// `sup_stop_infinity`, `sup_stop_timeout`, `sup_stop_brutal_kill`, `child_unlink`: each child has
/// the time that its specification says.
#[test]
fn children_end_within_their_time_or_are_killed() {
    on_all(|| async {
        for (shutdown, hangs, killed) in [
            (Shutdown::Now(Duration::MAX), false, false),
            (Shutdown::Drain(Duration::MAX), false, false),
            (Shutdown::Now(Duration::from_millis(3)), true, true),
            (Shutdown::Drain(Duration::from_millis(3)), true, true),
            (Shutdown::Kill, false, true),
        ] {
            let (patient, last) = (worker(), worker());
            let (actor, child) = worker();
            let supervisor = Supervisor::new(Strategy::OneForOne)
                .child(patient.1)
                .child(child.shutdown(shutdown))
                .child(last.1)
                .start();
            if hangs {
                actor.send(Tell::Hang).await.unwrap();
            }
            supervisor.stop();
            assert!(matches!(supervisor.down().await, Exit::Stopped));
            let exit = actor.down().await;
            assert_eq!(matches!(exit, Exit::Killed), killed, "{shutdown:?}: {exit:?}");
            for other in [patient.0, last.0] {
                assert!(matches!(other.exit(), Some(Exit::Stopped)));
            }
        }
    });
}

/// `sup_stop_infinity` and its neighbours: in the reverse order, one after the other.
#[test]
fn children_end_in_the_reverse_order_of_their_start() {
    on_all(|| async {
        let (tell, order) = unbounded();
        let mut supervisor = Supervisor::new(Strategy::RestForOne);
        for n in 0..4 {
            let tell = tell.clone();
            supervisor = supervisor.child(Child::new(move |mut mailbox: Mailbox<Tell>| {
                let tell = tell.clone();
                async move {
                    tell.send((n, "starts")).await.unwrap();
                    tidings::yield_now().await;
                    while mailbox.recv().await.is_ok() {}
                    tell.send((n, "ends")).await.unwrap();
                    tidings::yield_now().await;
                    tell.send((n, "has ended")).await.unwrap();
                }
            }));
        }
        drop(tell);
        let supervisor = supervisor.start();
        supervisor.count_children().await.unwrap();
        for n in 0..4 {
            assert_eq!(order.recv().await, Ok((n, "starts")));
        }
        supervisor.stop_now();
        supervisor.down().await;
        for n in (0..4).rev() {
            assert_eq!(order.recv().await, Ok((n, "ends")));
            assert_eq!(order.recv().await, Ok((n, "has ended")));
        }
        assert!(order.recv().await.is_err());
    });
}

/// `child_adm`, `child_adm_simple`: children come and go while the supervisor runs.
#[test]
fn children_are_added_ended_and_started_anew_by_hand() {
    on_all(|| async {
        for strategy in [Strategy::OneForOne, Strategy::RestForOne, Strategy::Dynamic] {
            let supervisor = Supervisor::new(strategy).intensity(0, Duration::ZERO).start();
            let (first, child) = worker();
            supervisor.start_child(child).await.unwrap().unwrap();
            let (second, child) = worker();
            supervisor.start_child(child).await.unwrap().unwrap();
            assert_eq!(counts(&supervisor).await, (2, 2));
            let children = supervisor.which_children().await.unwrap();
            let actors: Vec<_> = children.into_iter().map(|child| child.actor).collect();
            assert_eq!(actors, [first.any(), second.any()]);

            // Not counted as a failure: none is allowed here.
            assert!(supervisor.restart_child(first.id()).await.unwrap());
            assert_eq!(first.restarted(1).await.unwrap(), 2);
            assert_eq!(life(&first).await, 2);

            assert!(supervisor.terminate_child(second.id()).await.unwrap());
            assert!(matches!(second.down().await, Exit::Stopped));
            assert!(!supervisor.terminate_child(second.id()).await.unwrap());
            assert!(!supervisor.restart_child(second.id()).await.unwrap());
            assert_eq!(counts(&supervisor).await, (1, 1));

            let broken = Child::new(|_: Mailbox<Tell>| async { Err::<(), _>("no") });
            let ended = broken.actor_ref();
            let refused = supervisor.start_child(broken).await.unwrap().unwrap_err();
            assert!(matches!(refused, Exit::Failed(_)), "{refused:?}");
            assert!(matches!(ended.down().await, Exit::Failed(_)));
            assert_eq!(counts(&supervisor).await, (1, 1));
            assert_eq!(life(&first).await, 2);
        }
    });
}

/// `permanent_normal`, `transient_normal`, `temporary_normal`, `permanent_shutdown`,
/// `transient_shutdown`, `temporary_shutdown`, `permanent_abnormal`, `transient_abnormal`,
/// `temporary_abnormal`.
#[test]
fn a_restart_type_says_which_ends_are_answered() {
    let ends: [fn(&Worker); 5] = [
        |worker| worker.try_send(Tell::Quit).unwrap(),
        Worker::stop,
        |worker| worker.try_send(Tell::Fail).unwrap(),
        |worker| worker.try_send(Tell::Crash(None)).unwrap(),
        Worker::kill,
    ];
    on_all(move || async move {
        for strategy in [Strategy::OneForOne, Strategy::Dynamic] {
            for (orderly, end) in ends.iter().enumerate().map(|(n, end)| (n < 2, end)) {
                for restart in [Restart::Permanent, Restart::Transient, Restart::Temporary] {
                    let (actor, child) = worker();
                    let supervisor = Supervisor::new(strategy).child(child.restart(restart));
                    let supervisor = supervisor.start();
                    assert_eq!(life(&actor).await, 1);
                    end(&actor);
                    let again = match restart {
                        Restart::Permanent => true,
                        Restart::Transient => !orderly,
                        Restart::Temporary => false,
                    };
                    let next = actor.restarted(1).await;
                    assert_eq!(next.is_ok(), again, "{restart:?}: {next:?}");
                    if again {
                        assert_eq!(life(&actor).await, 2);
                    } else {
                        assert_eq!(actor.down().await.is_orderly(), orderly);
                    }
                    let n = usize::from(again);
                    assert_eq!(counts(&supervisor).await, (n, n));
                }
            }
        }
    });
}

/// `temporary_bystander`.
#[test]
fn a_temporary_bystander_is_ended_and_not_started_again() {
    on_all(|| async {
        for strategy in [Strategy::OneForAll, Strategy::RestForOne] {
            let (first, bystander, last) = (worker(), worker(), worker());
            let supervisor = Supervisor::new(strategy)
                .child(first.1)
                .child(bystander.1.restart(Restart::Temporary))
                .child(last.1)
                .start();
            assert_eq!(life(&last.0).await, 1);
            crashes(&first.0).await;
            assert!(matches!(bystander.0.down().await, Exit::Stopped));
            assert_eq!(life(&last.0).await, 2);
            assert_eq!(counts(&supervisor).await, (2, 2));
        }
    });
}

/// `multiple_restarts`: as often as one likes, if it is not too often.
#[test]
fn restarts_that_are_far_enough_apart_never_end() {
    let _watchdog = watchdog();
    run(&seeded(1), async {
        let (actor, child) = worker();
        let supervisor = Supervisor::new(Strategy::OneForOne)
            .intensity(1, Duration::from_secs(1))
            .child(child)
            .start();
        for _ in 0..20 {
            crashes(&actor).await;
            after(Duration::from_millis(1001)).await;
        }
        crashes(&actor).await;
        after(Duration::from_millis(900)).await;
        actor.send(Tell::Crash(None)).await.unwrap();
        assert!(gave_up(&supervisor.down().await));
    });
}

/// `one_for_one`, `simple_one_for_one`, `simple_one_for_one_extra`.
#[test]
fn one_for_one_concerns_nobody_else() {
    on_all(|| async {
        for strategy in [Strategy::OneForOne, Strategy::Dynamic] {
            let ([first, second], supervisor) = supervise(strategy);
            crashes(&first).await;
            assert_eq!((life(&first).await, life(&second).await), (2, 1));
            assert_eq!(counts(&supervisor).await, (2, 2));
            crashes(&second).await;
            assert_eq!((life(&first).await, life(&second).await), (2, 2));
            second.send(Tell::Fail).await.unwrap();
            assert!(gave_up(&supervisor.down().await));
            assert!(matches!(first.exit(), Some(Exit::Stopped)));
            assert!(matches!(second.exit(), Some(Exit::Failed(_))));
        }
    });
}

/// `one_for_one_escalation`, `one_for_all_escalation`, `rest_for_one_escalation`,
/// `simple_one_for_one_escalation`: a child that cannot be started anew brings its supervisor down,
/// and all that it has.
#[test]
fn a_child_that_does_not_start_again_escalates() {
    on_all(|| async {
        for strategy in [
            Strategy::OneForOne,
            Strategy::OneForAll,
            Strategy::RestForOne,
            Strategy::Dynamic,
        ] {
            let (other, bystander) = worker();
            let once = Child::new(|mailbox: Mailbox<Tell>| async {
                if mailbox.incarnation() > 1 {
                    return Err("only once");
                }
                work(mailbox).await
            });
            let actor = once.actor_ref();
            let supervisor = Supervisor::new(strategy)
                .intensity(4, Duration::from_secs(3600))
                .child(bystander)
                .child(once)
                .start();
            assert_eq!(life(&actor).await, 1);
            actor.send(Tell::Crash(None)).await.unwrap();
            let exit = supervisor.down().await;
            assert!(gave_up(&exit), "{exit:?}");
            assert!(exit.to_string().ends_with("failed: only once"), "{exit}");
            assert_eq!(actor.incarnation(), 5);
            assert!(matches!(other.exit(), Some(Exit::Stopped)));
        }
    });
}

/// `one_for_all`.
#[test]
fn one_for_all_starts_all_anew() {
    on_all(|| async {
        let ([first, second, third], supervisor) = supervise(Strategy::OneForAll);
        for n in 1..=2 {
            assert_eq!(life(&third).await, n);
            crashes(if n == 1 { &first } else { &second }).await;
            for worker in [&first, &second, &third] {
                assert_eq!(life(worker).await, n + 1);
            }
            assert_eq!(counts(&supervisor).await, (3, 3));
        }
        first.send(Tell::Crash(None)).await.unwrap();
        assert!(gave_up(&supervisor.down().await));
    });
}

/// `rest_for_one`.
#[test]
fn rest_for_one_starts_those_anew_that_came_later() {
    on_all(|| async {
        let ([first, second, third], supervisor) = supervise(Strategy::RestForOne);
        assert_eq!(life(&third).await, 1);
        crashes(&second).await;
        assert_eq!(third.restarted(1).await.unwrap(), 2);
        assert_eq!(life(&third).await, 2);
        assert_eq!((life(&first).await, life(&second).await), (1, 2));
        crashes(&third).await;
        assert_eq!(life(&third).await, 3);
        assert_eq!((life(&first).await, life(&second).await), (1, 2));
        second.send(Tell::Crash(None)).await.unwrap();
        assert!(gave_up(&supervisor.down().await));
    });
}

/// A child that asks `tell` in each life whether it may start; `true`: yes.
fn asks(tell: &tidings::Sender<(u8, tidings::channel::oneshot::Sender<bool>)>, n: u8) -> Child<Tell> {
    let tell = tell.clone();
    Child::new(move |mailbox: Mailbox<Tell>| {
        let tell = tell.clone();
        async move {
            let (answer, may) = oneshot();
            tell.send((n, answer)).await.unwrap();
            if may.await == Ok(true) {
                return work(mailbox).await;
            }
            // As a start that fails, though in order: it is permanent.
            Ok(())
        }
    })
}

/// `one_for_all_other_child_fails_restart`, `rest_for_one_other_child_fails_restart`.
#[test]
fn a_restarted_child_is_ended_if_another_fails_to_start() {
    on_all(|| async {
        for strategy in [Strategy::OneForAll, Strategy::RestForOne] {
            let (tell, asked) = unbounded();
            let children = [asks(&tell, 1), asks(&tell, 2)];
            let refs = [children[0].actor_ref(), children[1].actor_ref()];
            let mut supervisor = Supervisor::new(strategy);
            for child in children {
                supervisor = supervisor.child(child);
            }
            let supervisor = supervisor.start();
            let next = async |n, may: bool| {
                let (who, answer) = asked.recv().await.unwrap();
                assert_eq!(who, n);
                answer.send(may).unwrap();
            };
            next(1, true).await;
            next(2, true).await;
            assert_eq!(life(&refs[1]).await, 1);
            refs[0].kill();
            next(1, true).await;
            next(2, false).await;
            if strategy == Strategy::OneForAll {
                next(1, true).await;
            }
            next(2, true).await;
            assert_eq!(life(&refs[1]).await, 3);
            let lives = if strategy == Strategy::OneForAll { 3 } else { 2 };
            assert_eq!(life(&refs[0]).await, lives);
            supervisor.stop();
            assert!(supervisor.down().await.is_orderly());
        }
    });
}

/// `simple_one_for_one_shutdown`: all at once, so the time is that of the slowest.
#[test]
fn dynamic_children_end_all_at_once() {
    let _watchdog = watchdog();
    for seed in 0..20 {
        run(&seeded(seed), async {
            let secs = Duration::from_secs;
            let supervisor = Supervisor::new(Strategy::Dynamic).start();
            let mut workers = Vec::new();
            for takes in [1, 1, 5] {
                let child = Child::new(move |mut mailbox: Mailbox<Tell>| async move {
                    while mailbox.recv().await.is_ok() {}
                    after(secs(takes)).await;
                });
                workers.push(child.actor_ref());
                let child = child.shutdown(Shutdown::Now(secs(2)));
                supervisor.start_child(child).await.unwrap().unwrap();
            }
            let start = Instant::now();
            supervisor.stop();
            supervisor.down().await;
            let took = start.elapsed();
            assert!(secs(2) <= took && took < secs(3), "{took:?}");
            let killed = workers.iter().map(|worker| matches!(worker.exit(), Some(Exit::Killed)));
            assert_eq!(killed.collect::<Vec<_>>(), [false, false, true]);
        });
    }
}

/// `tree`: a subtree that fails is started anew with what it began with, without what was added;
/// unlike in OTP, references stay good.
#[test]
fn a_tree_restarts_what_it_began_with() {
    on_all(|| async {
        let top = Supervisor::new(Strategy::OneForAll).start();
        let (one, two) = (worker(), worker());
        let sub = |supervisor: Supervisor| {
            let child = supervisor.intensity(1, Duration::from_secs(3600)).into_child();
            let supervisor: SupervisorRef = child.reference();
            (supervisor, child)
        };
        let with_two = Supervisor::new(Strategy::OneForOne).child(one.1).child(two.1);
        let (first, child) = sub(with_two);
        top.start_child(child).await.unwrap().unwrap();
        let (second, child) = sub(Supervisor::new(Strategy::OneForOne));
        top.start_child(child).await.unwrap().unwrap();
        let count = top.count_children().await.unwrap();
        assert_eq!((count.specs, count.supervisors, count.workers), (2, 2, 0));
        let (three, child) = worker();
        second.start_child(child).await.unwrap().unwrap();
        assert_eq!(counts(&first).await, (2, 2));
        assert_eq!(counts(&second).await, (1, 1));

        crashes(&three).await;
        assert_eq!((life(&one.0).await, life(&three).await), (1, 2));
        // Once too often.
        three.send(Tell::Crash(None)).await.unwrap();
        assert!(matches!(three.down().await, Exit::Panicked(_)));
        assert_eq!(first.restarted(1).await.unwrap(), 2);
        assert_eq!((life(&one.0).await, life(&two.0).await), (2, 2));
        assert_eq!(counts(&first).await, (2, 2));
        assert_eq!(counts(&second).await, (0, 0));
        assert_eq!(counts(&top).await, (2, 2));
        top.stop();
        top.down().await;
        for ended in [first.any(), second.any(), one.0.any(), two.0.any()] {
            assert!(matches!(ended.exit(), Some(Exit::Stopped)), "{ended:?}");
        }
    });
}

/// `count_children`, `do_not_save_child_specs_for_temporary_children`,
/// `do_not_save_start_parameters_for_temporary_children`: what has ended for good is forgotten.
#[test]
fn a_thousand_temporary_children_are_counted_and_forgotten() {
    on_all(|| async {
        let alive = Arc::new(AtomicU64::new(0));
        /// What a child's function holds.
        struct Held(Arc<AtomicU64>);
        impl Drop for Held {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        let supervisor = Supervisor::new(Strategy::Dynamic).start();
        let mut workers = Vec::new();
        for _ in 0..1000 {
            alive.fetch_add(1, Ordering::SeqCst);
            let held = Held(Arc::clone(&alive));
            let child = Child::new(move |mailbox| {
                let _ = &held;
                work(mailbox)
            });
            workers.push(child.actor_ref());
            let child = child.restart(Restart::Temporary);
            supervisor.start_child(child).await.unwrap().unwrap();
        }
        assert_eq!(counts(&supervisor).await, (1000, 1000));
        assert_eq!(supervisor.which_children().await.unwrap().len(), 1000);
        workers.iter().for_each(Worker::kill);
        for worker in workers {
            assert!(matches!(worker.down().await, Exit::Killed));
        }
        assert_eq!(counts(&supervisor).await, (0, 0));
        assert_eq!(alive.load(Ordering::SeqCst), 0);
    });
}

/// `hanging_restart_loop`, `hanging_restart_loop_simple`: a restart that hangs keeps nobody from
/// asking, and can be ended.
#[test]
fn a_restart_that_hangs_does_not_hang_the_supervisor() {
    on_all(|| async {
        for strategy in [Strategy::OneForOne, Strategy::RestForOne, Strategy::Dynamic] {
            let child = Child::new(|mailbox: Mailbox<Tell>| async {
                if mailbox.incarnation() > 1 {
                    std::future::pending::<()>().await;
                }
                work(mailbox).await
            });
            let actor = child.actor_ref();
            let child = child.shutdown(Shutdown::Now(Duration::from_millis(1)));
            let supervisor = Supervisor::new(strategy).child(child).start();
            crashes(&actor).await;
            assert_eq!(counts(&supervisor).await, (1, 1));
            assert!(supervisor.terminate_child(actor.id()).await.unwrap());
            assert!(matches!(actor.down().await, Exit::Killed));
            assert_eq!(counts(&supervisor).await, (0, 0));
        }
    });
}

/// `hanging_restart_loop`: a child that fails at each start, slowed down, can be ended at any time.
#[test]
fn restarts_wait_longer_after_each_failure() {
    let _watchdog = watchdog();
    for seed in 0..20 {
        run(&seeded(seed), async {
            let secs = Duration::from_secs;
            let child = Child::new(|mailbox: Mailbox<Tell>| async {
                if mailbox.incarnation() > 1 {
                    crash();
                }
                work(mailbox).await
            });
            let actor = child.actor_ref();
            let supervisor = Supervisor::new(Strategy::OneForOne)
                .intensity(usize::MAX, secs(1))
                .backoff(Backoff::new(secs(1), secs(60)).jitter(0.5))
                .child(child)
                .start();
            assert_eq!(life(&actor).await, 1);
            let mut last = Instant::now();
            actor.send(Tell::Crash(None)).await.unwrap();
            for (n, most) in [1, 2, 4, 8, 16, 32, 60, 60].into_iter().enumerate() {
                actor.restarted(n as u64 + 1).await.unwrap();
                let waited = last.elapsed();
                assert!(secs(most) / 2 <= waited && waited <= secs(most + 1), "{waited:?}");
                last = Instant::now();
            }
            let info = supervisor.which_children().timeout(secs(1)).await.unwrap().unwrap();
            assert!(!info[0].active);
            assert!(supervisor.terminate_child(actor.id()).await.unwrap());
            assert!(matches!(actor.down().await, Exit::Panicked(_)));
            assert!(last.elapsed() < secs(1));
        });
    }
}

/// The seed decides about chance, so a run can be repeated.
#[test]
fn the_same_seed_waits_as_long_before_a_restart() {
    let waits = |seed| {
        run(&seeded(seed), async {
            let (actor, child) = worker();
            let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(99)).jitter(1.0);
            let supervisor = Supervisor::new(Strategy::OneForOne)
                .intensity(9, Duration::from_secs(1))
                .backoff(backoff)
                .child(child)
                .start();
            let start = Instant::now();
            let mut at = Vec::new();
            for _ in 0..4 {
                crashes(&actor).await;
                at.push(start.elapsed());
            }
            drop(supervisor);
            at
        })
    };
    assert_eq!(waits(5), waits(5));
    assert_ne!(waits(5), waits(6));
}

/// OTP 24's `significant` and `auto_shutdown`: `significant_*` of later versions of the suite.
#[test]
fn a_supervisor_ends_with_its_significant_children() {
    on_all(|| async {
        for (when, first_ends) in [
            (AutoShutdown::Never, None),
            (AutoShutdown::AnySignificant, Some(1)),
            (AutoShutdown::AllSignificant, Some(2)),
        ] {
            let (one, two, other) = (worker(), worker(), worker());
            let supervisor = Supervisor::new(Strategy::OneForOne)
                .auto_shutdown(when)
                .child(other.1.restart(Restart::Temporary))
                .child(one.1.restart(Restart::Transient).significant())
                .child(two.1.restart(Restart::Temporary).significant())
                .start();
            assert_eq!(life(&two.0).await, 1);
            // A failure of a transient child is answered, and is not its end.
            crashes(&one.0).await;
            for (n, child) in [(1, &one.0), (2, &two.0)] {
                child.send(Tell::Quit).await.unwrap();
                assert!(matches!(child.down().await, Exit::Normal));
                if first_ends == Some(n) {
                    assert!(matches!(supervisor.down().await, Exit::Normal));
                    assert!(matches!(other.0.exit(), Some(Exit::Stopped)));
                    break;
                }
                assert_eq!(life(&other.0).await, 1);
                assert_eq!(counts(&supervisor).await, (3 - n, 3 - n));
            }
        }
    });
}
