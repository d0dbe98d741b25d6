//! What an engine is to do, asked of each: of the one in memory in a simulation, of NATS itself.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tidings::time::timeout;
use tidings_nats::{Delivery, Engine, EngineError, Expect, Settle, Watch};

/// Two connections to one server.
struct Two {
    one: Arc<dyn Engine>,
    other: Arc<dyn Engine>,
}

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(200);

macro_rules! conformance {
    ($($name:ident),+ $(,)?) => {
        mod memory {
            use super::*;
            use tidings_nats::memory::{Faults, Server};

            fn two() -> Two {
                let server = Server::new();
                let delay = Duration::ZERO..=Duration::from_millis(5);
                server.set_faults(Faults { delay, ..Faults::default() });
                Two { one: Arc::new(server.connect()), other: Arc::new(server.connect()) }
            }

            $(
                #[tidings::test(sim, seeds = 20)]
                async fn $name() {
                    super::$name(two()).await;
                }
            )+
        }

        #[cfg(feature = "nats")]
        mod nats {
            use super::*;
            use crate::server::NatsServer;
            use tidings_nats::nats::{Bucket, ConnectOptions, Nats};

            async fn connect(server: &NatsServer) -> Nats {
                let bucket = Bucket::new("test");
                Nats::connect(&server.url(), ConnectOptions::new(), bucket).await.unwrap()
            }

            $(
                // What happens on tokio's thread, nobody here knows of.
                #[tidings::test(deadlocks = false)]
                async fn $name() {
                    let Some(server) = NatsServer::start() else { return };
                    let (one, other) = (connect(&server).await, connect(&server).await);
                    let two = Two { one: Arc::new(one), other: Arc::new(other) };
                    super::$name(two).await;
                }
            )+
        }
    };
}

conformance!(
    messages_come_in_the_order_of_their_publisher,
    a_message_goes_to_every_subscriber,
    who_unsubscribes_is_no_responder_any_more,
    a_request_gets_the_first_answer,
    a_request_that_nobody_hears_fails_at_once_and_one_that_is_not_answered_late,
    a_key_is_created_by_one,
    a_write_needs_the_revision_that_is_there,
    a_removed_key_can_be_created_again_and_not_removed_twice,
    a_watch_tells_what_is_there_and_what_changes_in_the_order_of_revisions,
    what_expires_is_gone_is_told_and_can_be_created_again,
    a_key_that_is_written_anew_in_time_does_not_expire,
    a_queue_gives_each_message_to_one_until_it_is_done,
    a_message_of_an_id_that_was_put_is_not_put_again,
    a_message_that_is_given_back_comes_again_after_its_pause,
    a_message_of_which_nothing_is_heard_is_given_out_again_and_one_that_is_worked_on_is_not,
    a_fetch_that_is_dropped_takes_nothing_with_it,
    a_queue_that_is_not_there_is_told_of,
    what_is_larger_than_the_engine_takes_is_refused,
);

async fn messages_come_in_the_order_of_their_publisher(Two { one, other }: Two) {
    let mut heard = other.subscribe("order").await.unwrap();
    for n in 0..100_u8 {
        one.publish("order", Bytes::copy_from_slice(&[n]))
            .await
            .unwrap();
    }
    for n in 0..100_u8 {
        let message = heard.next().await.unwrap();
        assert_eq!((message.payload.as_ref(), message.reply), (&[n][..], None));
        assert_eq!(message.subject, "order");
    }
}

async fn a_message_goes_to_every_subscriber(Two { one, other }: Two) {
    let mut all = [
        one.subscribe("news").await.unwrap(),
        other.subscribe("news").await.unwrap(),
    ];
    for n in 0..50_u8 {
        one.publish("news", Bytes::copy_from_slice(&[n]))
            .await
            .unwrap();
    }
    for subscription in &mut all {
        for n in 0..50_u8 {
            assert_eq!(subscription.next().await.unwrap().payload[0], n);
        }
    }
}

async fn who_unsubscribes_is_no_responder_any_more(Two { one, other }: Two) {
    let heard = other.subscribe("leaving").await.unwrap();
    drop(heard);
    // What other has done is done once it has an answer.
    let done = other.request("nobody", Bytes::new(), LONG).await;
    assert_eq!(done, Err(EngineError::NoResponders));
    let asked = one.request("leaving", Bytes::new(), LONG).await;
    assert_eq!(asked, Err(EngineError::NoResponders));
}

