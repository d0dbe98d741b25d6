//! A peer that says much and reads nothing: what is kept for it is bounded, and when it reads it has all.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures::io::{AsyncRead, AsyncWrite};
use tidings::actor::Builder;
use tidings::remote::{Carried, interface};
use tidings::time::Instant;
use tidings_link::memory::{self, Pipe};
use tidings_link::{Broken, Exports, Grant, Incoming, Limits, Link, Options, Session, link};

use crate::by_hand;
use crate::faults::run;
use crate::nodes::peer;
use crate::turns::Moved;

/// As little as may wait, and that as long as the test takes.
fn narrow() -> Limits {
    Limits {
        outgoing: 64 << 10,
        control: u32::MAX,
        silence: Duration::from_secs(1_000),
        stall: Duration::from_secs(1_000),
        ..Limits::default()
    }
}

/// The other end.
struct Talker {
    session: Session,
    pipe: Pipe,
}

impl Talker {
    /// Says so much of what it has to say as is read. `false`: it is not read any more.
    fn say(&mut self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            let output = self.session.output();
            if output.is_empty() {
                return true;
            }
            match Pin::new(&mut self.pipe).poll_write(&mut cx, output) {
                Poll::Ready(n) => self.session.written(n.unwrap()),
                Poll::Pending => return false,
            }
        }
    }

    /// Hears what has been said; how many answers to pings are in it, and to calls.
    fn hear(&mut self, heard: &mut Vec<u8>) -> (usize, usize) {
        let mut cx = Context::from_waker(Waker::noop());
        let mut room = [0; 1 << 16];
        while let Poll::Ready(n) = Pin::new(&mut self.pipe).poll_read(&mut cx, &mut room) {
            heard.extend_from_slice(&room[..n.unwrap()]);
        }
        let (mut taken, mut pongs, mut answers) = (0, 0, 0);
        while let Some((length, came)) = self
            .session
            .receive(&heard[taken..], Instant::now())
            .unwrap()
        {
            taken += length;
            match came {
                Some(Incoming::Pong) => pongs += 1,
                Some(Incoming::Answer { .. }) => answers += 1,
                _ => {}
            }
        }
        heard.drain(..taken);
        (pongs, answers)
    }
}

/// A link that is moved by hand, and one that has greeted it and said that it still waits.
fn stage(limits: Limits) -> (Talker, Link, Moved) {
    let (ours, pipe) = memory::pipe();
    let (link, mut moved) = Moved::with(ours, Options::new("server").limits(limits));
    let mut talker = Talker {
        session: peer(Limits {
            control: u32::MAX,
            ..Limits::default()
        }),
        pipe,
    };
    moved.turns();
    assert_eq!(talker.hear(&mut Vec::new()), (0, 0));
    talker.session.pong(0, Instant::now());
    assert!(talker.say());
    moved.turns();
    // The answer to its greeting.
    assert_eq!(talker.hear(&mut Vec::new()), (1, 0));
    (talker, link, moved)
}

#[test]
fn a_peer_that_does_not_read_is_not_read_and_when_it_reads_it_has_all() {
    let (mut talker, link, mut moved) = stage(narrow());
    let mut said = 0;
    loop {
        for _ in 0..1_000 {
            talker.session.ping(Instant::now());
        }
        said += 1_000;
        assert!(said < 2_000_000, "all of it is read");
        if !talker.say() {
            assert_eq!(moved.run(), None);
            // It was only slower than that.
            if !talker.say() {
                break;
            }
        }
        assert_eq!(moved.run(), None);
    }
    let (mut heard, mut pongs) = (Vec::new(), 0);
    while pongs < said {
        let more = talker.hear(&mut heard).0;
        pongs += more;
        talker.say();
        assert_eq!(moved.run(), None);
        assert!(more > 0, "{pongs} of {said}");
    }
    assert_eq!((pongs, link.exit()), (said, None));
}

#[test]
fn calls_beyond_the_limit_wait_for_room_as_all_requests_do() {
    let few = Limits {
        link_window: Grant {
            messages: 64,
            bytes: 1 << 20,
        },
        ..narrow()
    };
    let carried: Vec<_> = (0..1_024).map(Carried::Mine).collect();
    let (mut talker, _link, mut moved) = stage(few);
    // Each has an answer, and a word for each reference that it carries.
    for said in 0..1_000 {
        let carried = carried.clone();
        talker
            .session
            .call(1 << 16, 0, 0, None, carried, &mut vec![]);
        assert!(talker.say());
        if let Some(why) = moved.run() {
            // Those that wait keep their credit.
            assert_eq!(why, Broken::Credit);
            assert!((64..200).contains(&said), "{said}");
            return;
        }
    }
    panic!("all of them are answered");
}

