//! Channels on which everybody hears everything: broadcast and watch.

use std::sync::Arc;

use tidings::channel::SendError;
use tidings::channel::broadcast::{self, RecvError, TryRecvError};

use super::{Program, Setup};
use crate::history::{Act, Got};
use crate::letter::Letter;
use crate::party::Hand;
use crate::waits::pause;

fn empty(mortal: bool) -> Program {
    Program {
        parties: Vec::new(),
        finish: Box::new(|_| ()),
        capacity: None,
        mortal,
    }
}

/// Values that are cloned for each listener are counted once: by their number of owners.
type Shared = Arc<Letter>;

/// Some send, some listen.
pub(crate) fn broadcast(setup: &mut Setup) -> Program {
    let kept = usize::try_from(1 + setup.dice.below(4)).unwrap();
    let (tx, rx) = broadcast::broadcast(kept);
    let (senders, listeners) = setup.sides();
    // Where a sender looks at the end nobody hears of an end, and nobody waits for one.
    let ends = setup.one_in(2);
    // All subscribe before the first value is sent.
    let mut receivers: Vec<_> = (1..listeners).map(|_| tx.subscribe()).collect();
    receivers.push(rx);
    let mut program = empty(true);
    for _ in 0..senders {
        program
            .parties
            .push(Box::pin(announcer(setup.hand(), tx.clone())));
    }
    for rx in receivers {
        program
            .parties
            .push(Box::pin(listener(setup.hand(), rx, ends)));
    }
    if !ends {
        program.finish = Box::new(move |end| end.none_waits(&tx, "receivers_waiting"));
    }
    program
}

async fn announcer(mut hand: Hand, tx: broadcast::Sender<Shared>) {
    for _ in 0..hand.acts {
        hand.may_die();
        let mut offer = hand.share(0);
        let sent = tx.send(Arc::new(offer.give()));
        // Without a listener the value comes back; nobody else has it.
        offer.back(
            sent.err()
                .and_then(|error| Arc::into_inner(error.into_inner())),
        );
        if hand.dice.below(2) == 0 {
            pause().await;
        }
    }
}

async fn listener(mut hand: Hand, mut rx: broadcast::Receiver<Shared>, ends: bool) {
    let mut acts = 0;
    while ends || acts < hand.acts {
        acts += 1;
        hand.may_die();
        let looks = hand.dice.below(5) == 0;
        let asked = hand.diary.ask(0, Act::Hear);
        let heard = if looks {
            match rx.try_recv() {
                Ok(letter) => Got::Value(letter.n),
                Err(TryRecvError::Empty) => Got::Nothing,
                Err(TryRecvError::Lagged(n)) => Got::Missed(n),
                Err(TryRecvError::Closed) => Got::Closed,
            }
        } else {
            match hand.perform_or_try(ends, rx.recv()).await {
                Some(Ok(letter)) => Got::Value(letter.n),
                Some(Err(RecvError::Lagged(n))) => Got::Missed(n),
                Some(Err(RecvError::Closed)) => Got::Closed,
                None => Got::Dropped,
            }
        };
        asked.got(heard);
        match heard {
            Got::Closed => return,
            Got::Nothing => pause().await,
            _ => {}
        }
    }
}

/// One sends, some follow the last value.
pub(crate) fn watch(setup: &mut Setup) -> Program {
    let (tx, rx) = tidings::channel::watch::watch(setup.ledger.letter(u64::MAX));
    let ends = setup.one_in(2);
    let mut program = empty(true);
    for _ in 1..setup.crowd() {
        program
            .parties
            .push(Box::pin(follower(setup.hand(), rx.clone(), ends)));
    }
    let tx = Arc::new(tx);
    if !ends {
        let tx = Arc::clone(&tx);
        program.finish = Box::new(move |end| end.none_waits(&*tx, "receivers_waiting"));
    }
    program.parties.push(Box::pin(leader(setup.hand(), tx)));
    program
}

async fn leader(mut hand: Hand, tx: Arc<tidings::channel::watch::Sender<Letter>>) {
    for _ in 0..=hand.acts {
        hand.may_die();
        let mut offer = hand.share(0);
        let sent = tx.send(offer.give());
        offer.back(sent.err().map(SendError::into_inner));
        if hand.dice.below(2) == 0 {
            pause().await;
        }
    }
}

async fn follower(mut hand: Hand, mut rx: tidings::channel::watch::Receiver<Letter>, ends: bool) {
    let mut acts = 0;
    while ends || acts < hand.acts {
        acts += 1;
        hand.may_die();
        let asked = hand.diary.ask(0, Act::Hear);
        let heard = match hand.perform_or_try(ends, rx.changed()).await {
            Some(Ok(())) => Got::Value(rx.get_and_update().n),
            Some(Err(_)) => Got::Closed,
            None => Got::Dropped,
        };
        asked.got(heard);
        if heard == Got::Closed {
            return;
        }
    }
}
