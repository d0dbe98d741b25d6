//! Random programs of a few tasks, run at once, and their histories.
//!
//! A wait is polled by hand: begun, looked at a few times, then dropped if it is not over. So no
//! program hangs, whatever it does; a wait that a partner has served must have been woken, which
//! is checked at the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use tidings::Runtime;
use tidings::sched::Seeded;

use super::checker::{self, Call, Spec};
use super::dice::Dice;
use super::model::{Branch, Choice, Id, Model, Op, Ret, What};
use super::real::{Ends, Happened, Wakes, end_permit};
use super::record::{Clock, Record};

pub(crate) type Calls = Vec<Call<Op, Ret>>;

/// Programs of each kind on the seeded scheduler, and on threads.
const ON_SEEDED: u64 = 600;
const ON_THREADS: u64 = 150;

/// The seeds of a test, and whether their programs run on threads too; with
/// `TIDINGS_LINEAR_SECS`, for a soak, all that fit into so many seconds.
pub(crate) fn seeds() -> impl Iterator<Item = (u64, bool)> {
    let secs = std::env::var("TIDINGS_LINEAR_SECS").ok();
    let secs = secs.and_then(|secs| secs.parse().ok());
    let end = secs.map(|secs| Instant::now() + Duration::from_secs(secs));
    (0..)
        .take_while(move |&seed| seed < ON_SEEDED || end.is_some_and(|end| Instant::now() < end))
        .map(move |seed| (seed, seed < ON_THREADS || end.is_some()))
}

/// Where the tasks of a program run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Engine {
    /// On threads, every second one in a runtime with two workers.
    Threads,
    /// On the seeded scheduler.
    Seeded(u64),
}

impl Dice {
    /// One of so many.
    pub(crate) fn one_of(&mut self, n: usize) -> usize {
        self.below(n as u64) as usize
    }

    /// Once in `n`.
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// What a task does, step by step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Act(Op),
    Wait {
        id: Id,
        choice: Choice,
        /// How often it is looked at before it is dropped.
        looks: usize,
        /// What is done with a permit, if it gives one.
        value: Option<u32>,
        /// Is the task's own waker used? Otherwise one that counts.
        own_waker: bool,
    },
    DropSender(usize),
    DropReceiver(usize),
}

/// The tasks of a program, and the channels they share.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) capacities: Vec<usize>,
    pub(crate) tasks: Vec<Vec<Step>>,
    /// Does the one who starts them keep handles, and look at the end what is left?
    pub(crate) drained: bool,
}

impl Program {
    /// 2 to 4 tasks with 3 to 8 steps; `branches`: the most of a choice.
    pub(crate) fn random(seed: u64, capacities: Vec<usize>, branches: usize) -> Self {
        let mut dice = Dice(seed);
        let mut next = 0;
        let tasks = (0..2 + dice.below(3))
            .map(|_| task(&mut dice, &mut next, capacities.len(), branches))
            .collect();
        Self {
            capacities,
            tasks,
            drained: dice.below(3) > 0,
        }
    }

    fn model(&self) -> Model {
        Model::new(
            &self.capacities,
            self.tasks.len() + usize::from(self.drained),
        )
    }
}

fn task(dice: &mut Dice, next: &mut u32, chans: usize, branches: usize) -> Vec<Step> {
    let mut number = || {
        *next += 1;
        *next
    };
    let mut ends = vec![(true, true); chans];
    let mut steps = Vec::new();
    // Some tasks mostly send and some mostly receive, or few would meet.
    let leaning = dice.below(3);
    for _ in 0..3 + dice.below(6) {
        let chan = dice.one_of(chans);
        let kind = match dice.below(12) {
            0..6 => 8,
            kind => kind - 6,
        };
        let step = match kind {
            0 | 1 if leaning > 0 => Step::Act(Op::TrySend(chan, number())),
            0..3 => Step::Act(Op::TryRecv(chan)),
            3 => match dice.below(5) {
                0 => Step::Act(Op::Len(chan)),
                1 => Step::Act(Op::IsClosed(chan)),
                2 => Step::Act(Op::TryRecvMany(chan, 2)),
                _ => Step::Act(Op::Post(chan, number())),
            },
            4 if dice.one_in(3) => Step::Act(Op::Close(chan)),
            5 if dice.one_in(2) => Step::DropSender(chan),
            5 if dice.one_in(2) => Step::DropReceiver(chan),
            _ => {
                let mut choice = [None; 3];
                for branch in choice.iter_mut().take(1 + dice.one_of(branches)) {
                    let what = match (leaning, dice.below(10)) {
                        (_, 0) => What::Reserve,
                        (_, 1) => What::Closed,
                        (0, 2..8) | (1, 2..5) => What::Recv,
                        _ => What::Send(number()),
                    };
                    let chan = dice.one_of(chans);
                    *branch = Some(Branch { chan, what });
                }
                Step::Wait {
                    id: number(),
                    choice,
                    looks: dice.one_of(4),
                    value: dice.one_in(2).then(&mut number),
                    own_waker: dice.one_in(2),
                }
            }
        };
        match step {
            Step::DropSender(chan) => ends[chan].0 = false,
            Step::DropReceiver(chan) => ends[chan].1 = false,
            _ if ends.iter().any(|&(tx, rx)| !tx || !rx) => {
                // Handles are needed for most steps: after the first drop only drops follow.
                continue;
            }
            _ => {}
        }
        steps.push(step);
    }
    let mut dropped = Vec::new();
    steps.retain(|step| match step {
        Step::DropSender(chan) | Step::DropReceiver(chan) => {
            let drop = (matches!(step, Step::DropSender(_)), *chan);
            let first = !dropped.contains(&drop);
            dropped.push(drop);
            first
        }
        _ => true,
    });
    steps
}

