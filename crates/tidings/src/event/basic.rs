//! Events without a partner: always, never.

use std::marker::PhantomData;
use std::pin::Pin;

use super::{Attempt, Enrol, Event, Protocol, event, into_future};

/// An event that can always happen, and gives `value`.
///
/// ```
/// use tidings::{Event, always};
/// assert_eq!(always(3).wait(), 3);
/// ```
pub fn always<T>(value: T) -> Always<T> {
    Always { value: Some(value) }
}

/// The event of [`always`].
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Always<T> {
    value: Option<T>,
}

impl<T> Unpin for Always<T> {}

impl<T> Protocol for Always<T> {
    const TRACELESS: bool = true;

    fn attempt(self: Pin<&mut Self>, _: &mut Attempt) -> Option<u32> {
        Some(0)
    }
    fn enrol(self: Pin<&mut Self>, enrol: &mut Enrol<'_>) {
        enrol.next_branch();
    }
    fn withdraw(self: Pin<&mut Self>, _: Option<u32>, _: bool) {}
    fn finish(self: Pin<&mut Self>, _: u32) -> T {
        self.lost()
    }
    fn abandon(self: Pin<&mut Self>, _: u32) {}
}

impl<T> Event for Always<T> {
    type Lost = T;

    fn lost(self: Pin<&mut Self>) -> T {
        self.get_mut()
            .value
            .take()
            .expect("an event is performed once")
    }
}

into_future!(impl[T] Always<T> => T);

/// An event that never happens: the unit of [`Event::or`].
///
/// ```
/// use tidings::{Event, always, never};
/// assert_eq!(never().or(always(3)).wait(), 3);
/// ```
pub fn never<T>() -> Never<T> {
    Never {
        output: PhantomData,
    }
}

/// The event of [`never()`].
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Never<T> {
    output: PhantomData<fn() -> T>,
}

impl<T> Protocol for Never<T> {
    const TRACELESS: bool = true;

    fn attempt(self: Pin<&mut Self>, _: &mut Attempt) -> Option<u32> {
        None
    }
    fn enrol(self: Pin<&mut Self>, enrol: &mut Enrol<'_>) {
        enrol.next_branch();
    }
    fn withdraw(self: Pin<&mut Self>, _: Option<u32>, _: bool) {}
    fn finish(self: Pin<&mut Self>, _: u32) -> T {
        unreachable!("never happens")
    }
    fn abandon(self: Pin<&mut Self>, _: u32) {}
}

event!(impl[T] Never<T> => T);
