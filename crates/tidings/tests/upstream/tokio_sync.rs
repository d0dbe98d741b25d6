//! tokio's `tests/{sync_notify,sync_semaphore,sync_mutex,sync_barrier,sync_panic}.rs` and their
//! `_owned` twins.

use std::panic::catch_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use crate::both::{on_all, on_pools, pool, run, watchdog};
use crate::hands::{Wakes, pinned, poll, poll_with};
use crate::turns;
use tidings::sync::{AcquireError, Barrier, Mutex, Notify, Semaphore, TryAcquireError};
use tidings::{Event, yield_now};

/// `notify_notified_one`, `notify_multi_notified_{one,last}`, `notify_notified_multi`: kept for one
/// who comes later, once, whatever was dropped in between.
#[test]
fn a_notification_is_kept_for_one_who_comes() {
    for times in [1, 2, 5] {
        let notify = Notify::new();
        (0..times).for_each(|_| notify.notify_one());
        let (mut a, mut b) = (pinned(notify.notified()), pinned(notify.notified()));
        assert!(poll(a.as_mut()).is_ready());
        assert!(poll(b.as_mut()).is_pending());
        notify.notify_one();
        assert!(poll(b.as_mut()).is_ready());
        notify.notify_waiters();
        assert!(
            poll(pinned(notify.notified()).as_mut()).is_pending(),
            "not kept"
        );
    }
}

/// `notified_one_notify`, `notified_multi_notify`, `notified_multi_notify_{drop_one,one_drop,
/// last_drop}`, `notified_drop_notified_notify`, `notify_one_after_dropped_all`: in the order of the
/// waits, and past those that were dropped.
#[test]
fn a_notification_reaches_the_first_that_still_waits() {
    for dropped in 0..3 {
        for drop_first in [true, false] {
            let notify = Notify::new();
            let made: Vec<_> = (0..3).map(|_| Wakes::new()).collect();
            let mut waits: Vec<_> = made
                .iter()
                .map(|(_, waker)| {
                    let mut wait = pinned(notify.notified());
                    assert!(poll_with(wait.as_mut(), waker).is_pending());
                    Some(wait)
                })
                .collect();
            if drop_first {
                waits[dropped] = None;
                notify.notify_one();
            } else {
                notify.notify_one();
                waits[dropped] = None;
            }
            let heard: Vec<_> = (0..3).filter(|&nth| made[nth].0.count() > 0).collect();
            match (dropped, drop_first) {
                (0, true) => assert_eq!(heard, [1]),
                (0, false) => assert_eq!(heard, [0, 1], "it had reached the dropped one"),
                _ => assert_eq!(heard, [0]),
            }
            waits.clear();
            // What nobody looked at is kept for the next.
            assert!(poll(pinned(notify.notified()).as_mut()).is_ready());
            assert!(poll(pinned(notify.notified()).as_mut()).is_pending());
        }
    }
}

/// `unpolled_future_completed_by_notify_waiters_preserves_notify_one_permit`, `test_poll_after_enable`,
/// `test_notify_one_after_enable`: a wait made before a notification of all takes no permit.
#[test]
fn a_notification_of_all_leaves_the_kept_one() {
    let notify = Notify::new();
    let early = notify.notified();
    notify.notify_waiters();
    notify.notify_one();
    assert!(early.try_now().is_ok());
    assert!(notify.notified().try_now().is_ok());
    assert!(notify.notified().try_now().is_err());
}

/// `test_waker_update`: the waker of the last poll is woken.
#[test]
fn the_waker_of_the_last_poll_is_notified() {
    let notify = Notify::new();
    let (wakes, waker) = Wakes::new();
    let mut wait = pinned(notify.notified());
    assert!(poll(wait.as_mut()).is_pending());
    assert!(poll_with(wait.as_mut(), &waker).is_pending());
    notify.notify_one();
    assert_eq!(wakes.count(), 1);
}

