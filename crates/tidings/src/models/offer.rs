//! `event/offer.rs` and `event/future.rs`: the commit protocol, through the channels that use it.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Waker;

use super::{Ledger, Value, block_on, block_on_pinned, explore, fork, full, poll_once, seen};
use crate::event::{Attempt, Enrol, Event, EventFuture, Protocol, event};
use crate::primitive::SpinLock;
use crate::{Either, Receiver, Sender, channel, unbounded};

/// Sends `value` on one channel or receives from the other, whichever happens: what it got.
fn face(give: &Sender<Value>, value: Value, take: &Receiver<Value>) -> Option<u32> {
    let gave = give.send(value).map(|sent| {
        assert!(sent.is_ok());
        None
    });
    block_on(
        gave.or(take.recv().map(|got| Some(got.unwrap().id())))
            .biased(),
    )
}

#[test]
fn two_choices_that_face_each_other_commit_once_each() {
    explore("offer/faces", &["left gave", "right gave"], || {
        let ledger = Ledger::default();
        let (left, right) = (channel(), channel());
        let (left_value, right_value) = (ledger.value(1), ledger.value(2));
        let (gives, takes) = (right.0.clone(), left.1.clone());
        let other = fork(move || face(&gives, right_value, &takes));
        let mine = face(&left.0, left_value, &right.1);
        match (mine, other.join().unwrap()) {
            (None, Some(1)) => seen("left gave"),
            (Some(2), None) => seen("right gave"),
            both => panic!("one gives and one takes, not {both:?}"),
        }
        assert!(left.1.is_empty() && right.1.is_empty());
        ledger.balance();
    });
}

#[test]
fn a_choice_takes_from_one_of_two_plain_partners() {
    explore("offer/partners", &["first", "second"], || {
        let ledger = Ledger::default();
        let (first, second) = (channel(), channel());
        let senders = [(1, first.0), (2, second.0)].map(|(id, sender)| {
            let mut place = Some(ledger.value(id));
            fork(move || {
                let mut send = Box::pin(sender.send_from(&mut place).into_future());
                let sent = poll_once(send.as_mut());
                drop(send);
                (matches!(sent, Some(Ok(()))), place.is_some(), sender)
            })
        });
        let mut choice = pin!(first.1.recv().or(second.1.recv()).biased().into_future());
        let mut got = poll_once(choice.as_mut());
        let sent = senders.map(|sender| sender.join().unwrap());
        got = got.or_else(|| poll_once(choice.as_mut()));
        let got = got.map(|got| got.unwrap().id());
        // Not sent: it is still there. Sent, perhaps unheard of: it is not.
        let gone = [!sent[0].1, !sent[1].1];
        match got {
            Some(1) => {
                seen("first");
                assert_eq!(gone, [true, false]);
            }
            Some(2) => {
                seen("second");
                assert_eq!(gone, [false, true]);
            }
            _ => assert_eq!(gone, [false, false]),
        }
    });
}

/// A partner takes a choice, or passes over one that has committed elsewhere and is about to leave.
#[test]
fn a_choice_that_is_passed_over_as_it_leaves_holds_nobody_up() {
    const OUTCOMES: &[&str] = &["the first", "the second", "neither"];
    explore("offer/passed", OUTCOMES, || {
        let ledger = Ledger::default();
        let (first, second) = (unbounded(), unbounded());
        let mut choice = Box::pin(first.1.recv().or(second.1.recv()).into_future());
        assert!(poll_once(choice.as_mut()).is_none());
        let mut behind = pin!(second.1.recv().into_future());
        assert!(poll_once(behind.as_mut()).is_none());
        let senders = [(1, &first.0), (2, &second.0)].map(|(id, sender)| {
            let (sender, value) = (sender.clone(), ledger.value(id));
            fork(move || assert!(sender.try_send(value).is_ok()))
        });
        let got = poll_once(choice.as_mut()).map(|got| got.unwrap().id());
        drop(choice);
        for sender in senders {
            sender.join().unwrap();
        }
        let behind = poll_once(behind.as_mut()).map(|got| got.unwrap().id());
        let left = first.1.try_recv().ok().map(|value| value.id());
        match (got, behind, left) {
            (Some(1), Some(2), None) => seen("the first"),
            (Some(2), None, Some(1)) => seen("the second"),
            (None, Some(2), Some(1)) => seen("neither"),
            all => panic!("each is received once, and nobody waits for what is there: {all:?}"),
        }
        ledger.balance();
    });
}

