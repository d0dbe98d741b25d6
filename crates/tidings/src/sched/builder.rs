//! How a runtime is made: its settings, and its start.

use std::fmt;
use std::io;
use std::time::Duration;

use super::foreign::Foreign;
use super::runtime::{Runtime, Shared};
use super::seam::Seam;
use super::sockets::Sockets;
use super::threads::Threads;
use super::watch;
use super::worker::Worker;
use crate::primitive::atomic::Ordering;
use crate::primitive::{Arc, Mutex, Parker, thread};

/// Operations per poll, before a task must let others run.
pub(super) const BUDGET: u32 = 128;

/// Configures a [`Runtime`].
pub struct Builder {
    workers: Option<usize>,
    pub(super) threads: Threads,
    pub(super) budget: u32,
    pub(super) blocking_threads: usize,
    pub(super) seam: Option<Box<dyn Seam>>,
    pub(super) patience: Option<Duration>,
    pub(super) sockets: Sockets,
    pub(super) recorded: Option<usize>,
    pub(super) panics: bool,
    pub(super) foreign: Foreign,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            workers: None,
            threads: Threads::default(),
            budget: BUDGET,
            blocking_threads: 512,
            seam: None,
            patience: None,
            sockets: Sockets::default(),
            recorded: None,
            panics: false,
            foreign: Foreign::default(),
        }
    }
}

impl Builder {
    /// How many threads run tasks; by default one for each core.
    ///
    /// # Panics
    /// If `n` is 0 or over 65,535.
    #[must_use]
    pub fn workers(mut self, n: usize) -> Self {
        assert!(
            (1..1 << 16).contains(&n),
            "a runtime has 1 to 65535 workers, not {n}"
        );
        self.workers = Some(n);
        self
    }

