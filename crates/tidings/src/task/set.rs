//! A set of tasks, joined in the order in which they end.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{Location, resume_unwind};
use std::task::Poll;

use super::child::{Child, Parent};
use super::handle::{AbortHandle, JoinError};
use super::panic::{resume, text_of};
use super::waker::{go_on, wake_each};
use crate::channel::source::{Lists, Side, Source};
use crate::channel::wait::{Ticket, Tickets, Wait, wait_event};
use crate::event::offer::{Judge, Waiters};
use crate::event::waits::Waits;
use crate::event::{Boxed, Event, never};
use crate::primitive::Arc;
use crate::sched::{self, Handle};

/// Tasks that give a `T`, joined in the order in which they end.
///
/// Dropping the set aborts the tasks that have not ended; it cannot wait for them:
/// [`shutdown`](Self::shutdown) does. To let them go on, [`detach_all`](Self::detach_all).
///
/// ```
/// use tidings::JoinSet;
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let mut set = JoinSet::new();
/// for n in 1..=3 {
///     set.spawn(async move { n });
/// }
/// let mut sum = 0;
/// while let Some(n) = set.join_next().await {
///     sum += n.unwrap();
/// }
/// assert_eq!(sum, 6);
/// # });
/// ```
pub struct JoinSet<T> {
    shared: Arc<Source<State<T>>>,
    /// The tasks that had not ended when we last looked, by key.
    aborts: BTreeMap<u64, AbortHandle>,
    next: u64,
    /// Whose its tasks are, each once: of one runtime, mostly.
    owners: Vec<usize>,
    /// Outputs come from other threads: the set is `Send` and `Sync` if they are.
    output: PhantomData<T>,
}

pub(crate) struct State<T> {
    /// Tasks that have not ended.
    running: usize,
    /// Ended and not joined, in order, with their keys.
    ended: VecDeque<(u64, Result<T, JoinError>)>,
    /// The set is gone: outputs are dropped.
    gone: bool,
    waiting: Tickets,
}

impl<T> Lists for State<T> {
    fn waiters(&mut self, _: Side) -> &mut Waiters {
        self.waiting.list()
    }
}

/// A task's end of the set.
struct Member<T> {
    shared: Arc<Source<State<T>>>,
    key: u64,
    /// Where the task was started. `None`: the set has been told of its end.
    started: Option<&'static Location<'static>>,
}

impl<T> Member<T> {
    /// Tells the set of the end, once.
    fn tell(&mut self, end: impl FnOnce(&'static Location<'static>) -> Result<T, JoinError>) {
        let Some(output) = self.started.take().map(end) else {
            return;
        };
        let mut output = Some((self.key, output));
        let waker = self.shared.locked(|state| {
            state.running -= 1;
            if state.gone {
                return None;
            }
            state.ended.extend(output.take());
            let claimed = state.waiting.claim(|_| Judge::Take);
            claimed.map(|claimed| claimed.commit(false))
        });
        let woken = wake_each(waker);
        // The set has gone: the output's drop is user code, without the lock.
        if let Some((_, Err(error))) = &output {
            error.left();
        }
        drop(output);
        go_on(woken);
    }
}

impl<T> Parent<T> for Member<T> {
    type Output = ();

    fn ended(&mut self, output: Result<T, Box<dyn Any + Send>>) -> Poll<()> {
        match output {
            Ok(output) => {
                self.tell(|_| Ok(output));
                Poll::Ready(())
            }
            Err(panic) => {
                let text = text_of(&*panic);
                self.tell(|started| Err(JoinError::panic(started, panic)));
                resume(text)
            }
        }
    }
}

impl<T> Drop for Member<T> {
    fn drop(&mut self) {
        self.tell(|started| Err(JoinError::cancelled(started)));
    }
}

