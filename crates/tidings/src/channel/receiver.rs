//! The receiving half of a channel.

use std::fmt;
use std::pin::Pin;
use std::task::Waker;
use std::time::Duration;

use pin_project_lite::pin_project;

use super::chan::{Chan, Received, State};
use super::error::{RecvError, RecvTimeoutError, TryRecvError};
use super::queue::Queue;
use super::refs::{ReceiverRef, WeakRef};
use super::source::{Side, Slot, slot_methods};
use super::stream::Stream;
use crate::event::{Attempt, Event, Protocol, event};
use crate::sched::record;

/// So many senders are woken for one lock; for few the array costs more than what it is for.
const BATCH: usize = 8;

/// Receives values from a channel; each value goes to one of the clones.
///
/// When the last receiver is dropped, sends fail, and what is still in the queue is dropped and
/// counted ([`dead_letters`](super::dead_letters)).
pub struct Receiver<T> {
    chan: ReceiverRef<T>,
}

impl<T> Receiver<T> {
    pub(super) fn new(chan: ReceiverRef<T>) -> Self {
        Self { chan }
    }

    #[inline(always)]
    pub(super) fn chan(&self) -> &Chan<T> {
        &self.chan
    }

    /// Receives a value: an event.
    ///
    /// Waits until one is there. Fails once nothing is left and none will come: no sender is left, or
    /// the channel was [closed](Self::close). A wait that is dropped, or loses a choice, leaves the
    /// values where they are; one that had been handed to it goes back to the front.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = tidings::unbounded();
    /// tx.send(1).await.unwrap();
    /// drop(tx);
    /// assert_eq!(rx.recv().await, Ok(1));
    /// assert!(rx.recv().await.is_err());
    /// # });
    /// ```
    #[inline(always)]
    pub fn recv(&self) -> Recv<'_, T> {
        Recv {
            receiver: self,
            slot: Slot::whole(),
        }
    }

    /// Receives a value if one is there.
    ///
    /// # Errors
    /// [`TryRecvError::Empty`], or [`TryRecvError::Closed`] if none will come.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let _line = record::called();
        let mut attempt = Attempt::default();
        let mut received = self.chan().locked(|state| state.try_recv(&mut attempt));
        if let Some(sender) = attempt.waker {
            received = crate::task::wake_partner(sender, received, |received| {
                if let Received::Value(value) = received {
                    self.chan().give_back(value);
                }
            });
        }
        match received {
            Received::Value(value) => Ok(value),
            Received::Empty => Err(TryRecvError::Empty),
            Received::Closed => Err(TryRecvError::Closed),
        }
    }

    /// As [`recv`](Self::recv), for at most `duration`.
    ///
    /// # Errors
    /// When the time is over, or as [`recv`](Self::recv).
    pub async fn recv_timeout(&self, duration: Duration) -> Result<T, RecvTimeoutError> {
        match self.recv().timeout(duration).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(RecvError)) => Err(RecvTimeoutError::Closed),
            Err(_) => Err(RecvTimeoutError::Timeout),
        }
    }

    /// As [`recv`](Self::recv), on a plain thread, which waits.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    ///
    /// # Panics
    /// On a worker of a tidings runtime.
    #[track_caller]
    pub fn recv_blocking(&self) -> Result<T, RecvError> {
        self.recv().wait()
    }

    /// Waits for a first value, then takes up to `limit` that are there, in order, into `into`;
    /// gives how many: 0 once nothing is left and none will come, or if `limit` is 0.
    ///
    /// An event. It takes the channel's lock two or three times, once more for each 256 values (for less of large
    /// ones) and for each eight senders that wait for their places: the fast way to empty a queue. A wait that
    /// is dropped has taken nothing.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = tidings::unbounded();
    /// (0..5).for_each(|n| tx.try_send(n).unwrap());
    /// let mut got = Vec::new();
    /// assert_eq!(rx.recv_many(&mut got, 3).await, 3);
    /// assert_eq!(got, [0, 1, 2]);
    /// # });
    /// ```
    pub fn recv_many<'a>(&'a self, into: &'a mut Vec<T>, limit: usize) -> RecvMany<'a, T> {
        RecvMany {
            receiver: self,
            slot: Slot::new(None),
            into,
            limit,
        }
    }

    /// Takes up to `limit` values that are there, in order; how many. It ends while others send: once it finds nobody
    /// who waits to send, what comes later is left.
    pub fn try_recv_many(&self, into: &mut Vec<T>, limit: usize) -> usize {
        let (start, mut left) = (into.len(), limit);
        loop {
            // Not under the lock.
            if into.capacity() - into.len() < left.min(Queue::<T>::AT_ONCE) {
                into.reserve(left.min(self.chan().locked(|state| state.there())));
            }
            // In batches of senders to wake, so that nothing is allocated for them.
            let mut wakers: [Option<Waker>; BATCH] = [const { None }; BATCH];
            left = self
                .chan()
                .locked(|state| state.take_many(into, left, &mut wakers));
            // They come one after the other. The array is not moved.
            crate::task::wake_all(wakers.iter_mut().map_while(Option::take));
            if left == 0 {
                return into.len() - start;
            }
        }
    }

    /// The values that come, as a [`futures_core::Stream`], which ends with the channel.
    #[must_use]
    pub fn into_stream(self) -> Stream<T>
    where
        T: 'static,
    {
        Stream::new(self)
    }

    /// Closes the channel: sends fail from now on; what was sent can still be received.
    /// `false` if it was closed before.
    pub fn close(&self) -> bool {
        self.chan().close()
    }

    /// Is it closed, or no sender left? There may still be values.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.chan().locked(|state| state.is_closed())
    }

    /// How many values are in the queue.
    #[must_use]
    pub fn len(&self) -> usize {
        self.chan().locked(|state| state.len())
    }

    /// Is the queue empty?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Do both receive from the same channel?
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        self.chan == other.chan
    }

    /// A handle that does not keep the channel open for senders.
    #[must_use]
    pub fn downgrade(&self) -> WeakReceiver<T> {
        WeakReceiver {
            chan: self.chan.downgrade(),
        }
    }
}

