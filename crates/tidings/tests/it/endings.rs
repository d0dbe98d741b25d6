//! Ends that something stands in the way of: children that do not heed a stop, a stop that was answered by
//! a kill, and users' values that ask or panic as they are dropped.

use std::fmt;
use std::future::{Ready, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Wake, Waker};
use std::time::Duration;

use tidings::Event;
use tidings::actor::{
    self, AnyRef, Backoff, Builder, CallError, Child, Exit, Mailbox, Reply, Restart, Shared,
    Shutdown, Strategy, Supervisor, SupervisorRef,
};

use crate::both::{on_all, on_pools, pool, run, watchdog};
use crate::driver::crash;
use crate::hands::{Bomb, pinned, poll, poll_with};
use crate::lifecycle::one_for_one;
use crate::panics::BadDrop;

/// Long enough never to pass.
const LONG: Duration = Duration::from_secs(20);

/// Starts one that heeds no stop, as a child of this actor.
fn with_deaf_child(mailbox: &Mailbox<()>) -> actor::ActorRef<()> {
    let deaf = |mailbox: Mailbox<()>| async move {
        pending::<()>().await;
        drop(mailbox);
    };
    Builder::new().parent(&mailbox.this().any()).spawn(deaf)
}

async fn has_deaf_child(mut mailbox: Mailbox<()>) {
    let _child = with_deaf_child(&mailbox);
    while mailbox.recv().await.is_ok() {}
}

#[test]
fn a_kill_reaches_who_waits_for_its_children_and_them() {
    on_all(|| async {
        let (give, given) = tidings::unbounded();
        let parent = actor::spawn(move |mut mailbox: Mailbox<()>| async move {
            give.try_send(with_deaf_child(&mailbox)).unwrap();
            while mailbox.recv().await.is_ok() {}
        });
        let child = given.recv().await.unwrap();
        parent.stop();
        for _ in 0..10 {
            tidings::yield_now().await;
        }
        assert!(parent.exit().is_none(), "it waits for its child");
        parent.kill();
        let ended = parent.down().timeout(LONG).await.expect("it ends");
        assert!(matches!(ended, Exit::Killed), "{ended:?}");
        assert!(matches!(child.down().await, Exit::Killed));
    });
}

#[test]
fn a_deadline_reaches_who_waits_for_its_children() {
    on_all(|| async {
        let child = Child::new(has_deaf_child);
        let child = child.shutdown(Shutdown::Now(Duration::from_millis(3)));
        let supervisor = one_for_one().child(child).start();
        supervisor.started().await.unwrap().unwrap();
        supervisor.stop();
        let ended = supervisor.down().timeout(LONG).await;
        ended.expect("its child is killed after 3 ms");
    });
}

/// Answers with its life; stands still after the first answer of the first.
async fn first_life_hangs(mut mailbox: Mailbox<Reply<u64>>) {
    while let Ok(reply) = mailbox.recv().await {
        reply.send(mailbox.incarnation()).unwrap();
        if mailbox.incarnation() == 1 {
            pending::<()>().await;
        }
    }
}

#[test]
fn a_supervisors_stop_that_ended_in_a_kill_is_not_for_the_next_life() {
    on_all(|| async {
        let child = Child::new(first_life_hangs);
        let child = child.restart(Restart::Transient);
        let child = child.shutdown(Shutdown::Now(Duration::ZERO));
        let actor = child.actor_ref();
        let inner = Supervisor::new(Strategy::OneForOne).child(child);
        let inner = inner.into_child();
        let supervisor: SupervisorRef = inner.reference();
        let _top = Supervisor::new(Strategy::OneForOne).child(inner).start();
        assert_eq!(actor.call(|reply| reply).await.unwrap(), 1);
        supervisor.stop();
        assert_eq!(supervisor.restarted(1).await.unwrap(), 2);
        assert_eq!(actor.restarted(1).await.unwrap(), 2);
        assert_eq!(actor.call(|reply| reply).await.unwrap(), 2);
    });
}

