//! Which workers have nothing to do, and how they are woken without a lost wake-up.
//!
//! The protocol is Dekker's. A pusher: queue the task, full fence, read `counts`. A worker that
//! goes to sleep: write itself into `counts`, full fence, look at all queues again. One of the
//! two sees the other. A pusher may leave the waking to a searching worker, because a worker
//! stops searching before that last look (`models/idle.rs`).
//!
//! A wake-up costs the waker about 12 us (futex, halted core), so at most one worker searches
//! on behalf of a push, and a searcher that finds more than it can use wakes the next.

use crate::primitive::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use crate::primitive::explored::{Mutex, lock};

const SEARCHING: u64 = 1;
const SLEEPING: u64 = 1 << 16;
/// Sleeping, and not to be given the work of others (`appetite.rs`).
const SATED: u64 = 1 << 32;

/// The workers that do not run a task.
#[derive(Debug)]
pub(crate) struct Idle {
    /// Searching, sleeping, and sleeping sated, from the low bits on. Read by every worker at every
    /// turn, written only when a worker runs out of work: a shared line that rarely moves.
    counts: AtomicU64,
    /// The sleepers, and as what they count; the last to fall asleep is woken first, its cache is warmest.
    sleepers: Mutex<Vec<(usize, u64)>>,
    /// The one that keeps watch waits, and will look by itself.
    watched: AtomicBool,
}

impl Idle {
    pub(crate) fn new() -> Self {
        Self {
            counts: AtomicU64::new(0),
            sleepers: Mutex::new(Vec::new()),
            watched: AtomicBool::new(false),
        }
    }

    /// Would anybody take work now? A hint, for busy workers that could share theirs.
    #[inline(always)]
    pub(crate) fn is_hungry(&self) -> bool {
        // RELAXED: a hint; a busy worker asks again at its next turn.
        !self.counts.load(Ordering::Relaxed).is_multiple_of(SATED)
    }

    /// After a push: the sleeper to wake, if the push needs one. The caller unparks it.
    pub(crate) fn pushed(&self) -> Option<usize> {
        // ORD idle: fence; pairs with the fence in fall_asleep.
        fence(Ordering::SeqCst);
        let counts = self.counts.load(Ordering::Relaxed);
        if counts < SLEEPING || !counts.is_multiple_of(SLEEPING) {
            return None;
        }
        self.wake_one()
    }

    /// Takes a sleeper off the list and makes it a searcher.
    pub(crate) fn wake_one(&self) -> Option<usize> {
        // Counted under the lock: the sleeper may stand up and find work before we go on.
        let mut sleepers = lock(&self.sleepers);
        let (worker, counted) = sleepers.pop()?;
        self.counts
            .fetch_add(SEARCHING.wrapping_sub(counted), Ordering::SeqCst);
        Some(worker)
    }

    /// After a push for one worker alone: `true` if it slept; it is a searcher now, and the
    /// caller unparks it.
    pub(crate) fn wake_this(&self, worker: usize) -> bool {
        // ORD idle: fence; pairs with the fence in fall_asleep.
        fence(Ordering::SeqCst);
        self.counts.load(Ordering::Relaxed) >= SLEEPING && self.remove(worker)
    }

    /// Makes a sleeper a searcher; `false` if it is not on the list.
    fn remove(&self, worker: usize) -> bool {
        let mut sleepers = lock(&self.sleepers);
        let Some(index) = sleepers.iter().rposition(|&(index, _)| index == worker) else {
            return false;
        };
        let (_, counted) = sleepers.remove(index);
        self.counts
            .fetch_add(SEARCHING.wrapping_sub(counted), Ordering::SeqCst);
        true
    }

    /// A worker ran out of work.
    pub(crate) fn start_search(&self) {
        self.counts.fetch_add(SEARCHING, Ordering::SeqCst);
    }

