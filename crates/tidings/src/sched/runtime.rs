//! What the threads of a runtime share, and the runtime itself. How it ends: `end.rs`.

use std::fmt;
use std::future::Future;
use std::io;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::TryLockError;
use std::task::Waker;
use std::time::Duration;

use super::blocking::Blocking;
use super::brisk::Brisk;
use super::builder::Builder;
use super::foreign::Foreign;
use super::idle::Idle;
use super::inbox::Inbox;
use super::local::Local;
use super::local_tasks::Sets;
use super::long::LongPolls;
use super::panics::WatchingPanics;
use super::rescue::Looks;
use super::rings::Recorder;
use super::root::{self, Main, Roots};
use super::sockets::Sockets;
use super::threads::Threads;
use super::watch::Watch;
use super::worker::Worker;
use super::{current, solo};
use crate::event::waits::Watching;
use crate::primitive::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
use crate::primitive::{Arc, Biased, CachePadded, Mutex, OnceLock, Parker, Section, lock, thread};
use crate::task::{Header, JoinHandle, Task, here};

/// What all threads of a runtime share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(super) remotes: Box<[CachePadded<Remote>]>,
    pub(super) idle: CachePadded<Idle>,
    /// Of the machine, or as many as the process may use.
    pub(super) cores: usize,
    pub(super) threads: Threads,
    pub(super) blocking: Blocking,
    pub(super) budget: u32,
    pub(super) watch: Watch,
    pub(super) long_polls: LongPolls,
    /// How long it stands still before that is a deadlock, if it watches.
    pub(super) patience: Option<(Duration, Watching)>,
    pub(super) sockets: Sockets,
    /// How often somebody was woken from outside, by sockets or by the time.
    pub(super) heard: AtomicU32,
    /// What the looks behind long polls have found.
    pub(super) brisk: Brisk,
    /// If it records communications.
    pub(super) recorder: Option<Recorder>,
    /// If it watches for panics that nobody hears of.
    pub(super) panics: Option<WatchingPanics>,
    pub(super) foreign: Foreign,
    /// There is one worker, under a seam.
    pub(super) has_seam: bool,
    pub(super) local_tasks: Sets,
    pub(super) roots: Roots,
    pub(super) closing: AtomicBool,
    /// Workers that have not ended.
    pub(super) running: AtomicUsize,
    /// Their threads that have not stopped, with what they call then.
    pub(super) working: AtomicUsize,
    /// Where the next task from outside goes.
    next: AtomicUsize,
    /// Under a seam, which may have one.
    bell: Option<Waker>,
    /// Under a seam: wakes the thread that is inside `block_on`, which may be another each time.
    solo: Mutex<Option<Arc<Parker>>>,
}

// It goes on beside panics of its tasks all the time, and so its handles do.
impl RefUnwindSafe for Shared {}

/// What other threads see of a worker.
#[derive(Debug)]
pub(crate) struct Remote {
    pub(super) inbox: Inbox,
    /// Tasks sent to this worker and no other: nobody steals them.
    pub(super) sent: Inbox,
    pub(super) local: Biased<Local>,
    /// Counts its turns: one that stands still is in a long poll, or sleeps.
    pub(super) turn: CachePadded<AtomicU32>,
    /// Of others, at what waits behind its long poll.
    pub(super) looks: Mutex<Looks>,
    /// When it had nothing to do the last time, in nanoseconds.
    pub(super) ran_dry: AtomicU64,
    /// What a turn of it takes, in nanoseconds (`pace.rs`).
    pub(super) turn_takes: AtomicU32,
    /// The task that it runs, or ran last: only compared, and asked for where it was spawned.
    pub(super) running: AtomicPtr<Header>,
    /// Of its thread, for what leans towards it.
    pub(super) section: Section,
    parker: OnceLock<Arc<Parker>>,
}

