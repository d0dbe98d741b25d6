//! The sending side of a broadcast channel.

use std::fmt;
use std::marker::PhantomData;

use super::super::SendError;
use super::super::ends::sender;
use super::super::source::Source;
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

sender!("broadcast::<u8>(1)", "channel");
