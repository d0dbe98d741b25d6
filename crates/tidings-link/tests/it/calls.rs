//! Calls, one-way messages, and their ends.

use std::time::Duration;

use tidings::actor::{self, Builder, CallError, Exit, Mailbox, Overflow, Reply, SendError};
use tidings::time::Instant;
use tidings::{Event, JoinSet, select};
use tidings_link::{Broken, Exports, GetError, Limits, Link, Options, Unbound};

use crate::nodes::{
    CounterMessage, CounterRef, Hands, LONG, LaterRef, Tally, counter, linked, pair, pair_with,
};

fn refused(name: &str, why: Unbound) -> GetError {
    let name = name.to_owned();
    GetError::Refused { name, why }
}

#[tidings::test]
async fn an_actor_elsewhere_is_called_by_the_same_reference() {
    let (here, _server, _client, there) = counter().await;
    there.add(2).await.unwrap();
    there.add(3).await.unwrap();
    assert_eq!(there.get().await.unwrap(), 5);
    assert_eq!(here.get().await.unwrap(), 5);
}

#[tidings::test]
async fn a_handlers_error_is_an_answer() {
    let (_here, _server, _client, there) = counter().await;
    assert_eq!(there.fail().await.unwrap(), Err("the handler's".to_owned()));
}

#[tidings::test]
async fn messages_of_one_sender_keep_their_order() {
    let (here, _server, _client, there) = counter().await;
    for n in 0..10_000_i64 {
        there.add(n).await.unwrap();
        if n % 1000 == 0 {
            assert_eq!(there.get().await.unwrap(), (0..=n).sum::<i64>());
        }
    }
    assert_eq!(there.get().await.unwrap(), (0..10_000).sum::<i64>());
    assert_eq!(here.get().await.unwrap(), (0..10_000).sum::<i64>());
}

#[tidings::test]
async fn many_callers_share_a_link() {
    let (_here, _server, _client, there) = counter().await;
    let mut callers = JoinSet::new();
    for caller in 0..100_u8 {
        let there = there.clone();
        callers.spawn(async move {
            for n in 0..50 {
                let bytes = vec![caller; n];
                assert_eq!(there.echo(bytes.clone()).await.unwrap(), bytes);
            }
        });
    }
    while let Some(caller) = callers.join_next().await {
        caller.unwrap();
    }
}

#[tidings::test]
async fn a_body_of_many_fragments_arrives_whole() {
    let (_here, _server, _client, there) = counter().await;
    for size in [0, 1, 32 << 10, (32 << 10) + 1, 500_000, 1_000_000] {
        let bytes: Vec<u8> = (0..size).map(|n: usize| n as u8).collect();
        assert!(
            there.echo(bytes.clone()).await.unwrap() == bytes,
            "{size} bytes"
        );
    }
}

#[tidings::test]
async fn there_is_no_name_that_goes_into_no_frame_and_the_link_stays() {
    let (_, _server, client, there) = counter().await;
    for length in [30_000, 49_152, 1 << 20] {
        let long = "x".repeat(length);
        let missing = refused(&long, Unbound::NoSuchName);
        assert_eq!(client.get::<CounterRef>(&long).await, Err(missing));
        let missing = refused("counter", Unbound::NoSuchName);
        let token = client.get_with_token::<CounterRef, _>("counter", long);
        assert_eq!(token.await, Err(missing));
    }
    assert_eq!(there.get().await.unwrap(), 0);
}

#[tidings::test]
async fn a_body_that_is_too_large_is_refused_here_and_the_link_stays() {
    let (_here, _server, client, there) = counter().await;
    let error = there.echo(vec![0; (1 << 20) + 1]).await.unwrap_err();
    assert!(matches!(error, CallError::Refused(_)), "{error}");
    assert_eq!(client.stats().await.unsendable, 1);
    assert_eq!(there.echo(vec![1]).await.unwrap(), [1]);
}

/// Where the replies of a `later` come out, its link, and what the other end has.
async fn later() -> (tidings::Receiver<Reply<i64>>, Link, Link, LaterRef) {
    let (to, replies) = tidings::unbounded();
    let here: LaterRef = actor::start(Hands(to));
    let (server, client) = pair(Exports::new().add("later", &here));
    let there = client.get("later").await.unwrap();
    (replies, server, client, there)
}

