//! `primitive/leaning.rs`: a worker's plain stores against those who take the lean back, whenever they come.

use std::sync::Arc;

use super::{explore_deep, fork, seen};
use crate::primitive::atomic::{AtomicBool, Ordering};
use crate::primitive::{LeaningLock, Me, UnsafeCell};

const ONE: Me = Me { name: 1, id: 1 };
const TWO: Me = Me { name: 2, id: 2 };

struct Shared {
    lock: LeaningLock,
    n: UnsafeCell<u32>,
}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            lock: LeaningLock::new(),
            n: UnsafeCell::new(0),
        })
    }

    /// Gives how many came before.
    fn come(&self, me: Me) -> u32 {
        self.lock.lock(me);
        // SAFETY: loom fails the model if two are here at once, or unordered.
        let before = self.n.with_mut(|n| unsafe {
            *n += 1;
            *n - 1
        });
        self.lock.unlock();
        before
    }
}

/// Comes twice, after which the lock leans towards it.
fn settled(shared: &Shared) {
    shared.come(ONE);
    shared.come(ONE);
    assert!(shared.lock.leans());
}

#[test]
fn an_owner_and_one_who_passes_exclude_each_other() {
    const OUTCOMES: &[&str] = &[
        "before all",
        "in between",
        "after all",
        "the owner was late",
        "the owner was waited for",
    ];
    explore_deep(4, "leaning", OUTCOMES, || {
        let shared = Shared::new();
        settled(&shared);
        let other = Arc::clone(&shared);
        let other = fork(move || match other.come(Me::ANYBODY) {
            2 => seen("before all"),
            3 => seen("in between"),
            _ => seen("after all"),
        });
        shared.come(ONE);
        shared.come(ONE);
        other.join().unwrap();
        assert_eq!(shared.come(ONE), 5, "each sees what all others did");
    });
}

#[test]
fn one_who_passes_while_a_lean_begins_is_excluded() {
    explore_deep(4, "leaning/begins", &["it leant", "it did not"], || {
        let shared = Shared::new();
        let other = Arc::clone(&shared);
        let other = fork(move || {
            other.come(Me::ANYBODY);
            other.come(Me::ANYBODY);
        });
        shared.come(ONE);
        shared.come(ONE);
        seen(match shared.lock.leans() {
            true => "it leant",
            false => "it did not",
        });
        shared.come(ONE);
        other.join().unwrap();
        assert_eq!(shared.come(ONE), 5);
    });
}

#[test]
fn an_owner_and_two_who_pass_exclude_each_other() {
    explore_deep(
        4,
        "leaning/two",
        &["the owner was late", "the owner was waited for"],
        || {
            let shared = Shared::new();
            settled(&shared);
            let others = [(); 2].map(|()| {
                let other = Arc::clone(&shared);
                fork(move || {
                    other.come(Me::ANYBODY);
                })
            });
            shared.come(ONE);
            others.into_iter().for_each(|other| other.join().unwrap());
            assert_eq!(shared.come(Me::ANYBODY), 5);
        },
    );
}

#[test]
fn a_worker_that_takes_over_is_not_disturbed_by_an_owner_that_is_late() {
    explore_deep(4, "leaning/over", &["the owner was late"], || {
        let shared = Shared::new();
        settled(&shared);
        let other = Arc::clone(&shared);
        // Often enough for a lock that would lean towards anybody.
        let other = fork(move || {
            for _ in 0..4 {
                other.come(TWO);
            }
        });
        shared.come(ONE);
        other.join().unwrap();
        assert!(!shared.lock.leans(), "it leans towards one in its life");
        assert_eq!(shared.come(TWO), 7);
    });
}

/// One who comes says inside that he is the last; another who has heard it sees him out, and ends the lock.
fn ends(name: &'static str, comes: fn(&Shared), last: Me) {
    explore_deep(4, name, &["not yet", "over"], move || {
        let shared = Shared::new();
        comes(&shared);
        let said = Arc::new(AtomicBool::new(false));
        let (other, heard) = (Arc::clone(&shared), Arc::clone(&said));
        let other = fork(move || {
            if !heard.load(Ordering::Acquire) {
                return seen("not yet");
            }
            other.lock.see_out();
            assert!(other.lock.is_over());
            seen("over");
        });
        shared.lock.lock(last);
        said.store(true, Ordering::Release);
        shared.lock.unlock();
        other.join().unwrap();
    });
}

#[test]
fn who_sees_the_last_out_comes_after_all_that_he_did() {
    ends("leaning/out/leant", settled, ONE);
    let once = |shared: &Shared| assert_eq!(shared.come(ONE), 0);
    ends("leaning/out/leans", once, ONE);
    ends("leaning/out/not", |_| (), ONE);
    ends("leaning/out/revoked", settled, Me::ANYBODY);
}
