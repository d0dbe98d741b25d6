//! An `MVar` against the channel model with capacity 1.

use tidings::channel::mvar::MVar;

use super::super::checker::Spec;
use super::super::model::{self, Branch, Model, What};
use super::super::race::give_way;
use super::{Result, Tools, programs};

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
