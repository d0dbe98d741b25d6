//! Structured concurrency: tasks that end before the scope that started them.

mod member;

use std::any::Any;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::task::{Poll, ready};
use std::time::Duration;

use member::{Fallible, Member, Plain};

use crate::channel::source::{Lists, Side, Source};
use crate::channel::wait::{Ticket, Tickets, Wait, wait_event};
use crate::event::offer::{Judge, Waiters};
use crate::primitive::{Arc, Mutex};
use crate::task::child::{Child, Parent};
use crate::task::{AbortHandle, JoinHandle, Woken, first, go_on, quietly, yield_now};
use crate::time::after;

/// Runs `body` and waits for every task it starts in its [`Scope`], and for those that they
/// start there; gives what `body` gives.
///
/// If a child panics, its siblings are aborted and `body` is dropped; once all have ended, the
/// panic goes on here. A panic of `body` does the same. Of several panics the first goes on.
/// `body` may borrow from the caller; children are `'static`.
///
/// Dropping the scope's future drops `body` and aborts the children. A drop cannot wait: each
/// child ends at its next turn, so for a moment children may outlive the dropped scope (on
/// another worker, one may be in the middle of a poll). Only a scope that is awaited to its end
/// promises that its children have ended.
///
/// ```
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = tidings::unbounded();
/// let sum: u32 = tidings::scope(|s| async move {
///     for n in 1..=3 {
///         let tx = tx.clone();
///         s.spawn(async move { tx.send(n).await });
///     }
///     drop(tx);
///     let mut sum = 0;
///     while let Ok(n) = rx.recv().await {
///         sum += n;
///     }
///     sum
/// })
/// .await;
/// assert_eq!(sum, 6);
/// # });
/// ```
pub async fn scope<F, Fut, T>(body: F) -> T
where
    F: FnOnce(Scope) -> Fut,
    Fut: Future<Output = T>,
{
    match run(async |scope| Ok(body(scope).await)).await {
        Ok(output) => output,
        Err(Failure::Panic(panic)) => resume_unwind(panic),
        Err(Failure::Error(never)) => match never {},
    }
}

