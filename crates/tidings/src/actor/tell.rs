//! A one-way send: the message is in the mailbox when the event has happened.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use pin_project_lite::pin_project;

use super::address::Inlet;
use super::exit::Exit;
use super::life::Life;
use crate::channel::chan::Sent;
use crate::channel::source::Slot;
use crate::event::waits::Waits;
use crate::event::{Attempt, Enrol, Event, Lock, Protocol, into_future};
use crate::task::here;
use crate::time::Elapsed;

pin_project! {
    /// The event of a one-way send: the message is in the mailbox.
    #[must_use = "events do nothing unless awaited"]
    pub struct Tell<'a, I> {
        inlet: &'a dyn Inlet<I>,
        message: Option<I>,
        // Beside the waiter: what the last attempt found, which ended the wait; `None`: a partner gave it a place.
        #[pin]
        slot: Slot<Sent>,
    }
}

impl<'a, I> Tell<'a, I> {
    #[inline(always)]
    pub(super) fn new(inlet: &'a dyn Inlet<I>, message: I) -> Self {
        Self {
            inlet,
            message: Some(message),
            slot: Slot::bare(),
        }
    }

    /// Of a message that has found the mailbox full. Its ticket is `Here::placed`, if an actor sends it.
    pub(super) fn late(inlet: &'a dyn Inlet<I>, message: I) -> Self {
        let mut tell = Self::new(inlet, message);
        *tell.slot.value() = Some(Sent::Full);
        tell
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
    let mut place = Some(message);
    let sent = inlet.put_now(&mut place);
    match place {
        None => Ok(()),
        Some(message) => unsent(inlet, sent, message),
    }
}

/// A message did not go in: it ends here, or by the mailbox's policy.
#[cold]
pub(super) fn unsent<I>(inlet: &dyn Inlet<I>, sent: Sent, message: I) -> Result<(), SendError<I>> {
    if sent == Sent::Full {
        inlet.overflow(message)
    } else {
        Err(SendError::ended(inlet.life(), message))
    }
}

impl<I> Tell<'_, I> {
    /// It did not go in at once: it has a place now, or never will.
    #[cold]
    fn finish_late(self: Pin<&mut Self>) -> Result<(), SendError<I>> {
        let mut this = self.project();
        let message = this.message.take().expect("an unsent message");
        let (sent, message) = match this.slot.as_mut().place().take() {
            Some(sent) => (sent, message),
            None if this.slot.is_closed() => (Sent::Closed, message),
            None => match this.inlet.put_reserved(Some(message)) {
                None => return Ok(()),
                Some(message) => (Sent::Closed, message),
            },
        };
        unsent(*this.inlet, sent, message)
    }
}

/// Does this end the wait? `None`: senders wait.
#[inline(always)]
fn ends<I>(inlet: &dyn Inlet<I>, sent: Sent) -> Option<Sent> {
    (sent != Sent::Full || !inlet.waits()).then_some(sent)
}

impl<I> Protocol for Tell<'_, I> {
    #[inline(always)]
    fn single(&self) -> Option<&Lock> {
        Some(self.inlet.lock())
    }
    fn waits_for(&self, waits: &mut Waits) {
        let actor = self.inlet.life().label();
        waits.of(format_args!("a place in the mailbox of {actor}"));
    }
    #[inline(always)]
    fn at_once(self: Pin<&mut Self>) -> Option<Self::Output> {
        let mut this = self.project();
        if this.slot.as_mut().place().is_some() {
            return None;
        }
        this.inlet.put_now(this.message);
        this.message.is_none().then_some(Ok(()))
    }
    #[inline(always)]
    fn attempt(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32> {
        let this = self.project();
        let sent = this.inlet.put(this.message, attempt);
        if sent == Sent::Done && here::actor() != 0 {
            let ticket = this.inlet.come().wrapping_sub(1);
            here::place(ticket);
        }
        let sent = ends(*this.inlet, sent);
        *this.slot.place() = sent;
        sent.map(|_| 0)
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
        if self.message.is_none() {
            return Ok(());
        }
        self.finish_late()
    }
    fn abandon(self: Pin<&mut Self>, _: u32) {
        let mut this = self.project();
        if this.slot.as_mut().place().is_none() && !this.slot.is_closed() {
            // It was given a place, which goes to the next; the message is dropped with the wait.
            this.inlet.put_reserved(None);
        }
    }
}

impl<'a, I> Event for Tell<'a, I> {
    type Lost = I;

    fn lost(self: Pin<&mut Self>) -> I {
        self.project().message.take().expect("an unsent message")
    }
}

into_future!(impl['a, I] Tell<'a, I> => Result<(), SendError<I>>);

/// A message that was not sent, with the reason. As [`CallError`](super::CallError), it does not say to whom.
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
    pub(super) fn ended(life: &Life, message: M) -> Self {
        // Without an exit it was closed because it is to stop, or because it waits for its children.
        let exit = life.exit().unwrap_or_else(|| life.verdict());
        exit.heard();
        Self::Ended(message, exit)
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
