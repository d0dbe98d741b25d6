//! Choices over two channels, on one side and on both.

use tidings::{Either, Event, Receiver, Sender, choose};

use super::{Program, Setup};
use crate::history::{Act, Got};
use crate::letter::Letter;
use crate::party::Hand;

type Ends = (Sender<Letter>, Receiver<Letter>);

fn two(setup: &mut Setup) -> [Ends; 2] {
    [(); 2].map(|()| match setup.dice.below(4) {
        0 => tidings::bounded(1),
        1 => tidings::unbounded(),
        _ => tidings::channel(),
    })
}

/// Some send into one of two channels, some receive from one of them.
pub(crate) fn choice(setup: &mut Setup) -> Program {
    let [(a, ar), (b, br)] = two(setup);
    let (senders, receivers) = setup.sides();
    let looks = setup.one_in(2);
    if looks {
        setup.powers.dies = false;
    }
    let mut program = Program {
        parties: Vec::new(),
        finish: Box::new(|_| ()),
        capacity: None,
        mortal: !looks,
    };
    for _ in 0..senders {
        program
            .parties
            .push(Box::pin(sender(setup.hand(), [a.clone(), b.clone()])));
    }
    for _ in 0..receivers {
        let both = [ar.clone(), br.clone()];
        program
            .parties
            .push(Box::pin(receiver(setup.hand(), both, looks)));
    }
    if looks {
        program.finish = Box::new(move |end| {
            for (source, rx) in [ar, br].iter().enumerate() {
                super::channels::ends(end, u32::try_from(source).unwrap(), rx);
            }
        });
    }
    program
}

async fn sender(mut hand: Hand, [a, b]: [Sender<Letter>; 2]) {
    for _ in 0..hand.acts {
        hand.may_die();
        let choice = hand.diary.choice();
        let chosen = hand.diary.ask_in(0, Act::Choose, choice);
        let mut left = hand.offer_in(0, choice);
        let mut right = hand.offer_in(1, choice);
        // What came of each value shows in its offer.
        let sends = choose([
            a.send_from(&mut left.letter),
            b.send_from(&mut right.letter),
        ]);
        let sent = hand.perform(sends).await;
        drop((left, right));
        chosen.got(match sent {
            Some(Ok(())) => Got::Done,
            Some(Err(_)) => Got::Closed,
            None => Got::Dropped,
        });
    }
}

async fn receiver(mut hand: Hand, [a, b]: [Receiver<Letter>; 2], stays: bool) {
    let mut open = vec![(0, a), (1, b)];
    let mut acts = 0;
    while !open.is_empty() && (stays || acts < hand.acts) {
        acts += 1;
        hand.may_die();
        let choice = hand.diary.choice();
        let chosen = hand.diary.ask_in(0, Act::Choose, choice);
        let asked: Vec<_> = open
            .iter()
            .map(|(i, _)| hand.diary.ask_in(*i, Act::Take, choice))
            .collect();
        let receives = choose(
            open.iter()
                .map(|(i, rx)| rx.recv().map(move |got| (*i, got))),
        );
        let Some((from, got)) = hand.perform(receives).await else {
            continue;
        };
        let won = match &got {
            Ok(letter) => Got::Value(letter.n),
            Err(_) => Got::Closed,
        };
        for ((i, _), asked) in open.iter().zip(asked) {
            asked.got(if *i == from { won } else { Got::Nothing });
        }
        chosen.got(if got.is_ok() { Got::Done } else { Got::Closed });
        if got.is_err() {
            open.retain(|(i, _)| *i != from);
        }
    }
}

/// Everybody sends into one channel or receives from the other, whichever happens: each act of one
/// side needs one of the other.
pub(crate) fn swap(setup: &mut Setup) -> Program {
    let [(a, ar), (b, br)] = [tidings::channel(), tidings::channel()];
    let (left, right) = setup.sides();
    let mut program = Program {
        parties: Vec::new(),
        finish: Box::new(|_| ()),
        capacity: Some(0),
        mortal: true,
    };
    for _ in 0..left {
        program.parties.push(Box::pin(face(
            setup.hand(),
            (0, a.clone()),
            (1, br.clone()),
        )));
    }
    for _ in 0..right {
        program.parties.push(Box::pin(face(
            setup.hand(),
            (1, b.clone()),
            (0, ar.clone()),
        )));
    }
    program
}

async fn face(mut hand: Hand, to: (u32, Sender<Letter>), from: (u32, Receiver<Letter>)) {
    for _ in 0..hand.acts {
        hand.may_die();
        let choice = hand.diary.choice();
        let chosen = hand.diary.ask_in(to.0, Act::Choose, choice);
        let mut offer = hand.offer_in(to.0, choice);
        let asked = hand.diary.ask_in(from.0, Act::Take, choice);
        let either = to.1.send(offer.give()).either(from.1.recv());
        let Some(happened) = hand.perform(either).await else {
            continue;
        };
        let got = match happened {
            Either::Left(Ok(()), ()) => {
                offer.back(None);
                asked.got(Got::Nothing);
                Got::Done
            }
            Either::Left(Err(error), ()) => {
                offer.back(Some(error.into_inner()));
                asked.got(Got::Closed);
                Got::Closed
            }
            Either::Right(Ok(letter), unsent) => {
                offer.back(Some(unsent));
                asked.got(Got::Value(letter.n));
                Got::Done
            }
            Either::Right(Err(_), unsent) => {
                offer.back(Some(unsent));
                asked.got(Got::Closed);
                Got::Closed
            }
        };
        drop(offer);
        chosen.got(got);
        if got == Got::Closed {
            return;
        }
    }
}