impl Shared {
    pub(super) fn new(builder: &mut Builder, workers: usize, cores: usize) -> Self {
        let remote = || {
            CachePadded(Remote {
                inbox: Inbox::new(),
                sent: Inbox::new(),
                local: Biased::new(Local::default()),
                turn: CachePadded(AtomicU32::new(0)),
                looks: Mutex::default(),
                ran_dry: AtomicU64::new(0),
                turn_takes: AtomicU32::new(0),
                running: AtomicPtr::new(std::ptr::null_mut()),
                section: Section::new(),
                parker: OnceLock::new(),
            })
        };
        Self {
            remotes: (0..workers).map(|_| remote()).collect(),
            idle: CachePadded(Idle::new()),
            cores,
            threads: std::mem::take(&mut builder.threads),
            blocking: Blocking::new(builder.blocking_threads),
            budget: builder.budget,
            watch: Watch::default(),
            long_polls: LongPolls::default(),
            patience: builder
                .patience
                .map(|patience| (patience, Watching::start())),
            sockets: std::mem::take(&mut builder.sockets),
            heard: AtomicU32::new(0),
            brisk: Brisk::default(),
            recorder: builder
                .recorded
                .map(|kept| Recorder::new(kept, workers, builder.seam.is_some())),
            panics: builder.panics.then(WatchingPanics::start),
            foreign: std::mem::take(&mut builder.foreign),
            has_seam: builder.seam.is_some(),
            local_tasks: Sets::default(),
            roots: Roots::default(),
            closing: AtomicBool::new(false),
            running: AtomicUsize::new(workers),
            working: AtomicUsize::new(workers),
            next: AtomicUsize::new(0),
            bell: builder.seam.as_ref().and_then(|seam| seam.bell()),
            solo: Mutex::new(None),
        }
    }

    #[inline(always)]
    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// Is anything in an inbox?
    pub(super) fn has_public_work(&self) -> bool {
        self.remotes.iter().any(|remote| !remote.inbox.is_empty())
    }

    /// After a push to an inbox: wakes a sleeper, if one is needed.
    pub(super) fn notify(&self) {
        if let Some(sleeper) = self.idle.pushed() {
            self.unpark(sleeper);
        }
    }

    pub(super) fn unpark(&self, worker: usize) {
        if let Some(parker) = self.remotes[worker].parker.get() {
            if parker.unpark() {
                self.wake_poller();
            }
        } else {
            if let Some(bell) = &self.bell {
                bell.wake_by_ref();
            }
            if let Some(parker) = &*lock(&self.solo) {
                parker.unpark();
            }
        }
    }

    /// Queues tasks with a worker, from any thread.
    pub(super) fn push_to(&self, worker: usize, tasks: impl IntoIterator<Item = Task>) {
        match self.remotes[worker].inbox.push(tasks) {
            Ok(()) => self.notify(),
            // The runtime has ended: nobody will run them.
            Err(tasks) => tasks.into_iter().for_each(Task::cancel),
        }
    }

    /// Sends a task to a worker that no other shall take it from.
    pub(super) fn send_to(&self, worker: usize, task: Task) {
        match self.remotes[worker].sent.push([task]) {
            Ok(()) if self.idle.wake_this(worker) => self.unpark(worker),
            Ok(()) => {}
            Err(tasks) => tasks.into_iter().for_each(Task::cancel),
        }
    }

    /// Of the worker with this seat, towards which something leans.
    pub(crate) fn section(&self, seat: u8) -> &Section {
        let mut sections = self.remotes.iter().map(|remote| &remote.section);
        sections
            .find(|section| section.seat() == seat)
            .expect("tasks lean towards workers of their runtime")
    }

    /// Queues a task from a thread that is not one of our workers.
    pub(super) fn inject(&self, task: Task) {
        let n = self.remotes.len();
        // RELAXED: any spread will do.
        let worker = if n == 1 {
            0
        } else {
            self.next.fetch_add(1, Ordering::Relaxed) % n
        };
        self.push_to(worker, [task]);
        if self.has_seam {
            // A solo scheduler waits outside of `idle`.
            self.unpark(0);
        }
    }

    pub(super) fn spawn<F>(
        shared: &Arc<Self>,
        future: F,
        at: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        here::note(here::GAVE);
        let (task, handle) = Task::new(future, Arc::as_ptr(shared), at);
        shared.push_spawned(task);
        handle
    }

    /// Queues a new task, from any thread.
    fn push_spawned(&self, task: Task) {
        match current::worker() {
            Some(worker) if worker.runs_for(self) => worker.push_spawned(task),
            _ => self.inject(task),
        }
    }