async fn a_request_gets_the_first_answer(Two { one, other }: Two) {
    let mut asked = other.subscribe("double").await.unwrap();
    let answers = tidings::spawn(async move {
        for _ in 0..10 {
            let message = asked.next().await.unwrap();
            let answer = Bytes::copy_from_slice(&[2 * message.payload[0]]);
            let reply = message.reply.unwrap();
            other.publish(&reply, answer).await.unwrap();
            other
                .publish(&reply, Bytes::from_static(b"late"))
                .await
                .unwrap();
        }
    });
    for n in 0..10_u8 {
        let answer = one
            .request("double", Bytes::copy_from_slice(&[n]), LONG)
            .await;
        assert_eq!(answer.unwrap().as_ref(), [2 * n]);
    }
    answers.await.unwrap();
}

async fn a_request_that_nobody_hears_fails_at_once_and_one_that_is_not_answered_late(
    Two { one, other }: Two,
) {
    let nobody = one.request("silence", Bytes::new(), LONG).await;
    assert_eq!(nobody, Err(EngineError::NoResponders));
    let mut heard = other.subscribe("silence").await.unwrap();
    let late = one
        .request("silence", Bytes::from_static(b"?"), SHORT)
        .await;
    assert_eq!(late, Err(EngineError::Timeout));
    assert_eq!(heard.next().await.unwrap().payload, "?");
}

async fn a_key_is_created_by_one(Two { one, other }: Two) {
    let ours = one.write("leader", "one".into(), Expect::Absent, None);
    let theirs = other.write("leader", "other".into(), Expect::Absent, None);
    let (ours, theirs) = futures_util::future::join(ours, theirs).await;
    let winner = match (&ours, &theirs) {
        (Ok(_), Err(EngineError::Conflict)) => "one",
        (Err(EngineError::Conflict), Ok(_)) => "other",
        both => panic!("one of {both:?} should be a conflict"),
    };
    let there = one.read("leader").await.unwrap().unwrap();
    assert_eq!(there.value.unwrap(), winner);
    assert_eq!(Ok(there.revision), ours.or(theirs));
    assert_eq!(one.read("nothing").await, Ok(None));
}

async fn a_write_needs_the_revision_that_is_there(Two { one, other }: Two) {
    let conflict = Err(EngineError::Conflict);
    let absent = one.write("k", "0".into(), Expect::Revision(7), None).await;
    assert_eq!(absent, conflict);
    let first = one
        .write("k", "1".into(), Expect::Absent, None)
        .await
        .unwrap();
    let second = other
        .write("k", "2".into(), Expect::Revision(first), None)
        .await
        .unwrap();
    assert!(second > first);
    let stale = one
        .write("k", "3".into(), Expect::Revision(first), None)
        .await;
    assert_eq!(stale, conflict);
    assert_eq!(one.remove("k", first).await, Err(EngineError::Conflict));
    let there = one.read("k").await.unwrap().unwrap();
    assert_eq!((there.revision, there.value.unwrap()), (second, "2".into()));
}

async fn a_removed_key_can_be_created_again_and_not_removed_twice(Two { one, other }: Two) {
    let first = one
        .write("k", "1".into(), Expect::Absent, None)
        .await
        .unwrap();
    other.remove("k", first).await.unwrap();
    assert_eq!(one.read("k").await, Ok(None));
    assert_eq!(one.remove("k", first).await, Err(EngineError::Conflict));
    let stale = one
        .write("k", "2".into(), Expect::Revision(first), None)
        .await;
    assert_eq!(stale, Err(EngineError::Conflict));
    let second = one
        .write("k", "2".into(), Expect::Absent, None)
        .await
        .unwrap();
    assert!(second > first);
}

/// The next change, as its key and value.
async fn change(watch: &mut Watch) -> (String, Option<Bytes>) {
    let entry = watch.next().await.expect("the watch goes on");
    (entry.key, entry.value)
}

fn put(key: &str, value: &str) -> (String, Option<Bytes>) {
    (
        key.to_owned(),
        Some(Bytes::copy_from_slice(value.as_bytes())),
    )
}

async fn a_watch_tells_what_is_there_and_what_changes_in_the_order_of_revisions(
    Two { one, other }: Two,
) {
    let z = one
        .write("z", "1".into(), Expect::Absent, None)
        .await
        .unwrap();
    one.write("a", "1".into(), Expect::Absent, None)
        .await
        .unwrap();
    let mut watch = other.watch().await.unwrap();
    assert_eq!(change(&mut watch).await, put("z", "1"));
    assert_eq!(change(&mut watch).await, put("a", "1"));
    let z = one
        .write("z", "2".into(), Expect::Revision(z), None)
        .await
        .unwrap();
    assert_eq!(change(&mut watch).await, put("z", "2"));
    one.remove("z", z).await.unwrap();
    assert_eq!(change(&mut watch).await, ("z".to_owned(), None));
    let written = one.write("z", "3".into(), Expect::Absent, None).await;
    assert_eq!(watch.next().await.unwrap().revision, written.unwrap());
}

