//! Threads for work that blocks.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Shared, current};
use crate::event::waits;
use crate::primitive::{Arc, Condvar, Mutex, Parker, lock, thread};
use crate::task::Task;

/// The pool: grows by a thread whenever none is free, up to a limit; then work queues.
#[derive(Debug)]
pub(crate) struct Blocking {
    state: Mutex<State>,
    work: Condvar,
    ended: Condvar,
    limit: usize,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Task>,
    threads: usize,
    /// Those that have left, and have not stopped.
    stopping: usize,
    /// Those that were ever started.
    started: usize,
    /// Those that run a task.
    busy: Vec<thread::ThreadId>,
    /// Those of them that wait in a `block_on`, and what they wake up by; known while somebody watches for deadlocks.
    parked: Vec<(thread::ThreadId, Arc<Parker>)>,
    /// How often one has begun to wait.
    parks: u64,
    free: usize,
    closed: bool,
}

// Of four bytes or more: see `Blocking::owner`.
const _: () = assert!(align_of::<Shared>() > 2);

impl Blocking {
    /// Whose the tasks of a runtime's pool are: its own, two bytes off. They are polled once and never scheduled, and the
    /// shutdown does not look for them among the workers' tasks; but reports know whose they are.
    pub(super) fn owner(shared: *const Shared) -> *const Shared {
        shared.wrapping_byte_add(2)
    }

    pub(crate) fn new(limit: usize) -> Self {
        Self {
            state: Mutex::default(),
            work: Condvar::new(),
            ended: Condvar::new(),
            limit,
        }
    }

    /// Runs a task, polled once, on a thread of the pool. Cancels it after the shutdown.
    pub(crate) fn push(&self, shared: &Arc<Shared>, task: Task) {
        let mut state = lock(&self.state);
        if state.closed {
            drop(state);
            task.cancel();
            return;
        }
        state.queue.push_back(task);
        if state.free >= state.queue.len() {
            self.work.notify_one();
        } else if state.threads < self.limit {
            let its = Arc::clone(shared);
            let started = shared.threads.start_blocking(state.started, move || {
                current::enter(&its, None, || its.blocking.run(its.threads.keep_alive));
                its.threads.stops();
                its.blocking.stopped();
            });
            // Without a thread the work waits for one that is there. Without any it can't.
            match started {
                Ok(_) => {
                    state.threads += 1;
                    state.started += 1;
                }
                Err(error) if state.threads == 0 => {
                    let task = state.queue.pop_back();
                    drop(state);
                    task.into_iter().for_each(Task::cancel);
                    panic!("the system starts no thread for blocking work: {error}");
                }
                Err(_) => {}
            }
        }
    }

    /// `Some`: what runs waits in a `block_on` for nothing but what is on record, and not for a time, and what is
    /// queued waits for that; and how often it has begun to.
    pub(super) fn stillness(&self, shared: &Shared) -> Option<u64> {
        let (parked, parks) = {
            let state = lock(&self.state);
            let is_parked = |busy| state.parked.iter().any(|(parked, _)| parked == busy);
            let takes = !state.queue.is_empty() && state.busy.len() < state.threads;
            if takes || !state.busy.iter().all(is_parked) {
                return None;
            }
            (state.parked.clone(), state.parks)
        };
        let still = parked.iter().all(|(_, parker)| {
            // Four of the counts are ours: two of `block_on`, one of what is parked, and this one.
            let counts = Arc::strong_count(parker);
            let stuck = || shared.stuck(address(parker), counts, 4);
            !parker.is_told() && stuck().is_some_and(|waits| waits > 0)
        });
        still.then_some(parks)
    }

    /// How many tasks have not begun.
    pub(super) fn queued(&self) -> usize {
        lock(&self.state).queue.len()
    }

    /// Who waits in a `block_on`, as waits know them.
    pub(super) fn each_parked(&self, mut visit: impl FnMut(usize)) {
        let parked = lock(&self.state).parked.clone();
        parked.iter().for_each(|(_, parker)| visit(address(parker)));
    }

    fn run(&self, keep_alive: Duration) {
        let mut state = lock(&self.state);
        loop {
            if let Some(task) = state.queue.pop_front() {
                let here = thread::current().id();
                state.busy.push(here);
                drop(state);
                // Polled once: the future is the closure. A waker it made is never used.
                if let Some(again) = task.run(None, true) {
                    again.cancel();
                }
                state = lock(&self.state);
                state.busy.retain(|&busy| busy != here);
                continue;
            }
            if state.closed {
                break;
            }
            state.free += 1;
            let (back, timeout) = self
                .work
                .wait_timeout(state, keep_alive)
                .unwrap_or_else(crate::primitive::PoisonError::into_inner);
            state = back;
            state.free -= 1;
            if timeout.timed_out() && state.queue.is_empty() {
                break;
            }
        }
        state.threads -= 1;
        state.stopping += 1;
    }

    fn stopped(&self) {
        lock(&self.state).stopping -= 1;
        self.ended.notify_all();
    }

    /// A thread waits in a `block_on`: one of the pool, or not.
    fn park(&self, parker: &Arc<Parker>) {
        let here = thread::current().id();
        let is_busy = {
            let mut state = lock(&self.state);
            let is_busy = state.busy.contains(&here);
            if is_busy {
                state.parks += 1;
                state.parked.push((here, Arc::clone(parker)));
            }
            is_busy
        };
        parker.park();
        if is_busy {
            lock(&self.state)
                .parked
                .retain(|&(parked, _)| parked != here);
        }
    }

    /// Cancels what has not started; waits for what has, for at most `timeout` if given.
    pub(crate) fn shut_down(&self, timeout: Option<Duration>) {
        let mut state = lock(&self.state);
        state.closed = true;
        let queue = std::mem::take(&mut state.queue);
        drop(state);
        queue.into_iter().for_each(Task::cancel);
        self.work.notify_all();
        let state = lock(&self.state);
        // A runtime dropped by its own blocking work: that thread ends by itself.
        let here = thread::current().id();
        let running = |state: &mut State| {
            state.threads + state.stopping > usize::from(state.busy.contains(&here))
        };
        match timeout {
            Some(timeout) => drop(self.ended.wait_timeout_while(state, timeout, running)),
            None => drop(self.ended.wait_while(state, running)),
        }
    }
}

/// A parker, as waits know it by its waker.
fn address(parker: &Arc<Parker>) -> usize {
    Arc::as_ptr(parker).addr()
}

/// As `Parker::park`, in `block_on`.
pub(super) fn park(parker: &Arc<Parker>) {
    match waits::watched().then(current::shared).flatten() {
        Some(shared) => shared.blocking.park(parker),
        None => parker.park(),
    }
}
