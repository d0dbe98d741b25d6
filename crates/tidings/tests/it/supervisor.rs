//! What a supervisor does with the time between two lives, and with commands that come meanwhile.
//! What OTP's own suite says of supervisors is in `tests/upstream`.

use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use crate::both::{on_all, run, seeded, watchdog};
use crate::hands::{pinned, poll};
use tidings::actor::{
    ActorRef, Backoff, Builder, Child, ChildCount, Exit, Mailbox, Reply, SendError, Shared,
    Shutdown, Strategy, Supervisor, SupervisorRef,
};
use tidings::time::Instant;
use tidings::{after, oneshot, unbounded, yield_now};
use tidings_sim::Sim;

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Under some seeds, by a clock that stands while anything runs.
fn each_seed<F: Future<Output = ()> + Send + 'static>(body: impl Fn() -> F) {
    let _watchdog = watchdog();
    Sim::new(0).seeds(10).run(body);
}

/// Crashes at each message.
fn worker() -> (ActorRef<()>, Child<()>) {
    let child = Child::new(|mut mailbox: Mailbox<()>| async move {
        if mailbox.recv().await.is_ok() {
            std::panic::resume_unwind(Box::new("told to"));
        }
    });
    (child.actor_ref(), child)
}

/// Restarts as often as may be, after these waits.
fn patient(strategy: Strategy, first: u64, limit: u64) -> Supervisor {
    Supervisor::new(strategy)
        .intensity(usize::MAX, secs(1))
        .backoff(Backoff::new(secs(first), secs(limit)).jitter(0.0))
}

/// Lets it crash, and gives how many seconds pass before its next life.
async fn waits(actor: &ActorRef<()>) -> u64 {
    let before = actor.incarnation();
    let start = Instant::now();
    actor.send(()).await.unwrap();
    actor.restarted(before).await.unwrap();
    start.elapsed().as_secs()
}

/// Lets the child crash that has this place, and waits until the supervisor knows.
async fn crashes(supervisor: &SupervisorRef, place: usize, actor: &ActorRef<()>) {
    actor.send(()).await.unwrap();
    while supervisor.which_children().await.unwrap()[place].active {
        yield_now().await;
    }
}

#[test]
fn a_restart_waits_under_every_strategy() {
    let strategies = [
        (Strategy::OneForOne, 1),
        (Strategy::OneForAll, 2),
        (Strategy::RestForOne, 2),
        (Strategy::Dynamic, 1),
    ];
    for (strategy, life) in strategies {
        each_seed(|| async move {
            let ((first, one), (second, two)) = (worker(), worker());
            let supervisor = patient(strategy, 10, 10).child(one).child(two).start();
            supervisor.started().await.unwrap().unwrap();
            assert_eq!(waits(&first).await, 10);
            // Who ended with it begins after it.
            second.restarted(life - 1).await.unwrap();
            assert_eq!(second.incarnation(), life);
        });
    }
}

#[test]
fn a_restart_that_is_due_now_is_made_now() {
    let _watchdog = watchdog();
    // A time that the timers meet to the nanosecond.
    let wait = Duration::from_nanos(1 << 33);
    for strategy in [
        Strategy::OneForOne,
        Strategy::OneForAll,
        Strategy::RestForOne,
        Strategy::Dynamic,
    ] {
        run(&seeded(1), async move {
            let (actor, child) = worker();
            let supervisor = Supervisor::new(strategy)
                .backoff(Backoff::new(wait, wait).jitter(0.0))
                .child(child)
                .start();
            supervisor.started().await.unwrap().unwrap();
            let start = Instant::now();
            actor.send(()).await.unwrap();
            assert_eq!(actor.restarted(1).await.unwrap(), 2);
            assert_eq!(start.elapsed(), wait);
        });
    }
}

/// Sends as soon as it is woken, wherever that is.
struct Eager {
    actor: ActorRef<()>,
    sent: Mutex<Option<Result<(), SendError<()>>>>,
}

impl Wake for Eager {
    fn wake(self: Arc<Self>) {
        *self.sent.lock().unwrap() = Some(self.actor.try_send(()));
    }
}

