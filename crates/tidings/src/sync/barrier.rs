//! A meeting of `n`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::channel::source::{Lists, Side, Source};
use crate::channel::wait::{Ticket, Tickets, Wait, wait_event};
use crate::event::offer::Waiters;

/// Lets tasks go on when `n` of them have come; then again for the next `n`.
///
/// ```
/// use std::sync::Arc;
/// use tidings::sync::Barrier;
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let barrier = Arc::new(Barrier::new(3));
/// let tasks: Vec<_> = (0..3)
///     .map(|_| {
///         let barrier = barrier.clone();
///         tidings::spawn(async move { barrier.wait().await.is_leader() })
///     })
///     .collect();
/// let mut leaders = 0;
/// for task in tasks {
///     leaders += usize::from(task.await.unwrap());
/// }
/// assert_eq!(leaders, 1);
/// # });
/// ```
pub struct Barrier {
    n: usize,
    source: Source<State>,
}

#[derive(Debug)]
pub(crate) struct State {
    /// How many meetings have taken place.
    meetings: u64,
    /// How many wait for the next.
    arrived: usize,
    /// The ticket is the meeting it waits for.
    waiting: Tickets,
}

impl Lists for State {
    fn waiters(&mut self, _: Side) -> &mut Waiters {
        self.waiting.list()
    }
}

impl Barrier {
    /// A barrier for `n`; 0 is the same as 1: nobody waits.
    #[must_use]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn new(n: usize) -> Self {
        let state = State {
            meetings: 0,
            arrived: 0,
            waiting: Tickets::new(),
        };
        Self {
            n: n.max(1),
            source: Source::new(state),
        }
    }

    /// Waits until `n` have come. The last to come is the leader.
    ///
    /// A future, which may stand in any `select!` of futures but not in a choice of events: events
    /// commit two parties at a time, and a party of `n` that is also in a choice could be counted here
    /// and commit elsewhere at the same moment. Dropped before the meeting, it has not come: the others
    /// wait for somebody else. Once `n` have come, the meeting has taken place for all of them.
    ///
    /// ```
    /// let barrier = tidings::sync::Barrier::new(2);
    /// std::thread::scope(|s| {
    ///     s.spawn(|| barrier.wait_blocking());
    ///     s.spawn(|| barrier.wait_blocking());
    /// });
    /// ```
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn wait(&self) -> BarrierWait<'_> {
        let arrive = Arrive {
            barrier: self,
            meeting: None,
            leader: false,
            slot: Ticket::new(None),
        };
        BarrierWait {
            arrive: arrive.into_future(),
        }
    }

    /// As [`wait`](Self::wait), on a plain thread, which waits.
    ///
    /// # Panics
    /// On a worker of a tidings runtime.
    #[track_caller]
    pub fn wait_blocking(&self) -> BarrierWaitResult {
        crate::sched::block_on(self.wait())
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (arrived, meetings) = self.source.locked(|state| (state.arrived, state.meetings));
        f.debug_struct("Barrier")
            .field("n", &self.n)
            .field("arrived", &arrived)
            .field("meetings", &meetings)
            .finish()
    }
}

/// What a wait at a [`Barrier`] gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierWaitResult {
    leader: bool,
}

impl BarrierWaitResult {
    /// Was it the last to come? One of each meeting is.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.leader
    }
}

/// The future of [`Barrier::wait`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct BarrierWait<'a> {
    arrive: crate::event::EventFuture<Arrive<'a>>,
}

impl Future for BarrierWait<'_> {
    type Output = BarrierWaitResult;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<BarrierWaitResult> {
        // SAFETY: the field stays pinned.
        unsafe { self.map_unchecked_mut(|this| &mut this.arrive) }.poll(cx)
    }
}

/// An event that only `BarrierWait` performs, alone.
#[derive(Debug)]
struct Arrive<'a> {
    barrier: &'a Barrier,
    /// The meeting it waits for, once it has come.
    meeting: Option<u64>,
    leader: bool,
    slot: Ticket,
}

impl Wait for Arrive<'_> {
    type State = State;
    type Output = BarrierWaitResult;
    const SIDE: Side = Side::Receiver;

    fn source(&self) -> &Source<State> {
        &self.barrier.source
    }
    fn ready(&mut self, state: &mut State) -> bool {
        self.leader = state.arrived + 1 == self.barrier.n;
        if self.leader {
            state.arrived = 0;
            state.meetings += 1;
        } else {
            state.arrived += 1;
            self.meeting = Some(state.meetings);
            self.slot.write(state.meetings);
        }
        self.leader
    }
    fn done(&mut self) -> BarrierWaitResult {
        if self.leader {
            let source = &self.barrier.source;
            let meetings = source.locked(|state| state.meetings);
            source.commit_each(false, |state| state.waiting.claim_before(meetings));
        }
        BarrierWaitResult {
            leader: self.leader,
        }
    }
    fn withdrawn(&mut self) {
        let Some(meeting) = self.meeting else { return };
        self.barrier.source.locked(|state| {
            // After the meeting it has been counted, and stays so.
            state.arrived -= usize::from(state.meetings == meeting);
        });
    }
}

wait_event!(impl['a] Arrive<'a> => BarrierWaitResult);
