//! The sending half of a channel.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use pin_project_lite::pin_project;

use super::chan::{Chan, Sent, State};
use super::closed::Closed;
use super::error::{SendError, SendTimeoutError, TrySendError};
use super::permit::Reserve;
use super::refs::{SenderRef, WeakRef};
use super::source::{Side, Slot, slot_methods};
use super::stream::Sink;
use crate::event::{Attempt, Enrol, Event, Lock, Protocol, event, into_future};
use crate::sched::record;
use crate::task::here;
use crate::time::Elapsed;

/// Sends values into a channel; clones send into the same one.
///
/// When the last sender is dropped, receivers take what is left and then hear of it.
///
/// A channel counts 16,760,832 senders, 1,032,192 receivers and as many weak handles; one more ends the process, with
/// a word about it.
pub struct Sender<T> {
    chan: SenderRef<T>,
}

impl<T> Sender<T> {
    pub(super) fn new(chan: SenderRef<T>) -> Self {
        Self { chan }
    }

    #[inline(always)]
    pub(super) fn chan(&self) -> &Chan<T> {
        &self.chan
    }

    /// Sends a value: an event.
    ///
    /// Waits for a receiver to take it (rendezvous), while the channel is full (bounded), or
    /// not at all (unbounded). Fails, giving the value back, once no receiver is left or the
    /// channel is closed. The unsent value comes back as the event's `Lost` if the send loses by
    /// [`either`](Event::either), times out, or cannot happen at once ([`try_now`](Event::try_now)). A send
    /// that loses by [`or`](Event::or), [`choose`](crate::choose) or [`select!`](crate::select), or whose
    /// wait is dropped, drops it ([`send_from`](Self::send_from) and [`reserve`](Self::reserve) keep it).
    ///
    /// ```
    /// use tidings::bounded;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = bounded(2);
    /// tx.send(1).await.unwrap();
    /// drop(rx);
    /// assert_eq!(tx.send(2).await.unwrap_err().0, 2);
    /// # });
    /// ```
    #[inline(always)]
    pub fn send(&self, value: T) -> Send<'_, T> {
        Send {
            sender: self,
            slot: Slot::new(Some(value)),
        }
    }

    /// As [`send`](Self::send), but takes the value out of `place` only when it is sent: a
    /// dropped or lost wait leaves it there.
    ///
    /// # Panics
    /// When awaited, if `place` is empty.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidings::{Event, channel};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (tx, _rx) = channel();
    /// let mut letter = Some("kept".to_string());
    /// assert!(tx.send_from(&mut letter).timeout(Duration::from_millis(2)).await.is_err());
    /// assert_eq!(letter.as_deref(), Some("kept"));
    /// # });
    /// ```
    pub fn send_from<'a>(&'a self, place: &'a mut Option<T>) -> SendFrom<'a, T> {
        SendFrom {
            place,
            event: self.send_empty(),
        }
    }

    fn send_empty(&self) -> Send<'_, T> {
        Send {
            sender: self,
            slot: Slot::new(None),
        }
    }

    /// Sends without ever waiting, whatever the capacity of a rendezvous channel: Hopac's
    /// `send`. The queue of posted values is not bounded. What is posted comes before the value of every `send` that
    /// still waits, those of the same sender too: such a value is not sent before a receiver takes it.
    ///
    /// # Errors
    /// Gives the value back once no receiver is left or the channel is closed, or if a
    /// [`bounded`](super::bounded) channel is full: its bound holds.
    ///
    /// ```
    /// let (tx, rx) = tidings::channel();
    /// tx.post(1).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// ```
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn post(&self, value: T) -> Result<(), TrySendError<T>> {
        let _line = record::called();
        self.try_with(value, |state, value, attempt| {
            if state.capacity() == 0 {
                state.post(value, attempt)
            } else {
                state.try_send(value, attempt)
            }
        })
    }

    /// Sends if that needs no waiting.
    ///
    /// # Errors
    /// Gives the value back if the channel is full or closed, or, a rendezvous channel, if no
    /// receiver waits.
    ///
    /// ```
    /// use tidings::TrySendError;
    /// let (tx, _rx) = tidings::bounded(1);
    /// assert_eq!(tx.try_send(1), Ok(()));
    /// assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
    /// ```
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        let _line = record::called();
        self.try_with(value, State::try_send)
    }

    #[inline(always)]
    pub(super) fn try_with(
        &self,
        value: T,
        send: impl FnOnce(&mut State<T>, &mut Option<T>, &mut Attempt) -> Sent,
    ) -> Result<(), TrySendError<T>> {
        let mut value = Some(value);
        let mut attempt = Attempt::default();
        let sent = self.chan().locked(|state| {
            if state.put_behind(&mut value, |value| value)
                || state.put_quickly(&mut value, |value| value)
            {
                return Sent::Done;
            }
            send(state, &mut value, &mut attempt)
        });
        if let Some(waker) = attempt.waker {
            crate::task::wake_now(waker);
        }
        match (sent, value) {
            (Sent::Full, Some(value)) => Err(TrySendError::Full(value)),
            (Sent::Closed, Some(value)) => Err(TrySendError::Closed(value)),
            _ => Ok(()),
        }
    }

    /// As [`send`](Self::send), for at most `duration`.
    ///
    /// # Errors
    /// Gives the value back when the time is over or the channel closed.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidings::SendTimeoutError;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (tx, _rx) = tidings::channel();
    /// let sent = tx.send_timeout(1, Duration::from_millis(2)).await;
    /// assert_eq!(sent, Err(SendTimeoutError::Timeout(1)));
    /// # });
    /// ```
    pub async fn send_timeout(
        &self,
        value: T,
        duration: Duration,
    ) -> Result<(), SendTimeoutError<T>> {
        match self.send(value).timeout(duration).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(SendError(value))) => Err(SendTimeoutError::Closed(value)),
            Err(Elapsed(value)) => Err(SendTimeoutError::Timeout(value)),
        }
    }

    /// As [`send`](Self::send), on a plain thread, which waits.
    ///
    /// # Errors
    /// Gives the value back once no receiver is left or the channel is closed.
    ///
    /// # Panics
    /// On a worker of a tidings runtime.
    #[track_caller]
    pub fn send_blocking(&self, value: T) -> Result<(), SendError<T>> {
        self.send(value).wait()
    }

    /// Waits for a place in the channel and keeps it: an event. Nothing can be lost between
    /// this and the send, which does not wait.
    ///
    /// On a rendezvous channel there are no places: the permit posts.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = tidings::bounded(1);
    /// let permit = tx.reserve().await.unwrap();
    /// assert!(tx.try_send(0).is_err(), "the place is taken");
    /// permit.send(1).unwrap();
    /// assert_eq!(rx.recv().await, Ok(1));
    /// # });
    /// ```
    pub fn reserve(&self) -> Reserve<&Self> {
        Reserve::new(self)
    }

    /// As [`reserve`](Self::reserve), with a permit that has a handle of its own and borrows nothing, so that it can go
    /// into a task that is spawned, or be kept in a struct. It keeps the channel open as every sender does.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = tidings::bounded(1);
    /// let permit = tx.reserve_owned().await.unwrap();
    /// drop(tx);
    /// tidings::spawn(async move { permit.send(1) }).await.unwrap().unwrap();
    /// assert_eq!(rx.recv().await, Ok(1));
    /// assert!(rx.recv().await.is_err(), "it was the last sender");
    /// # });
    /// ```
    pub fn reserve_owned(&self) -> Reserve<Self> {
        Reserve::new(self.clone())
    }

    /// Closes the channel: sends fail from now on, receivers take what is left. `false` if it
    /// was closed before.
    ///
    /// ```
    /// let (tx, rx) = tidings::unbounded();
    /// tx.try_send(1).unwrap();
    /// assert!(tx.close());
    /// assert!(tx.try_send(2).is_err());
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// assert_eq!(rx.try_recv(), Err(tidings::TryRecvError::Closed));
    /// ```
    pub fn close(&self) -> bool {
        self.chan().close()
    }

    /// Waits until no receiver is left or the channel is closed: an event.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = tidings::unbounded::<u8>();
    /// drop(rx);
    /// tx.closed().await;
    /// # });
    /// ```
    pub fn closed(&self) -> Closed<'_, T> {
        Closed::new(self)
    }

    /// Is it closed, or no receiver left?
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

    /// The bound: `Some(0)` for a rendezvous channel, `None` for an unbounded one.
    #[must_use]
    pub fn capacity(&self) -> Option<usize> {
        Some(self.chan().locked(|state| state.capacity())).filter(|&n| n != usize::MAX)
    }

    /// Do both send into the same channel?
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        self.chan == other.chan
    }

    /// This sender as a [`futures_sink::Sink`].
    #[must_use]
    pub fn into_sink(self) -> Sink<T>
    where
        T: 'static,
    {
        Sink::new(self)
    }

    /// A handle that does not keep the channel open.
    #[must_use]
    pub fn downgrade(&self) -> WeakSender<T> {
        WeakSender {
            chan: self.chan.downgrade(),
        }
    }
}

