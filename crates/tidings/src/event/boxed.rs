//! Events of one type whatever they are made of.

use std::fmt;
use std::pin::Pin;
use std::task::Waker;

use super::waits::Waits;
use super::{Attempt, Enrol, Event, Lock, Locks, Protocol, event};

/// An event behind a pointer, from [`Event::boxed`]: to store events of different types in one
/// place. It gives nothing back when it loses.
///
/// ```
/// use tidings::{Event, always, choose, never};
/// let events = vec![never().boxed(), always(2).map(|n| n + 1).boxed()];
/// assert_eq!(choose(events).wait(), 3);
/// ```
#[must_use = "events do nothing unless awaited"]
pub struct Boxed<'a, T> {
    event: Pin<Box<dyn Erased<T> + Send + 'a>>,
}

/// The object-safe part of [`Protocol`], with the output boxed in the caller's place.
trait Erased<T> {
    fn prepare(self: Pin<&mut Self>);
    fn leaves(&self) -> u32;
    fn waiters(&self) -> u32;
    fn turns(&self) -> u32;
    fn single(&self) -> Option<&Lock>;
    fn waits_for(&self, waits: &mut Waits);
    fn lock<'l>(&'l self, locks: &mut Locks<'l>);
    fn attempt(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32>;
    fn attempt_turn(self: Pin<&mut Self>, turn: u32, attempt: &mut Attempt) -> Option<u32>;
    fn enrol(self: Pin<&mut Self>, enrol: &mut Enrol<'_>);
    fn due(self: Pin<&mut Self>, waker: &Waker) -> Option<u32>;
    fn rewake(self: Pin<&mut Self>, waker: &Waker);
    fn withdraw(self: Pin<&mut Self>, winner: Option<u32>, locked: bool);
    fn finish(self: Pin<&mut Self>, branch: u32) -> T;
    fn abandon(self: Pin<&mut Self>, branch: u32);
}

/// Forwards object-safe methods to the ones of `Protocol`.
macro_rules! forward {
    ($target:path; $(fn $name:ident(self: Pin<&mut Self> $(, $arg:ident: $type:ty)*) $(-> $ret:ty)?;)*) => {
        $(fn $name(self: Pin<&mut Self> $(, $arg: $type)*) $(-> $ret)? {
            <Self as $target>::$name(self $(, $arg)*)
        })*
    };
}

impl<T, E: Event<Output = T>> Erased<T> for E {
    fn leaves(&self) -> u32 {
        Protocol::leaves(self)
    }
    fn waiters(&self) -> u32 {
        Protocol::waiters(self)
    }
    fn turns(&self) -> u32 {
        Protocol::turns(self)
    }
    fn single(&self) -> Option<&Lock> {
        Protocol::single(self)
    }
    fn waits_for(&self, waits: &mut Waits) {
        Protocol::waits_for(self, waits);
    }
    fn lock<'l>(&'l self, locks: &mut Locks<'l>) {
        Protocol::lock(self, locks);
    }
    forward! { Protocol;
        fn prepare(self: Pin<&mut Self>);
        fn attempt(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32>;
        fn attempt_turn(self: Pin<&mut Self>, turn: u32, attempt: &mut Attempt) -> Option<u32>;
        fn enrol(self: Pin<&mut Self>, enrol: &mut Enrol<'_>);
        fn due(self: Pin<&mut Self>, waker: &Waker) -> Option<u32>;
        fn rewake(self: Pin<&mut Self>, waker: &Waker);
        fn withdraw(self: Pin<&mut Self>, winner: Option<u32>, locked: bool);
        fn finish(self: Pin<&mut Self>, branch: u32) -> T;
        fn abandon(self: Pin<&mut Self>, branch: u32);
    }
}

impl<'a, T> Boxed<'a, T> {
    pub(super) fn new<E: Event<Output = T> + Send + 'a>(event: E) -> Self {
        Self {
            event: Box::pin(event),
        }
    }
}

impl<T> Protocol for Boxed<'_, T> {
    fn prepare(mut self: Pin<&mut Self>) {
        self.event.as_mut().prepare();
    }
    fn leaves(&self) -> u32 {
        self.event.leaves()
    }
    fn waiters(&self) -> u32 {
        self.event.waiters()
    }
    fn turns(&self) -> u32 {
        self.event.turns()
    }
    fn single(&self) -> Option<&Lock> {
        self.event.single()
    }
    fn waits_for(&self, waits: &mut Waits) {
        self.event.waits_for(waits);
    }
    fn lock<'l>(&'l self, locks: &mut Locks<'l>) {
        self.event.lock(locks);
    }
    fn attempt(mut self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32> {
        self.event.as_mut().attempt(attempt)
    }
    fn attempt_turn(mut self: Pin<&mut Self>, turn: u32, attempt: &mut Attempt) -> Option<u32> {
        self.event.as_mut().attempt_turn(turn, attempt)
    }
    fn enrol(mut self: Pin<&mut Self>, enrol: &mut Enrol<'_>) {
        self.event.as_mut().enrol(enrol);
    }
    fn due(mut self: Pin<&mut Self>, waker: &Waker) -> Option<u32> {
        self.event.as_mut().due(waker)
    }
    fn rewake(mut self: Pin<&mut Self>, waker: &Waker) {
        self.event.as_mut().rewake(waker);
    }
    fn withdraw(mut self: Pin<&mut Self>, winner: Option<u32>, locked: bool) {
        self.event.as_mut().withdraw(winner, locked);
    }
    fn finish(mut self: Pin<&mut Self>, branch: u32) -> T {
        self.event.as_mut().finish(branch)
    }
    fn abandon(mut self: Pin<&mut Self>, branch: u32) {
        self.event.as_mut().abandon(branch);
    }
}

event!(impl['a, T] Boxed<'a, T> => T);

impl<T> fmt::Debug for Boxed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Boxed").finish_non_exhaustive()
    }
}
