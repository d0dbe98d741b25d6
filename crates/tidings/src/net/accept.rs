//! Waiting for a connection, as an event.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Poll, Waker};

use super::readiness::{Direction, Readiness};
use crate::event::{Attempt, Enrol, Protocol, event};
use crate::primitive::{Mutex, lock};

/// What a listener says to the event of its `accept`.
pub(super) trait Listen<T>: Send + Sync {
    fn readiness(&self) -> &Readiness;
    /// The next connection, if there is one.
    fn accept(&self) -> io::Result<T>;
    /// Connections that were accepted for a wait that did not happen.
    fn returned(&self) -> &Mutex<VecDeque<T>>;
}

/// The event of a listener's `accept`.
///
/// A connection that was taken for a wait that is dropped, or loses a choice, is the next one's.
#[must_use = "events do nothing unless awaited"]
pub struct Accepting<'a, T> {
    listener: &'a dyn Listen<T>,
    /// What it gives, if it happens.
    got: Option<io::Result<T>>,
    enrolled: bool,
}

impl<'a, T> Accepting<'a, T> {
    pub(super) fn new(listener: &'a dyn Listen<T>) -> Self {
        Self {
            listener,
            got: None,
            enrolled: false,
        }
    }

    /// It does not move while it waits.
    fn place(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// What was returned first, then what is new.
    fn take(listener: &dyn Listen<T>) -> io::Result<T> {
        let returned = lock(listener.returned()).pop_front();
        returned.map_or_else(|| listener.accept(), Ok)
    }

    fn give_back(&mut self) {
        if let Some(Ok(connection)) = self.got.take() {
            lock(self.listener.returned()).push_back(connection);
            self.listener.readiness().set_and_wake(Direction::Read);
        }
    }
}

impl<T> Unpin for Accepting<'_, T> {}

impl<T> Protocol for Accepting<'_, T> {
    /// Accepts here, where no lock of a choice is held.
    fn prepare(mut self: Pin<&mut Self>) {
        let listener = self.listener;
        let call = || Self::take(listener);
        self.got = match listener.readiness().try_call(Direction::Read, call) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            done => Some(done.map(|(connection, _)| connection)),
        };
    }
    fn attempt(self: Pin<&mut Self>, _: &mut Attempt) -> Option<u32> {
        self.got.is_some().then_some(0)
    }
    fn enrol(self: Pin<&mut Self>, enrol: &mut Enrol<'_>) {
        enrol.next_branch();
        enrol.has_due();
    }
    fn due(mut self: Pin<&mut Self>, waker: &Waker) -> Option<u32> {
        if self.got.is_none() {
            self.enrolled = true;
            let (listener, place) = (self.listener, self.place());
            let call = || Self::take(listener);
            let readiness = listener.readiness();
            match readiness.poll_call(Direction::Read, place, waker, call) {
                Poll::Ready(done) => self.got = Some(done.map(|(connection, _)| connection)),
                Poll::Pending => return None,
            }
        }
        Some(0)
    }
    fn rewake(self: Pin<&mut Self>, waker: &Waker) {
        if self.due(waker).is_some() {
            waker.wake_by_ref();
        }
    }
    fn withdraw(mut self: Pin<&mut Self>, winner: Option<u32>, locked: bool) {
        // Not under a lock: it drops and wakes wakers.
        if locked {
            return;
        }
        if self.enrolled {
            let place = self.place();
            self.listener.readiness().forget(Direction::Read, place);
        }
        if winner.is_none() {
            self.give_back();
        }
    }
    fn finish(mut self: Pin<&mut Self>, _: u32) -> io::Result<T> {
        self.got.take().expect("it has happened")
    }
    fn abandon(mut self: Pin<&mut Self>, _: u32) {
        self.give_back();
    }
}

/// For the wait whose guard or neighbour panicked between prepare and commit.
impl<T> Drop for Accepting<'_, T> {
    fn drop(&mut self) {
        self.give_back();
    }
}

event!(impl['a, T] Accepting<'a, T> => io::Result<T>);

impl<T> fmt::Debug for Accepting<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accepting").finish_non_exhaustive()
    }
}
