//! `primitive/parker.rs`: no unpark is lost, and it publishes.

use std::sync::Arc;

use super::{Poller, explore, fork, seen};
use crate::primitive::atomic::{AtomicUsize, Ordering};
use crate::primitive::{Heard, Parker, UnsafeCell};

/// One parks, the others unpark; what an unparker did is visible once it has been heard.
fn park(unparkers: usize) {
    let parker = Arc::new(Parker::current());
    let data: Arc<Vec<_>> = Arc::new((0..unparkers).map(|_| UnsafeCell::new(0)).collect());
    let done = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..unparkers)
        .map(|index| {
            let (parker, data, done) = (parker.clone(), data.clone(), done.clone());
            fork(move || {
                // SAFETY: loom fails the model if the reader is not ordered behind us.
                data[index].with_mut(|data| unsafe { *data = 1 });
                done.fetch_add(1, Ordering::Relaxed);
                parker.unpark();
            })
        })
        .collect();
    let before = done.load(Ordering::Relaxed);
    seen(if before > 0 {
        "unparked before"
    } else {
        "unparked after"
    });
    parker.park();
    if unparkers == 1 {
        // SAFETY: as above.
        assert_eq!(data[0].with(|data| unsafe { *data }), 1);
    }
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

#[test]
fn an_unpark_before_or_after_the_park_ends_it() {
    explore("parker", &["unparked before", "unparked after"], || park(1));
}

#[test]
fn two_unparks_end_a_park() {
    explore("parker/two", &["unparked before", "unparked after"], || {
        park(2)
    });
}

/// One waits for two things, for which others unpark and nudge it.
#[test]
fn who_is_nudged_and_unparked_hears_of_both() {
    const OUTCOMES: &[&str] = &["the nudge alone", "the unpark alone", "both at once"];
    explore("parker/nudge", OUTCOMES, || {
        let parker = Arc::new(Parker::current());
        let things: [Arc<AtomicUsize>; 2] = Default::default();
        let told = things.clone().map(|thing| {
            let (parker, first) = (parker.clone(), Arc::ptr_eq(&thing, &things[0]));
            fork(move || {
                // RELAXED: who hears of it sees it, by the token.
                thing.store(1, Ordering::Relaxed);
                if first {
                    parker.unpark();
                } else {
                    parker.nudge();
                }
            })
        });
        let is_there = |thing: usize| things[thing].load(Ordering::Relaxed) == 1;
        let mut there = [false; 2];
        while there != [true; 2] {
            let before = there;
            match parker.listen(None) {
                Heard::Unpark => {
                    assert!(is_there(0), "it is unparked for it");
                    there = [true, is_there(1)];
                }
                Heard::Nudge => {
                    assert!(is_there(1), "it is nudged for it");
                    there[1] = true;
                }
                Heard::Nothing => unreachable!("it listens until it hears"),
            }
            seen(match (before, there) {
                ([false, false], [false, true]) => "the nudge alone",
                ([false, false], [true, false]) => "the unpark alone",
                ([false, false], _) => "both at once",
                _ => continue,
            });
        }
        told.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// One waits in a poller, which it made just before; the other unparks it.
#[test]
fn an_unpark_finds_who_waits_in_another_place() {
    const OUTCOMES: &[&str] = &["unparked before it left", "woken where it was"];
    explore("parker/away", OUTCOMES, || {
        let parker = Arc::new(Parker::current());
        let place = Arc::new(UnsafeCell::new(None));
        let data = Arc::new(UnsafeCell::new(0));
        let unparker = {
            let (parker, place, data) = (parker.clone(), place.clone(), data.clone());
            fork(move || {
                // SAFETY: loom fails the model if the reader is not ordered behind us.
                data.with_mut(|data| unsafe { *data = 1 });
                if parker.unpark() {
                    // SAFETY: as above, of the writer before us.
                    let place: Option<Arc<Poller>> =
                        place.with(|place| unsafe { (*place).clone() });
                    place.expect("it said that it went there").wake();
                }
            })
        };
        let poller = Arc::new(Poller::new());
        // SAFETY: as above.
        place.with_mut(|place| unsafe { *place = Some(poller.clone()) });
        if parker.leave() {
            poller.poll(true);
            parker.come_back();
            seen("woken where it was");
        } else {
            seen("unparked before it left");
        }
        // SAFETY: as above.
        assert_eq!(data.with(|data| unsafe { *data }), 1);
        unparker.join().unwrap();
    });
}
