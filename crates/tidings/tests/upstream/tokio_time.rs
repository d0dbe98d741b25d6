//! tokio's `tests/{time_sleep,time_timeout,time_interval,time_pause,time_rt,time_alt}.rs`.

use std::time::Duration;

use crate::both::{on_all, pool, run, seeded, watchdog};
use crate::dice::Dice;
use crate::hands::{Wakes, pinned, poll, poll_with};
use tidings::time::{Elapsed, Instant, MissedTicks, interval, interval_at, sleep, timeout};
use tidings::{Event, after, at, never, oneshot, yield_now};

const MS: Duration = Duration::from_millis(1);

/// `time_sleep.rs: immediate_sleep`, `delayed_sleep_level_0`, `sub_ms_delayed_sleep`, `short_sleeps`,
/// `delayed_sleep_wrapping_level_0`: never early, and in virtual time hardly late, from a
/// microsecond up.
#[test]
fn sleeps_of_any_length_end_at_their_time() {
    for seed in 0..20 {
        run(&seeded(seed), async {
            for micros in [
                0, 1, 100, 999, 1_001, 5_000, 63_999, 64_000, 65_000, 1_000_003,
            ] {
                let (start, length) = (Instant::now(), Duration::from_micros(micros));
                sleep(length).await;
                assert!(start.elapsed() >= length);
                assert!(
                    start.elapsed() <= length + MS,
                    "{length:?}: {:?}",
                    start.elapsed()
                );
            }
        });
    }
}