#[test]
fn a_withdrawn_receive_loses_nothing() {
    const OUTCOMES: &[&str] = &["received", "given back or never taken"];
    explore("offer/withdraw a receive", OUTCOMES, || {
        let ledger = Ledger::default();
        let (tx, rx) = unbounded();
        let value = ledger.value(7);
        let sender = fork(move || {
            tx.try_send(value).unwrap();
            tx
        });
        let mut recv = Box::pin(rx.recv().into_future());
        let mut got = poll_once(recv.as_mut());
        if got.is_none() {
            got = poll_once(recv.as_mut());
        }
        drop(recv);
        let tx = sender.join().unwrap();
        match got {
            Some(value) => {
                seen("received");
                assert_eq!(value.unwrap().id(), 7);
                assert!(rx.try_recv().is_err());
            }
            None => {
                seen("given back or never taken");
                assert_eq!(rx.try_recv().unwrap().id(), 7);
            }
        }
        drop((tx, rx));
        ledger.balance();
    });
}

#[test]
fn a_withdrawn_choice_loses_nothing() {
    const OUTCOMES: &[&str] = &["received", "given back or never taken"];
    explore("offer/withdraw a choice", OUTCOMES, || {
        let ledger = Ledger::default();
        let (one, two) = (unbounded(), unbounded());
        let values = [ledger.value(1), ledger.value(2)];
        let (first, second) = (one.0.clone(), two.0.clone());
        let sender = fork(move || {
            let [a, b] = values;
            first.try_send(a).unwrap();
            second.try_send(b).unwrap();
        });
        let mut choice = Box::pin(one.1.recv().or(two.1.recv()).into_future_biased());
        let got = poll_once(choice.as_mut()).or_else(|| poll_once(choice.as_mut()));
        drop(choice);
        sender.join().unwrap();
        let mut ids: Vec<_> = [one.1.try_recv(), two.1.try_recv()]
            .into_iter()
            .filter_map(|got| got.ok().map(|value| value.id()))
            .collect();
        match got {
            Some(value) => {
                seen("received");
                ids.push(value.unwrap().id());
            }
            None => seen("given back or never taken"),
        }
        ids.sort_unstable();
        assert_eq!(ids, [1, 2]);
        drop((one, two));
        ledger.balance();
    });
}

/// `.biased().into_future()`: loom must be told the order of the branches.
trait Fixed: Event {
    fn into_future_biased(self) -> EventFuture<crate::event::Biased<Self>> {
        self.biased().into_future()
    }
}
impl<E: Event> Fixed for E {}

#[test]
fn a_withdrawn_send_keeps_its_value_or_has_sent_it() {
    explore("offer/withdraw a send", &["taken", "kept"], || {
        let ledger = Ledger::default();
        let (tx, rx) = channel();
        let receiver = fork(move || {
            let got = rx.try_recv().ok();
            (got, rx)
        });
        let mut place = Some(ledger.value(5));
        let mut send = Box::pin(tx.send_from(&mut place).into_future());
        let sent = poll_once(send.as_mut()).or_else(|| poll_once(send.as_mut()));
        drop(send);
        let (got, rx) = receiver.join().unwrap();
        match (got, place) {
            (Some(value), None) => {
                seen("taken");
                assert_eq!(value.id(), 5);
            }
            (None, Some(value)) => {
                seen("kept");
                assert!(sent.is_none() && value.id() == 5);
            }
            both => panic!("a value is in one place: {both:?}"),
        }
        drop((tx, rx));
        ledger.balance();
    });
}

