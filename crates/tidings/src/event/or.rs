//! Choice of two.

use std::pin::Pin;
use std::task::Waker;

use pin_project_lite::pin_project;

use super::order::Order;
use super::{Attempt, Enrol, Event, Lock, Locks, Protocol, Two, into_future};
use crate::{sched, task};

pin_project! {
    /// Whichever of two can happen, from [`Event::or`].
    #[derive(Debug)]
    #[must_use = "events do nothing unless awaited"]
    pub struct Or<A, B> {
        #[pin]
        a: A,
        #[pin]
        b: B,
    }
}

impl<A, B> Or<A, B> {
    pub(super) fn new(a: A, b: B) -> Self {
        Self { a, b }
    }
}

/// Splits a pair of events that is pinned as a whole, and the branch numbers with it.
///
/// The same for every event made of two ([`Or`], `EitherOf`): choice is one algorithm.
pub(super) struct Pair<'a, A, B> {
    pub(super) a: Pin<&'a mut A>,
    pub(super) b: Pin<&'a mut B>,
}

/// Gives an event made of the fields `a` and `b` the method `pair`.
macro_rules! pair {
    (impl[$($generics:tt)*] $type:ty: $a:ty, $b:ty) => {
        impl<$($generics)*> $type {
            #[inline(always)]
            fn pair(self: Pin<&mut Self>) -> $crate::event::or::Pair<'_, $a, $b> {
                let this = self.project();
                $crate::event::or::Pair {
                    a: this.a,
                    b: this.b,
                }
            }
        }
    };
}
pub(super) use pair;

impl<A: Event, B: Event> Pair<'_, A, B> {
    /// However the tree is built, each branch has a turn of its own.
    #[inline]
    pub(super) fn attempt(mut self, attempt: &mut Attempt) -> Option<u32> {
        let left = self.a.leaves();
        match (self.a.turns(), self.b.turns()) {
            (1, 1) if attempt.biased || sched::choose_branch(2) == 0 => self
                .a
                .attempt(attempt)
                .or_else(|| self.b.attempt(attempt).map(|b| b + left)),
            (1, 1) => {
                let b = self.b.attempt(attempt).map(|b| b + left);
                b.or_else(|| self.a.attempt(attempt))
            }
            (a, b) => Order::new((a + b) as usize, attempt.biased)
                .find_map(|turn| self.attempt_turn(turn as u32, attempt)),
        }
    }

    #[inline]
    pub(super) fn attempt_turn(&mut self, turn: u32, attempt: &mut Attempt) -> Option<u32> {
        match turn.checked_sub(self.a.turns()) {
            None => self.a.as_mut().attempt_turn(turn, attempt),
            Some(turn) => {
                let branch = self.b.as_mut().attempt_turn(turn, attempt);
                branch.map(|b| b + self.a.leaves())
            }
        }
    }

    #[inline(always)]
    pub(super) fn attempt_one(self, which: usize, attempt: &mut Attempt) -> Option<u32> {
        match which {
            0 => self.a.attempt(attempt),
            _ => {
                let left = self.a.leaves();
                self.b.attempt(attempt).map(|b| b + left)
            }
        }
    }

    #[inline]
    pub(super) fn due(self, waker: &Waker) -> Option<u32> {
        let left = self.a.leaves();
        // Both must be asked: asking is what arms them.
        let a = self.a.due(waker);
        let b = self.b.due(waker).map(|b| b + left);
        a.or(b)
    }

    /// Users' code may panic as one of them leaves: the other leaves all the same, or it would stay in its list.
    #[inline]
    pub(super) fn withdraw(self, winner: Option<u32>, locked: bool) {
        let Self { a, b } = self;
        let left = a.leaves();
        let in_b = winner.and_then(|branch| branch.checked_sub(left));
        task::finally(
            || a.withdraw(winner.filter(|&branch| branch < left), locked),
            || b.withdraw(in_b, locked),
        );
    }

    pub(super) fn abandon(self, branch: u32) {
        match branch.checked_sub(self.a.leaves()) {
            None => self.a.abandon(branch),
            Some(branch) => self.b.abandon(branch),
        }
    }
}

/// The methods of `Protocol` that are the same for all events made of the fields `a` and `b`.
macro_rules! pair_methods {
    () => {
        fn prepare(self: Pin<&mut Self>) {
            let pair = self.pair();
            pair.a.prepare();
            pair.b.prepare();
        }
        #[inline(always)]
        fn leaves(&self) -> u32 {
            self.a.leaves() + self.b.leaves()
        }
        #[inline(always)]
        fn waiters(&self) -> u32 {
            self.a.waiters() + self.b.waiters()
        }
        #[inline(always)]
        fn single(&self) -> Option<&Lock> {
            // A side that waits on no source (a deadline) needs no lock.
            match (self.a.waiters(), self.b.waiters()) {
                (1, 0) => self.a.single(),
                (0, 1) => self.b.single(),
                _ => None,
            }
        }
        fn waits_for(&self, waits: &mut $crate::event::waits::Waits) {
            self.a.waits_for(waits);
            self.b.waits_for(waits);
        }
        #[inline]
        fn lock<'l>(&'l self, locks: &mut Locks<'l>) {
            self.a.lock(locks);
            self.b.lock(locks);
        }
        #[inline]
        fn enrol(self: Pin<&mut Self>, enrol: &mut Enrol<'_>) {
            let pair = self.pair();
            pair.a.enrol(enrol);
            pair.b.enrol(enrol);
        }
        #[inline]
        fn due(self: Pin<&mut Self>, waker: &Waker) -> Option<u32> {
            self.pair().due(waker)
        }
        fn rewake(self: Pin<&mut Self>, waker: &Waker) {
            let pair = self.pair();
            pair.a.rewake(waker);
            pair.b.rewake(waker);
        }
        #[inline]
        fn withdraw(self: Pin<&mut Self>, winner: Option<u32>, locked: bool) {
            self.pair().withdraw(winner, locked);
        }
        fn abandon(self: Pin<&mut Self>, branch: u32) {
            self.pair().abandon(branch);
        }
    };
}
pub(super) use pair_methods;

