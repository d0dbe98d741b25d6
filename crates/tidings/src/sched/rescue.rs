//! A task that is ready does not wait for one that computes: who has nothing to do looks at the others.
//!
//! A worker's queue is its own, so what is queued behind a long poll waits for its end, unless a neighbour
//! takes it. One of those that sleep while others are busy wakes now and then, and looks whether one of them is in
//! the turn in which it was seen before; a busy one looks every so many turns (`worker.rs`). If all slept
//! when it was quiet, `watch.rs` wakes one. Long polls are noted on the way (`long.rs`).

use std::collections::VecDeque;
use std::time::Duration;

use super::brisk::{BRISK, KEEN, STUCK};
use super::inbox::Are;
use super::local::hand_over;
use super::worker::Worker;
use crate::primitive::atomic::Ordering;
use crate::primitive::lock;
use crate::task::{Task, drop_quietly, wake_quietly};
use crate::time::{self, Instant};

/// How long a thread that waits for a core may have to wait for each that is before it.
const SLICE: Duration = Duration::from_millis(4);
/// The longest time between two looks at what waits behind one poll, where the last one found nothing.
const PAUSE_MAX: Duration = Duration::from_millis(2);
/// A poll that took so long is noted.
const LONG: Duration = Duration::from_millis(1);

/// What a worker has seen of a neighbour.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watched {
    turn: u32,
    /// When it was first seen in this turn.
    since: Instant,
}

impl Default for Watched {
    fn default() -> Self {
        Self {
            turn: 0,
            since: Instant::from_nanos(0),
        }
    }
}

/// When all others together looked at what waits behind a poll: each look costs a barrier.
#[derive(Debug)]
pub(super) struct Looks {
    /// The turn.
    of: Option<u32>,
    /// Not again before.
    next: Instant,
    pause: Duration,
}

impl Default for Looks {
    fn default() -> Self {
        Self {
            of: None,
            next: Instant::from_nanos(0),
            pause: STUCK,
        }
    }
}

impl Looks {
    /// Is it time for one, by the caller? Then nobody else takes it, and where it finds nothing the next comes later.
    fn begin(&mut self, turn: u32, now: Instant, patience: Duration) -> bool {
        if self.of != Some(turn) {
            *self = Self {
                of: Some(turn),
                pause: patience,
                ..Self::default()
            };
        }
        if now < self.next {
            return false;
        }
        self.next = now.saturating_add(self.pause);
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        true
    }

    /// There was something.
    fn found(&mut self, now: Instant, patience: Duration) {
        (self.next, self.pause) = (now.saturating_add(patience), patience);
    }

    /// There will be, after so long: a timer is due there. Of many in a row some are late, by a short pause.
    fn expect(&mut self, now: Instant, after: Duration) {
        self.next = self.next.min(now.saturating_add(after.max(BRISK)));
    }
}

/// What a look at the neighbours has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rescued {
    /// There is work now.
    pub(super) work: bool,
    /// When to look again at one that stands still.
    pub(super) again: Option<Instant>,
}

/// How much longer a neighbour is left its work for others that wait for its core: where more workers are awake than
/// there are cores most that stand still are in no long poll.
fn rounds(awake: usize, cores: usize) -> Duration {
    let rounds = (awake / cores.max(1)).saturating_sub(1);
    SLICE * u32::try_from(rounds).unwrap_or(u32::MAX)
}

impl Worker {
    /// The least time from one look at what waits behind a poll to the next.
    pub(super) fn patience(&self) -> Duration {
        self.shared.brisk.patience()
    }

    /// Does a search look, too?
    pub(super) fn is_keen(&self) -> bool {
        let shared = &self.shared;
        shared.brisk.is_keen() && shared.remotes.len() <= shared.cores
    }

    /// How long a neighbour may be in one poll before its private work is taken from it.
    pub(super) fn grace(&self) -> Duration {
        let (shared, workers) = (&self.shared, self.shared.remotes.len());
        match workers <= shared.cores {
            true => self.patience(),
            false => self.patience() + rounds(shared.idle.awake(workers), shared.cores),
        }
    }

    /// Keeps watch from here on. Gives the pause before the first look, which is the least there is if this is less.
    pub(super) fn begin_watch(&self) -> Duration {
        if self.patience() == STUCK {
            // So the first two are the same: one sees who is in which turn, the other who has not ended it.
            return STUCK / 2;
        }
        let now = time::system();
        for (index, remote) in self.shared.remotes.iter().enumerate() {
            self.see(index, remote.turn.load(Ordering::Relaxed), now);
        }
        BRISK
    }

    /// A neighbour is in this turn. Gives since when it is known to be.
    fn see(&self, index: usize, turn: u32, now: Instant) -> Instant {
        let seen = &mut self.watched.borrow_mut()[index];
        if seen.turn != turn {
            *seen = Watched { turn, since: now };
        }
        seen.since
    }

