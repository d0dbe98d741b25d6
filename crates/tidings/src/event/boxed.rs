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

/// `Erased<T>`, the object-safe part of [`Protocol`]; every event has it, and so a `Boxed` has `Protocol` by it.
macro_rules! erased {
    (
        looks { $(fn $look:ident(&self $(, $seen:ident: $sight:ty)*) $(-> $found:ty)?;)* }
        acts { $(fn $act:ident(self: Pin<&mut Self> $(, $arg:ident: $type:ty)*) $(-> $ret:ty)?;)* }
    ) => {
        trait Erased<T> {
            $(fn $look(&self $(, $seen: $sight)*) $(-> $found)?;)*
            $(fn $act(self: Pin<&mut Self> $(, $arg: $type)*) $(-> $ret)?;)*
            fn lock<'l>(&'l self, locks: &mut Locks<'l>);
        }

        impl<T, E: Event<Output = T>> Erased<T> for E {
            $(fn $look(&self $(, $seen: $sight)*) $(-> $found)? {
                Protocol::$look(self $(, $seen)*)
            })*
            $(fn $act(self: Pin<&mut Self> $(, $arg: $type)*) $(-> $ret)? {
                Protocol::$act(self $(, $arg)*)
            })*
            fn lock<'l>(&'l self, locks: &mut Locks<'l>) {
                Protocol::lock(self, locks);
            }
        }

        impl<T> Protocol for Boxed<'_, T> {
            $(fn $look(&self $(, $seen: $sight)*) $(-> $found)? {
                self.event.$look($($seen),*)
            })*
            $(fn $act(mut self: Pin<&mut Self> $(, $arg: $type)*) $(-> $ret)? {
                self.event.as_mut().$act($($arg),*)
            })*
            fn lock<'l>(&'l self, locks: &mut Locks<'l>) {
                self.event.lock(locks);
            }
        }
    };
}

erased! {
    looks {
        fn leaves(&self) -> u32;
        fn waiters(&self) -> u32;
        fn turns(&self) -> u32;
        fn single(&self) -> Option<&Lock>;
        fn waits_for(&self, waits: &mut Waits);
    }
    acts {
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

event!(impl['a, T] Boxed<'a, T> => T);

impl<T> fmt::Debug for Boxed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Boxed").finish_non_exhaustive()
    }
}
