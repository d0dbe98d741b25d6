//! `channel/oneshot`: two halves, one value, one allocation.

use super::{Ledger, block_on, explore, fork, poll_once, seen};
use crate::oneshot;

#[test]
fn a_send_meets_a_receive() {
    explore("oneshot", &["received"], || {
        let ledger = Ledger::default();
        let (tx, rx) = oneshot();
        let value = ledger.value(1);
        let sender = fork(move || tx.send(value).unwrap());
        assert_eq!(block_on(rx).unwrap().id(), 1);
        seen("received");
        sender.join().unwrap();
        ledger.balance();
    });
}

#[test]
fn a_receiver_that_goes_gives_back_or_drops_the_value() {
    explore("oneshot/receiver goes", &["given back", "dropped"], || {
        let ledger = Ledger::default();
        let (tx, rx) = oneshot();
        let receiver = fork(move || drop(rx));
        match tx.send(ledger.value(2)) {
            Ok(()) => seen("dropped"),
            Err(value) => {
                seen("given back");
                assert_eq!(value.id(), 2);
            }
        }
        receiver.join().unwrap();
        ledger.balance();
    });
}

#[test]
fn a_sender_that_goes_ends_the_receive() {
    explore("oneshot/sender goes", &["ended"], || {
        let (tx, rx) = oneshot::<u8>();
        let sender = fork(move || drop(tx));
        assert!(block_on(rx).is_err());
        seen("ended");
        sender.join().unwrap();
    });
}

#[test]
fn a_wait_that_is_dropped_leaves_the_value_for_the_next() {
    explore("oneshot/withdraw", &["at once", "later"], || {
        let ledger = Ledger::default();
        let (tx, mut rx) = oneshot();
        let value = ledger.value(3);
        let sender = fork(move || tx.send(value).unwrap());
        let mut recv = Box::pin(rx.recv().into_future());
        let got = poll_once(recv.as_mut());
        drop(recv);
        let got = match got {
            Some(got) => {
                seen("at once");
                got
            }
            None => {
                seen("later");
                block_on(rx.recv())
            }
        };
        assert_eq!(got.unwrap().id(), 3);
        sender.join().unwrap();
        drop(rx);
        ledger.balance();
    });
}

#[test]
fn a_sender_hears_that_the_receiver_goes() {
    explore("oneshot/closed", &["heard"], || {
        let (tx, rx) = oneshot::<u8>();
        let receiver = fork(move || drop(rx));
        block_on(tx.closed());
        seen("heard");
        drop(tx);
        receiver.join().unwrap();
    });
}
