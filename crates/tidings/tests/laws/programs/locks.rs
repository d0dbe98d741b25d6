//! Locks and signals: mutex, reader-writer lock, semaphore, notify, barrier.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tidings::sync::{Barrier, Mutex, Notify, RwLock, Semaphore};

use super::{Program, Setup, number};
use crate::history::{Act, Got};
use crate::party::{Hand, Hold};
use crate::waits::pause;

/// Everybody reads a number under the lock, lets others run, and writes the next.
pub(crate) fn mutex(setup: &mut Setup) -> Program {
    let mutex = Arc::new(Mutex::new(0));
    let increments = Arc::new(AtomicU64::new(0));
    let mut program = crowd(Some(1), true);
    for _ in 0..setup.crowd() {
        let (mut hand, mutex, increments) = (setup.hand(), mutex.clone(), increments.clone());
        program.parties.push(Box::pin(async move {
            for _ in 0..hand.acts {
                let tries = hand.dice.below(5) == 0;
                let asked = hand.diary.ask(0, Act::Acquire(1));
                let guard = match tries {
                    true => mutex.try_lock(),
                    false => hand.perform(mutex.lock()).await,
                };
                let Some(mut guard) = guard else { continue };
                asked.got(Got::Done);
                let n = *guard;
                let last = || {
                    *guard = n + 1;
                    increments.fetch_add(1, Ordering::Relaxed);
                };
                hold(&mut hand, 1, last).await;
            }
        }));
    }
    program.finish = Box::new(move |end| {
        end.none_waits(&mutex, "waiting");
        end.gauge(
            "cancel",
            "locks left",
            0,
            u64::from(mutex.try_lock().is_none()),
        );
        let expected = increments.load(Ordering::Relaxed);
        let found = mutex.try_lock().map_or(u64::MAX, |guard| *guard);
        end.gauge("bound", "increments", expected, found);
    });
    program
}

/// A reader holds one place of as many as there are parties, a writer all.
pub(crate) fn rw_lock(setup: &mut Setup) -> Program {
    let all = setup.crowd();
    let lock = Arc::new(RwLock::new(0));
    let increments = Arc::new(AtomicU64::new(0));
    let mut program = crowd(Some(all), true);
    for _ in 0..all {
        let (mut hand, lock, increments) = (setup.hand(), lock.clone(), increments.clone());
        program.parties.push(Box::pin(async move {
            for _ in 0..hand.acts {
                match hand.dice.below(2) {
                    0 => read(&mut hand, &lock).await,
                    _ => write(&mut hand, &lock, all, &increments).await,
                }
            }
        }));
    }
    program.finish = Box::new(move |end| {
        end.none_waits(&lock, "waiting");
        let left = u64::from(lock.try_write().is_none());
        end.gauge("cancel", "locks left", 0, left);
        let expected = increments.load(Ordering::Relaxed);
        let found = lock.try_read().map_or(u64::MAX, |guard| *guard);
        end.gauge("bound", "increments", expected, found);
    });
    program
}

async fn read(hand: &mut Hand, lock: &RwLock<u64>) {
    let tries = hand.dice.below(5) == 0;
    let asked = hand.diary.ask(0, Act::Acquire(1));
    let guard = match tries {
        true => lock.try_read(),
        false => hand.perform(lock.read()).await,
    };
    let Some(guard) = guard else { return };
    asked.got(Got::Done);
    let n = *guard;
    let last = || assert_eq!(*guard, n, "somebody wrote");
    hold(hand, 1, last).await;
}

async fn write(hand: &mut Hand, lock: &RwLock<u64>, all: u64, increments: &AtomicU64) {
    let tries = hand.dice.below(5) == 0;
    let asked = hand.diary.ask(0, Act::Acquire(all));
    let guard = match tries {
        true => lock.try_write(),
        false => hand.perform(lock.write()).await,
    };
    let Some(mut guard) = guard else { return };
    asked.got(Got::Done);
    let n = *guard;
    let last = || {
        *guard = n + 1;
        increments.fetch_add(1, Ordering::Relaxed);
    };
    hold(hand, all, last).await;
}

/// Holds so many permits for a while, which are given back after the `last` that it does.
async fn hold(hand: &mut Hand, permits: u64, last: impl FnOnce()) {
    let diary = hand.diary.clone();
    let _hold = Hold {
        diary: &diary,
        source: 0,
        permits,
    };
    hand.may_die();
    if hand.dice.below(2) == 0 {
        pause().await;
    }
    last();
}

fn crowd(capacity: Option<u64>, mortal: bool) -> Program {
    Program {
        parties: Vec::new(),
        finish: Box::new(|_| ()),
        capacity,
        mortal,
    }
}

/// Everybody holds some permits for a while.
pub(crate) fn semaphore(setup: &mut Setup) -> Program {
    let permits = 1 + setup.dice.below(3);
    let semaphore = Arc::new(Semaphore::new(usize::try_from(permits).unwrap()));
    let closes = setup.one_in(4);
    let mut program = crowd(Some(permits), true);
    for index in 0..setup.crowd() {
        let (mut hand, semaphore) = (setup.hand(), semaphore.clone());
        program.parties.push(Box::pin(async move {
            for _ in 0..hand.acts {
                if !hold_some(&mut hand, &semaphore, permits).await {
                    return;
                }
            }
            if closes && index == 0 {
                let asked = hand.diary.ask(0, Act::Close);
                semaphore.close();
                asked.got(Got::Done);
            }
        }));
    }
    program.finish = Box::new(move |end| {
        end.none_waits(&semaphore, "waiting");
        end.gauge("cancel", "permits", permits, number(&semaphore, "permits"));
    });
    program
}

