//! Events made at the time of the wait.

use std::fmt;
use std::pin::Pin;

use pin_project_lite::pin_project;

use super::map::wrapper_methods;
use super::{Event, Protocol, into_future};

/// An event that `f` makes each time it is performed: CML's `guard`.
///
/// `f` runs once, on the first poll, outside of any lock, also if its branch then loses.
///
/// ```
/// use tidings::{Event, always, guard};
/// assert_eq!(guard(|| always(3)).wait(), 3);
/// ```
pub fn guard<E: Event, F: FnOnce() -> E>(f: F) -> Guard<F, E> {
    Guard {
        make: Some(f),
        event: None,
    }
}

pin_project! {
    /// The event of [`guard`].
    #[must_use = "events do nothing unless awaited"]
    pub struct Guard<F, E> {
        make: Option<F>,
        #[pin]
        event: Option<E>,
    }
}

impl<F: FnOnce() -> E, E: Event> Guard<F, E> {
    fn event(&self) -> &E {
        made(&self.event)
    }
    fn inner(self: Pin<&mut Self>) -> Pin<&mut E> {
        made_mut(self.project().event)
    }
}

pub(super) fn made<E>(event: &Option<E>) -> &E {
    event.as_ref().expect("prepare comes first")
}

pub(super) fn made_mut<E>(event: Pin<&mut Option<E>>) -> Pin<&mut E> {
    event.as_pin_mut().expect("prepare comes first")
}

impl<F: FnOnce() -> E, E: Event> Protocol for Guard<F, E> {
    fn prepare(self: Pin<&mut Self>) {
        let mut this = self.project();
        let make = this.make.take().expect("an event is performed once");
        this.event.set(Some(make()));
        made_mut(this.event).prepare();
    }
    fn withdraw(self: Pin<&mut Self>, winner: Option<u32>, locked: bool) {
        self.inner().withdraw(winner, locked);
    }
    fn finish(self: Pin<&mut Self>, branch: u32) -> Self::Output {
        self.inner().finish(branch)
    }

    wrapper_methods!(turns);
}

impl<F: FnOnce() -> E, E: Event> Event for Guard<F, E> {
    type Lost = E::Lost;

    fn lost(self: Pin<&mut Self>) -> Self::Lost {
        self.inner().lost()
    }
}

into_future!(impl[F: FnOnce() -> E, E: Event] Guard<F, E> => E::Output);

impl<F, E: fmt::Debug> fmt::Debug for Guard<F, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("event", &self.event)
            .finish_non_exhaustive()
    }
}
