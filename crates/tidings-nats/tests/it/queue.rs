//! Actors that are fed from queues, in a simulation.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidings::actor::{self, Reference, Shared};
use tidings::time::{Instant, sleep};
use tidings_nats::memory::{Faults, Memory, Server};
use tidings_nats::{
    Body, Cluster, DUPLICATES, Engine, EngineError, Feed, FeedEnd, FeedOptions, Handled, Options,
    Queue,
};

use crate::cluster::server;

const HOLD: Duration = Duration::from_secs(10);

/// What has been handled when, for all clerks of a test.
type Book = Arc<Mutex<Vec<(u32, Instant)>>>;

#[tidings::interface]
trait Clerk {
    /// Takes so many milliseconds.
    async fn serve(this: Shared<Self>, order: u32, millis: u64) -> Result<(), String>;
    async fn refuse(&mut self, order: u32) -> Result<(), String>;
    async fn die(&mut self, order: u32) -> Result<(), String>;
    async fn most(&self) -> usize;
}

#[derive(Default)]
struct Keeper {
    book: Book,
    now: usize,
    most: usize,
}

impl Keeper {
    fn note(&self, order: u32) {
        self.book.lock().unwrap().push((order, Instant::now()));
    }
}

impl Clerk for Keeper {
    async fn serve(this: Shared<Self>, order: u32, millis: u64) -> Result<(), String> {
        this.with(|s| {
            s.now += 1;
            s.most = s.most.max(s.now);
        });
        sleep(Duration::from_millis(millis)).await;
        this.with(|s| {
            s.now -= 1;
            s.note(order);
        });
        Ok(())
    }
    async fn refuse(&mut self, order: u32) -> Result<(), String> {
        self.note(order);
        Err(format!("no {order} today"))
    }
    async fn die(&mut self, order: u32) -> Result<(), String> {
        self.note(order);
        panic!("{order} was too much");
    }
    async fn most(&self) -> usize {
        self.most
    }
}

fn clerk(book: &Book) -> ClerkRef {
    actor::start(Keeper {
        book: Arc::clone(book),
        ..Keeper::default()
    })
}

async fn join(engine: &Memory, node: &str) -> Cluster {
    let options = Options::new("test", node)
        .lease(Duration::from_secs(6))
        .hold(HOLD);
    Cluster::join_on(engine.clone(), options).await.unwrap()
}

async fn node(server: &Server, name: &str) -> (Memory, Cluster, Queue<u32>) {
    let engine = server.connect();
    let cluster = join(&engine, name).await;
    let queue = cluster.queue("orders").await.unwrap();
    (engine, cluster, queue)
}

async fn put(queue: &Queue<u32>, orders: std::ops::Range<u32>) {
    for order in orders {
        queue.put(&format!("order-{order}"), &order).await.unwrap();
    }
}

/// A feed whose orders take so long.
fn serve(queue: &Queue<u32>, clerk: &ClerkRef, options: FeedOptions, millis: u64) -> Feed {
    queue.feed(clerk, options, move |clerk, order| async move {
        clerk.serve(order, millis).await
    })
}

/// Waits until that holds.
async fn until(holds: impl Fn() -> bool) {
    while !holds() {
        sleep(Duration::from_millis(10)).await;
    }
}

/// How often each was handled.
fn counts(book: &Book) -> BTreeMap<u32, usize> {
    let mut counts = BTreeMap::new();
    for (order, _) in &*book.lock().unwrap() {
        *counts.entry(*order).or_default() += 1;
    }
    counts
}

fn once(orders: std::ops::Range<u32>) -> BTreeMap<u32, usize> {
    orders.map(|order| (order, 1)).collect()
}

#[tidings::test(sim, seeds = 20)]
async fn what_is_put_is_handled_once_by_one_of_those_who_are_fed() {
    let server = server();
    let (_, _one, orders) = node(&server, "one").await;
    let (_, _two, same) = node(&server, "two").await;
    let book = Book::default();
    let (a, b) = (clerk(&book), clerk(&book));
    let few = FeedOptions::new().in_flight(3);
    let feeds = [
        serve(&orders, &a, few.clone(), 20),
        serve(&same, &b, few, 20),
    ];
    put(&orders, 0..40).await;
    // To put it again is no second order.
    put(&same, 0..40).await;
    until(|| feeds.iter().map(|f| f.stats().done).sum::<u64>() == 40).await;
    sleep(2 * HOLD).await;
    assert_eq!(counts(&book), once(0..40));
    for (feed, clerk) in feeds.iter().zip([a, b]) {
        let stats = feed.stats();
        assert!(stats.done > 5, "each has its share: {stats:?}");
        assert_eq!((stats.delivered, stats.in_flight), (stats.done, 0));
        assert!(clerk.most().await.unwrap() <= 3);
    }
}

