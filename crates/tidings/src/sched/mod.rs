//! The work-stealing scheduler: who runs next.
//!
//! | file | what |
//! |---|---|
//! | `solo.rs` | one thread under a seam: the reference, read this first |
//! | `worker.rs` | the loop of a worker: run, share, search, sleep |
//! | `local.rs` | a worker's private queues |
//! | `inbox.rs` | a worker's public queue |
//! | `idle.rs` | who sleeps, and how they are woken |
//! | `seam.rs` | the door through which a simulator decides |
//! | `rescue.rs` | what waits behind a long poll is taken by a neighbour |
//! | `watch.rs` | the alarm that keeps somebody awake while a worker works |
//! | `deadlock.rs` | who waits for what when nothing can happen any more |
//! | `long.rs` | polls that take long |
//! | `record.rs`, `rings.rs` | the flight recorder: the last communications |
//! | `books.rs` | how many values went which way, for a simulation |
//! | `builder.rs` | [`Builder`]: the settings of a runtime, and its start |
//! | `runtime.rs` | [`Runtime`], [`Handle`]: what its threads share, and its end |
//! | `blocking.rs` | threads for work that blocks |
//! | `foreign.rs` | the runtime of tokio's that they are all inside of, if asked for |
//! | `sockets.rs` | workers wait in the poller of sockets; `no_sockets.rs` where there is none |
//! | `current.rs` | which worker this thread is |
//!
//! A task moves: spawned or woken on a worker it enters that worker's private queues; from
//! anywhere else it enters an inbox. Workers run their private queues, then their inbox, then
//! take half of a neighbour's inbox. A wake costs no lock on a worker, one elsewhere.

mod blocking;
pub(crate) mod books;
mod builder;
mod current;
mod deadlock;
mod foreign;
mod idle;
mod inbox;
mod local;
mod long;
pub(crate) mod record;
mod rescue;
mod rings;
mod runtime;
mod seam;
#[cfg(all(feature = "net", unix, not(any(loom, shuttle))))]
mod sockets;
#[cfg(not(all(feature = "net", unix, not(any(loom, shuttle)))))]
#[path = "no_sockets.rs"]
mod sockets;
mod solo;
mod watch;
mod worker;

use std::future::Future;
use std::panic::Location;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

pub use books::{Ledger, keep_books, ledger};
pub use builder::Builder;
pub use deadlock::waits;
#[cfg(all(test, loom))]
pub(crate) use idle::Idle;
#[cfg(all(test, loom))]
pub(crate) use inbox::Inbox;
pub use long::LongPoll;
pub use record::{Communication, Happened, Party};
pub use runtime::{Handle, Runtime};
pub(crate) use runtime::{Remote, Shared};
pub use seam::{Choice, Seam, Seeded, buggify, incarnation, random};

use crate::primitive::{Arc, Me, Parker};
use crate::task::{Home, JoinHandle, Task, here};
use crate::time::Timers;

/// Starts a task on the runtime of this thread; it runs whether or not the handle is awaited.
///
/// Its first poll comes soon, not at once. Dropping the handle detaches the task;
/// [`abort`](JoinHandle::abort) drops the future. A panic ends the task alone: its handle tells.
///
/// # Panics
/// Outside of a runtime: on a thread that is no worker and not inside a `block_on`.
///
/// ```
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let task = tidings::spawn(async { 6 * 7 });
/// assert_eq!(task.await.unwrap(), 42);
/// # });
/// ```
#[inline]
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let at = Location::caller();
    here::note(here::GAVE);
    let Some(worker) = current::worker() else {
        return Shared::spawn(&here("spawn"), future, at);
    };
    let (task, handle) = Task::new(future, worker.shared_ptr(), at);
    worker.push_spawned(task);
    handle
}

/// Runs a closure that blocks on a thread made for that.
///
/// The pool grows up to its limit ([`Builder::blocking_threads`], 512 by default), then work
/// queues. Aborting works until the closure has started.
///
/// # Panics
/// Outside of a runtime.
///
/// ```
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let text = tidings::spawn_blocking(|| std::fs::read_to_string("/dev/null")).await.unwrap();
/// assert_eq!(text.unwrap(), "");
/// # });
/// ```
#[track_caller]
pub fn spawn_blocking<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Shared::spawn_blocking(&here("spawn_blocking"), f, Location::caller())
}

#[track_caller]
fn here(what: &str) -> Arc<Shared> {
    current::shared().unwrap_or_else(|| {
        panic!("tidings::{what} needs a runtime: call it in a task, or inside Runtime::block_on")
    })
}

