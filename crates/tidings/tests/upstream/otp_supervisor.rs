//! Erlang/OTP's `lib/stdlib/test/supervisor_SUITE.erl`, and the part of it about significant
//! children that is younger.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::both::{on_all, run, seeded, watchdog};
use tidings::actor::{
    ActorRef, AutoShutdown, CallError, Child, Exit, Mailbox, Reply, Restart, Shutdown, Strategy,
    Supervisor, SupervisorError, SupervisorRef,
};
use tidings::time::Instant;
use tidings::{after, unbounded};

/// What the workers of these tests are told.
pub(crate) enum Tell {
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
pub(crate) fn crash() -> ! {
    std::panic::resume_unwind(Box::new("crash"))
}

pub(crate) async fn work(mut mailbox: Mailbox<Tell>) -> Result<(), &'static str> {
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

pub(crate) type Worker = ActorRef<Tell>;

pub(crate) fn worker() -> (Worker, Child<Tell>) {
    let child = Child::new(work);
    (child.actor_ref(), child)
}

/// A supervisor of so many workers, which allows two restarts in an hour.
pub(crate) fn supervise<const N: usize>(strategy: Strategy) -> ([Worker; N], SupervisorRef) {
    let workers = std::array::from_fn::<_, N, _>(|_| worker());
    let mut supervisor = Supervisor::new(strategy).intensity(2, Duration::from_secs(3600));
    let mut refs = Vec::new();
    for (actor, child) in workers {
        refs.push(actor);
        supervisor = supervisor.child(child);
    }
    (refs.try_into().unwrap(), supervisor.start())
}

pub(crate) async fn life(worker: &Worker) -> u64 {
    worker.call(Tell::Ping).await.unwrap()
}

/// Ends a life of a worker, which is answered with another.
pub(crate) async fn crashes(worker: &Worker) {
    let before = life(worker).await;
    let caller = worker.call(|reply| Tell::Crash(Some(reply))).await;
    assert!(
        matches!(&caller, Err(CallError::Ended(Exit::Panicked(why))) if &**why == "crash"),
        "{caller:?}"
    );
    assert_eq!(worker.restarted(before).await.unwrap(), before + 1);
}

/// Specs, and those that live.
pub(crate) async fn counts(supervisor: &SupervisorRef) -> (usize, usize) {
    let count = supervisor.count_children().await.unwrap();
    assert_eq!(count.specs, count.supervisors + count.workers);
    (count.specs, count.active)
}

pub(crate) fn gave_up(exit: &Exit) -> bool {
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
            let idle = || Child::new(|_: Mailbox<Tell>| async {}).restart(Restart::Temporary);
            let (actor, child) = worker();
            let ignored = idle();
            let ended = ignored.actor_ref();
            let supervisor = Supervisor::new(strategy)
                .child(ignored)
                .child(child)
                .start();
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
        if let Ok(started) = supervisor.started().await {
            assert!(matches!(started, Err(Exit::Failed(_))));
        }
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
            supervisor.started().await.unwrap().unwrap();
            if hangs {
                actor.send(Tell::Hang).await.unwrap();
            }
            supervisor.stop();
            assert!(matches!(supervisor.down().await, Exit::Stopped));
            let exit = actor.down().await;
            assert_eq!(
                matches!(exit, Exit::Killed),
                killed,
                "{shutdown:?}: {exit:?}"
            );
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
            let supervisor = Supervisor::new(strategy)
                .intensity(0, Duration::ZERO)
                .start();
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
            let killed = workers
                .iter()
                .map(|worker| matches!(worker.exit(), Some(Exit::Killed)));
            assert_eq!(killed.collect::<Vec<_>>(), [false, false, true]);
        });
    }
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

