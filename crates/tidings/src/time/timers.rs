//! Deadlines on their way: armed by a wait, cancelled far more often than they expire.
//!
//! Each worker has timers of its own, so arming and cancelling on the same worker costs no
//! atomics and no clock: a relative deadline is only written down, and gets its absolute time
//! at the worker's next look at the clock (at most [`REFRESH`](crate::sched::REFRESH) turns
//! later; a timer may be late by that, never early). Most timeouts are cancelled before that.
//! Threads outside share one set behind a mutex, driven by one small thread (`outside.rs`).
//!
//! A node has two parties, the timers and the wait ([`Armed`]); `state` says who is left:
//!
//! ```text
//! ARMED --(timers: expire)--> FIRED       the wait frees the node
//!       --(timers: shutdown)-> ORPHANED   the wait frees the node, and arms another
//!       --(wait, elsewhere)--> CANCELLED  the timers free the node at their next refresh
//! ```
//! A wait that cancels on the timers' own thread unlinks the node at once. Elsewhere it takes the waker along, which is
//! not kept until that refresh; who takes it does so under the lock of the cancelled ones.

use std::ptr::NonNull;
use std::task::Waker;
use std::time::Duration;

use super::wheel::{Key, Wheel};
use super::{Instant, outside};
use crate::primitive::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::primitive::{Arc, SpinLock, UnsafeCell};
use crate::sched;

const ARMED: u32 = 0;
const FIRED: u32 = 1;
const ORPHANED: u32 = 2;
const CANCELLED: u32 = 3;

/// One tick of the wheel: 2^14 ns, 16 us. Whoever waits is woken up to so much late, for all of a tick
/// at once; shorter than a wake-up takes it need not be.
const TICK_BITS: u32 = 14;
/// Nodes kept for reuse.
const CACHE: usize = 256;

/// When a timer expires.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deadline {
    /// So long after it is armed.
    After(Duration),
    /// At that time.
    At(Instant),
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Pending(usize),
    Wheel(Key),
}

/// One armed timer.
#[derive(Debug)]
pub(crate) struct Node {
    state: AtomicU32,
    /// Absolute nanoseconds, once known; 0 before.
    at: AtomicU64,
    home: Arc<Home>,
    /// Whom it wakes, until somebody takes it.
    waker: UnsafeCell<Option<Waker>>,
    /// Touched by the timers only.
    inside: UnsafeCell<Inside>,
}

impl Node {
    /// # Safety
    /// Nobody else takes it at this moment: the lock of the cancelled ones is held, or the node is the caller's alone.
    #[inline]
    unsafe fn take_waker(&self) -> Option<Waker> {
        // SAFETY: the caller's promise.
        self.waker.with_mut(|waker| unsafe { (*waker).take() })
    }
}

#[cfg(loom)]
impl Drop for Node {
    fn drop(&mut self) {
        crate::primitive::freed(&self.waker);
        crate::primitive::freed(&self.inside);
    }
}

#[derive(Debug)]
struct Inside {
    deadline: Deadline,
    place: Place,
}

/// What is left of a set of timers when other threads look for it.
#[derive(Debug)]
pub(crate) struct Home {
    cancelled: SpinLock<Cancelled>,
}

#[derive(Debug, Default)]
struct Cancelled {
    nodes: Vec<NonNull<Node>>,
    closed: bool,
}

// SAFETY: a node is shared by its timers and its wait by the rules of the module.
unsafe impl Send for Cancelled {}

/// A set of timers with one owner at a time.
#[derive(Default)]
pub(crate) struct Timers {
    home: Option<Arc<Home>>,
    wheel: Option<Wheel<NonNull<Node>>>,
    pending: Vec<NonNull<Node>>,
    #[expect(
        clippy::vec_box,
        reason = "the boxes are what is kept: waits point into them"
    )]
    cache: Vec<Box<Node>>,
}

// SAFETY: as for `Cancelled`.
unsafe impl Send for Timers {}

const fn tick_at(at: Instant) -> u64 {
    at.as_nanos() >> TICK_BITS
}

