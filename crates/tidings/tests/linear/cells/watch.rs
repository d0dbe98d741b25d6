//! A watch cell: senders, and receivers that have seen some version.

use tidings::channel::watch::{Receiver, Sender, watch};

use super::super::checker::Spec;
use super::super::race::give_way;
use super::{Op, Result, Ret, Task, Tools, programs};

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

async fn watch_sender(tx: Sender<u32>, first: u32, mut t: Tools<By, Ret>) -> Result<By, Ret> {
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
    mut rx: Receiver<u32>,
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
            senders: 1 + dice.one_of(2),
            receivers: 1 + dice.one_of(2),
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
