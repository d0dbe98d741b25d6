//! Senders and receivers of one channel, in all ways there are to send and to receive.

use tidings::{Either, Event, Receiver, SendError, Sender, TryRecvError, TrySendError, always};

use super::{End, Program, Setup};
use crate::history::{Act, Got};
use crate::letter::Letter;
use crate::party::Hand;

pub(crate) fn rendezvous(setup: &mut Setup) -> Program {
    program(setup, tidings::channel(), Some(0))
}

pub(crate) fn bounded(setup: &mut Setup) -> Program {
    let capacity = 1 + setup.dice.below(2);
    let places = usize::try_from(capacity).unwrap();
    program(setup, tidings::bounded(places), Some(capacity))
}

pub(crate) fn unbounded(setup: &mut Setup) -> Program {
    program(setup, tidings::unbounded(), None)
}

/// The one channel of the program.
const CHAN: u32 = 0;

fn program(
    setup: &mut Setup,
    (tx, rx): (Sender<Letter>, Receiver<Letter>),
    capacity: Option<u64>,
) -> Program {
    let (senders, receivers) = setup.sides();
    // With a receiver that looks at the end all receivers stay, or senders would wait for ever.
    let looks = setup.one_in(2);
    if looks {
        setup.powers.dies = false;
    }
    let mut program = Program {
        parties: Vec::new(),
        finish: Box::new(|_| ()),
        capacity,
        mortal: !looks,
    };
    for _ in 0..senders {
        let (hand, tx) = (setup.hand(), tx.clone());
        program
            .parties
            .push(Box::pin(sender(hand, tx, capacity == Some(0))));
    }
    for _ in 0..receivers {
        let stays = looks || setup.one_in(2);
        let (hand, rx) = (setup.hand(), rx.clone());
        program.parties.push(Box::pin(receiver(hand, rx, stays)));
    }
    if program.parties.len() < usize::try_from(setup.size.parties).unwrap() && setup.one_in(3) {
        let (hand, tx) = (setup.hand(), tx.clone());
        program.parties.push(Box::pin(closer(hand, tx)));
    }
    program.finish = if looks {
        Box::new(move |end| ends(end, CHAN, &rx))
    } else {
        let weak = rx.downgrade();
        Box::new(move |end| {
            end.gauge(
                "no-wait-left",
                "receivers' side",
                0,
                u64::from(weak.upgrade().is_some()),
            );
        })
    };
    program
}

/// Takes what is left, and counts who waits.
pub(super) fn ends(end: &mut End, source: u32, rx: &Receiver<Letter>) {
    end.none_waits(rx, "receivers_waiting");
    end.none_waits(rx, "senders_waiting");
    while let Ok(letter) = rx.try_recv() {
        end.left(source, letter.n);
    }
}

async fn sender(mut hand: Hand, tx: Sender<Letter>, rendezvous: bool) {
    for _ in 0..hand.acts {
        hand.may_die();
        let way = hand.dice.below(8);
        let mut offer = hand.offer(CHAN);
        match way {
            0 => {
                let sent = tx.try_send(offer.give());
                offer.back(sent.err().map(TrySendError::into_inner));
            }
            1 => {
                if let Some(sent) = hand.perform(tx.send(offer.give())).await {
                    offer.back(sent.err().map(SendError::into_inner));
                }
            }
            2 => {
                let at_once = tx.send(offer.give()).either(always(())).biased();
                offer.back(match hand.certainly(at_once).await {
                    Either::Left(sent, ()) => sent.err().map(SendError::into_inner),
                    Either::Right((), letter) => Some(letter),
                });
            }
            // A permit of a rendezvous channel posts: its send waits for nobody.
            3 if !rendezvous => {
                if let Some(Ok(permit)) = hand.perform(tx.reserve()).await {
                    hand.may_die();
                    let sent = permit.send(offer.give());
                    offer.back(sent.err().map(SendError::into_inner));
                }
            }
            _ => {
                // What came of it shows in the offer.
                let _ = hand.perform(tx.send_from(&mut offer.letter)).await;
            }
        }
    }
}

async fn receiver(mut hand: Hand, rx: Receiver<Letter>, stays: bool) {
    let mut acts = 0;
    while stays || acts < hand.acts {
        acts += 1;
        hand.may_die();
        let way = hand.dice.below(8);
        let asked = hand.diary.ask(CHAN, Act::Take);
        let got = match way {
            0 => match rx.try_recv() {
                Ok(letter) => Got::Value(letter.n),
                Err(TryRecvError::Empty) => Got::Nothing,
                Err(TryRecvError::Closed) => Got::Closed,
            },
            1 => {
                let mut letters = Vec::new();
                let second = hand.diary.ask(CHAN, Act::Take);
                let n = hand.perform(rx.recv_many(&mut letters, 2)).await;
                let place = |i: usize| match (n, letters.get(i)) {
                    (None, _) => Got::Dropped,
                    (_, Some(letter)) => Got::Value(letter.n),
                    (Some(0), None) => Got::Closed,
                    (Some(_), None) => Got::Nothing,
                };
                second.got(place(1));
                place(0)
            }
            _ => match hand.perform(rx.recv()).await {
                Some(Ok(letter)) => Got::Value(letter.n),
                Some(Err(_)) => Got::Closed,
                None => Got::Dropped,
            },
        };
        asked.got(got);
        match got {
            Got::Closed => return,
            // Nobody else may be running: whoever looks must let the others run.
            Got::Nothing => crate::waits::pause().await,
            _ => {}
        }
    }
}

async fn closer(hand: Hand, tx: Sender<Letter>) {
    for _ in 0..hand.acts {
        crate::waits::pause().await;
    }
    let asked = hand.diary.ask(CHAN, Act::Close);
    tx.close();
    asked.got(Got::Done);
}