/// As `pair_methods`, of those that are fair to the branches of both.
macro_rules! choice_methods {
    () => {
        $crate::event::or::pair_methods!();

        #[inline]
        fn attempt(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32> {
            self.pair().attempt(attempt)
        }
        #[inline(always)]
        fn turns(&self) -> u32 {
            self.a.turns() + self.b.turns()
        }
        #[inline]
        fn attempt_turn(self: Pin<&mut Self>, turn: u32, attempt: &mut Attempt) -> Option<u32> {
            self.pair().attempt_turn(turn, attempt)
        }
        #[inline(always)]
        fn two(&self) -> Option<$crate::event::Two<'_>> {
            let (a, b) = (&self.a, &self.b);
            // A side that has a turn of its own is tried as a whole.
            if (a.waiters(), b.waiters()) != (1, 1) || (a.turns(), b.turns()) != (1, 1) {
                return None;
            }
            Some($crate::event::Two {
                locks: [a.single()?, b.single()?],
                biased: false,
            })
        }
        #[inline(always)]
        fn attempt_one(self: Pin<&mut Self>, which: usize, attempt: &mut Attempt) -> Option<u32> {
            self.pair().attempt_one(which, attempt)
        }
    };
}
pub(super) use choice_methods;

pair!(impl[A: Event, B: Event] Or<A, B>: A, B);

impl<A: Event, B: Event<Output = A::Output>> Protocol for Or<A, B> {
    const TRACELESS: bool = A::TRACELESS && B::TRACELESS;

    choice_methods!();

    #[inline]
    fn finish(self: Pin<&mut Self>, branch: u32) -> Self::Output {
        let pair = self.pair();
        match branch.checked_sub(pair.a.leaves()) {
            None => pair.a.finish(branch),
            Some(branch) => pair.b.finish(branch),
        }
    }
}

impl<A: Event, B: Event<Output = A::Output>> Event for Or<A, B> {
    type Lost = (A::Lost, B::Lost);

    fn lost(self: Pin<&mut Self>) -> Self::Lost {
        let pair = self.pair();
        (pair.a.lost(), pair.b.lost())
    }
}

into_future!(impl[A: Event, B: Event<Output = A::Output>] Or<A, B> => A::Output);

pin_project! {
    /// A choice tried in the order written, from [`Event::biased`].
    #[derive(Debug)]
    #[must_use = "events do nothing unless awaited"]
    pub struct Biased<E> {
        #[pin]
        event: E,
    }
}

impl<E> Biased<E> {
    pub(super) fn new(event: E) -> Self {
        Self { event }
    }
}

impl<E: Event> Protocol for Biased<E> {
    const TRACELESS: bool = E::TRACELESS;

    super::map::wrapper_methods!();

    #[inline(always)]
    fn prepare(self: Pin<&mut Self>) {
        self.inner().prepare();
    }
    #[inline]
    fn attempt(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32> {
        let outer = std::mem::replace(&mut attempt.biased, true);
        let branch = self.inner().attempt(attempt);
        attempt.biased = outer;
        branch
    }
    #[inline(always)]
    fn two(&self) -> Option<Two<'_>> {
        let two = self.event().two()?;
        Some(Two {
            biased: true,
            ..two
        })
    }
    #[inline(always)]
    fn attempt_one(self: Pin<&mut Self>, which: usize, attempt: &mut Attempt) -> Option<u32> {
        self.inner().attempt_one(which, attempt)
    }
    #[inline(always)]
    fn withdraw(self: Pin<&mut Self>, winner: Option<u32>, locked: bool) {
        self.inner().withdraw(winner, locked);
    }
    #[inline]
    fn finish(self: Pin<&mut Self>, branch: u32) -> Self::Output {
        self.inner().finish(branch)
    }
}

impl<E: Event> Biased<E> {
    #[inline(always)]
    fn event(&self) -> &E {
        &self.event
    }
    #[inline(always)]
    fn inner(self: Pin<&mut Self>) -> Pin<&mut E> {
        self.project().event
    }
}

impl<E: Event> Event for Biased<E> {
    type Lost = E::Lost;

    fn lost(self: Pin<&mut Self>) -> Self::Lost {
        self.inner().lost()
    }
}

into_future!(impl[E: Event] Biased<E> => E::Output);