async fn what_expires_is_gone_is_told_and_can_be_created_again(Two { one, other }: Two) {
    let mut watch = other.watch().await.unwrap();
    let second = Some(Duration::from_secs(1));
    one.write("lease", "1".into(), Expect::Absent, second)
        .await
        .unwrap();
    one.write("name", "1".into(), Expect::Absent, None)
        .await
        .unwrap();
    assert_eq!(change(&mut watch).await, put("lease", "1"));
    assert_eq!(change(&mut watch).await, put("name", "1"));
    assert_eq!(change(&mut watch).await, ("lease".to_owned(), None));
    assert_eq!(one.read("lease").await, Ok(None));
    other
        .write("lease", "2".into(), Expect::Absent, second)
        .await
        .unwrap();
    assert_eq!(change(&mut watch).await, put("lease", "2"));
    assert!(one.read("name").await.unwrap().is_some());
}

async fn a_key_that_is_written_anew_in_time_does_not_expire(Two { one, other }: Two) {
    let ttl = Some(Duration::from_secs(2));
    let mut watch = other.watch().await.unwrap();
    let mut revision = one
        .write("lease", "0".into(), Expect::Absent, ttl)
        .await
        .unwrap();
    assert_eq!(change(&mut watch).await, put("lease", "0"));
    for n in 1..6 {
        tidings::after(Duration::from_millis(500))
            .into_future()
            .await;
        let value = n.to_string();
        let expect = Expect::Revision(revision);
        revision = one
            .write("lease", value.clone().into(), expect, ttl)
            .await
            .unwrap();
        assert_eq!(change(&mut watch).await, put("lease", &value));
    }
}

/// So many deliveries. What was put just now NATS may give to the next fetch only.
async fn fetched(engine: &dyn Engine, count: usize) -> Vec<Delivery> {
    let mut all = Vec::new();
    while all.len() < count {
        let more = engine.fetch("jobs", count - all.len(), LONG).await.unwrap();
        assert!(!more.is_empty(), "{count} are there: {all:?}");
        all.extend(more);
    }
    assert_eq!(all.len(), count, "no more than was asked for");
    all
}

async fn a_queue_gives_each_message_to_one_until_it_is_done(Two { one, other }: Two) {
    assert_eq!(one.open("jobs", LONG).await, Ok(LONG));
    // It keeps to what was said first.
    assert_eq!(other.open("jobs", SHORT).await, Ok(LONG));
    assert_eq!(other.fetch("jobs", 3, SHORT).await, Ok(Vec::new()));
    for id in ["a", "b", "c"] {
        let put = one.enqueue("jobs", id, Bytes::copy_from_slice(id.as_bytes()));
        assert_eq!(put.await, Ok(true));
    }
    let first = fetched(&*one, 2).await;
    let rest = fetched(&*other, 1).await;
    let all: Vec<_> = first.iter().chain(&rest).collect();
    let ids: Vec<&str> = all.iter().map(|delivery| delivery.id.as_str()).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    for (place, delivery) in all.into_iter().enumerate() {
        assert_eq!((delivery.tries, delivery.number), (1, place as u64 + 1));
        assert_eq!(delivery.payload, delivery.id);
        one.settle(delivery, Settle::Done).await.unwrap();
    }
    assert_eq!(other.fetch("jobs", 3, SHORT).await, Ok(Vec::new()));
    // Who waits gets what comes.
    let waiting = tidings::spawn(async move { other.fetch("jobs", 3, LONG).await });
    one.enqueue("jobs", "d", Bytes::new()).await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap()[0].id, "d");
}

async fn a_message_of_an_id_that_was_put_is_not_put_again(Two { one, other }: Two) {
    one.open("jobs", LONG).await.unwrap();
    other.open("jobs", LONG).await.unwrap();
    assert_eq!(one.enqueue("jobs", "a", "1".into()).await, Ok(true));
    assert_eq!(other.enqueue("jobs", "a", "2".into()).await, Ok(false));
    let all = one.fetch("jobs", 5, LONG).await.unwrap();
    assert_eq!((all.len(), all[0].payload.as_ref()), (1, &b"1"[..]));
    one.settle(&all[0], Settle::Done).await.unwrap();
    // Nor when it is done.
    assert_eq!(one.enqueue("jobs", "a", "3".into()).await, Ok(false));
    assert_eq!(one.fetch("jobs", 5, SHORT).await, Ok(Vec::new()));
}