/// The first tick at which `at` has passed.
const fn tick_after(at: Instant) -> u64 {
    at.as_nanos().div_ceil(1 << TICK_BITS)
}

impl Timers {
    /// Arms a timer. The caller cloned the waker outside of any lock.
    #[inline]
    pub(crate) fn arm(&mut self, deadline: Deadline, waker: Waker) -> NonNull<Node> {
        let place = Place::Pending(self.pending.len());
        let inside = Inside { deadline, place };
        let waker = UnsafeCell::new(Some(waker));
        let node = if let Some(mut node) = self.cache.pop() {
            node.state.store(ARMED, Ordering::Relaxed);
            node.at.store(0, Ordering::Relaxed);
            node.waker = waker;
            node.inside = UnsafeCell::new(inside);
            node
        } else {
            let home = self.home.get_or_insert_with(|| {
                Arc::new(Home {
                    cancelled: SpinLock::new(Cancelled::default()),
                })
            });
            Box::new(Node {
                state: AtomicU32::new(ARMED),
                at: AtomicU64::new(0),
                home: Arc::clone(home),
                waker,
                inside: UnsafeCell::new(inside),
            })
        };
        let node = NonNull::from(Box::leak(node));
        self.pending.push(node);
        node
    }

    /// Is `node` one of these timers?
    #[inline]
    pub(crate) fn owns(&self, node: &Node) -> bool {
        self.home
            .as_ref()
            .is_some_and(|home| Arc::ptr_eq(home, &node.home))
    }

    /// Unlinks an armed or cancelled node of these timers and takes it back. The caller drops
    /// the waker outside of any lock; a cancelled one has none any more.
    #[inline]
    fn take_back(&mut self, node: NonNull<Node>) -> Option<Waker> {
        // SAFETY: the node is one of ours (the caller's promise), so its box is alive.
        let shared = unsafe { node.as_ref() };
        // SAFETY: the wait has given it up, and its inside is ours to touch.
        let (waker, place) = unsafe {
            let waker = shared.take_waker();
            (waker, shared.inside.with(|inside| (*inside).place))
        };
        match place {
            Place::Pending(index) => {
                self.pending.swap_remove(index);
                if let Some(moved) = self.pending.get(index) {
                    // SAFETY: pending nodes are ours.
                    unsafe { moved.as_ref() }.inside.with_mut(|inside| {
                        // SAFETY: as above.
                        unsafe { (*inside).place = Place::Pending(index) };
                    });
                }
            }
            Place::Wheel(key) => {
                self.wheel.as_mut().and_then(|wheel| wheel.remove(key));
            }
        }
        // SAFETY: unlinked above, and the wait has given it up.
        let node = unsafe { Box::from_raw(node.as_ptr()) };
        if self.cache.len() < CACHE {
            self.cache.push(node);
        }
        waker
    }

    /// Cancels a timer of this set that the wait has given up. `None`: it had expired.
    #[inline]
    pub(crate) fn cancel(&mut self, node: NonNull<Node>) -> Option<Waker> {
        // SAFETY: the wait keeps the node.
        let state = unsafe { node.as_ref() }.state.load(Ordering::Acquire);
        if state == ARMED {
            return self.take_back(node);
        }
        // SAFETY: fired or orphaned: the wait is the last party.
        drop(unsafe { Box::from_raw(node.as_ptr()) });
        None
    }

    /// Nothing is armed, and nothing is left to take back.
    #[inline(always)]
    pub(crate) fn is_idle(&self) -> bool {
        self.pending.is_empty() && self.wheel.as_ref().is_none_or(|wheel| wheel.len() == 0)
    }

    /// Takes back cancelled timers.
    pub(crate) fn take_cancelled(&mut self) {
        if let Some(home) = &self.home {
            let nodes = std::mem::take(&mut home.cancelled.lock().nodes);
            for node in nodes {
                self.take_back(node);
            }
        }
    }

