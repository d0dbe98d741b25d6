//! References that end here: killed, or linked to an actor of this node. The actor there does not hear of it.

use tidings::actor::{self, Builder, CallError, Exit, Mailbox, SendError};
use tidings_link::{Exports, Grant, Limits};

use crate::nodes::{CounterMessage, CounterRef, Tally, counter, pair, pair_with};

fn tally() -> CounterRef {
    actor::start(Tally::default())
}

#[tidings::test]
async fn a_reference_that_is_killed_ends_and_the_actor_there_lives() {
    let (here, _server, client, there) = counter().await;
    there.add(3).await.unwrap();
    assert_eq!(there.get().await.unwrap(), 3);
    let waits = tidings::spawn({
        let there = there.clone();
        async move { there.wait().await }
    });
    while client.stats().await.calls_out < 2 {
        tidings::yield_now().await;
    }
    there.kill();
    assert!(matches!(there.down().await, Exit::Killed));
    let unsent = there.get().await;
    assert!(matches!(unsent, Err(CallError::NotExecuted(Exit::Killed))));
    let unsent = there.add(1).await;
    assert!(matches!(unsent, Err(SendError::Ended(_, Exit::Killed))));
    // What had been sent has its answer, and who asks for the name anew has the actor.
    assert_eq!(here.get().await.unwrap(), 3);
    let again: CounterRef = client.get("counter").await.unwrap();
    again.add(4).await.unwrap();
    assert_eq!(again.get().await.unwrap(), 7);
    assert!(!waits.is_finished());
    here.kill();
    assert!(matches!(
        waits.await.unwrap(),
        Err(CallError::Ended(Exit::Killed))
    ));
}

#[tidings::test]
async fn a_reference_that_waits_for_credit_is_killed_all_the_same() {
    let deaf = Builder::new().capacity(1);
    let deaf = deaf.spawn(|mailbox: Mailbox<CounterMessage>| async move {
        std::future::pending::<()>().await;
        drop(mailbox);
    });
    let window = Grant {
        messages: 2,
        bytes: 1 << 10,
    };
    let limits = Limits {
        window,
        ..Limits::default()
    };
    let exports = Exports::new().add("counter", &CounterRef::from(&deaf));
    let (_server, client) = pair_with(exports, limits);
    let there: CounterRef = client.get("counter").await.unwrap();
    for n in 0..5 {
        there.add(n).await.unwrap();
    }
    // One is in the mailbox, and its credit has come back; two are on their way.
    while client.stats().await.tells_out < 3 {
        tidings::yield_now().await;
    }
    // What comes now waits behind it, until it has sent all.
    let first = there.any();
    drop(there);
    let behind: CounterRef = client.get("counter").await.unwrap();
    assert_ne!(behind.any(), first);
    for one in [behind.any(), first] {
        one.kill();
        assert!(matches!(one.down().await, Exit::Killed));
    }
    assert!(matches!(
        behind.get().await,
        Err(CallError::NotExecuted(Exit::Killed))
    ));
    assert_eq!(client.stats().await.tells_out, 3);
    deaf.kill();
}

#[tidings::test]
async fn an_end_goes_over_a_link_of_actors_to_the_reference_and_no_further() {
    let (here, _server, client, there) = counter().await;
    let linked = tally();
    linked.any().link(&there.any());
    linked.any().fail("the disk is full");
    let end = there.down().await;
    assert!(end.to_string().contains("the disk is full"), "{end}");
    assert!(here.get().await.is_ok());

    // One that has ended before.
    let there: CounterRef = client.get("counter").await.unwrap();
    there.any().link(&linked.any());
    assert!(matches!(there.down().await, Exit::Linked { .. }));

    // An orderly end unties.
    let (there, linked): (CounterRef, _) = (client.get("counter").await.unwrap(), tally());
    linked.any().link(&there.any());
    linked.stop();
    linked.down().await;
    assert_eq!(there.get().await.unwrap(), 0);

    // And the other way round: an end there, and that of the link.
    let linked = tally();
    linked.any().link(&there.any());
    here.any().fail("there");
    let end = linked.down().await;
    assert!(end.to_string().contains("there"), "{end}");
    let (server, client) = pair(Exports::new().add("counter", &tally()));
    let (there, linked): (CounterRef, _) = (client.get("counter").await.unwrap(), tally());
    linked.any().link(&there.any());
    server.close();
    let Exit::Linked { exit, .. } = linked.down().await else {
        panic!("it was linked");
    };
    assert!(matches!(*exit, Exit::Disconnected(_)));
}