/// `significant_bystander`, `nonsignificant_*`, and what a supervisor ends by itself in `significant_temporary`,
/// `significant_transient`.
#[test]
fn the_end_of_a_significant_child_by_a_sibling_or_by_hand_is_not_its_supervisors() {
    on_all(|| async {
        for strategy in [
            Strategy::OneForOne,
            Strategy::OneForAll,
            Strategy::RestForOne,
        ] {
            for when in [AutoShutdown::AnySignificant, AutoShutdown::AllSignificant] {
                let (first, other, last) = (worker(), worker(), worker());
                let supervisor = Supervisor::new(strategy)
                    .intensity(5, Duration::from_secs(3600))
                    .auto_shutdown(when)
                    .child(first.1.restart(Restart::Transient).significant())
                    .child(other.1.restart(Restart::Transient))
                    .child(last.1.restart(Restart::Temporary).significant())
                    .start();
                assert_eq!(life(&last.0).await, 1);
                crashes(&other.0).await;
                if strategy == Strategy::OneForOne {
                    assert!(supervisor.terminate_child(last.0.id()).await.unwrap());
                }
                assert!(matches!(last.0.down().await, Exit::Stopped));
                let first_lives = if strategy == Strategy::OneForAll {
                    first.0.restarted(1).await.unwrap()
                } else {
                    1
                };
                assert_eq!(life(&first.0).await, first_lives);
                assert!(supervisor.terminate_child(first.0.id()).await.unwrap());
                assert!(matches!(first.0.down().await, Exit::Stopped));
                other.0.send(Tell::Quit).await.unwrap();
                assert!(matches!(other.0.down().await, Exit::Normal));
                assert_eq!(counts(&supervisor).await, (0, 0));
                supervisor.stop();
                assert!(matches!(supervisor.down().await, Exit::Stopped));
            }
        }
    });
}

/// `significant_escalation`.
#[test]
fn a_supervisor_that_ends_with_its_significant_child_is_one_itself() {
    on_all(|| async {
        for significant in [true, false] {
            let (actor, child) = worker();
            let inner = Supervisor::new(Strategy::OneForOne)
                .auto_shutdown(AutoShutdown::AnySignificant)
                .child(child.restart(Restart::Transient).significant())
                .into_child()
                .restart(Restart::Transient);
            let inner_ref = inner.actor_ref();
            let inner = if significant {
                inner.significant()
            } else {
                inner
            };
            let outer = Supervisor::new(Strategy::OneForOne)
                .auto_shutdown(AutoShutdown::AnySignificant)
                .child(inner)
                .start();
            actor.send(Tell::Quit).await.unwrap();
            assert!(matches!(inner_ref.down().await, Exit::Normal));
            if !significant {
                assert_eq!(counts(&outer).await, (0, 0));
                outer.stop();
            }
            let exit = outer.down().await;
            assert_eq!(matches!(exit, Exit::Normal), significant, "{exit:?}");
        }
    });
}

/// `sup_stop_race`, `sup_stop_non_shutdown_exit_dynamic`: a supervisor that ends waits for all its children,
/// however they end, by themselves too, and none is started anew.
#[test]
fn children_that_end_by_themselves_do_not_disturb_the_end_of_their_supervisor() {
    on_all(|| async {
        for restart in [Restart::Permanent, Restart::Transient, Restart::Temporary] {
            let (first, last_ends) = (worker(), unbounded::<()>());
            let others = [worker(), worker(), worker()];
            let (tell, told) = unbounded();
            let last = Child::new(move |mut mailbox: Mailbox<Tell>| {
                let (tell, ends) = (tell.clone(), last_ends.1.clone());
                async move {
                    while mailbox.recv().await.is_ok() {}
                    tell.send(()).await.unwrap();
                    let _ = ends.recv().await;
                }
            });
            let mut supervisor = Supervisor::new(Strategy::OneForAll).child(first.1);
            let mut actors = Vec::new();
            for (actor, child) in others {
                actors.push(actor);
                supervisor = supervisor.child(child.restart(restart));
            }
            let last = last.shutdown(Shutdown::Now(Duration::MAX));
            let supervisor = supervisor.child(last).start();
            supervisor.started().await.unwrap().unwrap();
            supervisor.stop();
            // The last one ends first, and takes its time.
            told.recv().await.unwrap();
            for (actor, how) in actors
                .iter()
                .zip([Tell::Quit, Tell::Fail, Tell::Crash(None)])
            {
                actor.send(how).await.unwrap();
            }
            let [quits, fails, crashes] = &actors[..] else {
                unreachable!("there are three");
            };
            assert!(matches!(quits.down().await, Exit::Normal));
            assert!(matches!(fails.down().await, Exit::Failed(_)));
            assert!(matches!(crashes.down().await, Exit::Panicked(_)));
            drop(last_ends.0);
            assert!(matches!(supervisor.down().await, Exit::Stopped));
            assert!(matches!(first.0.exit(), Some(Exit::Stopped)));
        }
    });
}
