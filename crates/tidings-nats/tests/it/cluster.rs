//! Clusters in a simulation: an engine that fails, on virtual time.

use std::time::Duration;

use futures_util::future::{Either, FutureExt};
use tidings::Receiver;
use tidings::actor::{self, CallError, Routing};
use tidings::time::{Instant, sleep};
use tidings_nats::memory::{Faults, Memory, Server};
use tidings_nats::{
    Change, Cluster, Down, Ended, Engine, JoinError, LookupError, NameError, Options,
};

use crate::counter::{CounterRef, OtherRef, Tally, grown, later};

pub(crate) const LEASE: Duration = Duration::from_secs(6);

/// A server that takes some milliseconds for everything.
pub(crate) fn server() -> Server {
    let server = Server::new();
    server.set_faults(Faults {
        delay: Duration::from_micros(100)..=Duration::from_millis(5),
        ..Faults::default()
    });
    server
}

async fn join(engine: &Memory, node: &str) -> Cluster {
    let options = Options::new("test", node).lease(LEASE);
    Cluster::join_on(engine.clone(), options).await.unwrap()
}

pub(crate) async fn node(server: &Server, name: &str) -> (Memory, Cluster) {
    let engine = server.connect();
    let cluster = join(&engine, name).await;
    (engine, cluster)
}

/// Two nodes, and an actor of each that may ask for a name.
async fn two() -> ((Cluster, CounterRef), (Cluster, CounterRef)) {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let (_, other) = node(&server, "other").await;
    let actor = || actor::start(Tally::default());
    ((one, actor()), (other, actor()))
}

pub(crate) fn names(cluster: &Cluster) -> Vec<String> {
    cluster
        .members()
        .iter()
        .map(|m| m.node().to_owned())
        .collect()
}

/// What is told next, as words.
pub(crate) async fn next(changes: &Receiver<Change>) -> String {
    match changes.recv().await.unwrap() {
        Change::Up(member) => format!("{} up", member.node()),
        Change::Down(member, down) => format!("{} down: {down:?}", member.node()),
    }
}

#[tidings::test(sim, seeds = 20)]
async fn an_actor_is_called_by_its_name_from_another_node() {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let (_, other) = node(&server, "other").await;
    let counter: CounterRef = actor::start(Tally::default());
    let name = one.register("counter", &counter).await.unwrap();
    assert!(name.is_held());
    let there: CounterRef = other.lookup("counter").await.unwrap();
    for n in 1..=10 {
        there.add(n).await.unwrap();
    }
    assert_eq!(there.get().await.unwrap(), 55);
    // Here it is the actor itself.
    let here: CounterRef = one.lookup("counter").await.unwrap();
    assert_eq!(here, counter);
}

#[tidings::test(sim, seeds = 20)]
async fn a_name_is_one_nodes_until_that_gives_it_back() {
    let ((one, a), (other, b)) = two().await;
    let both = futures_util::future::join(one.register("n", &a), other.register("n", &b));
    let (held, taken, winner, loser, theirs) = match both.await {
        (Ok(held), Err(taken)) => (held, taken, &one, &other, &b),
        (Err(taken), Ok(held)) => (held, taken, &other, &one, &a),
        both => panic!("one of {both:?} should have it"),
    };
    let (name, node) = ("n".to_owned(), winner.me().0.to_owned());
    let said = format!("the name \"n\" is node {node:?}'s");
    assert_eq!(taken, NameError::Taken { name, node });
    let again = winner.register("n", theirs).await.unwrap_err();
    assert_eq!((&again, again.to_string()), (&taken, said));
    drop(held);
    loop {
        match loser.register("n", theirs).await {
            Ok(_) => break,
            Err(NameError::Taken { .. }) => sleep(Duration::from_millis(1)).await,
            Err(error) => panic!("{error}"),
        }
    }
    let malformed = one.register("a name", &a).await.unwrap_err();
    assert!(matches!(malformed, NameError::Malformed { .. }));
    assert_eq!(malformed.to_string(), "\"a name\" is no name");
}

