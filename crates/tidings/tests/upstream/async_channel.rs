//! What async-channel's tests (`tests/{bounded,unbounded}.rs`, 2.5.0) have beside those of other
//! suites: waits that are begun and not gone on with.

use std::task::Poll;

use crate::both::on_all;
use crate::hands::{pinned, poll};
use crate::turns;
use tidings::{RecvError, bounded};

/// `forget_blocked_sender`: there, who is not polled any more is passed over and its value never
/// comes. Here the value is in its turn, for it lies in the wait: who takes it asks nobody.
#[test]
fn a_send_that_is_polled_no_more_holds_up_nobody_and_is_taken_in_its_turn() {
    on_all(|| async {
        let (tx, rx) = bounded(2);
        tx.try_send(3).unwrap();
        tx.try_send(7).unwrap();
        let mut left = pinned(tx.send(13));
        assert!(poll(left.as_mut()).is_pending());
        let behind = tidings::spawn({
            let tx = tx.clone();
            async move { tx.send(42).await }
        });
        turns(3).await;
        for expected in [3, 7, 13, 42] {
            assert_eq!(rx.recv().await, Ok(expected));
        }
        assert_eq!(behind.await.unwrap(), Ok(()));
        assert_eq!(poll(left.as_mut()), Poll::Ready(Ok(())));
    });
}

/// `forget_blocked_receiver`: what comes to who is not polled any more is his until his wait is
/// dropped; those behind him get what comes after it, and then that.
#[test]
fn a_receive_that_is_polled_no_more_holds_up_nobody_and_gives_back_what_it_got() {
    on_all(|| async {
        let (tx, rx) = bounded(2);
        let mut left = pinned(rx.recv());
        assert!(poll(left.as_mut()).is_pending());
        let behind = tidings::spawn({
            let rx = rx.clone();
            async move { rx.recv().await }
        });
        turns(3).await;
        tx.send(3).await.unwrap();
        tx.send(7).await.unwrap();
        assert_eq!(behind.await.unwrap(), Ok(7));
        tx.try_send(42).unwrap();
        drop((left, tx));
        for expected in [Ok(3), Ok(42), Err(RecvError)] {
            assert_eq!(rx.recv().await, expected);
        }
    });
}
