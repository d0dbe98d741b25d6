//! An actor that another executor runs, tokio's for one, or a thread: its life is a future that is given to it. It
//! needs no runtime.
//!
//! The life and those who end it share a [`Switch`]. A kill is noted there before its waker is taken; the driver
//! leaves its waker there under the same lock, if no kill is noted. So none is missed, also while it is polled.

use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::Builder;
use super::crowd::Boxed;
use super::life::{Hand, Life};
use crate::primitive::Arc;
use crate::primitive::explored::{Mutex, lock};
use crate::sched;
use crate::task::{clone_waker, wake_quietly};

/// What a life is given to.
pub(super) type Executor = Arc<dyn Fn(Driver) + Send + Sync>;

/// Where an actor runs.
#[derive(Clone)]
pub(super) enum Place {
    /// In a task.
    Task,
    /// On a thread for blocking work.
    Thread,
    Executor(Executor),
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Task => "Task",
            Self::Thread => "Thread",
            Self::Executor(_) => "Executor",
        })
    }
}

/// What the driver of a life shares with those who look at it and end it.
pub(super) struct Switch {
    state: Mutex<State>,
    executor: Executor,
    pub(super) started: &'static Location<'static>,
}

struct State {
    killed: bool,
    /// The driver's, unless it is polled at this moment, or has not been yet.
    waker: Option<Waker>,
}

impl Switch {
    fn new(executor: Executor, started: &'static Location<'static>) -> Self {
        let state = State {
            killed: false,
            waker: None,
        };
        Self {
            state: Mutex::new(state),
            executor,
            started,
        }
    }

    /// Has the driver polled, which ends. Whatever its waker does: who kills has others to see to.
    pub(super) fn kill(&self) {
        let waker = {
            let mut state = lock(&self.state);
            state.killed = true;
            state.waker.take()
        };
        wake_quietly(waker);
    }

    /// The driver as waits know it, by its waker, and that it waits, though its executor may have queued it meanwhile,
    /// which nobody else knows; `None` before its first wait, and while it is polled.
    pub(super) fn waits(&self) -> Option<(usize, bool)> {
        let state = lock(&self.state);
        let waker = state.waker.as_ref()?;
        Some((waker.data().addr(), true))
    }

    /// A poll begins; gives the waker of the last. `Err`: there is to be none.
    fn begin(&self) -> Result<Option<Waker>, ()> {
        let mut state = lock(&self.state);
        match state.killed {
            true => Err(()),
            false => Ok(state.waker.take()),
        }
    }

    /// A poll has ended, and the driver waits. `false`: it is to end.
    fn wait(&self, waker: Waker) -> bool {
        let mut state = lock(&self.state);
        if !state.killed {
            state.waker = Some(waker);
            return true;
        }
        drop(state);
        // Not under the lock: of a foreign one that is foreign code.
        drop(waker);
        false
    }
}

impl fmt::Debug for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Switch")
            .field("started", &self.started)
            .finish_non_exhaustive()
    }
}

/// Gives a life to its executor.
#[track_caller]
pub(super) fn start(
    executor: Executor,
    future: impl Future<Output = ()> + Send + 'static,
    life: &Life,
) {
    let started = Location::caller();
    give(executor, Box::pin(future), life, started);
}

fn give(executor: Executor, future: Boxed, life: &Life, started: &'static Location<'static>) {
    let switch = Arc::new(Switch::new(Arc::clone(&executor), started));
    // First: it may be polled at once, elsewhere.
    life.runs_as(life.next_run(), Hand::Driver(Arc::clone(&switch)));
    executor(Driver {
        life: Some(future),
        switch,
    });
}

/// The life of an actor as a future, from [`Builder::executor`]: for any executor, or for a thread.
///
/// Ready when the actor has ended. Dropped before, the actor is killed.
///
/// ```
/// use std::sync::mpsc;
/// use tidings::Event;
/// use tidings::actor::{Builder, Mailbox, Reply};
///
/// let (give, lives) = mpsc::channel();
/// let builder = Builder::new().executor(move |life| give.send(life).unwrap());
/// let echo = builder.spawn(|mut mailbox: Mailbox<(u32, Reply<u32>)>| async move {
///     while let Ok((n, reply)) = mailbox.recv().await {
///         let _ = reply.send(n);
///     }
/// });
/// let life = lives.recv().unwrap();
/// let thread = std::thread::spawn(|| futures::executor::block_on(life));
/// assert_eq!(echo.call(|reply| (7, reply)).wait().unwrap(), 7);
/// // Nobody can send any more.
/// drop(echo);
/// thread.join().unwrap();
/// ```
#[must_use = "its actor lives while it is polled, and is killed when it is dropped"]
pub struct Driver {
    /// `None`: it is over.
    life: Option<Boxed>,
    switch: Arc<Switch>,
}

