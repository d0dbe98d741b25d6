//! `actor/cycle.rs`: the notes of whom actors wait for, when two calls close a cycle at one moment.

use std::sync::Arc;

use super::{explore, fork, seen};
use crate::actor::{ActorRef, Mailbox, Waiting, is_supervised, lane};
use crate::primitive::atomic::{AtomicBool, Ordering};

/// An actor whose poll ends with a call to `callee`: is it refused?
fn calls(mailbox: &Mailbox<u8>, callee: &ActorRef<u8>) -> bool {
    assert!(callee.try_send(0).is_ok(), "the request");
    Waiting::of(mailbox).for_answer_of(callee)
}

#[test]
fn of_two_calls_that_close_a_cycle_one_is_refused() {
    explore("cycle", &["the first", "the second", "both"], || {
        let ((one, mailbox), (other, others)) = (lane(9), lane(9));
        let first = fork(move || (calls(&mailbox, &other), mailbox, other));
        let second = calls(&others, &one);
        let (first, mailbox, other) = first.join().unwrap();
        seen(match (first, second) {
            (true, true) => "both",
            (true, false) => "the first",
            (false, true) => "the second",
            (false, false) => panic!("they would wait for each other for ever"),
        });
        Waiting::of(&mailbox).end();
        Waiting::of(&others).end();
        drop((one, other));
    });
}

#[test]
fn whose_wait_is_over_is_in_no_cycle() {
    explore("cycle/woken", &["refused", "sent"], || {
        let ((one, mailbox), (other, others)) = (lane(9), lane(9));
        assert!(!calls(&mailbox, &other), "nobody waits for it");
        let woken = Arc::new(AtomicBool::new(false));
        let runs = fork({
            let woken = Arc::clone(&woken);
            move || {
                Waiting::of(&mailbox).is_over();
                woken.store(true, Ordering::SeqCst);
                mailbox
            }
        });
        let before = woken.load(Ordering::SeqCst);
        let refused = calls(&others, &one);
        seen(if refused { "refused" } else { "sent" });
        assert!(!(before && refused), "the one it calls runs");
        Waiting::of(&runs.join().unwrap()).end();
        Waiting::of(&others).end();
        drop((one, other));
    });
}

#[test]
fn of_a_child_that_calls_and_the_parent_that_waits_for_its_end_one_finds_the_other() {
    let found = ["the child", "the parent", "both"];
    explore("cycle/end", &found, || {
        let ((parent, mailbox), (child, others)) = (lane(9), lane(9));
        is_supervised(&mailbox);
        let call = fork(move || (calls(&others, &parent), others, parent));
        let again = Waiting::of(&mailbox).for_end_of(&child);
        let (refused, others, parent) = call.join().unwrap();
        seen(match (refused, again) {
            (true, true) => "both",
            (true, false) => "the child",
            (false, true) => "the parent",
            (false, false) => panic!("they would wait for each other for ever"),
        });
        let looked_at = Waiting::of(&others).for_answer_of(&parent);
        assert!(looked_at, "its poll ends once more");
        Waiting::of(&mailbox).end();
        Waiting::of(&others).end();
        drop((parent, child));
    });
}
