//! An event with a deadline.

use std::pin::Pin;
use std::task::Waker;
use std::time::Duration;

use pin_project_lite::pin_project;

use super::or::{pair, pair_methods};
use super::{Attempt, Enrol, Event, Lock, Locks, Protocol, into_future};
use crate::time::{After, Elapsed, after};

pin_project! {
    /// An event with a deadline, from [`Event::timeout`].
    #[derive(Debug)]
    #[must_use = "events do nothing unless awaited"]
    pub struct Timeout<E> {
        #[pin]
        a: E,
        #[pin]
        b: After,
    }
}

impl<E> Timeout<E> {
    pub(super) fn new(event: E, duration: Duration) -> Self {
        Self {
            a: event,
            b: after(duration),
        }
    }
}

pair!(impl[E: Event] Timeout<E>: E, After);

impl<E: Event> Protocol for Timeout<E> {
    const SHORT: bool = E::SHORT;
    const TRACELESS: bool = E::TRACELESS;

    pair_methods!();

    #[inline(always)]
    fn at_once(self: Pin<&mut Self>) -> Option<Self::Output> {
        self.pair().a.at_once().map(Ok)
    }

    #[inline(always)]
    fn quick(self: Pin<&mut Self>) -> Option<Self::Output> {
        self.pair().a.quick().map(Ok)
    }

    /// An event that can happen in time does: its deadline is tried last.
    #[inline]
    fn attempt(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32> {
        let pair = self.pair();
        let left = pair.a.leaves();
        pair.a
            .attempt(attempt)
            .or_else(|| pair.b.attempt(attempt).map(|b| b + left))
    }

    #[inline(always)]
    fn attempt_apart(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32> {
        self.pair().a.attempt_apart(attempt)
    }

    #[inline]
    fn finish(self: Pin<&mut Self>, branch: u32) -> Self::Output {
        let pair = self.pair();
        if branch < pair.a.leaves() {
            Ok(pair.a.finish(branch))
        } else {
            Err(Elapsed(pair.a.lost()))
        }
    }
}

impl<E: Event> Event for Timeout<E> {
    type Lost = E::Lost;

    fn lost(self: Pin<&mut Self>) -> Self::Lost {
        self.pair().a.lost()
    }
}

into_future!(impl[E: Event] Timeout<E> => Result<E::Output, Elapsed<E::Lost>>);
