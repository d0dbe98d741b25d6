//! A place in a channel, kept for a value that does not exist yet.

use std::pin::Pin;

use pin_project_lite::pin_project;

use super::chan::Sent;
use super::error::SendError;
use super::sender::Sender;
use super::source::{Side, Slot, slot_methods};
use crate::event::{Attempt, Protocol, event};

/// How a permit has the handle of its channel: by a reference, or as its own.
pub trait Handle: Clone {
    type Value;
    fn sender(&self) -> &Sender<Self::Value>;
}

impl<T> Handle for &Sender<T> {
    type Value = T;
    fn sender(&self) -> &Sender<T> {
        self
    }
}

impl<T> Handle for Sender<T> {
    type Value = T;
    fn sender(&self) -> &Self {
        self
    }
}

pin_project! {
    /// The event of [`Sender::reserve`] and [`Sender::reserve_owned`].
    #[derive(Debug)]
    #[must_use = "events do nothing unless awaited"]
    pub struct Reserve<S> {
        sender: S,
        #[pin]
        slot: Slot<()>,
    }
}

impl<S> Reserve<S> {
    pub(super) fn new(sender: S) -> Self {
        Self {
            sender,
            slot: Slot::bare(),
        }
    }
}

impl<S: Handle> Protocol for Reserve<S> {
    slot_methods!(Side::Sender, sender.sender());

    fn attempt(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32> {
        let chan = self.sender.sender().chan();
        let sent = chan.attempt(attempt, |state, _| state.try_reserve());
        self.project().slot.found_closed(sent == Sent::Closed);
        (sent != Sent::Full).then_some(0)
    }
    fn finish(self: Pin<&mut Self>, _: u32) -> Self::Output {
        if self.slot.is_closed() {
            return Err(SendError(()));
        }
        Ok(Permit {
            sender: self.sender.clone(),
            used: false,
        })
    }
    fn abandon(self: Pin<&mut Self>, branch: u32) {
        // A permit that nobody takes gives its place up when it drops.
        drop(self.finish(branch));
    }
}

event!(impl[S: Handle] Reserve<S> => Result<Permit<S>, SendError<()>>);

/// A place in a channel, from [`Sender::reserve`], or one that borrows nothing, from
/// [`Sender::reserve_owned`]. Dropping it gives the place to the next.
#[derive(Debug)]
#[must_use = "a permit that is dropped gives its place up"]
pub struct Permit<S: Handle> {
    sender: S,
    used: bool,
}

impl<S: Handle> Permit<S> {
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
    pub fn send(mut self, value: S::Value) -> Result<(), SendError<S::Value>> {
        self.used = true;
        match self.end(Some(value)) {
            None => Ok(()),
            Some(value) => Err(SendError(value)),
        }
    }

    /// Gives the place up; gives the value back if the channel is closed.
    fn end(&self, mut value: Option<S::Value>) -> Option<S::Value> {
        let mut wakers = Vec::new();
        self.sender
            .sender()
            .chan()
            .locked(|state| state.unreserve(&mut value, &mut wakers));
        crate::task::wake_all(wakers);
        value
    }
}

impl<S: Handle> Drop for Permit<S> {
    fn drop(&mut self) {
        if !self.used {
            drop(self.end(None));
        }
    }
}
