//! What our own scheduler runs: timers, and tasks that are joined, aborted and left alone.

use std::sync::Arc;
use std::time::Duration;

use tidings::choose;
use tidings::sched::Handle;
use tidings::time::{self, Instant};

use super::{Program, Setup};
use crate::history::{Act, Got};
use crate::party::Hand;
use crate::waits::pause;

/// Everybody sleeps, some give up.
pub(crate) fn timer(setup: &mut Setup) -> Program {
    let mut parties: Vec<crate::party::Party> = Vec::new();
    for _ in 0..setup.crowd() {
        let mut hand = setup.hand();
        parties.push(Box::pin(async move {
            for _ in 0..hand.acts {
                hand.may_die();
                let short = Duration::from_micros(hand.dice.below(150));
                let long = short + Duration::from_micros(hand.dice.below(100));
                let way = hand.dice.below(3);
                let start = Instant::now();
                let asked = hand.diary.ask(0, Act::Sleep(nanos(short)));
                let over = match way {
                    0 => hand.perform(time::after(short)).await,
                    1 => hand.perform(time::at(start + short)).await,
                    _ => {
                        hand.perform(choose([time::after(long), time::after(short)]))
                            .await
                    }
                };
                if over.is_some() {
                    asked.got(Got::Value(nanos(start.elapsed())));
                }
            }
        }));
    }
    Program {
        parties,
        finish: Box::new(|_| ()),
        capacity: None,
        mortal: true,
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap()
}

/// What becomes of a task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Joined,
    Aborted,
    Detached,
}

/// Parties start tasks, which give a value; join them, abort them, or leave them alone.
pub(crate) fn task(setup: &mut Setup) -> Program {
    let handle = setup.home();
    // Tasks may die; those who join them must not, or nobody would take the values.
    let dies = std::mem::replace(&mut setup.powers.dies, false);
    let mut parties: Vec<crate::party::Party> = Vec::new();
    for _ in 0..setup.crowd() {
        let parent = setup.hand();
        let children: Vec<_> = (0..parent.acts)
            .map(|_| {
                let mut child = setup.hand();
                child.powers.dies = dies;
                let fate = match child.dice.below(4) {
                    0 => Fate::Aborted,
                    1 => Fate::Detached,
                    _ => Fate::Joined,
                };
                (child, fate)
            })
            .collect();
        parties.push(Box::pin(starter(parent, handle.clone(), children)));
    }
    Program {
        parties,
        finish: Box::new(|_| ()),
        capacity: None,
        mortal: false,
    }
}

async fn starter(mut hand: Hand, handle: Handle, children: Vec<(Hand, Fate)>) {
    for (mut child, fate) in children {
        // Is there as long as the task's future or its output is.
        let alive = Arc::new(());
        let gone = Arc::downgrade(&alive);
        let mut task = handle.spawn(async move {
            let mut offer = child.offer(0);
            for _ in 0..child.acts {
                pause().await;
                child.may_die();
            }
            let letter = offer.give();
            if fate == Fate::Joined {
                offer.back(None);
            }
            drop(offer);
            (letter, alive)
        });
        if fate == Fate::Detached {
            drop(task);
        } else {
            if fate == Fate::Aborted {
                for _ in 0..hand.dice.below(4) {
                    pause().await;
                }
                task.abort();
            }
            loop {
                let asked = hand.diary.ask(0, Act::Take);
                let got = match hand.perform(task.join()).await {
                    Some(Ok((letter, _))) => Got::Value(letter.n),
                    Some(Err(_)) => Got::Closed,
                    None => continue,
                };
                asked.got(got);
                break;
            }
        }
        while gone.strong_count() > 0 {
            pause().await;
        }
    }
}
