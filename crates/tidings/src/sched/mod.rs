//! Runtimes: how one is made, what it runs, and how it ends.
//!
//! A [`Runtime`] has a worker thread for each core, or as many as its [`Builder`] says;
//! [`block_on`](Runtime::block_on) runs a future on the thread that calls it. `#[tidings::main]` stands for the two.
//! A [`Handle`] starts tasks from any thread.
//!
//! - **Who runs next.** A task that is spawned or woken on a worker runs there soon; a worker that has nothing to do
//!   takes from others. In which order tasks run is not promised. What waits behind a poll that takes long
//!   is taken by another worker ([`LongPoll`] says who held one up).
//! - **The end.** Dropping a runtime drops all its tasks, and waits for blocking work that has begun;
//!   [`shutdown_timeout`](Runtime::shutdown_timeout) waits no longer than it is told.
//! - **What goes wrong.** [`Builder::watch_deadlocks`] reports who waits for what when nothing can happen any more,
//!   [`Builder::watch_panics`] the panics that nobody hears of; [`Builder::flight_recorder`] keeps the last
//!   communications. [`inspect`](fn@crate::inspect) and [`Handle::who_waits`] look at a program that runs.
//! - **Replay.** A [`Seam`] makes every choice of the scheduler, and has its clock: the crate `tidings-sim` is one.
//!
//! ```
//! use tidings::sched::Runtime;
//! let rt = Runtime::builder().workers(2).name("mine").build().unwrap();
//! let answer = rt.block_on(async { tidings::spawn(async { 42 }).await.unwrap() });
//! assert_eq!(answer, 42);
//! ```

// | file | what |
// |---|---|
// | `solo.rs` | one thread under a seam: the reference, read this first |
// | `worker.rs` | the loop of a worker: run, share |
// | `search.rs` | a worker without work: search, sleep |
// | `local.rs` | a worker's private queues |
// | `root.rs` | a call of `block_on`, beside the workers |
// | `local_tasks.rs` | `spawn_local`: tasks that stay on the thread of a `block_on` |
// | `inbox.rs` | a worker's public queue |
// | `idle.rs` | who sleeps, and how they are woken |
// | `appetite.rs` | how eager a worker without work is for that of others |
// | `linger.rs` | a worker that waits for sockets looks at them before it sleeps |
// | `pace.rs` | how long a worker will have to do with what comes from outside |
// | `seam.rs` | the door through which a simulator decides |
// | `brisk.rs` | how soon somebody looks there again |
// | `rescue.rs` | what waits behind a long poll is taken by a neighbour |
// | `watch.rs` | the alarm that keeps somebody awake while a worker works |
// | `deadlock.rs` | who waits for what when nothing can happen any more |
// | `long.rs` | polls that take long |
// | `living.rs` | a list of what others own, which keeps none of it alive |
// | `record.rs`, `rings.rs` | the flight recorder: the last communications |
// | `panics.rs` | panics that nobody has heard of, for tests |
// | `books.rs` | how many values went which way, for a simulation |
// | `builder.rs` | `Builder`: the settings of a runtime, and its start |
// | `runtime.rs`, `end.rs` | `Runtime`, `Handle`: what its threads share, and its end |
// | `blocking.rs` | threads for work that blocks |
// | `threads.rs` | the threads of a runtime: names, stacks, hooks |
// | `foreign.rs` | the runtime of tokio's that they are all inside of, if asked for |
// | `sockets.rs` | workers wait in the poller of sockets; `no_sockets.rs` where there is none |
// | `current.rs` | which worker this thread is |
//
// A task moves: spawned or woken on a worker it enters that worker's private queues; from anywhere else it enters an
// inbox. Workers run their private queues, then their inbox, then take half of a neighbour's inbox. A wake costs no
// lock on a worker, one elsewhere.

mod appetite;
mod blocking;
pub(crate) mod books;
mod brisk;
mod builder;
mod current;
mod deadlock;
mod end;
mod foreign;
mod idle;
mod inbox;
#[cfg(all(feature = "net", any(unix, windows), not(any(loom, shuttle))))]
mod linger;
mod living;
mod local;
mod local_tasks;
mod long;
mod pace;
pub(crate) mod panics;
pub(crate) mod record;
mod rescue;
mod rings;
mod root;
mod runtime;
mod seam;
mod search;
#[cfg(all(feature = "net", any(unix, windows), not(any(loom, shuttle))))]
mod sockets;
#[cfg(not(all(feature = "net", any(unix, windows), not(any(loom, shuttle)))))]
#[path = "no_sockets.rs"]
mod sockets;
mod solo;
mod threads;
mod watch;
mod worker;