/// `false`: the semaphore is closed.
async fn hold_some(hand: &mut Hand, semaphore: &Semaphore, permits: u64) -> bool {
    let n = 1 + hand.dice.below(permits);
    let tries = hand.dice.below(5) == 0;
    let places = usize::try_from(n).unwrap();
    let asked = hand.diary.ask(0, Act::Acquire(n));
    let permit = match tries {
        true => semaphore.try_acquire(places).ok(),
        false => match hand.perform(semaphore.acquire(places)).await {
            Some(Err(_)) => {
                asked.got(Got::Closed);
                return false;
            }
            Some(Ok(permit)) => Some(permit),
            None => None,
        },
    };
    let Some(_permit) = permit else { return true };
    asked.got(Got::Done);
    hold(hand, n, || ()).await;
    true
}

/// What is put in by some and taken out by others, who are signalled: a condition variable.
struct Shelf {
    notify: Notify,
    items: AtomicU64,
    taken: AtomicU64,
}

impl Shelf {
    fn signal(&self, hand: &Hand) {
        hand.diary.ask(0, Act::Signal).got(Got::Done);
        self.notify.notify_one();
    }
}

/// Items are announced one by one, or a gate opens for all at once.
pub(crate) fn notify(setup: &mut Setup) -> Program {
    let (producers, consumers) = setup.sides();
    let mut program = crowd(None, false);
    setup.powers.dies = false;
    let shelf = Arc::new(Shelf {
        notify: Notify::new(),
        items: AtomicU64::new(0),
        taken: AtomicU64::new(0),
    });
    let gate = setup.one_in(3).then(|| Arc::new(AtomicBool::new(false)));
    let mut all = 0;
    for _ in 0..producers {
        let (hand, shelf, gate) = (setup.hand(), shelf.clone(), gate.clone());
        all += hand.acts;
        program.parties.push(Box::pin(async move {
            for _ in 0..hand.acts {
                pause().await;
                match &gate {
                    Some(open) => {
                        open.store(true, Ordering::SeqCst);
                        shelf.notify.notify_waiters();
                    }
                    None => {
                        shelf.items.fetch_add(1, Ordering::SeqCst);
                        shelf.signal(&hand);
                    }
                }
            }
        }));
    }
    for _ in 0..consumers {
        let (hand, shelf) = (setup.hand(), shelf.clone());
        match gate.clone() {
            Some(open) => program.parties.push(Box::pin(passer(hand, shelf, open))),
            None => program.parties.push(Box::pin(consumer(hand, shelf, all))),
        }
    }
    program.finish = Box::new(move |end| end.none_waits(&shelf.notify, "waiting"));
    program
}

/// Takes what is there, until all has been taken by somebody.
async fn consumer(mut hand: Hand, shelf: Arc<Shelf>, all: u64) {
    loop {
        let items = shelf.items.swap(0, Ordering::SeqCst);
        if shelf.taken.fetch_add(items, Ordering::SeqCst) + items == all {
            // The others wait for the same.
            return shelf.signal(&hand);
        }
        let asked = hand.diary.ask(0, Act::Await);
        if hand.perform(shelf.notify.notified()).await.is_some() {
            asked.got(Got::Done);
        }
    }
}

/// Waits until the gate is open.
async fn passer(mut hand: Hand, shelf: Arc<Shelf>, open: Arc<AtomicBool>) {
    loop {
        // Made before the look: what is signalled in between is heard.
        let notified = shelf.notify.notified();
        if open.load(Ordering::SeqCst) {
            return;
        }
        let asked = hand.diary.ask(0, Act::Await);
        if hand.perform(notified).await.is_some() {
            asked.got(Got::Nothing);
        }
    }
}

/// All meet, several times.
pub(crate) fn barrier(setup: &mut Setup) -> Program {
    let n = setup.crowd();
    let rounds = 1 + setup.dice.below(setup.size.acts);
    let barrier = Arc::new(Barrier::new(usize::try_from(n).unwrap()));
    let mut program = crowd(Some(n), false);
    for _ in 0..n {
        let (mut hand, barrier) = (setup.hand(), barrier.clone());
        program.parties.push(Box::pin(async move {
            for _ in 0..rounds {
                if hand.dice.below(2) == 0 {
                    pause().await;
                }
                let blocks = hand.powers.blocks && hand.dice.below(2) == 0;
                let asked = hand.diary.ask(0, Act::Meet);
                let met = if blocks {
                    barrier.wait_blocking()
                } else {
                    barrier.wait().await
                };
                asked.got(if met.is_leader() {
                    Got::Lead
                } else {
                    Got::Done
                });
            }
        }));
    }
    program.finish = Box::new(move |end| end.none_waits(&barrier, "arrived"));
    program
}
