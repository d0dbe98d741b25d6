//! `time/timers.rs`: a node has two parties, and the last one frees it.

use super::{Ledger, Value, explore, fork, seen};
use crate::time::Instant;
use crate::time::timers::{Armed, Deadline, Look, Timers};
use std::sync::Arc;
use std::task::{Wake, Waker};

/// A waker that holds a value: the node's drop is the value's.
struct Holds(#[expect(dead_code, reason = "for its drop")] Value);

// SAFETY: loom runs its threads one at a time, and fails the model if accesses are unordered.
unsafe impl Send for Holds {}
// SAFETY: as above.
unsafe impl Sync for Holds {}

impl Wake for Holds {
    fn wake(self: Arc<Self>) {}
}

/// A set of timers with one timer armed, due at 2 ms.
fn armed(ledger: &Ledger) -> (Timers, Armed) {
    let mut timers = Timers::default();
    let waker = Waker::from(Arc::new(Holds(ledger.value(1))));
    let deadline = Deadline::At(Instant::from_nanos(2_000_000));
    let node = timers.arm(deadline, waker);
    (timers, Armed::of(node, deadline))
}

fn refresh(timers: &mut Timers, nanos: u64) -> usize {
    let (mut due, mut dead) = (Vec::new(), Vec::new());
    timers.refresh(Instant::from_nanos(nanos), &mut due, &mut dead);
    due.len()
}

#[test]
fn a_cancel_from_elsewhere_and_the_expiry_free_the_node_once() {
    explore(
        "timers/fire",
        &["fired", "cancelled first", "the wait saw it fired"],
        || {
            let ledger = Ledger::default();
            let (mut timers, armed) = armed(&ledger);
            refresh(&mut timers, 0);
            let wait = fork(move || {
                if matches!(armed.look(), Look::Fired) {
                    seen("the wait saw it fired");
                }
                drop(armed);
            });
            seen(if refresh(&mut timers, 10_000_000) == 1 {
                "fired"
            } else {
                "cancelled first"
            });
            wait.join().unwrap();
            refresh(&mut timers, 20_000_000);
            drop(timers);
            ledger.balance();
        },
    );
}

#[test]
fn a_cancel_from_elsewhere_and_the_shutdown_free_the_node_once() {
    const OUTCOMES: &[&str] = &["the wait saw it orphaned", "still waiting"];
    explore("timers/shutdown", OUTCOMES, || {
        let ledger = Ledger::default();
        let (mut timers, armed) = armed(&ledger);
        refresh(&mut timers, 0);
        let wait = fork(move || {
            match armed.look() {
                Look::Orphaned(_) => seen("the wait saw it orphaned"),
                _ => seen("still waiting"),
            }
            drop(armed);
        });
        drop(timers);
        wait.join().unwrap();
        ledger.balance();
    });
}