impl<T> JoinSet<T> {
    /// An empty set.
    #[must_use]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn new() -> Self {
        let state = State {
            running: 0,
            ended: VecDeque::new(),
            gone: false,
            waiting: Tickets::new(),
        };
        Self {
            shared: Arc::new(Source::new(state)),
            aborts: BTreeMap::new(),
            next: 0,
            owners: Vec::new(),
            output: PhantomData,
        }
    }

    /// Starts a task of the set on the runtime of this thread; the handle aborts it alone.
    ///
    /// # Panics
    /// Outside of a runtime. What was not started is in the set all the same, and is joined as cancelled.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let mut set = tidings::JoinSet::new();
    /// set.spawn(std::future::pending::<()>()).abort();
    /// assert!(set.join_next().await.unwrap().unwrap_err().is_cancelled());
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn<F>(&mut self, future: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let child = self.child(future);
        let task = crate::spawn(child).abort_handle();
        self.started(task)
    }

    /// As [`spawn`](Self::spawn), on the runtime of that handle, from any thread.
    ///
    /// ```
    /// let rt = tidings::Runtime::new().unwrap();
    /// let mut set = tidings::JoinSet::new();
    /// set.spawn_on(async { 1 }, &rt.handle());
    /// assert_eq!(rt.block_on(set.join_all()), [1]);
    /// ```
    #[track_caller]
    pub fn spawn_on<F>(&mut self, future: F, handle: &Handle) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let child = self.child(future);
        let task = handle.spawn(child).abort_handle();
        self.started(task)
    }

    /// As [`spawn`](Self::spawn), a closure that blocks: [`spawn_blocking`](crate::spawn_blocking).
    ///
    /// # Panics
    /// Where that does.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let mut set = tidings::JoinSet::new();
    /// for n in 1..=3 {
    ///     set.spawn_blocking(move || n * n);
    /// }
    /// let squares = set.join_all().await;
    /// assert_eq!(squares.iter().sum::<u32>(), 14);
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F>(&mut self, f: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let child = self.child(async move { f() });
        let task = sched::start_blocking(child).abort_handle();
        self.started(task)
    }

    /// As [`spawn`](Self::spawn), a task that stays on this thread: [`spawn_local`](crate::spawn_local).
    ///
    /// # Panics
    /// Where that does.
    ///
    /// ```
    /// use std::rc::Rc;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let mut set = tidings::JoinSet::new();
    /// set.spawn_local(async { Rc::new(1) });
    /// assert_eq!(*set.join_next().await.unwrap().unwrap(), 1);
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(&mut self, future: F) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
        T: 'static,
    {
        let child = self.child(future);
        let task = crate::spawn_local(child).abort_handle();
        self.started(task)
    }

    /// The future of a task of the set, by the next key.
    #[track_caller]
    fn child<F: Future<Output = T>>(&mut self, future: F) -> Child<F, Member<T>> {
        self.next += 1;
        // Counted first: if spawning panics, the member is dropped and counts down again.
        let first = self.shared.locked(|state| {
            state.running += 1;
            state.running == 1 && state.ended.is_empty()
        });
        if first {
            self.owners.clear();
        }
        let member = Member {
            shared: Arc::clone(&self.shared),
            key: self.next,
            started: Some(Location::caller()),
        };
        Child::new(Some(future), member)
    }

    /// The task with the last key was started.
    fn started(&mut self, task: AbortHandle) -> AbortHandle {
        self.aborts.insert(self.next, task.clone());
        let owner = task.owner().addr();
        if !self.owners.contains(&owner) {
            self.owners.push(owner);
        }
        task
    }

    /// The end of the next task to end: an event. `None` if the set is empty.
    ///
    /// Waits until a task ends. Gives its output, or a [`JoinError`] if it panicked or was
    /// aborted. A wait that is dropped, or loses a choice, leaves the output for the next.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidings::Event;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let mut set = tidings::JoinSet::new();
    /// assert!(set.join_next().await.is_none());
    /// set.spawn(std::future::pending::<()>());
    /// assert!(set.join_next().timeout(Duration::from_millis(1)).await.is_err());
    /// # });
    /// ```
    pub fn join_next(&mut self) -> JoinNext<'_, T> {
        JoinNext {
            set: self,
            slot: Ticket::new(None),
        }
    }

    /// As `join_next`, but while the set is empty it waits for ever: for a choice in a loop, beside
    /// what gives the set new tasks.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidings::Event;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let mut set = tidings::JoinSet::new();
    /// assert!(set.joined().timeout(Duration::from_millis(1)).await.is_err());
    /// set.spawn(async { 1 });
    /// assert_eq!(set.joined().await.unwrap(), 1);
    /// # });
    /// ```
    pub fn joined(&mut self) -> Boxed<'_, Result<T, JoinError>>
    where
        T: Send,
    {
        if self.is_empty() {
            return never().boxed();
        }
        let ended = self.join_next();
        ended
            .map(|ended| ended.expect("the set was not empty"))
            .boxed()
    }

    /// Waits until all have ended; gives their outputs, in the order of their ends.
    ///
    /// # Panics
    /// If a task has panicked, with what it panicked with, or was aborted. The others are aborted then.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let mut set = tidings::JoinSet::new();
    /// (0..3).for_each(|n| _ = set.spawn(async move { n }));
    /// let mut all = set.join_all().await;
    /// all.sort_unstable();
    /// assert_eq!(all, [0, 1, 2]);
    /// # });
    /// ```
    pub async fn join_all(mut self) -> Vec<T> {
        let mut outputs = Vec::with_capacity(self.len());
        while let Some(ended) = self.join_next().await {
            match ended.map_err(JoinError::try_into_panic) {
                Ok(output) => outputs.push(output),
                Err(Ok(panic)) => resume_unwind(panic),
                Err(Err(error)) => panic!("{error}"),
            }
        }
        outputs
    }

    /// The end of a task that has ended, if there is one.
    ///
    /// ```
    /// let mut set = tidings::JoinSet::<()>::new();
    /// assert!(set.try_join_next().is_none());
    /// ```
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        let (key, output) = self.shared.locked(|state| state.ended.pop_front())?;
        self.aborts.remove(&key);
        Some(output.map_err(JoinError::heard))
    }

    /// Asks every task of the set to end; they are joined as cancelled, or with their output if
    /// they are faster.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let mut set = tidings::JoinSet::new();
    /// (0..3).for_each(|_| drop(set.spawn(std::future::pending::<()>())));
    /// set.abort_all();
    /// while let Some(end) = set.join_next().await {
    ///     assert!(end.unwrap_err().is_cancelled());
    /// }
    /// # });
    /// ```
    pub fn abort_all(&self) {
        self.aborts.values().for_each(AbortHandle::abort);
    }

    /// Aborts every task and waits until all have ended; outputs are dropped. If the wait is dropped, the
    /// tasks are aborted all the same, and those that have not ended yet stay in the set.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let mut set = tidings::JoinSet::new();
    /// set.spawn(std::future::pending::<()>());
    /// set.shutdown().await;
    /// assert!(set.is_empty());
    /// # });
    /// ```
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while self.join_next().await.is_some() {}
    }

    /// Empties the set; its tasks go on by themselves, and their outputs are dropped.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = tidings::oneshot();
    /// let mut set = tidings::JoinSet::new();
    /// set.spawn(async move { tx.send(1).unwrap() });
    /// set.detach_all();
    /// assert!(set.is_empty());
    /// assert_eq!(rx.await, Ok(1));
    /// # });
    /// ```
    pub fn detach_all(&mut self) {
        self.aborts.clear();
        // The old state goes with its tasks. Nobody waits: a wait borrows the set.
        let old = std::mem::take(self);
        drop(old);
    }

    /// How many tasks are in the set: running, or ended and not joined.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared
            .locked(|state| state.running + state.ended.len())
    }

    /// Is there none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Default for JoinSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        self.abort_all();
        let ended = self.shared.locked(|state| {
            state.gone = true;
            std::mem::take(&mut state.ended)
        });
        let errors = ended.iter().filter_map(|(_, output)| output.as_ref().err());
        errors.for_each(JoinError::left);
        drop(ended);
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (running, ended) = self
            .shared
            .locked(|state| (state.running, state.ended.len()));
        f.debug_struct("JoinSet")
            .field("running", &running)
            .field("ended", &ended)
            .finish()
    }
}

/// The event of [`JoinSet::join_next`].
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct JoinNext<'a, T> {
    set: &'a mut JoinSet<T>,
    slot: Ticket,
}

impl<T> Wait for JoinNext<'_, T> {
    type State = State<T>;
    type Output = Option<Result<T, JoinError>>;
    const SIDE: Side = Side::Receiver;

    fn source(&self) -> &Source<State<T>> {
        &self.set.shared
    }
    fn ready(&mut self, state: &mut State<T>) -> bool {
        // An end is taken in `done`; until then it stays in the queue.
        !state.ended.is_empty() || state.running == 0
    }
    fn waits_for(&self, waits: &mut Waits) {
        waits.event(std::any::type_name::<Self>(), Some(&self.source().lock));
        waits.owners.extend(&self.set.owners);
    }
    fn done(&mut self) -> Self::Output {
        self.set.try_join_next()
    }
}

wait_event!(impl['a, T] JoinNext<'a, T> => Option<Result<T, JoinError>>);