    /// A searcher found work, or ends its search. Pushes were left to it: it must look at all
    /// queues after this, and wake another for what it does not take itself.
    pub(crate) fn found(&self) {
        self.counts.fetch_sub(SEARCHING, Ordering::SeqCst);
        // ORD idle: fence; pairs with the fences in pushed and end_watch.
        fence(Ordering::SeqCst);
    }

    /// A searcher goes to sleep. It must look at all queues once more before it parks, and call
    /// [`stand_up`](Self::stand_up) if it finds something there or parks no longer.
    pub(crate) fn fall_asleep(&self, worker: usize) {
        self.sleep(worker, SLEEPING, SEARCHING);
    }

    /// A worker sleeps, and leaves the work of others to them. It has not searched, so no push was left to it;
    /// as in [`fall_asleep`](Self::fall_asleep) it must look once more, but only at queues of its own.
    pub(crate) fn fall_asleep_sated(&self, worker: usize) {
        self.sleep(worker, SATED, 0);
    }

    fn sleep(&self, worker: usize, counted: u64, before: u64) {
        let mut sleepers = lock(&self.sleepers);
        sleepers.push((worker, counted));
        self.counts
            .fetch_add(counted.wrapping_sub(before), Ordering::SeqCst);
        drop(sleepers);
        // ORD idle: fence; pairs with the fence in pushed.
        fence(Ordering::SeqCst);
    }

    /// A worker stops sleeping of its own accord, or because it was woken: a searcher now.
    pub(crate) fn stand_up(&self, worker: usize) {
        // Not on the list: somebody woke us, and has counted us as a searcher already.
        self.remove(worker);
    }

    /// Does anybody sleep? A hint.
    #[inline(always)]
    pub(crate) fn has_sleepers(&self) -> bool {
        self.counts.load(Ordering::Relaxed) >= SLEEPING
    }

    /// Does anybody sleep who leaves the work of others to them? A hint.
    pub(crate) fn has_sated(&self) -> bool {
        self.counts.load(Ordering::Relaxed) >= SATED
    }

    /// The sleeper that keeps watch over those who are busy, if anybody does: who has slept longest, and will be woken
    /// last.
    pub(crate) fn keeper(&self) -> Option<usize> {
        lock(&self.sleepers).first().map(|&(worker, _)| worker)
    }

    /// The sleeper that keeps watch is about to wait for its next look.
    pub(crate) fn begin_watch(&self) {
        // RELAXED: who misses it sets an alarm for nothing.
        self.watched.store(true, Ordering::Relaxed);
    }

    /// It has waited. It must ask after this whether anybody is busy, before it waits for longer.
    pub(crate) fn end_watch(&self) {
        self.watched.store(false, Ordering::Relaxed);
        // ORD idle: fence; pairs with the fence in found.
        fence(Ordering::SeqCst);
    }

    /// Asked by who has [found](Self::found) something to do: does a sleeper keep watch already? If not, one that does
    /// not know of us may sleep for long.
    pub(crate) fn is_watched(&self) -> bool {
        // Relaxed, after the fence in found.
        self.watched.load(Ordering::Relaxed)
    }

    /// Is this worker asleep, and nobody has woken it?
    pub(crate) fn is_sleeping(&self, worker: usize) -> bool {
        let sleepers = lock(&self.sleepers);
        sleepers.iter().any(|&(sleeper, _)| sleeper == worker)
    }

    /// Does every one of `workers` sleep?
    pub(crate) fn all_asleep(&self, workers: usize) -> bool {
        self.count() == (0, workers)
    }

    /// Does every one of `workers` search or sleep?
    pub(crate) fn all(&self, workers: usize) -> bool {
        let (searching, sleeping) = self.count();
        searching + sleeping == workers
    }

    /// How many of `workers` do not sleep. A hint.
    pub(crate) fn awake(&self, workers: usize) -> usize {
        let (_, sleeping) = self.count();
        workers.saturating_sub(sleeping)
    }

