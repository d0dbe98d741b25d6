//! What a node that leaves gives back, and how long that takes, in a simulation.

use std::time::Duration;

use tidings::time::{Instant, sleep};
use tidings::{Event, actor};
use tidings_nats::memory::Server;
use tidings_nats::{Cluster, Ended, Feed, FeedOptions, NameError, Options};

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

#[tidings::test(sim, seeds = 20)]
async fn who_leaves_gets_no_name_any_more_and_feeds_nobody() {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let (_, two) = node(&server, "two").await;
    let counter: CounterRef = actor::start(Tally::default());
    let _feed = busy(&two, &counter, 2 * LEASE).await;
    // It is asked for, and not there yet.
    let (asker, same) = (two.clone(), counter.clone());
    let asked = tidings::spawn(async move { asker.register("asked", &same).await });
    tidings::yield_now().await;
    let leaver = two.clone();
    let leaving = tidings::spawn(async move { leaver.leave(10 * LEASE).await });
    sleep(LEASE / 2).await;
    let late = two.register("late", &counter).await;
    let place = two.join_group("workers", &counter).await;
    let refused = [
        ("asked", asked.await.unwrap()),
        ("late", late),
        ("workers/two.", place),
    ];
    for (of, name) in refused {
        let refused = name.unwrap_err();
        let NameError::Ended {
            why: Ended::Left,
            name,
        } = &refused
        else {
            panic!("{refused}");
        };
        assert!(name.starts_with(of), "{name}");
        let said = format!("the name {name:?} cannot be given: we have left");
        assert_eq!(refused.to_string(), said);
    }
    let others = two.queue::<u32>("others").await.unwrap();
    others.put("one", &1).await.unwrap();
    let late = others.feed(&counter, FeedOptions::new(), |_, _| async {
        Ok::<(), String>(())
    });
    sleep(LEASE / 2).await;
    assert_eq!(late.stats().delivered, 0);
    assert!(!leaving.is_finished());
    for name in ["asked", "late"] {
        assert!(one.lookup::<CounterRef>(name).await.is_err());
    }
    leaving.await.unwrap();
}

#[tidings::test(deadlocks = false)]
async fn where_the_last_life_listened_the_next_one_can_at_once() {
    let server = Server::new();
    let options = |listen: &str| Options::new("test", "one").listen(listen);
    let mut at = "tcp://127.0.0.1:0".to_owned();
    for turn in 0..50 {
        let one = Cluster::join_on(server.connect(), options(&at))
            .await
            .unwrap();
        at = one.members()[0].address().unwrap().to_owned();
        if turn % 2 == 0 {
            one.leave(LEASE).await;
        } else {
            // Another takes its place.
            let other = Options::new("test", "one");
            let other = Cluster::join_on(server.connect(), other).await.unwrap();
            assert_eq!(one.ended().await, Ended::Replaced);
            drop(other);
        }
    }
}

#[tidings::test(deadlocks = false)]
async fn where_one_listened_who_did_not_join_the_next_can_at_once() {
    let server = Server::new();
    let other = Options::new("other", "one").listen("tcp://127.0.0.1:0");
    let other = Cluster::join_on(server.connect(), other).await.unwrap();
    let at = other.members()[0].address().unwrap().to_owned();
    other.leave(LEASE).await;
    // The engine is another cluster's.
    for _ in 0..20 {
        let refused = Options::new("test", "one").listen(&at);
        let error = Cluster::join_on(server.connect(), refused)
            .await
            .unwrap_err();
        assert!(error.to_string().contains("is cluster"), "{error}");
    }
}
