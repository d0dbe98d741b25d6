//! An `IVar`, filled and read by all.

use tidings::channel::ivar::IVar;

use super::super::checker::Spec;
use super::super::race::give_way;
use super::{Op, Result, Ret, Tools, programs};

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