    /// Takes the private work of neighbours that have been in one poll for too long.
    #[cold]
    pub(super) fn rescue(&self) -> Rescued {
        self.rescue_after(self.patience(), self.grace())
    }

    /// As `rescue`, by a search. Is there work here now?
    #[cold]
    pub(super) fn rescue_awake(&self) -> bool {
        self.rescue_after(KEEN, KEEN).work && !self.local(|local| local.is_empty())
    }

    fn rescue_after(&self, patience: Duration, grace: Duration) -> Rescued {
        let now = time::system();
        let mut rescued = Rescued::default();
        for (index, remote) in self.shared.remotes.iter().enumerate() {
            if index == self.index() {
                continue;
            }
            let turn = remote.turn.load(Ordering::Relaxed);
            let since = self.see(index, turn, now);
            let stands = now.saturating_since(since);
            if stands < grace || self.shared.idle.is_sleeping(index) {
                continue;
            }
            if stands >= LONG
                && let Some(polled) = Task::polled(remote.running.load(Ordering::Relaxed))
                // Of this turn, and not of the next.
                && remote.turn.load(Ordering::Relaxed) == turn
            {
                self.shared.long_polls.note(index, turn, since, now, polled);
            }
            let begins = lock(&remote.looks).begin(turn, now, patience);
            if begins {
                rescued.work |= self.look_behind(index, now, patience);
            }
            let next = lock(&remote.looks).next;
            rescued.again = Some(rescued.again.map_or(next, |again| again.min(next)));
        }
        // What was woken, or dropped, may have woken tasks here.
        rescued.work |= !self.local(|local| local.is_empty());
        rescued
    }

    /// Takes what waits behind the poll of a neighbour. `true`: something did.
    fn look_behind(&self, index: usize, now: Instant, patience: Duration) -> bool {
        let remote = &self.shared.remotes[index];
        let (mut new, mut tasks) = (VecDeque::new(), Vec::new());
        let mut due = self.due.take();
        let clock = Instant::now();
        let next = remote.local.revoke(|local| {
            (new, tasks) = local.take_all();
            remote.sent.take_all(|task| tasks.push(task));
            if local.timers.is_idle() {
                return None;
            }
            local.timers.refresh(clock, &mut due.0, &mut due.1);
            local.timers.next()
        });
        drop_quietly(due.1.drain(..));
        let waited = new.len() + tasks.len() + due.0.len();
        if !new.is_empty() {
            self.appetite.borrow_mut().wake();
        }
        if !new.is_empty() || !tasks.is_empty() || !remote.inbox.is_empty() {
            // To the inbox of the stuck one: we take half of it, others the rest.
            hand_over(&remote.inbox, Are::New, new.into_iter());
            self.shared.push_to(index, tasks);
        }
        // Also what was there before: who is sated has left it (`appetite.rs`).
        let found = !remote.inbox.is_empty() || !due.0.is_empty();
        let after = next.map(|next| next.saturating_since(clock));
        self.shared.brisk.looked(waited.max(found.into()), after);
        let mut looks = lock(&remote.looks);
        if found {
            looks.found(now, patience);
        }
        if let Some(after) = after {
            looks.expect(now, after);
        }
        drop(looks);
        wake_quietly(due.0.drain(..));
        self.due.replace(due);
        found
    }