#[test]
fn a_wait_whose_waker_changes_is_woken() {
    explore("offer/rewake", &["at once", "after the change"], || {
        let ledger = Ledger::default();
        let (tx, rx) = channel();
        let value = ledger.value(3);
        let sender = fork(move || assert!(block_on(tx.send(value).into_future()).is_ok()));
        let mut recv = Box::pin(rx.recv().into_future());
        let got = match poll_once(recv.as_mut()) {
            Some(got) => {
                seen("at once");
                got
            }
            None => {
                seen("after the change");
                block_on_pinned(recv.as_mut())
            }
        };
        assert_eq!(got.unwrap().id(), 3);
        drop(recv);
        sender.join().unwrap();
        drop(rx);
        ledger.balance();
    });
}

#[test]
fn a_close_ends_every_wait() {
    explore("offer/close", &["receive ended", "send ended"], || {
        let ledger = Ledger::default();
        let (tx, rx) = channel::<Value>();
        let value = ledger.value(1);
        let sends = ledger.alive() == 1;
        let (tx2, rx2) = channel::<Value>();
        let closer = {
            let (tx, rx2) = (tx.clone(), rx2.clone());
            fork(move || {
                tx.close();
                rx2.close();
            })
        };
        assert!(sends);
        assert!(block_on(rx.recv().into_future()).is_err());
        seen("receive ended");
        let back = block_on(tx2.send(value).into_future()).unwrap_err();
        assert_eq!(back.0.id(), 1);
        seen("send ended");
        drop(back);
        closer.join().unwrap();
        drop((tx, rx, tx2, rx2));
        ledger.balance();
    });
}

#[test]
fn a_choice_that_lets_go_of_its_first_lock_for_the_order_looks_again() {
    explore("offer/order", &["at once", "later"], || {
        let ledger = Ledger::default();
        // Locks are taken in the order in which these are made.
        let (low, high) = (unbounded::<Value>(), unbounded());
        let (tx, value) = (high.0.clone(), ledger.value(4));
        let sender = fork(move || tx.try_send(value).unwrap());
        {
            let choice = high.1.recv().or(low.1.recv()).into_future_biased();
            let mut choice = pin!(choice);
            let got = match poll_once(choice.as_mut()) {
                Some(got) => {
                    seen("at once");
                    got
                }
                None => {
                    seen("later");
                    block_on_pinned(choice)
                }
            };
            assert_eq!(got.unwrap().id(), 4);
        }
        sender.join().unwrap();
        drop((low, high));
        ledger.balance();
    });
}

/// A deadline that a thread of the model lets pass: an event that commits itself.
#[derive(Clone)]
struct Bell(Arc<SpinLock<(bool, Option<Waker>)>>);

impl Bell {
    fn new() -> Self {
        Self(Arc::new(SpinLock::new((false, None))))
    }

    fn ring(&self) {
        let mut bell = self.0.lock();
        bell.0 = true;
        let waker = bell.1.take();
        drop(bell);
        waker.into_iter().for_each(Waker::wake);
    }
}

impl Protocol for Bell {
    fn attempt(self: Pin<&mut Self>, _: &mut Attempt) -> Option<u32> {
        None
    }
    fn enrol(self: Pin<&mut Self>, enrol: &mut Enrol<'_>) {
        enrol.next_branch();
        enrol.has_due();
    }
    fn due(self: Pin<&mut Self>, waker: &Waker) -> Option<u32> {
        let mut bell = self.0.lock();
        bell.1 = Some(waker.clone());
        bell.0.then_some(0)
    }
    fn withdraw(self: Pin<&mut Self>, _: Option<u32>, _: bool) {}
    fn finish(self: Pin<&mut Self>, _: u32) {}
    fn abandon(self: Pin<&mut Self>, _: u32) {}
}

