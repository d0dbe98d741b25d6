//! Who sends into and who receives from a channel whose receivers all see what is sent, for `broadcast` and `watch`:
//! how many there are, who waits, and who hears when the last of a side goes.

use super::source::{Lists, Side, Source};
use super::wait::{Ticket, Tickets};
use crate::event::offer::Waiters;

/// What such a channel keeps, and its ends.
#[derive(Debug)]
pub(crate) struct Ends<K> {
    pub(super) kept: K,
    pub(super) senders: usize,
    pub(super) receivers: usize,
    /// How often the last receiver has gone: the epoch of the observers.
    leavings: u64,
    /// Receivers; the ticket is the first value they wait for, or the last they have seen.
    pub(super) waiting: Tickets,
    /// Senders that wait until no receiver is left.
    observers: Tickets,
}

impl<K> Ends<K> {
    /// With a sender and a receiver.
    pub(super) fn new(kept: K) -> Self {
        Self {
            kept,
            senders: 1,
            receivers: 1,
            leavings: 0,
            waiting: Tickets::new(),
            observers: Tickets::new(),
        }
    }

    /// Is no receiver there? If not, the ticket waits until the last one goes.
    pub(super) fn is_deserted(&self, slot: &mut Ticket) -> bool {
        slot.write(self.leavings);
        self.receivers == 0
    }
}

impl<K> Lists for Ends<K> {
    fn waiters(&mut self, side: Side) -> &mut Waiters {
        if side == Side::Receiver {
            self.waiting.list()
        } else {
            self.observers.list()
        }
    }
}

impl<K> Source<Ends<K>> {
    pub(super) fn add_sender(&self) {
        self.locked(|ends| ends.senders += 1);
    }

    pub(super) fn remove_sender(&self) {
        let last = self.locked(|ends| {
            ends.senders -= 1;
            ends.senders == 0
        });
        if last {
            // Whoever finds no sender does not enrol, so these are all.
            self.commit_each(true, |ends| ends.waiting.claim_before(u64::MAX));
        }
    }

    /// Gives what `see` finds: where the new one begins.
    pub(super) fn add_receiver<R>(&self, see: impl FnOnce(&K) -> R) -> R {
        self.locked(|ends| {
            ends.receivers += 1;
            see(&ends.kept)
        })
    }

    /// The last one takes out what is `dead` without any: it is dropped after the lock.
    pub(super) fn remove_receiver<R>(&self, dead: impl FnOnce(&mut K) -> R) {
        let last = self.locked(|ends| {
            ends.receivers -= 1;
            (ends.receivers == 0).then(|| {
                ends.leavings += 1;
                (dead(&mut ends.kept), ends.leavings)
            })
        });
        if let Some((dead, leavings)) = last {
            self.commit_each(true, |ends| ends.observers.claim_before(leavings));
            drop(dead);
        }
    }
}

/// What the senders of both are beside what they send: they count themselves, see who receives, and hear when nobody does
/// any more. For a `Sender` with a `source`, how one is made in an example, and what it sends into.
macro_rules! sender {
    ($made:literal, $what:literal) => {
        impl<T> Sender<T> {
            /// Waits until no receiver is left: an event. Later subscriptions do not undo it.
            ///
            /// ```
            /// # tidings::Runtime::new().unwrap().block_on(async {
            #[doc = concat!("let (tx, rx) = tidings::channel::", $made, ";")]
            /// drop(rx);
            /// tx.closed().await;
            /// # });
            /// ```
            pub fn closed(&self) -> Closed<'_, T> {
                Closed {
                    sender: self,
                    slot: $crate::channel::wait::Ticket::new(None),
                }
            }

            /// How many receivers there are.
            #[must_use]
            pub fn receiver_count(&self) -> usize {
                self.source.locked(|state| state.receivers)
            }

            /// How many senders there are.
            #[must_use]
            pub fn sender_count(&self) -> usize {
                self.source.locked(|state| state.senders)
            }

            #[doc = concat!("Do both send into the same ", $what, "?")]
            #[must_use]
            pub fn same_channel(&self, other: &Self) -> bool {
                Arc::ptr_eq(&self.source, &other.source)
            }
        }

        impl<T> Clone for Sender<T> {
            fn clone(&self) -> Self {
                self.source.add_sender();
                Self {
                    source: Arc::clone(&self.source),
                    value: PhantomData,
                }
            }
        }

        impl<T> Drop for Sender<T> {
            fn drop(&mut self) {
                self.source.remove_sender();
            }
        }

        /// The event of [`Sender::closed`].
        #[derive(Debug)]
        #[must_use = "events do nothing unless awaited"]
        pub struct Closed<'a, T> {
            sender: &'a Sender<T>,
            slot: $crate::channel::wait::Ticket,
        }

        impl<T> $crate::channel::wait::Wait for Closed<'_, T> {
            type State = State<T>;
            type Output = ();
            const SIDE: $crate::channel::source::Side = $crate::channel::source::Side::Other;

            fn source(&self) -> &Source<State<T>> {
                &self.sender.source
            }
            fn ready(&mut self, state: &mut State<T>) -> bool {
                state.is_deserted(&mut self.slot)
            }
            fn done(&mut self) {}
        }

        $crate::channel::wait::wait_event!(impl['a, T] Closed<'a, T> => ());
    };
}
pub(super) use sender;
