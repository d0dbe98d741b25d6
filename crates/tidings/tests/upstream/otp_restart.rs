//! Erlang/OTP's `lib/stdlib/test/supervisor_SUITE.erl`: restart types, strategies, intensity.

use std::time::Duration;

use crate::both::{on_all, run, seeded, watchdog};
use crate::otp_supervisor::{
    Tell, Worker, counts, crash, crashes, gave_up, life, supervise, work, worker,
};
use tidings::actor::{Backoff, Child, Exit, Mailbox, Restart, Strategy, Supervisor, SupervisorRef};
use tidings::time::Instant;
use tidings::{after, oneshot, unbounded};

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
fn asks(tell: &tidings::Sender<(u8, oneshot::Sender<bool>)>, n: u8) -> Child<Tell> {
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
            let lives = if strategy == Strategy::OneForAll {
                3
            } else {
                2
            };
            assert_eq!(life(&refs[0]).await, lives);
            supervisor.stop();
            assert!(supervisor.down().await.is_orderly());
        }
    });
}

/// `tree`: a subtree that fails is started anew with what it began with, without what was added;
/// unlike in OTP, references stay good.
#[test]
fn a_tree_restarts_what_it_began_with() {
    on_all(|| async {
        let top = Supervisor::new(Strategy::OneForAll).start();
        let (one, two) = (worker(), worker());
        let sub = |supervisor: Supervisor| {
            let child = supervisor
                .intensity(1, Duration::from_secs(3600))
                .into_child();
            let supervisor: SupervisorRef = child.reference();
            (supervisor, child)
        };
        let with_two = Supervisor::new(Strategy::OneForOne)
            .child(one.1)
            .child(two.1);
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
                assert!(
                    secs(most) / 2 <= waited && waited <= secs(most + 1),
                    "{waited:?}"
                );
                last = Instant::now();
            }
            // Between two lives it is known, and does not live.
            while supervisor.which_children().await.unwrap()[0].active {
                after(Duration::from_millis(1)).await;
            }
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
