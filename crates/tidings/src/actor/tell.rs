//! A one-way send: the message is in the mailbox when the event has happened.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use pin_project_lite::pin_project;

use super::address::{Inlet, Put};
use super::exit::Exit;
use crate::channel::source::Slot;
use crate::event::waits::Waits;
use crate::event::{Attempt, Enrol, Event, Lock, Locks, into_future};
use crate::time::Elapsed;

pin_project! {
    /// The event of a one-way send: the message is in the mailbox.
    #[must_use = "events do nothing unless awaited"]
    pub struct Tell<'a, I> {
        inlet: &'a dyn Inlet<I>,
        message: Option<I>,
        // What the attempt that ended the wait found; `None`: a partner gave it a place.
        put: Option<Put>,
        #[pin]
        slot: Slot<()>,
    }
}

impl<'a, I> Tell<'a, I> {
    #[inline(always)]
    pub(super) fn new(inlet: &'a dyn Inlet<I>, message: I) -> Self {
        Self {
            inlet,
            message: Some(message),
            put: None,
            slot: Slot::bare(),
        }
    }

    /// As [`Event::timeout`], with the time that has passed among the errors of the send.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidings::actor::{Builder, SendError};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let busy = Builder::new().capacity(1).spawn(|mailbox: tidings::actor::Mailbox<u32>| async {
    ///     std::future::pending::<()>().await;
    ///     drop(mailbox);
    /// });
    /// busy.send(1).await.unwrap();
    /// let sent = busy.send(2).timeout(Duration::from_millis(2)).await;
    /// assert!(matches!(sent, Err(SendError::Timeout(2))));
    /// # });
    /// ```
    pub fn timeout(
        self,
        duration: Duration,
    ) -> impl Event<Output = Result<(), SendError<I>>, Lost = I> + use<'a, I> {
        Event::timeout(self, duration)
            .map(|sent| sent.unwrap_or_else(|Elapsed(message)| Err(SendError::Timeout(message))))
    }
}

/// Puts a message into a mailbox if that needs no waiting.
#[inline]
pub(super) fn try_tell<I>(inlet: &dyn Inlet<I>, message: I) -> Result<(), SendError<I>> {
    try_tell_and(inlet, message, || ())
}

/// As `try_tell`, and gives what `then` finds before the mailbox is unlocked.
#[inline(always)]
pub(super) fn try_tell_and<I, R>(
    inlet: &dyn Inlet<I>,
    message: I,
    then: impl FnOnce() -> R,
) -> Result<R, SendError<I>> {
    let mut place = Some(message);
    let mut attempt = Attempt::default();
    inlet.lock().lock();
    let put = inlet.put(&mut place, &mut attempt);
    let found = then();
    inlet.lock().unlock();
    if let Some(waker) = attempt.waker.take() {
        crate::task::wake_now(waker);
    }
    match (put, place) {
        (Put::Full | Put::Refused, Some(message)) => Err(SendError::Full(message)),
        (Put::Closed, Some(message)) => Err(SendError::ended(inlet, message)),
        _ => Ok(found),
    }
}

impl<I> Event for Tell<'_, I> {
    type Lost = I;

    #[inline(always)]
    fn leaves(&self) -> u32 {
        1
    }
    #[inline(always)]
    fn single(&self) -> Option<&Lock> {
        Some(self.inlet.lock())
    }
    fn waits_for(&self, waits: &mut Waits) {
        let actor = self.inlet.life().title();
        waits.of(format_args!("a place in the mailbox of actor {actor}"));
    }
    #[inline(always)]
    fn lock<'l>(&'l self, locks: &mut Locks<'l>) {
        locks.add(self.inlet.lock());
    }
    #[inline(always)]
    fn attempt(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32> {
        let this = self.project();
        *this.put = match this.inlet.put(this.message, attempt) {
            Put::Full => None,
            put => Some(put),
        };
        this.put.as_ref().map(|_| 0)
    }
    fn enrol(self: Pin<&mut Self>, enrol: &mut Enrol<'_>) {
        let this = self.project();
        // SAFETY: the lock is held; the slot was not linked, is pinned with the event, and is
        // withdrawn or committed before the event ends.
        unsafe { this.inlet.enrol(this.slot, enrol) };
    }
    #[inline(always)]
    fn withdraw(self: Pin<&mut Self>, winner: Option<u32>, locked: bool) {
        if winner.is_some() {
            return;
        }
        let this = self.project();
        // SAFETY: the slot waits among this mailbox's senders, or not at all.
        unsafe { this.inlet.withdraw(this.slot, locked) };
    }
    #[inline(always)]
    fn finish(self: Pin<&mut Self>, _: u32) -> Self::Output {
        let this = self.project();
        let Some(message) = this.message.take() else {
            return Ok(());
        };
        match this.put {
            Some(Put::Refused) => Err(SendError::Full(message)),
            Some(_) => Err(SendError::ended(*this.inlet, message)),
            None if this.slot.is_closed() => Err(SendError::ended(*this.inlet, message)),
            None => match this.inlet.put_reserved(Some(message)) {
                None => Ok(()),
                Some(message) => Err(SendError::ended(*this.inlet, message)),
            },
        }
    }
    fn abandon(self: Pin<&mut Self>, _: u32) {
        let this = self.project();
        if this.put.is_none() && !this.slot.is_closed() {
            // It was given a place, which goes to the next; the message is dropped with the wait.
            this.inlet.put_reserved(None);
        }
    }
    fn lost(self: Pin<&mut Self>) -> I {
        self.project().message.take().expect("an unsent message")
    }
}

into_future!(impl['a, I] Tell<'a, I> => Result<(), SendError<I>>);

/// A message that was not sent, with the reason.
#[derive(Clone)]
#[non_exhaustive]
pub enum SendError<M> {
    /// The mailbox is full, and the send was not to wait.
    Full(M),
    /// The actor has ended, or takes no more messages because it ends.
    Ended(M, Exit),
    /// The time that [`Tell::timeout`] gave it is over.
    Timeout(M),
}

impl<M> SendError<M> {
    fn ended(inlet: &dyn Inlet<M>, message: M) -> Self {
        // Without an exit it was closed because it is to stop.
        Self::Ended(message, inlet.life().exit().unwrap_or(Exit::Stopped))
    }

    /// The message.
    pub fn into_message(self) -> M {
        match self {
            Self::Full(message) | Self::Ended(message, _) | Self::Timeout(message) => message,
        }
    }

    /// Was the mailbox full?
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full(_))
    }
}

impl<M> fmt::Debug for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(_) => f.write_str("Full(..)"),
            Self::Ended(_, exit) => write!(f, "Ended(.., {exit:?})"),
            Self::Timeout(_) => f.write_str("Timeout(..)"),
        }
    }
}

impl<M> fmt::Display for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(_) => f.write_str("the mailbox is full"),
            Self::Ended(_, exit) => write!(f, "the actor {exit}"),
            Self::Timeout(_) => f.write_str("the mailbox was full for too long"),
        }
    }
}

impl<M> Error for SendError<M> {}

impl<I> fmt::Debug for Tell<'_, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tell")
            .field("actor", &self.inlet.life().id)
            .finish_non_exhaustive()
    }
}
