//! `actor/life.rs`, `actor/mailbox.rs`: the control lane against a receive that goes to sleep, and
//! against the messages it goes past.

use std::pin::pin;

use super::{Ledger, block_on, block_on_pinned, explore, fork, poll_once, seen};
use crate::actor::{AnyRef, Ended, Exit, Mailbox, Reply, ends, has_link, is_supervised, lane};

#[test]
fn a_stop_is_heard_before_a_receive_sleeps_or_wakes_it() {
    explore("actor/stop", &["at once", "woken"], || {
        let (actor, mut mailbox) = lane::<u8>(9);
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
        let (actor, mut mailbox) = lane(9);
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
        let (actor, mut mailbox) = lane(9);
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

#[test]
fn who_gives_up_a_call_while_its_answer_comes_leaves_the_answer_to_nobody_or_its_handler() {
    const OUTCOMES: &[&str] = &["answered", "given back"];
    explore("actor/call", OUTCOMES, || {
        let ledger = Ledger::default();
        let (actor, mut mailbox) = lane(9);
        let mut call = Box::pin(actor.call(|reply| reply).into_future());
        assert!(poll_once(call.as_mut()).is_none());
        let reply: Reply<_> = mailbox.try_recv().expect("the request went out");
        let value = ledger.value(1);
        let handler = fork(move || reply.send(value));
        drop(call);
        seen(match handler.join().unwrap() {
            Ok(()) => "answered",
            Err(value) => {
                assert_eq!(value.id(), 1);
                "given back"
            }
        });
        drop((actor, mailbox));
        ledger.balance();
    });
}

#[test]
fn who_gives_up_a_send_while_he_is_given_a_place_leaves_it_to_others() {
    explore("actor/tell", &["it is free"], || {
        let (actor, mut mailbox) = lane::<u8>(1);
        assert!(actor.try_send(1).is_ok());
        let mut tell = Box::pin(actor.send(2).into_future());
        assert!(poll_once(tell.as_mut()).is_none());
        let receiver = fork(move || {
            assert_eq!(mailbox.try_recv(), Ok(1));
            mailbox
        });
        drop(tell);
        let mailbox = receiver.join().unwrap();
        assert!(actor.try_send(3).is_ok());
        seen("it is free");
        drop((actor, mailbox));
    });
}

/// Two actors are linked while `meanwhile` happens to one of them: the ends that the other hears of, and
/// whether they are linked then.
fn heard_of_link(
    supervised: bool,
    link: fn(&AnyRef, &AnyRef),
    meanwhile: fn(&AnyRef, &AnyRef, &Mailbox<u8>),
) -> (Vec<Exit>, bool) {
    let ((one, mailbox), (other, mut others)) = (lane::<u8>(9), lane::<u8>(9));
    if supervised {
        is_supervised(&mailbox);
    }
    let exits = others.trap_exits();
    let (to, from) = (one.any(), other.any());
    let changes = fork(move || {
        meanwhile(&to, &from, &mailbox);
        mailbox
    });
    link(&one.any(), &other.any());
    let mailbox = changes.join().unwrap();
    let heard = std::iter::from_fn(|| exits.try_recv().ok());
    let heard = heard.map(|heard| heard.exit).collect();
    let linked = has_link(&one.any(), &other.any());
    drop((one, other, mailbox, others));
    (heard, linked)
}

#[test]
fn an_end_is_heard_once_by_who_is_linked_at_that_moment() {
    fn explore_link(model: &str, link: fn(&AnyRef, &AnyRef)) {
        explore(model, &["it was heard"], move || {
            let (heard, linked) = heard_of_link(false, link, |_, _, mailbox| ends(mailbox));
            assert!(matches!(heard[..], [Exit::Killed]) && !linked, "{heard:?}");
            seen("it was heard");
        });
    }
    explore_link("actor/link by who ends", AnyRef::link);
    explore_link("actor/link by who hears", |one, other| other.link(one));
}

#[test]
fn a_link_is_with_a_life_whose_end_is_heard_or_with_the_next() {
    const OUTCOMES: &[&str] = &["it was heard", "they are linked"];
    explore("actor/link to a life", OUTCOMES, || {
        let (heard, linked) = heard_of_link(true, AnyRef::link, |_, _, mailbox| ends(mailbox));
        match (&heard[..], linked) {
            ([Exit::Killed], false) => seen("it was heard"),
            ([], true) => seen("they are linked"),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_link_that_is_untied_as_it_is_made_tells_of_no_end() {
    explore("actor/unlink", &["nothing was heard"], || {
        let unlink = |one: &AnyRef, other: &AnyRef, _: &_| other.unlink(one);
        let (heard, _) = heard_of_link(false, AnyRef::link, unlink);
        assert!(heard.is_empty(), "{heard:?}");
        seen("nothing was heard");
    });
}
