//! A call of `block_on` beside the workers: it runs its own future, and its local tasks (`local_tasks.rs`), on its thread.
//!
//! [`Roots`] are those of a runtime, for its reports of deadlocks.

use std::future::Future;
use std::pin::{Pin, pin};
use std::ptr;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use pin_project_lite::pin_project;

use super::living::Living;
use super::local_tasks::{Mine, Told};
use super::{Handle, Shared, current, deadlock};
use crate::primitive::atomic::{AtomicU32, Ordering};
use crate::primitive::thread::{self, ThreadId};
use crate::primitive::{Arc, Parker};
use crate::task;

/// A call of `block_on`.
#[derive(Debug)]
pub(super) struct Root {
    pub(super) parker: Arc<Parker>,
    thread: ThreadId,
    /// Changes before and after polls of its future and its local tasks; odd: they go on.
    polls: AtomicU32,
}

impl Root {
    fn new() -> Self {
        Self {
            parker: Arc::new(Parker::current()),
            thread: thread::current().id(),
            polls: AtomicU32::new(0),
        }
    }

    /// Its waker, of which there is one but for copies.
    pub(super) fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.parker))
    }

    /// As waits know it by that.
    pub(super) fn address(&self) -> usize {
        Arc::as_ptr(&self.parker).addr()
    }

    /// Runs its future or its local tasks.
    pub(super) fn run<R>(&self, f: impl FnOnce() -> R) -> R {
        // RELAXED: one thread writes it, for looks now and then.
        let polls = self.polls.load(Ordering::Relaxed);
        self.polls.store(polls.wrapping_add(1), Ordering::Relaxed);
        let result = f();
        self.polls.store(polls.wrapping_add(2), Ordering::Relaxed);
        result
    }

    /// A poll of its future, which has its budget as a task has: its timers and local tasks have their turn, however
    /// much it finds ready.
    pub(super) fn poll(
        &self,
        shared: &Shared,
        main: &mut Main<'_>,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        self.run(|| current::poll_local(ptr::null_mut(), shared.budget, || main.poll(context)))
    }

    /// As [`Shared::stuck`].
    pub(super) fn stuck(&self, shared: &Shared) -> Option<usize> {
        if self.parker.is_told() {
            return None;
        }
        // Its own, and that of the waker.
        shared.stuck(self.address(), Arc::strong_count(&self.parker), 2)
    }
}

/// The calls of `block_on` of a runtime that watches for deadlocks, of each thread the innermost last.
pub(super) type Roots = Living<Root>;

impl Roots {
    /// The innermost of each thread but this one.
    fn of_others(&self) -> Vec<Arc<Root>> {
        let mut roots = self.all();
        roots.reverse();
        let mut threads = vec![thread::current().id()];
        roots.retain(|root| {
            let first = !threads.contains(&root.thread);
            threads.push(root.thread);
            first
        });
        roots
    }

    /// `Some`: nothing runs in any but this thread's, and their futures are stuck; and how often what is in them has
    /// begun and left off.
    pub(super) fn stillness(&self, shared: &Shared) -> Option<u64> {
        // RELAXED: a look now and then.
        let polls = |root: &Arc<Root>| root.polls.load(Ordering::Relaxed);
        let all = self.all();
        let before = all.iter().map(polls).map(u64::from).sum();
        // One without a wait may have been woken by foreign code, and be about to be polled.
        let waits = |root: &Arc<Root>| root.stuck(shared).is_some_and(|waits| waits > 0);
        let still = |root: &Arc<Root>| polls(root).is_multiple_of(2) && waits(root);
        self.of_others().iter().all(still).then_some(before)
    }

    /// Those of other threads, as waits know them.
    pub(super) fn each_other(&self, visit: impl FnMut(usize)) {
        let others = self.of_others();
        others.iter().map(|root| root.address()).for_each(visit);
    }
}

/// The future of a `block_on`, dropped with it. What runs it knows nothing of its type: that is compiled once, and not
/// once for each future of a program.
pub(super) struct Main<'a>(Pin<&'a mut dyn Erased>);

trait Erased {
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()>;
    fn clear(self: Pin<&mut Self>);
}

pin_project! {
    struct Place<F: Future> {
        #[pin]
        future: Option<F>,
        output: Option<F::Output>,
    }
}

impl<F: Future> Erased for Place<F> {
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let future = this.future.as_pin_mut();
        let polled = future.expect("polled to its end once").poll(context);
        polled.map(|output| *this.output = Some(output))
    }

    fn clear(self: Pin<&mut Self>) {
        self.project().future.set(None);
    }
}

impl Main<'_> {
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(context)
    }
}

impl Drop for Main<'_> {
    fn drop(&mut self) {
        self.0.as_mut().clear();
    }
}

/// Has `run` run the future to its end.
pub(super) fn erased<F: Future>(future: F, run: impl FnOnce(Main<'_>)) -> F::Output {
    let mut place = pin!(Place {
        future: Some(future),
        output: None,
    });
    run(Main(place.as_mut()));
    place
        .project()
        .output
        .take()
        .expect("it has run to its end")
}

/// Runs `f` as the inside of a `block_on` of `shared`, with its local tasks. They end when what `f` has is dropped.
pub(super) fn inside(shared: &Arc<Shared>, f: impl FnOnce(&Root, &Mine)) {
    let root = Arc::new(Root::new());
    if shared.patience.is_some() {
        shared.roots.add(&root);
    }
    let mine = Rc::new(Mine::new(Told::Root(Arc::clone(&root))));
    current::enter(shared, Some(Rc::clone(&mine)), || {
        task::finally(|| f(&root, &mine), || _ = mine.end());
    });
}

/// As `Runtime::block_on`, beside the workers.
pub(super) fn block_on(shared: &Arc<Shared>, mut main: Main<'_>) {
    if let Some((patience, _)) = shared.patience {
        return deadlock::block_on(shared, patience, main);
    }
    inside(shared, move |root, mine| {
        let waker = root.waker();
        let mut context = Context::from_waker(&waker);
        while root.poll(shared, &mut main, &mut context).is_pending() {
            mine.wait(root, shared.budget, None);
        }
    });
}

impl Handle {
    /// As [`Runtime::block_on`](super::Runtime::block_on), on that runtime, from any thread that is no worker: so any
    /// can have [local tasks](super::spawn_local). It goes on if the runtime ends meanwhile; what it starts on the
    /// workers is cancelled then. On a runtime with a seam it runs its future and local tasks alone: only the other
    /// runs the seam's.
    ///
    /// # Panics
    /// On a worker of a tidings runtime, which must not wait. If the future panics.
    ///
    /// ```
    /// let rt = tidings::Runtime::new().unwrap();
    /// let handle = rt.handle();
    /// let thread = std::thread::spawn(move || {
    ///     handle.block_on(async { tidings::spawn_local(async { 6 * 7 }).await.unwrap() })
    /// });
    /// assert_eq!(thread.join().unwrap(), 42);
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        super::assert_may_wait();
        erased(future, |main| block_on(self.shared(), main))
    }
}
