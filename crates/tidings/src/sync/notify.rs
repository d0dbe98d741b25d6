//! A signal without a value.

use std::fmt;

use crate::channel::source::{Lists, Side, Source};
use crate::channel::wait::{Ticket, Tickets, Wait, wait_event};
use crate::event::offer::{Judge, Waiters};

/// Wakes those who wait: one, or all.
///
/// [`notify_one`](Self::notify_one) without a waiter is kept for the next (once, however often
/// it is called), so a signal is never lost between a look and a wait.
/// [`notify_waiters`](Self::notify_waiters) is not kept, but reaches every [`Notified`] that
/// was *made* before, awaited or not: make it, look, then await it.
///
/// ```
/// use tidings::sync::Notify;
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let notify = Notify::new();
/// notify.notify_one();
/// notify.notified().await;
/// # });
/// ```
pub struct Notify {
    source: Source<State>,
}

#[derive(Debug)]
pub(crate) struct State {
    /// A `notify_one` that nobody has heard yet.
    permit: bool,
    /// How often all were notified.
    epoch: u64,
    /// The ticket is the epoch in which the wait was made.
    waiting: Tickets,
}

impl Lists for State {
    fn waiters(&mut self, _: Side) -> &mut Waiters {
        self.waiting.list()
    }
}

impl Notify {
    /// Nothing to hear of yet.
    #[must_use]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn new() -> Self {
        let state = State {
            permit: false,
            epoch: 0,
            waiting: Tickets::new(),
        };
        Self {
            source: Source::new(state),
        }
    }

    /// Waits until notified: an event.
    ///
    /// A wait that is dropped, or loses a choice, has heard nothing; a
    /// [`notify_one`](Self::notify_one) that had already reached it goes to the next.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let notify = tidings::sync::Notify::new();
    /// let heard = notify.notified();
    /// notify.notify_waiters();
    /// heard.await;
    /// # });
    /// ```
    pub fn notified(&self) -> Notified<'_> {
        self.notified_since(self.epoch())
    }

    /// How often all were notified.
    pub(crate) fn epoch(&self) -> u64 {
        self.source.locked(|state| state.epoch)
    }

    /// As `notified`, made in that epoch.
    pub(crate) fn notified_since(&self, epoch: u64) -> Notified<'_> {
        Notified {
            notify: self,
            epoch,
            slot: Ticket::new(None),
        }
    }

    /// Its number in reports.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn number(&self) -> usize {
        self.source.number()
    }

    /// Wakes the first that waits; if nobody does, the next that comes does not wait.
    ///
    /// ```
    /// use tidings::{Event, sync::Notify};
    /// let notify = Notify::new();
    /// notify.notify_one();
    /// notify.notify_one();
    /// assert!(notify.notified().try_now().is_ok());
    /// assert!(notify.notified().try_now().is_err());
    /// ```
    pub fn notify_one(&self) {
        let waker = self.source.locked(|state| {
            let epoch = state.epoch;
            // Those of an earlier epoch have been notified, and are about to be woken.
            let claimed = state.waiting.claim(|ticket| match ticket == epoch {
                true => Judge::Take,
                false => Judge::Skip,
            });
            state.permit |= claimed.is_none();
            claimed.map(|claimed| claimed.commit(false))
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Wakes all that wait, and every [`Notified`] that was made before. Not kept for later
    /// ones.
    ///
    /// ```
    /// use tidings::{Event, sync::Notify};
    /// let notify = Notify::new();
    /// notify.notify_waiters();
    /// assert!(notify.notified().try_now().is_err());
    /// ```
    pub fn notify_waiters(&self) {
        let epoch = self.source.locked(|state| {
            state.epoch += 1;
            state.epoch
        });
        // `closed` tells the two kinds of notification apart.
        self.source
            .commit_each(true, |state| state.waiting.claim_before(epoch));
    }
}

impl Default for Notify {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (permit, waiting) = self
            .source
            .locked(|state| (state.permit, state.waiting.len()));
        f.debug_struct("Notify")
            .field("permit", &permit)
            .field("waiting", &waiting)
            .finish()
    }
}

/// The event of [`Notify::notified`].
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Notified<'a> {
    notify: &'a Notify,
    /// When it was made.
    epoch: u64,
    slot: Ticket,
}

impl Wait for Notified<'_> {
    type State = State;
    type Output = ();
    const SIDE: Side = Side::Receiver;

    fn source(&self) -> &Source<State> {
        &self.notify.source
    }
    fn ready(&mut self, state: &mut State) -> bool {
        self.slot.write(self.epoch);
        // A notification of all first: it needs no permit, so there is none to pass on.
        let all = self.epoch != state.epoch;
        self.slot.set_closed(all);
        all || std::mem::take(&mut state.permit)
    }
    fn done(&mut self) {}
    fn undo(&mut self) {
        if !self.slot.is_closed() {
            self.notify.notify_one();
        }
    }
}

wait_event!(impl['a] Notified<'a> => ());
