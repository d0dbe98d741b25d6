//! The cells: oneshot, `IVar`, `MVar`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Waker;

use crate::both::{on_all, on_all_unheard};
use crate::hands::{Bomb, Wakes, pinned, poll, poll_with};
use tidings::channel::{ivar::IVar, mvar::MVar};
use tidings::{Event, RecvError, TryRecvError, oneshot, yield_now};

#[test]
fn a_oneshot_gives_its_value_once_or_says_why_not() {
    on_all(|| async {
        let (tx, rx) = oneshot();
        tx.send(1).unwrap();
        assert_eq!(rx.await, Ok(1));
        let (tx, rx) = oneshot::<u8>();
        let task = tidings::spawn(rx.into_future());
        yield_now().await;
        drop(tx);
        assert_eq!(task.await.unwrap(), Err(RecvError));
        let (tx, rx) = oneshot();
        drop(rx);
        assert!(tx.is_closed());
        assert_eq!(tx.send(2), Err(2));
        let (tx, mut rx) = oneshot();
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        tx.send(3).unwrap();
        assert_eq!(rx.try_recv(), Ok(3));
        assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    });
}

#[test]
fn a_value_reaches_who_closes_a_oneshot_or_goes_back_to_its_sender() {
    on_all_unheard(|| async {
        for turns in 0..4 {
            let (tx, mut rx) = oneshot();
            let sender = tidings::spawn(async move {
                for _ in 0..turns {
                    yield_now().await;
                }
                tx.send(1)
            });
            // A wait that is given up leaves the value for who closes.
            let mut wait = pinned(&mut rx);
            assert!(poll(wait.as_mut()).is_pending());
            yield_now().await;
            drop(wait);
            match (rx.close(), sender.await.unwrap()) {
                (Some(1), Ok(())) | (None, Err(1)) => {}
                other => panic!("{other:?}"),
            }
        }
        // Everybody who waits for its end hears, though a waker panics.
        let (tx, rx) = oneshot::<u8>();
        let mut waits = [pinned(tx.closed()), pinned(tx.closed())];
        let bomb = Waker::from(Arc::new(Bomb));
        let (wakes, waker) = Wakes::new();
        assert!(poll_with(waits[0].as_mut(), &bomb).is_pending());
        assert!(poll_with(waits[1].as_mut(), &waker).is_pending());
        assert!(catch_unwind(AssertUnwindSafe(|| rx.close())).is_err());
        assert_eq!(wakes.count(), 1);
    });
}

#[test]
fn every_wait_for_the_end_of_a_oneshot_hears() {
    on_all(|| async {
        let (tx, rx) = oneshot::<u8>();
        let mut waits = [
            pinned(tx.closed()),
            pinned(tx.closed()),
            pinned(tx.closed()),
        ];
        for wait in &mut waits {
            assert!(poll(wait.as_mut()).is_pending());
        }
        drop(rx);
        for wait in &mut waits {
            assert!(poll(wait.as_mut()).is_ready());
        }
    });
}

#[test]
fn an_ivar_is_filled_once_and_read_by_all() {
    on_all(|| async {
        let cell = IVar::new();
        let readers: Vec<_> = (0..100)
            .map(|_| {
                let cell = cell.clone();
                tidings::spawn(async move { *cell.read().await })
            })
            .collect();
        assert!(cell.try_read().is_none());
        for _ in 0..3 {
            yield_now().await;
        }
        cell.fill(7).unwrap();
        assert_eq!(cell.fill(8), Err(8));
        assert_eq!((cell.try_read(), cell.is_full()), (Some(&7), true));
        for reader in readers {
            assert_eq!(reader.await.unwrap(), 7);
        }
    });
}

#[test]
fn an_mvar_is_a_fair_lock() {
    on_all(|| async {
        let cell = MVar::full(0u64);
        let tasks: Vec<_> = (0..10)
            .map(|_| {
                let cell = cell.clone();
                tidings::spawn(async move {
                    for _ in 0..50 {
                        let n = cell.take().await;
                        yield_now().await;
                        cell.put(n + 1).await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(cell.try_put(1), Err(1));
        assert_eq!(cell.try_take(), Some(500));
        assert_eq!((cell.try_take(), cell.is_full()), (None, false));
        cell.put(1).or(tidings::always(())).biased().await;
        assert_eq!(cell.try_take(), Some(1));
    });
}