#[tidings::test]
async fn a_call_can_stand_in_a_choice_and_the_handler_knows_when_it_lost() {
    let (replies, server, _client, there) = later().await;
    let (other, mut happens) = tidings::oneshot();
    let choice = tidings::spawn({
        let there = there.clone();
        async move {
            select! {
                n = there.ask() => n.unwrap(),
                n = happens.recv() => n.unwrap(),
            }
        }
    });
    let reply = replies.recv().await.unwrap();
    assert!(!reply.is_closed());
    other.send(-1).unwrap();
    assert_eq!(choice.await.unwrap(), -1);
    reply.closed().timeout(LONG).await.unwrap();
    assert!(reply.is_closed());
    assert_eq!(server.stats().await.nacks_in, 1);
    // The loser's number can be used again.
    let next = tidings::spawn(async move { there.ask().await });
    replies.recv().await.unwrap().send(7).unwrap();
    assert_eq!(next.await.unwrap().unwrap(), 7);
}

#[tidings::test]
async fn a_deadline_travels() {
    let (replies, _server, _client, there) = later().await;
    let begun = Instant::now();
    let asked = tidings::spawn({
        let there = there.clone();
        async move { there.ask().timeout(LONG).await }
    });
    let reply = replies.recv().await.unwrap();
    let (due, latest) = (reply.deadline().unwrap(), Instant::now() + LONG);
    assert!(begun < due && due <= latest, "{begun:?} {due:?} {latest:?}");
    reply.send(7).unwrap();
    assert_eq!(asked.await.unwrap().unwrap(), 7);
    // Who waits for ever has none.
    let asked = tidings::spawn({
        let there = there.clone();
        async move { there.ask().await }
    });
    let reply = replies.recv().await.unwrap();
    assert_eq!(reply.deadline(), None);
    reply.send(8).unwrap();
    assert_eq!(asked.await.unwrap().unwrap(), 8);
    let late = there.ask().timeout(Duration::from_millis(10)).await;
    assert!(matches!(late, Err(CallError::Timeout)));
}

#[tidings::test]
async fn a_full_mailbox_that_rejects_refuses_what_comes_over_a_link_once() {
    let builder = Builder::new().capacity(1).overflow(Overflow::Reject);
    let full = builder.spawn(|mailbox: Mailbox<CounterMessage>| async move {
        std::future::pending::<()>().await;
        drop(mailbox);
    });
    let (_server, client) = pair(Exports::new().add("counter", &CounterRef::from(&full)));
    let there: CounterRef = client.get("counter").await.unwrap();
    there.add(1).await.unwrap();
    let refused = there.get().timeout(LONG).await.unwrap_err();
    assert!(matches!(refused, CallError::Full), "{refused}");
    // As here: it is no other message because it came from elsewhere.
    assert_eq!((full.queued(), full.overflowed()), (1, 1));
    full.kill();
}

#[tidings::test]
async fn a_panic_of_the_handler_is_told_with_its_text_and_is_the_actors_end() {
    let (_here, _server, _client, there) = counter().await;
    let error = there.panics().await.unwrap_err();
    let CallError::Ended(Exit::Panicked(text)) = error else {
        panic!("{error}");
    };
    assert_eq!(&*text, "the counter breaks");
    let exit = there.down().timeout(LONG).await.unwrap();
    assert!(matches!(exit, Exit::Panicked(_)), "{exit}");
    let error = there.get().await.unwrap_err();
    assert!(
        matches!(error, CallError::NotExecuted(Exit::Panicked(_))),
        "{error}"
    );
}

#[tidings::test]
async fn the_end_of_an_actor_is_heard_once_by_who_waits_and_later_too() {
    let (here, _server, _client, there) = counter().await;
    let waits = tidings::spawn({
        let there = there.clone();
        async move { there.down().await }
    });
    here.stop();
    assert!(matches!(waits.await.unwrap(), Exit::Stopped));
    assert!(matches!(there.down().await, Exit::Stopped));
    let unsent = there.add(1).await.unwrap_err();
    assert!(matches!(unsent, SendError::Ended(_, Exit::Stopped)));
}

#[tidings::test]
async fn the_end_of_a_link_ends_what_came_over_it() {
    let (_here, server, client, there) = counter().await;
    let asked = tidings::spawn({
        let there = there.clone();
        async move { there.wait().await }
    });
    while server.stats().await.calls_in == 0 {
        tidings::yield_now().await;
    }
    server.close();
    assert_eq!(client.down().await, Broken::Closed);
    let error = asked.await.unwrap().unwrap_err();
    assert!(
        matches!(error, CallError::Ended(Exit::Disconnected(_))),
        "{error}"
    );
    assert!(matches!(there.down().await, Exit::Disconnected(_)));
    let error = there.get().await.unwrap_err();
    assert!(
        matches!(error, CallError::NotExecuted(Exit::Disconnected(_))),
        "{error}"
    );
}