impl<T> Clone for Receiver<T> {
    #[inline]
    fn clone(&self) -> Self {
        Self {
            chan: self.chan.clone(),
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug(self.chan(), "Receiver", f)
    }
}

pub(super) fn debug<T>(chan: &Chan<T>, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (len, senders, receivers, closed) = chan.locked(|state| {
        let senders = state.n_waiting(Side::Sender);
        (
            state.len(),
            senders,
            state.n_waiting(Side::Receiver),
            state.is_closed(),
        )
    });
    f.debug_struct(name)
        .field("len", &len)
        .field("senders", &chan.count(Side::Sender))
        .field("receivers", &chan.count(Side::Receiver))
        .field("senders_waiting", &senders)
        .field("receivers_waiting", &receivers)
        .field("closed", &closed)
        .finish()
}

/// A receiver that does not keep its channel open, from [`Receiver::downgrade`].
pub struct WeakReceiver<T> {
    chan: WeakRef<T>,
}

impl<T> WeakReceiver<T> {
    /// A receiver, if one is left.
    #[must_use]
    pub fn upgrade(&self) -> Option<Receiver<T>> {
        self.chan.upgrade().map(Receiver::new)
    }
}

impl<T> Clone for WeakReceiver<T> {
    fn clone(&self) -> Self {
        Self {
            chan: self.chan.clone(),
        }
    }
}

impl<T> fmt::Debug for WeakReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakReceiver").finish_non_exhaustive()
    }
}

/// Takes a value that is there; `false` if none is there and one may come.
#[inline(always)]
fn attempt<T>(receiver: &Receiver<T>, place: &mut Option<T>, attempt: &mut Attempt) -> bool {
    match receiver.chan().attempt(attempt, State::try_recv) {
        Received::Empty => return false,
        Received::Closed => {}
        Received::Value(value) => *place = Some(value),
    }
    true
}

/// What was handed to a wait that nobody will look at is the next receiver's.
fn abandon<T>(receiver: &Receiver<T>, place: &mut Option<T>) {
    if let Some(value) = place.take() {
        receiver.chan().give_back(value);
    }
}

pin_project! {
    /// The event of [`Receiver::recv`].
    #[derive(Debug)]
    #[must_use = "events do nothing unless awaited"]
    pub struct Recv<'a, T> {
        receiver: &'a Receiver<T>,
        // Where a partner puts the value.
        #[pin]
        slot: Slot<T>,
    }
}

