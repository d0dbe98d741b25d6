//! Books of channels, for a simulation: what was sent into a channel came out of it, or died in it.
//!
//! Kept for all channels, mailboxes and oneshots that a thread makes and uses while somebody wants them
//! ([`keep_books`]); they tell of each value while they are locked, and are judged when their memory is
//! given up. Otherwise a communication costs what the flight recorder's look at a count does
//! (`record.rs`): it is the same. `broadcast`, `watch` and `IVar` have no books: there a value is seen by
//! any number of receivers, by none too, and of what it misses a receiver of a broadcast is told.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::event::waits::{self, Recording};

thread_local! {
    static BOOKS: RefCell<Option<Books>> = const { RefCell::new(None) };
}

/// How many values went which way, in all channels or in one.
///
/// Of a channel that is gone `sent + returned` is `received + dead`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ledger {
    /// Into a channel.
    pub sent: u64,
    /// Out of it, to a receiver.
    pub received: u64,
    /// Back into it, because the receive was dropped before it looked, and nobody else waited.
    pub returned: u64,
    /// Nowhere: the channel or its last receiver was dropped, or a full mailbox drops its oldest.
    pub dead: u64,
}

#[derive(Default)]
struct Books {
    /// By the channel's address, which another has later.
    open: BTreeMap<usize, Ledger>,
    all: Ledger,
    wrong: Option<String>,
}

/// Runs `inside`, and keeps books of the channels that are made and that this thread uses meanwhile. Gives what has gone
/// which way, and what is wrong with the first channel whose account does not balance, which is a bug of
/// this library.
///
/// ```
/// let ((), ledger, wrong) = tidings::sched::keep_books(|| {
///     let (tx, rx) = tidings::unbounded();
///     tx.try_send(1).unwrap();
///     tx.try_send(2).unwrap();
///     assert_eq!(rx.try_recv(), Ok(1));
/// });
/// assert_eq!((ledger.sent, ledger.received, ledger.dead), (2, 1, 1));
/// assert_eq!(wrong, None);
/// ```
pub fn keep_books<R>(inside: impl FnOnce() -> R) -> (R, Ledger, Option<String>) {
    /// Puts the outer ones back, also after a panic.
    struct Outer {
        books: Option<Books>,
        _recording: Recording,
    }
    impl Drop for Outer {
        fn drop(&mut self) {
            BOOKS.set(self.books.take());
        }
    }
    let outer = Outer {
        books: BOOKS.replace(Some(Books::default())),
        _recording: Recording::books(),
    };
    let result = inside();
    let books = BOOKS.take().unwrap_or_default();
    drop(outer);
    (result, books.all, books.wrong)
}

/// What has gone which way so far, if this thread keeps books.
#[must_use]
pub fn ledger() -> Option<Ledger> {
    BOOKS.with_borrow(|books| Some(books.as_ref()?.all))
}

#[cold]
fn note(channel: usize, note: impl Fn(&mut Ledger)) {
    // A channel may be dropped when the thread's own variables are.
    let _ = BOOKS.try_with(|books| {
        if let Some(books) = &mut *books.borrow_mut() {
            note(books.open.entry(channel).or_default());
            note(&mut books.all);
        }
    });
}

/// A value went in; `out`: to a receiver at once.
#[cold]
pub(crate) fn sent(channel: usize, out: bool) {
    note(channel, |ledger| {
        ledger.sent += 1;
        ledger.received += u64::from(out);
    });
}

/// A value came out; `sent`: a sender held it until now.
#[cold]
pub(crate) fn received(channel: usize, sent: bool) {
    note(channel, |ledger| {
        ledger.received += 1;
        ledger.sent += u64::from(sent);
    });
}

/// What had come out went back in.
#[inline(always)]
pub(crate) fn returned(channel: usize) {
    if waits::booked() {
        note(channel, |ledger| ledger.returned += 1);
    }
}

/// So many values will never come out.
#[inline(always)]
pub(crate) fn died(channel: usize, values: usize) {
    if waits::booked() {
        note(channel, |ledger| ledger.dead += values as u64);
    }
}

/// The channel is no more, with so many values in it.
#[cold]
pub(crate) fn ended(channel: usize, values: usize) {
    note(channel, |ledger| ledger.dead += values as u64);
    let _ = BOOKS.try_with(|books| {
        if let Some(books) = &mut *books.borrow_mut()
            && let Some(ledger) = books.open.remove(&channel)
            && ledger.sent + ledger.returned != ledger.received + ledger.dead
        {
            books.wrong.get_or_insert_with(|| format!("{ledger:?}"));
        }
    });
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{Ledger, ended, keep_books, ledger, received, returned, sent};

    #[test]
    fn an_account_that_does_not_balance_is_told() {
        let wrong = |inside: fn()| keep_books(inside).2.is_some();
        assert!(wrong(|| {
            sent(1, false);
            ended(1, 0);
        }));
        assert!(wrong(|| {
            sent(1, true);
            received(1, false);
            ended(1, 0);
        }));
        assert!(!wrong(|| {
            sent(1, true);
            returned(1);
            ended(1, 1);
            // Another at the same address.
            received(1, true);
            ended(1, 0);
        }));
    }

    #[test]
    fn books_in_books_are_apart() {
        let (inner, outer, _) = keep_books(|| {
            sent(1, true);
            let inner = keep_books(|| sent(2, false)).1;
            assert_eq!(ledger().unwrap().received, 1);
            inner
        });
        let one = |received| Ledger {
            sent: 1,
            received,
            ..Ledger::default()
        };
        assert_eq!((inner, outer), (one(0), one(1)));
        assert_eq!(ledger(), None);
    }
}
