//! Who leaves something for an idle link moves it: what holds while somebody does and the driver, its
//! end, or another link comes in between. Moved by hand: no runtime, no other thread.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use tidings::actor::CallError;
use tidings::time::Instant;
use tidings_link::memory;
use tidings_link::{Broken, Exports, Limits, Link, Options};

use crate::nodes::CounterRef;
use crate::turns::{Gated, Moved, Peer, calls, poll, up_over};

type Act = Box<dyn FnOnce() + Send>;

/// What happens next in the middle of a write.
type Meanwhile = Arc<Mutex<Option<Act>>>;

fn happens(meanwhile: &Meanwhile, act: impl FnOnce() + Send + 'static) {
    *meanwhile.lock().unwrap() = Some(Box::new(act));
}

struct Stage {
    peer: Arc<Mutex<Peer>>,
    moved: Arc<Mutex<Option<Moved>>>,
    meanwhile: Meanwhile,
    link: Link,
    there: CounterRef,
}

/// A link that is up and idle, in whose writes something may happen.
fn stage() -> Stage {
    stage_with(Limits::default())
}

/// The same, to a peer with these limits.
fn stage_with(limits: Limits) -> Stage {
    let meanwhile = Meanwhile::default();
    let within = Arc::clone(&meanwhile);
    let interrupted = |pipe| Gated {
        pipe,
        takes: move || {
            let act = within.lock().unwrap().take();
            if let Some(act) = act {
                act();
            }
            true
        },
    };
    let (peer, moved, link, there) = up_over(interrupted, limits);
    Stage {
        peer: Arc::new(Mutex::new(peer)),
        moved: Arc::new(Mutex::new(Some(moved))),
        meanwhile,
        link,
        there,
    }
}

impl Stage {
    fn hear(&self) -> Vec<u32> {
        self.peer.lock().unwrap().hear()
    }

    /// Has the driver its turns, if it was woken. How the link has ended.
    fn run(&self) -> Option<Broken> {
        let mut moved = self.moved.lock().unwrap();
        moved.as_mut().and_then(Moved::run)
    }
}

#[test]
fn an_answer_that_comes_while_a_caller_moves_the_link_is_read() {
    let stage = stage();
    let mut first = calls(&stage.there, 1);
    let begun = stage.hear();
    assert_eq!(begun.len(), 1);
    // The driver is woken by the answer, and does not find the link.
    let (peer, moved) = (Arc::clone(&stage.peer), Arc::clone(&stage.moved));
    happens(&stage.meanwhile, move || {
        peer.lock().unwrap().answer(&begun);
        assert_eq!(moved.lock().unwrap().as_mut().unwrap().run(), None);
    });
    let _second = calls(&stage.there, 1);
    assert!(stage.meanwhile.lock().unwrap().is_none(), "it happened");
    assert_eq!(stage.run(), None);
    assert!(poll(&mut first[0]));
}

#[test]
fn who_leaves_as_his_answer_comes_does_not_end_the_next_call_of_its_number() {
    let stage = stage_with(Limits {
        calls: 1,
        ..Limits::default()
    });
    let leaves = calls(&stage.there, 1);
    let begun = stage.hear();
    // Its turn comes with the answer to the first.
    let mut next = calls(&stage.there, 1);
    assert!(stage.hear().is_empty());
    let peer = Arc::clone(&stage.peer);
    let answered = begun.clone();
    happens(&stage.meanwhile, move || {
        drop(leaves);
        peer.lock().unwrap().answer(&answered);
    });
    // The driver writes what it says to this in the middle of its turn.
    let mut peer = stage.peer.lock().unwrap();
    peer.session.ping(Instant::now());
    peer.say();
    drop(peer);
    assert_eq!(stage.run(), None);
    assert!(stage.meanwhile.lock().unwrap().is_none(), "it happened");
    assert_eq!(stage.hear(), begun, "the number is the same");
    stage.peer.lock().unwrap().answer(&begun);
    assert_eq!(stage.run(), None);
    assert!(poll(&mut next[0]));
}

#[test]
fn a_driver_that_is_dropped_while_a_caller_moves_the_link_ends_it() {
    let stage = stage();
    let moved = Arc::clone(&stage.moved);
    happens(&stage.meanwhile, move || drop(moved.lock().unwrap().take()));
    let mut call = Box::pin(async { stage.there.get().await });
    let mut cx = Context::from_waker(Waker::noop());
    // It hears of the end, and the peer, too.
    let polled = call.as_mut().poll(&mut cx);
    let polled = if polled.is_pending() {
        call.as_mut().poll(&mut cx)
    } else {
        polled
    };
    assert!(
        matches!(polled, Poll::Ready(Err(CallError::Ended(_)))),
        "{polled:?}"
    );
    assert_eq!(stage.link.exit(), Some(Broken::Dropped));
    assert!(stage.peer.lock().unwrap().is_at_the_end());
}

