//! `sched/idle.rs`: a push is taken by somebody who is awake, or somebody is woken for it.
//!
//! The workers here do what `sched/worker.rs` does when it runs out of work. A worker that has
//! taken a task counts as busy for ever (a long poll), so a push that was left to it, or a
//! sleeper that nobody wakes, shows as loom's deadlock.

use std::sync::{Arc, OnceLock};

use super::{explore, fork};
use crate::primitive::Parker;
use crate::primitive::atomic::{AtomicUsize, Ordering};
use crate::sched::Idle;

struct Pool {
    idle: Idle,
    /// One word for each pusher: the length of an inbox, as relaxed as the inbox's.
    inboxes: [AtomicUsize; 2],
    parkers: [OnceLock<Parker>; 2],
}

impl Pool {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            idle: Idle::new(),
            inboxes: [AtomicUsize::new(0), AtomicUsize::new(0)],
            parkers: Default::default(),
        })
    }

    fn notify(&self) {
        if let Some(sleeper) = self.idle.pushed() {
            self.parkers[sleeper]
                .get()
                .expect("a sleeper has its parker")
                .unpark();
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
            self.parkers[worker]
                .get()
                .expect("a sleeper has its parker")
                .unpark();
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
        let found = self.steal().or_else(|| {
            self.sleep(index);
            self.steal()
        });
        self.idle.found();
        if self.has_work() {
            super::note("handed over");
            self.notify();
        }
        found
    }

    /// As `Worker::sleep`.
    fn sleep(&self, index: usize) {
        let parker = self.parkers[index].get_or_init(Parker::current);
        self.idle.fall_asleep(index);
        loop {
            if self.has_work() {
                super::note("saw the push before it slept");
                break;
            }
            parker.park();
            if !self.idle.is_sleeping(index) {
                super::note("woken");
                break;
            }
        }
        self.idle.stand_up(index);
    }

    /// Works until it has taken `n` tasks.
    fn work(&self, index: usize, n: usize) {
        let mut taken = 0;
        while taken < n {
            taken += usize::from(self.idle(index).is_some());
        }
    }
}

#[test]
fn a_push_wakes_a_worker_that_falls_asleep() {
    const OUTCOMES: &[&str] = &[
        "woken",
        "saw the push before it slept",
        "nobody needs to be woken",
    ];
    explore("idle", OUTCOMES, || {
        let pool = Pool::new();
        let worker = Arc::clone(&pool);
        let worker = fork(move || worker.work(0, 1));
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
        let pool = Pool::new();
        let worker = Arc::clone(&pool);
        let worker = fork(move || worker.work(0, 1));
        pool.push_for(0);
        worker.join().unwrap();
        assert!(pool.idle.all(0), "nobody searches or sleeps");
    });
}
