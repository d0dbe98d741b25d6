//! Threads for work that blocks.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Shared, current};
use crate::primitive::{Arc, Condvar, Mutex, lock, thread};
use crate::task::Task;

/// A thread without work ends after this.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

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
    /// Those that run a task.
    busy: Vec<thread::ThreadId>,
    free: usize,
    closed: bool,
}

impl Blocking {
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
            let shared = Arc::clone(shared);
            let name = format!("tidings-blocking-{}", state.threads);
            let started = thread::Builder::new().name(name).spawn(move || {
                current::enter(&shared, None, || shared.blocking.run());
            });
            // Without a thread the work waits for one that is there. Without any it can't.
            match started {
                Ok(_) => state.threads += 1,
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

    /// Nothing runs, and nothing is queued.
    pub(crate) fn is_quiet(&self) -> bool {
        let state = lock(&self.state);
        state.queue.is_empty() && state.busy.is_empty()
    }

    fn run(&self) {
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
                .wait_timeout(state, KEEP_ALIVE)
                .unwrap_or_else(crate::primitive::PoisonError::into_inner);
            state = back;
            state.free -= 1;
            if timeout.timed_out() && state.queue.is_empty() {
                break;
            }
        }
        state.threads -= 1;
        self.ended.notify_all();
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
        let running = |state: &mut State| state.threads > usize::from(state.busy.contains(&here));
        match timeout {
            Some(timeout) => drop(self.ended.wait_timeout_while(state, timeout, running)),
            None => drop(self.ended.wait_while(state, running)),
        }
    }
}
