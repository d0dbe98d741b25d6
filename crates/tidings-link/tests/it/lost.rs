//! Messages that a link has when it ends, or their actor, and that are lost: one-way messages are counted,
//! and a panic of their drop harms nobody.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tidings::Event;
use tidings::actor::{ActorRef, Builder, Mailbox};
use tidings::remote::{Describe, Schema};
use tidings_link::{Broken, Exports, Limits, Link, memory};

use crate::nodes::{CounterMessage, CounterRef, LONG, Tally, pair};
use crate::turns::{Gated, Moved, Peer, calls, up_over};

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

/// What a peer sends, and what panics as it is dropped here.
struct Bomb(bool);

impl Serialize for Bomb {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Bomb {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        bool::deserialize(from).map(|_| Self(true))
    }
}

impl Schema for Bomb {
    fn describe(describe: &mut Describe) {
        bool::describe(describe);
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.0, "a bomb");
    }
}

#[tidings::interface(remote)]
trait Sapper {
    async fn lay(&mut self, bomb: Bomb);
}

/// An actor that takes nothing, with one message in its mailbox and two that wait, over a link that has a
/// counter beside it.
async fn mined() -> (ActorRef<SapperMessage>, Link, Link, CounterRef) {
    let deaf = Builder::new().capacity(1);
    let deaf = deaf.spawn(|mailbox: Mailbox<SapperMessage>| async move {
        std::future::pending::<()>().await;
        drop(mailbox);
    });
    let counter: CounterRef = tidings::actor::start(Tally::default());
    let exports = Exports::new().add("sapper", &SapperRef::from(&deaf));
    let (server, client) = pair(exports.add("counter", &counter));
    let there: SapperRef = client.get("sapper").await.unwrap();
    let counter = client.get("counter").await.unwrap();
    for _ in 0..3 {
        there.lay(Bomb(false)).await.unwrap();
    }
    while server.stats().await.tells_in < 3 {
        tidings::yield_now().await;
    }
    (deaf, server, client, counter)
}

#[tidings::test]
async fn a_panic_of_a_messages_drop_as_its_actor_ends_is_no_harm_to_the_link() {
    let (deaf, _server, _client, counter) = mined().await;
    deaf.kill();
    deaf.down().await;
    counter.add(7).await.unwrap();
    assert_eq!(counter.get().timeout(LONG).await.unwrap(), 7);
}

#[tidings::test]
async fn a_panic_of_a_messages_drop_as_the_link_ends_hides_no_end() {
    let (deaf, server, client, _counter) = mined().await;
    server.close();
    assert_eq!(server.down().timeout(LONG).await.unwrap(), Broken::Dropped);
    assert_eq!(server.stats().await.lost_in, 2);
    client.down().await;
    deaf.kill();
}

/// Somebody's executor.
struct Breaks;

impl Wake for Breaks {
    fn wake(self: Arc<Self>) {
        panic!("the executor breaks");
    }
}

#[test]
fn a_panic_within_a_link_is_its_end_and_whoever_waits_hears_of_it() {
    let (ours, theirs) = memory::pipe();
    let mut peer = Peer::new(theirs, Limits::default());
    let (link, mut moved) = Moved::new(ours);
    let mut get = Box::pin(link.get::<CounterRef>("counter"));
    let breaks = Waker::from(Arc::new(Breaks));
    assert!(
        get.as_mut()
            .poll(&mut Context::from_waker(&breaks))
            .is_pending()
    );
    let turns = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        for _ in 0..3 {
            moved.turns();
            peer.hear();
            peer.say();
        }
    }));
    assert!(turns.is_err());
    assert_eq!(link.exit(), Some(Broken::Dropped));
    let mut stats = Box::pin(link.stats());
    let polled = stats.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_ready());
    assert_eq!(moved.run(), Some(Broken::Dropped));
}
