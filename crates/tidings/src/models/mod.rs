//! What loom explores: every interleaving of two or three threads, with every value that the
//! memory orderings allow their loads to see.
//!
//! A model names the outcomes that it must reach, and fails if one was never reached: a model
//! that cannot reach the race proves nothing. A lost wake-up shows as loom's deadlock, a missing
//! happens-before as its race on an `UnsafeCell` (each [`Value`] has one).
//!
//! Run by `cargo x loom`; the larger models only with `TIDINGS_LOOM_FULL=1`.

mod actor;
mod biased;
mod cancel;
mod cell;
mod chan;
mod crowd;
mod cycle;
mod driver;
mod idle;
mod inbox;
mod ivar;
mod lean;
mod leaning;
mod lock;
mod offer;
mod oneshot;
mod parker;
mod state;
mod timers;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use crate::primitive::{Sleeper, UnsafeCell, atomic, thread};

thread_local! {
    /// All threads of a model run on the one thread of its test.
    static REACHED: RefCell<BTreeMap<&'static str, u64>> = const { RefCell::new(BTreeMap::new()) };
}

/// Notes an outcome, if the model that runs has named it: for code under test.
pub(crate) fn note(outcome: &'static str) {
    REACHED.with_borrow_mut(|reached| {
        if let Some(times) = reached.get_mut(outcome) {
            *times += 1;
        }
    });
}

/// Notes an outcome, which the model must have named.
fn seen(outcome: &'static str) {
    let named = REACHED.with_borrow(|reached| reached.contains_key(outcome));
    assert!(named, "the model does not name the outcome {outcome:?}");
    note(outcome);
}

/// Explores `body`; fails if one of `outcomes` was never reached.
fn explore(model: &str, outcomes: &[&'static str], body: impl Fn() + Sync + Send + 'static) {
    explore_deep(2, model, outcomes, body);
}

/// As [`explore`], with so many preemptions or more: for a model whose bugs do not show with fewer.
fn explore_deep(
    preemptions: usize,
    model: &str,
    outcomes: &[&'static str],
    body: impl Fn() + Sync + Send + 'static,
) {
    REACHED.set(outcomes.iter().map(|&outcome| (outcome, 0)).collect());
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let mut builder = loom::model::Builder::new();
    let asked = builder.preemption_bound.unwrap_or(0);
    builder.preemption_bound = Some(asked.max(preemptions));
    builder.max_branches = 10_000;
    let start = Instant::now();
    let body = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        body();
    };
    if std::env::var_os("LOOM_LOG").is_some() {
        // Only this one of loom's doors writes a log.
        loom::model(body);
    } else {
        builder.check(body);
    }
    let reached = REACHED.take();
    let runs = runs.load(Ordering::Relaxed);
    println!(
        "{model}: {runs} interleavings, {:.2?}, {reached:?}",
        start.elapsed()
    );
    let missed: Vec<_> = reached.iter().filter(|(_, times)| **times == 0).collect();
    assert!(missed.is_empty(), "{model} never reached {missed:?}");
}

/// Is this the long form?
fn full() -> bool {
    std::env::var_os("TIDINGS_LOOM_FULL").is_some_and(|full| full == "1")
}

fn fork<R: 'static>(f: impl FnOnce() -> R + 'static) -> thread::JoinHandle<R> {
    loom::thread::spawn(f)
}

/// The system's poller, with one socket: who waits in it is woken, or hears of an edge, once each.
#[derive(Default)]
struct Poller {
    /// Somebody is woken; there is an edge.
    state: loom::sync::Mutex<(bool, bool)>,
    changed: loom::sync::Condvar,
}

impl Poller {
    fn new() -> Self {
        Self::default()
    }

    fn wake(&self) {
        self.state.lock().unwrap().0 = true;
        self.changed.notify_one();
    }

    fn edge(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_one();
    }

    /// `true`: there was an edge.
    fn poll(&self, wait: bool) -> bool {
        let mut state = self.state.lock().unwrap();
        while wait && *state == (false, false) {
            state = self.changed.wait(state).unwrap();
        }
        std::mem::take(&mut *state).1
    }
}

/// A waker that unparks one thread of the model: the poll after a wake happens after it.
struct Unpark {
    woken: atomic::AtomicBool,
    sleeper: Sleeper,
}

impl Unpark {
    fn current() -> Arc<Self> {
        Arc::new(Self {
            woken: atomic::AtomicBool::new(false),
            sleeper: Sleeper::current(),
        })
    }

    fn park(&self) {
        while !self.woken.swap(false, Ordering::AcqRel) {
            self.sleeper.park();
        }
    }
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        // A swap: loom does not order a plain store behind the sleeper's swaps.
        self.woken.swap(true, Ordering::Release);
        self.sleeper.unpark();
    }
}

/// Polls until ready, and once more than needed: only the code under test orders the poll after
/// the yield behind what a partner did.
fn block_on<F: IntoFuture>(future: F) -> F::Output {
    block_on_pinned(pin!(future.into_future()))
}

fn block_on_pinned<F: Future>(mut future: Pin<&mut F>) -> F::Output {
    let flag = Unpark::current();
    let waker = Waker::from(Arc::clone(&flag));
    let mut context = Context::from_waker(&waker);
    let mut hasty = true;
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        if std::mem::take(&mut hasty) {
            thread::yield_now();
            continue;
        }
        flag.park();
    }
}

/// One poll, with a waker that does nothing.
fn poll_once<F: Future>(future: Pin<&mut F>) -> Option<F::Output> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// Counts values made and dropped.
#[derive(Clone, Default)]
struct Ledger(Arc<Counts>);

#[derive(Default)]
struct Counts {
    made: AtomicUsize,
    dropped: AtomicUsize,
}

impl Ledger {
    fn value(&self, id: u32) -> Value {
        self.0.made.fetch_add(1, Ordering::Relaxed);
        Value {
            id: UnsafeCell::new(id),
            ledger: self.clone(),
        }
    }

    fn alive(&self) -> usize {
        self.0.made.load(Ordering::Relaxed) - self.0.dropped.load(Ordering::Relaxed)
    }

    /// Nothing leaked, nothing dropped twice.
    fn balance(&self) {
        assert_eq!(self.alive(), 0, "every value is dropped exactly once");
    }
}

/// A value that loom watches: reading or dropping it must happen after it was made.
struct Value {
    id: UnsafeCell<u32>,
    ledger: Ledger,
}

impl Value {
    fn id(&self) -> u32 {
        // SAFETY: loom fails the model if an access is not ordered.
        self.id.with(|id| unsafe { *id })
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        // SAFETY: as above.
        self.id.with_mut(|id| unsafe { *id = 0 });
        self.ledger.0.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Value({})", self.id())
    }
}
