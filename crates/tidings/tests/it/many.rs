//! Choices among many, which look at one branch after another before they lock all sources.

use std::time::Duration;

use crate::both::{on_all, watchdog};
use crate::hands::{pinned, poll};
use tidings::sync::Semaphore;
use tidings::{CancellationToken, Event, channel, choose, unbounded};

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

#[test]
fn who_passes_over_choices_that_happened_elsewhere_puts_them_out_of_the_list() {
    on_all(|| async {
        let (tx, rx) = channel();
        let (permits, token) = (Semaphore::new(0), CancellationToken::new());
        let says = |what: &dyn std::fmt::Debug, words: &str| format!("{what:?}").contains(words);
        let (mut choices, mut others) = (Vec::new(), Vec::new());
        for _ in 0..10 {
            let events = [
                rx.recv().map(|_| false).boxed(),
                permits.acquire(1).map(|_| false).boxed(),
                token.cancelled().map(|()| true).boxed(),
            ];
            choices.push(pinned(choose(events)));
            others.push(pinned(rx.recv()));
            assert!(poll(choices.last_mut().unwrap().as_mut()).is_pending());
            assert!(poll(others.last_mut().unwrap().as_mut()).is_pending());
        }
        token.cancel();
        assert!(says(&rx, "receivers_waiting: 20") && says(&permits, "waiting: 10"));
        // Those between them come in their order.
        for (n, other) in others.into_iter().enumerate() {
            tx.try_send(n).unwrap();
            assert_eq!(other.await, Ok(n));
        }
        assert!(says(&rx, "receivers_waiting: 0"));
        permits.add_permits(1);
        assert!(says(&permits, "permits: 1") && says(&permits, "waiting: 0"));
        // They have happened all the same, whether somebody looks or not.
        let mut last = pinned(rx.recv());
        assert!(poll(last.as_mut()).is_pending());
        drop(choices.split_off(5));
        for choice in choices {
            assert!(choice.await);
        }
        tx.try_send(7).unwrap();
        assert_eq!(last.await, Ok(7));
        assert!(tx.try_send(8).is_err() && permits.try_acquire(1).is_ok());
    });
}