#[test]
fn a_supervisor_that_another_gives_up_ends_after_its_children() {
    on_all(|| async {
        let child = Child::new(first_life_hangs);
        let actor = child.actor_ref();
        let inner = Supervisor::new(Strategy::OneForOne)
            .child(child)
            .into_child();
        let supervisor: SupervisorRef = inner.reference();
        let children_first = tidings::spawn({
            let actor = actor.clone();
            async move {
                supervisor.down().await;
                actor.exit().is_some()
            }
        });
        let top = Supervisor::new(Strategy::OneForOne).child(inner).start();
        assert_eq!(actor.call(|reply| reply).await.unwrap(), 1);
        top.stop();
        top.down().await;
        assert!(children_first.await.unwrap());
    });
}

#[test]
fn a_mailbox_that_outlives_its_life_does_not_close_that_of_the_next() {
    on_all(|| async {
        let (give, given) = tidings::unbounded();
        let child = Child::new(move |mut mailbox: Mailbox<Reply<u64>>| {
            let give = give.clone();
            async move {
                while let Ok(reply) = mailbox.recv().await {
                    reply.send(mailbox.incarnation()).unwrap();
                    if mailbox.incarnation() == 1 {
                        drop(give.try_send(mailbox));
                        return pending().await;
                    }
                }
            }
        });
        let actor = child.actor_ref();
        let _supervisor = one_for_one().child(child).start();
        assert_eq!(actor.call(|reply| reply).await.unwrap(), 1);
        let old: Mailbox<Reply<u64>> = given.recv().await.unwrap();
        actor.kill();
        assert_eq!(actor.restarted(1).await.unwrap(), 2);
        drop(old);
        for _ in 0..3 {
            assert_eq!(actor.call(|reply| reply).await.unwrap(), 2);
        }
    });
}

/// An error that asks something of an actor, if there is one, as it is dropped, by another thread.
#[derive(Debug)]
struct Asks(Arc<Mutex<Option<AnyRef>>>, mpsc::Sender<bool>);

impl fmt::Display for Asks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it asks")
    }
}

impl std::error::Error for Asks {}

impl Drop for Asks {
    fn drop(&mut self) {
        let actor = self.0.lock().unwrap().clone();
        let (tell, told) = mpsc::channel();
        drop(std::thread::spawn(move || {
            let _ = actor.map(|actor| actor.incarnation());
            let _ = tell.send(());
        }));
        let _ = self.1.send(told.recv_timeout(LONG).is_ok());
    }
}

#[test]
fn why_a_life_has_ended_is_dropped_without_a_lock() {
    on_pools(|| async {
        let (free, frees) = mpsc::channel();
        let asked = Arc::<Mutex<Option<AnyRef>>>::default();
        let asks = Arc::clone(&asked);
        let child = Child::new(move |mut mailbox: Mailbox<()>| {
            let (asks, free) = (Arc::clone(&asks), free.clone());
            async move {
                let _ = mailbox.recv().await;
                Err::<(), _>(Asks(asks, free))
            }
        });
        let actor = child.actor_ref();
        *asked.lock().unwrap() = Some(actor.any());
        let supervisor = one_for_one().child(child).start();
        for life in 1..=2 {
            actor.restarted(life - 1).await.unwrap();
            actor.send(()).await.unwrap();
            actor.restarted(life).await.unwrap();
            // It has dropped what it was told.
            supervisor.count_children().await.unwrap();
        }
        assert!(frees.recv().unwrap(), "the lock of the actor was held");
        // The actor has the last error, which is not to keep the actor.
        let taken = asked.lock().unwrap().take();
        drop(taken);
    });
}

#[tidings::interface]
trait Keeps {
    async fn begin(this: Shared<Self>) -> ();
    /// Arguments may be called what the generated code might call its own.
    async fn name(&self, reply: String) -> usize;
}

struct Keeper {
    _this: Shared<Self>,
    _told: Arc<()>,
}