/// Has a task of `shared` woken, by `wake`, which knows as whom; queues it if it was idle.
#[inline(always)]
pub(crate) fn schedule(shared: *const Shared, wake: impl FnOnce(Option<Home<'_>>) -> Option<Task>) {
    let worker = current::worker().filter(|worker| worker.runs_for(shared));
    if let Some(task) = wake(worker.map(worker::Worker::home)) {
        match worker {
            Some(worker) => worker.push_woken(task),
            None => schedule_outside(task),
        }
    }
}

#[cold]
fn schedule_outside(task: Task) {
    // SAFETY: the task is alive and we have its run right, so its runtime waits for us before
    // it ends; our own count keeps it from then on.
    let shared = unsafe {
        let shared = task.shared();
        Arc::increment_strong_count(shared);
        Arc::from_raw(shared)
    };
    shared.inject(task);
}

/// Panics on a worker.
#[track_caller]
fn assert_may_wait() {
    assert!(
        current::worker().is_none(),
        "a worker of a tidings runtime must not wait for a thread's sake: await instead"
    );
}

/// Runs a future on this thread, which waits; timers and channels of ours work in it.
///
/// # Panics
/// On a worker, which must not wait.
#[track_caller]
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    assert_may_wait();
    let parker = Arc::new(Parker::current());
    let waker = Waker::from(Arc::clone(&parker));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        parker.park();
    }
}

/// Who runs on this thread.
pub(crate) fn running() -> Party {
    let worker = current::worker();
    record::of(worker.map_or(std::ptr::null_mut(), worker::Worker::running))
}

/// Counts one operation of the running poll. `false`: enough for now, yield.
#[inline(always)]
pub(crate) fn spend_budget() -> bool {
    current::worker().is_none_or(|worker| worker.spend() || worker.goes_on())
}

/// As `spend_budget`, for what is tried anew at every poll: a seam is not asked, who could otherwise
/// say at every poll that the last of several is to wait.
#[cfg(all(feature = "net", unix, not(any(loom, shuttle))))]
#[inline(always)]
pub(crate) fn spend_polled() -> bool {
    current::worker().is_none_or(|worker| worker.spend() || worker.is_asking())
}

/// Which of `n` branches is tried first.
#[inline(always)]
pub(crate) fn choose_branch(n: usize) -> usize {
    match current::worker() {
        Some(worker) => worker.choose(Choice::Branch, n),
        None => current::random_below(n),
    }
}

/// A random number below `n`, which is at most 2^32.
pub(crate) fn random_below(n: usize) -> usize {
    match current::worker() {
        Some(worker) => worker.choose(Choice::Random, n),
        None => current::random_below(n),
    }
}

/// The runtime of this thread, for the sockets that are made on it.
#[cfg(all(feature = "net", unix, not(any(loom, shuttle))))]
#[track_caller]
pub(crate) fn runtime() -> Arc<Shared> {
    here("net")
}

/// Is this thread inside of a runtime, where it can spawn?
pub(crate) fn is_inside() -> bool {
    current::shared().is_some()
}

/// Workers, live tasks and long polls of this thread's runtime.
pub(crate) fn inspect() -> (usize, usize, Vec<LongPoll>) {
    let Some(shared) = current::shared() else {
        return (0, 0, Vec::new());
    };
    let mut tasks = 0;
    crate::task::each_alive(&*shared, |_| tasks += 1);
    (shared.remotes.len(), tasks, shared.long_polls.all())
}

/// The time, if this thread's runtime has a seam.
pub(crate) fn seam_now() -> Option<Duration> {
    current::worker().and_then(worker::Worker::seam_now)
}

/// Runs `inside` on the timers of this thread's worker, `outside` where there is none.
#[inline(always)]
pub(crate) fn with_timers<A, R>(
    argument: A,
    inside: impl FnOnce(&mut Timers, A) -> R,
    outside: impl FnOnce(A) -> R,
) -> R {
    match current::worker() {
        Some(worker) => worker.local(|local| inside(&mut local.timers, argument)),
        None => outside(argument),
    }
}

/// As whom this thread locks a channel: as its worker, or as anybody.
#[inline(always)]
pub(crate) fn me() -> Me {
    current::worker().map_or(Me::ANYBODY, worker::Worker::me)
}

/// A lock of a channel was found taken by another thread: a sign that tasks which talk to each
/// other run on different workers.
#[cold]
pub(crate) fn contended(holder: u8) {
    if let Some(worker) = current::worker() {
        worker.contended(holder);
    }
}

/// A task of this thread's runtime has panicked, which was started here.
#[cold]
pub(crate) fn task_panicked(started: &'static Location<'static>) {
    if crate::event::waits::noted() {
        record::task_panicked(started);
    }
}
