//! Cancellation tokens: everybody below hears, nobody above.

use crate::by_hand::{Chance, on_tokio, poll, poll_and_drop, rt};
use std::pin::pin;
use tidings::{CancellationToken, Event, always};

#[test]
fn cancelling_reaches_clones_and_children_only() {
    let root = CancellationToken::new();
    let (left, right) = (root.child_token(), root.child_token());
    let below = left.child_token();
    left.clone().cancel();
    assert!(left.is_cancelled() && below.is_cancelled());
    assert!(!root.is_cancelled() && !right.is_cancelled());
    assert!(left.child_token().is_cancelled());
    root.cancel();
    root.cancel();
    assert!(right.is_cancelled());
    right.cancelled().wait();
}

#[test]
fn waits_leave_nothing_behind() {
    let token = CancellationToken::new();
    poll_and_drop(token.cancelled());
    {
        let mut wait = pin!(token.cancelled().into_future());
        assert!(poll(wait.as_mut()).is_pending());
        assert!(format!("{token:?}").contains("waiting: 1"));
    }
    assert!(format!("{token:?}").contains("waiting: 0"));
    drop(token.child_token());
    assert!(format!("{token:?}").contains("children: 0"));
    assert_eq!(token.cancelled().map(|()| 1).or(always(2)).wait(), 2);
}

#[test]
fn a_child_outlives_its_parent_and_guards_cancel() {
    let child = CancellationToken::new().child_token();
    assert!(!child.is_cancelled());
    let guard = child.clone().drop_guard();
    assert!(!guard.disarm().is_cancelled());
    drop(child.clone().drop_guard());
    assert!(child.is_cancelled());
}

#[test]
fn everybody_wakes() {
    let token = CancellationToken::new();
    let children: Vec<_> = (0..10).map(|_| token.child_token()).collect();
    let mut waits: Vec<_> = children
        .iter()
        .flat_map(|child| (0..10).map(move |_| Box::pin(child.cancelled().into_future())))
        .collect();
    assert!(
        waits
            .iter_mut()
            .all(|wait| poll(wait.as_mut()).is_pending())
    );
    token.cancel();
    assert!(waits.iter_mut().all(|wait| poll(wait.as_mut()).is_ready()));
}

#[test]
fn stress_children_are_born_while_their_parents_are_cancelled() {
    rt().block_on(async {
        for _ in 0..200 {
            let root = CancellationToken::new();
            let tasks: Vec<_> = (0..8)
                .map(|seed| {
                    let mut token = root.clone();
                    tidings::spawn(async move {
                        let mut chance = Chance::new(seed);
                        for _ in 0..chance.below(20) {
                            token = token.child_token();
                            if chance.below(8) == 0 {
                                let _ = chance.maybe(token.cancelled()).await;
                            }
                        }
                        token.cancelled().await;
                    })
                })
                .collect();
            tidings::yield_now().await;
            root.cancel();
            for task in tasks {
                task.await.unwrap();
            }
            assert!(format!("{root:?}").contains("children: 0, waiting: 0"));
        }
    });
}

#[test]
fn under_tokio() {
    let token = CancellationToken::new();
    let child = token.child_token();
    on_tokio(async move {
        let task = tokio::spawn(async move { child.cancelled().await });
        tokio::task::yield_now().await;
        token.cancel();
        task.await.unwrap();
    });
}

#[test]
fn a_line_of_tokens_that_is_longer_than_the_stack_is_dropped() {
    let root = CancellationToken::new();
    let mut token = root.clone();
    for _ in 0..200_000 {
        token = token.child_token();
    }
    drop(token);
    assert!(format!("{root:?}").contains("children: 0"));
}