async fn a_message_that_is_given_back_comes_again_after_its_pause(Two { one, other }: Two) {
    one.open("jobs", LONG).await.unwrap();
    other.open("jobs", LONG).await.unwrap();
    one.enqueue("jobs", "a", Bytes::new()).await.unwrap();
    let mut delivery = one.fetch("jobs", 1, LONG).await.unwrap().remove(0);
    for tries in 2..5 {
        let since = tidings::time::Instant::now();
        let again = Settle::Again(Duration::from_secs(1));
        one.settle(&delivery, again).await.unwrap();
        delivery = other.fetch("jobs", 1, LONG).await.unwrap().remove(0);
        assert_eq!(delivery.tries, tries);
        // The server's clock is not ours.
        assert!(since.elapsed() > Duration::from_millis(900));
    }
    one.settle(&delivery, Settle::Done).await.unwrap();
    assert_eq!(one.fetch("jobs", 5, SHORT).await, Ok(Vec::new()));
}

async fn a_message_of_which_nothing_is_heard_is_given_out_again_and_one_that_is_worked_on_is_not(
    Two { one, other }: Two,
) {
    let hold = Duration::from_secs(2);
    one.open("jobs", hold).await.unwrap();
    other.open("jobs", hold).await.unwrap();
    one.enqueue("jobs", "left", Bytes::new()).await.unwrap();
    one.enqueue("jobs", "kept", Bytes::new()).await.unwrap();
    let ours = fetched(&*one, 2).await;
    let [left, kept] = &ours[..] else {
        unreachable!();
    };
    let working = async {
        for _ in 0..16 {
            one.settle(kept, Settle::Working).await.unwrap();
            tidings::after(Duration::from_millis(250)).await;
        }
        one.settle(kept, Settle::Done).await.unwrap();
    };
    let (again, ()) = futures_util::future::join(other.fetch("jobs", 2, LONG), working).await;
    let again = again.unwrap();
    assert_eq!(
        (again.len(), again[0].number, again[0].tries),
        (1, left.number, 2)
    );
    other.settle(&again[0], Settle::Done).await.unwrap();
    assert_eq!(other.fetch("jobs", 2, 2 * hold).await, Ok(Vec::new()));
}

async fn a_fetch_that_is_dropped_takes_nothing_with_it(Two { one, other }: Two) {
    one.open("jobs", LONG).await.unwrap();
    other.open("jobs", LONG).await.unwrap();
    for _ in 0..3 {
        let fetch = one.fetch("jobs", 1, LONG);
        assert!(timeout(SHORT, fetch).await.is_err());
    }
    // What one has done is done once it has an answer.
    let done = one.request("nobody", Bytes::new(), LONG).await;
    assert_eq!(done, Err(EngineError::NoResponders));
    tidings::after(SHORT).await;
    other.enqueue("jobs", "a", Bytes::new()).await.unwrap();
    let delivery = other.fetch("jobs", 1, LONG).await.unwrap().remove(0);
    assert_eq!(delivery.id, "a");
}

async fn a_queue_that_is_not_there_is_told_of(Two { one, .. }: Two) {
    let put = one.enqueue("nowhere", "a", Bytes::new()).await;
    assert_eq!(put, Err(EngineError::NoResponders));
    let fetched = one.fetch("nowhere", 1, SHORT).await;
    assert_eq!(fetched, Err(EngineError::NoResponders));
}

async fn what_is_larger_than_the_engine_takes_is_refused(Two { one, other }: Two) {
    let largest = one.largest();
    assert_eq!(largest, 1 << 20);
    one.open("jobs", LONG).await.unwrap();
    let most = Bytes::from(vec![0; largest - 64]);
    assert_eq!(one.enqueue("jobs", "a", most.clone()).await, Ok(true));
    let mut fetched = one.fetch("jobs", 1, LONG).await.unwrap();
    assert_eq!(fetched.remove(0).payload, most);
    let _heard = other.subscribe("here").await.unwrap();
    let more = Bytes::from(vec![0; largest + 1]);
    let refused = [
        // With its id it is larger.
        one.enqueue("jobs", "b", more.slice(1..)).await.map(drop),
        one.publish("here", more.clone()).await,
        one.request("here", more.clone(), LONG).await.map(drop),
        one.write("key", more, Expect::Absent, None).await.map(drop),
    ];
    for refused in refused {
        assert!(
            matches!(refused, Err(EngineError::Refused(_))),
            "{refused:?}"
        );
    }
}
