//! A oneshot: two tasks, each with its half.

use tidings::TryRecvError;
use tidings::channel::oneshot::{Receiver, Sender, oneshot};

use super::super::checker::Spec;
use super::super::race::give_way;
use super::{Op, Result, Ret, Task, Tools, programs};

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

async fn oneshot_sender(tx: Sender<u32>, mut t: Tools<Op, Ret>) -> Result<Op, Ret> {
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

async fn oneshot_receiver(mut rx: Receiver<u32>, mut t: Tools<Op, Ret>) -> Result<Op, Ret> {
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

#[test]
fn a_oneshot_is_linearizable() {
    programs(|_, tools| {
        let (tx, rx) = oneshot();
        let sender: Task<Op, Ret> = Box::pin(oneshot_sender(tx, tools()));
        let receiver: Task<Op, Ret> = Box::pin(oneshot_receiver(rx, tools()));
        (OneShot, vec![sender, receiver])
    });
}
