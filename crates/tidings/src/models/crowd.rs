//! `actor/crowd.rs`: futures that one task polls, each when it was woken.

use std::sync::Arc;

use super::{Ledger, Value, block_on, explore, fork, note, seen};
use crate::actor::crowd::Crowd;
use crate::oneshot;

#[test]
fn a_member_that_is_woken_is_polled() {
    explore("crowd", &["at once", "later"], || {
        let crowd = Crowd::new();
        let ledger = Ledger::default();
        let (tx, mut rx) = oneshot::<Value>();
        let value = ledger.value(1);
        let member = async move {
            match rx.try_recv() {
                Ok(value) => {
                    seen("at once");
                    assert_eq!(value.id(), 1);
                }
                Err(_) => {
                    assert_eq!(rx.recv().await.unwrap().id(), 1);
                    seen("later");
                }
            }
        };
        crowd.add(Box::pin(member), true);
        let sender = fork(move || tx.send(value).unwrap());
        block_on(crowd.quiet());
        sender.join().unwrap();
        ledger.balance();
    });
}

#[test]
fn a_member_that_is_added_wakes_the_task() {
    explore("crowd/add", &["polled"], || {
        let crowd = Crowd::new();
        crowd.add(Box::pin(std::future::pending()), false);
        let (tx, rx) = oneshot();
        crowd.add(Box::pin(async move { rx.await.unwrap() }), true);
        let adder = fork({
            let crowd = Arc::clone(&crowd);
            move || {
                let last = async move {
                    note("polled");
                    tx.send(()).unwrap();
                };
                crowd.add(Box::pin(last), false);
            }
        });
        block_on(crowd.quiet());
        adder.join().unwrap();
        crowd.close();
    });
}

#[test]
fn a_member_that_is_removed_is_not_polled_again() {
    explore(
        "crowd/remove",
        &["before its wake", "after its wake"],
        || {
            let crowd = Crowd::new();
            let ledger = Ledger::default();
            let held = ledger.value(1);
            let (tx, rx) = oneshot::<()>();
            let key = crowd.add(
                Box::pin(async move {
                    let _held = held;
                    let _ = rx.await;
                    unreachable!("it was removed before the next turn");
                }),
                false,
            );
            crowd.poll();
            let waker = fork(move || match tx.send(()) {
                Ok(()) => seen("after its wake"),
                Err(()) => seen("before its wake"),
            });
            assert!(crowd.remove(key));
            assert!(!crowd.remove(key));
            crowd.poll();
            waker.join().unwrap();
            crowd.poll();
            ledger.balance();
        },
    );
}