    /// Does it stand still, and did somebody look what waits there?
    pub(super) fn is_rescued(&self, index: usize) -> bool {
        let remote = &self.shared.remotes[index];
        // RELAXED: as above.
        lock(&remote.looks).of == Some(remote.turn.load(Ordering::Relaxed))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::panic::Location;
    use std::sync::{Barrier, mpsc};
    use std::task::{Context, Wake, Waker};

    use super::super::appetite::Appetite;
    use super::super::brisk::FEW;
    use super::super::spawn;
    use super::super::worker::Worker;
    use super::super::worker::tests::on_both;
    use super::lock;
    use super::{BRISK, Duration, Instant, LONG, Looks, PAUSE_MAX, SLICE, STUCK, Task, Watched};
    use crate::primitive::atomic::{AtomicU32, Ordering};
    use crate::primitive::{Arc, thread};
    use crate::{Runtime, yield_now};

    #[test]
    fn a_neighbour_is_left_its_work_for_longer_the_more_workers_wait_for_a_core() {
        for (awake, cores, rounds) in [(1, 2, 0), (2, 2, 0), (3, 2, 0), (4, 2, 1), (64, 2, 31)] {
            assert_eq!(super::rounds(awake, cores), SLICE * rounds);
        }
    }

    #[test]
    fn what_stands_behind_a_long_poll_is_taken_once_and_the_poll_is_noted_when_it_is_long() {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let seen = on_both(&runtime, |worker, both| {
            if worker.index() == 0 {
                drop(spawn(async {}));
                both.wait();
                // In this poll until the other has seen enough.
                both.wait();
                return None;
            }
            both.wait();
            worker.watched.borrow_mut()[0] = Watched::default();
            let (shared, mut took) = (worker.shared(), Vec::new());
            let first = worker.rescue().work;
            while shared.remotes[0].inbox.is_empty() && !first {
                took.push(worker.rescue().work);
            }
            while shared.long_polls.all().is_empty() && !first {
                took.push(worker.rescue().work);
            }
            // Nobody is sated by a rescue. (What came before, this task too, may have been taken otherwise.)
            worker.appetite.replace(Appetite::default());
            let rescued = worker.take_from(0).map(Task::cancel);
            let start = Instant::from_nanos(0);
            let pause = worker.appetite.take().pause(start, |_| start);
            let told = took.iter().any(|took| *took);
            // Nothing waits there any more, whatever was taken.
            let again = Instant::now().saturating_add(STUCK);
            let left = (0..).map(|_| worker.rescue().work);
            let left = left
                .take_while(|_| Instant::now() <= again)
                .any(|took| took);
            both.wait();
            Some((first, rescued.is_some(), told, left, pause))
        });
        let shared = Arc::clone(&runtime.shared);
        let (first, rescued, told, left, pause) = seen.expect("one was on each worker");
        assert!(!first, "it may just have begun");
        assert_eq!((rescued, told, left), (true, true, false));
        assert_eq!(pause, Duration::ZERO);
        let polls = shared.long_polls.all();
        assert_eq!(polls[0].worker, 0);
        assert!(polls[0].took >= LONG, "{polls:?}");
    }

    #[test]
    fn the_first_task_after_a_sleep_is_not_blamed_for_the_time_of_the_sleep() {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        on_both(&runtime, |worker, _| {
            let shared = worker.shared();
            if worker.index() == 1 {
                return None::<()>;
            }
            // Until it has slept in one turn for as long as a long poll takes.
            let turn = || shared.remotes[1].turn.load(Ordering::Relaxed);
            let mut before = turn().wrapping_add(1);
            while before != turn() || !shared.idle.is_sleeping(1) {
                before = turn();
                worker.rescue();
                let slept = crate::time::system().saturating_add(LONG);
                while crate::time::system() < slept {
                    thread::yield_now();
                }
            }
            let ((begins, begun), (ends, end)) = (mpsc::channel(), mpsc::channel::<()>());
            let short = async move {
                begins.send(()).unwrap();
                end.recv().unwrap();
            };
            let (task, _handle) = Task::new(short, Arc::as_ptr(&shared), Location::caller());
            // Of its first task, if its thread was put aside meanwhile.
            let its = || {
                shared
                    .long_polls
                    .all()
                    .iter()
                    .filter(|poll| poll.worker == 1)
                    .count()
            };
            let before = its();
            shared.push_to(1, [task]);
            begun.recv().unwrap();
            worker.rescue();
            let after = its();
            ends.send(()).unwrap();
            assert_eq!(before, after);
            None
        });
    }

    #[test]
    fn who_looks_behind_a_long_poll_and_finds_nothing_wakes_nobody() {
        let runtime = Runtime::builder().workers(3).build().unwrap();
        let seen = on_both(&runtime, |worker, both| {
            let shared = worker.shared();
            let busy = |index: &usize| !shared.idle.is_sleeping(*index);
            let mut others = Vec::new();
            while others.len() != 1 {
                others = (0..3).filter(|&other| other != worker.index()).collect();
                others.retain(busy);
                thread::yield_now();
            }
            both.wait();
            if worker.index() < others[0] {
                // In this poll until the other has looked.
                both.wait();
                return None;
            }
            let (stuck, third) = (&shared.remotes[others[0]], 3 - others[0] - worker.index());
            let turn = || shared.remotes[third].turn.load(Ordering::Relaxed);
            let before = turn();
            // It may look, too: each look in vain makes the pause longer.
            while lock(&stuck.looks).pause < PAUSE_MAX {
                worker.rescue();
            }
            // Whoever was woken has had the time for a turn.
            let next = lock(&stuck.looks).next;
            while crate::time::system() < next {
                thread::yield_now();
            }
            let slept = turn() == before;
            both.wait();
            Some(slept)
        });
        assert_eq!(seen, Some(true));
    }

    #[test]
    fn of_all_who_look_one_does_and_where_nothing_is_the_next_comes_later() {
        let mut looks = Looks::default();
        let mut now = Instant::from_nanos(1);
        let mut after = |looks: &mut Looks, turn, pause: Duration| {
            assert!(looks.begin(turn, now, STUCK), "{turn}");
            let early = pause - Duration::from_nanos(1);
            assert!(!looks.begin(turn, now.saturating_add(early), STUCK));
            now = now.saturating_add(pause);
        };
        let mut pause = STUCK;
        for _ in 0..6 {
            after(&mut looks, 7, pause);
            pause = (pause * 2).min(PAUSE_MAX);
        }
        assert_eq!(pause, PAUSE_MAX);
        after(&mut looks, 8, STUCK);
        after(&mut looks, 8, STUCK * 2);
        // It found something.
        let mut now = Instant::from_nanos(u64::from(u32::MAX));
        assert!(looks.begin(8, now, STUCK));
        looks.found(now, BRISK);
        now = now.saturating_add(BRISK);
        assert!(looks.begin(8, now, STUCK));
        assert!(!looks.begin(8, now, STUCK));
        // A timer is due before the next.
        looks.expect(now, Duration::ZERO);
        looks.expect(now, STUCK);
        assert!(!looks.begin(8, now.saturating_add(BRISK / 2), STUCK));
        assert!(looks.begin(8, now.saturating_add(BRISK), STUCK));
    }

    /// Until somebody has looked behind the poll of the worker 0. Gives when it is to be looked there again.
    fn look(worker: &Worker) -> Option<Instant> {
        let next = || lock(&worker.shared().remotes[0].looks).next;
        let before = next();
        loop {
            let seen = worker.rescue();
            if next() != before {
                return seen.again;
            }
        }
    }

    #[test]
    fn who_found_a_task_or_a_few_comes_back_sooner_than_who_found_many_or_none() {
        const WAITED: [usize; 6] = [1, 0, FEW, FEW + 1, 1, 100];
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let seen = on_both(&runtime, |worker, both| {
            let mut seen = Vec::new();
            for n in WAITED {
                if worker.index() == 0 {
                    (0..n).for_each(|_| drop(spawn(async {})));
                }
                both.wait();
                if worker.index() == 1 {
                    look(worker);
                    seen.push(worker.patience());
                    while let Some(task) = worker.take_from(0) {
                        task.cancel();
                    }
                }
                both.wait();
            }
            (worker.index() == 1).then_some(seen)
        });
        let expected = WAITED.map(|n| match n {
            1..=FEW => BRISK,
            _ => STUCK,
        });
        assert_eq!(seen.unwrap(), expected);
    }

    #[test]
    fn who_looks_behind_a_long_poll_in_vain_knows_when_a_timer_is_due_there() {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let (second, hour) = (Duration::from_secs(1), Duration::from_secs(3600));
        let again = on_both(&runtime, move |worker, both| {
            if worker.index() == 0 {
                let mut timer = Box::pin(crate::after(second).into_future());
                let polled = timer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert!(polled.is_pending());
                both.wait();
                // In this poll until the other has looked.
                both.wait();
                return None;
            }
            both.wait();
            look(worker);
            // Long after the timer.
            lock(&worker.shared().remotes[0].looks).pause = hour;
            let again = look(worker);
            both.wait();
            Some(again.unwrap().saturating_since(crate::time::system()))
        });
        let left = again.expect("one was on each worker");
        assert!(left <= second, "{left:?}");
    }

    /// How often a task has yielded, or `WOKEN`.
    struct Turns(AtomicU32);
    const WOKEN: u32 = u32::MAX;
    /// More than a millisecond's.
    const ENOUGH: u32 = 1_000_000;

    impl Wake for Turns {
        fn wake(self: Arc<Self>) {
            self.0.store(WOKEN, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_timer_behind_a_long_poll_fires_though_the_other_worker_has_always_something_to_do() {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let both = Arc::new(Barrier::new(2));
        let turns = Arc::new(Turns(AtomicU32::new(0)));
        let part = || {
            let (both, turns) = (Arc::clone(&both), Arc::clone(&turns));
            runtime.spawn(async move {
                // One on each worker.
                if both.wait().is_leader() {
                    let waker = Waker::from(Arc::clone(&turns));
                    let mut timer =
                        Box::pin(crate::time::sleep(Duration::from_nanos(1)).into_future());
                    let polled = timer.as_mut().poll(&mut Context::from_waker(&waker));
                    assert!(polled.is_pending());
                    both.wait();
                    while turns.0.load(Ordering::Relaxed) < ENOUGH {
                        thread::yield_now();
                    }
                    return;
                }
                both.wait();
                for turn in 0..=ENOUGH {
                    let begun = turns.0.fetch_max(turn, Ordering::Relaxed);
                    if begun == WOKEN {
                        return;
                    }
                    yield_now().await;
                }
                panic!("nobody was woken");
            })
        };
        for part in [part(), part()] {
            runtime.block_on(part).unwrap();
        }
    }
}
