//! `sched/idle.rs`: a push is taken by somebody who is awake, or somebody is woken for it.
//!
//! The workers here do what `sched/search.rs` does when it runs out of work. A worker that has
//! taken a task counts as busy for ever (a long poll), so a push that was left to it, or a
//! sleeper that nobody wakes, shows as loom's deadlock.
//!
//! With sockets (`sched/sockets.rs`) one of them sleeps in the poller. There, workers end together:
//! that an edge is heard though the one who left the poller is in a long poll is the matter of the
//! alarm (`sched/watch.rs`), which has a clock and no model.

use std::sync::{Arc, OnceLock};

use loom::sync::Mutex;

use super::{Poller, explore, fork};
use crate::primitive::Parker;
use crate::primitive::atomic::{AtomicUsize, Ordering};
use crate::sched::Idle;

struct Pool {
    idle: Idle,
    /// One word for each pusher: the length of an inbox, as relaxed as the inbox's.
    inboxes: [AtomicUsize; 2],
    parkers: [OnceLock<Parker>; 2],
    /// Who is in the poller holds the lock.
    sockets: Option<(Mutex<()>, Poller)>,
    /// Tasks and edges that were taken, and how many end it all.
    taken: AtomicUsize,
    all: usize,
}

/// What a worker finds in the poller.
const EDGE: usize = 2;

impl Pool {
    fn new() -> Arc<Self> {
        Self::with(None, usize::MAX)
    }

    /// With a poller; the workers end when they have taken `all`.
    fn with_sockets(all: usize) -> Arc<Self> {
        Self::with(Some((Mutex::new(()), Poller::new())), all)
    }

    fn with(sockets: Option<(Mutex<()>, Poller)>, all: usize) -> Arc<Self> {
        Arc::new(Self {
            idle: Idle::new(),
            inboxes: [AtomicUsize::new(0), AtomicUsize::new(0)],
            parkers: Default::default(),
            sockets,
            taken: AtomicUsize::new(0),
            all,
        })
    }

    /// As `Shared::unpark`.
    fn unpark(&self, sleeper: usize) {
        let parker = self.parkers[sleeper].get();
        if parker.expect("a sleeper has its parker").unpark()
            && let Some((_, poller)) = &self.sockets
        {
            super::note("woken in the poller");
            poller.wake();
        }
    }

    fn notify(&self) {
        if let Some(sleeper) = self.idle.pushed() {
            self.unpark(sleeper);
        } else {
            super::note("nobody needs to be woken");
        }
    }

    fn push(&self, inbox: usize) {
        self.inboxes[inbox].store(1, Ordering::Relaxed);
        self.notify();
    }

    /// As `Shared::send_to`: for one worker alone.
    fn push_for(&self, worker: usize) {
        self.inboxes[worker].store(1, Ordering::Relaxed);
        if self.idle.wake_this(worker) {
            self.unpark(worker);
        } else {
            super::note("nobody needs to be woken");
        }
    }

    fn has_work(&self) -> bool {
        self.inboxes
            .iter()
            .any(|inbox| inbox.load(Ordering::Relaxed) != 0)
    }

    fn steal(&self) -> Option<usize> {
        self.inboxes.iter().position(|inbox| {
            inbox.load(Ordering::Relaxed) != 0 && inbox.swap(0, Ordering::Acquire) != 0
        })
    }

    /// As `Worker::idle`: gives what it found.
    fn idle(&self, index: usize) -> Option<usize> {
        self.idle.start_search();
        let found = self.steal().or_else(|| self.look()).or_else(|| {
            let heard = self.sleep(index);
            heard.then_some(EDGE).or_else(|| self.steal())
        });
        self.idle.found();
        if self.has_work() {
            super::note("handed over");
            self.notify();
        }
        found
    }

    /// As `Worker::look_at_sockets`.
    fn look(&self) -> Option<usize> {
        let (turn, poller) = self.sockets.as_ref()?;
        let _turn = turn.try_lock().ok()?;
        poller.poll(false).then_some(EDGE)
    }

