//! How a runtime ends.
//!
//! In order: 1. `closing` is set, workers end after their current poll; 2. the last worker drops the futures of all
//! tasks that are left (their handles hear `cancelled`), until none is alive; 3. inboxes are closed, later spawns are
//! cancelled at once; 4. whoever waits for a socket of its or at one of its timers is told; 5. blocking work that has not
//! started is cancelled, running work awaited.

use std::time::Duration;

use super::worker::Worker;
use super::{Runtime, Shared, current, local_tasks, panics};
use crate::primitive::atomic::{Ordering, fence};
use crate::primitive::{Arc, relax, thread};
use crate::task::{self, Task};

impl Shared {
    /// All workers have stopped: ends every task, as the worker that this thread was, if it was one.
    pub(super) fn end(shared: &Arc<Self>, worker: Option<&Worker>) {
        let end_tasks = || panics::ending(|| shared.end_tasks());
        match worker {
            Some(worker) => current::become_worker(worker, end_tasks),
            None => end_tasks(),
        }
        // From here on it is none: what wakers start finds the inboxes closed, and what they wait for is kept elsewhere.
        shared.close_sockets();
        for remote in &shared.remotes {
            let timers = remote
                .local
                .revoke(|local| std::mem::take(&mut local.timers));
            drop(timers);
        }
    }

    fn end_tasks(&self) {
        let mut step = 0;
        loop {
            self.end_queued();
            let mut alive = false;
            let mut tasks = Vec::new();
            task::each_alive(self, |aborting| {
                alive = true;
                tasks.extend(aborting.abort());
            });
            if !alive {
                break;
            }
            // Tasks that are alive and not ours to run are on their way: a waker on another
            // thread is about to push them, and refers to this runtime until it has.
            // Under a seam in the order of their starts: where a task lies is not the seam's choice.
            tasks.sort_by_key(Task::ran_on);
            tasks.into_iter().for_each(Task::cancel);
            relax(&mut step);
        }
        for remote in &self.remotes {
            remote.inbox.close();
            remote.sent.close();
        }
        // What came in before the inboxes closed.
        self.end_queued();
    }

    /// Ends what is queued, and what its futures spawn and wake as they are dropped.
    fn end_queued(&self) {
        loop {
            let mut tasks = Vec::new();
            for remote in &self.remotes {
                // The workers have stopped, so nobody is kept waiting.
                remote.local.revoke(|local| tasks.extend(local.drain()));
                remote.inbox.take_all(|task| tasks.push(task));
                remote.sent.take_all(|task| tasks.push(task));
            }
            if tasks.is_empty() {
                return;
            }
            tasks.into_iter().for_each(Task::cancel);
        }
    }

    fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        // ORD close: fence; pairs with the fence of a worker that falls asleep (idle.rs): it sees
        // `closing`, or we see the parker it has set before.
        fence(Ordering::SeqCst);
        for worker in 0..self.remotes.len() {
            self.unpark(worker);
        }
    }
}

impl Runtime {
    /// Ends the runtime as dropping it does, but waits at most `timeout`.
    ///
    /// Each task's future is dropped where it waits, and its handle hears that it was
    /// cancelled; blocking work that runs is waited for. A task in a poll that does not return
    /// is what the timeout is for, or in a drop: its thread is left behind.
    ///
    /// ```
    /// use std::time::Duration;
    /// let rt = tidings::Runtime::new().unwrap();
    /// let waits = rt.spawn(std::future::pending::<()>());
    /// rt.shutdown_timeout(Duration::from_secs(10));
    /// assert!(waits.is_finished());
    /// ```
    pub fn shutdown_timeout(mut self, timeout: Duration) {
        if self.solo.is_some() {
            // Nothing runs outside of `block_on`, blocking work neither: there is nobody to wait for.
            return;
        }
        self.shared.close();
        // Where one of its own tasks calls this, that worker goes on until it returns, and then ends all tasks.
        let own = self.is_own();
        let others = || self.shared.working.load(Ordering::Acquire) > usize::from(own);
        let start = crate::time::system();
        let left = || timeout.saturating_sub(crate::time::system().saturating_since(start));
        while others() && !left().is_zero() {
            // The workers say nothing when they end; this is no path that must be quick.
            thread::park_timeout(Duration::from_millis(1).min(left()));
        }
        self.patience = Some(if own { Duration::ZERO } else { left() });
        if others() {
            self.threads.clear();
        }
    }

    /// Is this thread one of its workers?
    fn is_own(&self) -> bool {
        let here = thread::current().id();
        let mut threads = self.threads.iter();
        threads.any(|thread| thread.thread().id() == here)
    }

    fn shut_down(&mut self) {
        self.shared.close();
        if self.is_own() {
            // Blocking work may wait for a task, which ends only when this one lets its worker go on.
            self.patience = Some(Duration::ZERO);
        }
        let mut stay = false;
        if let Some(solo) = self.solo.take() {
            let worker = solo.into_inner().unwrap_or_else(|e| e.into_inner());
            stay = worker.end();
            self.shared.running.store(0, Ordering::Release);
        }
        let here = thread::current().id();
        for thread in self.threads.drain(..) {
            // A runtime dropped by one of its own tasks: that thread ends by itself.
            if thread.thread().id() != here {
                let _ = thread.join();
            }
        }
        self.shared.blocking.shut_down(self.patience);
        local_tasks::panic_if_they_stay(stay);
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.shut_down();
    }
}
