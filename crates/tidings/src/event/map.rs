//! Applying a function to what an event gives: CML's `wrap`.

use std::fmt;
use std::pin::Pin;

use pin_project_lite::pin_project;

use super::{Attempt, Event, Protocol, into_future};

pin_project! {
    /// An event whose output is mapped, from [`Event::map`].
    #[must_use = "events do nothing unless awaited"]
    pub struct Map<E, F> {
        #[pin]
        event: E,
        // Gone once it has been applied.
        f: Option<F>,
    }
}

impl<E, F> Map<E, F> {
    pub(super) fn new(event: E, f: F) -> Self {
        Self { event, f: Some(f) }
    }
}

/// The methods of `Protocol` that an event around one other passes on, which its methods `event`
/// and, pinned, `inner` give; with the word `turns` those of a choice, too.
macro_rules! wrapper_methods {
    (turns) => {
        $crate::event::map::wrapper_methods!();

        #[inline(always)]
        fn attempt(self: Pin<&mut Self>, attempt: &mut $crate::event::Attempt) -> Option<u32> {
            self.inner().attempt(attempt)
        }
        #[inline(always)]
        fn turns(&self) -> u32 {
            self.event().turns()
        }
        #[inline(always)]
        fn attempt_turn(
            self: Pin<&mut Self>,
            turn: u32,
            attempt: &mut $crate::event::Attempt,
        ) -> Option<u32> {
            self.inner().attempt_turn(turn, attempt)
        }
        #[inline(always)]
        fn two(&self) -> Option<$crate::event::Two<'_>> {
            self.event().two()
        }
        #[inline(always)]
        fn attempt_one(
            self: Pin<&mut Self>,
            which: usize,
            attempt: &mut $crate::event::Attempt,
        ) -> Option<u32> {
            self.inner().attempt_one(which, attempt)
        }
    };
    () => {
        #[inline(always)]
        fn leaves(&self) -> u32 {
            self.event().leaves()
        }
        #[inline(always)]
        fn waiters(&self) -> u32 {
            self.event().waiters()
        }
        #[inline(always)]
        fn single(&self) -> Option<&$crate::event::Lock> {
            self.event().single()
        }
        fn waits_for(&self, waits: &mut $crate::event::waits::Waits) {
            self.event().waits_for(waits);
        }
        #[inline(always)]
        fn lock<'l>(&'l self, locks: &mut $crate::event::Locks<'l>) {
            self.event().lock(locks);
        }
        #[inline(always)]
        fn enrol(self: Pin<&mut Self>, enrol: &mut $crate::event::Enrol<'_>) {
            self.inner().enrol(enrol);
        }
        #[inline(always)]
        fn due(self: Pin<&mut Self>, waker: &std::task::Waker) -> Option<u32> {
            self.inner().due(waker)
        }
        fn rewake(self: Pin<&mut Self>, waker: &std::task::Waker) {
            self.inner().rewake(waker);
        }
        fn abandon(self: Pin<&mut Self>, branch: u32) {
            self.inner().abandon(branch);
        }
    };
}
pub(super) use wrapper_methods;

impl<E: Event, R, F: FnOnce(E::Output) -> R> Protocol for Map<E, F> {
    const TRACELESS: bool = E::TRACELESS;

    wrapper_methods!(turns);

    #[inline(always)]
    fn prepare(self: Pin<&mut Self>) {
        self.inner().prepare();
    }
    #[inline(always)]
    fn at_once(self: Pin<&mut Self>) -> Option<R> {
        let this = self.project();
        let output = this.event.at_once()?;
        let f = this.f.take().expect("an event finishes once");
        Some(f(output))
    }
    #[inline(always)]
    fn attempt_apart(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32> {
        self.inner().attempt_apart(attempt)
    }
    #[inline(always)]
    fn withdraw(self: Pin<&mut Self>, winner: Option<u32>, locked: bool) {
        self.inner().withdraw(winner, locked);
    }
    #[inline]
    fn finish(self: Pin<&mut Self>, branch: u32) -> R {
        let this = self.project();
        let output = this.event.finish(branch);
        let f = this.f.take().expect("an event finishes once");
        f(output)
    }
}

impl<E: Event, F> Map<E, F> {
    #[inline(always)]
    fn event(&self) -> &E {
        &self.event
    }
    #[inline(always)]
    fn inner(self: Pin<&mut Self>) -> Pin<&mut E> {
        self.project().event
    }
}

impl<E: Event, R, F: FnOnce(E::Output) -> R> Event for Map<E, F> {
    type Lost = E::Lost;

    fn lost(self: Pin<&mut Self>) -> Self::Lost {
        self.inner().lost()
    }
}

into_future!(impl[E: Event, R, F: FnOnce(E::Output) -> R] Map<E, F> => R);

impl<E: fmt::Debug, F> fmt::Debug for Map<E, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Map")
            .field("event", &self.event)
            .finish_non_exhaustive()
    }
}
