//! The cells are linearizable: an `MVar` as a channel of capacity 1, a oneshot, an `IVar` and a
//! watch cell each against a specification of a few lines.
//!
//! Two looks do without the lock under which waits are served, and so may be ahead of them: a
//! full `IVar` can be read, and the last sender of a watch cell be seen to be gone, a moment
//! before those who wait for it are served. There a wait that could be over may look pending.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use tidings::channel::ivar::IVar;
use tidings::channel::mvar::MVar;
use tidings::channel::{oneshot, watch};
use tidings::{Runtime, TryRecvError};

use super::checker::{Call, Spec, assert_linearizable};
use super::model::{self, Branch, Model, What};
use super::race::{ByHand, Dice, Engine, assert_woken, give_way, meet, run};
use super::real::Wakes;
use super::record::{Clock, Record};

/// Programs for each cell on threads, and on the seeded scheduler.
const ON_THREADS: u64 = 150;
const ON_SEEDED: u64 = 600;

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
            looks: self.dice.below(4),
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
    for seed in 0..ON_SEEDED {
        for engine in [Engine::Seeded(seed), Engine::Threads] {
            if matches!(engine, Engine::Threads) && seed >= ON_THREADS {
                continue;
            }
            let context = format!("seed {seed} on {engine:?}");
            let (clock, mut n) = (Clock::default(), 0);
            let mut dice = Dice(seed);
            let mut tools = || {
                n += 1;
                Tools {
                    record: Record::new(n, &clock),
                    dice: Dice(seed << 8 | n as u64),
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

/// An `MVar` is the channel model with capacity 1.
struct FullOrEmpty(Model);

#[derive(Clone, Copy, Debug)]
struct OfModel(model::Op);

/// The model's results are not `Copy`; those of an `MVar` are few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OfMVar {
    Done,
    Full(u32),
    Value(u32),
    Empty,
    Pending,
    Bool(bool),
}

impl Spec for FullOrEmpty {
    type State = Model;
    type Op = OfModel;
    type Ret = OfMVar;

    fn initial(&self) -> Model {
        self.0.clone()
    }

    fn outcomes(&self, state: &Model, op: &OfModel) -> Vec<(Model, OfMVar)> {
        let outcomes = state.outcomes(&op.0).into_iter();
        let named = outcomes.map(|(after, ret)| {
            let ret = match ret {
                model::Ret::Done | model::Ret::Ready(_, model::End::Sent) => OfMVar::Done,
                model::Ret::Full(n) => OfMVar::Full(n),
                model::Ret::Value(n) | model::Ret::Ready(_, model::End::Got(n)) => OfMVar::Value(n),
                model::Ret::Empty => OfMVar::Empty,
                model::Ret::Pending => OfMVar::Pending,
                model::Ret::Number(n) => OfMVar::Bool(n > 0),
                other => unreachable!("{other:?}: an MVar has no ends"),
            };
            (after, ret)
        });
        named.collect()
    }
}

async fn mvar_task(
    cell: MVar<u32>,
    first: u32,
    mut t: Tools<OfModel, OfMVar>,
) -> Result<OfModel, OfMVar> {
    use model::Op::{Begin, Cancel, Len, Poll, TryRecv, TrySend};
    for id in first..first + 3 + t.dice.below(6) as u32 {
        if t.dice.one_in(2) {
            give_way().await;
        }
        let wait = |what| {
            let one = Some(Branch { chan: 0, what });
            [Begin(id, [one, None, None]), Poll(id), Cancel(id)].map(OfModel)
        };
        let frame = [OfMVar::Pending, OfMVar::Done];
        match t.dice.below(8) {
            0 => {
                t.record.call(OfModel(TrySend(0, id)), || {
                    cell.try_put(id)
                        .map_or_else(OfMVar::Full, |()| OfMVar::Done)
                });
            }
            1 => {
                t.record.call(OfModel(TryRecv(0)), || {
                    cell.try_take().map_or(OfMVar::Empty, OfMVar::Value)
                });
            }
            2 => {
                t.record
                    .call(OfModel(Len(0)), || OfMVar::Bool(cell.is_full()));
            }
            3..6 => {
                let taken = |n: &u32| OfMVar::Value(*n);
                t.wait(cell.take(), wait(What::Recv), frame, taken).await;
            }
            _ => {
                let put = wait(What::Send(id));
                t.wait(cell.put(id), put, frame, |()| OfMVar::Done).await;
            }
        }
    }
    (t.record.into_calls(), t.wakes)
}

#[test]
fn an_mvar_is_linearizable() {
    programs(|dice, tools| {
        let cell = MVar::empty();
        let tasks = (0..2 + dice.below(3) as u32)
            .map(|n| mvar_task(cell.clone(), n * 100, tools()))
            .collect();
        (FullOrEmpty(Model::new(&[1], 1)), tasks)
    });
}

/// A oneshot: the value and the ends. A value that was handed to a wait counts as there: only
/// the one receiver could tell.
struct OneShot;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct OneShotState {
    value: Option<u32>,
    sender_gone: bool,
    receiver_gone: bool,
}

impl Spec for OneShot {
    type State = OneShotState;
    type Op = Op;
    type Ret = Ret;

    fn initial(&self) -> OneShotState {
        OneShotState::default()
    }

    fn outcomes(&self, before: &OneShotState, op: &Op) -> Vec<(OneShotState, Ret)> {
        let mut s = *before;
        let ret = match *op {
            Op::Put(value) => {
                s.sender_gone = true;
                if s.receiver_gone {
                    Ret::Unsent(value)
                } else {
                    s.value = Some(value);
                    Ret::Done
                }
            }
            Op::DropSender => {
                s.sender_gone = true;
                Ret::Done
            }
            Op::DropReceiver => {
                s.receiver_gone = true;
                s.value = None;
                Ret::Done
            }
            Op::IsClosed => Ret::Bool(s.receiver_gone),
            Op::Try | Op::Begin | Op::Poll => match s.value.take() {
                Some(value) => Ret::Value(value),
                None if s.sender_gone => Ret::Ended,
                None if *op == Op::Try => Ret::Empty,
                None => Ret::Pending,
            },
            // A value that had been handed over is there again.
            Op::Cancel | Op::CancelClosed => Ret::Done,
            Op::BeginClosed | Op::PollClosed if s.receiver_gone => Ret::Done,
            Op::BeginClosed | Op::PollClosed => Ret::Pending,
            Op::Update | Op::IsNew => return vec![],
        };
        vec![(s, ret)]
    }
}

async fn oneshot_sender(tx: oneshot::Sender<u32>, mut t: Tools<Op, Ret>) -> Result<Op, Ret> {
    for _ in 0..t.dice.below(4) {
        give_way().await;
        if t.dice.one_in(2) {
            t.record.call(Op::IsClosed, || Ret::Bool(tx.is_closed()));
        } else {
            let ops = [Op::BeginClosed, Op::PollClosed, Op::CancelClosed];
            let frame = [Ret::Pending, Ret::Done];
            t.wait(tx.closed(), ops, frame, |()| Ret::Done).await;
        }
    }
    if t.dice.one_in(3) {
        t.record.call(Op::DropSender, || {
            drop(tx);
            Ret::Done
        });
    } else {
        t.record.call(Op::Put(7), || {
            tx.send(7).map_or_else(Ret::Unsent, |()| Ret::Done)
        });
    }
    (t.record.into_calls(), t.wakes)
}

async fn oneshot_receiver(
    mut rx: oneshot::Receiver<u32>,
    mut t: Tools<Op, Ret>,
) -> Result<Op, Ret> {
    for _ in 0..t.dice.below(6) {
        if t.dice.one_in(2) {
            give_way().await;
        }
        if t.dice.one_in(3) {
            t.record.call(Op::Try, || match rx.try_recv() {
                Ok(value) => Ret::Value(value),
                Err(TryRecvError::Empty) => Ret::Empty,
                Err(TryRecvError::Closed) => Ret::Ended,
            });
        } else {
            let ops = [Op::Begin, Op::Poll, Op::Cancel];
            t.wait(rx.recv(), ops, [Ret::Pending, Ret::Done], |got| {
                got.map_or(Ret::Ended, Ret::Value)
            })
            .await;
        }
    }
    t.record.call(Op::DropReceiver, || {
        drop(rx);
        Ret::Done
    });
    (t.record.into_calls(), t.wakes)
}

/// Two kinds of tasks in one list.
type Task<O, R> = std::pin::Pin<Box<dyn Future<Output = Result<O, R>> + Send>>;

#[test]
fn a_oneshot_is_linearizable() {
    programs(|_, tools| {
        let (tx, rx) = oneshot();
        let sender: Task<Op, Ret> = Box::pin(oneshot_sender(tx, tools()));
        let receiver: Task<Op, Ret> = Box::pin(oneshot_receiver(rx, tools()));
        (OneShot, vec![sender, receiver])
    });
}

/// An `IVar`: its value.
struct WriteOnce;

impl Spec for WriteOnce {
    type State = Option<u32>;
    type Op = Op;
    type Ret = Ret;

    fn initial(&self) -> Option<u32> {
        None
    }

    fn outcomes(&self, &before: &Option<u32>, op: &Op) -> Vec<(Option<u32>, Ret)> {
        let rets = match (*op, before) {
            (Op::Put(value), None) => return vec![(Some(value), Ret::Done)],
            (Op::Put(value), Some(_)) => vec![Ret::Unsent(value)],
            (Op::Try, value) => vec![value.map_or(Ret::Empty, Ret::Value)],
            (Op::Begin, Some(value)) => vec![Ret::Value(value)],
            (Op::Poll, Some(value)) => vec![Ret::Value(value), Ret::Pending],
            (Op::Begin | Op::Poll, None) => vec![Ret::Pending],
            (Op::Cancel, _) => vec![Ret::Done],
            _ => vec![],
        };
        rets.into_iter().map(|ret| (before, ret)).collect()
    }
}

async fn ivar_task(cell: IVar<u32>, value: u32, mut t: Tools<Op, Ret>) -> Result<Op, Ret> {
    for _ in 0..3 + t.dice.below(6) {
        give_way().await;
        match t.dice.below(6) {
            0 => {
                t.record.call(Op::Put(value), || {
                    cell.fill(value).map_or_else(Ret::Unsent, |()| Ret::Done)
                });
            }
            1 => {
                t.record.call(Op::Try, || {
                    cell.try_read().map_or(Ret::Empty, |&n| Ret::Value(n))
                });
            }
            _ => {
                let ops = [Op::Begin, Op::Poll, Op::Cancel];
                let frame = [Ret::Pending, Ret::Done];
                t.wait(cell.read(), ops, frame, |n| Ret::Value(**n)).await;
            }
        }
    }
    (t.record.into_calls(), t.wakes)
}

#[test]
fn an_ivar_is_linearizable() {
    programs(|dice, tools| {
        let cell = IVar::new();
        let tasks = (0..2 + dice.below(3) as u32)
            .map(|n| ivar_task(cell.clone(), n, tools()))
            .collect();
        (WriteOnce, tasks)
    });
}

/// A watch cell whose tasks have a sender, or a receiver that has seen some version.
struct LastValue {
    senders: usize,
    receivers: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct LastValueState {
    value: u32,
    version: u64,
    senders: usize,
    receivers: usize,
    /// By receiver.
    seen: Vec<u64>,
}

/// An operation, and the receiver whose it is.
#[derive(Clone, Copy, Debug)]
struct By(Op, usize);

impl Spec for LastValue {
    type State = LastValueState;
    type Op = By;
    type Ret = Ret;

    fn initial(&self) -> LastValueState {
        LastValueState {
            value: 0,
            version: 0,
            senders: self.senders,
            receivers: self.receivers,
            seen: vec![0; self.receivers],
        }
    }

    fn outcomes(&self, before: &LastValueState, &By(op, me): &By) -> Vec<(LastValueState, Ret)> {
        let mut s = before.clone();
        let is_new = s.seen.get(me).is_some_and(|&seen| seen != s.version);
        let ret = match op {
            Op::Put(value) if s.receivers == 0 => Ret::Unsent(value),
            Op::Put(value) => {
                s.value = value;
                s.version += 1;
                Ret::Done
            }
            Op::Try => Ret::Value(s.value),
            Op::Update => {
                s.seen[me] = s.version;
                Ret::Value(s.value)
            }
            Op::IsNew if !is_new && s.senders == 0 => Ret::Ended,
            Op::IsNew => Ret::Bool(is_new),
            Op::IsClosed => Ret::Bool(s.receivers == 0),
            Op::Begin | Op::Poll if is_new => {
                s.seen[me] = s.version;
                Ret::Done
            }
            Op::Begin if s.senders == 0 => Ret::Ended,
            Op::Poll if s.senders == 0 => {
                return vec![(s.clone(), Ret::Ended), (s, Ret::Pending)];
            }
            Op::Begin | Op::Poll => Ret::Pending,
            Op::Cancel | Op::CancelClosed => Ret::Done,
            Op::BeginClosed if s.receivers == 0 => Ret::Done,
            Op::PollClosed if s.receivers == 0 => {
                return vec![(s.clone(), Ret::Done), (s, Ret::Pending)];
            }
            Op::BeginClosed | Op::PollClosed => Ret::Pending,
            Op::DropSender => {
                s.senders -= 1;
                Ret::Done
            }
            Op::DropReceiver => {
                s.receivers -= 1;
                Ret::Done
            }
        };
        vec![(s, ret)]
    }
}

async fn watch_sender(
    tx: watch::Sender<u32>,
    first: u32,
    mut t: Tools<By, Ret>,
) -> Result<By, Ret> {
    let by = |op| By(op, usize::MAX);
    for value in first..first + 3 + t.dice.below(5) as u32 {
        give_way().await;
        match t.dice.below(6) {
            0 => {
                t.record.call(by(Op::Try), || Ret::Value(*tx.get()));
            }
            1 => {
                t.record
                    .call(by(Op::IsClosed), || Ret::Bool(tx.is_closed()));
            }
            2 => {
                let ops = [Op::BeginClosed, Op::PollClosed, Op::CancelClosed].map(by);
                let frame = [Ret::Pending, Ret::Done];
                t.wait(tx.closed(), ops, frame, |()| Ret::Done).await;
            }
            _ => {
                t.record.call(by(Op::Put(value)), || match tx.send(value) {
                    Ok(()) => Ret::Done,
                    Err(unsent) => Ret::Unsent(unsent.0),
                });
            }
        }
    }
    t.record.call(by(Op::DropSender), || {
        drop(tx);
        Ret::Done
    });
    (t.record.into_calls(), t.wakes)
}

async fn watch_receiver(
    mut rx: watch::Receiver<u32>,
    me: usize,
    mut t: Tools<By, Ret>,
) -> Result<By, Ret> {
    let by = |op| By(op, me);
    for _ in 0..3 + t.dice.below(6) {
        give_way().await;
        match t.dice.below(7) {
            0 => {
                t.record.call(by(Op::Try), || Ret::Value(*rx.get()));
            }
            1 => {
                t.record
                    .call(by(Op::Update), || Ret::Value(*rx.get_and_update()));
            }
            2 => {
                t.record.call(by(Op::IsNew), || {
                    rx.has_changed().map_or(Ret::Ended, Ret::Bool)
                });
            }
            _ => {
                let ops = [Op::Begin, Op::Poll, Op::Cancel].map(by);
                t.wait(rx.changed(), ops, [Ret::Pending, Ret::Done], |changed| {
                    changed.map_or(Ret::Ended, |()| Ret::Done)
                })
                .await;
            }
        }
    }
    t.record.call(by(Op::DropReceiver), || {
        drop(rx);
        Ret::Done
    });
    (t.record.into_calls(), t.wakes)
}

#[test]
fn a_watch_cell_is_linearizable() {
    programs(|dice, tools| {
        let spec = LastValue {
            senders: 1 + dice.below(2),
            receivers: 1 + dice.below(2),
        };
        let (tx, rx) = watch(0);
        let senders = vec![tx; spec.senders].into_iter().enumerate();
        let receivers = vec![rx; spec.receivers].into_iter().enumerate();
        let mut tasks: Vec<Task<By, Ret>> = Vec::new();
        for (n, tx) in senders {
            tasks.push(Box::pin(watch_sender(tx, 100 * n as u32 + 1, tools())));
        }
        for (n, rx) in receivers {
            tasks.push(Box::pin(watch_receiver(rx, n, tools())));
        }
        (spec, tasks)
    });
}