impl Keeps for Keeper {
    async fn begin(this: Shared<Self>) {
        this.spawn(async {
            let _bad = BadDrop;
            pending::<()>().await;
        });
    }
    async fn name(&self, reply: String) -> usize {
        reply.len()
    }
}

#[test]
fn the_state_goes_though_something_beside_it_panics_as_it_is_dropped() {
    on_all(|| async {
        let told = Arc::new(());
        let held = Arc::clone(&told);
        let keeper: KeepsRef = actor::start_with(move |this: &Shared<Keeper>| Keeper {
            _this: this.clone(),
            _told: held,
        });
        keeper.begin().await.unwrap();
        assert_eq!(keeper.name("four".to_owned()).await.unwrap(), 4);
        keeper.kill();
        assert!(matches!(keeper.down().await, Exit::Panicked(_)));
        assert_eq!(Arc::strong_count(&told), 1);
    });
}

#[test]
fn what_a_child_leaves_behind_may_panic_as_it_is_dropped_and_its_siblings_live() {
    on_all(|| async {
        let held = BadDrop;
        let quits = Child::new(move |mut mailbox: Mailbox<()>| {
            let _ = &held;
            async move {
                let held = BadDrop;
                mailbox.on_undelivered(move |(), _| _ = &held);
                let _ = mailbox.recv().await;
            }
        });
        let quits = quits.restart(Restart::Temporary);
        let quitter = quits.actor_ref();
        let sibling = Child::new(|mut mailbox: Mailbox<Reply<u64>>| async move {
            while let Ok(reply) = mailbox.recv().await {
                reply.send(mailbox.incarnation()).unwrap();
            }
        });
        let lives = sibling.actor_ref();
        let supervisor = one_for_one().child(quits).child(sibling).start();
        quitter.send(()).await.unwrap();
        assert!(quitter.down().await.is_orderly());
        assert_eq!(supervisor.count_children().await.unwrap().specs, 1);
        assert_eq!(lives.call(|reply| reply).await.unwrap(), 1);
    });
}

#[test]
fn a_waker_that_panics_at_a_restart_hinders_no_life() {
    on_all(|| async {
        let child = Child::new(first_life_hangs);
        let actor = child.actor_ref();
        let supervisor = one_for_one().child(child).start();
        assert_eq!(actor.call(|reply| reply).await.unwrap(), 1);
        let mut waits = pinned(actor.restarted(1));
        assert!(poll_with(waits.as_mut(), &Waker::from(Arc::new(Bomb))).is_pending());
        actor.kill();
        assert_eq!(actor.restarted(1).await.unwrap(), 2);
        assert_eq!(actor.call(|reply| reply).await.unwrap(), 2);
        assert!(supervisor.exit().is_none());
    });
}

/// Tells, when it is woken, whether the actor has ended.
struct Looks(AnyRef, Mutex<mpsc::Sender<bool>>);

impl Wake for Looks {
    fn wake(self: Arc<Self>) {
        let _ = self.1.lock().unwrap().send(self.0.exit().is_some());
    }
}

/// Waits for this, by hand: has the actor ended when the word comes?
fn ended_by_then<E: IntoFuture>(event: E, actor: &AnyRef) -> bool {
    let (tell, told) = mpsc::channel();
    let looks = Waker::from(Arc::new(Looks(actor.clone(), Mutex::new(tell))));
    match poll_with(pinned(event).as_mut(), &looks) {
        Poll::Ready(_) => actor.exit().is_some(),
        Poll::Pending => told.recv().unwrap(),
    }
}

