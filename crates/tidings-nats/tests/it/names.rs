//! Names, and the actors that have them, in a simulation.

use std::time::Duration;

use futures_util::future::join;
use tidings::Event;
use tidings::actor::{self, Child, Strategy, Supervisor};
use tidings::time::{Instant, sleep};
use tidings_nats::memory::Faults;
use tidings_nats::{Cluster, LookupError, Name, NameError};
use tidings_sim::Sim;

use crate::cluster::{LEASE, node, server};
use crate::counter::{CounterRef, Tally};

fn counter() -> CounterRef {
    actor::start(Tally::default())
}

/// Two nodes that know of each other.
async fn two() -> (Cluster, Cluster) {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let (_, other) = node(&server, "other").await;
    while one.members().len() < 2 {
        sleep(Duration::from_millis(1)).await;
    }
    (one, other)
}

/// As in a run that is made short: its numbers are the first that there are.
#[test]
fn nothing_is_lost_and_nodes_find_each_other_where_all_decisions_are_the_first_alternative() {
    let first = tidings_sim::Strategy::Exhaustive { delays: 0 };
    Sim::new(0).strategy(first).run(|| async {
        let server = server();
        server.set_faults(Faults {
            lose: 100,
            double: 100,
            ..Faults::default()
        });
        let (_, one) = node(&server, "one").await;
        let (_, other) = node(&server, "other").await;
        let _here = one.register("here", &counter()).await.unwrap();
        let _there = other.register("there", &counter()).await.unwrap();
        let at_once = join(
            one.lookup::<CounterRef>("there"),
            other.lookup::<CounterRef>("here"),
        );
        let (there, here) = at_once.await;
        for found in [there.unwrap(), here.unwrap()] {
            assert_eq!(found.inc().await.unwrap(), 1);
        }
    });
}

#[tidings::test(sim, seeds = 2)]
async fn what_is_no_name_is_nobodys_and_no_engine_is_asked_for_it() {
    let (engine, one) = node(&server(), "one").await;
    engine.cut();
    for name in ["", ".", "*", ">", "a b", "a..b", "\r\n"] {
        let found = one.lookup::<CounterRef>(name).await.unwrap_err();
        assert!(matches!(found, LookupError::NoSuchName { .. }), "{found}");
    }
}

#[tidings::test(sim, seeds = 20)]
async fn a_name_that_is_given_to_another_actor_at_once_leads_to_that_one() {
    let (one, other) = two().await;
    let (before, after) = (counter(), counter());
    let name = one.register("counter", &before).await.unwrap();
    let found: CounterRef = other.lookup("counter").await.unwrap();
    assert_eq!(found.inc().await.unwrap(), 1);
    // Both actors live on: only the name says which is meant.
    drop(name);
    let _name = one.register("counter", &after).await.unwrap();
    sleep(LEASE).await;
    let found: CounterRef = other.lookup("counter").await.unwrap();
    for n in 1..=2 {
        assert_eq!(found.inc().await.unwrap(), n);
    }
    assert_eq!(before.get().await.unwrap(), 1);
    assert_eq!(after.get().await.unwrap(), 2);
}

#[tidings::test(sim, seeds = 20)]
async fn names_and_places_end_with_their_actor_and_others_may_have_them() {
    let (one, other) = two().await;
    let counter = counter();
    let name = one.register("counter", &counter).await.unwrap();
    let place = one.join_group("counters", &counter).await.unwrap();
    while other.watch_group("counters").get().is_empty() {
        sleep(Duration::from_millis(1)).await;
    }
    counter.kill();
    for name in [&name, &place] {
        assert_eq!(name.lost().timeout(LEASE).await, Ok(()));
    }
    assert!(!name.is_held() && !place.is_held());
    sleep(Duration::from_millis(100)).await;
    for node in [&one, &other] {
        assert!(node.watch_group("counters").get().is_empty());
        let gone = node.lookup::<CounterRef>("counter").await;
        assert!(
            matches!(gone, Err(LookupError::NoSuchName { .. })),
            "{gone:?}"
        );
    }
    let next: CounterRef = actor::start(Tally::default());
    let theirs = other.register("counter", &next).await.unwrap();
    // Who gives back what it has lost takes it from nobody.
    drop((name, place));
    sleep(LEASE).await;
    assert!(theirs.is_held());
    assert_eq!(
        one.lookup::<CounterRef>("counter")
            .await
            .unwrap()
            .inc()
            .await
            .unwrap(),
        1
    );
}

#[tidings::test(sim, seeds = 5)]
async fn a_name_outlasts_a_restart_of_its_actor() {
    let (one, other) = two().await;
    let child = Child::interface(Tally::default);
    let counter: CounterRef = child.reference();
    let _supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
    let name = one.register("counter", &counter).await.unwrap();
    assert_eq!(counter.inc().await.unwrap(), 1);
    counter.kill();
    assert_eq!(counter.restarted(1).await.unwrap(), 2);
    sleep(LEASE).await;
    assert!(name.is_held());
    let found: CounterRef = other.lookup("counter").await.unwrap();
    assert_eq!(found.inc().await.unwrap(), 1);
}

#[tidings::test(sim, seeds = 2)]
async fn many_names_that_an_engine_has_lost_are_there_again_within_two_leases() {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let (_, other) = node(&server, "other").await;
    let counter = counter();
    let mut places: Vec<Name> = Vec::new();
    for _ in 0..100 {
        places.push(one.join_group("many", &counter).await.unwrap());
    }
    let many = other.watch_group("many");
    while many.get().len() < places.len() {
        sleep(Duration::from_millis(10)).await;
    }
    // One after the other they would take 16 s.
    let far = Duration::from_millis(80);
    server.set_faults(Faults {
        delay: far..=far,
        ..Faults::default()
    });
    server.forget();
    let since = Instant::now();
    while many.get().len() == places.len() {
        sleep(Duration::from_millis(10)).await;
    }
    while many.get().len() < places.len() {
        sleep(Duration::from_millis(10)).await;
    }
    assert!(since.elapsed() < 2 * LEASE, "{:?}", since.elapsed());
}

#[tidings::test(sim, seeds = 1)]
async fn names_for_which_a_subject_has_no_room_are_none() {
    let (one, _) = two().await;
    let counter = counter();
    let _longest = one.register(&"n".repeat(1024), &counter).await.unwrap();
    let longer = one.register(&"n".repeat(1025), &counter).await.unwrap_err();
    assert!(matches!(longer, NameError::Malformed { .. }));
    one.queue::<u32>(&"q".repeat(120)).await.unwrap();
    let longer = one.queue::<u32>(&"q".repeat(121)).await.unwrap_err();
    assert!(
        longer.to_string().contains("is no name of a queue"),
        "{longer}"
    );
}
