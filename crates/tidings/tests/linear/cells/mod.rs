//! The cells are linearizable: an `MVar` as a channel of capacity 1, a oneshot, an `IVar` and a
//! watch cell each against a specification of a few lines.
//!
//! Two looks do without the lock under which waits are served, and so may be ahead of them: a
//! full `IVar` can be read, and the last sender of a watch cell be seen to be gone, a moment
//! before those who wait for it are served. There a wait that could be over may look pending.

mod ivar;
mod mvar;
mod oneshot;
mod watch;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use tidings::Runtime;

use super::checker::{Call, Spec, assert_linearizable};
use super::dice::Dice;
use super::race::{ByHand, Engine, assert_woken, meet, run, seeds};
use super::real::Wakes;
use super::record::{Clock, Record};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    /// Sends, puts or fills.
    Put(u32),
    /// Takes or reads, if it is there.
    Try,
    /// As `Try`, and it counts as seen.
    Update,
    /// Is there something new?
    IsNew,
    IsClosed,
    Begin,
    Poll,
    Cancel,
    /// A wait for the end of the other side.
    BeginClosed,
    PollClosed,
    CancelClosed,
    DropSender,
    DropReceiver,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ret {
    Done,
    /// The value came back.
    Unsent(u32),
    Value(u32),
    Empty,
    Ended,
    Bool(bool),
    Pending,
}

type Calls<O, R> = Vec<Call<O, R>>;

/// What each task gives: its calls, and the wakers of waits that were served.
type Result<O, R> = (Calls<O, R>, Vec<Arc<Wakes>>);

/// One task's tools.
struct Tools<O, R> {
    record: Record<O, R>,
    dice: Dice,
    wakes: Vec<Arc<Wakes>>,
}

impl<O: Copy, R: Copy> Tools<O, R> {
    async fn wait<F: IntoFuture>(
        &mut self,
        event: F,
        ops: [O; 3],
        [pending, dropped]: [R; 2],
        ret: impl Fn(&F::Output) -> R,
    ) {
        let by_hand = ByHand {
            ops,
            pending,
            dropped,
            looks: self.dice.one_of(4),
            own_waker: self.dice.one_in(2),
        };
        let (_, wakes) = by_hand
            .wait(event.into_future(), &mut self.record, ret)
            .await;
        self.wakes.extend(wakes);
    }
}

/// Runs programs of `make`, which gives the specification and the tasks for a seed.
fn programs<S, F>(make: impl Fn(&mut Dice, &mut dyn FnMut() -> Tools<S::Op, S::Ret>) -> (S, Vec<F>))
where
    S: Spec<Op: Copy + Send, Ret: Copy + Send>,
    F: Future<Output = Result<S::Op, S::Ret>> + Send + 'static,
{
    let pool = Runtime::builder().workers(2).build().unwrap();
    for (seed, on_threads) in seeds() {
        for engine in [Engine::Seeded(seed), Engine::Threads] {
            if matches!(engine, Engine::Threads) && !on_threads {
                continue;
            }
            let context = format!("seed {seed} on {engine:?}");
            let (clock, mut n) = (Clock::default(), 0);
            let mut dice = Dice(seed);
            let mut tools = || {
                n += 1;
                Tools {
                    record: Record::new(n, &clock),
                    dice: Dice((seed << 8) | n as u64),
                    wakes: Vec::new(),
                }
            };
            let (spec, tasks) = make(&mut dice, &mut tools);
            let missing = Arc::new(AtomicUsize::new(tasks.len()));
            let together = |task| {
                let missing = Arc::clone(&missing);
                async move {
                    meet(&missing).await;
                    task.await
                }
            };
            let tasks = tasks.into_iter().map(together).collect();
            let mut calls = Vec::new();
            for (more, wakes) in run(tasks, engine, Some(&pool)) {
                calls.extend(more);
                assert_woken(&wakes, &context);
            }
            assert_linearizable(&spec, &calls, &context);
        }
    }
}

/// Two kinds of tasks in one list.
type Task<O, R> = std::pin::Pin<Box<dyn Future<Output = Result<O, R>> + Send>>;