impl<T> Clone for Sender<T> {
    #[inline]
    fn clone(&self) -> Self {
        Self {
            chan: self.chan.clone(),
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        super::receiver::debug(self.chan(), "Sender", f)
    }
}

/// A sender that does not keep its channel open, from [`Sender::downgrade`].
pub struct WeakSender<T> {
    chan: WeakRef<T>,
}

impl<T> WeakSender<T> {
    /// A sender, if one is left.
    ///
    /// ```
    /// let (tx, _rx) = tidings::unbounded::<u32>();
    /// let weak = tx.downgrade();
    /// assert!(weak.upgrade().is_some());
    /// drop(tx);
    /// assert!(weak.upgrade().is_none());
    /// ```
    #[must_use]
    pub fn upgrade(&self) -> Option<Sender<T>> {
        self.chan.upgrade().map(Sender::new)
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        Self {
            chan: self.chan.clone(),
        }
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakSender").finish_non_exhaustive()
    }
}

pin_project! {
    /// The event of [`Sender::send`].
    #[derive(Debug)]
    #[must_use = "events do nothing unless awaited"]
    pub struct Send<'a, T> {
        sender: &'a Sender<T>,
        // Holds the value until it is sent.
        #[pin]
        slot: Slot<T>,
    }
}

impl<T> Protocol for Send<'_, T> {
    slot_methods!(Side::Sender, sender);

    #[inline(always)]
    fn quick(self: Pin<&mut Self>) -> Option<Self::Output> {
        let chan = self.sender.chan();
        let place = self.project().slot.place();
        // Two closures: compilers put the small one in place, and call the other where several places send.
        let put = chan.quick(|state| state.put_behind(place, |value| value))
            || chan.quick(|state| state.put_quickly(place, |value| value));
        put.then_some(Ok(()))
    }
    #[inline(always)]
    fn must_wait(&self) -> bool {
        self.sender.chan().quick(|state| state.is_stuffed())
    }
    #[inline(always)]
    fn attempt(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32> {
        let mut this = self.project();
        let place = this.slot.as_mut().place();
        let sent = this
            .sender
            .chan()
            .attempt(attempt, |state, attempt| state.try_send(place, attempt));
        this.slot.found_closed(sent == Sent::Closed);
        (sent != Sent::Full).then_some(0)
    }
    #[inline(always)]
    fn finish(self: Pin<&mut Self>, _: u32) -> Self::Output {
        let slot = self.project().slot;
        if slot.is_closed() {
            return Err(SendError(slot.place().take().expect("an unsent value")));
        }
        // Also a value that a receiver took while it waited.
        here::gave::<T>();
        Ok(())
    }
    fn abandon(self: Pin<&mut Self>, _: u32) {
        // Sent, and nobody asks; or closed, and the value is dropped with the event.
    }
}

