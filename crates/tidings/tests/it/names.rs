//! Finding actors without having been given a reference: names, groups, pools.

use std::collections::{HashMap, HashSet};
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;

use crate::both::{on_all, on_pools};
use crate::hands::{Bomb, pinned, poll, poll_with};
use crate::inspect;
use tidings::actor::{
    self, ActorRef, Builder, CallError, Child, Exit, Group, Mailbox, Overflow, Pool, Recipient,
    RegisterError, Registry, Reply, Routing, Strategy, Supervisor, SupervisorRef,
};
use tidings::{Activity, ActorView, Event, always, oneshot, unbounded};

/// Takes messages until it is to end.
fn sink() -> ActorRef<u32> {
    actor::spawn(|mut mailbox: Mailbox<u32>| async move { while mailbox.recv().await.is_ok() {} })
}

// Erlang/OTP, kernel's documentation of `register/2`, `whereis/1`, `unregister/1`: a name has one
// process, a process may be registered when it lives, and its name goes when it ends.
#[test]
fn a_name_is_claimed_by_one_and_ends_with_its_actor() {
    on_all(|| async {
        let names = Registry::new();
        let (first, second) = (sink(), sink());
        names.register("a", &first).unwrap();
        names.register("b", &first).unwrap();
        assert_eq!(
            names.register("a", &second),
            Err(RegisterError::Taken {
                name: "a".into(),
                by: first.id()
            })
        );
        assert_eq!(names.whereis::<ActorRef<u32>>("a"), Some(first.clone()));
        assert!(names.unregister("b") && !names.unregister("b"));
        first.stop();
        first.down().await;
        // Whoever hears of the end finds the name free.
        assert!(names.whereis::<ActorRef<u32>>("a").is_none());
        names.register("a", &second).unwrap();
        let late = names.register("c", &first).unwrap_err();
        assert_eq!(late, RegisterError::Ended { name: "c".into() });
        let said = "the name \"c\" cannot be given: the actor has ended";
        assert_eq!(late.to_string(), said);
        assert_eq!(names.names(), ["a".into()]);
    });
}

#[test]
fn a_name_that_was_given_back_is_not_taken_from_the_next_who_has_it() {
    on_all(|| async {
        let names = Registry::new();
        let (open, gate) = oneshot::<()>();
        let first = actor::spawn(|_mailbox: Mailbox<u32>| async move { gate.await.unwrap() });
        names.register("a", &first).unwrap();
        let end = first.any();
        // It lives on; but nobody reaches it any more, to tell it that it has no name.
        drop(first);
        assert!(names.unregister("a"));
        let second = sink();
        names.register("a", &second).unwrap();
        open.send(()).unwrap();
        end.down().await;
        assert_eq!(names.whereis::<ActorRef<u32>>("a"), Some(second));
    });
}

#[test]
fn a_name_and_a_membership_survive_restarts_and_end_with_the_last_life() {
    on_all(|| async {
        let (registry, group) = (Registry::new(), Group::new());
        let child =
            Child::new(
                |mut mailbox: Mailbox<u32>| async move { while mailbox.recv().await.is_ok() {} },
            );
        let actor = child.actor_ref();
        registry.register("it", &actor).unwrap();
        group.join(&actor);
        let supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
        actor.send(1).await.unwrap();
        supervisor.started().await.unwrap().unwrap();
        actor.kill();
        assert_eq!(actor.restarted(1).await.unwrap(), 2);
        let found = registry.whereis::<ActorRef<u32>>("it").unwrap();
        assert_eq!((found.id(), group.members().len()), (actor.id(), 1));
        supervisor.stop();
        actor.down().await;
        assert!(registry.whereis::<ActorRef<u32>>("it").is_none());
        assert_eq!(group.members().len(), 0);
    });
}