#[tidings::test(sim, seeds = 100)]
async fn a_name_that_is_asked_for_again_at_once_stays_ours() {
    let ((one, a), (other, b)) = two().await;
    // It is being read, or removed.
    for millis in 0..20 {
        drop(one.register("n", &a).await.unwrap());
        sleep(Duration::from_millis(millis)).await;
        let again = one.register("n", &a).await.unwrap();
        sleep(Duration::from_millis(50)).await;
        let taken = other.register("n", &b).await.unwrap_err();
        assert_eq!(taken.to_string(), "the name \"n\" is node \"one\"'s");
        assert!(again.is_held());
    }
}

#[tidings::test(sim, seeds = 20)]
async fn what_is_no_name_or_another_interface_is_refused_before_a_message_is_sent() {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let (_, other) = node(&server, "other").await;
    let counter: CounterRef = actor::start(Tally::default());
    let _name = one.register("counter", &counter).await.unwrap();
    let nobody = other.lookup::<CounterRef>("nobody").await.unwrap_err();
    assert_eq!(nobody.to_string(), "no member has the name \"nobody\"");
    let wrong = other.lookup::<OtherRef>("counter").await.unwrap_err();
    assert!(matches!(wrong, LookupError::OtherInterface { .. }));
    let said = "\"counter\" is the name of a Counter, not of a Other";
    assert_eq!(wrong.to_string(), said);
    let newer = other.lookup::<later::CounterRef>("counter").await;
    let newer = newer.unwrap_err();
    let LookupError::OtherShape { theirs, ours, .. } = newer else {
        panic!("it has another shape: {newer}");
    };
    let said = format!(
        "\"counter\": Counter.add has another shape on node \"one\": {theirs:08x}, and {ours:08x} here"
    );
    assert_eq!(newer.to_string(), said);
    assert_ne!(theirs, ours);
    // One that has got another method understands those that were there before.
    let more: grown::CounterRef = other.lookup("counter").await.unwrap();
    assert_eq!(more.get().await.unwrap(), 0);
}

#[tidings::test(sim, seeds = 20)]
async fn another_cluster_on_the_same_engine_is_not_spoken_with() {
    let server = server();
    let (engine, one) = node(&server, "one").await;
    let joined = Cluster::join_on(engine.clone(), Options::new("elsewhere", "two")).await;
    let error = joined.unwrap_err();
    assert!(matches!(&error, JoinError::OtherCluster(theirs) if theirs == "test"));
    assert_eq!(error.to_string(), "the engine is cluster \"test\"'s");
    assert_eq!(names(&one), ["one"]);
}

#[tidings::test(sim, seeds = 20)]
async fn a_node_that_is_cut_off_is_down_once_for_all_and_hears_of_it_when_it_is_back() {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let (_, two) = node(&server, "two").await;
    let (line, three) = node(&server, "three").await;
    let counter: CounterRef = actor::start(Tally::default());
    let name = three.register("counter", &counter).await.unwrap();
    let there: CounterRef = one.lookup("counter").await.unwrap();
    let told = [one.changes(), two.changes()];
    let theirs = three.changes();
    for changes in &told {
        for name in ["one", "three", "two"] {
            assert_eq!(next(changes).await, format!("{name} up"));
        }
    }
    let member = one.members()[1].clone();
    let since = Instant::now();
    line.cut();
    for changes in &told {
        assert_eq!(next(changes).await, "three down: Expired");
    }
    // The lease, and what lies between two looks.
    assert!(since.elapsed() < 2 * LEASE);
    assert_eq!(member.down().await, Down::Expired);
    assert_eq!(names(&one), ["one", "two"]);
    assert!(matches!(there.get().await, Err(CallError::NotExecuted(_))));
    // Its name is free.
    let other: CounterRef = actor::start(Tally::default());
    let _taken = two.register("counter", &other).await.unwrap();
    assert!(!three.is_connected());
    line.heal();
    assert_eq!(three.ended().await, Ended::Expired);
    name.lost().await;
    // It sees nobody any more, and is told so.
    assert_eq!(names(&three), [""; 0]);
    assert!(three.changes().recv().await.is_err());
    let mut heard = Vec::new();
    while let Ok(change) = theirs.recv().await {
        heard.push(change);
    }
    let ups = |change: &&Change| matches!(change, Change::Up(_));
    assert_eq!((heard.len(), heard.iter().filter(ups).count()), (6, 3));
    let again = join(&line, "three").await;
    assert_ne!(again.me(), three.me());
    for changes in &told {
        assert_eq!(next(changes).await, "three up");
    }
    let found: CounterRef = again.lookup("counter").await.unwrap();
    found.add(1).await.unwrap();
    assert_eq!(found.get().await.unwrap(), 1);
    assert_eq!(other.get().await.unwrap(), 1);
}