use std::future::Future;
use std::panic::Location;
use std::task::{Context, Waker};
use std::time::Duration;

pub use books::{Ledger, keep_books, ledger};
pub use builder::Builder;
pub use current::EnterGuard;
pub use deadlock::{TaskView, waits};
#[cfg(all(test, loom))]
pub(crate) use idle::Idle;
#[cfg(all(test, loom))]
pub(crate) use inbox::Inbox;
pub(crate) use local_tasks::LocalTasks;
pub use local_tasks::spawn_local;
pub use long::LongPoll;
pub use panics::UnheardPanics;
pub use record::{Communication, Happened, Party};
pub use runtime::{Handle, Runtime};
pub(crate) use runtime::{Remote, Shared};
pub use seam::{Choice, Seam, Seeded, buggify, incarnation, random};

use crate::primitive::{Arc, Met, Parker};
use crate::task::{Header, Home, JoinHandle, Task, here};
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
    let worker = current::worker();
    // Not by `map_or_else`: its own line would be that of the panic.
    let shared = match worker {
        Some(worker) => worker.shared_ptr(),
        None => outside(),
    };
    let (task, handle) = Task::new(future, shared, at);
    match worker {
        Some(worker) => worker.push_spawned(task),
        None => push_outside(task),
    }
    handle
}

/// The join handle of a new task goes, which the worker of this thread has queued last, and still has. `false`: it is
/// not so, and the handle is still there.
#[inline(always)]
pub(crate) fn forgoes_new(task: &Header) -> bool {
    current::worker().is_some_and(|worker| worker.forgoes_new(task))
}

/// The runtime of this thread, which is no worker, but in a `block_on`, which keeps the runtime.
#[cold]
#[track_caller]
fn outside() -> *const Shared {
    Arc::as_ptr(&entered("spawn"))
}

/// Queues a task that was made for the runtime that `outside` has given.
#[cold]
fn push_outside(task: Task) {
    entered("spawn").inject(task);
}

/// Runs a closure that blocks on a thread made for that.
///
/// The pool grows up to its limit ([`Builder::blocking_threads`], 512 by default), then work
/// queues. Aborting works until the closure has started. Under a [seam](Builder::seam) the closure
/// is one more task.
///
/// # Panics
/// Outside of a runtime. If there is no such thread yet, and the system starts none.
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
    start_blocking(async move { f() })
}

/// As [`spawn_blocking`], of a future that is ready when it was polled once.
#[track_caller]
pub(crate) fn start_blocking<F>(work: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Shared::start_blocking(&entered("spawn_blocking"), work, Location::caller())
}