    /// Starts blocking work: a future that is ready when it was polled once.
    pub(super) fn start_blocking<F>(
        shared: &Arc<Self>,
        work: F,
        at: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        here::note(here::GAVE);
        // Under a seam there is one thread, and the work is one more task.
        let owner = match shared.has_seam {
            true => Arc::as_ptr(shared),
            false => Blocking::owner(Arc::as_ptr(shared)),
        };
        let (task, handle) = Task::new(work, owner, at);
        if shared.has_seam {
            shared.inject(task);
        } else {
            shared.blocking.push(shared, task);
        }
        handle
    }

    /// The thread of a worker.
    pub(super) fn run_worker(shared: &Arc<Self>, index: usize) {
        let parker = Arc::new(Parker::current());
        let _ = shared.remotes[index].parker.set(Arc::clone(&parker));
        let worker = Worker::new(shared, index, parker, None);
        // To the end: futures that are dropped may deregister what they have with it.
        let _entered = shared.foreign.enter();
        worker.run();
        if shared.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            Self::end(shared, Some(&worker));
        }
        shared.threads.stops();
        shared.working.fetch_sub(1, Ordering::Release);
    }
}

/// Runs tasks. Dropping it ends them all, and waits for them, and for blocking work that has begun, as long as that
/// takes: [`shutdown_timeout`](Self::shutdown_timeout) waits no longer than it is told. One of its own tasks that drops
/// it waits for no blocking work.
///
/// ```
/// let rt = tidings::Runtime::builder().workers(2).build().unwrap();
/// let answer = rt.block_on(async { tidings::spawn(async { 42 }).await.unwrap() });
/// assert_eq!(answer, 42);
/// ```
pub struct Runtime {
    pub(super) shared: Arc<Shared>,
    pub(super) threads: Vec<thread::JoinHandle<()>>,
    /// The only worker of a runtime with a seam; it runs inside `block_on`.
    pub(super) solo: Option<Mutex<Worker>>,
    /// How long the drop waits for blocking work: as long as it takes, unless told.
    pub(super) patience: Option<Duration>,
}

/// A panic inside of `block_on` is one of its future, and leaves the runtime as it was.
impl UnwindSafe for Runtime {}
impl RefUnwindSafe for Runtime {}

impl Runtime {
    /// A runtime with a worker for each core.
    ///
    /// # Errors
    /// If the system starts no threads.
    pub fn new() -> io::Result<Self> {
        Self::builder().build()
    }

    /// A runtime to be configured.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Runs a future on the calling thread, which waits; tasks it spawns run on the workers, or
    /// [here](crate::spawn_local).
    ///
    /// When it returns, tasks on the workers go on; local tasks that are left are dropped. It may be
    /// called again, and by several threads at once (but under a [seam](Builder::seam), where tasks run
    /// only while a `block_on` does).
    ///
    /// # Panics
    /// On a worker of a tidings runtime, which must not wait. If the future panics. If it
    /// [watches for deadlocks](Builder::watch_deadlocks) and there is one.
    ///
    /// ```
    /// let rt = tidings::Runtime::new().unwrap();
    /// let (tx, rx) = tidings::bounded(1);
    /// rt.block_on(async {
    ///     tidings::spawn(async move { tx.send(7).await });
    /// });
    /// // The task goes on.
    /// assert_eq!(rt.block_on(async { rx.recv().await }), Ok(7));
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        super::assert_may_wait();
        root::erased(future, |main| self.run(main))
    }

    #[track_caller]
    fn run(&self, main: Main<'_>) {
        let Some(solo) = &self.solo else {
            return root::block_on(&self.shared, main);
        };
        let worker = match solo.try_lock() {
            Ok(worker) => worker,
            // A panic of the root future is its own affair.
            Err(TryLockError::Poisoned(worker)) => worker.into_inner(),
            Err(TryLockError::WouldBlock) => {
                panic!("one block_on at a time on a runtime with a seam")
            }
        };
        let parker = Arc::new(Parker::current());
        *lock(&self.shared.solo) = Some(Arc::clone(&parker));
        solo::block_on(&worker, &self.shared, &parker, main);
    }

    /// As [`tidings::spawn`](crate::spawn), on this runtime, from any thread.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Shared::spawn(&self.shared, future, Location::caller())
    }

    /// As [`tidings::spawn_blocking`](crate::spawn_blocking), on this runtime.
    #[track_caller]
    pub fn spawn_blocking<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        Shared::start_blocking(&self.shared, async move { f() }, Location::caller())
    }

    /// A handle to spawn with from elsewhere; it does not keep the runtime going.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle {
            shared: Arc::clone(&self.shared),
        }
    }

    /// How many workers it has.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.shared.remotes.len()
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("workers", &self.workers())
            .finish_non_exhaustive()
    }
}

