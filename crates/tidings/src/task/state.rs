//! The state of a task, in one word (`word.rs`): one method per transition, each with its precondition.
//!
//! Whoever raises `wakes` from 0 on a live task owns the right to run it, and must queue it.
//! The right passes with the queue to the worker; it ends in [`State::end`].
//! 0 is a free slot. A stale waker may add wakes to a complete word: nobody looks.
//!
//! A task completes in one step. Where no waker is there, the completer looks at nothing any more behind it; else it
//! takes the waker out, and who takes the output, or frees the slot, sees it out.
//!
//! Cost: a wake is one `compare_exchange`; a run is a load before and one `fetch_sub` after the poll.

use super::word::{
    ABORT, ALIVE, At, COMPLETE, HANDLE, HANDLES, HOME, JOIN, MOST, NEW, REVOKED, Seen, WAITED,
    WAKE, WAKER, WAKES,
};
use crate::primitive::atomic::{AtomicU64, Ordering};
use crate::primitive::relax;

/// The word.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct State(AtomicU64);

/// What who has completed a task is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Completed {
    /// Handles are left, and the last of them owns the slot now; none: the caller frees output and slot.
    pub(crate) handles_own: bool,
    /// The join handle's waker is the caller's, who takes it out before a handle may go on.
    pub(crate) awaited: bool,
}

/// As `Arc` does: a count that overflows would free memory in use.
#[cold]
#[inline(never)]
fn too_many() -> ! {
    let most = MOST / HANDLE;
    eprintln!("tidings: more than {most} handles of one task: the process ends here");
    std::process::abort();
}