#[tidings::test]
async fn a_peer_reaches_only_what_was_exported() {
    let (here, _server, client, _there) = counter().await;
    let missing = client.get::<CounterRef>("other").await.unwrap_err();
    assert_eq!(missing, refused("other", Unbound::NoSuchName));
    let exports = Exports::new().add_with_token("counter", "key", &here);
    let (_server, client) = pair(exports);
    for token in ["", "kez", "key "] {
        let closed = client.get_with_token::<CounterRef, _>("counter", token);
        let missing = refused("counter", Unbound::NoSuchName);
        assert_eq!(closed.await.unwrap_err(), missing);
    }
    let opened = client
        .get_with_token::<CounterRef, _>("counter", "key")
        .await;
    assert_eq!(opened.unwrap().get().await.unwrap(), 0);
}

mod changed {
    //! The same interface, as it was before a method changed and one came.

    #[tidings::interface(remote)]
    pub(super) trait Counter {
        async fn add(&mut self, n: i32);
    }

    pub(super) mod newer {
        #[tidings::interface(remote)]
        pub(crate) trait Counter {
            async fn add(&mut self, n: i64);
            async fn get(&self) -> i64;
            async fn subtract(&mut self, n: i64) -> i64;
        }
    }
}

#[tidings::test]
async fn a_method_that_changed_is_refused_when_the_name_is_asked_for_and_a_new_one_when_it_is_called()
 {
    let (_here, server, client, _there) = counter().await;
    let older = client.get::<changed::CounterRef>("counter").await;
    let changed = refused("counter", Unbound::Schema("add".to_owned()));
    assert_eq!(older, Err(changed));
    let newer: changed::newer::CounterRef = client.get("counter").await.unwrap();
    newer.add(4).await.unwrap();
    assert_eq!(newer.get().await.unwrap(), 4);
    let refused = newer.subtract(1).await.unwrap_err();
    assert!(matches!(refused, CallError::Refused(_)), "{refused}");
    let said = "the actor has no method \"subtract\", or one of another shape";
    assert!(refused.to_string().ends_with(said), "{refused}");
    assert_eq!(server.stats().await.no_such_method, 1);
}

mod sums {
    //! An interface, before and after an argument became of another type with the same name.

    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize, tidings::Schema)]
    pub(super) struct Of<T>(T);

    #[tidings::interface(remote)]
    pub(super) trait Sums {
        async fn add(&self, a: Of<u32>, b: Of<i32>, c: Of<u32>) -> i64;
    }

    pub(super) struct Sum;
    impl Sums for Sum {
        async fn add(&self, a: Of<u32>, b: Of<i32>, c: Of<u32>) -> i64 {
            i64::from(a.0) + i64::from(b.0) + i64::from(c.0)
        }
    }

    pub(super) mod changed {
        use super::Of;

        #[tidings::interface(remote)]
        pub(crate) trait Sums {
            async fn add(&self, a: Of<u32>, b: Of<i32>, c: Of<i32>) -> i64;
        }
    }
}

#[tidings::test]
async fn a_method_of_other_types_with_the_same_names_is_another_method() {
    let here: sums::SumsRef = actor::start(sums::Sum);
    let (_server, client) = pair(Exports::new().add("sums", &here));
    let other = client.get::<sums::changed::SumsRef>("sums").await;
    let changed = Unbound::Schema("add".to_owned());
    assert_eq!(other, Err(refused("sums", changed)));
}

#[tidings::test]
async fn more_actors_than_are_allowed_are_refused_on_either_side_and_given_up_ones_count_no_more() {
    let few = Limits {
        exports: 2,
        ..Limits::default()
    };
    let counters: Vec<CounterRef> = (0..3).map(|_| actor::start(Tally::default())).collect();
    let exports = || {
        let named = ["a", "b", "c"].into_iter().zip(&counters);
        named.fold(Exports::new(), |all, (name, counter)| {
            all.add(name, counter)
        })
    };
    for (ours, theirs) in [(few, Limits::default()), (Limits::default(), few)] {
        let server = Options::new("server").exports(exports()).limits(ours);
        let (server, client) = linked(server, Options::new("client").limits(theirs));
        let a: CounterRef = client.get("a").await.unwrap();
        let b: CounterRef = client.get("b").await.unwrap();
        let third = client.get::<CounterRef>("c").await;
        assert_eq!(third, Err(refused("c", Unbound::TooMany)));
        let counted = server.stats().await.refused_names;
        assert_eq!(counted, u64::from(ours == few));
        drop(a);
        // The link hears of it when it has its turn.
        while client.get::<CounterRef>("c").await.is_err() {
            tidings::yield_now().await;
        }
        assert_eq!(b.get().await.unwrap(), 0);
    }
}

