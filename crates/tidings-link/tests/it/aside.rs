//! Requests that are put aside undecoded, and what is said behind them of what they carry.

use std::time::Duration;

use tidings::Event;
use tidings::actor::{self, Exit, Reply};
use tidings::remote::Carried;
use tidings::time::Instant;
use tidings_link::memory;
use tidings_link::{End, Exports, Failure, Grant, Incoming, Limits, Link, Options, link};

use crate::by_hand::Peer;
use crate::faults::run;

#[tidings::interface(remote)]
trait Desk {
    async fn lend(&mut self, other: DeskRef) -> ();
    async fn lent(&self) -> Option<DeskRef>;
    async fn keep(&mut self, replies: Vec<Reply<u64>>) -> ();
    async fn throw(&mut self, away: DeskRef) -> ();
}

#[derive(Default)]
struct Drawer(Option<DeskRef>, Vec<Reply<u64>>);

impl Desk for Drawer {
    async fn lend(&mut self, other: DeskRef) {
        self.0 = Some(other);
    }
    async fn lent(&self) -> Option<DeskRef> {
        self.0.clone()
    }
    async fn keep(&mut self, replies: Vec<Reply<u64>>) {
        self.1.extend(replies);
    }
    async fn throw(&mut self, away: DeskRef) {
        drop(away);
    }
}

/// A desk here, and one that was not asked for yet; a link that exports both; and a peer that has the
/// first. It has not said what its clock is: no request of it is begun.
struct Stage {
    here: DeskRef,
    _other: DeskRef,
    _server: Link,
    peer: Peer,
    to: u32,
}

impl Stage {
    async fn new(limits: (Limits, Limits)) -> Self {
        let here: DeskRef = actor::start(Drawer::default());
        let other: DeskRef = actor::start(Drawer::default());
        let (ours, theirs) = memory::pipe();
        let exports = Exports::new().add("desk", &here).add("other", &other);
        let options = Options::new("server").exports(exports).limits(limits.0);
        let (server, driver) = link(ours, options);
        drop(tidings::spawn(driver));
        let mut peer = Peer::new(theirs, limits.1);
        peer.up().await;
        let to = peer.asks(1, "desk", "Desk").await;
        Self {
            here,
            _other: other,
            _server: server,
            peer,
            to,
        }
    }

    /// Calls the first.
    fn calls(&mut self, method: &str, carried: Carried, body: &[u8]) {
        let desk = tidings::remote::interface::<DeskMessage>();
        let method = desk.methods().iter().find(|it| it.name() == method);
        let method = method.unwrap().number();
        let call = self.peer.session.begin_call().unwrap();
        let carried = vec![carried];
        self.peer
            .session
            .call(call, self.to, method, None, carried, &mut body.to_vec());
    }

    /// What was put aside is begun, once what came behind it has been handled.
    async fn begins(&mut self) {
        self.peer.asks(3, "desk", "Desk").await;
        self.peer.session.pong(0, Instant::now());
    }

    /// How the next call ends.
    async fn answer(&mut self) -> Result<(), Failure> {
        let answer = |came: Incoming<'_>| match came {
            Incoming::Answer { outcome, .. } => Some(outcome.map(drop)),
            _ => None,
        };
        self.peer.until(answer).await
    }
}

#[test]
fn an_actor_that_a_request_carries_home_is_there_though_it_was_given_up_behind_it() {
    run(7, || async {
        let mut stage = Stage::new(<_>::default()).await;
        let other = stage.peer.asks(2, "other", "Desk").await;
        stage.calls("lend", Carried::Yours(other), &[0]);
        stage.peer.session.release(other, 1);
        stage.begins().await;
        assert_eq!(stage.answer().await, Ok(()));
        let lent = stage.here.lent().await.unwrap().unwrap();
        assert!(lent.lent().await.unwrap().is_none());
        // And is forgotten then: the number is no actor's.
        stage.calls("lend", Carried::Yours(other), &[0]);
        assert!(matches!(stage.answer().await, Err(Failure::Malformed(_))));
    });
}

#[test]
fn the_end_of_an_actor_is_known_whose_reference_was_put_aside() {
    run(8, || async {
        let mut stage = Stage::new(<_>::default()).await;
        for _ in 0..2 {
            stage.calls("lend", Carried::Mine(5), &[0]);
        }
        stage.peer.session.down(5, End::Normal);
        stage.begins().await;
        for _ in 0..2 {
            assert_eq!(stage.answer().await, Ok(()));
        }
        let lent = stage.here.lent().await.unwrap().unwrap();
        let ended = lent.down().timeout(Duration::from_secs(2)).await;
        assert!(matches!(ended, Ok(Exit::Normal)));
    });
}

#[test]
fn what_is_kept_of_an_end_for_references_that_are_on_their_way_is_short() {
    run(12, || async {
        let mut stage = Stage::new(<_>::default()).await;
        let why = "x".repeat(1024);
        stage.calls("lend", Carried::Mine(5), &[0]);
        stage.peer.session.down(5, End::Linked(why.clone(), why));
        stage.begins().await;
        assert_eq!(stage.answer().await, Ok(()));
        let lent = stage.here.lent().await.unwrap().unwrap();
        let Exit::Linked { actor, exit } = lent.down().await else {
            panic!("it ended with another");
        };
        assert!(actor.len() == 64 && exit.to_string().len() < 100);
    });
}

#[test]
fn a_reply_that_was_put_aside_and_whose_caller_has_gone_is_given_up() {
    run(9, || async {
        let mut stage = Stage::new(<_>::default()).await;
        let kept = stage.peer.session.begin_call().unwrap();
        stage.calls("keep", Carried::Reply(kept, 0), &[1, 0]);
        stage.peer.session.nack(kept);
        stage.begins().await;
        let mut answers = Vec::new();
        for _ in 0..2 {
            let next = tidings::time::timeout(Duration::from_secs(2), stage.answer());
            answers.push(next.await.expect("it is answered"));
        }
        answers.sort_by_key(Result::is_err);
        assert_eq!(answers, [Ok(()), Err(Failure::NoReply)]);
    });
}

#[test]
fn references_to_one_actor_count_each_if_nothing_can_be_sent_to_it() {
    run(10, || async {
        let few = Limits {
            exports: 10,
            ..Limits::default()
        };
        let nothing = Limits {
            link_window: Grant {
                messages: 0,
                bytes: 0,
            },
            ..Limits::default()
        };
        let mut stage = Stage::new((few, nothing)).await;
        stage.begins().await;
        let mut refused = 0;
        for _ in 0..100 {
            // It is dropped at once, and its proxy cannot say so.
            stage.calls("throw", Carried::Mine(5), &[0]);
            refused += usize::from(stage.answer().await.is_err());
        }
        assert!(refused >= 80, "{refused}");
    });
}

#[test]
fn what_waits_carries_no_more_than_it_may() {
    run(11, || async {
        let mut stage = Stage::new(<_>::default()).await;
        let desk = tidings::remote::interface::<DeskMessage>();
        let lend = desk.methods()[0].number();
        // More than a million, of which none costs credit.
        for target in 0..16 {
            for _ in 0..1024 {
                let carried = vec![Carried::Gone; 1024];
                stage
                    .peer
                    .session
                    .tell(100 + target, lend, carried, &mut vec![]);
            }
            if stage.peer.tries().await.is_err() {
                assert_eq!(target, 1);
                return;
            }
        }
        panic!("all of it waits");
    });
}
