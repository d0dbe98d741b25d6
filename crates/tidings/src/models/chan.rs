//! `channel/chan.rs`: values, handles, and the memory they share.

use std::pin::pin;

use super::{Ledger, block_on, explore, fork, full, poll_once, seen};
use crate::{bounded, channel, unbounded};

#[test]
fn two_producers_and_a_consumer_of_a_full_channel() {
    explore("chan/bounded", &["first", "second"], || {
        let ledger = Ledger::default();
        let (tx, rx) = bounded(1);
        let (other, value) = (tx.clone(), ledger.value(1));
        let other = fork(move || assert!(block_on(other.send(value)).is_ok()));
        let value = ledger.value(2);
        let mine = fork(move || drop(tx.try_send(value)));
        let first = block_on(rx.recv()).unwrap();
        seen(if first.id() == 1 { "first" } else { "second" });
        drop(first);
        let _ = rx.try_recv();
        other.join().unwrap();
        mine.join().unwrap();
        drop(rx);
        ledger.balance();
    });
}

#[test]
fn waiting_senders_of_a_bounded_channel_all_get_through() {
    explore(
        "chan/senders wait",
        &["in order", "the other order"],
        || {
            let ledger = Ledger::default();
            let (tx, rx) = bounded(1);
            let senders = [1, 2].map(|id| {
                let (tx, value) = (tx.clone(), ledger.value(id));
                fork(move || assert!(block_on(tx.send(value)).is_ok()))
            });
            drop(tx);
            let first = block_on(rx.recv()).unwrap().id();
            let second = block_on(rx.recv()).unwrap().id();
            assert_eq!(first + second, 3);
            seen(if first == 1 {
                "in order"
            } else {
                "the other order"
            });
            senders
                .into_iter()
                .for_each(|sender| sender.join().unwrap());
            drop(rx);
            ledger.balance();
        },
    );
}

#[test]
fn the_last_sender_ends_a_receive() {
    explore("chan/last sender", &["received, then closed"], || {
        let ledger = Ledger::default();
        let (tx, rx) = unbounded();
        let value = ledger.value(4);
        let sender = fork(move || tx.try_send(value).unwrap());
        assert_eq!(block_on(rx.recv()).unwrap().id(), 4);
        assert!(block_on(rx.recv()).is_err());
        seen("received, then closed");
        sender.join().unwrap();
        drop(rx);
        ledger.balance();
    });
}

#[test]
fn the_last_receiver_and_a_send_share_the_value_out() {
    explore(
        "chan/last receiver",
        &["sent, then dropped", "given back"],
        || {
            let ledger = Ledger::default();
            let (tx, rx) = unbounded();
            let value = ledger.value(4);
            let receiver = fork(move || drop(rx));
            match tx.try_send(value) {
                Ok(()) => seen("sent, then dropped"),
                Err(error) => {
                    seen("given back");
                    assert_eq!(error.into_inner().id(), 4);
                }
            }
            drop(tx);
            receiver.join().unwrap();
            ledger.balance();
        },
    );
}

#[test]
fn a_weak_handle_is_upgraded_or_finds_the_channel_closed() {
    explore("chan/weak", &["upgraded", "too late"], || {
        let ledger = Ledger::default();
        let (tx, rx) = unbounded();
        let weak = tx.downgrade();
        let value = ledger.value(8);
        let upgrader = fork(move || match weak.upgrade() {
            Some(tx) => {
                seen("upgraded");
                tx.try_send(value).unwrap();
            }
            None => seen("too late"),
        });
        drop(tx);
        if let Ok(value) = block_on(rx.recv()) {
            assert_eq!(value.id(), 8);
        }
        upgrader.join().unwrap();
        drop(rx);
        ledger.balance();
    });
}

#[test]
fn a_weak_handle_may_be_the_last_to_go() {
    explore("chan/free", &["done"], || {
        let ledger = Ledger::default();
        let (tx, rx) = unbounded();
        let weak = rx.downgrade();
        tx.try_send(ledger.value(1)).unwrap();
        let others = [fork(move || drop(weak)), fork(move || drop(tx))];
        drop(rx);
        others.into_iter().for_each(|other| other.join().unwrap());
        seen("done");
        ledger.balance();
    });
}

#[test]
fn a_permit_that_goes_lets_a_sender_in() {
    explore("chan/permit", &["waited", "at once"], || {
        let ledger = Ledger::default();
        let (tx, rx) = bounded(1);
        let (other, value) = (tx.clone(), ledger.value(6));
        let permit = block_on(tx.reserve()).unwrap();
        let sender = fork(move || {
            let mut send = pin!(other.send(value).into_future());
            match poll_once(send.as_mut()) {
                Some(sent) => {
                    seen("at once");
                    sent.unwrap();
                }
                None => {
                    seen("waited");
                    super::block_on_pinned(send).unwrap();
                }
            }
        });
        drop(permit);
        sender.join().unwrap();
        assert_eq!(rx.try_recv().unwrap().id(), 6);
        drop((tx, rx));
        ledger.balance();
    });
}

#[test]
fn a_value_that_comes_back_goes_to_another_receiver() {
    explore("chan/give back", &["kept", "passed on"], || {
        let ledger = Ledger::default();
        let (tx, rx) = unbounded();
        let (other, sender, value) = (rx.clone(), tx.clone(), ledger.value(5));
        let sender = fork(move || sender.try_send(value).unwrap());
        let fickle = fork(move || {
            let mut recv = Box::pin(other.recv().into_future());
            let got = poll_once(recv.as_mut());
            drop(recv);
            match got {
                Some(value) => {
                    seen("kept");
                    tx.try_send(value.unwrap()).unwrap();
                }
                None => seen("passed on"),
            }
            (tx, other)
        });
        assert_eq!(block_on(rx.recv()).unwrap().id(), 5);
        sender.join().unwrap();
        drop((fickle.join().unwrap(), rx));
        ledger.balance();
    });
}

#[test]
fn receiving_many_takes_all_there_is() {
    explore("chan/many", &["both at once", "one by one"], || {
        let ledger = Ledger::default();
        let (tx, rx) = unbounded();
        let values = [1, 2].map(|id| ledger.value(id));
        let sender = fork(move || values.into_iter().for_each(|v| tx.try_send(v).unwrap()));
        let mut got = Vec::new();
        while got.len() < 2 {
            let n = block_on(rx.recv_many(&mut got, 4));
            seen(if n == 2 { "both at once" } else { "one by one" });
        }
        assert_eq!([got[0].id(), got[1].id()], [1, 2]);
        sender.join().unwrap();
        drop((rx, got));
        ledger.balance();
    });
}

#[test]
fn a_rendezvous_of_three() {
    if !full() {
        return;
    }
    explore("chan/rendezvous", &["first", "second"], || {
        let ledger = Ledger::default();
        let (tx, rx) = channel();
        let senders = [1, 2].map(|id| {
            let (tx, value) = (tx.clone(), ledger.value(id));
            fork(move || assert!(block_on(tx.send(value)).is_ok()))
        });
        let first = block_on(rx.recv()).unwrap().id();
        seen(if first == 1 { "first" } else { "second" });
        assert_eq!(first + block_on(rx.recv()).unwrap().id(), 3);
        senders
            .into_iter()
            .for_each(|sender| sender.join().unwrap());
        drop((tx, rx));
        ledger.balance();
    });
}