impl<T> Protocol for Recv<'_, T> {
    slot_methods!(Side::Receiver, receiver);

    #[inline(always)]
    fn quick(self: Pin<&mut Self>) -> Option<Self::Output> {
        let chan = self.receiver.chan();
        chan.quick(State::take_quickly).map(Ok)
    }
    #[inline(always)]
    fn must_wait(&self) -> bool {
        self.receiver.chan().quick(|state| state.is_barren())
    }
    #[inline(always)]
    fn attempt(self: Pin<&mut Self>, with: &mut Attempt) -> Option<u32> {
        let this = self.project();
        attempt(this.receiver, this.slot.place(), with).then_some(0)
    }
    #[inline(always)]
    fn finish(self: Pin<&mut Self>, _: u32) -> Self::Output {
        self.project().slot.place().take().ok_or(RecvError)
    }
    fn abandon(self: Pin<&mut Self>, _: u32) {
        let this = self.project();
        abandon(this.receiver, this.slot.place());
    }
}

event!(impl['a, T] Recv<'a, T> => Result<T, RecvError>);

pin_project! {
    /// The event of [`Receiver::recv_many`].
    #[derive(Debug)]
    #[must_use = "events do nothing unless awaited"]
    pub struct RecvMany<'a, T> {
        receiver: &'a Receiver<T>,
        // Where a partner puts the first value.
        #[pin]
        slot: Slot<T>,
        into: &'a mut Vec<T>,
        limit: usize,
    }
}

impl<T> Protocol for RecvMany<'_, T> {
    slot_methods!(Side::Receiver, receiver);

    fn attempt(self: Pin<&mut Self>, with: &mut Attempt) -> Option<u32> {
        let this = self.project();
        let nothing_to_do = *this.limit == 0;
        (nothing_to_do || attempt(this.receiver, this.slot.place(), with)).then_some(0)
    }
    fn finish(self: Pin<&mut Self>, _: u32) -> usize {
        let this = self.project();
        let Some(first) = this.slot.place().take() else {
            return 0;
        };
        this.into.push(first);
        1 + this.receiver.try_recv_many(this.into, *this.limit - 1)
    }
    fn abandon(self: Pin<&mut Self>, _: u32) {
        let this = self.project();
        abandon(this.receiver, this.slot.place());
    }
}

event!(impl['a, T] RecvMany<'a, T> => usize);

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::Queue;
    use crate::unbounded;

    #[test]
    fn a_lock_is_held_for_so_many_values_and_no_allocation() {
        let (tx, rx) = unbounded::<u32>();
        (0..1000).for_each(|n| tx.try_send(n).unwrap());
        let most = Queue::<u32>::AT_ONCE;
        let take = |into: &mut Vec<u32>, limit| {
            let left = rx
                .chan()
                .locked(|state| state.take_many(into, limit, &mut []));
            (left, into.len())
        };
        let mut into = Vec::with_capacity(1000);
        assert_eq!(take(&mut into, usize::MAX), (1000 - most, most));
        assert_eq!(take(&mut into, 1), (0, most + 1));
        assert_eq!(take(&mut into, most), (0, 2 * most + 1));
        let mut full = Vec::new();
        assert_eq!(take(&mut full, 3), (3, 0));
        assert_eq!((take(&mut full, 0), full.capacity()), ((0, 0), 0));
        // All of them, however often the lock is taken.
        let left = 1000 - into.len();
        assert_eq!(rx.try_recv_many(&mut into, usize::MAX), left);
        assert!(into.into_iter().eq(0..1000));
        assert_eq!(Queue::<[u8; 1 << 20]>::AT_ONCE, 1);
        assert_eq!(Queue::<()>::AT_ONCE, 256);
    }

    #[test]
    fn what_is_sent_after_the_first_look_is_not_of_those_that_are_there() {
        let (tx, rx) = unbounded::<u32>();
        let send = || (0..1000).for_each(|n| tx.try_send(n).unwrap());
        send();
        let (mut into, mut left) = (Vec::with_capacity(10_000), usize::MAX);
        while left > 0 {
            left = rx
                .chan()
                .locked(|state| state.take_many(&mut into, left, &mut []));
            send();
        }
        assert!(into.into_iter().eq(0..1000));
    }
}