#[tidings::test(sim, seeds = 20)]
async fn what_fails_is_tried_again_after_pauses_that_grow_and_then_set_aside_with_the_reason() {
    let server = server();
    let (engine, cluster, orders) = node(&server, "one").await;
    let book = Book::default();
    let clerk = clerk(&book);
    let options = FeedOptions::new()
        .tries(4)
        .pause(Duration::from_secs(1)..=Duration::from_secs(2));
    let feed = orders.feed(
        &clerk,
        options,
        async |clerk: ClerkRef, order| match order {
            7 => clerk.refuse(order).await,
            _ => clerk.serve(order, 1).await,
        },
    );
    put(&orders, 0..10).await;
    engine
        .enqueue("orders", "nonsense", "{".into())
        .await
        .unwrap();
    engine
        .enqueue("orders", "binary", vec![255, 0].into())
        .await
        .unwrap();
    until(|| feed.stats().aside == 3).await;
    let tries: Vec<Instant> = {
        let book = book.lock().unwrap();
        book.iter()
            .filter(|(order, _)| *order == 7)
            .map(|(_, at)| *at)
            .collect()
    };
    let pauses: Vec<u64> = tries.windows(2).map(|w| (w[1] - w[0]).as_secs()).collect();
    assert_eq!(pauses, [1, 2, 2]);
    let aside = orders.aside().await.unwrap();
    assert_eq!(aside.name(), "orders=aside");
    let found = Arc::new(Mutex::new(BTreeMap::new()));
    let filled = Arc::clone(&found);
    let undertaker = cluster_of_asides(&aside, &clerk, filled);
    until(|| found.lock().unwrap().len() == 3).await;
    let found = found.lock().unwrap().clone();
    let (reason, tries, body) = &found["order-7"];
    assert_eq!((reason.as_str(), *tries), ("no 7 today", 4));
    assert_eq!(*body, Body::Text("7".to_owned()));
    let (reason, tries, body) = &found["nonsense"];
    assert!(reason.starts_with("it cannot be decoded"), "{reason}");
    assert_eq!((*tries, body), (1, &Body::Text("{".to_owned())));
    assert_eq!(found["binary"].2, Body::Bytes(vec![255, 0]));
    assert_eq!(feed.stats().done, 9);
    // Who has mended what was wrong puts it again, once its id is forgotten.
    sleep(DUPLICATES).await;
    let failed = feed.stats().failed;
    put(&orders, 7..8).await;
    until(|| feed.stats().failed > failed).await;
    drop((undertaker, cluster));
}

#[tidings::test(sim, seeds = 1)]
async fn a_message_is_set_aside_however_large_it_is() {
    let server = server();
    let (engine, _cluster, orders) = node(&server, "one").await;
    let clerk = clerk(&Book::default());
    let feed = serve(&orders, &clerk, FeedOptions::new(), 1);
    let largest = engine.largest() - 100;
    let bodies = [
        // As JSON they are 1.2 MB, 1.8 MB and more.
        vec![0xff; 300_000],
        vec![1; 300_000],
        vec![0; largest],
    ];
    for (n, body) in bodies.iter().enumerate() {
        let id = n.to_string();
        let put = engine.enqueue("orders", &id, body.clone().into());
        put.await.unwrap();
    }
    let till = Instant::now() + Duration::from_secs(600);
    until(|| feed.stats().aside == 3 || Instant::now() > till).await;
    assert_eq!(feed.stats().aside, 3);
    let aside = orders.aside().await.unwrap();
    let found = Arc::new(Mutex::new(BTreeMap::new()));
    let _undertaker = cluster_of_asides(&aside, &clerk, Arc::clone(&found));
    until(|| found.lock().unwrap().len() == 3).await;
    let found = found.lock().unwrap();
    for (n, body) in bodies.iter().enumerate() {
        let (reason, tries, found) = &found[&n.to_string()];
        assert!(reason.starts_with("it cannot be decoded"), "{reason}");
        // Of the largest the end is missing.
        let kept = body.len().min(largest - 200);
        let found = match found {
            Body::Text(text) => text.as_bytes(),
            Body::Bytes(bytes) => bytes,
        };
        assert!(*tries == 1 && found.len() >= kept && body.starts_with(found));
    }
}

type Asides = Arc<Mutex<BTreeMap<String, (String, u64, Body)>>>;

/// A feed that writes down what was set aside.
fn cluster_of_asides(aside: &Queue<tidings_nats::Aside>, clerk: &ClerkRef, found: Asides) -> Feed {
    aside.feed(clerk, FeedOptions::new(), move |_, aside| {
        let found = Arc::clone(&found);
        async move {
            let is = (aside.reason, aside.tries, aside.body);
            found.lock().unwrap().insert(aside.id, is);
            Handled::Done
        }
    })
}