/// As [`scope`], for work that can fail: the first error, of `body` or of a child started with
/// [`try_spawn`](Scope::try_spawn), aborts all the others; once they have ended it is given
/// back. Panics go on here as in [`scope`].
///
/// ```
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let end = tidings::try_scope(|s| async move {
///     s.spawn(std::future::pending::<()>());
///     s.try_spawn(async { Err::<(), _>("broken") });
///     std::future::pending().await
/// });
/// assert_eq!(end.await, Err::<(), _>("broken"));
/// # });
/// ```
///
/// A body that uses `?` says by the type of its argument into which error:
///
/// ```
/// use tidings::{Scope, try_scope};
/// # type Error = Box<dyn std::error::Error + Send + Sync>;
///
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let sum = try_scope(|s: Scope<Error>| async move {
///     let three = s.try_spawn(async { Ok("3".parse::<u32>()?) });
///     let four: u32 = "4".parse()?;
///     Ok(three.await? + four)
/// });
/// assert_eq!(sum.await?, 7);
/// # Ok::<(), Error>(())
/// # }).unwrap();
/// ```
///
/// # Errors
/// The first error of `body` or a child.
pub async fn try_scope<F, Fut, T, E>(body: F) -> Result<T, E>
where
    F: FnOnce(Scope<E>) -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    match run(body).await {
        Ok(output) => Ok(output),
        Err(Failure::Panic(panic)) => resume_unwind(panic),
        Err(Failure::Error(error)) => Err(error),
    }
}

/// Why a scope did not give its body's output.
enum Failure<E> {
    Panic(Box<dyn Any + Send>),
    Error(E),
}

async fn run<F, Fut, T, E>(body: F) -> Result<T, Failure<E>>
where
    F: FnOnce(Scope<E>) -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    // Owned by this future, so that it is `Send` only if errors are.
    let guard = CancelOnDrop(Scope::new());
    let scope = &guard.0;
    let mut woken = Ok(());
    let output = {
        let scope_of_body = scope.clone();
        let mut body = pin!(Some(async move { body(scope_of_body).await }));
        let mut failed = pin!(
            Failed {
                scope,
                slot: Ticket::new(None)
            }
            .into_future()
        );
        poll_fn(|cx| {
            let running = body.as_mut().as_pin_mut().expect("it is polled to its end");
            let (output, failure) = match catch_unwind(AssertUnwindSafe(|| running.poll(cx))) {
                Ok(Poll::Pending) => {
                    ready!(failed.as_mut().poll(cx));
                    (None, None)
                }
                Ok(Poll::Ready(Ok(output))) => (Some(output), None),
                Ok(Poll::Ready(Err(error))) => (None, Some(Failure::Error(error))),
                Err(panic) => (None, Some(Failure::Panic(panic))),
            };
            // Dropped before its children are waited for. Its drop is user code, too.
            let dropped = catch_unwind(AssertUnwindSafe(|| body.set(None)));
            let dropped = dropped.err().map(Failure::Panic);
            // A panic of who is woken goes on when the children are gone.
            let failures = failure.into_iter().chain(dropped);
            let told = failures.map(|failure| scope.fail(failure));
            woken = told.reduce(first).unwrap_or(Ok(()));
            Poll::Ready(output)
        })
        .await
    };
    Ended {
        scope,
        slot: Ticket::new(None),
    }
    .await;
    see_out(scope).await;
    go_on(woken);
    match scope.source.locked(|state| state.failure.take()) {
        Some(failure) => Err(failure),
        None => Ok(output.expect("a scope without an output has failed")),
    }
}

/// Waits until the tasks of children that have ended are over, which they mostly are.
async fn see_out<E>(scope: &Scope<E>) {
    while let Some(child) = scope.source.locked(|state| state.parting.pop()) {
        let mut looks = 0;
        while !child.is_finished() {
            // What a child gave may take its time to be dropped.
            match looks < SEES {
                true => yield_now().await,
                false => after(SEES_AGAIN).await,
            }
            looks += 1;
        }
    }
}

/// So often a child that has ended is looked at again at once, and then every so long.
const SEES: u32 = 64;
const SEES_AGAIN: Duration = Duration::from_micros(100);

/// Aborts the children of a scope that is dropped; those of one that has ended are gone.
struct CancelOnDrop<E>(Scope<E>);

impl<E> Drop for CancelOnDrop<E> {
    fn drop(&mut self) {
        go_on(self.0.cancel(None));
    }
}

/// Starts tasks in a [`scope`]; clones are the same scope, and may move into its tasks.
pub struct Scope<E = Infallible> {
    source: Arc<Source<State<E>>>,
    /// Children bring an `E` from other threads.
    error: PhantomData<Mutex<E>>,
}

pub(crate) struct State<E> {
    /// Children that have not ended.
    live: usize,
    /// How to abort them, by key; `None` while one is being started: once the scope is cancelled, whoever starts it
    /// aborts it.
    aborts: BTreeMap<u64, Option<AbortHandle>>,
    /// Children that have ended, and whose tasks may not be over: what they gave may still be dropped.
    parting: Vec<AbortHandle>,
    next: u64,
    /// Failed, dropped or ended: no more children.
    cancelled: bool,
    failure: Option<Failure<E>>,
    /// The scope's future, beside its body.
    failed: Tickets,
    /// The scope's future, after its body.
    ended: Tickets,
}

impl<E> State<E> {
    /// The first of those that have ended, if it is over.
    fn over(&mut self) -> Option<AbortHandle> {
        let over = self.parting.first()?.is_finished();
        over.then(|| self.parting.swap_remove(0))
    }
}

impl<E> Lists for State<E> {
    fn waiters(&mut self, side: Side) -> &mut Waiters {
        if side == Side::Receiver {
            self.failed.list()
        } else {
            self.ended.list()
        }
    }
}

impl<E> Scope<E> {
    fn new() -> Self {
        let state = State {
            live: 0,
            aborts: BTreeMap::new(),
            parting: Vec::new(),
            next: 0,
            cancelled: false,
            failure: None,
            failed: Tickets::new(),
            ended: Tickets::new(),
        };
        Self {
            source: Arc::new(Source::new(state)),
            error: PhantomData,
        }
    }

    /// Starts a task on the runtime of this thread, which ends before the scope does.
    ///
    /// If it panics, the scope fails; its handle gives the panic's message only. Aborting it by
    /// its handle is no failure. In a scope that is failing or has ended, the future is dropped
    /// at once and the handle is cancelled.
    ///
    /// # Panics
    /// Outside of a runtime.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let three = tidings::scope(|s| async move {
    ///     let one = s.spawn(async { 1 });
    ///     // A child can start children.
    ///     let two = s.spawn({
    ///         let s = s.clone();
    ///         async move { s.spawn(async { 2 }).await.unwrap() }
    ///     });
    ///     one.await.unwrap() + two.await.unwrap()
    /// });
    /// assert_eq!(three.await, 3);
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
        E: Send + 'static,
    {
        self.start(future, |member| Plain(member))
    }

    /// As [`spawn`](Self::spawn), of a task that fails the scope if it gives an error; its own
    /// handle is cancelled then.
    #[track_caller]
    pub fn try_spawn<F, T>(&self, future: F) -> JoinHandle<T>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Send + 'static,
    {
        self.start(future, |member| Fallible(member))
    }

    #[track_caller]
    fn start<F, P>(&self, future: F, parent: impl FnOnce(Member<E>) -> P) -> JoinHandle<P::Output>
    where
        F: Future + Send + 'static,
        P: Parent<F::Output, Output: Send> + Send + 'static,
    {
        let key = self.source.locked(|state| {
            (!state.cancelled).then(|| {
                state.live += 1;
                state.next += 1;
                state.aborts.insert(state.next, None);
                state.next
            })
        });
        let future = key.is_some().then_some(future);
        let member = Member {
            scope: key.map(|_| self.clone()),
            key: key.unwrap_or(0),
        };
        let task = crate::spawn(Child::new(future, parent(member)));
        let abort = task.abort_handle();
        let cancelled = self.source.locked(|state| {
            if let Some(key) = key {
                match state.aborts.get_mut(&key) {
                    Some(place) => *place = Some(abort),
                    // It has ended already.
                    None => state.parting.push(abort),
                }
            }
            state.cancelled
        });
        if cancelled {
            task.abort();
        }
        task
    }

    /// Is its future there, to hear of a failure? The first ends it; those after are as good as heard.
    fn hears(&self) -> bool {
        self.source
            .locked(|state| !state.cancelled || state.failure.is_some())
    }

    /// As `cancel`.
    fn fail(&self, failure: Failure<E>) -> Woken {
        self.cancel(Some(failure))
    }

    /// Aborts all children. The first failure counts. Gives a waker's panic, for the caller to go on with when there
    /// is nothing left to be done.
    fn cancel(&self, mut failure: Option<Failure<E>>) -> Woken {
        let aborts = self.source.locked(|state| {
            state.cancelled = true;
            if state.failure.is_none() {
                state.failure = failure.take();
            }
            let aborts = state.aborts.values().flatten();
            aborts.cloned().collect::<Vec<_>>()
        });
        aborts.iter().for_each(AbortHandle::abort);
        let woken = self
            .source
            .commit_quietly(false, |state| state.failed.claim(|_| Judge::Take));
        // What was not the first is dropped here, without the lock. It is the user's, and may panic.
        quietly(|| drop(failure));
        woken
    }

    /// How many children have not ended.
    #[must_use]
    pub fn len(&self) -> usize {
        self.source.locked(|state| state.live)
    }

    /// Has every child ended?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<E> Clone for Scope<E> {
    fn clone(&self) -> Self {
        Self {
            source: Arc::clone(&self.source),
            error: PhantomData,
        }
    }
}

impl<E> fmt::Debug for Scope<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (live, cancelled) = self.source.locked(|state| (state.live, state.cancelled));
        f.debug_struct("Scope")
            .field("live", &live)
            .field("cancelled", &cancelled)
            .finish()
    }
}

/// The event of a scope's failure.
struct Failed<'a, E> {
    scope: &'a Scope<E>,
    slot: Ticket,
}

impl<E> Wait for Failed<'_, E> {
    type State = State<E>;
    type Output = ();
    const SIDE: Side = Side::Receiver;

    fn source(&self) -> &Source<State<E>> {
        &self.scope.source
    }
    fn ready(&mut self, state: &mut State<E>) -> bool {
        state.failure.is_some()
    }
    fn done(&mut self) {}
}

wait_event!(impl['a, E] Failed<'a, E> => ());

/// The event of the end of a scope's last child.
struct Ended<'a, E> {
    scope: &'a Scope<E>,
    slot: Ticket,
}

impl<E> Wait for Ended<'_, E> {
    type State = State<E>;
    type Output = ();
    const SIDE: Side = Side::Other;

    fn source(&self) -> &Source<State<E>> {
        &self.scope.source
    }
    fn ready(&mut self, state: &mut State<E>) -> bool {
        let ended = state.live == 0;
        state.cancelled |= ended;
        ended
    }
    fn done(&mut self) {}
}

wait_event!(impl['a, E] Ended<'a, E> => ());