/// The runtime of this thread, for `what` needs one.
#[track_caller]
fn entered(what: &str) -> Arc<Shared> {
    // Not in a closure, whose panic would be here, and not where this is called.
    match current::shared() {
        Some(shared) => shared,
        None => panic!(
            "tidings::{what} needs a runtime: call it in a task, inside Runtime::block_on, or on a thread that has \
             entered one (Handle::enter), such as one of another runtime's"
        ),
    }
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

/// Queues a task that was woken with its own runtime, which is not that of this thread's worker.
#[cold]
pub(crate) fn schedule_outside(task: Task) {
    if LocalTasks::owns(task.shared()) {
        return LocalTasks::wake(task);
    }
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
/// On a worker, which must not wait, and inside of a runtime's `block_on`, whose local tasks would.
#[track_caller]
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    assert_may_wait();
    assert!(
        !current::is_in_block_on(),
        "inside of a block_on its local tasks must not wait for the thread's sake: await instead"
    );
    root::erased(future, |mut main| {
        let parker = Arc::new(Parker::current());
        let waker = Waker::from(Arc::clone(&parker));
        let mut context = Context::from_waker(&waker);
        while main.poll(&mut context).is_pending() {
            blocking::park(&parker);
        }
    })
}

/// Runs `poll` as one by an executor that is not ours, which has its thread back after as many operations as
/// a worker has.
pub(crate) fn as_guest<R>(poll: impl FnOnce() -> R) -> R {
    current::poll_as_guest(builder::BUDGET, poll)
}

/// Who runs on this thread.
pub(crate) fn running() -> Party {
    let worker = current::worker();
    record::of(worker.map_or_else(current::polled, worker::Worker::running))
}

/// Counts one operation of the running poll. `false`: enough for now, yield.
#[inline(always)]
pub(crate) fn spend_budget() -> bool {
    here::spend() || goes_on()
}

/// The budget is spent.
#[cold]
fn goes_on() -> bool {
    match current::worker() {
        Some(worker) => worker.goes_on(),
        None => current::goes_on(),
    }
}

/// As `spend_budget`, where a seam would decide, or others are to go first: `false`, and nothing is spent.
#[inline(always)]
pub(crate) fn spend_quickly() -> bool {
    here::spend() || {
        here::unspend();
        current::worker().is_none() && current::is_endless()
    }
}

/// As `spend_budget`, for what is tried anew at every poll: a seam is not asked, who could otherwise
/// say at every poll that the last of several is to wait.
#[cfg(all(feature = "net", any(unix, windows), not(any(loom, shuttle))))]
#[inline(always)]
pub(crate) fn spend_polled() -> bool {
    here::spend()
        || match current::worker() {
            Some(worker) => worker.goes_on_unasked(),
            None => current::goes_on(),
        }
}

/// In which of `n` orders the branches of a choice are tried.
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
#[cfg(all(feature = "net", any(unix, windows), not(any(loom, shuttle))))]
#[track_caller]
pub(crate) fn runtime() -> Arc<Shared> {
    entered("net")
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
    (
        shared.remotes.len(),
        shared.count_tasks(),
        shared.long_polls.all(),
    )
}

/// The tasks of this thread's runtime that have names.
pub(crate) fn named_tasks() -> Vec<TaskView> {
    let shared = current::shared();
    shared.map_or_else(Vec::new, |shared| deadlock::named_tasks(&shared))
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

/// A lock of a channel was taken after another worker, or has been waited for: a sign that tasks
/// which talk to each other run on different workers.
#[cold]
pub(crate) fn met(whom: Met) {
    if let Some(worker) = current::worker() {
        worker.met(whom);
    }
}

/// A task of this thread's runtime has panicked, which was started here.
#[cold]
pub(crate) fn task_panicked(started: &'static Location<'static>) {
    if crate::event::waits::noted() {
        record::task_panicked(started);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use crate::primitive::thread;
    use std::sync::mpsc;

    use super::{Arc, Choice, Duration, Handle, Location, Runtime, Seam, Seeded};
    use super::{buggify, incarnation, inspect, is_inside, running, spend_budget};
    use crate::primitive::atomic::{AtomicBool, Ordering};

    #[test]
    fn who_is_inside_of_a_runtime_sees_its_workers_and_tasks() {
        assert!(!is_inside() && Handle::try_current().is_none());
        assert_eq!(inspect().0, 0);
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let waits = [(); 3].map(|()| runtime.spawn(std::future::pending::<()>()));
        runtime.block_on(async {
            assert!(is_inside() && Handle::try_current().is_some());
            let (workers, tasks, _) = inspect();
            assert_eq!((workers, tasks), (2, 3));
        });
        assert_eq!(runtime.workers(), 2);
        drop(waits);
        let task = runtime.spawn(async { running().started });
        let at = runtime.block_on(task).unwrap().expect("it is a task");
        assert_eq!(at.file(), file!());
    }

    #[test]
    fn a_runtime_that_ends_drops_what_its_tasks_have() {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let alive = Arc::new(());
        for _ in 0..3 {
            let has = Arc::clone(&alive);
            drop(runtime.spawn(async move {
                std::future::pending::<()>().await;
                drop(has);
            }));
        }
        drop(runtime);
        assert_eq!(Arc::strong_count(&alive), 1);
    }

    #[test]
    fn a_shutdown_with_a_timeout_returns_when_what_tasks_have_is_dropped() {
        struct Slow(Arc<AtomicBool>, mpsc::Sender<bool>);
        impl Drop for Slow {
            fn drop(&mut self) {
                let mut returned = false;
                // Time enough for one that does not wait.
                for _ in 0..1_000_000 {
                    std::hint::spin_loop();
                    returned |= self.0.load(Ordering::Relaxed);
                }
                self.1.send(returned).unwrap();
            }
        }
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let (returned, (tell, told)) = (Arc::new(AtomicBool::new(false)), mpsc::channel());
        let has = Slow(Arc::clone(&returned), tell);
        drop(runtime.spawn(async move {
            std::future::pending::<()>().await;
            drop(has);
        }));
        runtime.shutdown_timeout(Duration::from_secs(3600));
        returned.store(true, Ordering::Relaxed);
        assert_eq!(told.recv(), Ok(false));
    }

    #[test]
    fn what_a_task_spawns_on_another_runtime_runs_there() {
        let runtimes = [(); 2].map(|()| Runtime::builder().workers(1).build().unwrap());
        let other = runtimes[1].handle();
        let here = || thread::current().id();
        let there = runtimes[1].spawn(async move { here() });
        let there = runtimes[1].block_on(there).unwrap();
        let spawned = runtimes[0].spawn(async move { other.spawn(async move { here() }).await });
        assert_eq!(runtimes[0].block_on(spawned).unwrap().unwrap(), there);
    }

    /// Is asked before each communication, and says this.
    struct Says(usize);

    impl Seam for Says {
        fn choose(&mut self, choice: Choice, _: usize) -> usize {
            if choice == Choice::Yield { self.0 } else { 0 }
        }
        fn now(&mut self) -> Duration {
            Duration::ZERO
        }
        fn idle(&mut self, _: Option<Duration>) -> bool {
            false
        }
        fn interrupts(&self) -> bool {
            true
        }
        fn incarnation(&self) -> Option<u64> {
            Some(7)
        }
        fn fault(&mut self, _: &'static Location<'static>) -> bool {
            true
        }
    }

    #[test]
    fn what_a_seam_says_is_heard_and_no_poll_goes_on_for_ever() {
        for says in [0, 1] {
            let runtime = Runtime::builder().seam(Says(says)).build().unwrap();
            let budget = runtime.shared.budget as usize;
            runtime.block_on(async {
                assert!(buggify());
                assert_eq!(incarnation(), 7);
                let operations = (0..2 * budget).take_while(|_| spend_budget());
                assert_eq!(operations.count(), if says == 0 { budget } else { 0 });
                #[cfg(all(feature = "net", any(unix, windows)))]
                {
                    assert!(super::spend_polled());
                    assert!(!spend_budget(), "it is asked after that, too");
                }
            });
        }
        let runtime = Runtime::builder().workers(1).build().unwrap();
        runtime
            .block_on(runtime.spawn(async { assert!(!buggify()) }))
            .unwrap();
    }

    #[test]
    fn who_has_been_refused_leaves_others_some_and_no_poll_goes_on_for_ever() {
        let runtimes = [
            Runtime::builder().workers(1),
            Runtime::builder().seam(Seeded::new(1)),
        ];
        for builder in runtimes {
            let runtime = builder.budget(5).build().unwrap();
            for spend in [
                spend_budget,
                #[cfg(all(feature = "net", any(unix, windows)))]
                super::spend_polled,
            ] {
                let task = || async move {
                    let counts = || [(); 9].map(|()| (0..9).take_while(|_| spend()).count());
                    let first = counts();
                    crate::yield_now().await;
                    [first, counts()]
                };
                let counts = [
                    runtime.block_on(runtime.spawn(task())),
                    runtime.block_on(async { crate::spawn_local(task()).await }),
                ];
                for counts in counts.into_iter().flat_map(Result::unwrap) {
                    assert_eq!(counts[..3], [5, 2, 1]);
                    // Three more, in a row, somewhere.
                    let rest = &counts[3..];
                    let row = rest.iter().skip_while(|&&n| n == 0);
                    let row: Vec<_> = row.take_while(|&&n| n == 1).collect();
                    assert_eq!(row.len(), rest.iter().sum::<usize>(), "{counts:?}");
                    assert!(row.len() <= 3, "{counts:?}");
                }
            }
        }
    }
}
