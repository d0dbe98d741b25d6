//! Broadcasts to actors of which one takes nothing; what is the same in every run of a simulation.

use std::future::pending;
use std::sync::Mutex;

use tidings::actor::{self, ActorRef, Builder, Group, Mailbox, Pool, Registry, Routing};
use tidings::{Receiver, unbounded, yield_now};

use crate::both::on_all;
use crate::hands::{pinned, poll};

/// The first takes nothing; the others tell what they take. All are full.
async fn full() -> (Vec<ActorRef<u32>>, Receiver<u32>) {
    let (told, heard) = unbounded();
    let mut actors = vec![small().spawn(|mailbox: Mailbox<u32>| async move {
        pending::<()>().await;
        drop(mailbox);
    })];
    for _ in 0..3 {
        let told = told.clone();
        actors.push(small().spawn(move |mut mailbox: Mailbox<u32>| async move {
            while let Ok(n) = mailbox.recv().await {
                told.send(n).await.unwrap();
            }
        }));
    }
    for actor in &actors {
        actor.send(0).await.unwrap();
    }
    (actors, heard)
}

fn small() -> Builder {
    Builder::new().capacity(1)
}

/// Is there a message of each of three for each number up to `last`?
async fn assert_heard(heard: Receiver<u32>, last: u32) {
    let mut all = Vec::new();
    while all.len() < 3 * (last as usize + 1) {
        all.push(heard.recv().await.unwrap());
    }
    all.sort_unstable();
    let expected: Vec<u32> = (0..=last).flat_map(|n| [n; 3]).collect();
    assert_eq!(all, expected);
}

#[test]
fn a_member_that_takes_nothing_keeps_no_broadcast_from_the_others() {
    on_all(|| async {
        let (actors, heard) = full().await;
        let group = Group::new();
        assert!(actors.iter().all(|actor| group.join(actor)));
        let mut first = pinned(group.broadcast(1));
        while heard.len() < 6 {
            assert!(poll(first.as_mut()).is_pending());
            yield_now().await;
        }
        assert_heard(heard, 1).await;
        actors[0].kill();
        assert_eq!(first.await, 3);
    });
}

#[test]
fn a_worker_that_takes_nothing_keeps_no_broadcast_from_the_others() {
    on_all(|| async {
        let (actors, heard) = full().await;
        let given = Mutex::new(actors.into_iter());
        let pool = Pool::start(Routing::RoundRobin, 4, move || {
            given.lock().unwrap().next().unwrap()
        });
        let mut first = pinned(pool.broadcast(1));
        while heard.len() < 6 {
            assert!(poll(first.as_mut()).is_pending());
            yield_now().await;
        }
        drop(first);
        assert_heard(heard, 1).await;
    });
}

/// A run of a simulation is made again with other actors, whose ids are higher.
#[test]
fn which_worker_a_key_has_and_in_which_order_names_are_is_the_same_with_other_actors() {
    on_all(|| async {
        let idle = || {
            actor::spawn(|mut mailbox: Mailbox<u32>| async move {
                while mailbox.recv().await.is_ok() {}
            })
        };
        let run = || {
            let (pool, names) = (Pool::start(Routing::RoundRobin, 4, idle), Registry::new());
            let workers = pool.workers();
            let place = |key: u32| {
                let picked = pool.pick_for(&key).unwrap();
                workers.iter().position(|worker| *worker == picked)
            };
            let places: Vec<_> = (0..40).map(place).collect();
            for key in 0..40 {
                names.register(format!("{key}"), &workers[0]).unwrap();
            }
            (places, names.names())
        };
        assert_eq!(run(), run());
    });
}
