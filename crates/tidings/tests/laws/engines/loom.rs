//! loom: every interleaving, with so many preemptions, of programs of two or three parties.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use loom::thread;

use super::{Amount, drive};
use crate::party::Party;
use crate::programs::Size;
use crate::trial::{Given, Trial};
use crate::waits::Powers;

const AMOUNT: Amount = Amount {
    quick: 12,
    short: 40,
    full: 200,
};

#[test]
fn loom_explores_small_programs() {
    drive("loom", AMOUNT, |row, seed, counts| {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound.get_or_insert(2);
        let counts = Arc::clone(counts);
        builder.check(move || {
            let powers = Powers {
                strange: 1,
                ..Powers::default()
            };
            let size = Size {
                parties: 2 + seed % 2,
                acts: 2 - seed % 2,
            };
            let (trial, mut parties) = Trial::start(
                row,
                Given {
                    engine: "loom",
                    seed,
                    size,
                    powers,
                },
            );
            let last = parties.pop().expect("a program has parties");
            let others: Vec<_> = parties
                .into_iter()
                .map(|party| thread::spawn(move || block_on(party)))
                .collect();
            block_on(last);
            others.into_iter().for_each(|other| other.join().unwrap());
            trial.end(row, &counts);
        });
    });
}

/// A thread of the model that waits for a wake. loom's `unpark` would end its waits for a lock
/// or a join too, so it is only called while the thread is parked here.
struct Unpark {
    woken: loom::sync::atomic::AtomicBool,
    parked: AtomicBool,
    thread: thread::Thread,
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.woken.swap(true, Ordering::AcqRel);
        if self.parked.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
    }
}

fn block_on(mut party: Party) {
    let unpark = Arc::new(Unpark {
        woken: loom::sync::atomic::AtomicBool::new(false),
        parked: AtomicBool::new(false),
        thread: thread::current(),
    });
    let waker = Waker::from(Arc::clone(&unpark));
    while let Poll::Pending = party.as_mut().poll(&mut Context::from_waker(&waker)) {
        while !unpark.woken.swap(false, Ordering::AcqRel) {
            unpark.parked.store(true, Ordering::SeqCst);
            thread::park();
            unpark.parked.store(false, Ordering::SeqCst);
        }
    }
}
