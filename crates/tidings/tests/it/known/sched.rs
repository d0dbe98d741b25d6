//! Tasks and closures that were lost, run twice, starved, or waited for what could not come.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::both::{on_all, pool, run, watchdog};
use crate::hands::{pinned, poll};
use crate::local_tasks::Drops;
use tidings::channel::broadcast::{self, broadcast};
use tidings::channel::watch;
use tidings::{bounded, channel, yield_now};

/// tokio-rs/tokio#4941: a task in the LIFO slot waits for the end of a long poll.
#[test]
fn tokio_4941_the_task_woken_last_is_not_stuck_behind_its_waker() {
    let _watchdog = watchdog();
    run(&pool(2), async {
        let (tell, done) = std::sync::mpsc::channel();
        let (tx, rx) = channel();
        drop(tidings::spawn(async move {
            rx.recv().await.unwrap();
            tell.send(()).unwrap();
        }));
        yield_now().await;
        tx.send(()).await.unwrap();
        done.recv_timeout(Duration::from_secs(20))
            .expect("it ran elsewhere");
    });
}

/// tokio-rs/tokio#8056: a closure for the blocking pool is never run, on a fresh runtime.
#[test]
fn tokio_8056_no_blocking_work_is_lost_on_fresh_runtimes() {
    let _watchdog = watchdog();
    for _ in 0..50 {
        let rt = pool(2);
        run(&rt, async {
            let jobs: Vec<_> = (0..8).map(|n| tidings::spawn_blocking(move || n)).collect();
            for (n, job) in jobs.into_iter().enumerate() {
                assert_eq!(job.await.unwrap(), n);
            }
        });
    }
}

/// RUSTSEC-2021-0072 (tokio): an abort drops the future of a local task that waits on the thread that aborts it.
#[test]
fn tokio_rustsec_2021_0072_an_aborted_local_task_is_dropped_on_its_own_thread() {
    let _watchdog = watchdog();
    let (rt, drops) = (pool(2), Drops::default());
    for _ in 0..50 {
        rt.block_on(async {
            let has = drops.value();
            let waits = tidings::spawn_local(async move {
                std::future::pending::<()>().await;
                drop(has);
            });
            yield_now().await;
            let others = [(); 2].map(|()| {
                let abort = waits.abort_handle();
                tidings::spawn_blocking(move || {
                    abort.abort();
                    drop(abort);
                })
            });
            assert!(waits.await.unwrap_err().is_cancelled());
            for other in others {
                other.await.unwrap();
            }
        });
    }
    assert_eq!(drops.count(), 50);
}

/// crossbeam-rs/crossbeam#997: a receiver that tries can block for ever beside a sender that
/// was stopped in the middle.
#[test]
fn crossbeam_997_try_recv_returns_while_a_sender_waits() {
    on_all(|| async {
        let (tx, rx) = bounded(1);
        let mut waits: Vec<_> = (0..3).map(|n| pinned(tx.send(n))).collect();
        for (n, wait) in waits.iter_mut().enumerate() {
            assert_eq!(poll(wait.as_mut()).is_ready(), n == 0);
        }
        for n in 0..3 {
            assert_eq!(rx.try_recv(), Ok(n));
        }
        assert!(rx.try_recv().is_err());
    });
}

/// tokio-rs/tokio#1788: a task is queued from outside while the last worker falls asleep; a load
/// that was ordered too weakly misses it, and it never runs.
#[test]
fn tokio_1788_a_task_from_outside_finds_a_worker_that_falls_asleep() {
    let _watchdog = watchdog();
    for workers in [1, 2] {
        let rt = pool(workers);
        let (tell, ran) = std::sync::mpsc::channel();
        for n in 0..2_000 {
            let tell = tell.clone();
            drop(rt.spawn(async move { tell.send(n).unwrap() }));
            // Between two tasks everybody may fall asleep.
            assert_eq!(ran.recv(), Ok(n));
        }
    }
}

/// A future that knows whether it is polled by two at once, or after its end.
struct Once {
    polls_left: usize,
    polled: Arc<AtomicBool>,
    ends: Arc<AtomicUsize>,
}