    /// Who searches, and who sleeps, sated or not.
    fn count(&self) -> (usize, usize) {
        let counts = self.counts.load(Ordering::SeqCst);
        let sleeping = counts % SATED / SLEEPING + counts / SATED;
        ((counts % SLEEPING) as usize, sleeping as usize)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::Idle;

    /// Those workers sleep, the last longest.
    fn asleep(workers: &[usize]) -> Idle {
        let idle = Idle::new();
        for &worker in workers {
            idle.start_search();
            idle.fall_asleep(worker);
        }
        idle
    }

    #[test]
    fn who_searches_or_sleeps_is_hungry() {
        let idle = Idle::new();
        assert!(!idle.is_hungry() && !idle.has_sleepers());
        idle.start_search();
        assert!(idle.is_hungry() && !idle.has_sleepers());
        idle.fall_asleep(0);
        assert!(idle.is_hungry() && idle.has_sleepers());
        assert!(idle.all(1) && idle.all_asleep(1));
        assert!(!idle.all(2) && !idle.all_asleep(2));
        idle.stand_up(0);
        assert!(idle.all(1) && !idle.all_asleep(1));
        idle.found();
        assert!(!idle.is_hungry());
    }

    #[test]
    fn who_is_sated_sleeps_and_is_woken_as_others_but_is_not_hungry() {
        let idle = Idle::new();
        idle.fall_asleep_sated(2);
        assert!(!idle.is_hungry() && idle.has_sleepers() && idle.has_sated());
        assert!(idle.is_sleeping(2) && idle.all(1) && idle.all_asleep(1));
        idle.start_search();
        idle.fall_asleep(3);
        assert!(idle.is_hungry() && idle.all_asleep(2) && !idle.all_asleep(1));
        assert!(idle.wake_this(3));
        assert!(idle.is_hungry() && idle.all(2) && !idle.all_asleep(2));
        idle.found();
        assert!(!idle.is_hungry());
        assert_eq!((idle.keeper(), idle.pushed()), (Some(2), Some(2)));
        assert!(idle.is_hungry() && !idle.has_sleepers() && !idle.has_sated());
        idle.found();
        // Of its own accord.
        idle.fall_asleep_sated(2);
        idle.stand_up(2);
        assert!(idle.is_hungry() && !idle.is_sleeping(2));
        idle.found();
        assert!(idle.all(0));
    }

    #[test]
    fn a_push_wakes_the_last_sleeper_unless_somebody_searches() {
        let idle = asleep(&[3, 7]);
        assert_eq!(idle.pushed(), Some(7));
        // It is left to that one, who searches now.
        assert_eq!(idle.pushed(), None);
        idle.found();
        assert_eq!(idle.pushed(), Some(3));
        idle.found();
        assert_eq!((idle.pushed(), idle.wake_one()), (None, None));
    }

    #[test]
    fn who_has_slept_longest_keeps_watch() {
        let idle = asleep(&[]);
        assert_eq!(idle.keeper(), None);
        let idle = asleep(&[3, 7, 5]);
        assert_eq!(idle.keeper(), Some(3));
        assert_eq!((idle.pushed(), idle.keeper()), (Some(5), Some(3)));
        assert!(idle.wake_this(3));
        assert_eq!(idle.keeper(), Some(7));
        idle.fall_asleep(3);
        assert_eq!(idle.keeper(), Some(7));
    }

    #[test]
    fn a_watch_lasts_while_the_keeper_waits() {
        let idle = asleep(&[3]);
        assert!(!idle.is_watched() && !idle.has_sated());
        idle.begin_watch();
        assert!(idle.is_watched());
        idle.end_watch();
        assert!(!idle.is_watched());
    }

    #[test]
    fn a_push_for_one_worker_wakes_that_one_if_it_sleeps() {
        let idle = asleep(&[3, 7]);
        assert!(!idle.wake_this(5));
        assert!(idle.wake_this(3));
        assert!(!idle.wake_this(3) && !idle.is_sleeping(3));
        assert!(idle.is_sleeping(7));
        // Nobody is left to another here, though one searches.
        assert!(idle.wake_this(7));
        assert!(!asleep(&[]).wake_this(0));
    }
}
