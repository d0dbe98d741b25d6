//! Choices among many, which look at one branch after another before they lock all sources.

use std::time::Duration;

use crate::both::{on_all, watchdog};
use tidings::{Event, choose, unbounded};

#[test]
fn a_choice_of_many_that_looks_at_one_after_another_is_fair_and_takes_one() {
    on_all(|| async {
        let all: Vec<_> = (0..20).map(|_| unbounded()).collect();
        let mut taken = [0; 20];
        for n in 0..4_000 {
            all.iter().for_each(|(tx, _)| tx.try_send(n).unwrap());
            let events = all.iter().enumerate();
            let which = choose(events.map(|(i, (_, rx))| rx.recv().map(move |_| i)));
            taken[which.timeout(Duration::from_secs(1)).await.unwrap()] += 1;
        }
        // 200 each if it is fair, with a deviation of 14.
        assert!(taken.iter().all(|n| (120..280).contains(n)), "{taken:?}");
        for ((_, rx), taken) in all.iter().zip(taken) {
            assert_eq!(rx.len(), 4_000 - taken);
        }
    });
}

#[test]
fn a_choice_of_many_takes_all_that_threads_send_meanwhile() {
    const EACH: u64 = 20_000;
    let _watchdog = watchdog();
    let (to, from): (Vec<_>, Vec<_>) = (0..20).map(|_| unbounded()).unzip();
    std::thread::scope(|scope| {
        for offset in [0, 7] {
            let to = &to;
            scope.spawn(move || {
                for n in 0..EACH {
                    to[(n as usize + offset) % to.len()].try_send(n).unwrap();
                }
            });
        }
        let sum: u64 = (0..2 * EACH)
            .map(|_| choose(from.iter().map(|from| from.recv())).wait().unwrap())
            .sum();
        assert_eq!(sum, EACH * (EACH - 1));
    });
    assert!(from.iter().all(|from| from.is_empty()));
}