event!(impl[] Bell => ());

/// A receive with a deadline against a sender that does not wait.
fn due(choice_of_two: bool) {
    let ledger = Ledger::default();
    let (tx, rx) = channel();
    let (_tx2, rx2) = channel();
    let bell = Bell::new();
    let value = ledger.value(9);
    let sender = fork(move || (tx.try_send(value).is_ok(), tx));
    let ringer = {
        let bell = bell.clone();
        fork(move || bell.ring())
    };
    let got = if choice_of_two {
        match block_on(rx.recv().or(rx2.recv()).either(bell).biased()) {
            Either::Left(got, _) => Some(got),
            Either::Right(..) => None,
        }
    } else {
        match block_on(rx.recv().either(bell).biased()) {
            Either::Left(got, ()) => Some(got),
            Either::Right(..) => None,
        }
    };
    let (sent, tx) = sender.join().unwrap();
    ringer.join().unwrap();
    match (got, sent) {
        (Some(Ok(value)), true) => {
            seen("received");
            assert_eq!(value.id(), 9);
        }
        (None, false) => seen("passed"),
        (None, true) => panic!("the value was taken by a wait that says it has timed out"),
        (got, sent) => panic!("{got:?} {sent}"),
    }
    drop((tx, rx));
    ledger.balance();
}

#[test]
fn a_deadline_and_a_partner_do_not_both_commit() {
    explore("offer/due", &["received", "passed"], || due(false));
}

#[test]
fn a_deadline_and_a_partner_of_a_choice_do_not_both_commit() {
    explore("offer/due of a choice", &["received", "passed"], || {
        due(true)
    });
}

#[test]
fn three_choices_in_a_ring_commit_in_pairs() {
    if !full() {
        return;
    }
    explore("offer/ring", &["somebody gave"], || {
        let ledger = Ledger::default();
        let (a, b, c) = (channel(), channel(), channel());
        let polled = |give: &Sender<Value>, id: u32, take: &Receiver<Value>, ledger: &Ledger| {
            let gave = give.send(ledger.value(id)).map(|sent| sent.is_ok());
            let took = take.recv().map(|got| got.is_ok());
            let mut choice = Box::pin(gave.or(took).into_future_biased());
            poll_once(choice.as_mut()).or_else(|| poll_once(choice.as_mut()))
        };
        let others = [
            (a.0.clone(), 1, b.1.clone(), ledger.clone()),
            (b.0.clone(), 2, c.1.clone(), ledger.clone()),
        ]
        .map(|(give, id, take, ledger)| fork(move || polled(&give, id, &take, &ledger)));
        if polled(&c.0, 3, &a.1, &ledger).is_some() {
            seen("somebody gave");
        }
        for other in others {
            other.join().unwrap();
        }
        drop((a, b, c));
        ledger.balance();
    });
}

#[test]
fn a_choice_that_sends_from_a_place_sends_once() {
    explore("offer/place", &["at once", "later"], || {
        let ledger = Ledger::default();
        let (give, take) = channel::<Value>();
        let (open, nothing) = channel::<Value>();
        let mut place = Some(ledger.value(1));
        let receiver = fork(move || assert_eq!(block_on(take.recv()).unwrap().id(), 1));
        {
            let send = give.send_from(&mut place).map(Result::unwrap);
            let choice = send.or(nothing.recv().map(|_| unreachable!("nobody sends")));
            let mut choice = pin!(choice.into_future());
            if poll_once(choice.as_mut()).is_some() {
                seen("at once");
            } else {
                block_on_pinned(choice);
                seen("later");
            }
        }
        assert!(place.is_none());
        receiver.join().unwrap();
        drop(open);
        ledger.balance();
    });
}