#[tidings::test]
async fn two_nodes_that_fill_the_stream_from_both_ends_both_get_through() {
    let one: CounterRef = actor::start(Tally::default());
    let other: CounterRef = actor::start(Tally::default());
    let (first, second) = linked(
        Options::new("one").exports(Exports::new().add("counter", &one)),
        Options::new("other").exports(Exports::new().add("counter", &other)),
    );
    let mut callers = JoinSet::new();
    for link in [first, second] {
        let counter: CounterRef = link.get("counter").await.unwrap();
        // Twenty times what the pipe takes, in each direction, and as much in answers.
        for n in 0..10 {
            let counter = counter.clone();
            callers.spawn(async move {
                let bytes = vec![n; 500_000];
                assert!(counter.echo(bytes.clone()).await.unwrap() == bytes);
            });
        }
    }
    while let Some(caller) = callers.join_next().await {
        caller.unwrap();
    }
}

#[tidings::test]
async fn a_drain_lets_calls_under_way_finish_and_begins_no_more() {
    let (_here, server, client, there) = counter().await;
    let calls: Vec<_> = (0..100)
        .map(|_| {
            tidings::spawn({
                let there = there.clone();
                async move { there.get().await }
            })
        })
        .collect();
    while server.stats().await.calls_in == 0 {
        tidings::yield_now().await;
    }
    server.drain();
    let ended = client.down().timeout(LONG).await.unwrap();
    assert_eq!(ended, Broken::Drained);
    assert_eq!(server.down().await, Broken::Drained);
    for call in calls {
        match call.await.unwrap() {
            Ok(0) | Err(CallError::NotExecuted(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tidings::test]
async fn a_link_that_drains_begins_no_more_whichever_side_began() {
    for ours in [true, false] {
        let (here, server, client, there) = counter().await;
        // Until it has its answer the link stays.
        let held = tidings::spawn({
            let there = there.clone();
            async move { there.wait().await }
        });
        while server.stats().await.calls_in == 0 {
            tidings::yield_now().await;
        }
        if ours { &client } else { &server }.drain();
        let refused = tidings::time::timeout(LONG, async {
            loop {
                match there.get().await {
                    // The peer's wish comes when it comes; our own holds at once.
                    Ok(0) if !ours => {}
                    other => break other.unwrap_err(),
                }
            }
        });
        let refused = refused.await.unwrap();
        let CallError::NotExecuted(Exit::Disconnected(why)) = refused else {
            panic!("{refused}");
        };
        assert_eq!(*why, *Broken::Drained.to_string());
        // A message without an answer is not sent either.
        there.add(1).await.unwrap();
        assert!(there.get().await.is_err());
        assert_eq!(server.stats().await.tells_in, 0);
        assert_eq!(here.get().await.unwrap(), 0);
        here.stop();
        assert!(held.await.unwrap().is_err());
        assert_eq!(client.down().timeout(LONG).await.unwrap(), Broken::Drained);
        assert_eq!(server.down().timeout(LONG).await.unwrap(), Broken::Drained);
    }
}

#[test]
fn who_stood_still_takes_it_for_no_silence_of_the_peers() {
    let limits = Limits {
        idle: Duration::from_millis(100),
        silence: Duration::from_millis(500),
        ..Limits::default()
    };
    let one = tidings::Runtime::builder().workers(1).build().unwrap();
    one.block_on(async {
        let here: CounterRef = actor::start(Tally::default());
        let (_server, client) = pair_with(Exports::new().add("counter", &here), limits);
        let there: CounterRef = client.get("counter").await.unwrap();
        for _ in 0..2 {
            assert_eq!(there.get().await.unwrap(), 0);
            // The process is stopped, and goes on.
            let stopped = async move { std::thread::sleep(3 * limits.silence) };
            tidings::spawn(stopped).await.unwrap();
        }
        assert_eq!(there.get().await.unwrap(), 0);
    });
}

#[tidings::test]
async fn a_link_that_nobody_uses_ends() {
    let (_here, server, client, there) = counter().await;
    drop(server);
    drop(client);
    // The reference keeps it.
    there.add(1).await.unwrap();
    assert_eq!(there.get().await.unwrap(), 1);
    let any = there.any();
    drop(there);
    any.down().timeout(LONG).await.unwrap();
}