    /// The name of its threads: to that of a worker `-0`, `-1`, .. is appended, to that of a thread for blocking work
    /// `-blocking-0` and so on, a number for each thread that it starts.
    ///
    /// ```
    /// let rt = tidings::Runtime::builder().name("mine").workers(1).build().unwrap();
    /// let name = || std::thread::current().name().unwrap().to_owned();
    /// rt.block_on(async {
    ///     assert_eq!(tidings::spawn(async move { name() }).await.unwrap(), "mine-0");
    ///     assert_eq!(tidings::spawn_blocking(name).await.unwrap(), "mine-blocking-0");
    /// });
    /// ```
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.threads.name = Some(name.into());
        self
    }

    /// The stack of each of its threads, in bytes; by default the system's.
    #[must_use]
    pub fn thread_stack_size(mut self, bytes: usize) -> Self {
        self.threads.stack = Some(bytes);
        self
    }

    /// What each of its threads, worker or not, calls before it does anything else. A panic in it does no harm. Not
    /// under a [seam](Self::seam), which has no threads.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// static THREADS: AtomicUsize = AtomicUsize::new(0);
    /// let rt = tidings::Runtime::builder()
    ///     .workers(2)
    ///     .on_thread_start(|| _ = THREADS.fetch_add(1, Ordering::SeqCst))
    ///     .on_thread_stop(|| _ = THREADS.fetch_sub(1, Ordering::SeqCst))
    ///     .build()
    ///     .unwrap();
    /// rt.block_on(async { tidings::spawn_blocking(|| assert!(THREADS.load(Ordering::SeqCst) > 0)).await.unwrap() });
    /// drop(rt);
    /// assert_eq!(THREADS.load(Ordering::SeqCst), 0);
    /// ```
    #[must_use]
    pub fn on_thread_start(mut self, call: impl Fn() + Send + Sync + 'static) -> Self {
        self.threads.on_start = Some(Arc::new(call));
        self
    }

    /// What each of its threads calls last, as [`on_thread_start`](Self::on_thread_start). The drop of the runtime waits
    /// for it.
    #[must_use]
    pub fn on_thread_stop(mut self, call: impl Fn() + Send + Sync + 'static) -> Self {
        self.threads.on_stop = Some(Arc::new(call));
        self
    }

    /// How long a thread for blocking work is kept that has none; 10 seconds by default.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let rt = tidings::Runtime::builder().thread_keep_alive(Duration::from_secs(60)).build().unwrap();
    /// rt.block_on(async { assert_eq!(tidings::spawn_blocking(|| 1).await.unwrap(), 1) });
    /// ```
    #[must_use]
    pub fn thread_keep_alive(mut self, time: Duration) -> Self {
        self.threads.keep_alive = time;
        self
    }

    /// How many channel and timer operations a task may do in one poll before it yields; 128
    /// by default. Fewer: fairer; more: faster when one task does most of the work. Futures that a task polls share it.
    /// Code that never lets the poll end, as another library's `block_on` inside of a task, goes no further than that.
    ///
    /// # Panics
    /// If `operations` is 0.
    #[must_use]
    pub fn budget(mut self, operations: u32) -> Self {
        assert!(
            operations > 0,
            "a budget of 0 operations would let no task do anything"
        );
        self.budget = operations;
        self
    }

    /// The most threads for blocking work; 512 by default. More work queues.
    ///
    /// # Panics
    /// If `n` is 0.
    #[must_use]
    pub fn blocking_threads(mut self, n: usize) -> Self {
        assert!(n > 0, "blocking work needs at least one thread");
        self.blocking_threads = n;
        self
    }

    /// Watches for deadlocks: if nothing can happen any more for as long as `patience`,
    /// [`Runtime::block_on`] panics and says who waits for what. `#[tidings::test]` watches, and
    /// `#[tidings::main(deadlocks = true)]`. To use only
    /// [`Handle::who_waits`](super::Handle::who_waits), without reports, pass [`Duration::MAX`].
    ///
    /// Nothing can happen when no task is queued or runs, no timer is set, no blocking work runs
    /// (but what only waits for an event, by [`Event::wait`](crate::Event::wait) or as an actor),
    /// no foreign code has a task's waker, and nobody waits for ctrl-C, or for the end of another
    /// runtime's task. Threads outside, and tasks of other runtimes, that hold senders or references
    /// cannot be known of: `patience` is for them. Tasks that wait for each other's ends by their join
    /// handles, in a circle and for nothing else, are told of though others run. Every wait of the
    /// process goes on record while such a runtime lives, which costs a lock each; the lines where they
    /// began are known in builds with debug assertions.
    ///
    /// ```should_panic
    /// # use std::time::Duration;
    /// let rt = tidings::Runtime::builder().watch_deadlocks(Duration::from_millis(40)).build().unwrap();
    /// rt.block_on(async {
    ///     let (tx, rx) = tidings::unbounded::<u32>();
    ///     let _ = rx.recv().await; // nobody but this task has `tx`
    ///     drop(tx);
    /// });
    /// ```
    #[must_use]
    pub fn watch_deadlocks(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// How long a worker that has nothing to do looks at the sockets before it sleeps, where what came last came soon:
    /// 50 us by default. Zero: it sleeps at once.
    ///
    /// To wake a thread takes some tens of microseconds. A runtime that waits for a socket for shorter, again and again,
    /// is faster for it, but takes more processor time. One worker of a runtime looks at a time; it gives its
    /// core to whoever wants it between two looks, and stops where it looks in vain. With one core nobody looks. Zero
    /// is for machines whose time is paid for, or shared with many.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let rt = tidings::Runtime::builder().idle_poll(Duration::ZERO).build().unwrap();
    /// rt.block_on(async {
    ///     let listener = tidings::net::TcpListener::bind(([127, 0, 0, 1], 0)).unwrap();
    ///     assert_ne!(listener.local_addr().unwrap().port(), 0);
    /// });
    /// ```
    #[cfg(all(feature = "net", any(unix, windows), not(any(loom, shuttle))))]
    #[must_use]
    pub fn idle_poll(mut self, time: Duration) -> Self {
        self.sockets.idle_poll = time;
        self
    }

    /// Takes the TCP sockets of [`tidings::net`](crate::net) from `network` instead of the
    /// operating system: for simulations.
    #[cfg(all(feature = "net", any(unix, windows), not(any(loom, shuttle))))]
    #[must_use]
    pub fn network(mut self, network: Arc<dyn crate::net::Network>) -> Self {
        self.sockets.network = Some(network);
        self
    }

    /// Lets what needs tokio work in the tasks of this runtime, in the future of `block_on` and in
    /// blocking work: `tokio::net`, `tokio::time`, `reqwest`, `sqlx`. Our threads are inside of
    /// that runtime; its own threads do its I/O, and wake our tasks.
    ///
    /// Such I/O costs a wake-up across threads each time, [`tidings::net`](crate::net) none. What to know:
    /// - `tokio::spawn` runs on tokio's threads: work that computes there holds up all of its I/O.
    /// - `Handle::block_on` and `block_in_place` inside of a task block its worker; nothing panics.
    /// - tokio's budget does not count here; a task of ours that awaits ready futures of tokio's
    ///   only never yields.
    /// - tokio's paused time does not see our tasks; nor does a [`seam`](Self::seam) see tokio's.
    /// - threads that the program starts itself are not inside, nor by a guard of [`Handle::enter`](super::Handle::enter).
    ///   The runtime must outlive ours.
    /// - a current-thread runtime has no threads: unless one is inside of its `block_on`, nobody does its I/O, and what
    ///   waits for it waits for good.
    ///
    /// ```
    /// let io = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    /// let rt = tidings::Runtime::builder().tokio_handle(io.handle().clone()).build().unwrap();
    /// rt.block_on(async {
    ///     let task = tidings::spawn(async {
    ///         let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    ///         listener.local_addr().unwrap().port()
    ///     });
    ///     assert_ne!(task.await.unwrap(), 0);
    /// });
    /// ```
    #[cfg(feature = "tokio")]
    #[must_use]
    pub fn tokio_handle(mut self, handle: tokio::runtime::Handle) -> Self {
        self.foreign.handle = Some(handle);
        self
    }

    /// Lets `seam` make every choice of the scheduler; tasks then run on the thread inside
    /// [`Runtime::block_on`], one at a time.
    ///
    /// ```
    /// use tidings::sched::{Runtime, Seeded, random};
    /// // The same seed is the same run.
    /// let run = |seed| {
    ///     let rt = Runtime::builder().seam(Seeded::new(seed)).build().unwrap();
    ///     rt.block_on(async { random(1 << 20) })
    /// };
    /// assert_eq!(run(1), run(1));
    /// ```
    #[must_use]
    pub fn seam(mut self, seam: impl Seam + 'static) -> Self {
        self.seam = Some(Box::new(seam));
        self
    }

    /// Starts the runtime.
    ///
    /// # Errors
    /// If the system starts no threads, or the [name](Self::name) has a zero in it, which no thread's can have.
    pub fn build(mut self) -> io::Result<Runtime> {
        if self
            .threads
            .name
            .as_ref()
            .is_some_and(|name| name.contains('\0'))
        {
            let why = "the name of a runtime, and so of its threads, has a zero in it";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let workers = if self.seam.is_some() {
            1
        } else {
            self.workers.unwrap_or(cores)
        };
        let shared = Arc::new(Shared::new(&mut self, workers, cores));
        let mut runtime = Runtime {
            shared: Arc::clone(&shared),
            threads: Vec::new(),
            solo: None,
            patience: None,
        };
        if let Some(seam) = self.seam.take() {
            let parker = Arc::new(Parker::current());
            runtime.solo = Some(Mutex::new(Worker::new(&shared, 0, parker, Some(seam))));
            return Ok(runtime);
        }
        if workers > 1 {
            watch::register(&shared);
        }
        for index in 0..workers {
            let worker = Arc::clone(&shared);
            let started = shared
                .threads
                .start_worker(index, move || Shared::run_worker(&worker, index));
            match started {
                Ok(thread) => runtime.threads.push(thread),
                Err(error) => {
                    // Those that never start have ended.
                    let missing = workers - index;
                    if runtime.shared.running.fetch_sub(missing, Ordering::AcqRel) == missing {
                        Shared::end(&runtime.shared, None);
                    }
                    return Err(error);
                }
            }
        }
        Ok(runtime)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("workers", &self.workers)
            .finish_non_exhaustive()
    }
}