impl Future for Once {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        assert!(!self.polled.swap(true, Ordering::AcqRel), "polled by two");
        let end = self.polls_left == 0;
        if end {
            self.ends.fetch_add(1, Ordering::Relaxed);
        } else {
            self.polls_left -= 1;
            cx.waker().wake_by_ref();
        }
        self.polled.store(false, Ordering::Release);
        if end { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// RUSTSEC-2021-0093 (crossbeam-deque): a task that is stolen while its owner takes it is run by
/// both, or by nobody.
#[test]
fn crossbeam_deque_rustsec_2021_0093_no_task_is_taken_twice_or_lost() {
    on_all(|| async {
        let ends = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..500)
            .map(|n| {
                tidings::spawn(Once {
                    polls_left: n % 7,
                    polled: Arc::default(),
                    ends: Arc::clone(&ends),
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(ends.load(Ordering::Relaxed), 500);
    });
}

/// One of two that wake each other by their bare wakers: no operation is counted, so a budget of
/// operations alone would never end.
struct Pair {
    wakers: Arc<Mutex<[Option<Waker>; 2]>>,
    side: usize,
    stop: Arc<AtomicBool>,
}

impl Future for Pair {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let stop = self.stop.load(Ordering::Relaxed);
        let mut wakers = self.wakers.lock().unwrap();
        wakers[self.side] = Some(cx.waker().clone());
        if let Some(other) = wakers[1 - self.side].take() {
            other.wake();
        }
        if stop { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// tokio-rs/tokio#2349, #5686, #5712: two tasks that wake each other run for ever in the slot for
/// the task woken last, and nobody else on that worker does.
#[test]
fn tokio_5686_a_pair_that_wakes_each_other_outside_of_any_channel_starves_nobody() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let stop = Arc::new(AtomicBool::new(false));
        let wakers = Arc::default();
        let pair: Vec<_> = (0..2)
            .map(|side| {
                tidings::spawn(Pair {
                    wakers: Arc::clone(&wakers),
                    side,
                    stop: Arc::clone(&stop),
                })
            })
            .collect();
        for _ in 0..10 {
            tidings::spawn(yield_now()).await.unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        for side in pair {
            side.await.unwrap();
        }
    });
}

/// tokio-rs/tokio#6855 (broadcast) and #6846 (watch): a receiver that always finds something never
/// lets another task run.
#[test]
fn tokio_6855_a_receiver_that_always_finds_something_starves_nobody() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let stop = Arc::new(AtomicBool::new(false));
        let (tx, mut rx) = broadcast(1);
        let flag = Arc::clone(&stop);
        let busy = tidings::spawn(async move {
            while !flag.load(Ordering::Relaxed) {
                tx.send(1).unwrap();
                assert!(matches!(
                    rx.recv().await,
                    Ok(1) | Err(broadcast::RecvError::Lagged(_))
                ));
            }
        });
        let (cell, mut seen) = watch(0);
        let flag = Arc::clone(&stop);
        let watcher = tidings::spawn(async move {
            while !flag.load(Ordering::Relaxed) {
                cell.send(1).unwrap();
                seen.changed().await.unwrap();
            }
        });
        for _ in 0..3 {
            tidings::spawn(yield_now()).await.unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        busy.await.unwrap();
        watcher.await.unwrap();
    });
}

/// eclipse-zenoh/zenoh#1052 (flume): a blocking send into a full channel inside of a task holds the
/// runtime's thread, and with it the receiver that would make room.
#[test]
fn zenoh_1052_a_blocking_send_in_a_task_panics_instead_of_hanging() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let (tx, rx) = bounded(1);
        tx.try_send(1).unwrap();
        let task = tidings::spawn(async move { tx.send_blocking(2) });
        let error = task.await.unwrap_err();
        assert!(
            error
                .panic_message()
                .is_some_and(|why| why.contains("worker"))
        );
        assert_eq!(rx.recv().await, Ok(1));
        assert!(rx.recv().await.is_err());
    });
}