#[test]
fn what_is_asked_of_a_link_that_was_told_to_drain_is_not_sent() {
    let stage = stage();
    // The driver has not had its turn.
    stage.link.drain();
    let mut call = Box::pin(async { stage.there.get().await });
    let mut cx = Context::from_waker(Waker::noop());
    assert!(call.as_mut().poll(&mut cx).is_pending());
    assert!(stage.hear().is_empty());
    assert_eq!(stage.run(), None);
    assert!(stage.hear().is_empty());
    let polled = call.as_mut().poll(&mut cx);
    assert!(
        matches!(polled, Poll::Ready(Err(CallError::NotExecuted(_)))),
        "{polled:?}"
    );
}

#[test]
fn a_link_whose_peer_goes_as_it_drains_was_drained_if_nothing_was_under_way() {
    for under_way in [true, false] {
        let Stage {
            peer,
            moved,
            link,
            there,
            ..
        } = stage();
        let mut moved = moved.lock().unwrap().take().unwrap();
        let mut waiting = calls(&there, usize::from(under_way));
        link.drain();
        assert_eq!(moved.run(), None);
        let mut peer = Arc::into_inner(peer).unwrap().into_inner().unwrap();
        assert_eq!(peer.hear().len(), waiting.len());
        // Both have said goodbye, and the peer goes.
        peer.session.drain();
        peer.say();
        drop(peer);
        let ended = if under_way {
            Broken::Closed
        } else {
            Broken::Drained
        };
        assert_eq!(moved.run(), Some(ended.clone()));
        assert_eq!(link.exit(), Some(ended));
        let mut cx = Context::from_waker(Waker::noop());
        for call in &mut waiting {
            let polled = call.as_mut().poll(&mut cx);
            assert!(matches!(polled, Poll::Ready(Err(CallError::Ended(_)))));
        }
    }
}

#[test]
fn a_link_whose_peer_goes_before_it_has_said_goodbye_is_closed() {
    let Stage {
        peer, moved, link, ..
    } = stage();
    let mut moved = moved.lock().unwrap().take().unwrap();
    link.drain();
    assert_eq!(moved.run(), None);
    drop(peer);
    assert_eq!(moved.run(), Some(Broken::Closed));
}

#[test]
fn a_link_is_drained_when_its_last_reference_is_dropped_by_who_moves_it() {
    let Stage {
        peer,
        moved,
        link,
        there,
        ..
    } = stage();
    drop(link);
    let mut moved = moved.lock().unwrap().take().unwrap();
    assert_eq!(moved.run(), None);
    peer.lock().unwrap().hear();
    assert!(!peer.lock().unwrap().session.is_draining());
    drop(there);
    assert_eq!(moved.run(), None);
    let mut peer = peer.lock().unwrap();
    peer.hear();
    assert!(peer.session.is_draining(), "nobody uses it any more");
    peer.session.drain();
    peer.say();
    assert_eq!(moved.run(), Some(Broken::Drained));
}

#[test]
fn what_a_link_brings_for_another_waits_for_the_driver_of_that_and_the_answer_goes_back() {
    let far = stage();
    let (ours, theirs) = memory::pipe();
    let exports = Exports::new().add("counter", &far.there);
    let (_middle, mut middle) = Moved::with(theirs, Options::new("middle").exports(exports));
    let (near, mut driver) = Moved::new(ours);
    let mut get = Box::pin(near.get::<CounterRef>("counter"));
    let mut cx = Context::from_waker(Waker::noop());
    let got = loop {
        middle.turns();
        driver.turns();
        if let Poll::Ready(got) = get.as_mut().poll(&mut cx) {
            break got.unwrap();
        }
    };
    let mut waiting = calls(&got, 1);
    // However many links lie behind each other, one is moved at a time on a thread.
    assert_eq!(middle.run(), None);
    assert!(far.hear().is_empty());
    assert_eq!(far.run(), None);
    let begun = far.hear();
    assert_eq!(begun.len(), 1);
    far.peer.lock().unwrap().answer(&begun);
    assert_eq!(far.run(), None);
    assert_eq!((middle.run(), driver.run()), (None, None));
    assert!(poll(&mut waiting[0]));
}
