//! Clusters on a nats-server: what the simulation cannot show.

use std::collections::BTreeSet;
use std::time::Duration;

use tidings::actor;
use tidings::time::{Instant, sleep};
use tidings_nats::nats::ConnectOptions;
use tidings_nats::{
    Aside, Body, Change, Cluster, Down, EngineError, Feed, FeedOptions, JoinError, Options, Queue,
};

use crate::counter::{CounterRef, Tally};
use crate::server::NatsServer;

fn options(node: &str) -> Options {
    Options::new("test", node).lease(Duration::from_secs(2))
}

async fn call(from: &Cluster, name: &str) -> Result<i64, String> {
    let counter: CounterRef = from.lookup(name).await.map_err(|e| e.to_string())?;
    counter.inc().await.map_err(|e| e.to_string())
}

#[tidings::test(deadlocks = false)]
async fn nodes_call_each_other_directly_where_one_listens_and_through_nats_where_not() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let listens = options("one").listen("tcp://127.0.0.1:0");
    let one = Cluster::join(&server.url(), listens).await.unwrap();
    let two = Cluster::join(&server.url(), options("two")).await.unwrap();
    let changes = two.changes();
    let Change::Up(member) = changes.recv().await.unwrap() else {
        panic!("it begins with those who are there");
    };
    assert!(member.address().unwrap().starts_with("tcp://127.0.0.1:"));
    let (a, b): (CounterRef, CounterRef) = (
        actor::start(Tally::default()),
        actor::start(Tally::default()),
    );
    let _a = one.register("a", &a).await.unwrap();
    let _b = two.register("b", &b).await.unwrap();
    for n in 1..=100 {
        assert_eq!(call(&two, "a").await, Ok(n));
        assert_eq!(call(&one, "b").await, Ok(n));
    }
    one.leave(Duration::from_secs(1)).await;
    assert_eq!(member.down().await, Down::Left);
}

#[tidings::test(deadlocks = false)]
async fn a_server_that_is_killed_and_started_anew_without_its_keys_takes_nobody_down() {
    let Some(mut server) = NatsServer::start() else {
        return;
    };
    let one = Cluster::join(&server.url(), options("one")).await.unwrap();
    let two = Cluster::join(&server.url(), options("two")).await.unwrap();
    let counter: CounterRef = actor::start(Tally::default());
    let name = one.register("counter", &counter).await.unwrap();
    assert_eq!(call(&two, "counter").await, Ok(1));
    let changes = two.changes();
    server.kill();
    server.restart();
    // Someone who knows of nothing finds all that was there.
    let three = Cluster::join(&server.url(), options("three"))
        .await
        .unwrap();
    while three.members().len() < 3 || call(&three, "counter").await.is_err() {
        sleep(Duration::from_millis(20)).await;
    }
    while !two.is_connected() {
        sleep(Duration::from_millis(20)).await;
    }
    assert!(name.is_held());
    for node in ["one", "two", "three"] {
        let Change::Up(member) = changes.recv().await.unwrap() else {
            panic!("nobody is down");
        };
        assert_eq!(member.node(), node);
    }
    assert!(changes.is_empty());
}

#[tidings::test(deadlocks = false)]
async fn a_node_whose_process_is_gone_is_down_after_a_lease_and_its_name_free() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let one = Cluster::join(&server.url(), options("one")).await.unwrap();
    let two = Cluster::join(&server.url(), options("two")).await.unwrap();
    let counter: CounterRef = actor::start(Tally::default());
    let name = two.register("counter", &counter).await.unwrap();
    let changes = one.changes();
    // As a process that is killed: it says nothing.
    drop((name, two));
    for _ in 0..2 {
        assert!(matches!(changes.recv().await, Ok(Change::Up(_))));
    }
    let Ok(Change::Down(member, down)) = changes.recv().await else {
        panic!("it is down");
    };
    assert_eq!((member.node(), down), ("two", Down::Expired));
    let _mine = one.register("counter", &counter).await.unwrap();
}