/// Spawns on a runtime from anywhere, from [`Runtime::handle`] or [`Handle::current`].
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
}

impl Handle {
    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The runtime of this thread.
    ///
    /// # Panics
    /// Outside of a runtime.
    #[must_use]
    #[track_caller]
    pub fn current() -> Self {
        Self {
            shared: super::entered("Handle::current"),
        }
    }

    /// The runtime of this thread, if there is one.
    #[must_use]
    pub fn try_current() -> Option<Self> {
        current::shared().map(|shared| Self { shared })
    }

    /// As [`tidings::spawn`](crate::spawn), on that runtime. After its end the task is
    /// cancelled at once.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Shared::spawn(&self.shared, future, Location::caller())
    }

    /// As [`tidings::spawn_blocking`](crate::spawn_blocking), on that runtime.
    #[track_caller]
    pub fn spawn_blocking<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        Shared::start_blocking(&self.shared, async move { f() }, Location::caller())
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::sync::mpsc;

    use super::super::appetite::PULLED;
    use super::*;

    #[test]
    fn a_task_that_is_sent_to_a_worker_that_sleeps_runs() {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let shared = &runtime.shared;
        for n in 0..20 {
            while !shared.idle.all_asleep(2) {
                thread::yield_now();
            }
            let (task, handle) =
                Task::new(async move { n }, Arc::as_ptr(shared), Location::caller());
            shared.send_to(n % 2, task);
            assert_eq!(runtime.block_on(handle).unwrap(), n);
        }
    }

    #[test]
    fn what_comes_from_outside_to_a_worker_that_works_does_not_unpark_it() {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let ((begins, begun), (ends, end)) = (mpsc::channel(), mpsc::channel());
        let works = runtime.spawn(async move {
            begins.send(()).unwrap();
            end.recv().unwrap();
        });
        begun.recv().unwrap();
        let comes = runtime.spawn(async {});
        let parker = runtime.shared.remotes[0].parker.get();
        assert!(!parker.expect("it runs").is_told());
        ends.send(()).unwrap();
        runtime.block_on(works).unwrap();
        runtime.block_on(comes).unwrap();
    }

    /// Whether most of this worker's tasks go on at the other, when they have found locks taken by it so often,
    /// and yield. Where a worker of ours stands still the other takes what it has to do: such do not count.
    fn goes_over(worker: usize, times: u32) -> bool {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let at = || current::worker().expect("it is one").index();
        let went = || {
            let task = async move {
                if at() != worker {
                    return None;
                }
                let other = u8::try_from(1 - worker).expect("it is 0 or 1");
                for _ in 0..times {
                    crate::sched::met(crate::primitive::Met::Holder(other + 1));
                }
                crate::yield_now().await;
                Some(at() != worker)
            };
            let owner = Arc::as_ptr(&runtime.shared);
            let (task, handle) = Task::new(task, owner, Location::caller());
            runtime.shared.send_to(worker, task);
            runtime.block_on(handle).unwrap()
        };
        let began: Vec<bool> = std::iter::repeat_with(went).flatten().take(100).collect();
        began.iter().filter(|went| **went).count() > began.len() / 2
    }

    #[test]
    fn who_often_finds_locks_taken_by_a_lower_worker_goes_on_there() {
        assert!(goes_over(1, PULLED));
        assert!(!goes_over(1, 0));
        assert!(!goes_over(0, PULLED));
    }

    #[test]
    fn a_task_that_another_runtime_wakes_stays_in_its_own() {
        let runtimes = [(); 2].map(|()| Runtime::builder().workers(1).build().unwrap());
        let ((there, comes), (back, returns)) = (crate::channel(), crate::channel());
        let here = || thread::current().id();
        let one = runtimes[0].spawn(async move {
            let at = here();
            for n in 0..20 {
                there.send(n).await.unwrap();
                assert_eq!((returns.recv().await, here()), (Ok(n), at));
            }
        });
        let other = runtimes[1].spawn(async move {
            let at = here();
            while let Ok(n) = comes.recv().await {
                assert_eq!(here(), at);
                back.send(n).await.unwrap();
            }
        });
        runtimes[0].block_on(one).unwrap();
        runtimes[1].block_on(other).unwrap();
    }
}
