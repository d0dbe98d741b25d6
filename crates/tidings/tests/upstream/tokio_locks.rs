//! tokio's `tests/{sync_rwlock,sync_once_cell}.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use crate::both::{on_all, on_pools};
use crate::hands::{Wakes, pinned, poll, poll_with};
use tidings::sync::{Barrier, Notify, OnceCell, RwLock};

/// `into_inner`, `read_uncontested`, `write_uncontested`.
#[test]
fn a_lock_that_nobody_else_has_is_read_and_written_at_once() {
    let lock = RwLock::new(100);
    let Poll::Ready(read) = poll(pinned(lock.read()).as_mut()) else {
        panic!("nobody writes")
    };
    assert_eq!(*read, 100);
    drop(read);
    let Poll::Ready(mut write) = poll(pinned(lock.write()).as_mut()) else {
        panic!("nobody reads")
    };
    *write += 50;
    drop(write);
    assert_eq!(lock.into_inner(), 150);
}

/// `read_shared`, `write_shared_pending`, `read_exclusive_pending`, `write_exclusive_pending`,
/// `write_shared_drop`.
#[test]
fn many_read_at_once_and_who_writes_is_alone() {
    let lock = RwLock::new(());
    let first = lock.try_read();
    let second = poll(pinned(lock.read()).as_mut());
    assert!(first.is_some() && second.is_ready());
    let (wakes, waker) = Wakes::new();
    let mut write = pinned(lock.write());
    assert!(poll_with(write.as_mut(), &waker).is_pending());
    drop(first);
    assert_eq!(wakes.count(), 0, "one reads still");
    drop(second);
    assert_eq!(wakes.count(), 1);
    let written = poll(write.as_mut());
    assert!(written.is_ready());
    let (mut read, mut other) = (pinned(lock.read()), pinned(lock.write()));
    assert!(poll(read.as_mut()).is_pending() && poll(other.as_mut()).is_pending());
    drop(written);
    let read = poll(read.as_mut());
    assert!(read.is_ready() && poll(other.as_mut()).is_pending());
    drop(read);
    assert!(poll(other.as_mut()).is_ready());
}

/// `write_read_shared_pending`, `write_read_shared_drop_pending`.
#[test]
fn who_reads_waits_behind_who_is_to_write_until_that_one_has_gone() {
    let lock = RwLock::new(());
    let _first = lock.try_read();
    let _second = poll(pinned(lock.read()).as_mut());
    let mut write = pinned(lock.write());
    assert!(poll(write.as_mut()).is_pending());
    let (wakes, waker) = Wakes::new();
    let mut third = pinned(lock.read());
    assert!(poll_with(third.as_mut(), &waker).is_pending());
    drop(write);
    assert_eq!(wakes.count(), 1);
    assert!(poll(third.as_mut()).is_ready());
}

/// `write_order`: in the order in which they are waited for, not made.
#[test]
fn writers_have_their_turn_in_the_order_of_their_waits() {
    on_all(|| async {
        let lock = RwLock::new(Vec::new());
        let (second, first) = (lock.write(), lock.write());
        first.await.push(1);
        second.await.push(2);
        assert_eq!(*lock.read().await, [1, 2]);
    });
}

/// `multithreaded`.
#[test]
fn nothing_that_many_write_is_lost() {
    const TIMES: u32 = 1000;
    on_pools(|| async {
        let (lock, met) = (Arc::new(RwLock::new(0)), Arc::new(Barrier::new(5)));
        for amount in [2, 3, 5, 7] {
            let (lock, met) = (Arc::clone(&lock), Arc::clone(&met));
            tidings::spawn(async move {
                for _ in 0..TIMES {
                    *lock.write().await += amount;
                }
                met.wait().await;
            });
        }
        met.wait().await;
        assert_eq!(*lock.read().await, 17 * TIMES);
    });
}

