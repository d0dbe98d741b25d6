//! The place of an answer, which travels in the request.

use std::fmt;

use super::call::{Answered, CallError};
use super::exit::{Answer, Unanswered};
use crate::channel::oneshot;
use crate::event::Event;
use crate::task::here;
use crate::time::Instant;

/// Answers one request, now or later, from anywhere.
///
/// The caller hears at once if it is dropped: [`CallError::NoReply`]; or, if its actor panics or is killed with it, or
/// drops it in the poll in which it ends after its mailbox has said so ([`Ended`](super::Ended)), the exit.
pub struct Reply<R> {
    sender: Unanswered<Sender<R>>,
}

type Sender<R> = oneshot::Sender<Answered<R>>;

impl<R> Reply<R> {
    pub(super) fn new(sender: Sender<R>) -> Self
    where
        R: 'static,
    {
        Self {
            sender: Unanswered::new(sender),
        }
    }

    pub(super) fn sender(&self) -> &Sender<R> {
        self.sender.get()
    }

    /// To answer it by.
    #[cfg(feature = "remote")]
    pub(super) fn taken(&mut self) -> Sender<R> {
        self.sender.take_noted()
    }

    /// A dispatch keeps it until its method is done, and nobody else gets it.
    #[doc(hidden)]
    #[inline(always)]
    pub fn is_held(&self) {
        #[cfg(feature = "tracing")]
        crate::trace::handles(self.trace());
        here::note(here::HELD);
    }

    /// As `send`, of a reply that was held.
    #[doc(hidden)]
    #[inline(always)]
    pub fn answer(&mut self, value: R) {
        here::answers();
        // The caller may have gone.
        let _ = self.sender.take_noted().send_noted(Ok(value));
    }

    /// Answers. Never waits.
    ///
    /// # Errors
    /// Gives the value back if the caller has gone.
    #[inline]
    pub fn send(self, value: R) -> Result<(), R> {
        let sender = self.sender.take();
        sender.send(Ok(value)).map_err(|unsent| match unsent {
            Ok(value) => value,
            Err(_) => unreachable!("it was a value"),
        })
    }

    /// By when the caller wants the answer, if it said so ([`Call::timeout`](super::Call::timeout)):
    /// a handler that asks others in turn can give them what is left of its time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidings::{actor, actor::Reply, time::Instant};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let actor = actor::spawn(|mut mailbox| async move {
    ///     while let Ok(reply) = mailbox.recv().await {
    ///         let reply: Reply<Duration> = reply;
    ///         let deadline = reply.deadline().unwrap();
    ///         let _ = reply.send(deadline - Instant::now());
    ///     }
    /// });
    /// let left = actor.call(|reply| reply).timeout(Duration::from_secs(5)).await.unwrap();
    /// assert!(left <= Duration::from_secs(5));
    /// # });
    /// ```
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.sender().deadline()
    }

    /// What the caller asks as a part of (feature `tracing`): in a handler that answers by what it
    /// returns that is [`Trace::current`](crate::trace::Trace::current), too.
    #[cfg(feature = "tracing")]
    #[must_use]
    pub fn trace(&self) -> Option<crate::trace::Trace> {
        self.sender().trace()
    }

    /// Waits until the caller has gone elsewhere, or given up: an event (CML's nack).
    ///
    /// ```
    /// use tidings::{Event, actor, actor::Reply};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let slow = actor::spawn(|mut mailbox| async move {
    ///     while let Ok(reply) = mailbox.recv().await {
    ///         let reply: Reply<u32> = reply;
    ///         reply.closed().await;
    ///     }
    /// });
    /// let soon = std::time::Duration::from_millis(2);
    /// assert!(slow.call(|reply| reply).timeout(soon).await.is_err());
    /// # });
    /// ```
    pub fn closed(&self) -> impl Event<Output = (), Lost = ()> + Send + '_
    where
        R: Send,
    {
        self.sender().closed()
    }

    /// Has the caller gone?
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.sender().is_closed()
    }
}

impl<R> Answer for Sender<R> {
    fn answer(self, why: CallError) {
        if !self.is_closed() {
            why.heard();
        }
        let _ = self.send(Err(Box::new(why)));
    }
}

impl<R> fmt::Debug for Reply<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("closed", &self.is_closed())
            .finish()
    }
}
