//! `actor/life.rs`, `actor/mailbox.rs`: the control lane against a receive that goes to sleep, and
//! against the messages it goes past.

use std::pin::pin;

use super::{Ledger, block_on, block_on_pinned, explore, fork, poll_once, seen};
use crate::actor::{Ended, lane};

#[test]
fn a_stop_is_heard_before_a_receive_sleeps_or_wakes_it() {
    explore("actor/stop", &["at once", "woken"], || {
        let (actor, mut mailbox) = lane::<u8>();
        let stopper = fork(move || {
            actor.stop();
            actor
        });
        let mut recv = pin!(mailbox.recv().into_future());
        let got = match poll_once(recv.as_mut()) {
            Some(got) => {
                seen("at once");
                got
            }
            None => {
                seen("woken");
                block_on_pinned(recv)
            }
        };
        assert_eq!(got, Err(Ended));
        drop(stopper.join().unwrap());
    });
}

#[test]
fn what_is_in_a_mailbox_comes_before_a_stop_and_the_rest_goes_back() {
    explore("actor/drain", &["received", "given back"], || {
        let ledger = Ledger::default();
        let (actor, mut mailbox) = lane();
        let (other, value) = (actor.clone(), ledger.value(1));
        let sender = fork(move || match other.try_send(value) {
            Ok(()) => None,
            Err(unsent) => Some(unsent.into_message()),
        });
        let stopper = fork(move || actor.stop());
        let mut received = 0;
        while let Ok(value) = block_on(mailbox.recv()) {
            assert_eq!(value.id(), 1);
            received += 1;
        }
        let back = sender.join().unwrap();
        seen(if received == 1 {
            "received"
        } else {
            "given back"
        });
        assert_eq!(received + usize::from(back.is_some()), 1);
        stopper.join().unwrap();
        drop((mailbox, back));
        ledger.balance();
    });
}

#[test]
fn a_stop_without_delay_goes_past_a_message() {
    explore("actor/stop now", &["received", "left"], || {
        let ledger = Ledger::default();
        let (actor, mut mailbox) = lane();
        let stopper = fork(move || {
            actor.stop_now();
            actor
        });
        let sender = mailbox.this().upgrade().expect("the stopper has one");
        assert!(
            sender.try_send(ledger.value(1)).is_ok(),
            "it is open: nobody has heard of the stop"
        );
        seen(match block_on(mailbox.recv()) {
            Ok(_) => "received",
            Err(Ended) => "left",
        });
        assert_eq!(block_on(mailbox.recv()).err(), Some(Ended));
        drop((stopper.join().unwrap(), sender, mailbox));
        ledger.balance();
    });
}