/// `long_sleeps`, `multi_long_sleeps`, `long_wait_sleep_*`: days and years, many at once, in any
/// order, in virtual time.
#[test]
fn long_sleeps_end_in_the_order_of_their_deadlines() {
    for seed in 0..20 {
        run(&seeded(seed), async move {
            let (start, mut dice) = (Instant::now(), Dice(seed));
            let tasks: Vec<_> = (0..30)
                .map(|_| {
                    let length = Duration::from_secs(1 << dice.below(31)) + MS * 3;
                    tidings::spawn(async move {
                        at(start + length).await;
                        let late = start.elapsed().checked_sub(length).expect("not early");
                        assert!(late <= MS, "{length:?}: {late:?} late");
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
    }
}

/// `greater_than_max`, `exactly_max`, `no_out_of_bounds_close_to_max`, `very_large_timeout`: a wait
/// beyond the end of time is one without end.
#[test]
fn a_sleep_beyond_the_end_of_time_has_no_end() {
    on_all(|| async {
        let lengths = [
            Duration::MAX,
            Duration::from_secs(u64::MAX),
            Duration::from_nanos(u64::MAX),
        ];
        for length in lengths {
            assert!(poll(pinned(after(length)).as_mut()).is_pending());
            assert!(poll(pinned(at(Instant::now() + length)).as_mut()).is_pending());
            assert_eq!(timeout(length, async { 1 }).await, Ok(1));
            let first = after(length).map(|()| 1).or(after(MS).map(|()| 2));
            assert_eq!(first.await, 2);
        }
    });
}

/// `time_timeout.rs: simultaneous_deadline_future_completion`, `completed_future_past_deadline`,
/// `deadline_now_elapses`, `future_and_{timeout,deadline}_in_future`, `deadline_future_elapses`.
#[test]
fn a_timeout_looks_at_the_future_first() {
    on_all(|| async {
        assert_eq!(timeout(Duration::ZERO, async { 1 }).await, Ok(1));
        assert_eq!(
            timeout(Duration::ZERO, std::future::pending::<u8>()).await,
            Err(Elapsed(()))
        );
        let (tx, rx) = oneshot();
        let sender = tidings::spawn(async move { tx.send(5) });
        assert_eq!(timeout(Duration::from_secs(3_600), rx).await, Ok(Ok(5)));
        sender.await.unwrap().unwrap();
        let late = timeout(MS, never::<u8>()).await;
        assert_eq!(late, Err(Elapsed(())));
        assert!(!Elapsed(()).to_string().is_empty());
    });
}

/// `timeout_is_not_exhausted_by_future`: a future that always goes on, at the cost of its turn, does
/// not keep its own timeout from firing.
#[test]
fn a_future_that_is_always_busy_times_out() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let busy = async {
            let (tx, rx) = tidings::unbounded();
            loop {
                tx.send(1).await.unwrap();
                rx.recv().await.unwrap();
            }
        };
        let ended: Result<(), _> = timeout(MS, busy).await;
        assert!(ended.is_err());
        let yields = async {
            loop {
                yield_now().await;
            }
        };
        let ended: Result<(), _> = timeout(MS, yields).await;
        assert!(ended.is_err());
    });
}

/// `time_interval.rs: interval_zero_duration`, `time_panic.rs: interval_panic_caller`: a period of
/// nothing is refused.
#[test]
fn an_interval_of_nothing_is_refused() {
    assert!(std::panic::catch_unwind(|| interval(Duration::ZERO)).is_err());
    let start = Instant::now();
    assert!(std::panic::catch_unwind(|| interval_at(start, Duration::ZERO)).is_err());
}

/// `time_interval.rs: burst`, `delay`, `skip`: a reader that is late twice, and catches up or not.
#[test]
fn a_reader_that_is_late_is_served_as_told() {
    for seed in 0..20 {
        run(&seeded(seed), async {
            for (missed, expected) in [
                (MissedTicks::Burst, [0, 300, 600, 900, 1_200, 1_500]),
                (MissedTicks::Skip, [0, 300, 600, 1_200, 1_500, 1_800]),
            ] {
                let start = Instant::now();
                let mut ticks = interval_at(start, MS * 300).missed_ticks(missed);
                let mut got = Vec::new();
                for n in 0..6 {
                    got.push((ticks.tick().await - start).as_millis());
                    if n == 1 {
                        // Beyond the ticks at 600 and 900.
                        after(MS * 650).await;
                    }
                }
                assert_eq!(got, expected, "{missed:?}");
            }
            // With a delay the period counts from the late tick.
            let start = Instant::now();
            let mut ticks = interval_at(start, MS * 300).missed_ticks(MissedTicks::Delay);
            ticks.tick().await;
            after(MS * 650).await;
            ticks.tick().await;
            let late = Instant::now();
            assert!(late - start >= MS * 650);
            ticks.tick().await;
            assert!(late.elapsed() >= MS * 299, "{:?}", late.elapsed());
        });
    }
}

/// `interval_doesnt_panic_max_duration_when_polling`: a period without end ticks once.
#[test]
fn an_interval_without_end_ticks_once() {
    on_all(|| async {
        let mut ticks = interval(Duration::MAX);
        ticks.tick().await;
        assert!(poll(pinned(ticks.tick()).as_mut()).is_pending());
    });
}

/// `time_pause.rs: paused_time_is_deterministic`, `pause_time_in_task`, `advance_*`: in virtual time
/// an hour passes at once, the same hour for the same seed.
#[test]
fn an_hour_of_virtual_time_is_the_same_for_the_same_seed() {
    let day = |seed| {
        run(&seeded(seed), async move {
            let (start, mut dice) = (Instant::now(), Dice(seed));
            let mut log = Vec::new();
            for _ in 0..20 {
                let a = after(MS * dice.below(200_000) as u32).map(|()| 'a');
                let b = after(MS * dice.below(200_000) as u32).map(|()| 'b');
                log.push((a.or(b).await, start.elapsed()));
            }
            log
        })
    };
    for seed in 0..10 {
        assert_eq!(day(seed), day(seed));
    }
    assert_ne!(day(1), day(2));
}

/// `time_sleep.rs: drop_from_wake`, `time_alt.rs: cancelled_timer_waker_drop_can_register_timer`: a
/// waker that makes, waits for and drops timers when it is woken or dropped.
#[test]
fn a_timers_waker_may_use_timers() {
    struct Timed;
    impl std::task::Wake for Timed {
        fn wake(self: std::sync::Arc<Self>) {}
    }
    impl Drop for Timed {
        fn drop(&mut self) {
            let (_, waker) = Wakes::new();
            let mut other = pinned(after(MS * 10));
            assert!(poll_with(other.as_mut(), &waker).is_pending());
        }
    }
    on_all(|| async {
        for fires in [true, false] {
            let length = if fires {
                MS
            } else {
                Duration::from_secs(3_600)
            };
            let mut wait = pinned(after(length));
            let waker = std::task::Waker::from(std::sync::Arc::new(Timed));
            assert!(poll_with(wait.as_mut(), &waker).is_pending());
            drop(waker);
            let waker = std::task::Waker::from(std::sync::Arc::new(Timed));
            assert!(poll_with(wait.as_mut(), &waker).is_pending());
            drop(waker);
            if fires {
                after(MS * 3).await;
                wait.await;
            } else {
                drop(wait);
            }
        }
    });
}

/// `time_rt.rs: starving`, `timer_with_threaded_runtime`, `issue_5183`: sleeps beside tasks that are
/// always busy, in numbers.
#[test]
fn many_sleeps_beside_busy_tasks_all_end() {
    on_all(|| async {
        let busy: Vec<_> = (0..2)
            .map(|_| {
                tidings::spawn(async move {
                    // Under a seam time stands still while anything can run.
                    for _ in 0..1_000 {
                        yield_now().await;
                    }
                })
            })
            .collect();
        let sleeps: Vec<_> = (0..100)
            .map(|n| tidings::spawn(async move { sleep(MS * (n % 5)).await }))
            .collect();
        for sleep in sleeps {
            sleep.await.unwrap();
        }
        for task in busy {
            task.abort();
            drop(task.await);
        }
    });
}