#[tidings::test(sim, seeds = 20)]
async fn who_answers_is_not_down_though_the_engine_does_not_take_its_writes() {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let (line_two, two) = node(&server, "two").await;
    let (line_three, three) = node(&server, "three").await;
    let counter: CounterRef = actor::start(Tally::default());
    let name = two.register("counter", &counter).await.unwrap();
    let there: CounterRef = one.lookup("counter").await.unwrap();
    let changes = one.changes();
    for name in ["one", "three", "two"] {
        assert_eq!(next(&changes).await, format!("{name} up"));
    }
    line_two.cut_keys();
    // One that does not answer is down meanwhile.
    line_three.cut();
    assert_eq!(next(&changes).await, "three down: Expired");
    sleep(5 * LEASE).await;
    assert!(changes.is_empty() && !two.is_connected());
    // Nor is its name anybody else's.
    let other: CounterRef = actor::start(Tally::default());
    let taken = one.register("counter", &other).await.unwrap_err();
    assert_eq!(taken.to_string(), "the name \"counter\" is node \"two\"'s");
    assert_eq!(there.get().await.unwrap(), 0);
    line_two.heal();
    sleep(LEASE).await;
    assert!(changes.is_empty() && two.is_connected() && name.is_held());
    // Once it does not answer any more it is down as any.
    line_two.cut_keys();
    sleep(LEASE).await;
    drop((name, two));
    let since = Instant::now();
    assert_eq!(next(&changes).await, "two down: Expired");
    assert!(since.elapsed() < 2 * LEASE);
    drop(three);
}

#[tidings::test(sim, seeds = 20)]
async fn a_name_that_is_asked_for_is_not_found_before_it_is_ours() {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let (line, two) = node(&server, "two").await;
    let (theirs, ours): (CounterRef, CounterRef) = (
        actor::start(Tally::default()),
        actor::start(Tally::default()),
    );
    let _name = one.register("counter", &theirs).await.unwrap();
    theirs.add(1).await.unwrap();
    // Two is told of the name.
    sleep(Duration::from_millis(10)).await;
    line.cut_keys();
    let (asking, asked) = (two.clone(), ours.clone());
    let asking = tidings::spawn(async move {
        let name = asking.register("counter", &asked);
        let place = asking.join_group("workers", &asked);
        futures_util::future::join(name, place).await
    });
    sleep(Duration::from_millis(10)).await;
    let found: CounterRef = two.lookup("counter").await.unwrap();
    assert_eq!(found.get().await.unwrap(), 1, "it is the other's");
    let workers = two.pool::<CounterRef>("workers", Routing::RoundRobin);
    let nobody = workers.pick().await;
    assert!(matches!(nobody, Err(LookupError::NoSuchName { .. })));
    let (name, place) = asking.await.unwrap();
    assert!(name.is_err() && place.is_err());
    line.heal();
    let _place = two.join_group("workers", &ours).await.unwrap();
    assert_eq!(two.group::<CounterRef>("workers").await, [ours]);
}

/// The names that are written down.
async fn written(engine: &Memory) -> Vec<String> {
    let mut watch = engine.watch().await.unwrap();
    let mut names = Vec::new();
    // All that is there comes at once.
    let late = tidings::after(Duration::from_millis(100)).into_future();
    let mut late = std::pin::pin!(late);
    loop {
        let next = std::pin::pin!(watch.next());
        match futures_util::future::select(next, late.as_mut()).await {
            Either::Left((entry, _)) => {
                let key = entry.expect("the watch goes on").key;
                names.extend(key.strip_prefix("name.").map(str::to_owned));
            }
            Either::Right(_) => return names,
        }
    }
}

