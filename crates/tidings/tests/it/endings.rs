//! Ends that something stands in the way of: children that do not heed a stop, a stop that was answered by
//! a kill, and users' values that ask or panic as they are dropped.

use std::fmt;
use std::future::pending;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use tidings::Event;
use tidings::actor::{
    self, AnyRef, Builder, Child, Exit, Mailbox, Reply, Restart, Shared, Shutdown, Strategy,
    Supervisor, SupervisorRef,
};

use crate::both::{on_all, on_pools};
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
