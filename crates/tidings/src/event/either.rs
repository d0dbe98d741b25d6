//! Choice of two events of different types, which says what the loser gives back.

use std::pin::Pin;
use std::task::Waker;

use pin_project_lite::pin_project;

use super::or::{choice_methods, pair};
use super::{Attempt, Enrol, Event, Lock, Locks, Protocol, into_future};

/// Which of two events happened: its output, then what the other one gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Either<A, BLost, B, ALost> {
    /// The first happened.
    Left(A, BLost),
    /// The second happened.
    Right(B, ALost),
}

pin_project! {
    /// Whichever of two can happen, from [`Event::either`].
    #[derive(Debug)]
    #[must_use = "events do nothing unless awaited"]
    pub struct EitherOf<A, B> {
        #[pin]
        a: A,
        #[pin]
        b: B,
    }
}

impl<A, B> EitherOf<A, B> {
    pub(super) fn new(a: A, b: B) -> Self {
        Self { a, b }
    }
}

pair!(impl[A: Event, B: Event] EitherOf<A, B>: A, B);

impl<A: Event, B: Event> Protocol for EitherOf<A, B> {
    const TRACELESS: bool = A::TRACELESS && B::TRACELESS;

    choice_methods!();

    #[inline]
    fn finish(self: Pin<&mut Self>, branch: u32) -> Self::Output {
        let pair = self.pair();
        match branch.checked_sub(pair.a.leaves()) {
            None => Either::Left(pair.a.finish(branch), pair.b.lost()),
            Some(branch) => Either::Right(pair.b.finish(branch), pair.a.lost()),
        }
    }
}

impl<A: Event, B: Event> Event for EitherOf<A, B> {
    type Lost = (A::Lost, B::Lost);

    fn lost(self: Pin<&mut Self>) -> Self::Lost {
        let pair = self.pair();
        (pair.a.lost(), pair.b.lost())
    }
}

into_future!(impl[A: Event, B: Event] EitherOf<A, B> => Either<A::Output, B::Lost, B::Output, A::Lost>);