#[test]
fn calls_beyond_the_limit_that_wait_are_answered_when_the_peer_reads() {
    let (mut talker, link, mut moved) = stage(narrow());
    let carried: Vec<_> = (0..1_024).map(Carried::Mine).collect();
    for _ in 0..200 {
        let carried = carried.clone();
        talker
            .session
            .call(1 << 16, 0, 0, None, carried, &mut vec![]);
        assert!(talker.say());
        assert_eq!(moved.run(), None);
    }
    // No call of a session has this number: what comes for it is counted by its bytes.
    let (mut cx, mut room) = (Context::from_waker(Waker::noop()), [0; 1 << 16]);
    let mut heard = Vec::new();
    while let Poll::Ready(n) = Pin::new(&mut talker.pipe).poll_read(&mut cx, &mut room) {
        heard.extend_from_slice(&room[..n.unwrap()]);
        assert_eq!(moved.run(), None);
    }
    let (mut rest, mut answers) = (&heard[..], 0);
    while let Some((length, frame)) = rest.split_first_chunk::<4>() {
        answers += usize::from(frame[0] == 5);
        rest = &frame[u32::from_le_bytes(*length) as usize..];
    }
    assert_eq!((answers, link.exit()), (200, None));
}

#[tidings::interface(remote)]
trait Shelf {
    async fn page(&mut self) -> Vec<u8>;
}

/// Counts the pages that it was asked for.
struct Pages(Arc<AtomicUsize>);

impl Shelf for Pages {
    async fn page(&mut self) -> Vec<u8> {
        self.0.fetch_add(1, Relaxed);
        vec![7; 16 << 10]
    }
}

#[test]
fn requests_behind_others_for_their_actor_wait_for_room_and_are_answered_when_the_peer_reads() {
    const CALLS: usize = 500;
    run(3, || async {
        let (ours, theirs) = memory::pipe();
        let begun = Arc::<AtomicUsize>::default();
        let shelf: ShelfRef = Builder::new().capacity(1).start(Pages(Arc::clone(&begun)));
        let options = Options::new("server").exports(Exports::new().add("shelf", &shelf));
        let (server, driver) = link(ours, options.limits(narrow()));
        drop(tidings::spawn(driver));
        let mut peer = by_hand::Peer::new(theirs, narrow());
        peer.up().await;
        peer.session.pong(0, Instant::now());
        let target = peer.asks(1, "shelf", "Shelf").await;
        let number = interface::<ShelfMessage>().methods()[0].number();
        for _ in 0..CALLS {
            let call = peer.session.begin_call().unwrap();
            peer.session
                .call(call, target, number, None, vec![], &mut vec![]);
        }
        peer.say().await;
        tidings::after(Duration::from_secs(1)).await;
        // Sixteen go into the pipe, four may wait, and a few are with their actor.
        let most = begun.load(Relaxed);
        assert!((16..32).contains(&most), "{most}");
        assert!(server.stats().await.congested > 0);
        let mut answers = 0;
        peer.until(|came| {
            answers += usize::from(matches!(came, Incoming::Answer { outcome: Ok(_), .. }));
            (answers == CALLS).then_some(())
        })
        .await;
        assert_eq!((begun.load(Relaxed), server.exit()), (CALLS, None));
    });
}

#[test]
fn it_is_no_silence_of_the_peers_that_it_is_not_read() {
    run(1, || async {
        let (ours, theirs) = memory::pipe();
        let limits = Limits {
            silence: Duration::from_secs(3),
            stall: Duration::from_secs(10),
            ..narrow()
        };
        let (server, driver) = link(ours, Options::new("server").limits(limits));
        drop(tidings::spawn(driver));
        let mut peer = by_hand::Peer::new(theirs, Limits::default());
        peer.up().await;
        drop(tidings::spawn(async move {
            loop {
                for _ in 0..1_000 {
                    peer.session.ping(Instant::now());
                }
                if peer.tries().await.is_err() {
                    return;
                }
            }
        }));
        // It is the time for writing that ends it.
        assert_eq!(server.down().await, Broken::SlowPeer);
    });
}

#[test]
fn who_gives_up_no_reference_breaks_the_rules() {
    run(2, || async {
        let (ours, theirs) = memory::pipe();
        let counter: crate::nodes::CounterRef =
            tidings::actor::start(crate::nodes::Tally::default());
        let exports = Exports::new().add("counter", &counter);
        let (server, driver) = link(ours, Options::new("server").exports(exports));
        drop(tidings::spawn(driver));
        let mut peer = by_hand::Peer::new(theirs, Limits::default());
        peer.up().await;
        let target = peer.asks(1, "counter", "Counter").await;
        peer.session.release(target, 0);
        peer.say().await;
        let why = Broken::Protocol("a reference is given up that was not sent");
        assert_eq!(server.down().await, why);
    });
}
