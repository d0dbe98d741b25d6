//! Channels as `Stream` and `Sink`, for the ecosystem of futures.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, ready};

use super::error::{SendError, TrySendError};
use super::receiver::{Receiver, Recv};
use super::sender::{Send as SendEvent, Sender};
use crate::event::{Event, EventFuture, yield_first};
use crate::sched;
use crate::task::go_on;

/// A handle with the wait that borrows it, kept between polls.
///
/// The handle lives in an allocation of its own, so that the wait's reference stays valid when
/// the whole is moved. The place of the wait is allocated once.
struct Parked<H, E: Event> {
    wait: Pin<Box<Option<EventFuture<E>>>>,
    handle: NonNull<H>,
}

// SAFETY: it owns the handle and the wait.
unsafe impl<H: Send, E: Event + Send> Send for Parked<H, E> {}
// SAFETY: a shared one gives out `&H` only.
unsafe impl<H: Sync, E: Event + Send> Sync for Parked<H, E> {}

impl<H, E: Event> Parked<H, E> {
    fn new(handle: H) -> Self {
        Self {
            wait: Box::pin(None),
            handle: NonNull::from(Box::leak(Box::new(handle))),
        }
    }

    fn handle(&self) -> &H {
        // SAFETY: ours until the drop.
        unsafe { self.handle.as_ref() }
    }

    /// A reference for the wait, which is dropped before the handle.
    fn handle_for_wait<'a>(&self) -> &'a H {
        // SAFETY: the wait is the only user, and `drop` ends it first.
        unsafe { &*self.handle.as_ptr() }
    }

    /// Is there a wait? A poll that panicked may have ended it.
    fn waits(&self) -> bool {
        Option::as_ref(&self.wait).is_some_and(|wait| !wait.is_over())
    }

    /// Polls the wait, if there is one, and ends it when it is ready.
    fn poll(&mut self, cx: &mut Context<'_>) -> Option<Poll<E::Output>> {
        if !self.waits() {
            return None;
        }
        let polled = self.wait.as_mut().as_pin_mut()?.poll(cx);
        if polled.is_ready() {
            self.wait.set(None);
        }
        Some(polled)
    }
}

impl<H, E: Event> Drop for Parked<H, E> {
    fn drop(&mut self) {
        // It may wake somebody whose waker panics.
        let ended = catch_unwind(AssertUnwindSafe(|| self.wait.set(None)));
        // SAFETY: the wait is gone, so nothing else refers to the handle.
        drop(unsafe { Box::from_raw(self.handle.as_ptr()) });
        go_on(ended);
    }
}

/// The values of a channel as a [`futures_core::Stream`], from [`Receiver::into_stream`].
///
/// Dropping it between polls loses nothing: a value that was handed over goes back.
///
/// ```
/// use futures::StreamExt;
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = tidings::unbounded();
/// (1..=3).for_each(|n| tx.try_send(n).unwrap());
/// drop(tx);
/// assert_eq!(rx.into_stream().collect::<Vec<_>>().await, [1, 2, 3]);
/// # });
/// ```
pub struct Stream<T: 'static> {
    parked: Parked<Receiver<T>, Recv<'static, T>>,
}

impl<T> Stream<T> {
    pub(super) fn new(receiver: Receiver<T>) -> Self {
        Self {
            parked: Parked::new(receiver),
        }
    }

    /// The receiver whose values these are.
    ///
    /// Between two polls the stream waits, and the next value may be handed to it: what is received by
    /// this handle meanwhile overtakes that.
    #[must_use]
    pub fn receiver(&self) -> &Receiver<T> {
        self.parked.handle()
    }
}

impl<T> futures_core::Stream for Stream<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let parked = &mut self.get_mut().parked;
        if !parked.waits() {
            let recv = parked.handle_for_wait().recv();
            parked.wait.set(Some(recv.into_future()));
        }
        parked.poll(cx).unwrap_or(Poll::Pending).map(Result::ok)
    }
}

impl<T> fmt::Debug for Stream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stream").field(self.receiver()).finish()
    }
}

/// A sender as a [`futures_sink::Sink`], from [`Sender::into_sink`].
///
/// What it is given goes into the channel at once, if there is a place, or somebody who takes it. Else it holds that
/// value, one more than the channel, and flushing waits for its send; a sink that is dropped meanwhile drops it. Closing
/// flushes and then gives up the sender, so that receivers hear of the end; what is sent afterwards comes
/// back with the error.
///
/// ```
/// use futures::SinkExt;
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = tidings::bounded(2);
/// let mut sink = tx.into_sink();
/// sink.send(1).await.unwrap();
/// assert_eq!(rx.recv().await, Ok(1));
/// # });
/// ```
pub struct Sink<T: 'static> {
    /// `None`: it is closed.
    parked: Option<Parked<Sender<T>, SendEvent<'static, T>>>,
}

impl<T> Sink<T> {
    pub(super) fn new(sender: Sender<T>) -> Self {
        Self {
            parked: Some(Parked::new(sender)),
        }
    }

    /// The sender behind it; `None` once the sink is closed. What is sent by it may overtake the value that
    /// the sink holds.
    #[must_use]
    pub fn sender(&self) -> Option<&Sender<T>> {
        self.parked.as_ref().map(Parked::handle)
    }
}

impl<T> futures_sink::Sink<T> for Sink<T> {
    type Error = SendError<T>;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        ready!(self.poll_flush(cx))?;
        // `start_send` cannot wait, so the operation is counted here.
        match sched::spend_budget() {
            true => Poll::Ready(Ok(())),
            false => yield_first(cx),
        }
    }

    fn start_send(self: Pin<&mut Self>, value: T) -> Result<(), Self::Error> {
        let Some(parked) = &mut self.get_mut().parked else {
            return Err(SendError(value));
        };
        assert!(
            !parked.waits(),
            "start_send comes after poll_ready was ready"
        );
        match parked.handle().try_send(value) {
            Err(TrySendError::Full(value)) => {
                let send = parked.handle_for_wait().send(value);
                parked.wait.set(Some(send.into_future()));
                Ok(())
            }
            sent => sent.map_err(|unsent| SendError(unsent.into_inner())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        let parked = self.get_mut().parked.as_mut();
        let polled = parked.and_then(|parked| parked.poll(cx));
        polled.unwrap_or(Poll::Ready(Ok(())))
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        let flushed = self.as_mut().poll_flush(cx);
        if flushed.is_ready() {
            self.get_mut().parked = None;
        }
        flushed
    }
}

impl<T> fmt::Debug for Sink<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sink").field(&self.sender()).finish()
    }
}
