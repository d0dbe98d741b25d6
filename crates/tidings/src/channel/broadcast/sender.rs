//! The sending side of a broadcast channel.

use std::fmt;
use std::marker::PhantomData;

use super::super::SendError;
use super::super::source::{Side, Source};
use super::super::wait::{Ticket, Wait, wait_event};
use super::{Receiver, State, subscribe};
use crate::primitive::Arc;
use crate::task::here;

/// Sends values to all receivers of a [`broadcast`](super::broadcast()) channel; clones send into the same one.
///
/// When the last sender is dropped, receivers take what is left and then hear of it.
pub struct Sender<T> {
    pub(super) source: Arc<Source<State<T>>>,
    /// Receivers on many threads clone one `T`: the handles are `Send` and `Sync` if this is.
    pub(super) value: PhantomData<Arc<T>>,
}

impl<T> Sender<T> {
    /// Sends a value to every receiver there is; gives their number. Never waits. If the
    /// channel keeps `n` values already, the oldest is dropped.
    ///
    /// # Errors
    /// Gives the value back if there is no receiver.
    ///
    /// ```
    /// let (tx, rx) = tidings::channel::broadcast(1);
    /// assert_eq!(tx.send(1), Ok(1));
    /// drop(rx);
    /// assert_eq!(tx.send(2).unwrap_err().into_inner(), 2);
    /// ```
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        here::gave::<T>();
        let mut value = Some(Arc::new(value));
        // Dropped after the lock: its drop is user code.
        let mut oldest = None;
        let mut receivers = 0;
        self.source.commit_each(false, |state| {
            if state.receivers > 0 && value.is_some() {
                receivers = state.receivers;
                let ring = &mut state.kept;
                if ring.values.len() == ring.capacity {
                    oldest = ring.values.pop_front();
                }
                ring.values.extend(value.take());
                ring.tail += 1;
            }
            state.waiting.claim_before(state.kept.tail)
        });
        drop(oldest);
        match value.and_then(Arc::into_inner) {
            Some(unsent) => Err(SendError(unsent)),
            None => Ok(receivers),
        }
    }

    /// A new receiver, of all values sent from now on.
    ///
    /// ```
    /// let (tx, mut old) = tidings::channel::broadcast(8);
    /// tx.send(1).unwrap();
    /// let mut new = tx.subscribe();
    /// tx.send(2).unwrap();
    /// assert_eq!((old.try_recv(), new.try_recv()), (Ok(1), Ok(2)));
    /// ```
    #[must_use]
    pub fn subscribe(&self) -> Receiver<T> {
        subscribe(&self.source)
    }

    /// Waits until no receiver is left: an event. Later subscriptions do not undo it.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = tidings::channel::broadcast::<u8>(1);
    /// drop(rx);
    /// tx.closed().await;
    /// # });
    /// ```
    pub fn closed(&self) -> Closed<'_, T> {
        Closed {
            sender: self,
            slot: Ticket::new(None),
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

    /// How many values the channel keeps at the moment: at most its `n`.
    #[must_use]
    pub fn len(&self) -> usize {
        self.source.locked(|state| state.kept.values.len())
    }

    /// Does it keep none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Do both send into the same channel?
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

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (len, senders, receivers, waiting) = self.source.locked(|state| {
            (
                state.kept.values.len(),
                state.senders,
                state.receivers,
                state.waiting.len(),
            )
        });
        f.debug_struct("broadcast::Sender")
            .field("len", &len)
            .field("senders", &senders)
            .field("receivers", &receivers)
            .field("receivers_waiting", &waiting)
            .finish()
    }
}

/// The event of [`Sender::closed`].
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Closed<'a, T> {
    sender: &'a Sender<T>,
    slot: Ticket,
}

impl<T> Wait for Closed<'_, T> {
    type State = State<T>;
    type Output = ();
    const SIDE: Side = Side::Other;

    fn source(&self) -> &Source<State<T>> {
        &self.sender.source
    }
    fn ready(&mut self, state: &mut State<T>) -> bool {
        state.is_deserted(&mut self.slot)
    }
    fn done(&mut self) {}
}

wait_event!(impl['a, T] Closed<'a, T> => ());
