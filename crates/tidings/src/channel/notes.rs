//! What the flight recorder and the books (`sched/record.rs`, `sched/books.rs`) hear of a channel.
//!
//! Whether they do is decided when the channel is made, so that a communication has to look at one byte
//! beside those it needs anyway.

use std::hint::cold_path;
use std::ops::RangeInclusive;
use std::task::Waker;

use super::chan::State;
use crate::sched::{books, record};

impl<T> State<T> {
    /// A value has come; straight to a receiver that waited, if there is a waker.
    #[inline(always)]
    pub(super) fn note_sent(&self, to: Option<&Waker>) {
        if self.noted {
            cold_path();
            record::sent::<T>(self.address(), self.come(), to);
        }
    }

    /// A value has left; straight from a sender that waited, if there is a waker.
    #[inline(always)]
    pub(super) fn note_received(&self, from: Option<&Waker>) {
        if self.noted {
            cold_path();
            record::received::<T>(self.address(), self.left(), from);
        }
    }

    /// These have left, of all there ever were.
    #[inline(always)]
    pub(super) fn note_received_each(&self, numbers: RangeInclusive<u64>) {
        if self.noted {
            numbers.for_each(|number| record::received::<T>(self.address(), number, None));
        }
    }

    /// The value of a sender that waited has come into the queue.
    pub(super) fn note_entered(&self, sender: Option<&Waker>) {
        if self.noted {
            record::entered::<T>(self.address(), self.come(), sender);
        }
    }

    /// The oldest value has left, to a receiver that waited.
    pub(super) fn note_passed(&self, receiver: Option<&Waker>) {
        if self.noted {
            record::passed::<T>(self.address(), self.left(), receiver);
        }
    }

    /// One that had left is back.
    pub(super) fn note_returned(&self) {
        if self.noted {
            books::returned(self.address());
        }
    }

    /// So many will never be received.
    pub(super) fn note_dead(&self, values: usize) {
        if self.noted {
            books::died(self.address(), values);
        }
    }

    /// The channel is no more, with what is in it.
    pub(super) fn note_end(&self) {
        if self.noted {
            books::ended(self.address(), self.len());
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use crate::sched::keep_books;

    #[test]
    fn what_is_in_a_channel_at_its_end_is_dead() {
        let ((), ledger, wrong) = keep_books(|| {
            let (tx, rx) = crate::unbounded();
            for n in 0..3 {
                tx.try_send(n).unwrap();
            }
            assert_eq!(rx.try_recv(), Ok(0));
        });
        assert_eq!((ledger.sent, ledger.received, ledger.dead), (3, 1, 2));
        assert_eq!(wrong, None);
    }

    #[test]
    fn a_channel_whose_values_are_lost_does_not_balance_at_its_end() {
        let ((), ledger, wrong) = keep_books(|| {
            let (tx, rx) = crate::unbounded::<u8>();
            tx.chan().locked(|state| state.note_sent(None));
            drop((tx, rx));
        });
        assert_eq!((ledger.sent, ledger.received, ledger.dead), (1, 0, 0));
        assert!(wrong.is_some());
    }
}