/// `sync_semaphore.rs: no_permits`, `try_acquire`, `acquire`, `add_permits*`, `forget*`, `split`,
/// `try_acquire_many`, `acquire_many`: permits are counted.
#[test]
fn permits_are_counted() {
    on_all(|| async {
        let semaphore = Semaphore::new(0);
        assert_eq!(
            semaphore.try_acquire(1).unwrap_err(),
            TryAcquireError::NoPermits
        );
        semaphore.add_permits(5);
        let mut three = semaphore.try_acquire(3).unwrap();
        assert_eq!((three.permits(), semaphore.available_permits()), (3, 2));
        assert!(semaphore.try_acquire(3).is_err());
        let one = three.split(1).unwrap();
        one.forget();
        assert_eq!((three.permits(), semaphore.available_permits()), (2, 2));
        drop(three);
        assert_eq!(semaphore.available_permits(), 4);
        let all = semaphore.acquire(4).await.unwrap();
        let mut wait = pinned(semaphore.acquire(1));
        assert!(poll(wait.as_mut()).is_pending());
        drop(all);
        assert!(matches!(poll(wait.as_mut()), Poll::Ready(Ok(permit)) if permit.permits() == 1));
        assert_eq!(semaphore.available_permits(), 4);
        assert_eq!(semaphore.try_acquire(0).unwrap().permits(), 0);
    });
}

/// `no_panic_at_maxpermits`, `add_max_amount_permits`, `add_more_than_max_amount_permits{1,2}`,
/// `panic_when_exceeds_maxpermits`, `acquire_many_exceeds_maxpermits` (which panics there).
#[test]
fn there_are_at_most_so_many_permits() {
    const MAX: usize = Semaphore::MAX_PERMITS;
    let all = Semaphore::new(MAX);
    assert_eq!(all.available_permits(), MAX);
    assert!(catch_unwind(|| Semaphore::new(MAX + 1)).is_err());
    let add = |semaphore: Semaphore, n| {
        catch_unwind(std::panic::AssertUnwindSafe(|| {
            semaphore.add_permits(n);
            semaphore.available_permits()
        }))
    };
    assert_eq!(add(Semaphore::new(0), MAX).unwrap(), MAX);
    assert!(add(Semaphore::new(1), MAX).is_err());
    assert!(add(all, 1).is_err());
    assert!(add(Semaphore::new(0), usize::MAX).is_err());
    // More than there can be are never there.
    let few = Semaphore::new(3);
    assert!(few.acquire(usize::MAX).try_now().is_err());
    let mut wait = pinned(few.acquire(MAX + 1));
    assert!(poll(wait.as_mut()).is_pending());
    drop(wait);
    assert!(few.try_acquire(3).is_ok());
}

/// `add_permits_closed`, `forget_closed`, `blocking_acquire_closed`: what a closed semaphore does
/// with its permits.
#[test]
fn a_closed_semaphore_keeps_its_count_and_gives_none() {
    let semaphore = Semaphore::new(2);
    let held = semaphore.try_acquire(1).unwrap();
    semaphore.close();
    semaphore.close();
    assert!(semaphore.is_closed());
    semaphore.add_permits(3);
    assert_eq!(semaphore.available_permits(), 4);
    drop(held);
    assert_eq!(semaphore.available_permits(), 5);
    assert_eq!(semaphore.acquire(1).wait().unwrap_err(), AcquireError);
    assert_eq!(
        semaphore.try_acquire(1).unwrap_err(),
        TryAcquireError::Closed
    );
}

