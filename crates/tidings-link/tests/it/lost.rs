//! One-way messages that a link has when it ends, and that are lost: they are counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};

use tidings::actor::{Builder, Mailbox};
use tidings_link::{Broken, Exports, Limits};

use crate::nodes::{CounterMessage, CounterRef, pair};
use crate::turns::{Gated, calls, up_over};

#[tidings::test]
async fn messages_that_waited_for_their_actor_when_the_link_ended_are_counted_as_lost() {
    let deaf = Builder::new().capacity(1);
    let deaf = deaf.spawn(|mailbox: Mailbox<CounterMessage>| async move {
        std::future::pending::<()>().await;
        drop(mailbox);
    });
    let (server, client) = pair(Exports::new().add("counter", &CounterRef::from(&deaf)));
    let there: CounterRef = client.get("counter").await.unwrap();
    for n in 0..5 {
        there.add(n).await.unwrap();
    }
    // Who calls hears of it himself.
    let call = tidings::spawn(async move { there.get().await });
    while server.stats().await.calls_in == 0 {
        tidings::yield_now().await;
    }
    server.close();
    assert_eq!(server.down().await, Broken::Dropped);
    // One is in the mailbox.
    assert_eq!(server.stats().await.lost_in, 4);
    assert!(call.await.unwrap().is_err());
    client.down().await;
    let stats = client.stats().await;
    assert_eq!((stats.lost_in, stats.lost_out), (0, 0));
    deaf.kill();
}

#[test]
fn messages_that_had_not_begun_to_be_written_when_the_link_ended_are_counted_as_lost() {
    let stalled = Arc::<AtomicBool>::default();
    let within = Arc::clone(&stalled);
    let stalls = |pipe| Gated {
        pipe,
        takes: move || !within.load(Relaxed),
    };
    let (_peer, mut moved, link, there) = up_over(stalls, Limits::default());
    let add = |n| {
        let mut add = Box::pin(async { there.add(n).await });
        let polled = add.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Ready(Ok(()))));
    };
    add(0);
    moved.turns();
    stalled.store(true, Relaxed);
    // This one is on its way, as far as anybody knows.
    add(1);
    moved.turns();
    for n in 2..5 {
        add(n);
    }
    let _call = calls(&there, 1);
    moved.turns();
    link.close();
    assert_eq!(moved.run(), Some(Broken::Dropped));
    let mut stats = Box::pin(link.stats());
    let polled = stats.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    let Poll::Ready(stats) = polled else {
        panic!("it has ended");
    };
    assert_eq!((stats.lost_out, stats.tells_out, stats.lost_in), (3, 5, 0));
}
