//! Timers: never early, cancelled by whoever stops waiting, wherever the wait runs.

use std::pin::Pin;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Wake, Waker};
use std::time::Duration;

use crate::both::{on_all, on_pools, pool, run, seeded, watchdog};
use crate::hands::{Wakes, pinned, poll, poll_with};
use tidings::time::{Instant, MissedTicks, interval, interval_at, sleep, timeout};
use tidings::{Event, Handle, JoinHandle, after, at, choose, unbounded, yield_now};

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_timer_is_never_early() {
    on_all(|| async {
        let tasks: Vec<_> = (0..50u32)
            .map(|n| {
                tidings::spawn(async move {
                    let (start, wait) = (
                        Instant::now(),
                        MS * (n % 10) + Duration::from_micros(n.into()),
                    );
                    after(wait).await;
                    assert!(start.elapsed() >= wait);
                    let deadline = Instant::now() + wait;
                    at(deadline).await;
                    assert!(Instant::now() >= deadline);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn a_timer_that_is_dropped_on_another_thread_takes_its_waker_along() {
    let _watchdog = watchdog();
    let runtime = pool(1);
    let (wakes, waker) = Wakes::new();
    let ((give, given), (drops, dropped)) = (mpsc::channel(), mpsc::channel());
    let keeps = runtime.spawn(async move {
        let mut wait = pinned(after(3_600_000 * MS));
        assert!(poll_with(wait.as_mut(), &waker).is_pending());
        drop(waker);
        give.send(wait).unwrap();
        // Its worker looks at no timer meanwhile.
        dropped.recv().unwrap();
    });
    drop(given.recv().unwrap());
    assert_eq!(Arc::strong_count(&wakes), 1);
    drops.send(()).unwrap();
    runtime.block_on(keeps).unwrap();
}

#[test]
fn between_an_instant_and_an_earlier_one_there_is_no_time() {
    run(&seeded(1), async {
        let first = Instant::now();
        sleep(3 * MS).await;
        let later = Instant::now();
        assert!(later - first >= 3 * MS);
        assert_eq!(later - (later - first), first);
        assert_eq!(first - later, Duration::ZERO);
    });
}

#[test]
fn an_interval_that_has_missed_more_ticks_than_it_can_count_goes_on() {
    run(&seeded(1), async {
        let mut ticks = interval(Duration::from_nanos(1)).missed_ticks(MissedTicks::Skip);
        ticks.tick().await;
        sleep(Duration::from_secs(10)).await;
        let late = ticks.tick().await;
        let skipped = ticks.tick().await - late;
        assert!(
            skipped >= Duration::from_secs(10) - Duration::from_nanos(1),
            "{skipped:?}"
        );
    });
}

#[test]
fn timers_fire_in_the_order_of_their_deadlines() {
    // In simulated time only: on a busy machine two deadlines can be over at the same look.
    for seed in 0..20 {
        run(&seeded(seed), async {
            let (tx, rx) = unbounded();
            let start = Instant::now();
            for n in [3u32, 1, 2] {
                let tx = tx.clone();
                drop(tidings::spawn(async move {
                    at(start + MS * n * 20).await;
                    tx.send(n).await.unwrap();
                }));
            }
            for n in 1..=3 {
                assert_eq!(rx.recv().await, Ok(n));
            }
        });
    }
}

#[test]
fn a_deadline_that_has_passed_happens_at_once() {
    on_all(|| async {
        assert!(at(Instant::now()).try_now().is_ok());
        assert!(after(Duration::ZERO).try_now().is_ok());
        assert!(after(MS).try_now().is_err());
        assert!(poll(pinned(after(Duration::MAX)).as_mut()).is_pending());
    });
}

#[test]
fn an_interval_does_about_missed_ticks_what_it_was_told() {
    on_all(|| async {
        let start = Instant::now();
        for missed in [MissedTicks::Burst, MissedTicks::Delay, MissedTicks::Skip] {
            let mut ticks = interval_at(start, MS * 4).missed_ticks(missed);
            assert_eq!(ticks.period(), MS * 4);
            assert_eq!(ticks.tick().await, start);
            at(start + MS * 14).await;
            let second = ticks.tick().await;
            let late = Instant::now();
            let third = ticks.tick().await;
            match missed {
                MissedTicks::Burst => {
                    assert_eq!((second, third), (start + MS * 4, start + MS * 8));
                }
                MissedTicks::Delay => assert!(third >= start + MS * 18 && third <= late + MS * 4),
                MissedTicks::Skip => {
                    assert_eq!((third - start).as_nanos() % (MS * 4).as_nanos(), 0);
                    assert!(third >= start + MS * 8);
                }
            }
        }
    });
}

#[test]
fn a_tick_that_is_late_by_a_little_shifts_no_schedule() {
    // Where time is exact.
    run(&seeded(1), async {
        let (start, late) = (Instant::now(), Duration::from_millis(1));
        let mut ticks = interval_at(start, MS * 10).missed_ticks(MissedTicks::Delay);
        for n in 0..5 {
            at(start + MS * 10 * n + late).await;
            assert_eq!(ticks.tick().await, start + MS * 10 * n);
        }
        at(start + MS * 50 + MS * 5).await;
        assert_eq!(ticks.tick().await, start + MS * 50);
        let after_the_late_one = ticks.tick().await;
        assert!((start + MS * 65..start + MS * 66).contains(&after_the_late_one));
    });
}

#[test]
fn a_tick_that_loses_is_kept_for_the_next_wait() {
    on_all(|| async {
        // Long enough that no machine stands still for it.
        let period = MS * 1000;
        let mut ticks = interval(period);
        let first = ticks.tick().await;
        for _ in 0..5 {
            assert!(ticks.tick().timeout(Duration::ZERO).await.is_err());
            drop(pinned(ticks.tick()));
        }
        assert_eq!(ticks.tick().await, first + period);
    });
}

#[test]
fn a_timeout_of_a_future_drops_it() {
    on_all(|| async {
        assert_eq!(timeout(MS, async { 1 }).await, Ok(1));
        assert!(timeout(MS, std::future::pending::<()>()).await.is_err());
        assert!(timeout(MS, sleep(Duration::from_secs(3600))).await.is_err());
    });
}

#[test]
fn many_timers_fire_once_each() {
    on_pools(|| async {
        let tasks: Vec<_> = (0..2_000u32)
            .map(|n| {
                tidings::spawn(async move {
                    for round in 0..3 {
                        after(Duration::from_micros(u64::from(n * 7919 % 5000) + round)).await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn timeouts_that_are_not_needed_are_cancelled() {
    on_all(|| async {
        let (tx, rx) = unbounded();
        for n in 0..2_000u32 {
            let mut wait = pinned(rx.recv().timeout(Duration::from_secs(3600)));
            if n % 2 == 0 {
                assert!(poll(wait.as_mut()).is_pending());
            }
            if n % 3 == 0 {
                continue;
            }
            tx.send(n).await.unwrap();
            assert_eq!(wait.await, Ok(Ok(n)));
        }
    });
}

#[test]
fn a_cancelled_timer_wakes_nobody() {
    on_pools(|| async {
        let soon = MS * 5;
        loop {
            let (wakes, waker) = Wakes::new();
            let start = Instant::now();
            let mut waits: Vec<_> = (0..100).map(|_| pinned(after(soon))).collect();
            for wait in &mut waits {
                assert!(poll_with(wait.as_mut(), &waker).is_pending());
            }
            drop(waits);
            if start.elapsed() < soon {
                after(soon * 2).await;
                assert_eq!(wakes.count(), 0);
                break;
            }
            // The machine stood still meanwhile, so some may have fired: once more, with a new
            // budget, since a poll beyond it wakes.
            yield_now().await;
        }
    });
}

#[test]
fn a_timer_follows_its_wait_to_another_task() {
    on_pools(|| async {
        let mut wait = pinned(after(MS * 5));
        assert!(poll(wait.as_mut()).is_pending());
        // Armed by this task; awaited, cancelled and fired by others.
        tidings::spawn(wait).await.unwrap();
        let mut wait = pinned(after(Duration::from_secs(3600)));
        assert!(poll(wait.as_mut()).is_pending());
        tidings::spawn(async move { drop(wait) }).await.unwrap();
        tidings::spawn_blocking(|| {
            let mut wait = pinned(after(MS));
            assert!(poll(wait.as_mut()).is_pending());
            futures::executor::block_on(wait);
        })
        .await
        .unwrap();
    });
}

#[test]
fn a_shutdown_wakes_those_whose_timers_go_with_it() {
    let _watchdog = watchdog();
    for workers in [1, 2] {
        let armed = pool(workers);
        let (wakes, waker) = Wakes::new();
        let (mut wait,) = run(&armed, async move {
            let mut wait = pinned(after(Duration::from_secs(3600)));
            assert!(poll_with(wait.as_mut(), &waker).is_pending());
            (wait,)
        });
        drop(armed);
        assert_eq!(wakes.count(), 1, "so that it can arm another");
        assert!(poll(wait.as_mut()).is_pending());
    }
}

/// Starts a task when it is woken, and keeps its handle.
struct Spawns(Handle, Mutex<Option<JoinHandle<()>>>);

impl Wake for Spawns {
    fn wake(self: Arc<Self>) {
        let task = self.0.spawn(std::future::pending());
        *self.1.lock().unwrap() = Some(task);
    }
}

/// Polls a wait when it is woken, with itself.
struct Polls(Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>);

impl Wake for Polls {
    fn wake(self: Arc<Self>) {
        let waker = Waker::from(Arc::clone(&self));
        let mut wait = self.0.lock().unwrap();
        let polled = wait.as_mut().map(|wait| poll_with(Pin::new(wait), &waker));
        if polled.is_some_and(|polled| polled.is_ready()) {
            *wait = None;
        }
    }
}

#[test]
fn what_a_waker_starts_as_the_timers_of_a_runtime_go_is_not_lost() {
    let _watchdog = watchdog();
    for armed in [pool(1), pool(2), seeded(1)] {
        let spawns = Arc::new(Spawns(armed.handle(), Mutex::default()));
        let polls = Arc::new(Polls(Mutex::default()));
        let wakers = (
            Waker::from(Arc::clone(&spawns)),
            Waker::from(Arc::clone(&polls)),
        );
        let (kept, waited) = (Arc::clone(&polls), Duration::from_millis(50));
        let (wait,) = run(&armed, async move {
            let mut wait = pinned(after(Duration::from_secs(3600)));
            assert!(poll_with(wait.as_mut(), &wakers.0).is_pending());
            let mut again = pinned(after(waited));
            assert!(poll_with(again.as_mut(), &wakers.1).is_pending());
            *kept.0.lock().unwrap() = Some(again);
            (wait,)
        });
        drop(armed);
        let task = spawns.1.lock().unwrap().take().expect("it was woken");
        let ended = futures::executor::block_on(task);
        assert!(ended.unwrap_err().is_cancelled());
        while polls.0.lock().unwrap().is_some() {
            std::thread::yield_now();
        }
        drop(wait);
    }
}

#[test]
fn a_timer_outlives_the_runtime_that_armed_it() {
    let _watchdog = watchdog();
    for workers in [1, 2] {
        let start = Instant::now();
        let armed = pool(workers);
        let make = || async {
            let mut waits: Vec<_> = (0..10)
                .map(|n| pinned(after(MS * 20 * (n % 2 + 1))))
                .collect();
            for wait in &mut waits {
                assert!(poll(wait.as_mut()).is_pending());
            }
            waits
        };
        let mut waits = run(&armed, make());
        let other = pool(1);
        let moved = waits.split_off(5);
        let (tell, polled) = mpsc::channel();
        let task = other.spawn(async move {
            for mut wait in moved {
                // It waits with this task's waker when its timer goes.
                let _ = futures::poll!(wait.as_mut());
                let _ = tell.send(());
                wait.await;
            }
        });
        polled.recv().unwrap();
        drop(armed);
        // On a plain thread, and on the other runtime.
        for wait in waits {
            futures::executor::block_on(wait);
        }
        other.block_on(task).unwrap();
        assert!(start.elapsed() >= MS * 40);
        // Dropped after the runtime that armed them.
        let gone = pool(workers);
        let waits = run(&gone, make());
        drop(gone);
        drop(waits);
    }
}

#[test]
fn a_plain_threads_timers_fire_and_cancel() {
    let _watchdog = watchdog();
    let threads: Vec<_> = (0..8u32)
        .map(|n| {
            std::thread::spawn(move || {
                for round in 0..20 {
                    let start = std::time::Instant::now();
                    let wait = Duration::from_micros(u64::from(n * 100 + round));
                    after(wait).wait();
                    assert!(start.elapsed() >= wait);
                    let long = after(Duration::from_secs(3600));
                    let first = choose([long.boxed(), after(wait).boxed()]);
                    first.wait();
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn timers_fire_beside_tasks_that_are_always_ready() {
    on_pools(|| async {
        let hogs: Vec<_> = (0..8)
            .map(|_| {
                tidings::spawn(async {
                    loop {
                        yield_now().await;
                    }
                })
            })
            .collect();
        for _ in 0..5 {
            after(MS).await;
        }
        hogs.iter().for_each(JoinHandle::abort);
    });
}