#[test]
fn who_hears_of_a_childs_end_from_its_supervisor_finds_that_it_has_ended() {
    let _watchdog = watchdog();
    let rt = pool(1);
    for strategy in [Strategy::OneForAll, Strategy::Dynamic] {
        let supervisor = run(&rt, async move {
            let late = Backoff::new(LONG, LONG);
            Supervisor::new(strategy).backoff(late).start()
        });
        let idle = || {
            Child::new(|mut mailbox: Mailbox<()>| async move {
                while mailbox.recv().await.is_ok() {}
                Err::<(), _>("no more")
            })
        };
        for waits_for_a_restart in [false, true] {
            let child = idle();
            let actor = child.actor_ref().any();
            supervisor.start_child(child).wait().unwrap().unwrap();
            if waits_for_a_restart {
                actor.kill();
                while supervisor.count_children().wait().unwrap().active > 0 {}
            }
            let terminated = supervisor.terminate_child(actor.id());
            assert!(ended_by_then(terminated, &actor), "{strategy:?}");
        }
        let broken = Child::new(|_: Mailbox<()>| async { Err::<(), _>("no disk") });
        let actor = broken.actor_ref().any();
        assert!(
            ended_by_then(supervisor.start_child(broken), &actor),
            "{strategy:?}"
        );
    }
}

#[test]
fn who_panics_as_it_is_started_ends_after_its_children() {
    on_all(|| async {
        let (give, given) = tidings::unbounded();
        let tell = give.clone();
        let started = catch_unwind(AssertUnwindSafe(move || {
            actor::spawn(move |mailbox: Mailbox<()>| -> Ready<()> {
                let parent = mailbox.this().any();
                let child = Builder::new().parent(&parent);
                let child = child.spawn(|mut mailbox: Mailbox<()>| async move {
                    while mailbox.recv().await.is_ok() {}
                });
                tell.try_send((parent, child)).unwrap();
                crash("no disk")
            })
        }));
        assert!(started.is_err());
        let (parent, child) = given.recv().await.unwrap();
        let ended = parent.down().timeout(LONG).await.unwrap();
        assert!(matches!(ended, Exit::Panicked(_)), "{ended:?}");
        assert!(matches!(child.exit(), Some(Exit::Stopped)));
    });
}

#[test]
fn what_is_in_a_mailbox_that_is_dropped_at_the_end_of_a_life_is_the_next_ones() {
    on_all(|| async {
        for elsewhere in [false, true] {
            let (go, gate) = tidings::unbounded();
            let child = Child::new(move |mut mailbox: Mailbox<Reply<u64>>| {
                let gate = gate.clone();
                async move {
                    while let Ok(reply) = mailbox.recv().await {
                        reply.send(mailbox.incarnation()).unwrap();
                        if mailbox.incarnation() == 1 {
                            let () = gate.recv().await.unwrap();
                        }
                    }
                    match elsewhere {
                        true => tidings::spawn(async move { drop(mailbox) }).await.unwrap(),
                        false => drop(mailbox),
                    }
                    tidings::yield_now().await;
                }
            });
            let actor = child.actor_ref();
            let supervisor = one_for_one().child(child).start();
            assert_eq!(actor.call(|reply| reply).await.unwrap(), 1);
            let mut queued = pinned(actor.call(|reply| reply));
            assert!(poll(queued.as_mut()).is_pending());
            let mut restarts = pinned(supervisor.restart_child(actor.id()));
            assert!(poll(restarts.as_mut()).is_pending());
            // It has asked the child to end.
            supervisor.count_children().await.unwrap();
            go.send(()).await.unwrap();
            assert!(restarts.await.unwrap());
            assert_eq!(queued.await.unwrap(), 2);
            assert_eq!(actor.dead_letters(), 0);
        }
    });
}

/// Also where it has not ended yet.
#[test]
fn who_sends_to_an_actor_that_fails_hears_why() {
    on_all(|| async {
        let (go, on) = tidings::oneshot::<()>();
        let (closed, is_closed) = tidings::oneshot();
        let builder = Builder::new().capacity(1);
        let actor = builder.spawn(move |mut mailbox: Mailbox<u32>| async move {
            mailbox.this().any().fail("no disk");
            assert!(mailbox.recv().await.is_err());
            closed.send(()).unwrap();
            on.await.unwrap();
        });
        is_closed.await.unwrap();
        let sent = actor.send(1).await.unwrap_err().to_string();
        let called = actor.try_send(2).unwrap_err().to_string();
        for heard in [sent, called] {
            assert_eq!(heard, "the actor failed: no disk");
        }
        go.send(()).unwrap();
        assert_eq!(actor.down().await.to_string(), "failed: no disk");
    });
}