#[tidings::test(sim, seeds = 20)]
async fn names_of_nodes_that_are_gone_are_removed_also_when_a_whole_cluster_is() {
    let server = server();
    let looks = server.connect();
    let (_, one) = node(&server, "one").await;
    let counter: CounterRef = actor::start(Tally::default());
    let _mine = one.join_group("workers", &counter).await.unwrap();
    {
        let (_, two) = node(&server, "two").await;
        let (_, three) = node(&server, "three").await;
        let left = two.join_group("workers", &counter).await.unwrap();
        let gone = three.register("gone", &counter).await.unwrap();
        assert_eq!(written(&looks).await.len(), 3);
        // As processes that are killed: they say nothing.
        drop((left, gone, two, three));
    }
    sleep(4 * LEASE).await;
    assert_eq!(written(&looks).await.len(), 1);
    drop((_mine, one));
    sleep(2 * LEASE).await;
    assert_eq!(written(&looks).await.len(), 1);
    let (_, _again) = node(&server, "nine").await;
    sleep(4 * LEASE).await;
    assert_eq!(written(&looks).await, [""; 0]);
}

#[tidings::test(sim, seeds = 20)]
async fn an_engine_that_nobody_reaches_for_long_takes_nobody_down() {
    let server = server();
    let (line_one, one) = node(&server, "one").await;
    let (line_two, two) = node(&server, "two").await;
    let counter: CounterRef = actor::start(Tally::default());
    let name = one.register("counter", &counter).await.unwrap();
    let changes = two.changes();
    assert_eq!(next(&changes).await, "one up");
    assert_eq!(next(&changes).await, "two up");
    line_one.cut();
    line_two.cut();
    sleep(10 * LEASE).await;
    assert!(!one.is_connected() && !two.is_connected());
    assert_eq!(names(&two), ["one", "two"]);
    line_one.heal();
    line_two.heal();
    while !(one.is_connected() && two.is_connected()) {
        sleep(Duration::from_millis(10)).await;
    }
    sleep(3 * LEASE).await;
    assert!(changes.is_empty() && name.is_held());
    let there: CounterRef = two.lookup("counter").await.unwrap();
    there.add(3).await.unwrap();
    assert_eq!(there.get().await.unwrap(), 3);
}

#[tidings::test(sim, seeds = 20)]
async fn after_an_engine_that_nobody_reached_each_has_a_lease_to_come_back() {
    let server = server();
    let (line_one, one) = node(&server, "one").await;
    let (line_two, _two) = node(&server, "two").await;
    let changes = one.changes();
    assert_eq!(next(&changes).await, "one up");
    assert_eq!(next(&changes).await, "two up");
    line_one.cut();
    line_two.cut();
    sleep(3 * LEASE).await;
    line_one.heal();
    while !one.is_connected() {
        sleep(Duration::from_millis(10)).await;
    }
    sleep(LEASE / 2).await;
    line_two.heal();
    sleep(2 * LEASE).await;
    assert!(changes.is_empty());
}

#[tidings::test(sim, seeds = 20)]
async fn an_engine_that_forgets_everything_is_told_anew_within_two_leases() {
    let server = server();
    let (engine, one) = node(&server, "one").await;
    let (_, two) = node(&server, "two").await;
    let counter: CounterRef = actor::start(Tally::default());
    let name = one.register("counter", &counter).await.unwrap();
    let changes = two.changes();
    server.forget();
    sleep(2 * LEASE).await;
    assert!(one.is_connected() && two.is_connected() && name.is_held());
    // Whose it is, too.
    let another = Cluster::join_on(engine, Options::new("elsewhere", "four")).await;
    assert!(matches!(another, Err(JoinError::OtherCluster(_))));
    // Who joins now sees what was there before.
    let (_, three) = node(&server, "three").await;
    assert_eq!(names(&three), ["one", "three", "two"]);
    let there: CounterRef = three.lookup("counter").await.unwrap();
    there.add(1).await.unwrap();
    assert_eq!(there.get().await.unwrap(), 1);
    for name in ["one", "two", "three"] {
        assert_eq!(next(&changes).await, format!("{name} up"));
    }
}

