//! What a node makes of an engine that has lost its keys, or tells it late, in a simulation.

use std::time::Duration;

use tidings::actor;
use tidings::time::sleep;
use tidings_nats::memory::{Faults, Server};
use tidings_nats::{Engine, Expect};

use crate::cluster::{LEASE, names, next, node, server};
use crate::counter::{CounterRef, Tally};

/// From here on all that is asked of it takes so long.
pub(crate) fn takes(server: &Server, millis: u64) {
    let delay = Duration::from_millis(millis);
    server.set_faults(Faults {
        delay: delay..=delay,
        ..Faults::default()
    });
}

#[tidings::test(sim, seeds = 20)]
async fn who_leaves_and_who_comes_back_is_seen_after_the_engine_has_lost_its_keys() {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let (_, two) = node(&server, "two").await;
    let changes = one.changes();
    for name in ["one", "two"] {
        assert_eq!(next(&changes).await, format!("{name} up"));
    }
    sleep(10 * LEASE).await;
    server.forget();
    sleep(2 * LEASE).await;
    two.leave(LEASE).await;
    assert_eq!(next(&changes).await, "two down: Left");
    let (_, again) = node(&server, "two").await;
    assert_eq!(next(&changes).await, "two up");
    assert_eq!(one.members()[1].incarnation(), again.me().1);
}

#[tidings::test(sim, seeds = 20)]
async fn a_name_is_found_before_its_node_is_told_of() {
    let server = Server::new();
    let takes = |millis| takes(&server, millis);
    let (_, one) = node(&server, "one").await;
    let line = server.connect();
    takes(10);
    let late = async move { line.write("late", "x".into(), Expect::Absent, None).await };
    let late = tidings::spawn(late);
    sleep(Duration::from_millis(5)).await;
    // Its write is told after three seconds, and what is written later not before.
    takes(3000);
    sleep(Duration::from_millis(10)).await;
    takes(1);
    let (_, two) = node(&server, "two").await;
    let counter: CounterRef = actor::start(Tally::default());
    let _name = two.register("counter", &counter).await.unwrap();
    assert_eq!(names(&one), ["one"]);
    let there: CounterRef = one.lookup("counter").await.unwrap();
    there.add(2).await.unwrap();
    late.await.unwrap().unwrap();
    // Its end is heard of as any.
    sleep(LEASE).await;
    let changes = one.changes();
    for name in ["one", "two"] {
        assert_eq!(next(&changes).await, format!("{name} up"));
    }
    assert_eq!(there.get().await.unwrap(), 2);
    two.leave(LEASE).await;
    assert_eq!(next(&changes).await, "two down: Left");
    assert!(there.get().await.is_err());
}