/// As those of one that panics.
#[test]
fn senders_to_a_supervised_actor_that_fails_wait_for_its_next_life() {
    on_all(|| async {
        let (go, on) = tidings::unbounded::<()>();
        let builder = Builder::new().capacity(1);
        let (seen, saw) = tidings::unbounded();
        let child = builder.child(move |mut mailbox: Mailbox<u32>| {
            let (on, seen) = (on.clone(), seen.clone());
            async move {
                on.recv().await.unwrap();
                while let Ok(n) = mailbox.recv().await {
                    seen.send((mailbox.incarnation(), n)).await.unwrap();
                }
                // It has heard, and lives on for a while.
                on.recv().await.unwrap();
            }
        });
        let actor = child.actor_ref();
        let _supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
        actor.restarted(0).await.unwrap();
        actor.send(1).await.unwrap();
        let mut waits = pinned(actor.send(2));
        assert!(poll(waits.as_mut()).is_pending());
        actor.fail("no disk");
        go.send(()).await.unwrap();
        for _ in 0..20 {
            tidings::yield_now().await;
        }
        assert!(poll(waits.as_mut()).is_pending());
        for _ in 0..2 {
            go.send(()).await.unwrap();
        }
        waits.await.unwrap();
        assert_eq!(saw.recv().await, Ok((2, 1)));
        assert_eq!(saw.recv().await, Ok((2, 2)));
    });
}

/// Nobody starts them anew.
#[test]
fn the_children_of_a_first_supervisor_that_fails_drain() {
    on_all(|| async {
        let (go, on) = tidings::unbounded::<()>();
        let (seen, saw) = tidings::unbounded();
        let drains = Child::new(move |mut mailbox: Mailbox<u32>| {
            let (on, seen) = (on.clone(), seen.clone());
            async move {
                while let Ok(n) = mailbox.recv().await {
                    seen.send(n).await.unwrap();
                    on.recv().await.unwrap();
                }
            }
        });
        let crashes = Child::new(|mut mailbox: Mailbox<()>| async move {
            if mailbox.recv().await.is_ok() {
                crash("told to");
            }
        });
        let (actor, crashing) = (drains.actor_ref(), crashes.actor_ref());
        let supervisor = Supervisor::new(Strategy::OneForOne)
            .intensity(0, LONG)
            .child(drains.shutdown(Shutdown::Drain(Duration::MAX)))
            .child(crashes)
            .start();
        for n in 0..3 {
            actor.send(n).await.unwrap();
        }
        assert_eq!(saw.recv().await, Ok(0));
        crashing.send(()).await.unwrap();
        crashing.down().await;
        for _ in 0..20 {
            tidings::yield_now().await;
        }
        for n in 1..3 {
            go.send(()).await.unwrap();
            assert_eq!(saw.recv().await, Ok(n));
        }
        go.send(()).await.unwrap();
        assert!(!supervisor.down().await.is_orderly());
        assert_eq!(actor.dead_letters(), 0);
    });
}

#[test]
fn a_stash_that_another_task_holds_at_the_end_was_not_executed() {
    on_all(|| async {
        let (give, given) = tidings::unbounded();
        let actor = actor::spawn(move |mut mailbox: Mailbox<Reply<()>>| async move {
            let request = mailbox.recv().await.unwrap();
            mailbox.stash(request).ok().unwrap();
            drop(give.try_send(mailbox));
            pending::<()>().await;
        });
        let mut call = pinned(actor.call(|reply| reply));
        assert!(poll(call.as_mut()).is_pending());
        let mailbox: Mailbox<Reply<()>> = given.recv().await.unwrap();
        actor.kill();
        assert!(matches!(actor.down().await, Exit::Killed));
        drop(mailbox);
        let error = call.await.unwrap_err();
        assert!(
            matches!(error, CallError::NotExecuted(Exit::Killed)),
            "{error:?}"
        );
        assert_eq!(actor.dead_letters(), 1);
    });
}