#[test]
fn an_actor_that_names_itself_in_each_of_its_lives_has_its_name() {
    on_all(|| async {
        let names = Registry::new();
        let registry = names.clone();
        let child = Child::new(move |mut mailbox: Mailbox<Reply<u64>>| {
            let names = registry.clone();
            async move {
                names.register("it", &mailbox.this().upgrade().unwrap())?;
                while let Ok(reply) = mailbox.recv().await {
                    reply.send(mailbox.incarnation()).unwrap();
                }
                Ok::<_, RegisterError>(())
            }
        });
        let actor = child.actor_ref();
        let _supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
        assert_eq!(actor.call(|reply| reply).await.unwrap(), 1);
        actor.kill();
        actor.restarted(1).await.unwrap();
        let named: ActorRef<Reply<u64>> = names.whereis("it").unwrap();
        assert_eq!(named.call(|reply| reply).await.unwrap(), 2);
        // By another type of reference it would be found by that one no more.
        let taken = names.register("it", &actor.narrow::<Reply<u64>>());
        let (name, by) = ("it".into(), actor.id());
        assert_eq!(taken, Err(RegisterError::Taken { name, by }));
    });
}

#[test]
fn a_name_keeps_no_actor_alive() {
    on_all(|| async {
        let names = Registry::new();
        let actor = sink();
        let watched = actor.downgrade();
        names.register("a", &actor).unwrap();
        let keeps = actor.clone();
        drop(actor);
        assert!(names.whereis::<ActorRef<u32>>("a").is_some());
        drop(keeps);
        assert!(watched.upgrade().is_none());
        assert!(names.whereis::<ActorRef<u32>>("a").is_none());
        // Its end makes the name free; who registers too early hears that it is taken.
        let next = sink();
        while names.register("a", &next).is_err() {
            tidings::yield_now().await;
        }
    });
}

#[test]
fn a_name_is_found_by_the_type_it_was_registered_with() {
    on_all(|| async {
        let names = Registry::new();
        let actor = sink();
        names.register("a", &actor.narrow::<u32>()).unwrap();
        assert!(names.whereis::<ActorRef<u32>>("a").is_none());
        assert!(names.whereis::<ActorRef<u64>>("a").is_none());
        let found: Recipient<u32> = names.via("a").get().unwrap();
        assert_eq!(found.id(), actor.id());
    });
}

#[tidings::interface]
trait Square {
    async fn square(&self, n: u64) -> u64;
}

struct Squares;

impl Square for Squares {
    async fn square(&self, n: u64) -> u64 {
        n * n
    }
}

#[test]
fn typed_references_have_names_groups_and_pools() {
    on_all(|| async {
        let names = Registry::new();
        let squares: SquareRef = actor::start(Squares);
        names.register("squares", &squares).unwrap();
        let via = names.via::<SquareRef>("squares");
        assert_eq!(via.get().unwrap().square(3).await.unwrap(), 9);
        let group = Group::new();
        assert!(group.join(&squares) && !group.join(&squares));
        for member in group.members() {
            assert_eq!(member.square(4).await.unwrap(), 16);
        }
        let pool: Pool<SquareRef> = Pool::start(Routing::LeastLoaded, 3, || actor::start(Squares));
        assert_eq!(pool.pick().unwrap().square(5).await.unwrap(), 25);
        squares.kill();
        squares.down().await;
        assert!(via.get().is_err() && group.members().is_empty());
    });
}

#[test]
fn waiting_for_a_name_is_an_event_that_leaves_nothing() {
    on_all(|| async {
        let names = Registry::new();
        // Loses a choice, and is dropped after its first poll.
        let lost = names.appears::<ActorRef<u32>>("a").map(|_| 1);
        assert_eq!(lost.or(always(2)).biased().await, 2);
        let mut dropped = pinned(names.appears::<ActorRef<u32>>("a"));
        assert!(poll(dropped.as_mut()).is_pending());
        drop(dropped);
        let mut of_another_type = pinned(names.appears::<ActorRef<u64>>("a"));
        assert!(poll(of_another_type.as_mut()).is_pending());
        let waits: Vec<_> = (0..3)
            .map(|_| {
                let appears = names.appears::<ActorRef<u32>>("a");
                tidings::spawn(async move { appears.await.id() })
            })
            .collect();
        tidings::yield_now().await;
        let actor = sink();
        names.register("a", &actor).unwrap();
        for wait in waits {
            assert_eq!(wait.await.unwrap(), actor.id());
        }
        assert_eq!(names.appears::<ActorRef<u32>>("a").await, actor);
        assert!(poll(of_another_type.as_mut()).is_pending());
    });
}

