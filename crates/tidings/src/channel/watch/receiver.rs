//! The receiving side of a watch cell.

use std::convert::identity;
use std::fmt;
use std::marker::PhantomData;

use super::super::RecvError;
use super::super::source::{Side, Source};
use super::super::wait::{Ticket, Wait, wait_event};
use super::State;
use crate::event::unfold::unfold;
use crate::primitive::Arc;

/// Sees the last value of a [`watch`](super::watch()) cell; a clone has seen what its original has.
pub struct Receiver<T> {
    pub(super) source: Arc<Source<State<T>>>,
    /// The version it has seen.
    pub(super) seen: u64,
    pub(super) value: PhantomData<Arc<T>>,
}

impl<T> Receiver<T> {
    /// The value, as it is now: a snapshot. Does not count as seen.
    ///
    /// It holds no lock: keep it as long as you like, over an await too. Senders go on.
    ///
    /// ```
    /// let (tx, rx) = tidings::channel::watch(1);
    /// let before = rx.get();
    /// tx.send(2).unwrap();
    /// assert_eq!((*before, *rx.get()), (1, 2));
    /// ```
    #[doc(alias = "borrow")]
    #[must_use]
    pub fn get(&self) -> Arc<T> {
        self.source.locked(|state| Arc::clone(&state.kept.value))
    }

    /// The value, as it is now, which counts as seen.
    ///
    /// ```
    /// let (tx, mut rx) = tidings::channel::watch(1);
    /// tx.send(2).unwrap();
    /// assert_eq!(*rx.get_and_update(), 2);
    /// assert!(!rx.has_changed().unwrap());
    /// ```
    #[doc(alias = "borrow_and_update")]
    pub fn get_and_update(&mut self) -> Arc<T> {
        self.source.locked(|state| {
            self.seen = state.kept.version;
            Arc::clone(&state.kept.value)
        })
    }

    /// Waits until there is a value that this receiver has not seen, which then counts as seen:
    /// an event.
    ///
    /// Fails once no sender is left and the last value was seen. A wait that is dropped, or
    /// loses a choice, has seen nothing.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = tidings::channel::watch(1);
    /// tx.send(2).unwrap();
    /// drop(tx);
    /// assert!(rx.changed().await.is_ok());
    /// assert!(rx.changed().await.is_err());
    /// # });
    /// ```
    pub fn changed(&mut self) -> Changed<'_, T> {
        Changed {
            receiver: self,
            slot: Ticket::new(None),
        }
    }

    /// Waits until the value satisfies `found`, looking at the one that is there first; gives
    /// it, seen.
    ///
    /// A future, not an event: it may have seen values that it did not want when it is dropped.
    ///
    /// # Errors
    /// Once no sender is left and the last value does not satisfy it.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = tidings::channel::watch(1);
    /// let task = tidings::spawn(async move { rx.wait_for(|&n| n > 2).await.map(|n| *n) });
    /// (2..=3).for_each(|n| tx.send(n).unwrap());
    /// assert_eq!(task.await.unwrap(), Ok(3));
    /// # });
    /// ```
    pub async fn wait_for(
        &mut self,
        mut found: impl FnMut(&T) -> bool,
    ) -> Result<Arc<T>, RecvError> {
        // What is there at once is an operation, too.
        crate::always(()).await;
        loop {
            let value = self.get_and_update();
            if found(&value) {
                return Ok(value);
            }
            drop(value);
            self.changed().await?;
        }
    }

    /// The values, as a [`futures_core::Stream`]: the one that is there, then each that it has not seen yet. Who is
    /// slow misses those between. It ends once no sender is left and the last value was seen.
    ///
    /// ```
    /// use futures::StreamExt;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = tidings::channel::watch(1);
    /// let mut values = rx.into_stream();
    /// assert_eq!(values.next().await.as_deref(), Some(&1));
    /// (2..=3).for_each(|n| tx.send(n).unwrap());
    /// drop(tx);
    /// assert_eq!(values.next().await.as_deref(), Some(&3));
    /// assert_eq!(values.next().await, None);
    /// # });
    /// ```
    pub fn into_stream(mut self) -> impl futures_core::Stream<Item = Arc<T>> + Send + Unpin
    where
        T: Send + Sync + 'static,
    {
        self.mark_changed();
        let next = async |mut receiver: Self| {
            receiver.changed().await.ok()?;
            Some((receiver.get_and_update(), receiver))
        };
        unfold(self, next, identity)
    }

    /// Is there a value that this receiver has not seen?
    ///
    /// # Errors
    /// If not, and no sender is left.
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        self.source
            .locked(|state| match state.kept.version != self.seen {
                false if state.senders == 0 => Err(RecvError),
                changed => Ok(changed),
            })
    }

    /// Counts the value that is there now as not seen.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (_tx, mut rx) = tidings::channel::watch(1);
    /// rx.mark_changed();
    /// rx.changed().await.unwrap();
    /// # });
    /// ```
    pub fn mark_changed(&mut self) {
        // No version: versions count up from 0.
        self.seen = u64::MAX;
    }

    /// Is no sender left? The value can still be looked at.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.source.locked(|state| state.senders == 0)
    }

    /// Do both receive from the same cell?
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.source, &other.source)
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.source.add_receiver(|_| ());
        Self {
            source: Arc::clone(&self.source),
            seen: self.seen,
            value: PhantomData,
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        // The value stays to be looked at by the senders.
        self.source.remove_receiver(|_| ());
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("watch::Receiver")
            .field("changed", &self.has_changed())
            .finish_non_exhaustive()
    }
}

/// The event of [`Receiver::changed`].
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Changed<'a, T> {
    receiver: &'a mut Receiver<T>,
    slot: Ticket,
}

impl<T> Wait for Changed<'_, T> {
    type State = State<T>;
    type Output = Result<(), RecvError>;
    const SIDE: Side = Side::Receiver;

    fn source(&self) -> &Source<State<T>> {
        &self.receiver.source
    }
    fn ready(&mut self, state: &mut State<T>) -> bool {
        self.slot.write(state.kept.version);
        self.receiver.seen != state.kept.version || state.senders == 0
    }
    fn done(&mut self) -> Self::Output {
        let receiver = &mut *self.receiver;
        let version = receiver.source.locked(|state| state.kept.version);
        if receiver.seen == version {
            return Err(RecvError);
        }
        receiver.seen = version;
        Ok(())
    }
}

wait_event!(impl['a, T] Changed<'a, T> => Result<(), RecvError>);
