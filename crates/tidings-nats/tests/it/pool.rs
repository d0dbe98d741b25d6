//! Pools of actors on several nodes, in a simulation.

use std::time::Duration;

use tidings::actor::{self, CallError, Routing};
use tidings::time::sleep;
use tidings_nats::{Cluster, Name, Options, Pool, PoolError};

use crate::cluster::server;
use crate::counter::{CounterRef, Tally};

#[tidings::interface(remote)]
trait Fragile {
    async fn fall(&mut self) -> u64;
}

struct Glass(u64);

impl Fragile for Glass {
    async fn fall(&mut self) -> u64 {
        assert!(self.0 != 0, "it breaks");
        self.0
    }
}

async fn nodes(names: &[&str]) -> Vec<Cluster> {
    let server = server();
    let mut nodes = Vec::new();
    for name in names {
        let options = Options::new("test", *name);
        nodes.push(Cluster::join_on(server.connect(), options).await.unwrap());
    }
    nodes
}

/// A counter on each of the nodes but the first, in a pool of the first.
async fn counters(
    nodes: &[Cluster],
    routing: Routing,
) -> (Pool<CounterRef>, Vec<CounterRef>, Vec<Name>) {
    let (mut counters, mut names) = (Vec::new(), Vec::new());
    for node in &nodes[1..] {
        let counter: CounterRef = actor::start(Tally::default());
        names.push(node.join_group("counters", &counter).await.unwrap());
        counters.push(counter);
    }
    while nodes[0].group::<CounterRef>("counters").await.len() < counters.len() {
        sleep(Duration::from_millis(1)).await;
    }
    (nodes[0].pool("counters", routing), counters, names)
}

async fn counts(counters: &[CounterRef]) -> Vec<i64> {
    let mut counts = Vec::new();
    for counter in counters {
        counts.push(counter.get().await.unwrap());
    }
    counts
}

#[tidings::test(sim, seeds = 20)]
async fn the_members_have_their_turns() {
    let nodes = nodes(&["one", "two", "three", "four"]).await;
    let (pool, counters, _names) = counters(&nodes, Routing::RoundRobin).await;
    for _ in 0..6 {
        pool.call(|counter| async move { counter.inc().await })
            .await
            .unwrap();
    }
    assert_eq!(counts(&counters).await, [2, 2, 2]);
}

#[tidings::test(sim, seeds = 10)]
async fn two_pools_that_are_used_in_turn_have_turns_of_their_own() {
    let nodes = nodes(&["one", "two", "three"]).await;
    let (first, ours, _names) = counters(&nodes, Routing::RoundRobin).await;
    let (mut theirs, mut names) = (Vec::new(), Vec::new());
    for node in &nodes[1..] {
        let counter: CounterRef = actor::start(Tally::default());
        names.push(node.join_group("others", &counter).await.unwrap());
        theirs.push(counter);
    }
    while nodes[0].group::<CounterRef>("others").await.len() < 2 {
        sleep(Duration::from_millis(1)).await;
    }
    let second: Pool<CounterRef> = nodes[0].pool("others", Routing::RoundRobin);
    // Clones have their turns together.
    let same = first.clone();
    for n in 0..6 {
        let first = if n % 2 == 0 { &first } else { &same };
        for pool in [first, &second] {
            let called = pool.call(|counter| async move { counter.inc().await });
            called.await.unwrap();
        }
    }
    assert_eq!(counts(&ours).await, [3, 3]);
    assert_eq!(counts(&theirs).await, [3, 3]);
}

#[tidings::test(sim, seeds = 20)]
async fn who_has_the_least_under_way_is_picked() {
    let nodes = nodes(&["one", "two", "three"]).await;
    let (pool, counters, _names) = counters(&nodes, Routing::LeastLoaded).await;
    let busy = pool.pick().await.unwrap();
    // It counts for all clones of the pool.
    let same = pool.clone();
    for _ in 0..10 {
        let idle = same.pick().await.unwrap();
        idle.inc().await.unwrap();
    }
    drop(busy);
    let mut shares = counts(&counters).await;
    shares.sort_unstable();
    assert_eq!(shares, [0, 10]);
    for _ in 0..10 {
        same.pick().await.unwrap().inc().await.unwrap();
    }
    assert!(counts(&counters).await.into_iter().all(|n| n > 0));
}

#[tidings::test(sim, seeds = 20)]
async fn a_call_that_was_not_executed_goes_to_another_and_one_that_may_have_been_does_not() {
    let nodes = nodes(&["one", "two", "three"]).await;
    let (pool, counters, _names) = counters(&nodes, Routing::RoundRobin).await;
    counters[0].any().kill();
    counters[0].any().down().await;
    for n in 1..=4 {
        let called = pool
            .call(|counter| async move { counter.inc().await })
            .await;
        assert_eq!(called.unwrap(), n);
    }
    let (glass, stone): (FragileRef, FragileRef) = (actor::start(Glass(0)), actor::start(Glass(7)));
    let _glass = nodes[1].join_group("things", &glass).await.unwrap();
    let _stone = nodes[2].join_group("things", &stone).await.unwrap();
    while nodes[0].group::<FragileRef>("things").await.len() < 2 {
        sleep(Duration::from_millis(1)).await;
    }
    let things: Pool<FragileRef> = nodes[0].pool("things", Routing::Random);
    let mut broken = 0;
    for _ in 0..40 {
        match things.call(|thing| async move { thing.fall().await }).await {
            Ok(n) => assert_eq!(n, 7),
            Err(error) => {
                let said = error.to_string();
                let PoolError::Call {
                    member,
                    why: CallError::Ended(_),
                } = error
                else {
                    panic!("{said}");
                };
                assert!(member.starts_with("things/two."), "{member}");
                assert!(said.starts_with(&format!("member {member:?}: ")), "{said}");
                broken += 1;
            }
        }
    }
    // By its end it says that it may have been executed; afterwards, that it was not.
    assert_eq!(broken, 1);
    let nobody = nodes[0].pool::<CounterRef>("idlers", Routing::RoundRobin);
    let nobody = nobody
        .call(|counter| async move { counter.inc().await })
        .await;
    assert!(matches!(nobody, Err(PoolError::Nobody(_))));
}
