//! A peer that gives a call of its own the number of another that is under way.

use tidings::remote::Carried;
use tidings::time::Instant;
use tidings::{Event, actor};
use tidings_link::{Broken, Exports, Incoming, Limits, Link, Options, link, memory};

use crate::by_hand::Peer;
use crate::nodes::{CounterMessage, CounterRef, LONG, Tally};

/// A link that allows two calls at a time, and a peer of which that with the number 0 is under way.
struct Stage {
    link: Link,
    peer: Peer,
    to: u32,
}

fn wait() -> u32 {
    let counter = tidings::remote::interface::<CounterMessage>();
    let wait = counter.methods().iter().find(|it| it.name() == "wait");
    wait.unwrap().number()
}

impl Stage {
    async fn new() -> Self {
        let counter: CounterRef = actor::start(Tally::default());
        let few = Limits {
            calls: 2,
            ..Limits::default()
        };
        let (ours, theirs) = memory::pipe();
        let exports = Exports::new().add("counter", &counter);
        let options = Options::new("server").exports(exports).limits(few);
        let (link, driver) = link(ours, options);
        drop(tidings::spawn(driver));
        let mut peer = Peer::new(theirs, Limits::default());
        peer.up().await;
        let to = peer.asks(1, "counter", "Counter").await;
        // Its requests are begun from here on.
        peer.session.pong(0, Instant::now());
        let mut stage = Self { link, peer, to };
        stage.calls(0, vec![]);
        stage
    }

    fn calls(&mut self, number: u32, carried: Vec<Carried>) {
        let to = self.to;
        self.peer
            .session
            .call(number, to, wait(), None, carried, &mut vec![]);
    }

    async fn ends(mut self) {
        self.peer.say().await;
        let why = self.link.down().timeout(LONG).await.unwrap();
        assert_eq!(why, Broken::Protocol("a call whose number is in use"));
    }
}

/// The reply of the call that is under way.
fn again() -> Vec<Carried> {
    vec![Carried::Reply(0, 0)]
}

#[tidings::test]
async fn a_message_that_is_refused_uses_no_number_twice() {
    let mut stage = Stage::new().await;
    // There is no such actor.
    stage.peer.session.tell(99, 0, again(), &mut vec![]);
    stage.ends().await;
}

#[tidings::test]
async fn a_call_beyond_the_limit_uses_no_number_twice() {
    let mut stage = Stage::new().await;
    // No call may have that number.
    stage.calls(7, again());
    stage.ends().await;
    let mut stage = Stage::new().await;
    stage.calls(1, vec![]);
    // There are as many as may be.
    stage.calls(2, again());
    stage.ends().await;
}

#[tidings::test]
async fn an_answer_uses_no_number_twice() {
    // Its caller takes nothing of what it carries, or has gone.
    for waits in [true, false] {
        let mut stage = Stage::new().await;
        let theirs = tidings::spawn(stage.link.get::<CounterRef>("theirs"));
        let asked = |came: Incoming<'_>| match came {
            Incoming::Bind(bind) => Some(bind.id),
            _ => None,
        };
        let id = stage.peer.until(asked).await;
        stage.peer.session.bound(id, Ok(5));
        stage.peer.say().await;
        let theirs = theirs.await.unwrap().unwrap();
        let caller = tidings::spawn(async move { theirs.get().await });
        let called = |came: Incoming<'_>| match came {
            Incoming::Request { call, .. } => call,
            _ => None,
        };
        let call = stage.peer.until(called).await;
        if !waits {
            caller.abort();
            let left = |came: Incoming<'_>| matches!(came, Incoming::Nack(_)).then_some(());
            stage.peer.until(left).await;
        }
        stage.peer.session.answer(call, Ok(again()), &mut vec![0]);
        stage.ends().await;
    }
}