#[tidings::test(deadlocks = false)]
async fn a_queue_outlives_its_server_and_gives_all_that_it_had_to_those_who_are_fed() {
    let Some(mut server) = NatsServer::start() else {
        return;
    };
    let hold = Duration::from_secs(2);
    let one = Cluster::join(&server.url(), options("one").hold(hold))
        .await
        .unwrap();
    let two = Cluster::join(&server.url(), options("two").hold(hold))
        .await
        .unwrap();
    let orders: Queue<i64> = one.queue("orders").await.unwrap();
    let same: Queue<i64> = two.queue("orders").await.unwrap();
    for order in 0..200 {
        orders.put(&order.to_string(), &order).await.unwrap();
    }
    let (tell, told) = tidings::unbounded();
    let counter: CounterRef = actor::start(Tally::default());
    let feed = |queue: &Queue<i64>| {
        let tell = tell.clone();
        let options = FeedOptions::new().in_flight(4).tries(1000);
        queue.feed(&counter, options, move |counter, order| {
            let tell = tell.clone();
            async move {
                let _ = tell.try_send(order);
                counter.inc().await.map(drop)
            }
        })
    };
    let feeds = [feed(&orders), feed(&same)];
    let mut seen = BTreeSet::new();
    while seen.len() < 50 {
        seen.insert(told.recv().await.unwrap());
    }
    server.kill();
    server.restart();
    // What was not acknowledged comes again; nothing is missing.
    while seen.len() < 200 {
        seen.insert(told.recv().await.unwrap());
    }
    while feeds.iter().any(|feed| feed.stats().in_flight > 0) {
        sleep(Duration::from_millis(20)).await;
    }
    let stats = feeds.each_ref().map(Feed::stats);
    assert!(
        stats.iter().all(|stats| stats.done > 0 && stats.aside == 0),
        "{stats:?}"
    );
    let done: u64 = stats.iter().map(|stats| stats.done).sum();
    assert_eq!(counter.get().await.unwrap().unsigned_abs(), done);
    // It can be put to while nobody knows whether it was.
    orders.put("199", &199).await.unwrap();
    one.leave(Duration::from_secs(5)).await;
}

#[tidings::test(deadlocks = false)]
async fn what_is_set_aside_is_kept_by_the_server_in_a_queue_of_its_own() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let one = Cluster::join(&server.url(), options("one")).await.unwrap();
    let orders: Queue<i64> = one.queue("orders").await.unwrap();
    orders.put("good", &1).await.unwrap();
    orders.put("bad", &-1).await.unwrap();
    let counter: CounterRef = actor::start(Tally::default());
    let short = Duration::from_millis(50);
    let options = FeedOptions::new().tries(3).pause(short..=short);
    let feed = orders.feed(&counter, options.clone(), async |_: CounterRef, n: i64| {
        u64::try_from(n).map(drop)
    });
    let aside = orders.aside().await.unwrap();
    let (tell, told) = tidings::unbounded();
    let undertaker = aside.feed(&counter, options, move |_, aside: Aside| {
        let told = tell.try_send(aside).map_err(|error| error.to_string());
        async { told }
    });
    let aside = told.recv().await.unwrap();
    assert_eq!((aside.id.as_str(), aside.tries), ("bad", 3));
    assert_eq!(aside.body, Body::Text("-1".to_owned()));
    assert!(aside.reason.contains("out of range"), "{}", aside.reason);
    while feed.stats().done + feed.stats().aside < 2 || undertaker.stats().done < 1 {
        sleep(Duration::from_millis(5)).await;
    }
}