#[test]
fn who_waits_for_a_name_hears_though_the_waker_of_another_panics() {
    on_all(|| async {
        let (names, actor) = (Registry::new(), sink());
        let mut bombed = pinned(names.appears::<ActorRef<u32>>("a"));
        let bomb = Waker::from(Arc::new(Bomb));
        assert!(poll_with(bombed.as_mut(), &bomb).is_pending());
        let mut waits = pinned(names.appears::<ActorRef<u32>>("a"));
        assert!(poll(waits.as_mut()).is_pending());
        catch_unwind(AssertUnwindSafe(|| names.register("a", &actor))).unwrap_err();
        assert_eq!(waits.await, actor);
    });
}

#[test]
fn names_registered_amid_ends_are_never_left_behind() {
    on_pools(|| async {
        let names = Registry::new();
        for _ in 0..200 {
            let tasks: Vec<_> = (0..4)
                .map(|_| {
                    let names = names.clone();
                    tidings::spawn(async move {
                        let actor = sink();
                        let killer = actor.clone();
                        let kills = tidings::spawn(async move { killer.kill() });
                        let claimed = names.register("a", &actor);
                        kills.await.unwrap();
                        actor.down().await;
                        let found = names.whereis::<ActorRef<u32>>("a");
                        assert!(found.is_none_or(|other| other != actor), "{claimed:?}");
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
            assert!(names.names().is_empty());
        }
    });
}

// Erlang/OTP, kernel's documentation of `pg`: members leave when they end; a broadcast is a send to
// each member; a monitor hears of joins and leaves.
#[test]
fn a_group_reaches_its_members_and_forgets_those_that_end() {
    on_all(|| async {
        let group = Group::new();
        let mut changes = group.changes();
        let (told, heard) = unbounded();
        let members: Vec<_> = (0..3)
            .map(|index| {
                let told = told.clone();
                let member = Builder::new()
                    .capacity(1)
                    .spawn(move |mut mailbox| async move {
                        while let Ok(n) = mailbox.recv().await {
                            let n: u32 = n;
                            told.send((index, n)).await.unwrap();
                        }
                    });
                assert!(group.join(&member));
                member
            })
            .collect();
        assert_eq!(changes.changed().await, members);
        for n in 0..20 {
            assert_eq!(group.broadcast(n).await, 3);
        }
        let mut counts = HashMap::new();
        for _ in 0..60 {
            let (index, n) = heard.recv().await.unwrap();
            let expected: &mut u32 = counts.entry(index).or_default();
            assert_eq!(n, *expected, "in order, to each");
            *expected += 1;
        }
        members[1].kill();
        members[1].down().await;
        assert_eq!(
            changes.changed().await,
            [members[0].clone(), members[2].clone()]
        );
        assert!(group.leave(&members[0]) && !group.leave(&members[0]));
        assert_eq!(group.broadcast(20).await, 1);
        assert!(!group.join(&members[1]), "it has ended");
        assert_eq!(group.members(), members[2..]);
    });
}

#[test]
fn clones_are_the_same_and_a_supervisor_has_names_too() {
    on_all(|| async {
        let (names, group) = (Registry::new(), Group::new());
        let supervisor = Supervisor::new(Strategy::Dynamic).start();
        names.clone().register("top", &supervisor).unwrap();
        let via = names.via::<SupervisorRef>("top");
        assert_eq!(via.name(), "top");
        assert_eq!(via.clone().get().unwrap(), supervisor);
        assert!(group.clone().join(&supervisor));
        assert_eq!(group.members(), [supervisor]);
    });
}

#[test]
fn the_registry_of_the_process_is_one() {
    on_all(|| async {
        let actor = sink();
        let name = "the registry of the process is one";
        Registry::global().register(name, &actor).unwrap();
        let found = Registry::global().whereis::<ActorRef<u32>>(name);
        assert_eq!(found, Some(actor));
        assert!(Registry::global().unregister(name));
    });
}

type Job = (u64, Reply<usize>);

/// A pool whose workers answer with their number.
fn numbered(routing: Routing, n: usize) -> Pool<ActorRef<Job>> {
    let count = AtomicUsize::new(0);
    Pool::start(routing, n, move || {
        let number = count.fetch_add(1, Ordering::SeqCst);
        actor::spawn(move |mut mailbox: Mailbox<Job>| async move {
            while let Ok((_, reply)) = mailbox.recv().await {
                let _ = reply.send(number);
            }
        })
    })
}

async fn ask(worker: ActorRef<Job>) -> usize {
    worker.call(|reply| (0, reply)).await.unwrap()
}

#[test]
fn a_pool_takes_turns_or_draws() {
    on_all(|| async {
        for n in 1..4 {
            let pool = numbered(Routing::RoundRobin, n);
            for expected in (0..n).chain(0..n) {
                assert_eq!(ask(pool.pick().unwrap()).await, expected);
            }
        }
        let pool = numbered(Routing::Random, 3);
        let mut seen = HashSet::new();
        for _ in 0..200 {
            seen.insert(ask(pool.pick().unwrap()).await);
        }
        assert_eq!(seen.len(), 3, "0.67 to the power of 200 misses one");
        for routing in [Routing::RoundRobin, Routing::Random, Routing::LeastLoaded] {
            let none = numbered(routing, 0);
            assert!(none.is_empty() && none.pick().is_none() && none.pick_for("a").is_none());
        }
    });
}

#[test]
fn the_least_loaded_worker_is_picked() {
    on_all(|| async {
        let pool = Pool::start(Routing::LeastLoaded, 3, || {
            Builder::new().spawn(|mailbox: Mailbox<u32>| async move {
                pending::<()>().await;
                drop(mailbox);
            })
        });
        for _ in 0..9 {
            pool.pick().unwrap().send(0).await.unwrap();
        }
        assert!(pool.workers().iter().all(|worker| worker.queued() == 3));
    });
}

#[test]
fn a_worker_that_waits_is_picked_before_one_that_is_busy() {
    on_all(|| async {
        let (begin, begun) = unbounded();
        let (_open, gate) = unbounded::<()>();
        let pool = Pool::start(Routing::LeastLoaded, 4, move || {
            let (begin, gate) = (begin.clone(), gate.clone());
            let builder = Builder::new().name(inspect::unique());
            builder.spawn(|mut mailbox: Mailbox<u64>| async move {
                let id = mailbox.this().any().id();
                while mailbox.recv().await.is_ok() {
                    begin.try_send(id).unwrap();
                    gate.recv().await.unwrap();
                }
            })
        });
        for worker in pool.workers() {
            let idle = |view: &ActorView| view.activity == Activity::Idle;
            inspect::look(&worker.name().unwrap(), idle).await;
        }
        let mut busy = std::collections::BTreeSet::new();
        for n in 0..4 {
            pool.pick().unwrap().send(n).await.unwrap();
            // It has its message in hand, and its mailbox is empty.
            busy.insert(begun.recv().await.unwrap());
        }
        assert_eq!(busy.len(), 4);
    });
}

#[test]
fn a_key_stays_with_its_worker_when_others_come_and_go() {
    on_all(|| async {
        let pool = numbered(Routing::RoundRobin, 4);
        let before: Vec<_> = (0..400).map(|key| pool.pick_for(&key).unwrap()).collect();
        pool.resize(5);
        let newest = pool.workers()[4].clone();
        let mut moved = 0;
        for (key, old) in before.iter().enumerate() {
            let now = pool.pick_for(&(i32::try_from(key).unwrap())).unwrap();
            if now != *old {
                assert_eq!(now, newest, "a key moves to the new worker only");
                moved += 1;
            }
        }
        assert!((1..200).contains(&moved), "{moved} of 400, about 80");
        pool.resize(4);
        newest.stop();
        for (key, old) in before.iter().enumerate() {
            assert_eq!(
                pool.pick_for(&(i32::try_from(key).unwrap())).as_ref(),
                Some(old)
            );
        }
    });
}

#[test]
fn a_pool_of_what_ends_or_is_the_same_has_no_more_than_it_can() {
    on_all(|| async {
        let (one, ended) = (sink(), sink());
        ended.stop();
        ended.down().await;
        for (worker, size) in [(one, 1), (ended, 0)] {
            let pool = Pool::start(Routing::default(), 3, move || worker.clone());
            assert_eq!(pool.len(), size);
        }
    });
}

#[test]
fn of_two_resizes_at_once_the_last_counts() {
    on_all(|| async {
        let again = Arc::new(Mutex::new(None::<Pool<ActorRef<u32>>>));
        let known = Arc::clone(&again);
        let pool = Pool::start(Routing::default(), 1, move || {
            let pool = known.lock().unwrap().take();
            // While it grows.
            let _ = pool.map(|pool| pool.resize(2));
            sink()
        });
        *again.lock().unwrap() = Some(pool.clone());
        pool.resize(5);
        assert_eq!(pool.len(), 2);
    });
}

#[test]
fn nothing_is_lost_when_a_pool_is_resized_at_work() {
    on_all(|| async {
        let handled = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&handled);
        let pool = Pool::start(Routing::RoundRobin, 4, move || {
            let count = Arc::clone(&count);
            Builder::new()
                .capacity(2)
                .spawn(move |mut mailbox: Mailbox<u32>| async move {
                    while mailbox.recv().await.is_ok() {
                        count.fetch_add(1, Ordering::SeqCst);
                    }
                })
        });
        let senders: Vec<_> = (0..4)
            .map(|_| {
                let pool = pool.clone();
                tidings::spawn(async move {
                    for n in 0..250 {
                        let worker = pool.pick().unwrap();
                        worker.send(n).await.unwrap();
                    }
                })
            })
            .collect();
        let resizes = pool.clone();
        let resizer = tidings::spawn(async move {
            for n in [1, 6, 2, 8, 1, 4] {
                resizes.resize(n);
                assert_eq!(resizes.len(), n);
                tidings::yield_now().await;
            }
        });
        for task in senders {
            task.await.unwrap();
        }
        resizer.await.unwrap();
        let workers = pool.workers();
        drop(pool);
        for worker in workers {
            worker.stop();
            assert!(matches!(worker.down().await, Exit::Stopped));
        }
        // Those taken out before end by themselves, when they have handled what is left.
        while handled.load(Ordering::SeqCst) < 1000 {
            tidings::yield_now().await;
        }
    });
}

#[test]
fn a_worker_that_ends_leaves_its_pool() {
    on_all(|| async {
        let pool = numbered(Routing::RoundRobin, 3);
        let ended = pool.workers()[1].clone();
        ended.kill();
        ended.down().await;
        assert!(pool.len() == 2 && !pool.is_empty());
        for _ in 0..4 {
            assert_ne!(ask(pool.pick().unwrap()).await, 1);
        }
        pool.resize(3);
        assert_eq!(ask(pool.workers()[2].clone()).await, 3);
        let refused = ended.call(|reply| (0, reply)).await;
        assert!(matches!(refused, Err(CallError::NotExecuted(Exit::Killed))));
    });
}

#[test]
fn a_broadcast_reaches_every_worker_also_those_that_are_full() {
    on_all(|| async {
        let (told, heard) = unbounded();
        let pool = Pool::start(Routing::RoundRobin, 3, move || {
            let told = told.clone();
            Builder::new()
                .capacity(1)
                .spawn(move |mut mailbox: Mailbox<u32>| async move {
                    while let Ok(n) = mailbox.recv().await {
                        told.send(n).await.unwrap();
                    }
                })
        });
        for n in 0..10 {
            assert_eq!(pool.broadcast(n).await, 3);
        }
        let mut sum = 0;
        for _ in 0..30 {
            sum += heard.recv().await.unwrap();
        }
        assert_eq!(sum, 3 * 45);
    });
}

#[test]
fn a_broadcast_counts_who_got_a_copy_and_a_full_mailbox_counts_it_once() {
    on_all(|| async {
        for overflow in [Overflow::Reject, Overflow::DropNewest, Overflow::DropOldest] {
            let full = Builder::new().capacity(1).overflow(overflow);
            let full = full.spawn(|mailbox: Mailbox<u32>| async move {
                pending::<()>().await;
                drop(mailbox);
            });
            full.send(1).await.unwrap();
            let group = Group::new();
            assert!(group.join(&full));
            let came = usize::from(overflow == Overflow::DropOldest);
            assert_eq!(group.broadcast(2).await, came, "{overflow:?}");
            assert_eq!(full.overflowed(), 1, "{overflow:?}");
            full.kill();
            full.down().await;
        }
    });
}
