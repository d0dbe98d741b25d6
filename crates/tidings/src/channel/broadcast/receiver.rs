//! The receiving side of a broadcast channel.

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;

use super::super::source::{Side, Source};
use super::super::wait::{Ticket, Wait, wait_event};
use super::{RecvError, State, TryRecvError, subscribe};
use crate::event::unfold::unfold;
use crate::event::waits::Waits;
use crate::primitive::Arc;

/// Receives every value of a [`broadcast`](super::broadcast()) channel that is sent after it subscribed.
///
/// Dropping the last receiver drops the values that the channel keeps; sends then fail until
/// somebody subscribes.
pub struct Receiver<T> {
    pub(super) source: Arc<Source<State<T>>>,
    /// The position of the next value to see.
    pub(super) cursor: u64,
    pub(super) value: PhantomData<Arc<T>>,
}

impl<T: Clone> Receiver<T> {
    /// The next value: an event.
    ///
    /// Waits until one is sent. Fails with [`RecvError::Lagged`] if values were missed, and
    /// with [`RecvError::Closed`] once all were seen and no sender is left. A wait that is
    /// dropped, or loses a choice, has seen nothing: the value is there for the next.
    ///
    /// ```
    /// use tidings::channel::broadcast::{RecvError, broadcast};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = broadcast(2);
    /// (1..=3).for_each(|n| assert!(tx.send(n).is_ok()));
    /// drop(tx);
    /// assert_eq!(rx.recv().await, Err(RecvError::Lagged(1)));
    /// assert_eq!(rx.recv().await, Ok(2));
    /// assert_eq!(rx.recv().await, Ok(3));
    /// assert_eq!(rx.recv().await, Err(RecvError::Closed));
    /// # });
    /// ```
    pub fn recv(&mut self) -> Recv<'_, T> {
        Recv {
            receiver: self,
            slot: Ticket::new(None),
        }
    }

    /// The next value, if it is there.
    ///
    /// # Errors
    /// If nothing new is there, values were missed, or no sender is left.
    ///
    /// # Panics
    /// If the value's `clone` does: it costs this receiver that value.
    ///
    /// ```
    /// use tidings::channel::broadcast::{TryRecvError, broadcast};
    /// let (tx, mut rx) = broadcast(1);
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    /// tx.send(1).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// ```
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.take().map(Arc::unwrap_or_clone)
    }
}

impl<T: Clone + 'static> Receiver<T> {
    /// The values that come, as a [`futures_core::Stream`], which ends with the channel. Where values were missed
    /// its item is [`RecvError::Lagged`]; it is never [`RecvError::Closed`].
    ///
    /// ```
    /// use futures::StreamExt;
    /// use tidings::channel::broadcast::{RecvError, broadcast};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = broadcast(2);
    /// (1..=3).for_each(|n| assert!(tx.send(n).is_ok()));
    /// drop(tx);
    /// let items: Vec<_> = rx.into_stream().collect().await;
    /// assert_eq!(items, [Err(RecvError::Lagged(1)), Ok(2), Ok(3)]);
    /// # });
    /// ```
    pub fn into_stream(
        self,
    ) -> impl futures_core::Stream<Item = Result<T, RecvError>> + Send + Unpin
    where
        T: Send + Sync,
    {
        let next = async |mut receiver: Self| {
            let arrive = Arrive {
                receiver: &mut receiver,
                slot: Ticket::new(None),
            };
            match arrive.await {
                Err(RecvError::Closed) => None,
                item => Some((item, receiver)),
            }
        };
        // Cloned with the receiver in its place again: who panics in that costs the stream this value.
        unfold(self, next, |item| item.map(Arc::unwrap_or_clone))
    }
}

impl<T> Receiver<T> {
    /// The next value, as the channel has it.
    fn take(&mut self) -> Result<Arc<T>, TryRecvError> {
        self.source.locked(|state| state.next(&mut self.cursor))
    }

    /// Is there something for it? Else the ticket says what it waits for.
    fn ready(&self, slot: &mut Ticket, state: &State<T>) -> bool {
        // The cursor moves in `done` only: until then nothing is taken from anybody.
        slot.write(self.cursor);
        self.cursor < state.kept.tail || state.senders == 0
    }

    /// Another receiver, of all values sent from now on; what this one has not seen yet stays
    /// its own.
    #[must_use]
    pub fn resubscribe(&self) -> Self {
        subscribe(&self.source)
    }

    /// How many values are there to be received. Missed ones do not count.
    ///
    /// ```
    /// let (tx, rx) = tidings::channel::broadcast(2);
    /// (1..=3).for_each(|n| assert!(tx.send(n).is_ok()));
    /// assert_eq!(rx.len(), 2);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.source
            .locked(|state| (state.kept.tail - self.cursor.max(state.kept.head())) as usize)
    }

    /// Is nothing there to be received?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Is no sender left? There may still be values.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.source.locked(|state| state.senders == 0)
    }

    /// Do both receive from the same channel?
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.source, &other.source)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.source
            .remove_receiver(|ring| std::mem::take(&mut ring.values));
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("broadcast::Receiver")
            .field("len", &self.len())
            .field("closed", &self.is_closed())
            .finish()
    }
}

/// The event of [`Receiver::recv`].
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Recv<'a, T> {
    receiver: &'a mut Receiver<T>,
    slot: Ticket,
}

impl<T: Clone> Wait for Recv<'_, T> {
    type State = State<T>;
    type Output = Result<T, RecvError>;
    const SIDE: Side = Side::Receiver;

    fn source(&self) -> &Source<State<T>> {
        &self.receiver.source
    }
    fn ready(&mut self, state: &mut State<T>) -> bool {
        self.receiver.ready(&mut self.slot, state)
    }
    fn done(&mut self) -> Self::Output {
        self.receiver.try_recv().map_err(why_not)
    }
}

wait_event!(impl['a, T: Clone] Recv<'a, T> => Result<T, RecvError>);

/// As [`Recv`], of the value as the channel has it.
struct Arrive<'a, T> {
    receiver: &'a mut Receiver<T>,
    slot: Ticket,
}

impl<T> Wait for Arrive<'_, T> {
    type State = State<T>;
    type Output = Result<Arc<T>, RecvError>;
    const SIDE: Side = Side::Receiver;

    fn source(&self) -> &Source<State<T>> {
        &self.receiver.source
    }
    fn ready(&mut self, state: &mut State<T>) -> bool {
        self.receiver.ready(&mut self.slot, state)
    }
    fn waits_for(&self, waits: &mut Waits) {
        waits.event(type_name::<Recv<'_, T>>(), Some(&self.source().lock));
    }
    fn done(&mut self) -> Self::Output {
        self.receiver.take().map_err(why_not)
    }
}

wait_event!(impl['a, T] Arrive<'a, T> => Result<Arc<T>, RecvError>);

fn why_not(error: TryRecvError) -> RecvError {
    match error {
        TryRecvError::Lagged(missed) => RecvError::Lagged(missed),
        TryRecvError::Closed => RecvError::Closed,
        TryRecvError::Empty => unreachable!("a receive is done when there is something"),
    }
}
