//! The state word of a task: one method per transition, each with its precondition.
//!
//! ```text
//! bit 0    ALIVE     the slot holds a future that has not completed
//! bit 1    COMPLETE  the output is there
//! bit 2    JOIN      the join handle exists and wants the output
//! bit 3    ABORT     the next run drops the future
//! 8..31    handles   join handle and abort handles: the last one out frees a complete task
//! 32..63   wakes     how often it was woken since it was last idle; 0 = idle
//! ```
//! Whoever raises `wakes` from 0 on a live task owns the right to run it, and must queue it.
//! The right passes with the queue to the worker; it ends in [`State::end`].
//! 0 is a free slot. A stale waker may add wakes to a free or complete word: nobody looks.
//!
//! Cost: a wake is one `fetch_add`; a run is a load before and one `fetch_sub` after the poll.

use crate::primitive::atomic::{AtomicU64, Ordering};

const ALIVE: u64 = 1;
const COMPLETE: u64 = 1 << 1;
const JOIN: u64 = 1 << 2;
const ABORT: u64 = 1 << 3;
const HANDLE: u64 = 1 << 8;
const HANDLES: u64 = (WAKE - 1) & !(HANDLE - 1);
const WAKE: u64 = 1 << 32;
/// From here on wakes are no longer counted, only ordered: the count must not overflow.
const WAKES_MAX: u64 = 1 << 62;

/// The word.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct State(AtomicU64);

/// What a worker saw when it began to run the task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen(u64);

impl Seen {
    pub(crate) fn is_aborted(self) -> bool {
        self.0 & ABORT != 0
    }
}

impl State {
    /// A new task: alive, with its join handle, and the maker owns the right to run it.
    #[cfg(any(all(test, loom), shuttle))]
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(ALIVE | JOIN | HANDLE | WAKE))
    }

    /// Publishes a new task in a reused slot. Stale wakes may hit the word at any time.
    #[inline(always)]
    pub(crate) fn reset(&self) {
        // ORD task.state: release; pairs with every acquire below.
        #[cfg(not(loom))]
        self.0
            .store(ALIVE | JOIN | HANDLE | WAKE, Ordering::Release);
        // loom does not order a plain store and a stale wake of another thread.
        #[cfg(loom)]
        self.0.swap(ALIVE | JOIN | HANDLE | WAKE, Ordering::Release);
    }

    /// Any thread, any time. `true`: the caller now owns the right to run the task.
    #[inline(always)]
    pub(crate) fn wake(&self) -> bool {
        // A stale waker must not write to a slot whose pages were given back.
        // RELAXED: only a hint; the read-modify-write below decides.
        let hint = self.0.load(Ordering::Relaxed);
        if hint & ALIVE == 0 {
            return false;
        }
        if hint >= WAKES_MAX {
            // ORD task.state: release; pairs with end, which finds more wakes than it saw.
            self.0.fetch_or(0, Ordering::AcqRel);
            return false;
        }
        // ORD task.state: release (what the waker did before) and acquire (of the run right).
        let before = self.0.fetch_add(WAKE, Ordering::AcqRel);
        before & ALIVE != 0 && before < WAKE
    }

    /// Owner of the run right only: before the poll.
    #[inline(always)]
    pub(crate) fn begin(&self) -> Seen {
        // ORD task.state: acquire; pairs with wake.
        Seen(self.0.load(Ordering::Acquire))
    }

    /// Owner of the run right only: after a poll that returned pending. `true`: somebody woke
    /// the task meanwhile, and the caller still owns the right: it must queue the task again.
    #[inline(always)]
    pub(crate) fn end(&self, seen: Seen) -> bool {
        let wakes = seen.0 & !(WAKE - 1);
        // ORD task.state: release (what the poll did, for the next runner) and acquire.
        let before = self.0.fetch_sub(wakes, Ordering::AcqRel);
        before.wrapping_sub(wakes) >= WAKE
    }

    /// Owner of the run right only: does anybody hold a handle? Once gone none comes back.
    #[inline(always)]
    pub(crate) fn has_handles(&self) -> bool {
        // ORD task.state: acquire; pairs with leave.
        self.0.load(Ordering::Acquire) & HANDLES != 0
    }

    /// Owner of the run right only, the output is stored. `true`: handles are left, and the
    /// last of them owns the slot now; `false`: none, the caller frees output and slot.
    pub(crate) fn complete(&self) -> bool {
        // ORD task.state: release (the output); pairs with is_complete and leave.
        self.0.fetch_xor(ALIVE | COMPLETE, Ordering::AcqRel) & HANDLES != 0
    }

    /// Does the join handle want the output? A hint: it may go at any time.
    pub(crate) fn is_joined(&self) -> bool {
        self.0.load(Ordering::Relaxed) & JOIN != 0
    }

    /// Owner of the slot only: it goes back to the slab.
    #[inline(always)]
    pub(crate) fn release(&self) {
        #[cfg(not(loom))]
        self.0.store(0, Ordering::Release);
        #[cfg(loom)]
        self.0.swap(0, Ordering::Release);
    }

    /// A handle only.
    #[inline(always)]
    pub(crate) fn is_complete(&self) -> bool {
        // ORD task.state: acquire; pairs with complete.
        self.0.load(Ordering::Acquire) & COMPLETE != 0
    }

    /// A handle only: makes an abort handle.
    pub(crate) fn add_handle(&self) {
        // RELAXED: the caller's own handle keeps the count above 0.
        let before = self.0.fetch_add(HANDLE, Ordering::Relaxed);
        assert!(
            before & HANDLES < HANDLES,
            "a task has at most 16 million handles"
        );
    }

    /// A handle only: it goes. `true`: it was the last of a complete task and frees the slot.
    #[inline(always)]
    pub(crate) fn leave(&self, join: bool) -> bool {
        let gone = if join { HANDLE | JOIN } else { HANDLE };
        // ORD task.state: acquire (the output) and release; pairs with complete.
        let before = self.0.fetch_sub(gone, Ordering::AcqRel);
        before & HANDLES == HANDLE && before & COMPLETE != 0
    }

    /// A handle only: asks that the future be dropped. `true`: the caller owns the run right.
    pub(crate) fn abort(&self) -> bool {
        // ORD task.state: as in wake.
        self.0.fetch_or(ABORT, Ordering::AcqRel);
        self.wake()
    }

    /// Nobody has woken it since it last ran.
    pub(crate) fn is_idle(&self) -> bool {
        // RELAXED: for reports.
        self.0.load(Ordering::Relaxed) < WAKE
    }

    /// Not complete, not free.
    pub(crate) fn is_alive(&self) -> bool {
        // ORD task.state: acquire; pairs with reset.
        self.0.load(Ordering::Acquire) & ALIVE != 0
    }
}