#[tidings::test(deadlocks = false)]
async fn without_a_server_joining_fails_in_time_and_with_a_wrong_password_at_once() {
    let patience = Duration::from_millis(300);
    let since = Instant::now();
    let error = Cluster::join("nats://127.0.0.1:1", options("one").patience(patience))
        .await
        .unwrap_err();
    assert!(since.elapsed() >= patience, "{:?}", since.elapsed());
    let JoinError::Engine(EngineError::Unreachable(why)) = error else {
        panic!("nobody is there: {error}");
    };
    assert!(
        why.starts_with("nats://127.0.0.1:1, tried for 300ms: "),
        "{why}"
    );
    let arguments = &["--user", "node", "--pass", "right"];
    let Some(server) = NatsServer::start_with(arguments) else {
        return;
    };
    let with = |password: &str| {
        let nats = ConnectOptions::new().user_and_password("node".into(), password.into());
        options("one").nats(nats)
    };
    let error = Cluster::join(&server.url(), with("wrong"))
        .await
        .unwrap_err();
    assert!(
        matches!(error, JoinError::Engine(EngineError::Refused(_))),
        "{error}"
    );
    let with_password = server.url().replace("://", "://node:wrong@");
    let error = Cluster::join(&with_password, options("one"))
        .await
        .unwrap_err();
    assert!(!error.to_string().contains("wrong"), "{error}");
    Cluster::join(&server.url(), with("right")).await.unwrap();
}

#[tidings::test(deadlocks = false)]
async fn a_server_that_does_not_answer_or_has_no_jetstream_is_named_in_time() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("nats://{}", silent.local_addr().unwrap());
    let short = options("one").patience(Duration::from_millis(300));
    let error = Cluster::join(&url, short).await.unwrap_err();
    assert!(error.to_string().contains(&url), "{error}");
    let Some(server) = NatsServer::start_without_jetstream() else {
        return;
    };
    let short = options("one").patience(Duration::from_millis(300));
    let error = Cluster::join(&server.url(), short).await.unwrap_err();
    assert!(error.to_string().contains("is JetStream on"), "{error}");
}

#[tidings::test(deadlocks = false)]
async fn a_pause_that_is_longer_than_the_server_counts_is_its_longest() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let options = options("one").hold(Duration::MAX);
    let one = Cluster::join(&server.url(), options).await.unwrap();
    let jobs: Queue<u32> = one.queue("jobs").await.unwrap();
    jobs.put("first", &1).await.unwrap();
    let counter: CounterRef = actor::start(Tally::default());
    let options = FeedOptions::new().in_flight(1);
    let options = options.pause(Duration::MAX..=Duration::MAX);
    let (tell, told) = tidings::unbounded();
    let _feed = jobs.feed(&counter, options, move |_, job| {
        tell.try_send(job).unwrap();
        async { Err::<(), _>("not now") }
    });
    assert_eq!(told.recv().await, Ok(1));
    jobs.put("second", &2).await.unwrap();
    assert_eq!(told.recv().await, Ok(2));
}

#[tidings::test(deadlocks = false)]
async fn a_node_connects_anew_however_often_that_has_failed() {
    let Some(mut server) = NatsServer::start() else {
        return;
    };
    let once = options("one").nats(ConnectOptions::new().max_reconnects(1));
    let one = Cluster::join(&server.url(), once).await.unwrap();
    server.kill();
    while one.is_connected() {
        sleep(Duration::from_millis(20)).await;
    }
    server.restart();
    let again = async {
        while !one.is_connected() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let again = tidings::time::timeout(Duration::from_secs(60), again).await;
    assert_eq!(again, Ok(()));
}

#[tidings::test(deadlocks = false)]
async fn what_the_server_will_never_take_is_refused_at_once() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let one = Cluster::join(&server.url(), options("one")).await.unwrap();
    let orders: Queue<i64> = one.queue("orders").await.unwrap();
    let id = "i".repeat(1 << 16);
    let put = orders.put(&id, &1).await;
    assert!(matches!(put, Err(EngineError::Refused(_))), "{put:?}");
    orders.put(&id[..1 << 15], &1).await.unwrap();
}