    /// Writes down the time of new timers, takes back cancelled ones, and collects the wakers of those
    /// that have expired, and of those that are cancelled meanwhile (to be dropped), into the lists.
    pub(crate) fn refresh(&mut self, now: Instant, due: &mut Vec<Waker>, dead: &mut Vec<Waker>) {
        let tick = tick_at(now);
        self.take_cancelled();
        let wheel = self.wheel.get_or_insert_with(|| Wheel::new(tick));
        for node in self.pending.drain(..) {
            // SAFETY: pending nodes are ours.
            let shared = unsafe { node.as_ref() };
            shared.inside.with_mut(|inside| {
                // SAFETY: as above.
                let inside = unsafe { &mut *inside };
                let at = match inside.deadline {
                    Deadline::After(duration) => now.saturating_add(duration),
                    Deadline::At(at) => at,
                };
                shared.at.store(at.as_nanos(), Ordering::Release);
                inside.place = Place::Wheel(wheel.insert(tick_after(at), node));
            });
        }
        let mut expired = |node: NonNull<Node>| {
            // SAFETY: the node was in our wheel.
            let shared = unsafe { node.as_ref() };
            let waker = {
                let _cancelled = shared.home.cancelled.lock();
                // SAFETY: under the lock.
                unsafe { shared.take_waker() }
            };
            // ORD timer.state: release; pairs with the wait's acquire.
            let fired =
                shared
                    .state
                    .compare_exchange(ARMED, FIRED, Ordering::AcqRel, Ordering::Acquire);
            if fired.is_ok() {
                due.extend(waker);
            } else {
                // Cancelled from elsewhere: it is, or will be, in `cancelled`, which must not
                // find it in the wheel: the key is stale, so `take_back` removes nothing.
                dead.extend(waker);
            }
        };
        wheel.advance(tick, &mut expired);
    }

    /// When the earliest timer expires, at the earliest; `None`: none ever does. All pending ones have
    /// their time.
    pub(crate) fn next(&self) -> Option<Instant> {
        let tick = self.wheel.as_ref()?.next_expiry()?;
        // The tick after the last one of all time never comes.
        let nanos = tick.checked_mul(1 << TICK_BITS)?;
        Some(Instant::from_nanos(nanos))
    }
}

impl std::fmt::Debug for Timers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Timers")
            .field("pending", &self.pending.len())
            .finish_non_exhaustive()
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        let Some(home) = self.home.take() else { return };
        let mut wakers = Vec::new();
        {
            // Held to the end: a wait that cancels meanwhile frees its node only after us.
            let mut cancelled = home.cancelled.lock();
            cancelled.closed = true;
            for node in std::mem::take(&mut cancelled.nodes) {
                self.take_back(node);
            }
            let mut left = std::mem::take(&mut self.pending);
            if let Some(wheel) = &mut self.wheel {
                wheel.advance(u64::MAX, &mut |node| left.push(node));
            }
            for node in left {
                // SAFETY: the node was linked, so its box is alive while we hold the lock.
                let shared = unsafe { node.as_ref() };
                // SAFETY: under the lock.
                wakers.extend(unsafe { shared.take_waker() });
                // ORD timer.state: release; pairs with the wait's acquire. If the wait has
                // cancelled just now it finds `closed` and frees the node itself.
                let _ = shared.state.compare_exchange(
                    ARMED,
                    ORPHANED,
                    Ordering::AcqRel,
                    Ordering::Acquire,
                );
            }
        }
        crate::task::wake_quietly(wakers);
    }
}

/// A wait's side of a timer. Dropping it cancels.
#[derive(Debug)]
pub(crate) struct Armed {
    node: NonNull<Node>,
    deadline: Deadline,
}

// SAFETY: the handle touches the atomic fields only, and frees the node when it is the last.
unsafe impl Send for Armed {}
// SAFETY: a shared handle reads the atomic state.
unsafe impl Sync for Armed {}

/// What a wait finds.
pub(crate) enum Look {
    /// Not yet.
    Waiting,
    /// The deadline has passed.
    Fired,
    /// The timers are gone; arm again with this deadline.
    Orphaned(Deadline),
}

impl Armed {
    /// Arms a timer with the worker of this thread, or outside.
    #[inline]
    pub(crate) fn new(deadline: Deadline, waker: &Waker) -> Self {
        let waker = crate::task::clone_waker(waker);
        let node = sched::with_timers(
            waker,
            |timers, waker| timers.arm(deadline, waker),
            |waker| outside::arm(deadline, waker),
        );
        Self { node, deadline }
    }