impl Future for Driver {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let Some(life) = &mut this.life else {
            return Poll::Ready(());
        };
        if let Ok(last) = this.switch.begin()
            && sched::as_guest(|| life.as_mut().poll(cx)).is_pending()
        {
            let waker = cx.waker();
            let known = last.filter(|last| last.will_wake(waker));
            if this
                .switch
                .wait(known.unwrap_or_else(|| clone_waker(waker)))
            {
                return Poll::Pending;
            }
        }
        this.life = None;
        Poll::Ready(())
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("started", &self.switch.started)
            .finish_non_exhaustive()
    }
}

impl Life {
    /// What its lives are given to, if that is not our scheduler.
    pub(super) fn executor(&self) -> Option<Executor> {
        self.chan()
            .locked(|state| state.switch().map(|switch| Arc::clone(&switch.executor)))
    }
}

/// A model's: a driver of this future alone, and what kills it.
#[cfg(all(test, loom))]
pub(crate) fn driver(
    future: impl Future<Output = ()> + Send + 'static,
) -> (Driver, impl FnOnce() + 'static) {
    let switch = Arc::new(Switch::new(Arc::new(drop), Location::caller()));
    let killer = Arc::clone(&switch);
    let life = Some(Box::pin(future) as Boxed);
    (Driver { life, switch }, move || killer.kill())
}

impl Builder {
    /// Gives the actor's life to `run`, as a future for any executor or for a thread: the actor needs
    /// no runtime. All that can be done with an actor can be done with this one.
    ///
    /// `run` passes the future on, and does not poll it itself. It is called once for each life; and
    /// where one ends that has [children](Self::parent), once more for the wait for their ends: if that
    /// is dropped, they are killed. An actor whose future is dropped is killed. If `run` panics, so is
    /// the actor, and the panic goes to who starts it.
    ///
    /// In one poll the actor does as much as a task of ours for which nothing else is set
    /// ([`budget`](crate::sched::Builder::budget)), and then lets others of its executor run. Its code
    /// may do what code may do there: on a thread of its own it may block; outside of a runtime it can
    /// neither [`spawn`](crate::spawn) tasks nor start actors without an executor. A call of it that
    /// closes a cycle is refused ([`CallError::Cycle`](super::CallError::Cycle)) only where a task of
    /// ours polls it, and waits elsewhere: give such calls a timeout.
    ///
    /// It takes the place of [`blocking`](Self::blocking), and that of this: the last that is said
    /// counts.
    ///
    /// ```
    /// use tidings::actor::Builder;
    ///
    /// #[tidings::interface]
    /// trait Counter {
    ///     async fn add(&mut self, n: u64) -> u64;
    /// }
    /// struct Tally(u64);
    /// impl Counter for Tally {
    ///     async fn add(&mut self, n: u64) -> u64 {
    ///         self.0 += n;
    ///         self.0
    ///     }
    /// }
    ///
    /// #[tokio::main(flavor = "current_thread")]
    /// async fn main() {
    ///     let on_tokio = Builder::new().executor(|life| {
    ///         tokio::spawn(life);
    ///     });
    ///     let counter: CounterRef = on_tokio.start(Tally(0));
    ///     assert_eq!(counter.add(7).await.unwrap(), 7);
    /// }
    /// ```
    ///
    /// On a thread of its own:
    ///
    /// ```
    /// use tidings::Event;
    /// use tidings::actor::{Builder, Mailbox, Reply};
    ///
    /// let on_a_thread = Builder::new().executor(|life| {
    ///     std::thread::spawn(|| futures::executor::block_on(life));
    /// });
    /// let files = on_a_thread.spawn(|mut mailbox: Mailbox<(&str, Reply<String>)>| async move {
    ///     while let Ok((path, reply)) = mailbox.recv().await {
    ///         let _ = reply.send(std::fs::read_to_string(path).unwrap());
    ///     }
    /// });
    /// assert_eq!(files.call(|reply| ("/dev/null", reply)).wait().unwrap(), "");
    /// ```
    pub fn executor(mut self, run: impl Fn(Driver) + Send + Sync + 'static) -> Self {
        self.place = Place::Executor(Arc::new(run));
        self
    }
}