    /// As `Worker::idle`, of one that is sated: it has not searched, and takes no more than its own.
    fn idle_sated(&self, index: usize) -> Option<usize> {
        self.sleep_as(index, true);
        let found = self.steal();
        self.idle.found();
        found
    }

    fn sleep(&self, index: usize) -> bool {
        self.sleep_as(index, false)
    }

    /// As `Worker::sleep`. `true`: it has heard of an edge.
    fn sleep_as(&self, index: usize, sated: bool) -> bool {
        let parker = self.parkers[index].get_or_init(Parker::current);
        let mut heard = false;
        if sated {
            self.idle.fall_asleep_sated(index);
        } else {
            self.idle.fall_asleep(index);
        }
        loop {
            let work = match sated {
                true => self.inboxes[index].load(Ordering::Relaxed) != 0,
                false => self.has_work(),
            };
            if work || self.taken.load(Ordering::Relaxed) == self.all {
                super::note("saw the push before it slept");
                break;
            }
            heard = self.rest(parker);
            if heard || !self.idle.is_sleeping(index) {
                super::note(if heard { "heard of an edge" } else { "woken" });
                break;
            }
        }
        self.idle.stand_up(index);
        heard
    }

    /// As `Worker::rest`.
    fn rest(&self, parker: &Parker) -> bool {
        let entered = self.sockets.as_ref().and_then(|(turn, poller)| {
            let turn = turn.try_lock().ok()?;
            Some((turn, poller))
        });
        let Some((turn, poller)) = entered else {
            parker.park();
            return false;
        };
        if !parker.leave() {
            return false;
        }
        let heard = poller.poll(true);
        drop(turn);
        parker.come_back();
        heard
    }

    /// Works until all is taken; who takes the last wakes the others, as the end of a runtime does.
    fn work_with(&self, index: usize, other: usize) {
        while self.taken.load(Ordering::Relaxed) < self.all {
            if self.idle(index).is_some()
                && self.taken.fetch_add(1, Ordering::SeqCst) + 1 == self.all
            {
                // Otherwise it takes the list's lock after us, and looks.
                if self.idle.is_sleeping(other) {
                    self.unpark(other);
                }
            }
        }
    }

    /// Works until it has taken `n` tasks.
    fn work(&self, index: usize, n: usize) {
        let mut taken = 0;
        while taken < n {
            taken += usize::from(self.idle(index).is_some());
        }
    }
}

/// One worker, who takes `all`, beside the thread that does `push`.
fn one_worker(pool: Arc<Pool>, all: usize, push: impl FnOnce(&Pool)) {
    let worker = Arc::clone(&pool);
    let worker = fork(move || worker.work(0, all));
    push(&pool);
    worker.join().unwrap();
    assert!(pool.idle.all(0), "nobody searches or sleeps");
}

#[test]
fn a_push_wakes_a_worker_that_falls_asleep() {
    const OUTCOMES: &[&str] = &[
        "woken",
        "saw the push before it slept",
        "nobody needs to be woken",
    ];
    explore("idle", OUTCOMES, || {
        one_worker(Pool::new(), 1, |pool| pool.push(0));
    });
}

/// Its own inbox: those of others it leaves to them, for a time that no model has.
#[test]
fn a_push_wakes_a_worker_that_is_sated() {
    const OUTCOMES: &[&str] = &[
        "woken",
        "saw the push before it slept",
        "nobody needs to be woken",
    ];
    explore("idle/sated", OUTCOMES, || {
        let pool = Pool::new();
        let worker = Arc::clone(&pool);
        let worker = fork(move || while worker.idle_sated(0).is_none() {});
        pool.push(0);
        worker.join().unwrap();
        assert!(pool.idle.all(0), "nobody searches or sleeps");
    });
}

