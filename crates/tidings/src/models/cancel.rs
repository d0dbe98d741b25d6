//! `cancel.rs`: who learns of a cancellation sees what came before it.

use std::sync::Arc;

use super::{block_on, explore, fork, seen};
use crate::CancellationToken;
use crate::primitive::UnsafeCell;

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
