//! The cells: oneshot, `IVar`, `MVar`.

use crate::both::on_all;
use crate::hands::{pinned, poll};
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
        assert_eq!(cell.put(1).or(tidings::always(())).biased().await, ());
    });
}
