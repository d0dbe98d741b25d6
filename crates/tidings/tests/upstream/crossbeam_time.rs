//! crossbeam-channel's `tests/{after,tick,never}.rs`, in virtual time: what is exact there is exact.

use std::time::Duration;

use crate::both::{on_all, run, seeded};
use crate::hands::{pinned, poll};
use tidings::time::{Instant, MissedTicks, interval, interval_at};
use tidings::{Event, after, at, choose, never, select, unbounded};

const MS: Duration = Duration::from_millis(1);

/// Virtual time is kept in steps; a timer fires within this of its deadline.
const STEP: Duration = MS;

fn in_virtual_time<F>(body: impl Fn() -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    for seed in 0..20 {
        run(&seeded(seed), body());
    }
}

/// `after.rs: fire`, `recv`, `try_recv`: not before its time, and at it.
#[test]
fn a_timer_fires_at_its_time_and_not_before() {
    in_virtual_time(|| async {
        let start = Instant::now();
        let mut timer = pinned(at(start + MS * 50));
        assert!(poll(timer.as_mut()).is_pending());
        after(MS * 20).await;
        assert!(poll(timer.as_mut()).is_pending());
        assert!(start.elapsed() < MS * 50);
        timer.await;
        assert!(start.elapsed() >= MS * 50 && start.elapsed() <= MS * 50 + STEP);
        assert_eq!(at(start).try_now(), Ok(()));
    });
}

/// `recv_two`, `recv_race`: of several timers the first wins, each time, and the losers do not.
#[test]
fn the_first_of_several_timers_wins() {
    in_virtual_time(|| async {
        let start = Instant::now();
        for round in 1..=10u32 {
            let begun = Instant::now();
            let order = [3, 1, 2, 5, 4].map(|n| after(MS * n * 10).map(move |()| n));
            assert_eq!(choose(order).await, 1);
            assert!(begun.elapsed() >= MS * 10);
            assert!(start.elapsed() <= (MS * 10 + STEP) * round);
        }
    });
}

/// `select`, `ready`, `stress_default`: timers, messages and defaults in one choice.
#[test]
fn a_timer_in_a_choice_waits_for_its_time_only() {
    in_virtual_time(|| async {
        let (tx, rx) = unbounded();
        let start = Instant::now();
        drop(tidings::spawn(async move {
            for n in 0..5 {
                after(MS * 20).await;
                tx.send(n).await.unwrap();
            }
            std::future::pending::<()>().await;
        }));
        let mut got = 0;
        loop {
            select! {
                n = rx.recv() => { assert_eq!(n, Ok(got)); got += 1 },
                () = at(start + MS * 70) => break,
            }
        }
        assert_eq!(got, 3);
        assert!(start.elapsed() >= MS * 70 && start.elapsed() <= MS * 70 + STEP);
        assert!(after(MS).try_now().is_err());
    });
}

/// `after.rs: fairness`, `fairness_duplicates`; `tick.rs: fairness`: timers that are all over are
/// taken alike.
#[test]
fn timers_that_are_over_are_taken_alike() {
    in_virtual_time(|| async {
        let past = Instant::now();
        after(MS).await;
        let mut hits = [0; 4];
        for _ in 0..400 {
            hits[choose((0..4).map(|n| at(past).map(move |()| n))).await] += 1;
        }
        assert!(hits.iter().all(|&n| n >= 40), "{hits:?}");
    });
}

/// `tick.rs: fire`, `intervals`, `recv`: the first at once, then one every period, each with the
/// time it was due.
#[test]
fn ticks_come_at_their_times() {
    in_virtual_time(|| async {
        let start = Instant::now();
        let mut ticks = interval(MS * 20);
        for n in 0..5 {
            let due = ticks.tick().await;
            assert_eq!(due - start, MS * 20 * n);
            let late = start.elapsed().checked_sub(MS * 20 * n).expect("not early");
            assert!(late <= STEP);
        }
        assert!(ticks.tick().try_now().is_err());
        assert_eq!(ticks.period(), MS * 20);
    });
}

/// `tick.rs: intervals` with a reader that is late: what was missed comes as it was told.
#[test]
fn ticks_that_were_missed_come_as_told() {
    in_virtual_time(|| async {
        for (missed, expected) in [
            (MissedTicks::Burst, [20, 40, 60, 80]),
            (MissedTicks::Skip, [20, 80, 100, 120]),
        ] {
            let start = Instant::now();
            let mut ticks = interval_at(start + MS * 20, MS * 20).missed_ticks(missed);
            after(MS * 65).await;
            for due in expected {
                let tick = ticks.tick().await;
                assert_eq!(tick - start, MS * due, "{missed:?}");
                assert!(start.elapsed() >= MS * due);
            }
        }
    });
}

/// `tick.rs: select`, `stress_default`: two tickers in one choice, of different periods.
#[test]
fn two_tickers_in_a_choice_keep_their_periods() {
    in_virtual_time(|| async {
        let start = Instant::now();
        let mut fast = interval_at(start + MS * 10, MS * 10);
        let mut slow = interval_at(start + MS * 35, MS * 35);
        let mut ticks = String::new();
        while start.elapsed() < MS * 104 {
            select! {
                _ = fast.tick() => ticks.push('f'),
                _ = slow.tick() => ticks.push('s'),
                () = at(start + MS * 104) => {}
            }
        }
        assert_eq!(ticks.matches('f').count(), 10, "{ticks}");
        assert_eq!(ticks.matches('s').count(), 2, "{ticks}");
        assert!(ticks.starts_with("fffsf"), "{ticks}");
    });
}

/// `after.rs: stress_clone`, many timers at one instant: each fires once, also those dropped and
/// those that lose.
#[test]
fn many_timers_at_one_instant_fire_once_each() {
    on_all(|| async {
        let deadline = Instant::now() + MS;
        let tasks: Vec<_> = (0..200)
            .map(|n| {
                tidings::spawn(async move {
                    let mut dropped = pinned(at(deadline));
                    let _ = poll(dropped.as_mut());
                    match n % 3 {
                        0 => at(deadline).await,
                        1 => at(deadline).or(never()).await,
                        _ => at(deadline).or(after(MS * 3_600_000)).await,
                    }
                    assert!(Instant::now() >= deadline);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}
