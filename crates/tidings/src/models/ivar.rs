//! `channel/ivar.rs`: written once, read by all.

use super::{Ledger, block_on, explore, fork, poll_once, seen};
use crate::Event;
use crate::channel::ivar::IVar;

#[test]
fn one_of_two_fills_wins_and_every_reader_sees_it() {
    explore("ivar", &["first", "second"], || {
        let ledger = Ledger::default();
        let cell = IVar::new();
        let fillers = [1, 2].map(|id| {
            let (cell, value) = (cell.clone(), ledger.value(id));
            fork(move || cell.fill(value).is_ok())
        });
        let id = block_on(cell.read()).id();
        seen(if id == 1 { "first" } else { "second" });
        let won = fillers.map(|filler| filler.join().unwrap());
        assert_eq!(won, [id == 1, id == 2]);
        drop(cell);
        ledger.balance();
    });
}

#[test]
fn a_read_that_is_dropped_is_no_obstacle() {
    explore("ivar/withdraw", &["read", "dropped"], || {
        let ledger = Ledger::default();
        let cell = IVar::new();
        let (filled, value) = (cell.clone(), ledger.value(1));
        let filler = fork(move || assert!(filled.fill(value).is_ok()));
        let mut read = Box::pin(cell.read().into_future());
        seen(if poll_once(read.as_mut()).is_some() {
            "read"
        } else {
            "dropped"
        });
        drop(read);
        assert_eq!(block_on(cell.read()).id(), 1);
        filler.join().unwrap();
        drop(cell);
        ledger.balance();
    });
}

#[test]
fn a_choice_of_two_cells_that_are_filled_at_once_commits_to_one() {
    explore("ivar/choice", &["first", "second"], || {
        let cells = [IVar::new(), IVar::new()];
        let fillers = cells
            .clone()
            .map(|cell| fork(move || assert!(cell.fill(()).is_ok())));
        let first = cells[0].read().map(|_| "first");
        seen(block_on(first.or(cells[1].read().map(|_| "second"))));
        for filler in fillers {
            filler.join().unwrap();
        }
    });
}