    /// A model's: the wait of a node that it armed itself.
    #[cfg(all(test, loom))]
    pub(crate) fn of(node: NonNull<Node>, deadline: Deadline) -> Self {
        Self { node, deadline }
    }

    fn node(&self) -> &Node {
        // SAFETY: the wait keeps the node until it gives it up in `drop`.
        unsafe { self.node.as_ref() }
    }

    /// Has it expired?
    #[inline]
    pub(crate) fn look(&self) -> Look {
        // ORD timer.state: acquire; pairs with expire and shutdown.
        match self.node().state.load(Ordering::Acquire) {
            ARMED => Look::Waiting,
            FIRED => Look::Fired,
            _ => Look::Orphaned(self.deadline()),
        }
    }

    /// The deadline, absolute if it is known by now.
    pub(crate) fn deadline(&self) -> Deadline {
        match self.node().at.load(Ordering::Acquire) {
            0 => self.deadline,
            at => Deadline::At(Instant::from_nanos(at)),
        }
    }
}

impl Drop for Armed {
    #[inline]
    fn drop(&mut self) {
        let node = self.node;
        let done = sched::with_timers(
            (),
            |timers, ()| timers.owns(self.node()).then(|| timers.cancel(node)),
            |()| outside::cancel(node),
        );
        if let Some(waker) = done {
            drop(waker);
            return;
        }
        // ORD timer.state: release, so that the timers may free the node.
        let cancelled = self.node().state.compare_exchange(
            ARMED,
            CANCELLED,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        if cancelled.is_ok() {
            let home = Arc::clone(&self.node().home);
            let mut cancelled = home.cancelled.lock();
            if !cancelled.closed {
                // SAFETY: under the lock.
                let waker = unsafe { self.node().take_waker() };
                cancelled.nodes.push(node);
                drop(cancelled);
                // Without the lock: foreign code, whose panic is nobody's, as at the timers' refresh.
                crate::task::drop_quietly(waker);
                return;
            }
        }
        // SAFETY: fired, orphaned, or the timers are gone: the wait is the last party.
        drop(unsafe { Box::from_raw(node.as_ptr()) });
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::time::Duration;

    use super::{Deadline, Instant, Timers, Waker};

    #[test]
    fn timers_are_idle_when_each_that_was_armed_is_taken_back_or_has_expired() {
        let (mut timers, mut due, mut dead) = (Timers::default(), Vec::new(), Vec::new());
        assert!(timers.is_idle());
        for looks in [false, true] {
            let hour = Deadline::After(Duration::from_secs(3600));
            let node = timers.arm(hour, Waker::noop().clone());
            if looks {
                timers.refresh(Instant::from_nanos(1), &mut due, &mut dead);
            }
            assert!(!timers.is_idle());
            assert!(timers.cancel(node).is_some());
            assert!(timers.is_idle());
        }
        let node = timers.arm(Deadline::At(Instant::from_nanos(1)), Waker::noop().clone());
        timers.refresh(Instant::from_nanos(1 << 20), &mut due, &mut dead);
        assert_eq!((due.len(), dead.len()), (1, 0));
        assert!(timers.is_idle());
        assert!(timers.cancel(node).is_none(), "it has expired");
    }

    #[test]
    fn a_time_that_never_comes_is_not_the_next_one() {
        let (mut timers, mut due, mut dead) = (Timers::default(), Vec::new(), Vec::new());
        let now = Instant::from_nanos(1);
        let never = timers.arm(Deadline::After(Duration::MAX), Waker::noop().clone());
        timers.refresh(now, &mut due, &mut dead);
        assert!(!timers.is_idle());
        assert_eq!(timers.next(), None);
        let hour = Deadline::After(Duration::from_secs(3600));
        let hour = timers.arm(hour, Waker::noop().clone());
        timers.refresh(now, &mut due, &mut dead);
        assert!(timers.next().is_some());
        assert!(timers.cancel(hour).is_some() && timers.cancel(never).is_some());
    }
}