/// `try_write`, `try_read_try_write`.
#[test]
fn who_does_not_wait_gets_the_lock_if_it_is_free_for_that() {
    let lock = RwLock::new(15);
    {
        let reads = [lock.try_read(), lock.try_read()];
        assert!(reads.iter().flatten().all(|read| **read == 15));
        assert!(lock.try_write().is_none());
    }
    {
        let mut write = lock.try_write().unwrap();
        *write = 1515;
        assert!(lock.try_read().is_none() && lock.try_write().is_none());
    }
    assert_eq!(lock.try_read().as_deref(), Some(&1515));
}

/// Counts how often one is dropped.
#[derive(Debug)]
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// `drop_cell`, `drop_cell_new_with`, `drop_into_inner`, `drop_into_inner_new_with`, `from`.
#[test]
fn the_value_of_a_cell_is_dropped_once_by_who_has_it() {
    type Fill = fn(Counted) -> OnceCell<Counted>;
    let fills: [Fill; 2] = [
        |value| {
            let cell = OnceCell::new();
            cell.set(value).unwrap();
            cell
        },
        OnceCell::from,
    ];
    for fill in fills {
        for take in [true, false] {
            let drops = Arc::<AtomicUsize>::default();
            let cell = fill(Counted(Arc::clone(&drops)));
            assert!(cell.get().is_some());
            if take {
                let value = cell.into_inner();
                assert_eq!(drops.load(Ordering::SeqCst), 0);
                drop(value);
            } else {
                drop(cell);
            }
            assert_eq!(drops.load(Ordering::SeqCst), 1);
        }
    }
}

/// `set_and_get`, `get_uninit`, `set_twice`, of a cell that is a static.
#[test]
fn a_cell_is_set_once() {
    static CELL: OnceCell<u32> = OnceCell::new();
    assert_eq!(CELL.get(), None);
    on_pools(|| async {
        // The first of the pools sets it.
        let set = tidings::spawn(async { CELL.set(5) }).await.unwrap();
        assert!(matches!(set, Ok(()) | Err(5)));
        assert_eq!((CELL.get(), CELL.set(6)), (Some(&5), Err(6)));
    });
}

/// `get_or_init`, `get_or_init_panic`: what those would do who come later counts for nothing.
#[test]
fn the_first_who_asks_makes_the_value_for_all() {
    let (cell, gate) = (OnceCell::new(), Notify::new());
    let mut first = Box::pin(cell.get_or_init(|| async {
        gate.notified().await;
        5
    }));
    let mut second = Box::pin(cell.get_or_init(|| async { 10 }));
    let mut third = Box::pin(cell.get_or_init(|| async { panic!("nobody asks it") }));
    assert!(poll(first.as_mut()).is_pending());
    assert!(poll(second.as_mut()).is_pending() && poll(third.as_mut()).is_pending());
    gate.notify_one();
    assert_eq!(poll(first.as_mut()), Poll::Ready(&5));
    assert_eq!(poll(second.as_mut()), Poll::Ready(&5));
    assert_eq!(poll(third.as_mut()), Poll::Ready(&5));
}

/// `get_or_try_init`, `set_while_initializing` (theirs refuses to set what is being made, ours sets it).
#[test]
fn what_is_set_counts_and_not_what_is_being_made() {
    on_all(|| async {
        let (cell, gate) = (OnceCell::new(), Notify::new());
        assert_eq!(
            cell.get_or_try_init(|| async { Err("it fails") }).await,
            Err("it fails")
        );
        let mut made = std::pin::pin!(cell.get_or_init(|| async {
            gate.notified().await;
            5
        }));
        assert!(poll(made.as_mut()).is_pending());
        assert_eq!(cell.set(10), Ok(()));
        gate.notify_one();
        assert_eq!(made.await, &10);
        assert_eq!(cell.get_or_try_init(|| async { Err(()) }).await, Ok(&10));
    });
}