/// `stress_test`, `blocking_acquire_waits_for_permit`: tasks and a thread share few permits, never
/// more at once than there are.
#[test]
fn tasks_and_threads_share_few_permits() {
    on_pools(|| async {
        let shared = Arc::new((Semaphore::new(3), AtomicUsize::new(0)));
        let enter = |inside: &AtomicUsize| assert!(inside.fetch_add(1, Ordering::SeqCst) < 3);
        let theirs = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            for _ in 0..100 {
                let permit = theirs.0.acquire(1).wait().unwrap();
                enter(&theirs.1);
                theirs.1.fetch_sub(1, Ordering::SeqCst);
                drop(permit);
            }
        });
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let shared = Arc::clone(&shared);
                tidings::spawn(async move {
                    for _ in 0..50 {
                        let permit = shared.0.acquire(1).await.unwrap();
                        enter(&shared.1);
                        yield_now().await;
                        shared.1.fetch_sub(1, Ordering::SeqCst);
                        drop(permit);
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        tidings::spawn_blocking(move || thread.join().unwrap())
            .await
            .unwrap();
        assert_eq!(shared.0.available_permits(), 3);
    });
}

/// `sync_mutex.rs: straight_execution`, `readiness`, `lock`, `try_lock`, `debug_format`,
/// `mutex_debug`.
#[test]
fn a_mutex_is_held_by_one_and_says_so() {
    on_all(|| async {
        let mutex = Mutex::new(100);
        {
            let mut held = mutex.lock().await;
            assert_eq!((*held, format!("{held:?}")), (100, "100".to_owned()));
            *held = 99;
            assert!(mutex.try_lock().is_none());
            assert!(format!("{mutex:?}").contains("locked: true"));
            let (wakes, waker) = Wakes::new();
            let mut wait = pinned(mutex.lock());
            assert!(poll_with(wait.as_mut(), &waker).is_pending());
            drop(held);
            assert_eq!(wakes.count(), 1);
            assert!(matches!(poll(wait.as_mut()), Poll::Ready(held) if *held == 99));
        }
        assert!(format!("{mutex:?}").contains("locked: false"));
        assert_eq!(mutex.into_inner(), 99);
        assert_eq!(
            *Mutex::<u8>::default().lock().await + *Mutex::from(2).lock().await,
            2
        );
    });
}

/// `aborted_future_1`, `aborted_future_2`: a wait for the lock that times out under way leaves the
/// lock to the next.
#[test]
fn a_lock_whose_waiter_gave_up_goes_to_the_next() {
    on_all(|| async {
        let mutex = Arc::new(Mutex::new(0));
        let held = mutex.lock().await;
        let impatient = Arc::clone(&mutex);
        let first = tidings::spawn(async move {
            let soon = Duration::from_micros(100);
            tidings::time::timeout(soon, async { *impatient.lock().await += 10 })
                .await
                .is_err()
        });
        let patient = Arc::clone(&mutex);
        let second = tidings::spawn(async move { *patient.lock().await += 1 });
        assert!(first.await.unwrap());
        drop(held);
        second.await.unwrap();
        assert_eq!(*mutex.lock().await, 1);
    });
}

/// `mutex_fifo_with_coop_budget`, `mutex_coop_drop_after_take_permit`: tasks that have used their
/// turn up get the lock, and one that is dropped there passes it on.
#[test]
fn who_has_used_its_turn_up_gets_the_lock_all_the_same() {
    on_all(|| async {
        let mutex = Arc::new(Mutex::new(Vec::new()));
        let held = mutex.lock().await;
        let mut tasks = Vec::new();
        for n in 0..4 {
            let mutex2 = Arc::clone(&mutex);
            tasks.push(tidings::spawn(async move {
                let free = Semaphore::new(1);
                // Spends the turn.
                for _ in 0..500 {
                    drop(free.acquire(1).await);
                }
                mutex2.lock().await.push(n);
            }));
            turns(30).await;
        }
        tasks.swap_remove(1).abort();
        drop(held);
        for task in tasks {
            task.await.unwrap();
        }
        let mut order = mutex.lock().await;
        order.sort_unstable();
        order.retain(|&n| n != 1);
        assert_eq!(*order, [0, 2, 3]);
    });
}

/// `sync_barrier.rs: zero_does_not_block`, `single`, `tango`, `lots`.
#[test]
fn a_barrier_of_any_size_lets_all_go_with_one_leader() {
    on_all(|| async {
        for size in [0, 1, 2, 5, 100] {
            let barrier = Barrier::new(size);
            for _ in 0..2 {
                let mut waits: Vec<_> =
                    (1..size.max(1)).map(|_| Box::pin(barrier.wait())).collect();
                assert!(
                    waits
                        .iter_mut()
                        .all(|wait| poll(wait.as_mut()).is_pending())
                );
                turns(1).await;
                let mut leaders = usize::from(barrier.wait().await.is_leader());
                for wait in waits {
                    leaders += usize::from(wait.await.is_leader());
                }
                assert_eq!(leaders, 1);
            }
        }
    });
}

/// `sync_panic.rs`, `blocking_acquire_in_async_context` and the like: the forms for threads panic on
/// a worker, whatever they wait for.
#[test]
fn every_form_for_threads_panics_on_a_worker() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let waits: [fn(); 6] = [
            || drop(Mutex::new(0).lock().wait()),
            || drop(Semaphore::new(1).acquire(1).wait()),
            || Notify::new().notified().wait(),
            || drop(Barrier::new(1).wait_blocking()),
            || drop(tidings::oneshot::<u8>().1.recv_blocking()),
            || drop(tidings::unbounded().0.send_blocking(1)),
        ];
        for wait in waits {
            let panicked = tidings::spawn(async move { wait() }).await;
            let text = panicked.unwrap_err().panic_message().map(str::to_owned);
            assert!(text.is_some_and(|text| text.contains("worker")));
        }
    });
}