impl<'a, T> Event for Send<'a, T> {
    type Lost = T;

    fn lost(self: Pin<&mut Self>) -> T {
        self.project().slot.place().take().expect("an unsent value")
    }
}

into_future!(impl['a, T] Send<'a, T> => Result<(), SendError<T>>);

pin_project! {
    /// The event of [`Sender::send_from`].
    #[derive(Debug)]
    #[must_use = "events do nothing unless awaited"]
    pub struct SendFrom<'a, T> {
        place: &'a mut Option<T>,
        #[pin]
        event: Send<'a, T>,
    }

    impl<'a, T> PinnedDrop for SendFrom<'a, T> {
        // For the wait whose neighbour in a choice panicked between prepare and commit.
        fn drop(this: Pin<&mut Self>) {
            this.put_back();
        }
    }
}

impl<'a, T> SendFrom<'a, T> {
    fn inner(self: Pin<&mut Self>) -> Pin<&mut Send<'a, T>> {
        self.project().event
    }

    /// Puts the value back, if it was not sent.
    fn put_back(self: Pin<&mut Self>) {
        let this = self.project();
        if let Some(value) = this.event.project().slot.place().take() {
            **this.place = Some(value);
        }
    }
}

impl<T> Protocol for SendFrom<'_, T> {
    fn prepare(self: Pin<&mut Self>) {
        let this = self.project();
        let value = this
            .place
            .take()
            .expect("send_from needs a value in its place");
        *this.event.project().slot.place() = Some(value);
    }
    fn single(&self) -> Option<&Lock> {
        self.event.single()
    }
    fn waits_for(&self, waits: &mut crate::event::waits::Waits) {
        self.event.waits_for(waits);
    }
    fn attempt(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32> {
        self.inner().attempt(attempt)
    }
    fn enrol(self: Pin<&mut Self>, enrol: &mut Enrol<'_>) {
        self.inner().enrol(enrol);
    }
    fn withdraw(mut self: Pin<&mut Self>, winner: Option<u32>, locked: bool) {
        self.as_mut().inner().withdraw(winner, locked);
        if winner.is_none() && !locked {
            self.put_back();
        }
    }
    fn finish(mut self: Pin<&mut Self>, _: u32) -> Self::Output {
        let closed = self.event.slot.is_closed();
        self.as_mut().put_back();
        here::gave::<T>();
        if closed { Err(SendError(())) } else { Ok(()) }
    }
    fn abandon(self: Pin<&mut Self>, _: u32) {
        self.put_back();
    }
}

event!(impl['a, T] SendFrom<'a, T> => Result<(), SendError<()>>);