#[test]
fn two_pushers_and_one_sleeper_leave_nothing_behind() {
    const OUTCOMES: &[&str] = &[
        "woken",
        "saw the push before it slept",
        "nobody needs to be woken",
    ];
    explore("idle/two pushers", OUTCOMES, || {
        let pool = Pool::new();
        let worker = Arc::clone(&pool);
        let worker = fork(move || worker.work(0, 2));
        let pusher = Arc::clone(&pool);
        let pusher = fork(move || pusher.push(1));
        pool.push(0);
        worker.join().unwrap();
        pusher.join().unwrap();
        assert!(pool.idle.all(0), "nobody searches or sleeps");
    });
}

#[test]
fn two_pushes_get_two_workers() {
    const OUTCOMES: &[&str] = &["woken", "saw the push before it slept", "handed over"];
    explore("idle/two sleepers", OUTCOMES, || {
        let pool = Pool::new();
        let workers = [0, 1].map(|index| {
            let worker = Arc::clone(&pool);
            fork(move || worker.work(index, 1))
        });
        pool.push(0);
        pool.push(1);
        workers
            .into_iter()
            .for_each(|worker| worker.join().unwrap());
        assert!(pool.idle.all(0), "nobody searches or sleeps");
    });
}

#[test]
fn a_push_for_one_worker_wakes_it() {
    const OUTCOMES: &[&str] = &[
        "woken",
        "saw the push before it slept",
        "nobody needs to be woken",
    ];
    explore("idle/for one", OUTCOMES, || {
        one_worker(Pool::new(), 1, |pool| pool.push_for(0));
    });
}

#[test]
fn a_push_wakes_a_worker_that_sleeps_in_the_poller() {
    const OUTCOMES: &[&str] = &[
        "woken in the poller",
        "saw the push before it slept",
        "nobody needs to be woken",
    ];
    explore("idle/poller", OUTCOMES, || {
        one_worker(Pool::with_sockets(usize::MAX), 1, |pool| pool.push(0));
    });
}

#[test]
fn a_push_and_an_edge_are_both_taken() {
    const OUTCOMES: &[&str] = &["woken in the poller", "heard of an edge"];
    explore("idle/edge", OUTCOMES, || {
        one_worker(Pool::with_sockets(usize::MAX), 2, |pool| {
            if let Some((_, poller)) = &pool.sockets {
                poller.edge();
            }
            pool.push(0);
        });
    });
}

/// One is in the poller, or nobody is and all are awake.
#[test]
fn of_two_workers_one_hears_of_an_edge() {
    const OUTCOMES: &[&str] = &["heard of an edge", "woken", "woken in the poller"];
    explore("idle/two and an edge", OUTCOMES, || {
        let pool = Pool::with_sockets(2);
        let workers = [0, 1].map(|index| {
            let worker = Arc::clone(&pool);
            fork(move || worker.work_with(index, 1 - index))
        });
        pool.push(0);
        if let Some((_, poller)) = &pool.sockets {
            poller.edge();
        }
        workers
            .into_iter()
            .for_each(|worker| worker.join().unwrap());
        assert!(pool.idle.all(0), "nobody searches or sleeps");
    });
}

/// Who keeps watch has waited just as another has something to do: it sees that, or the other sets an alarm.
#[test]
fn who_is_busy_is_watched_or_sets_an_alarm() {
    const OUTCOMES: &[&str] = &["an alarm", "goes on watching"];
    explore("idle/watch", OUTCOMES, || {
        let pool = Pool::new();
        pool.idle.start_search();
        pool.idle.start_search();
        pool.idle.fall_asleep(1);
        pool.idle.begin_watch();
        let keeper = Arc::clone(&pool);
        let keeper = fork(move || {
            keeper.idle.end_watch();
            !keeper.idle.all(2)
        });
        pool.idle.found();
        let alarm = !pool.idle.is_watched();
        let watches = keeper.join().unwrap();
        assert!(alarm || watches, "nobody looks");
        super::note(if alarm {
            "an alarm"
        } else {
            "goes on watching"
        });
    });
}
