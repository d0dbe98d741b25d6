//! Cells: a oneshot, a cell that is filled once, and one that is full or empty.

use std::sync::Arc;

use tidings::Event;
use tidings::channel::ivar::IVar;
use tidings::channel::mvar::MVar;

use super::{Program, Setup};
use crate::history::{Act, Diary, Got};
use crate::letter::Letter;
use crate::party::Hand;
use crate::waits::pause;

/// One gives, one takes; both may go before they have.
pub(crate) fn oneshot(setup: &mut Setup) -> Program {
    let (tx, mut rx) = tidings::oneshot();
    let (mut gives, mut takes) = (setup.hand(), setup.hand());
    let sender = async move {
        gives.may_die();
        match gives.dice.below(4) {
            0 => {
                let asked = gives.diary.ask(0, Act::Await);
                // Only a little: the receiver may be waiting for the value.
                let heard = gives.perform_or_try(false, tx.closed()).await;
                // It is no signal that anybody sends.
                asked.got(if heard.is_some() {
                    Got::Closed
                } else {
                    Got::Dropped
                });
            }
            1 => pause().await,
            _ => {}
        }
        if gives.dice.below(5) > 0 {
            let mut offer = gives.offer(0);
            let sent = tx.send(offer.give());
            offer.back(sent.err());
        }
    };
    let receiver = async move {
        for _ in 0..takes.acts {
            takes.may_die();
            let asked = takes.diary.ask(0, Act::Take);
            let got = match takes.perform(rx.recv()).await {
                Some(Ok(letter)) => Got::Value(letter.n),
                Some(Err(_)) => Got::Closed,
                None => Got::Dropped,
            };
            asked.got(got);
            if got != Got::Dropped {
                return;
            }
        }
    };
    Program {
        parties: vec![Box::pin(sender), Box::pin(receiver)],
        finish: Box::new(|_| ()),
        capacity: None,
        mortal: true,
    }
}

/// Some fill, some read: one fill wins, and everybody sees that value.
pub(crate) fn ivar(setup: &mut Setup) -> Program {
    let cell: IVar<Letter> = IVar::new();
    let (fillers, readers) = setup.sides();
    let mut program = Program {
        parties: Vec::new(),
        finish: Box::new(|_| ()),
        capacity: None,
        // The readers wait for the fill.
        mortal: false,
    };
    setup.powers.dies = false;
    for _ in 0..fillers {
        let (mut hand, cell) = (setup.hand(), cell.clone());
        program.parties.push(Box::pin(async move {
            if hand.dice.below(2) == 0 {
                pause().await;
            }
            let mut offer = hand.share(0);
            let filled = cell.fill(offer.give());
            offer.back(filled.err());
        }));
    }
    for _ in 0..readers {
        let (mut hand, cell) = (setup.hand(), cell.clone());
        program.parties.push(Box::pin(async move {
            for act in 0..=hand.acts {
                let asked = hand.diary.ask(0, Act::Look);
                let read = if act == hand.acts {
                    Some(hand.certainly(cell.read()).await)
                } else {
                    hand.perform(cell.read()).await
                };
                asked.got(read.map_or(Got::Dropped, |letter| Got::Value(letter.n)));
            }
        }));
    }
    program.finish = Box::new(move |end| {
        let seen = cell.try_read().map(|letter| letter.n);
        let looked = end.diary.ask(0, Act::Look);
        looked.got(seen.map_or(Got::Nothing, Got::Value));
    });
    program
}

/// Puts a value back into the cell, whatever happens to the party that has taken it out.
struct PutBack<'a> {
    cell: &'a MVar<Letter>,
    hand: &'a mut Hand,
}

impl Drop for PutBack<'_> {
    fn drop(&mut self) {
        let mut offer = self.hand.offer(0);
        // Nobody else has a value to put.
        let put = self.cell.try_put(offer.give());
        offer.back(put.err());
    }
}

/// Each takes what is there and puts a new value back.
pub(crate) fn mvar(setup: &mut Setup) -> Program {
    let diary: Diary = setup.log.diary();
    let cell = Arc::new(MVar::empty());
    let asked = diary.ask(0, Act::Put(0));
    let put = cell.try_put(setup.ledger.letter(0));
    asked.got(if put.is_ok() { Got::Done } else { Got::Back });
    let mut program = Program {
        parties: Vec::new(),
        finish: Box::new(|_| ()),
        capacity: Some(1),
        mortal: true,
    };
    for _ in 0..setup.crowd() {
        let (mut hand, cell) = (setup.hand(), cell.clone());
        program.parties.push(Box::pin(async move {
            for _ in 0..hand.acts {
                let asked = hand.diary.ask(0, Act::Take);
                let Some(letter) = hand.perform(cell.take()).await else {
                    continue;
                };
                asked.got(Got::Value(letter.n));
                let back = PutBack {
                    cell: &cell,
                    hand: &mut hand,
                };
                drop(letter);
                back.hand.may_die();
                if back.hand.dice.below(2) == 0 {
                    pause().await;
                }
                drop(back);
            }
        }));
    }
    let probe = setup.ledger.letter(u64::MAX);
    program.finish = Box::new(move |end| {
        if let Some(letter) = cell.try_take() {
            end.left(0, letter.n);
        }
        // A wait that was left in the list would take what is put now.
        let put = cell.put(probe).try_now().is_ok();
        let kept = cell.try_take().is_some();
        end.gauge("no-wait-left", "takers", 0, u64::from(put && !kept));
    });
    program
}