#[tidings::test(sim, seeds = 20)]
async fn a_handler_keeps_its_message_however_long_it_takes() {
    let server = server();
    let (_, _one, orders) = node(&server, "one").await;
    let (_, _two, same) = node(&server, "two").await;
    let book = Book::default();
    let (a, b) = (clerk(&book), clerk(&book));
    let long = 5 * u64::try_from(HOLD.as_millis()).unwrap();
    let feeds = [
        serve(&orders, &a, FeedOptions::new(), long),
        serve(&same, &b, FeedOptions::new(), long),
    ];
    put(&orders, 0..4).await;
    until(|| feeds.iter().map(|f| f.stats().done).sum::<u64>() == 4).await;
    assert_eq!(counts(&book), once(0..4));
    assert!(feeds.iter().all(|feed| feed.stats().duplicates == 0));
}

#[tidings::test(sim, seeds = 20)]
async fn what_a_node_held_that_is_gone_is_handled_by_another_after_the_hold() {
    let server = server();
    let (line, _one, orders) = node(&server, "one").await;
    let (_, _two, same) = node(&server, "two").await;
    let (lost, book) = (Book::default(), Book::default());
    let (a, b) = (clerk(&lost), clerk(&book));
    let _gone = serve(&orders, &a, FeedOptions::new(), 1_000_000);
    put(&orders, 0..5).await;
    until(|| _gone.stats().in_flight == 5).await;
    let since = Instant::now();
    line.cut();
    let feed = serve(&same, &b, FeedOptions::new(), 1);
    until(|| feed.stats().done == 5).await;
    assert!(since.elapsed() <= HOLD + Duration::from_secs(1));
    assert_eq!(counts(&book), once(0..5));
}

#[tidings::test(sim, seeds = 40)]
async fn an_engine_that_loses_and_doubles_loses_no_message_and_one_feed_does_none_twice() {
    let server = server();
    let (_, _one, orders) = node(&server, "one").await;
    let book = Book::default();
    let clerk = clerk(&book);
    let options = FeedOptions::new().in_flight(4).tries(1000);
    let feed = serve(&orders, &clerk, options, 3000);
    server.set_faults(Faults {
        delay: Duration::from_micros(100)..=Duration::from_millis(50),
        lose: 10,
        double: 3,
    });
    for order in 0..20_u32 {
        let id = format!("order-{order}");
        while orders.put(&id, &order).await.is_err() {}
    }
    until(|| feed.stats().done == 20).await;
    server.set_faults(Faults::default());
    sleep(3 * HOLD).await;
    assert_eq!(counts(&book), once(0..20));
    assert_eq!((feed.stats().in_flight, feed.stats().aside), (0, 0));
    // Nothing is left.
    let left = server.connect();
    left.open("orders", HOLD).await.unwrap();
    assert_eq!(left.fetch("orders", 1, HOLD).await, Ok(Vec::new()));
}

#[tidings::test(sim, seeds = 20)]
async fn a_feed_that_is_stopped_ends_what_it_has_and_takes_no_more() {
    let server = server();
    let (_, one, orders) = node(&server, "one").await;
    let (_, _two, same) = node(&server, "two").await;
    let book = Book::default();
    let clerk = clerk(&book);
    let feed = serve(&orders, &clerk, FeedOptions::new().in_flight(5), 500);
    put(&orders, 0..30).await;
    until(|| feed.stats().in_flight == 5).await;
    assert_eq!(feed.stop(Duration::from_secs(1)).await, 0);
    assert!(matches!(feed.ended().await, FeedEnd::Stopped));
    let had = feed.stats().done;
    assert!(had < 30);
    sleep(2 * HOLD).await;
    assert_eq!(feed.stats().done, had);
    // One whose handlers take longer says how many are left.
    let slow = serve(&orders, &clerk, FeedOptions::new().in_flight(3), 5000);
    until(|| slow.stats().in_flight == 3).await;
    assert_eq!(slow.stop(Duration::from_secs(1)).await, 3);
    // A node that leaves ends what it has, too; the rest is the others'.
    let leaving = serve(&orders, &clerk, FeedOptions::new().in_flight(3), 500);
    until(|| leaving.stats().in_flight == 3).await;
    one.leave(Duration::from_secs(10)).await;
    assert_eq!(leaving.stats().in_flight, 0);
    let rest = serve(&same, &clerk, FeedOptions::new(), 1);
    until(|| counts(&book).len() == 30).await;
    assert_eq!(counts(&book), once(0..30));
    drop(rest);
}