impl State {
    /// A new task: alive, with its join handle, and the maker owns the right to run it.
    #[cfg(any(test, shuttle))]
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(NEW))
    }

    /// Publishes a new task in a reused slot. Stale wakes may hit the word at any time.
    #[inline(always)]
    pub(crate) fn reset(&self) {
        self.overwrite(NEW);
    }

    /// Where nobody else writes the word but stale wakes, one of which may be lost.
    #[inline(always)]
    fn overwrite(&self, word: u64) {
        // ORD task.state: release; pairs with every acquire below.
        #[cfg(not(loom))]
        self.0.store(word, Ordering::Release);
        // loom does not order a plain store and a stale wake of another thread.
        #[cfg(loom)]
        self.0.swap(word, Ordering::Release);
    }

    /// Any thread, any time.
    #[inline(always)]
    pub(crate) fn look(&self) -> Seen {
        // RELAXED: a hint; what follows from it is a read-modify-write of what was seen, or looks again.
        Seen(self.0.load(Ordering::Relaxed))
    }

    /// `seen`: alive, without a home. `None`: it is not as seen; else, does the caller now own the right
    /// to run the task?
    #[inline(always)]
    pub(crate) fn wake(&self, seen: Seen) -> Option<bool> {
        // At their most wakes are no longer counted, only ordered: the count must not overflow.
        let woken = match seen.0 & WAKES {
            WAKES => seen.0,
            _ => seen.0 + WAKE,
        };
        // ORD task.state: release (what the waker did before) and acquire (of the run right).
        let done = self
            .0
            .compare_exchange_weak(seen.0, woken, Ordering::AcqRel, Ordering::Relaxed);
        done.ok().map(|_| seen.0 < WAKE)
    }

    /// Owner of the run right only: before the poll.
    #[inline(always)]
    pub(crate) fn begin(&self) -> Seen {
        // ORD task.state: acquire; pairs with wake.
        Seen(self.0.load(Ordering::Acquire))
    }

    /// Owner of the run right only, of a word without a home: after a poll that returned pending.
    /// `true`: somebody woke the task meanwhile, and the caller still owns the right: it must queue
    /// the task again.
    #[inline(always)]
    pub(crate) fn end(&self, seen: Seen) -> bool {
        // At their most, more may have come than were counted.
        let wakes = (seen.0 & WAKES).min(WAKES - WAKE);
        // ORD task.state: release (what the poll did, for the next runner) and acquire.
        let before = self.0.fetch_sub(wakes, Ordering::AcqRel);
        before.wrapping_sub(wakes) >= WAKE
    }

    /// Gives a word with no wakes, or whose wakes the home counts from here on, another home. `None`: it is
    /// not as seen any more. For the owner of the run right if it has no home; for anybody, if it has.
    pub(super) fn move_to(&self, seen: Seen, home: u8) -> Option<Seen> {
        // ORD task.state: release (what a home writes before) and acquire (for who takes it back).
        // RELAXED: as it was.
        let moved = seen.at(home, 0);
        self.0
            .compare_exchange(seen.0, moved.0, Ordering::AcqRel, Ordering::Relaxed)
            .ok()
            .map(|_| moved)
    }

    /// Who made the word revoked only: it has no home from here on, and was woken so often at the last.
    pub(super) fn leave_home(&self, wakes: u64) {
        // ORD task.state: release (what was done at home) and acquire; as wake and end.
        self.0
            .fetch_sub(u64::from(REVOKED) * HOME - wakes * WAKE, Ordering::AcqRel);
    }

    /// The owner of the run right only, where it is at home.
    pub(crate) fn let_go(&self, home: At) {
        let mut seen = self.look();
        // ORD task.state: release (what was done at home); as wake. RELAXED: as it was.
        while seen.is_at(home)
            && let Err(now) = self.0.compare_exchange_weak(
                seen.0,
                seen.at(0, 1).0,
                Ordering::Release,
                Ordering::Relaxed,
            )
        {
            seen = Seen(now);
        }
    }

    /// Waits until nobody takes the word's home from it. None does anew once the task has ended.
    pub(super) fn settle(&self) {
        let mut step = 0;
        // ORD task.state: acquire, as begin; pairs with leave_home.
        while self.begin().home() == REVOKED {
            relax(&mut step);
        }
    }

    /// Owner of the run right only: has nobody a handle, and none comes back? Then the task has ended, and
    /// the caller frees output and slot.
    #[inline(always)]
    pub(crate) fn ends_alone(&self) -> bool {
        // ORD task.state: acquire; pairs with leave.
        let word = self.0.load(Ordering::Acquire);
        if word & HANDLES != 0 {
            return false;
        }
        if Seen(word).home() != 0 {
            // ORD task.state: as complete, for those who come to take its home.
            self.0.fetch_and(!ALIVE, Ordering::AcqRel);
            self.settle();
        }
        true
    }

    /// As [`complete`](Self::complete), where no joiner has waited, none has left the output behind, and nobody takes the
    /// word's home from it. `None`: it is not so, and the task is not complete. `true`: handles are left.
    #[inline(always)]
    pub(crate) fn complete_unwaited(&self, put: bool) -> Option<bool> {
        let mut seen = self.look();
        while seen.0 & WAITED == 0 && seen.home() != REVOKED && !seen.is_left(put) {
            // ORD task.state: release (the output); pairs with is_complete and leave. Nothing to acquire: who has
            // never left a waker, nor taken one back, has touched nothing but atomics. RELAXED: as it was.
            let done = self.0.compare_exchange_weak(
                seen.0,
                seen.0 ^ (ALIVE | COMPLETE),
                Ordering::Release,
                Ordering::Relaxed,
            );
            match done {
                Ok(_) => return Some(seen.0 & HANDLES != 0),
                Err(now) => seen = Seen(now),
            }
        }
        None
    }

    /// The join handle only, which has left a waker. `false`: the task has completed, and nobody looks at that.
    #[inline(always)]
    pub(crate) fn wait(&self) -> bool {
        let mut seen = self.look();
        while seen.0 & COMPLETE == 0 {
            // ORD task.state: release (the waker); pairs with complete and ends_alone. RELAXED: who hears that it is
            // late looks with `is_complete`.
            let done = self.0.compare_exchange_weak(
                seen.0,
                seen.0 | WAITED | WAKER,
                Ordering::Release,
                Ordering::Relaxed,
            );
            match done {
                Ok(_) => return true,
                Err(now) => seen = Seen(now),
            }
        }
        false
    }

    /// The join handle only: the waker that it has left is its own again. `false`: it has left none, or the task has
    /// completed, and it is the completer's.
    pub(crate) fn take_back(&self) -> bool {
        let mut seen = self.look();
        while seen.0 & (COMPLETE | WAKER) == WAKER {
            // RELAXED: it wrote the waker itself, and gives nothing.
            let done = self.0.compare_exchange_weak(
                seen.0,
                seen.0 ^ WAKER,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match done {
                Ok(_) => return true,
                Err(now) => seen = Seen(now),
            }
        }
        false
    }

    /// Is there a waker of the join handle's? For that, and for who owns the slot.
    #[inline(always)]
    pub(crate) fn has_waker(&self) -> bool {
        self.look().0 & WAKER != 0
    }

    /// Owner of the run right only; `put`: the output is stored. `None`: the task is not complete, since the join
    /// handle is gone that would have dropped the output: the caller does.
    #[inline(always)]
    pub(crate) fn complete(&self, put: bool) -> Option<Completed> {
        let mut seen = self.look();
        while !seen.is_left(put) {
            if seen.home() == REVOKED {
                // Nobody does so anew: who would begins with a live word without a home.
                self.settle();
                seen = self.look();
                continue;
            }
            // ORD task.state: release (the output); pairs with is_complete, forgo and leave. Acquire (the waker); pairs
            // with wait. RELAXED: as it was.
            let done = self.0.compare_exchange_weak(
                seen.0,
                seen.0 ^ (ALIVE | COMPLETE),
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
            match done {
                Ok(_) => {
                    return Some(Completed {
                        handles_own: seen.0 & HANDLES != 0,
                        awaited: seen.0 & WAKER != 0,
                    });
                }
                Err(now) => seen = Seen(now),
            }
        }
        None
    }

    /// Has the join handle ever left a waker?
    pub(super) fn was_waited(&self) -> bool {
        self.look().0 & WAITED != 0
    }

    /// Does the join handle want the output? A hint: it may go at any time.
    #[inline]
    pub(crate) fn is_joined(&self) -> bool {
        self.0.load(Ordering::Relaxed) & JOIN != 0
    }

    /// Owner of the slot only: it goes back to the slab.
    #[inline(always)]
    pub(crate) fn release(&self) {
        self.overwrite(0);
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
        if before & HANDLES >= MOST {
            too_many();
        }
    }

    /// The join handle only: goes, if the task is not complete. `false`: it is, and the output is the handle's.
    #[inline(always)]
    pub(crate) fn forgo(&self) -> bool {
        // ORD task.state: acquire (the output); pairs with complete.
        let mut word = self.0.load(Ordering::Acquire);
        while word & COMPLETE == 0 {
            // ORD task.state: release, as leave; pairs with ends_alone and complete. Acquire: as above.
            let done = self.0.compare_exchange_weak(
                word,
                word - (HANDLE | JOIN),
                Ordering::Release,
                Ordering::Acquire,
            );
            match done {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// As [`forgo`](Self::forgo), by who keeps the task in its queue meanwhile. `false`: it was aborted, or has other
    /// handles.
    #[inline(always)]
    pub(crate) fn forgo_new(&self) -> bool {
        let new = self.look().0 == NEW;
        if new {
            self.overwrite(NEW - (HANDLE | JOIN));
        }
        new
    }

    /// A handle only, the join handle's of a complete task only: it goes. `true`: it was the last of a complete task
    /// and frees the slot.
    #[inline(always)]
    pub(crate) fn leave(&self) -> bool {
        // ORD task.state: acquire (the output); pairs with complete.
        if self.0.load(Ordering::Acquire) & (HANDLES | COMPLETE) == HANDLE | COMPLETE {
            // Nobody else is left, and none comes.
            return true;
        }
        // ORD task.state: acquire (the output) and release; pairs with complete.
        let before = self.0.fetch_sub(HANDLE, Ordering::AcqRel);
        before & HANDLES == HANDLE && before & COMPLETE != 0
    }

    /// A handle only: asks that the future be dropped, once the task is woken.
    pub(crate) fn abort(&self) {
        // ORD task.state: as in wake.
        self.0.fetch_or(ABORT, Ordering::AcqRel);
    }

    /// Not complete, not free.
    pub(crate) fn is_alive(&self) -> bool {
        // ORD task.state: acquire; pairs with reset.
        self.0.load(Ordering::Acquire) & ALIVE != 0
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::primitive::atomic::AtomicBool;
    use crate::primitive::thread;

    /// With handles, and nobody waits.
    const COMPLETED: Option<Completed> = Some(Completed {
        handles_own: true,
        awaited: false,
    });

    /// Alive, and woken so often.
    fn woken(wakes: u64) -> State {
        State(AtomicU64::new(ALIVE | JOIN | HANDLE | wakes))
    }

    fn wake(state: &State) -> bool {
        std::iter::repeat_with(|| state.wake(state.look()))
            .find_map(|first| first)
            .expect("it ends")
    }

    #[test]
    fn a_join_handle_goes_by_a_store_only_where_it_is_the_only_one_of_a_new_task() {
        let new = State::new();
        assert!(new.forgo_new() && !new.is_joined() && new.is_alive());
        assert!(!new.forgo_new() && new.ends_alone());
        let changes = [State::add_handle, State::abort, |state: &State| {
            assert!(!wake(state), "it is queued");
        }];
        for change in changes {
            let state = State::new();
            change(&state);
            assert!(!state.forgo_new() && state.is_joined() && state.forgo());
        }
    }

    #[test]
    fn a_wake_that_there_is_no_room_to_count_has_the_task_run_again() {
        let state = woken(WAKES - WAKE);
        assert!(!wake(&state) && !wake(&state));
        assert!(state.look().is_alive() && state.look().home() == 0);
        let seen = state.begin();
        assert!(!wake(&state));
        assert!(state.end(seen), "one came while it ran");
        let seen = state.begin();
        assert!(!state.end(seen), "none did");
        assert!(state.look().is_idle());
        assert!(wake(&state), "the first");
    }

    /// Alive, at the home 1, with this many handles.
    fn at_home(handles: u64) -> State {
        State(AtomicU64::new(ALIVE | (handles * HANDLE) | HOME))
    }

    /// What `ends` says, which must not be before another has taken the task's home from it.
    fn after_its_home_is_taken(state: &State, ends: impl FnOnce(&State) -> bool + Send) -> bool {
        let (begun, over, taken) = <(AtomicBool, AtomicBool, AtomicBool)>::default();
        let said = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        thread::scope(|scope| {
            assert!(state.move_to(state.look(), REVOKED).is_some());
            let ends = scope.spawn(|| {
                begun.store(true, Ordering::Relaxed);
                let ended = ends(state);
                over.store(true, Ordering::Relaxed);
                assert!(said(&taken), "it did not wait");
                ended
            });
            while !said(&begun) {
                thread::yield_now();
            }
            // Time enough for one that does not wait.
            for _ in 0..200_000 {
                if said(&over) {
                    break;
                }
                std::hint::spin_loop();
            }
            taken.store(true, Ordering::Relaxed);
            state.leave_home(0);
            ends.join().unwrap()
        })
    }

    #[test]
    fn who_ends_a_task_waits_until_nobody_takes_its_home() {
        let complete = |state: &State| state.complete(false) == COMPLETED;
        assert!(after_its_home_is_taken(&at_home(1), complete));
        assert!(after_its_home_is_taken(&at_home(0), State::ends_alone));
        let settles = |state: &State| {
            state.settle();
            true
        };
        assert!(after_its_home_is_taken(&at_home(1), settles));
    }

    #[test]
    fn a_task_without_handles_ends_alone_and_nobody_takes_its_home_afterwards() {
        let state = at_home(0);
        assert!(state.ends_alone());
        assert!(!state.look().is_alive());
        for state in [at_home(1), woken(WAKE)] {
            assert!(!state.ends_alone());
            // As `complete` must find it.
            assert!(state.look().is_alive());
        }
    }

    #[test]
    fn who_completes_a_task_learns_whether_there_are_handles() {
        let state = at_home(0);
        let completed = state.complete(false);
        assert_eq!(completed.map(|done| done.handles_own), Some(false));
        assert!(state.is_complete() && !state.is_alive());
        assert_eq!(woken(0).complete(true), COMPLETED);
    }

    #[test]
    fn the_output_is_wanted_until_the_join_handle_goes() {
        let state = woken(0);
        state.add_handle();
        assert!(state.is_joined());
        assert!(state.forgo());
        assert!(!state.is_joined());
        // What was put away for it is dropped before the task is complete.
        assert_eq!(state.complete_unwaited(true), None);
        assert_eq!(state.complete(true), None);
        assert!(state.is_alive());
        assert_eq!(state.complete_unwaited(false), Some(true));
        assert!(state.leave(), "the last");
    }

    #[test]
    fn a_waker_is_the_completers_from_the_end_of_its_task_on() {
        let state = woken(0);
        assert!(!state.has_waker() && !state.take_back() && !state.was_waited());
        assert!(state.wait() && state.has_waker() && state.was_waited());
        assert!(state.take_back() && !state.has_waker() && state.was_waited());
        assert!(state.wait());
        assert_eq!(state.complete_unwaited(true), None);
        let completed = state.complete(true);
        assert_eq!(completed.map(|done| done.awaited), Some(true));
        assert!(!state.take_back(), "it is the completer's");
        // Who is late leaves no mark: nobody would take it out.
        let state = woken(0);
        assert_eq!(state.complete(true), COMPLETED);
        assert!(!state.wait() && !state.has_waker());
    }

    #[test]
    fn a_join_handle_that_forgoes_leaves_a_task_that_is_not_complete() {
        let state = woken(0);
        state.add_handle();
        assert_eq!(state.complete_unwaited(true), Some(true));
        assert!(!state.forgo());
        assert!(!state.leave() && state.leave());
    }

    #[test]
    fn who_gives_a_task_away_lets_go_of_it_woken_once() {
        let state = at_home(1);
        state.let_go(At::new(Some(2)));
        assert_eq!(state.look().home(), 1);
        state.let_go(At::new(Some(1)));
        assert_eq!((state.look().home(), state.look().is_idle()), (0, false));
        let seen = state.begin();
        assert!(!state.end(seen), "it was woken once");
    }
}
