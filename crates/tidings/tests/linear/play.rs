//! A program in bytes, done one operation after the other on tidings and on the model: after each,
//! the results are the same, and exactly the waits that the model has served have been woken.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tidings::Sender;
use tidings::channel::Permit;

use super::model::{Branch, Choice, Id, Model, Op, Ret, What};
use super::real::{Ends, Happened, Letter, Waiting, Wakes, end_permit};

/// The most waits that are open at a time.
const OPEN: usize = 6;
/// The most operations of one program.
const MOST: usize = 400;

/// Bytes as small numbers; after the end, zeros.
#[derive(Debug)]
struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn below(&mut self, n: usize) -> usize {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        usize::from(first) % n
    }
}

/// A wait on both sides: its future, and the model's number of it.
struct Open<'e> {
    id: Id,
    choice: Choice,
    future: Waiting<'e>,
    wakes: Arc<Wakes>,
    waker: Waker,
}

struct Game<'e> {
    ends: &'e Ends,
    model: Model,
    open: Vec<Open<'e>>,
    permits: Vec<(usize, Permit<&'e Sender<Letter>>)>,
    /// The last value or wait.
    number: u32,
}

/// Plays the program; choices have up to `branches` (1 to 3) branches.
///
/// # Panics
/// Where tidings differs from the model.
pub(crate) fn play(program: &[u8], branches: usize) {
    let mut bytes = Bytes(program);
    let n_chans = if branches == 1 { 1 } else { 2 };
    let capacities: Vec<usize> = (0..n_chans)
        .map(|_| [0, 1, 2, usize::MAX][bytes.below(4)])
        .collect();
    let ends = Ends::new(&capacities);
    let ledger = ends.ledger.clone();
    let mut game = Game {
        ends: &ends,
        model: Model::new(&capacities, 1),
        open: Vec::new(),
        permits: Vec::new(),
        number: 0,
    };
    for _ in 0..MOST {
        if bytes.0.is_empty() {
            break;
        }
        game.step(&mut bytes, n_chans, branches);
    }
    while !game.open.is_empty() {
        game.cancel(0);
    }
    while !game.permits.is_empty() {
        game.end_permit(0, false);
    }
    let mut model = std::mem::take(&mut game.model);
    drop(game);
    let Ends {
        senders, receivers, ..
    } = ends;
    for (chan, (tx, rx)) in senders.into_iter().zip(receivers).enumerate() {
        let mut one = Ends {
            senders: vec![None; n_chans],
            receivers: vec![None; n_chans],
            ledger: ledger.clone(),
        };
        drop(tx);
        model = after(model, &Op::DropSender(chan), &Ret::Done);
        one.receivers[chan] = rx;
        // What is left comes out, in order, and then the end.
        loop {
            let ret = one.act(Op::TryRecv(chan));
            model = after(model, &Op::TryRecv(chan), &ret);
            if ret == Ret::Ended {
                break;
            }
        }
        drop(one);
        model = after(model, &Op::DropReceiver(chan), &Ret::Done);
    }
    assert_eq!(ledger.alive(), 0, "letters leak");
}

/// The model after `op`, which gave `ret` on tidings.
fn after(model: Model, op: &Op, ret: &Ret) -> Model {
    let outcomes = model.outcomes(op);
    let allowed: Vec<&Ret> = outcomes.iter().map(|(_, ret)| ret).collect();
    let place = allowed.iter().position(|&allowed| allowed == ret);
    let Some(place) = place else {
        panic!("{op:?} gave {ret:?}, and the model {allowed:?}, in {model:?}");
    };
    outcomes
        .into_iter()
        .nth(place)
        .map_or(model, |(after, _)| after)
}

impl Game<'_> {
    fn step(&mut self, bytes: &mut Bytes<'_>, n_chans: usize, branches: usize) {
        let chan = bytes.below(n_chans);
        let op = match bytes.below(16) {
            0 => Op::TrySend(chan, self.number()),
            1 => Op::Post(chan, self.number()),
            2 => Op::TryRecv(chan),
            3 => Op::TryRecvMany(chan, bytes.below(4)),
            4 => Op::Len(chan),
            5 => Op::IsClosed(chan),
            // Closed is for ever: not often.
            6 if bytes.below(8) == 7 => Op::Close(chan),
            6..11 => return self.begin(bytes, n_chans, branches),
            11 | 12 if !self.open.is_empty() => {
                let index = bytes.below(self.open.len());
                return self.poll(index);
            }
            13 | 14 if !self.open.is_empty() => {
                let index = bytes.below(self.open.len());
                return self.cancel(index);
            }
            15 if !self.permits.is_empty() => {
                let index = bytes.below(self.permits.len());
                return self.end_permit(index, bytes.below(2) == 0);
            }
            _ => return,
        };
        let ret = self.ends.act(op);
        self.compare(op, &ret);
    }

    fn number(&mut self) -> u32 {
        self.number += 1;
        self.number
    }

    /// The model does the same; then exactly those that it served have been woken.
    fn compare(&mut self, op: Op, ret: &Ret) {
        self.model = after(std::mem::take(&mut self.model), &op, ret);
        for open in &self.open {
            let served = self.model.is_served(open.id);
            let woken = open.wakes.count();
            assert_eq!(
                woken,
                usize::from(served),
                "wakes of {:?} after {op:?}",
                open.choice
            );
        }
    }

    fn begin(&mut self, bytes: &mut Bytes<'_>, n_chans: usize, branches: usize) {
        if self.open.len() == OPEN {
            return;
        }
        let mut choice = [None; 3];
        for branch in choice.iter_mut().take(1 + bytes.below(branches)) {
            let chan = bytes.below(n_chans);
            let what = match bytes.below(8) {
                0..3 => What::Recv,
                3..6 => What::Send(self.number()),
                6 => What::Reserve,
                _ => What::Closed,
            };
            *branch = Some(Branch { chan, what });
        }
        let (wakes, waker) = Wakes::new();
        let open = Open {
            id: self.number(),
            choice,
            future: self.ends.wait(choice),
            wakes,
            waker,
        };
        let op = Op::Begin(open.id, choice);
        self.look(open, op);
    }

    fn poll(&mut self, index: usize) {
        let open = self.open.swap_remove(index);
        let op = Op::Poll(open.id);
        self.look(open, op);
    }

    fn cancel(&mut self, index: usize) {
        let open = self.open.swap_remove(index);
        drop(open.future);
        self.compare(Op::Cancel(open.id), &Ret::Done);
    }

    fn end_permit(&mut self, index: usize, sends: bool) {
        let (chan, permit) = self.permits.swap_remove(index);
        let op = if sends {
            Op::PermitSend(chan, self.number())
        } else {
            Op::PermitDrop(chan)
        };
        let ret = end_permit(permit, op, &self.ends.ledger);
        self.compare(op, &ret);
    }
}

impl<'e> Game<'e> {
    fn look(&mut self, mut open: Open<'e>, op: Op) {
        let polled = open
            .future
            .as_mut()
            .poll(&mut Context::from_waker(&open.waker));
        match polled {
            Poll::Pending => {
                self.open.push(open);
                self.compare(op, &Ret::Pending);
            }
            Poll::Ready((branch, happened)) => {
                let ret = Ret::Ready(branch, happened.end());
                if let Happened::Place(permit) = happened {
                    let chan = open.choice[branch].map_or(0, |branch| branch.chan);
                    self.permits.push((chan, permit));
                }
                self.compare(op, &ret);
            }
        }
    }
}