#[test]
fn who_hears_of_a_restart_finds_the_mailbox_open() {
    on_all(|| async {
        let (actor, child) = worker();
        let supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
        supervisor.started().await.unwrap().unwrap();
        let eager = Arc::new(Eager {
            actor: actor.clone(),
            sent: Mutex::default(),
        });
        let restarted = pin!(actor.restarted(1).into_future());
        let waker = Waker::from(Arc::clone(&eager));
        assert!(
            restarted
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        // In order, which closes it until the next life.
        actor.stop();
        while eager.sent.lock().unwrap().is_none() {
            yield_now().await;
        }
        let sent = eager.sent.lock().unwrap().take();
        assert!(matches!(sent, Some(Ok(()))), "{sent:?}");
    });
}

#[test]
fn a_life_as_long_as_the_limit_ends_the_row_of_failures() {
    each_seed(|| async {
        let (actor, child) = worker();
        let supervisor = patient(Strategy::OneForOne, 1, 8).child(child).start();
        supervisor.started().await.unwrap().unwrap();
        assert_eq!((waits(&actor).await, waits(&actor).await), (1, 2));
        after(secs(7)).await;
        assert_eq!(waits(&actor).await, 4);
        after(secs(8)).await;
        assert_eq!((waits(&actor).await, waits(&actor).await), (1, 2));
    });
}

#[test]
fn a_child_that_waits_for_its_restart_keeps_no_other_waiting_and_can_be_started_at_once() {
    each_seed(|| async {
        let ((first, one), (second, two)) = (worker(), worker());
        let strategy = patient(Strategy::OneForOne, 1, 100);
        let supervisor = strategy.child(one).child(two).start();
        supervisor.started().await.unwrap().unwrap();
        for wait in [1, 2, 4] {
            assert_eq!(waits(&first).await, wait);
        }
        crashes(&supervisor, 0, &first).await;
        assert_eq!(waits(&second).await, 1);
        assert_eq!(first.incarnation(), 4);
        let start = Instant::now();
        assert!(supervisor.restart_child(first.id()).await.unwrap());
        assert_eq!(first.restarted(4).await.unwrap(), 5);
        assert_eq!(start.elapsed().as_secs(), 0);
        // The wait that was cut short is over: nothing comes of it later.
        after(secs(20)).await;
        assert_eq!(first.incarnation(), 5);
    });
}

#[test]
fn each_child_that_waits_has_a_time_of_its_own() {
    for strategy in [Strategy::OneForOne, Strategy::Dynamic] {
        each_seed(|| async move {
            let ((first, one), (second, two)) = (worker(), worker());
            let strategy = patient(strategy, 1, 100);
            let supervisor = strategy.child(one).child(two).start();
            supervisor.started().await.unwrap().unwrap();
            assert_eq!((waits(&first).await, waits(&first).await), (1, 2));
            let start = Instant::now();
            crashes(&supervisor, 0, &first).await;
            assert_eq!(waits(&second).await, 1);
            first.restarted(3).await.unwrap();
            assert_eq!(start.elapsed().as_secs(), 4);
        });
    }
}

#[test]
fn a_child_that_never_takes_messages_is_not_waited_for_once_it_was_ended() {
    on_all(|| async {
        let (_actor, child) = worker();
        let hangs = Child::new(|mailbox: Mailbox<()>| async move {
            pending::<()>().await;
            drop(mailbox);
        });
        let hangs = hangs.shutdown(Shutdown::Kill);
        let hanging = hangs.actor_ref();
        let top = Supervisor::new(Strategy::Dynamic).child(hangs).child(child);
        let supervisor = top.start();
        hanging.restarted(0).await.unwrap();
        let up = tidings::spawn({
            let supervisor = supervisor.clone();
            async move { supervisor.started().await.unwrap() }
        });
        assert!(supervisor.terminate_child(hanging.id()).await.unwrap());
        up.await.unwrap().unwrap();
        assert!(matches!(hanging.exit(), Some(Exit::Killed)));
    });
}

#[test]
fn children_are_counted_by_what_they_are_and_do() {
    on_all(|| async {
        let ((crashed, one), (_second, two)) = (worker(), worker());
        let inner = Supervisor::new(Strategy::Dynamic).into_child();
        let top = patient(Strategy::OneForOne, 3600, 3600);
        let supervisor = top.child(one).child(two).child(inner).start();
        supervisor.started().await.unwrap().unwrap();
        crashes(&supervisor, 0, &crashed).await;
        let counted = supervisor.count_children().await.unwrap();
        let ChildCount {
            specs,
            active,
            supervisors,
            workers,
            ..
        } = counted;
        assert_eq!((specs, active, supervisors, workers), (3, 2, 1, 2));
    });
}

#[test]
fn a_supervisor_that_returns_starts_what_was_not_ended_by_hand() {
    on_all(|| async {
        let ((ended, one), (again, two)) = (worker(), worker());
        let inner = Supervisor::new(Strategy::OneForOne).child(one).child(two);
        let inner = inner.into_child();
        let supervisor: SupervisorRef = inner.reference();
        let top = Supervisor::new(Strategy::OneForOne).child(inner).start();
        supervisor.started().await.unwrap().unwrap();
        assert!(supervisor.terminate_child(ended.id()).await.unwrap());
        assert!(supervisor.restart_child(again.id()).await.unwrap());
        assert_eq!(again.restarted(1).await.unwrap(), 2);
        assert_eq!(supervisor.count_children().await.unwrap().specs, 1);
        supervisor.kill();
        assert_eq!(supervisor.restarted(1).await.unwrap(), 2);
        assert_eq!(again.restarted(2).await.unwrap(), 3);
        supervisor.started().await.unwrap().unwrap();
        assert!(matches!(ended.down().await, Exit::Stopped));
        assert_eq!(supervisor.count_children().await.unwrap().specs, 1);
        drop(top);
    });
}

/// Messages of an actor that is still busy with the first of them when `crashing` ends it and its supervisor,
/// and both come back.
async fn messages_survive<T>(family: impl FnOnce(Child<()>, Child<u32>) -> (SupervisorRef, T)) {
    let (seen, all) = unbounded();
    let (crashing, one) = worker();
    let two = Child::new(move |mut mailbox: Mailbox<u32>| {
        let seen = seen.clone();
        async move {
            while let Ok(n) = mailbox.recv().await {
                seen.send(n).await.unwrap();
                if mailbox.incarnation() == 1 {
                    pending::<()>().await;
                }
            }
        }
    });
    let two = two.shutdown(Shutdown::Now(Duration::ZERO));
    let actor = two.actor_ref();
    let (supervisor, top) = family(one, two);
    supervisor.started().await.unwrap().unwrap();
    for n in 0..4 {
        actor.send(n).await.unwrap();
    }
    assert_eq!(all.recv().await, Ok(0));
    crashing.send(()).await.unwrap();
    for n in 1..4 {
        assert_eq!(all.recv().await, Ok(n));
    }
    assert_eq!((supervisor.incarnation(), actor.incarnation()), (2, 2));
    drop(top);
}

#[test]
fn messages_survive_the_failure_of_the_supervisor_of_their_actor() {
    on_all(|| {
        messages_survive(|one, two| {
            let inner = Supervisor::new(Strategy::OneForOne).intensity(0, secs(1));
            let inner = inner.child(one).child(two).into_child();
            let supervisor = inner.reference();
            let top = Supervisor::new(Strategy::OneForOne).child(inner).start();
            (supervisor, top)
        })
    });
}

#[test]
fn messages_survive_when_the_supervisor_of_their_actor_is_ended_to_come_back() {
    on_all(|| {
        messages_survive(|one, two| {
            let inner = Supervisor::new(Strategy::OneForOne).child(two).into_child();
            let supervisor = inner.reference();
            let top = Supervisor::new(Strategy::OneForAll);
            (supervisor, top.child(one).child(inner).start())
        })
    });
}

#[test]
fn a_child_has_no_parent_but_its_supervisor() {
    on_all(|| async {
        let (parent, _child) = worker();
        let parent = parent.any();
        let refused = |f: &dyn Fn()| catch_unwind(AssertUnwindSafe(f)).is_err();
        assert!(refused(&|| {
            let builder = Builder::new().parent(&parent);
            drop(builder.child(|_: Mailbox<()>| async {}));
        }));
        assert!(refused(&|| {
            let supervisor = Supervisor::new(Strategy::Dynamic).parent(&parent);
            drop(supervisor.into_child());
        }));
    });
}

#[test]
fn a_child_that_is_to_end_for_good_is_not_restarted() {
    on_all(|| async {
        let (open, gate) = oneshot();
        let gate = Arc::new(Mutex::new(Some(gate)));
        let busy = Child::new(move |mut mailbox: Mailbox<()>| {
            let gate = gate.lock().unwrap().take().unwrap();
            async move {
                mailbox.recv().await.unwrap();
                gate.await.unwrap();
                while mailbox.recv().await.is_ok() {}
            }
        });
        let busy = busy.shutdown(Shutdown::Now(Duration::MAX));
        let actor = busy.actor_ref();
        let supervisor = Supervisor::new(Strategy::OneForOne).child(busy).start();
        actor.send(()).await.unwrap();
        supervisor.started().await.unwrap().unwrap();
        let mut ends = pinned(supervisor.terminate_child(actor.id()));
        assert!(poll(ends.as_mut()).is_pending());
        assert!(!supervisor.restart_child(actor.id()).await.unwrap());
        open.send(()).unwrap();
        assert!(ends.await.unwrap());
        assert_eq!(actor.incarnation(), 1);
    });
}

#[test]
fn who_waits_before_restarts_gives_up_only_if_it_is_said_when() {
    let wait = Duration::from_millis;
    each_seed(move || async move {
        let (actor, child) = worker();
        let _supervisor = Supervisor::new(Strategy::OneForOne)
            .backoff(Backoff::new(wait(1), wait(4)))
            .child(child)
            .start();
        for life in 1..20 {
            actor.send(()).await.unwrap();
            assert_eq!(actor.restarted(life).await.unwrap(), life + 1);
        }
        for said in [true, false] {
            let (actor, child) = worker();
            let supervisor = Supervisor::new(Strategy::OneForOne);
            // Without a wait it gives up, too, or would do nothing but start it.
            let supervisor = match said {
                true => supervisor
                    .intensity(3, secs(5))
                    .backoff(Backoff::new(wait(1), wait(4))),
                false => supervisor.backoff(Backoff::default()),
            };
            let supervisor = supervisor.child(child).start();
            for _ in 0..4 {
                actor.send(()).await.unwrap();
            }
            let exit = supervisor.down().await.to_string();
            assert!(exit.starts_with("failed: too many restarts"), "{exit}");
            assert_eq!(actor.incarnation(), 4);
        }
    });
}

#[test]
fn who_waits_for_the_start_of_a_child_that_is_given_up_before_its_turn_hears_so() {
    on_all(|| async {
        for supervisor_ends in [false, true] {
            let hangs = Child::new(|mailbox: Mailbox<()>| async move {
                pending::<()>().await;
                drop(mailbox);
            });
            let supervisor = Supervisor::new(Strategy::OneForOne)
                .child(hangs.shutdown(Shutdown::Kill))
                .start();
            let (actor, child) = worker();
            let mut started = pinned(supervisor.start_child(child));
            assert!(poll(started.as_mut()).is_pending());
            if supervisor_ends {
                supervisor.stop();
            } else {
                assert!(supervisor.terminate_child(actor.id()).await.unwrap());
            }
            let heard = started.await;
            assert!(matches!(heard, Ok(Err(Exit::Killed))), "{heard:?}");
            assert!(matches!(actor.exit(), Some(Exit::Killed)));
        }
    });
}

#[test]
fn a_child_that_does_not_ask_for_messages_says_that_it_is_ready() {
    on_all(|| async {
        let (go, gate) = unbounded::<()>();
        let busy = Child::new(move |mut mailbox: Mailbox<()>| {
            let gate = gate.clone();
            async move {
                gate.recv().await.unwrap();
                mailbox.ready();
                pending::<()>().await;
            }
        });
        let (second, child) = worker();
        let supervisor = Supervisor::new(Strategy::OneForOne)
            .child(busy.shutdown(Shutdown::Kill))
            .child(child)
            .start();
        let mut started = pinned(supervisor.started());
        assert!(poll(started.as_mut()).is_pending());
        assert_eq!(second.incarnation(), 0);
        go.send(()).await.unwrap();
        started.await.unwrap().unwrap();
        assert_eq!(second.incarnation(), 1);
    });
}

#[test]
fn a_life_knows_why_the_one_before_it_ended() {
    on_all(|| async {
        let child = Child::new(|mut mailbox: Mailbox<Reply<Option<String>>>| async move {
            let last = mailbox.last_exit().map(|exit| exit.to_string());
            while let Ok(reply) = mailbox.recv().await {
                reply.send(last.clone()).unwrap();
            }
        });
        let actor = child.actor_ref();
        let supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
        assert_eq!(actor.call(|reply| reply).await.unwrap(), None);
        assert!(actor.last_exit().is_none());
        actor.kill();
        actor.restarted(1).await.unwrap();
        let last = actor.call(|reply| reply).await.unwrap();
        assert_eq!(last.as_deref(), Some("was killed"));
        actor.fail("no disk");
        actor.restarted(2).await.unwrap();
        let last = actor.call(|reply| reply).await.unwrap();
        assert_eq!(last.as_deref(), Some("failed: no disk"));
        assert!(matches!(actor.any().last_exit(), Some(Exit::Failed(_))));
        supervisor.stop();
        actor.down().await;
        assert!(matches!(actor.last_exit(), Some(Exit::Stopped)));
    });
}

#[tidings::interface]
trait Clock {
    async fn ticks(&self) -> u32;
}

struct Ticks(u32);

impl Clock for Ticks {
    async fn ticks(&self) -> u32 {
        self.0
    }
}

#[test]
fn a_child_may_have_a_timer_from_the_beginning_of_each_life() {
    each_seed(|| async {
        let child = Child::interface_with(|this: &Shared<Ticks>| {
            this.every("tick", secs(10), |ticks| ticks.0 += 1);
            Ticks(0)
        });
        let clock: ClockRef = child.reference();
        let supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
        supervisor.started().await.unwrap().unwrap();
        for life in 1..3 {
            after(secs(35)).await;
            assert_eq!(clock.ticks().await.unwrap(), 3);
            clock.kill();
            clock.restarted(life).await.unwrap();
        }
    });
}