/// Yields once to whatever runs this.
pub(crate) async fn give_way() {
    let mut given = false;
    std::future::poll_fn(|cx| {
        if given {
            return Poll::Ready(());
        }
        given = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// All begin together, or most programs would be over before the next one starts.
pub(crate) async fn meet(missing: &AtomicUsize) {
    missing.fetch_sub(1, Ordering::SeqCst);
    for _ in 0..10_000 {
        if missing.load(Ordering::SeqCst) == 0 {
            return;
        }
        give_way().await;
    }
}

/// A task's work: its steps, then the drop of its handles.
async fn work(
    mut ends: Ends,
    steps: Vec<Step>,
    mut record: Record<Op, Ret>,
    missing: Arc<AtomicUsize>,
    mut dice: Dice,
) -> (Calls, Vec<Arc<Wakes>>) {
    let mut must_be_woken = Vec::new();
    meet(&missing).await;
    for step in steps {
        if dice.one_in(2) {
            give_way().await;
        }
        match step {
            Step::Act(op) => {
                record.call(op, || ends.act(op));
            }
            Step::DropSender(chan) => {
                let sender = ends.senders[chan].take();
                record.call(Op::DropSender(chan), || done(sender));
            }
            Step::DropReceiver(chan) => {
                let receiver = ends.receivers[chan].take();
                record.call(Op::DropReceiver(chan), || done(receiver));
            }
            Step::Wait { .. } => must_be_woken.extend(wait(&ends, step, &mut record).await),
        }
    }
    for chan in 0..ends.senders.len() {
        if let Some(sender) = ends.senders[chan].take() {
            record.call(Op::DropSender(chan), || done(sender));
        }
        if let Some(receiver) = ends.receivers[chan].take() {
            record.call(Op::DropReceiver(chan), || done(receiver));
        }
    }
    (record.into_calls(), must_be_woken)
}

fn done<T>(dropped: T) -> Ret {
    drop(dropped);
    Ret::Done
}

/// Begins a wait, looks at it, and drops it if it is not over; the waker that must be woken.
async fn wait(ends: &Ends, step: Step, record: &mut Record<Op, Ret>) -> Option<Arc<Wakes>> {
    let Step::Wait {
        id,
        choice,
        looks,
        value,
        own_waker,
    } = step
    else {
        return None;
    };
    let by_hand = ByHand {
        ops: [Op::Begin(id, choice), Op::Poll(id), Op::Cancel(id)],
        pending: Ret::Pending,
        dropped: Ret::Done,
        looks,
        own_waker,
    };
    let ret = |(branch, end): &(usize, Happened<'_>)| Ret::Ready(*branch, end.end());
    let (happened, wakes) = by_hand.wait(ends.wait(choice), record, ret).await;
    if let Some((branch, Happened::Place(permit))) = happened {
        let chan = choice[branch]?.chan;
        give_way().await;
        let op = value.map_or(Op::PermitDrop(chan), |n| Op::PermitSend(chan, n));
        record.call(op, || end_permit(permit, op, &ends.ledger));
    }
    wakes
}

/// A wait that is begun, looked at a few times, and dropped if it is not over then.
pub(crate) struct ByHand<Op, Ret> {
    /// That begins it, that looks at it, that drops it.
    pub(crate) ops: [Op; 3],
    pub(crate) pending: Ret,
    pub(crate) dropped: Ret,
    pub(crate) looks: usize,
    /// Is the task's own waker used? Otherwise one that counts.
    pub(crate) own_waker: bool,
}

impl<Op: Clone, Ret: Clone> ByHand<Op, Ret> {
    /// What came of it, and the waker that must have been woken, if a partner served it.
    pub(crate) async fn wait<F: Future>(
        self,
        future: F,
        record: &mut Record<Op, Ret>,
        ret: impl Fn(&F::Output) -> Ret,
    ) -> (Option<F::Output>, Option<Arc<Wakes>>) {
        let (wakes, counting) = Wakes::new();
        let own = std::future::poll_fn(|cx| Poll::Ready(cx.waker().clone())).await;
        let waker = if self.own_waker { own } else { counting };
        let [begin, poll, cancel] = self.ops;
        let mut future = Box::pin(future);
        for look in 0..=self.looks {
            let op = if look == 0 { &begin } else { &poll };
            let mut output = None;
            record.call(op.clone(), || {
                let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
                let Poll::Ready(happened) = polled else {
                    return self.pending.clone();
                };
                let ret = ret(&happened);
                output = Some(happened);
                ret
            });
            if output.is_some() {
                return (output, (look > 0 && !self.own_waker).then_some(wakes));
            }
            give_way().await;
        }
        record.call(cancel, || {
            drop(future);
            self.dropped
        });
        (None, None)
    }
}

/// The sequential specification of a program's channels.
struct Channels(Model);

impl Spec for Channels {
    type State = Model;
    type Op = Op;
    type Ret = Ret;

    fn initial(&self) -> Model {
        self.0.clone()
    }

    fn outcomes(&self, state: &Model, op: &Op) -> Vec<(Model, Ret)> {
        state.outcomes(op)
    }
}

/// Runs a program and checks its history, its wakes and its letters; how many calls overlapped.
pub(crate) fn check(program: &Program, engine: Engine, pool: Option<&Runtime>) -> usize {
    let context = format!("{program:?} on {engine:?}");
    let clock = Clock::default();
    let ends = Ends::new(&program.capacities);
    let ledger = ends.ledger.clone();
    let missing = Arc::new(AtomicUsize::new(program.tasks.len()));
    let mut tasks = Vec::new();
    for (index, steps) in program.tasks.iter().enumerate() {
        let record = Record::new(index, &clock);
        let seed = match engine {
            Engine::Threads => 0,
            Engine::Seeded(seed) => seed,
        };
        let dice = Dice(seed ^ ((index as u64) << 32));
        let missing = Arc::clone(&missing);
        tasks.push(work(ends.clone(), steps.clone(), record, missing, dice));
    }
    let mut own = Record::new(program.tasks.len(), &clock);
    let mine = program.drained.then_some(ends);
    let results = run(tasks, engine, pool);
    for chan in 0..mine.as_ref().map_or(0, |ends| ends.senders.len()) {
        let ends = mine.as_ref().expect("handles");
        let drained = [Ret::Empty, Ret::Ended];
        while !drained.contains(&own.call(Op::TryRecv(chan), || ends.act(Op::TryRecv(chan)))) {}
    }
    drop(mine);
    let mut calls = own.into_calls();
    for (more, wakes) in results {
        calls.extend(more);
        assert_woken(&wakes, &context);
    }
    checker::assert_linearizable(&Channels(program.model()), &calls, &context);
    assert_eq!(ledger.alive(), 0, "{context}: letters leak");
    overlaps(&calls)
}

/// All tasks have ended, so whoever served a wait has woken it.
pub(crate) fn assert_woken(served: &[Arc<Wakes>], context: &str) {
    let counts: Vec<usize> = served.iter().map(|wakes| wakes.count()).collect();
    let once = counts.iter().all(|&n| n == 1);
    assert!(
        once,
        "{context}: waits that were served were woken {counts:?} times"
    );
}

/// Runs the tasks of a program at once.
pub(crate) fn run<F>(tasks: Vec<F>, engine: Engine, pool: Option<&Runtime>) -> Vec<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    match engine {
        Engine::Threads => on_threads(tasks, pool.expect("a pool")),
        Engine::Seeded(seed) => on_seeded(tasks, seed),
    }
}

/// How many calls began before another thread's had returned.
fn overlaps(calls: &Calls) -> usize {
    let during = |a: &Call<Op, Ret>, b: &Call<Op, Ret>| {
        a.thread != b.thread
            && b.called < a.called
            && b.returned.as_ref().is_none_or(|(at, _)| *at > a.called)
    };
    let overlapped = calls.iter().filter(|a| calls.iter().any(|b| during(a, b)));
    overlapped.count()
}

fn on_threads<F>(tasks: Vec<F>, pool: &Runtime) -> Vec<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    enum Running<T> {
        Thread(thread::JoinHandle<T>),
        Task(tidings::JoinHandle<T>),
    }
    let start = |(index, task)| {
        if index % 2 == 0 {
            Running::Thread(thread::spawn(|| futures::executor::block_on(task)))
        } else {
            Running::Task(pool.spawn(task))
        }
    };
    let running: Vec<_> = tasks.into_iter().enumerate().map(start).collect();
    let end = |running| match running {
        Running::Thread(thread) => thread.join().expect("no panic"),
        Running::Task(task) => pool.block_on(task).expect("no panic"),
    };
    running.into_iter().map(end).collect()
}

fn on_seeded<F>(tasks: Vec<F>, seed: u64) -> Vec<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let rt = Runtime::builder().seam(Seeded::new(seed)).build().unwrap();
    let running: Vec<_> = tasks.into_iter().map(|task| rt.spawn(task)).collect();
    rt.block_on(async {
        let mut results = Vec::new();
        for task in running {
            results.push(task.await.expect("no panic"));
        }
        results
    })
}