#[tidings::test(sim, seeds = 20)]
async fn who_joins_under_the_name_of_another_takes_its_place() {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let (_, two) = node(&server, "two").await;
    let changes = one.changes();
    assert_eq!(next(&changes).await, "one up");
    assert_eq!(next(&changes).await, "two up");
    let (_, again) = node(&server, "two").await;
    assert_eq!(two.ended().await, Ended::Replaced);
    assert_eq!(next(&changes).await, "two down: Replaced");
    assert_eq!(next(&changes).await, "two up");
    assert_eq!(names(&again), ["one", "two"]);
    assert!(again.is_connected() && !two.is_connected());
}

#[tidings::test(sim, seeds = 20)]
async fn who_leaves_is_down_at_once_and_its_names_are_free() {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let (_, two) = node(&server, "two").await;
    let counter: CounterRef = actor::start(Tally::default());
    let name = two.register("counter", &counter).await.unwrap();
    let there: CounterRef = one.lookup("counter").await.unwrap();
    let waiting = tidings::spawn(async move { there.slow().await });
    while !counter.is_waiting().await.unwrap() {
        sleep(Duration::from_millis(1)).await;
    }
    let changes = one.changes();
    let since = Instant::now();
    two.leave(Duration::from_secs(3)).await;
    // The call that was under way had its time, and was answered.
    assert_eq!(waiting.await.unwrap().unwrap(), 7);
    name.lost().await;
    assert_eq!(next(&changes).await, "one up");
    assert_eq!(next(&changes).await, "two up");
    assert_eq!(next(&changes).await, "two down: Left");
    assert!(since.elapsed() < Duration::from_secs(4));
    let _mine = one.register("counter", &counter).await.unwrap();
}

#[tidings::test(sim, seeds = 20)]
async fn a_group_is_reached_together_and_one_after_the_other() {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let (_, two) = node(&server, "two").await;
    let counters: Vec<CounterRef> = (0..3).map(|_| actor::start(Tally::default())).collect();
    let first = one.join_group("workers", &counters[0]).await.unwrap();
    let _second = two.join_group("workers", &counters[1]).await.unwrap();
    let _third = two.join_group("workers", &counters[2]).await.unwrap();
    while one.group::<CounterRef>("workers").await.len() < 3 {
        sleep(Duration::from_millis(1)).await;
    }
    let workers = one.pool::<CounterRef>("workers", Routing::RoundRobin);
    for _ in 0..6 {
        let worker = workers.pick().await.unwrap();
        worker.add(1).await.unwrap();
        worker.get().await.unwrap();
    }
    for counter in &counters {
        assert_eq!(counter.get().await.unwrap(), 2, "each had its turns");
    }
    drop(first);
    while one.group::<CounterRef>("workers").await.len() > 2 {
        sleep(Duration::from_millis(1)).await;
    }
    let idlers = one.pool::<CounterRef>("idlers", Routing::RoundRobin);
    let nobody = idlers.pick().await.unwrap_err();
    assert_eq!(nobody.to_string(), "no member has the name \"idlers\"");
}

#[tidings::test(sim, seeds = 20)]
async fn what_was_found_is_found_again_without_the_engine() {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let (line, two) = node(&server, "two").await;
    let counter: CounterRef = actor::start(Tally::default());
    let _name = one.register("counter", &counter).await.unwrap();
    let found: CounterRef = two.lookup("counter").await.unwrap();
    line.cut();
    let since = Instant::now();
    let again: CounterRef = two.lookup("counter").await.unwrap();
    assert_eq!((again, since.elapsed()), (found, Duration::ZERO));
}

