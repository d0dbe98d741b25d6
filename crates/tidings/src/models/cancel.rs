//! `cancel.rs`: who learns of a cancellation sees what came before it.

use std::future::IntoFuture;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use super::{block_on, explore, fork, seen};
use crate::primitive::UnsafeCell;
use crate::primitive::atomic::{AtomicUsize, Ordering};
use crate::{CancellationToken, Event};

#[test]
fn what_the_canceller_did_is_seen_by_who_looks() {
    explore("cancel/look", &["cancelled", "not yet"], || {
        let token = CancellationToken::new();
        let reason = Arc::new(UnsafeCell::new(0));
        let (canceller, writes) = (token.clone(), Arc::clone(&reason));
        let canceller = fork(move || {
            // SAFETY: loom fails the model if the reader is not ordered behind us.
            writes.with_mut(|reason| unsafe { *reason = 1 });
            canceller.cancel();
        });
        if token.is_cancelled() {
            // SAFETY: as above.
            assert_eq!(reason.with(|reason| unsafe { *reason }), 1);
            seen("cancelled");
        } else {
            seen("not yet");
        }
        canceller.join().unwrap();
        assert!(token.is_cancelled());
    });
}

#[test]
fn a_wait_hears_of_a_cancellation() {
    explore("cancel/wait", &["heard"], || {
        let token = CancellationToken::new();
        let canceller = token.clone();
        let canceller = fork(move || canceller.cancel());
        block_on(token.cancelled());
        seen("heard");
        canceller.join().unwrap();
    });
}

#[test]
fn a_child_is_cancelled_with_its_parent_or_born_so() {
    explore("cancel/child", &["born so", "with its parent"], || {
        let parent = CancellationToken::new();
        let canceller = parent.clone();
        let canceller = fork(move || canceller.cancel());
        let child = parent.child_token();
        seen(if child.is_cancelled() {
            "born so"
        } else {
            "with its parent"
        });
        canceller.join().unwrap();
        assert!(child.is_cancelled());
    });
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn two_cancellations_end_a_wait_for_either_once() {
    explore("cancel/either", &["one", "other"], || {
        let wakes = Arc::new(Wakes::default());
        // A waker that is taken twice is dropped twice: the count must not reach nothing.
        let spare = Arc::clone(&wakes);
        let waker = Waker::from(Arc::clone(&wakes));
        let mut cx = Context::from_waker(&waker);
        let (one, other) = (CancellationToken::new(), CancellationToken::new());
        let either = one.cancelled().map(|()| "one");
        let either = either.or(other.cancelled().map(|()| "other"));
        let mut either = pin!(either.into_future());
        assert!(either.as_mut().poll(&mut cx).is_pending());
        let theirs = other.clone();
        let canceller = fork(move || theirs.cancel());
        one.cancel();
        canceller.join().unwrap();
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1, "woken once");
        let Poll::Ready(which) = either.poll(&mut cx) else {
            panic!("it was woken and is not ready");
        };
        seen(which);
        drop(waker);
        assert_eq!(Arc::strong_count(&spare), 2, "its waker is dropped once");
    });
}