/// A message that its actor dies of takes nobody with it.
#[tidings::test(sim, seeds = 20)]
async fn a_message_that_ends_its_actor_each_time_is_set_aside_and_those_beside_it_are_not() {
    let server = server();
    let (_, _one, orders) = node(&server, "one").await;
    let book = Book::default();
    put(&orders, 0..12).await;
    let (mut done, mut aside, mut lives) = (0, 0, 0);
    while done + aside < 12 {
        let clerk = clerk(&book);
        let second = Duration::from_secs(1);
        let options = FeedOptions::new().tries(2).pause(second..=second);
        let feed = orders.feed(
            &clerk,
            options,
            async |clerk: ClerkRef, order| match order {
                5 => clerk.die(order).await,
                _ => clerk.serve(order, 100).await,
            },
        );
        let so_far = || done + aside + feed.stats().done + feed.stats().aside;
        until(|| clerk.recipient().exit().is_some() || so_far() == 12).await;
        if clerk.recipient().exit().is_some() {
            assert!(matches!(feed.ended().await, FeedEnd::Actor(_)));
        }
        until(|| feed.stats().in_flight == 0).await;
        done += feed.stats().done;
        aside += feed.stats().aside;
        lives += 1;
        assert!(lives < 10, "it does not end: {done} are done");
    }
    assert_eq!((done, aside), (11, 1));
    // Twice beside the others, and once alone.
    let mut expected = once(0..12);
    expected.insert(5, 3);
    assert_eq!(counts(&book), expected);
}

#[tidings::test(sim, seeds = 10)]
async fn a_handler_that_panics_has_failed_and_a_queue_needs_a_name_and_its_messages_ids() {
    let server = server();
    let (line, cluster, orders) = node(&server, "one").await;
    let clerk = clerk(&Book::default());
    let options = FeedOptions::new().tries(1);
    let feed = orders.feed(&clerk, options, async |_: ClerkRef, order: u32| {
        assert!(order != 3, "three is none");
        Ok::<(), String>(())
    });
    put(&orders, 2..5).await;
    until(|| feed.stats().done == 2 && feed.stats().aside == 1).await;
    for name in ["", "a.b", "a=aside"] {
        let refused = cluster.queue::<u32>(name).await;
        assert!(matches!(refused, Err(EngineError::Refused(_))));
    }
    for id in ["", "#1", "a b"] {
        let refused = orders.put(id, &1).await;
        assert!(matches!(refused, Err(EngineError::Refused(_))));
    }
    line.cut();
    let since = Instant::now();
    let unknown = orders.put("late", &1).await;
    assert!(matches!(unknown, Err(EngineError::Unreachable(_))));
    // The patience of a node, if nobody says otherwise, and a last try.
    assert!(since.elapsed() < Duration::from_secs(15));
}

#[tidings::test(sim, seeds = 10)]
async fn a_message_whose_id_is_being_handled_waits_for_the_end_of_that_and_no_try_is_counted() {
    let server = server();
    let (_, _one, orders) = node(&server, "one").await;
    let clerk = clerk(&Book::default());
    let calls = Arc::new(AtomicUsize::new(0));
    let options = FeedOptions::new().tries(2);
    let feed = orders.feed(&clerk, options, move |_: ClerkRef, _: u32| {
        let first = calls.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            if first {
                sleep(3 * DUPLICATES).await;
                return Err("too late");
            }
            Ok(())
        }
    });
    orders.put("order", &1).await.unwrap();
    sleep(DUPLICATES + HOLD).await;
    // By now that is another message, of the same id.
    orders.put("order", &1).await.unwrap();
    until(|| feed.stats().delivered > 2 && feed.stats().in_flight == 0).await;
    sleep(HOLD).await;
    let stats = feed.stats();
    assert_eq!((stats.done, stats.failed, stats.aside), (1, 1, 0));
    assert_eq!((stats.delivered, stats.duplicates), (3, 1));
}

#[tidings::test(sim, seeds = 10)]
async fn a_message_that_waits_for_another_of_its_id_is_given_back_when_its_feed_stops() {
    let server = server();
    let (_, _one, orders) = node(&server, "one").await;
    let clerk = clerk(&Book::default());
    let long = |feed: &Feed| (feed.stats().delivered, feed.stats().in_flight);
    let feed = serve(&orders, &clerk, FeedOptions::new(), 3 * 120_000);
    orders.put("order", &1).await.unwrap();
    sleep(DUPLICATES + HOLD).await;
    orders.put("order", &1).await.unwrap();
    sleep(HOLD).await;
    assert_eq!(long(&feed), (2, 1));
    assert_eq!(feed.stop(Duration::from_secs(1)).await, 1);
    let other = serve(&orders, &clerk, FeedOptions::new(), 1);
    until(|| other.stats().done == 1).await;
    assert_eq!(feed.stop(4 * DUPLICATES).await, 0);
    assert_eq!(feed.stats().done, 1);
}
