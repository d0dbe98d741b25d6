//! A cell that is full or empty: Haskell's and CML's `MVar`, a channel of capacity 1 without
//! ends.

use std::fmt;

use super::{Receiver, Recv, RecvError, SendError, Sender, bounded};
use crate::event::{Event, Map};

/// A cell that holds one value or none; clones are the same cell. Only a value that is given back, as the take that it
/// was handed to is dropped, can be there beside another, which was put meanwhile: it is taken first.
///
/// [`take`](Self::take) waits until it is full, [`put`](Self::put) until it is empty. One value
/// that many take and put back is a lock around it, fair, held by whoever has taken it.
///
/// ```
/// use tidings::channel::mvar::MVar;
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let cell = MVar::full(1);
/// let value = cell.take().await;
/// cell.put(value + 1).await;
/// assert_eq!(cell.take().await, 2);
/// # });
/// ```
pub struct MVar<T> {
    sender: Sender<T>,
    receiver: Receiver<T>,
}

impl<T> MVar<T> {
    /// An empty cell.
    #[must_use]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn empty() -> Self {
        let (sender, receiver) = bounded(1);
        Self { sender, receiver }
    }

    /// A cell with a value.
    #[must_use]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn full(value: T) -> Self {
        let cell = Self::empty();
        let put = cell.try_put(value);
        debug_assert!(put.is_ok(), "the cell was empty");
        cell
    }

    /// Takes the value out: an event. Waits until there is one. A wait that is dropped, or
    /// loses a choice, leaves it there.
    pub fn take(&self) -> impl Event<Output = T, Lost = ()> + '_ {
        let take: Map<Recv<'_, T>, _> = self.receiver.recv().map(|value| match value {
            Ok(value) => value,
            Err(RecvError) => unreachable!("the cell keeps its own sender"),
        });
        take
    }

    /// Puts a value in: an event. Waits until the cell is empty. What becomes of the value if it loses
    /// a choice is said of [`Sender::send`].
    pub fn put(&self, value: T) -> impl Event<Output = (), Lost = T> + '_ {
        self.sender.send(value).map(|sent| match sent {
            Ok(()) => (),
            Err(SendError(_)) => unreachable!("the cell keeps its own receiver"),
        })
    }

    /// Takes the value out, if there is one.
    #[must_use]
    pub fn try_take(&self) -> Option<T> {
        self.receiver.try_recv().ok()
    }

    /// Puts a value in, if the cell is empty.
    ///
    /// # Errors
    /// Gives the value back if the cell is full.
    pub fn try_put(&self, value: T) -> Result<(), T> {
        self.sender
            .try_send(value)
            .map_err(super::TrySendError::into_inner)
    }

    /// Is there a value?
    #[must_use]
    pub fn is_full(&self) -> bool {
        !self.receiver.is_empty()
    }
}

impl<T> Clone for MVar<T> {
    fn clone(&self) -> Self {
        Self {
            sender: self.sender.clone(),
            receiver: self.receiver.clone(),
        }
    }
}

impl<T> fmt::Debug for MVar<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MVar")
            .field("full", &self.is_full())
            .finish()
    }
}
