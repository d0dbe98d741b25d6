//! What a node that leaves gives back, and how long that takes, in a simulation.

use std::time::Duration;

use tidings::time::{Instant, sleep};
use tidings::{Event, actor};
use tidings_nats::memory::Server;
use tidings_nats::{Cluster, Ended, Feed, FeedOptions};

use crate::behind::takes;
use crate::cluster::{LEASE, node, server};
use crate::counter::{CounterRef, Tally};

/// A feed with a message in flight, which takes so long.
async fn busy(node: &Cluster, counter: &CounterRef, long: Duration) -> Feed {
    let jobs = node.queue::<u32>("jobs").await.unwrap();
    jobs.put("long", &1).await.unwrap();
    let feed = jobs.feed(
        counter,
        FeedOptions::new(),
        move |_: CounterRef, _: u32| async move {
            sleep(long).await;
            Ok::<(), String>(())
        },
    );
    while feed.stats().in_flight == 0 {
        sleep(Duration::from_millis(1)).await;
    }
    feed
}

#[tidings::test(sim, seeds = 20)]
async fn who_leaves_claims_no_name_anew_while_its_feeds_end() {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let (_, two) = node(&server, "two").await;
    let counter: CounterRef = actor::start(Tally::default());
    let given_back = two.register("counter", &counter).await.unwrap();
    let feed = busy(&two, &counter, 4 * LEASE).await;
    let leaver = two.clone();
    let leaving = tidings::spawn(async move { leaver.leave(20 * LEASE).await });
    sleep(LEASE).await;
    let name = one.register("counter", &counter).await.unwrap();
    assert!(!leaving.is_finished());
    leaving.await.unwrap();
    assert_eq!(feed.stats().done, 1);
    given_back.lost().await;
    // It is found by who asks, and not taken back.
    sleep(2 * LEASE).await;
    assert!(name.is_held());
    let _found: CounterRef = one.lookup("counter").await.unwrap();
}

#[tidings::test(sim, seeds = 10)]
async fn who_leaves_an_engine_out_of_reach_has_left_in_time_however_many_names_it_has() {
    let server = server();
    let (line, one) = node(&server, "one").await;
    let counter: CounterRef = actor::start(Tally::default());
    let mut names = Vec::new();
    for _ in 0..50 {
        names.push(one.join_group("workers", &counter).await.unwrap());
    }
    line.cut();
    let since = Instant::now();
    one.leave(Duration::from_secs(3)).await;
    // The limit, and what is written three times at the end.
    assert!(since.elapsed() < Duration::from_secs(8));
    assert!(names.iter().all(|name| !name.is_held()));
}

#[tidings::test(sim, seeds = 10)]
async fn who_leaves_while_its_lease_is_renewed_has_left() {
    let server = Server::new();
    let takes = |millis| takes(&server, millis);
    let (_, two) = node(&server, "two").await;
    // Its end is written five milliseconds after the beat, at which its record is written anew.
    sleep(LEASE / 3 - Duration::from_millis(5)).await;
    takes(10);
    let leaver = two.clone();
    let leaving = tidings::spawn(async move { leaver.leave(LEASE).await });
    sleep(Duration::from_millis(7)).await;
    // The answer to that takes long, and what is told of it.
    takes(1000);
    sleep(Duration::from_millis(5)).await;
    takes(1);
    leaving.await.unwrap();
    assert_eq!(two.ended().await, Ended::Left);
}

#[tidings::test(sim, seeds = 10)]
async fn a_leave_that_is_dropped_has_ended_the_membership() {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let (_, two) = node(&server, "two").await;
    let counter: CounterRef = actor::start(Tally::default());
    let name = two.join_group("workers", &counter).await.unwrap();
    let _feed = busy(&two, &counter, Duration::MAX).await;
    let leaver = two.clone();
    let leaving = tidings::spawn(async move { leaver.leave(20 * LEASE).await });
    sleep(LEASE).await;
    assert!(!leaving.is_finished() && two.members().len() == 2);
    leaving.abort();
    let ended = two.ended().timeout(LEASE).await;
    assert_eq!(ended, Ok(Ended::Left));
    assert!(!name.is_held());
    // Nobody has told the other, but that the lease is over.
    sleep(3 * LEASE).await;
    assert_eq!(one.members().len(), 1);
}
