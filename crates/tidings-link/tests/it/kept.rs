//! How long interceptors keep what they give, and when they are asked.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use tidings::actor::{self, Builder, CallError, Mailbox};
use tidings_link::{Broken, Exports, Limits, Options};

use crate::faults::run;
use crate::intercept::{DeskMessage, DeskRef, Drawer, Stage, refusal};
use crate::nodes::linked;

#[test]
fn what_an_interceptor_gives_is_kept_until_the_call_is_answered_or_left_or_the_link_ends() {
    run(5, || async {
        let stage = Stage::new(&[], Limits::default()).await;
        let asked = stage.asks().await;
        tidings::after(Duration::from_secs(1)).await;
        assert_eq!(stage.gate.flying(), 1);
        stage.here.answer().await.unwrap();
        assert_eq!(asked.await.unwrap().unwrap(), 7);
        assert_eq!(stage.gate.flying(), 0);

        let left = stage.there.wait().timeout(Duration::from_secs(1)).await;
        assert!(matches!(left, Err(CallError::Timeout)));
        while stage.server.stats().await.nacks_in == 0 {
            tidings::yield_now().await;
        }
        assert_eq!(stage.gate.seen(), ["wait", "wait"]);
        assert_eq!(stage.gate.flying(), 0);

        let asked = stage.asks().await;
        assert_eq!(stage.gate.flying(), 1);
        stage.server.close();
        assert_eq!(stage.server.down().await, Broken::Dropped);
        assert_eq!(stage.gate.flying(), 0);
        assert!(asked.await.unwrap().is_err());
    });
}

#[test]
fn what_waits_for_a_place_in_a_mailbox_is_seen_once_when_it_is_its_turn() {
    run(6, || async {
        let (open, gate) = tidings::oneshot();
        let late = Builder::new().capacity(1);
        let late = late.spawn(|mut mailbox: Mailbox<DeskMessage>| async move {
            let () = gate.await.unwrap();
            actor::serve(Drawer::default(), &mut mailbox).await;
        });
        let stage = Stage::of(DeskRef::from(&late), &["answer"], Limits::default()).await;
        for n in 0..10 {
            stage.there.note(n).await.unwrap();
        }
        // Behind them, and too late when it is its turn; and one that is refused then.
        let expired = stage.there.noted().timeout(Duration::from_secs(1)).await;
        assert!(matches!(expired, Err(CallError::Timeout)));
        let refused = tidings::spawn({
            let there = stage.there.clone();
            async move { there.answer().await }
        });
        while stage.server.stats().await.calls_in < 2 {
            tidings::yield_now().await;
        }
        // One is in the mailbox, and one waits for a place there.
        assert_eq!(stage.gate.seen(), ["note", "note"]);
        assert_eq!(stage.gate.flying(), 1);
        open.send(()).unwrap();
        assert_eq!(refusal(refused.await.unwrap()), "no answer today");
        assert!(stage.there.noted().await.unwrap().into_iter().eq(0..10));
        let mut seen = vec!["note"; 10];
        seen.extend(["answer", "noted"]);
        assert_eq!(stage.gate.seen(), seen);
        assert_eq!(stage.gate.flying(), 0);
        assert_eq!(stage.server.stats().await.expired, 1);
    });
}

#[test]
fn what_waits_for_a_place_when_the_link_ends_is_kept_no_longer() {
    run(7, || async {
        let deaf = Builder::new().capacity(1);
        let deaf = deaf.spawn(|mailbox: Mailbox<DeskMessage>| async move {
            std::future::pending::<()>().await;
            drop(mailbox);
        });
        let stage = Stage::of(DeskRef::from(&deaf), &[], Limits::default()).await;
        for n in 0..3 {
            stage.there.note(n).await.unwrap();
        }
        while stage.gate.seen().len() < 2 {
            tidings::yield_now().await;
        }
        assert_eq!(stage.gate.flying(), 1);
        stage.server.close();
        stage.server.down().await;
        assert_eq!(stage.gate.flying(), 0);
        deaf.kill();
    });
}

/// An error without words.
#[derive(Debug)]
struct Mute;

impl fmt::Display for Mute {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("it has no text")
    }
}

impl Error for Mute {}

/// Panics as it is dropped.
struct Breaks;

impl Drop for Breaks {
    fn drop(&mut self) {
        panic!("what was kept breaks");
    }
}

#[test]
fn a_panic_of_an_interceptor_is_a_refusal_and_ends_neither_the_link_nor_another_call() {
    run(12, || async {
        let here: DeskRef = actor::start(Drawer::default());
        let options = Options::new("server").exports(Exports::new().add("desk", &here));
        let options = options.intercept(|request| match request.method() {
            "note" | "answer" => panic!("the key is 1234"),
            "count" => Err(Mute.into()),
            _ => Ok(Breaks),
        });
        let (server, client) = linked(options, Options::new("client"));
        let there: DeskRef = client.get("desk").await.unwrap();
        there.note(1).await.unwrap();
        // What it said is not for the peer.
        let told = "the interceptor panicked";
        assert_eq!(refusal(there.answer().await), told);
        assert_eq!(refusal(there.count(1).await.map(drop)), told);
        assert!(there.noted().await.unwrap().is_empty());
        assert_eq!(server.stats().await.refused, 3);
        // Nor does what was kept end the link, however its call ends.
        let left = there.wait().timeout(Duration::from_secs(1)).await;
        assert!(matches!(left, Err(CallError::Timeout)));
        assert!(there.noted().await.unwrap().is_empty());
        let asked = tidings::spawn({
            let there = there.clone();
            async move { there.wait().await }
        });
        while server.stats().await.calls_in < 6 {
            tidings::yield_now().await;
        }
        server.close();
        assert_eq!(server.down().await, Broken::Dropped);
        assert!(asked.await.unwrap().is_err());
    });
}