#[tidings::test(sim, seeds = 20)]
async fn a_name_that_has_become_anothers_leads_to_its_new_actor() {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let (_, two) = node(&server, "two").await;
    let (_, three) = node(&server, "three").await;
    let (old, new): (CounterRef, CounterRef) = (
        actor::start(Tally::default()),
        actor::start(Tally::default()),
    );
    let first = one.register("counter", &old).await.unwrap();
    let found: CounterRef = three.lookup("counter").await.unwrap();
    found.add(1).await.unwrap();
    drop(first);
    sleep(2 * LEASE).await;
    let _second = two.register("counter", &new).await.unwrap();
    sleep(2 * LEASE).await;
    // The one before is alive, and reached by who has it.
    found.add(1).await.unwrap();
    assert_eq!(found.get().await.unwrap(), 2);
    let found: CounterRef = three.lookup("counter").await.unwrap();
    found.add(10).await.unwrap();
    assert_eq!(found.get().await.unwrap(), 10);
}

#[tidings::test(sim, seeds = 10)]
async fn without_an_engine_joining_fails_in_time_and_says_why() {
    let server = server();
    let engine = server.connect();
    engine.cut();
    let since = Instant::now();
    let options = Options::new("test", "one").patience(Duration::from_secs(5));
    let error = Cluster::join_on(engine, options).await.unwrap_err();
    assert!(error.to_string().contains("cannot be reached"), "{error}");
    assert!(since.elapsed() < Duration::from_secs(8));
    let options = Options::new("test", "no node");
    let error = Cluster::join_on(server.connect(), options).await;
    assert!(matches!(error, Err(JoinError::Name(name)) if name == "no node"));
}

/// What is lost and doubled on the way must not double a call, nor take anybody down for good.
#[tidings::test(sim, seeds = 40)]
async fn calls_through_an_engine_that_loses_and_doubles_are_done_at_most_once() {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let (_, two) = node(&server, "two").await;
    let counter: CounterRef = actor::start(Tally::default());
    let _name = one.register("counter", &counter).await.unwrap();
    let there: CounterRef = two.lookup("counter").await.unwrap();
    server.set_faults(Faults {
        delay: Duration::from_micros(100)..=Duration::from_millis(5),
        lose: 200,
        double: 4,
    });
    let (mut answered, mut unknown) = (0, 0);
    for _ in 0..100 {
        match there.inc().timeout(Duration::from_secs(30)).await {
            Ok(_) => answered += 1,
            Err(CallError::NotExecuted(_)) => {}
            _ => unknown += 1,
        }
    }
    let done = counter.get().await.unwrap();
    assert!(
        (answered..=answered + unknown).contains(&done),
        "{answered} {done} {unknown}"
    );
}

#[tidings::test(sim, seeds = 20)]
async fn who_gives_up_asking_what_was_counted_forgets_no_link() {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let (_, two) = node(&server, "two").await;
    let counter: CounterRef = actor::start(Tally::default());
    let _name = one.register("counter", &counter).await.unwrap();
    let there: CounterRef = two.lookup("counter").await.unwrap();
    // Once before the link was asked, and once after.
    for calls in 1..=2 {
        there.inc().await.unwrap();
        // Its driver has no turn.
        assert!(two.stats().now_or_never().is_none());
        let stats = two.stats().await;
        assert_eq!((stats.links, stats.link.calls_out), (1, calls));
    }
}

#[tidings::test(sim, seeds = 5)]
async fn no_more_links_are_begun_through_the_engine_at_a_time_than_a_listener_begins() {
    let server = server();
    let (engine, cluster) = node(&server, "one").await;
    let me = cluster.members().remove(0);
    let inbox = format!("tidings.test.node.one.{:x}", me.incarnation());
    // They ask, and say nothing on the streams that they are given.
    let ask = async |n: usize| {
        let opening = format!(r#"{{"to":"back.{n}","from":"forth.{n}"}}"#);
        let asked = engine.request(&inbox, opening.into(), Duration::from_secs(1));
        asked.await.is_ok()
    };
    let asked = futures_util::future::join_all((0..200).map(ask)).await;
    assert_eq!(asked.into_iter().filter(|given| *given).count(), 64);
    assert!(
        engine
            .request(&inbox, Vec::new().into(), LEASE)
            .await
            .is_ok()
    );
    // A handshake takes 5 s at most.
    sleep(Duration::from_secs(6)).await;
    assert!(ask(200).await);
}
