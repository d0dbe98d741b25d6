//! The place of an answer, which travels in the request.

use std::fmt;

use super::call::CallError;
use super::exit::{self, Answer, Exit};
use crate::channel::oneshot;
use crate::event::Event;
use crate::task::here;

/// Answers one request, now or later, from anywhere.
///
/// The caller hears at once if it is dropped: [`CallError::NoReply`], or, where it is dropped
/// because its actor panicked or ended, the exit.
pub struct Reply<R: 'static> {
    /// There until it is used.
    sender: Option<oneshot::Sender<Result<R, CallError>>>,
}

impl<R: 'static> Reply<R> {
    pub(super) fn new(sender: oneshot::Sender<Result<R, CallError>>) -> Self {
        Self {
            sender: Some(sender),
        }
    }

    fn sender(&self) -> &oneshot::Sender<Result<R, CallError>> {
        self.sender.as_ref().expect("a reply is used once")
    }

    /// A dispatch keeps it until its method is done, and nobody else gets it.
    #[doc(hidden)]
    #[inline(always)]
    pub fn is_held(&self) {
        here::note(here::HELD);
    }

    /// As `send`, of a reply that was held.
    #[doc(hidden)]
    #[inline(always)]
    pub fn answer(self, value: R) {
        here::answers();
        // The caller may have gone.
        let _ = self.send(value);
    }

    /// Answers. Never waits.
    ///
    /// # Errors
    /// Gives the value back if the caller has gone.
    #[inline]
    pub fn send(mut self, value: R) -> Result<(), R> {
        // Whose it is, nobody knows.
        here::note(here::GAVE);
        let sender = self.sender.take().expect("a reply is used once");
        sender.send(Ok(value)).map_err(|unsent| match unsent {
            Ok(value) => value,
            Err(_) => unreachable!("it was a value"),
        })
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

impl<R: 'static> Drop for Reply<R> {
    #[inline]
    fn drop(&mut self) {
        if let Some(sender) = self.sender.take() {
            // Whose it is, nobody knows.
            here::note(here::GAVE);
            unanswered(sender);
        }
    }
}

#[cold]
fn unanswered<R: 'static>(sender: oneshot::Sender<Result<R, CallError>>) {
    if let Some(why) = exit::current() {
        let _ = sender.send(Err(why));
    } else {
        exit::unanswered(sender);
    }
}

impl<R> Answer for oneshot::Sender<Result<R, CallError>> {
    fn answer(self: Box<Self>, exit: &Exit) {
        let _ = self.send(Err(CallError::Ended(exit.clone())));
    }
}

impl<R: 'static> fmt::Debug for Reply<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field(
                "closed",
                &self.sender.as_ref().map(oneshot::Sender::is_closed),
            )
            .finish()
    }
}
