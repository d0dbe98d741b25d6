//! A place in a channel, kept for a value that does not exist yet.

use std::pin::Pin;

use pin_project_lite::pin_project;

use super::chan::Sent;
use super::error::SendError;
use super::sender::Sender;
use super::source::{Side, Slot, slot_methods};
use crate::event::{Attempt, Protocol, event};

pin_project! {
    /// The event of [`Sender::reserve`].
    #[derive(Debug)]
    #[must_use = "events do nothing unless awaited"]
    pub struct Reserve<'a, T> {
        sender: &'a Sender<T>,
        #[pin]
        slot: Slot<()>,
    }
}

impl<'a, T> Reserve<'a, T> {
    pub(super) fn new(sender: &'a Sender<T>) -> Self {
        Self {
            sender,
            slot: Slot::bare(),
        }
    }
}

impl<'a, T> Protocol for Reserve<'a, T> {
    slot_methods!(Side::Sender, sender);

    fn attempt(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32> {
        let chan = self.sender.chan();
        let sent = chan.attempt(attempt, |state, _| state.try_reserve());
        self.project().slot.found_closed(sent == Sent::Closed);
        (sent != Sent::Full).then_some(0)
    }
    fn finish(self: Pin<&mut Self>, _: u32) -> Self::Output {
        if self.slot.is_closed() {
            return Err(SendError(()));
        }
        Ok(Permit {
            sender: self.sender,
            used: false,
        })
    }
    fn abandon(self: Pin<&mut Self>, branch: u32) {
        // A permit that nobody takes gives its place up when it drops.
        drop(self.finish(branch));
    }
}

event!(impl['a, T] Reserve<'a, T> => Result<Permit<'a, T>, SendError<()>>);

/// A place in a channel, from [`Sender::reserve`]. Dropping it gives the place to the next.
#[derive(Debug)]
#[must_use = "a permit that is dropped gives its place up"]
pub struct Permit<'a, T> {
    sender: &'a Sender<T>,
    used: bool,
}

impl<T> Permit<'_, T> {
    /// Sends, without waiting.
    ///
    /// # Errors
    /// Gives the value back if the channel was closed meanwhile.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = tidings::bounded(1);
    /// // Made only when there is a place for it.
    /// let permit = tx.reserve().await.unwrap();
    /// permit.send("made").unwrap();
    /// assert_eq!(rx.recv().await, Ok("made"));
    /// # });
    /// ```
    pub fn send(mut self, value: T) -> Result<(), SendError<T>> {
        self.used = true;
        match self.end(Some(value)) {
            None => Ok(()),
            Some(value) => Err(SendError(value)),
        }
    }

    /// Gives the place up; gives the value back if the channel is closed.
    fn end(&self, mut value: Option<T>) -> Option<T> {
        let mut wakers = Vec::new();
        self.sender
            .chan()
            .locked(|state| state.unreserve(&mut value, &mut wakers));
        crate::task::wake_all(wakers);
        value
    }
}

impl<T> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        if !self.used {
            drop(self.end(None));
        }
    }
}
