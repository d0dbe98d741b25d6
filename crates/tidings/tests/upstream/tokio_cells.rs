//! tokio's `tests/{sync_oneshot,sync_broadcast,sync_broadcast_weak,sync_watch,sync_once_cell,
//! sync_set_once}.rs`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use crate::both::{on_all, on_pools, pool, run, watchdog};
use crate::dice::Dice;
use crate::hands::{Wakes, pinned, poll, poll_with};
use crate::letter::Ledger;
use crate::turns;
use tidings::channel::broadcast::{self, broadcast};
use tidings::channel::ivar::IVar;
use tidings::channel::watch::watch;
use tidings::{Event, RecvError, TryRecvError, oneshot};

/// `sync_oneshot.rs: send_recv`, `async_send_recv`, `close_tx`, `close_rx`, `receiver_is_empty_*`,
/// `receiver_is_terminated_*`, `try_recv_after_completion`: every state in turn.
#[test]
fn a_oneshot_goes_through_its_states() {
    on_all(|| async {
        let (tx, mut rx) = oneshot();
        let mut wait = pinned(rx.recv());
        assert!(poll(wait.as_mut()).is_pending());
        tx.send(1).unwrap();
        assert_eq!(poll(wait.as_mut()), Poll::Ready(Ok(1)));
        drop(wait);
        assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
        assert_eq!(rx.recv().await, Err(RecvError));
        let (tx, mut rx) = oneshot::<u8>();
        drop(tx);
        assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
        assert_eq!(rx.recv().await, Err(RecvError));
        assert_eq!(rx.await, Err(RecvError));
    });
}

/// `explicit_close_poll`, `explicit_close_try_recv`, `close_after_recv`: who closes has the value that had come, or
/// none comes, and its sender hears.
#[test]
fn a_receiver_that_closes_has_what_had_come_or_none_comes() {
    on_all(|| async {
        let (tx, rx) = oneshot();
        tx.send(1).unwrap();
        assert_eq!(rx.close(), Some(1));
        let (tx, mut rx) = oneshot();
        let mut closed = pinned(tx.closed());
        assert!(poll(closed.as_mut()).is_pending());
        assert!(poll(pinned(&mut rx).as_mut()).is_pending());
        assert_eq!(rx.close(), None);
        assert!(poll(closed.as_mut()).is_ready());
        drop(closed);
        assert!(tx.is_closed());
        assert_eq!(tx.send(2), Err(2));
        let (tx, mut rx) = oneshot();
        tx.send(3).unwrap();
        assert_eq!(rx.try_recv(), Ok(3));
        assert_eq!(rx.close(), None);
    });
}

/// `async_rx_closed`: a sender that works for a receiver hears when it goes, and stops.
#[test]
fn a_sender_that_works_hears_when_nobody_waits_for_the_result() {
    on_all(|| async {
        let (tx, rx) = oneshot::<u8>();
        let worker = tidings::spawn(async move {
            tx.closed().await;
            tx.send(1)
        });
        turns(3).await;
        assert!(!worker.is_finished());
        drop(rx);
        assert_eq!(worker.await.unwrap(), Err(1));
        // A value that was sent before is not lost by looking for the end.
        let (tx, mut rx) = oneshot();
        assert!(tx.closed().try_now().is_err());
        tx.send(2).unwrap();
        assert_eq!(rx.try_recv(), Ok(2));
    });
}

/// `receiver_changes_task`, `sender_changes_task`: the waker of the last poll is woken.
#[test]
fn the_end_of_a_oneshot_that_moves_wakes_where_it_is() {
    on_all(|| async {
        let ((first, waker_1), (second, waker_2)) = (Wakes::new(), Wakes::new());
        let (tx, mut rx) = oneshot();
        let mut wait = pinned(rx.recv());
        assert!(poll_with(wait.as_mut(), &waker_1).is_pending());
        assert!(poll_with(wait.as_mut(), &waker_2).is_pending());
        tx.send(1).unwrap();
        assert_eq!((first.count(), second.count()), (0, 1));
        drop(wait);
        let (tx, rx) = oneshot::<u8>();
        let mut wait = pinned(tx.closed());
        assert!(poll_with(wait.as_mut(), &waker_1).is_pending());
        assert!(poll_with(wait.as_mut(), &waker_2).is_pending());
        drop(rx);
        assert_eq!((first.count(), second.count()), (0, 2));
    });
}

/// `sync_broadcast.rs: send_try_recv_bounded`, `send_two_recv`, `send_two_recv_bounded`,
/// `change_tasks`: two receivers, each at its own pace, each woken.
#[test]
fn two_receivers_see_all_at_their_own_pace() {
    on_all(|| async {
        let (tx, mut a) = broadcast(16);
        let mut b = tx.subscribe();
        let ((wakes_a, waker_a), (wakes_b, waker_b)) = (Wakes::new(), Wakes::new());
        let (mut wait_a, mut wait_b) = (pinned(a.recv()), pinned(b.recv()));
        assert!(poll_with(wait_a.as_mut(), &waker_a).is_pending());
        assert!(poll_with(wait_b.as_mut(), &waker_b).is_pending());
        assert_eq!(tx.send("hello"), Ok(2));
        assert_eq!((wakes_a.count(), wakes_b.count()), (1, 1));
        assert_eq!(poll(wait_a.as_mut()), Poll::Ready(Ok("hello")));
        drop(wait_a);
        assert_eq!(tx.send("world"), Ok(2));
        assert_eq!((a.recv().await, a.len()), (Ok("world"), 0));
        assert_eq!(poll(wait_b.as_mut()), Poll::Ready(Ok("hello")));
        drop(wait_b);
        assert_eq!(b.try_recv(), Ok("world"));
        assert_eq!(b.try_recv(), Err(broadcast::TryRecvError::Empty));
    });
}

/// `send_slow_rx`, `lagging_rx`, `single_capacity_recvs*`, `slow_receiver_within_capacity_*`,
/// `capacity_overflow_*`, `lag_catch_up_then_lag_again`, `lag_is_per_receiver`, `single_slot_*`,
/// `lagged_count_matches_*`, `lag_again_before_*`, `lagging_receiver_recovers_after_wrap_*`.
#[test]
fn each_receiver_lags_by_itself_and_goes_on_from_the_oldest() {
    // Whatever the sizes: what is seen and what is said to be missed make up what was sent.
    let mut dice = Dice(11);
    for capacity in [1, 2, 3, 4, 7, 8] {
        let (tx, first) = broadcast(capacity);
        let mut receivers = [first.resubscribe(), first.resubscribe(), first];
        let (mut sent, mut next) = (0u64, [0u64; 3]);
        for _ in 0..200 {
            for _ in 0..dice.below(3) {
                assert_eq!(tx.send(sent), Ok(3));
                sent += 1;
            }
            let nth = dice.below(3) as usize;
            let behind = sent - next[nth];
            match receivers[nth].try_recv() {
                Ok(n) => {
                    assert!(n == next[nth] && behind <= capacity as u64);
                    next[nth] += 1;
                }
                Err(broadcast::TryRecvError::Lagged(missed)) => {
                    assert_eq!(missed, behind - capacity as u64);
                    next[nth] += missed;
                    assert_eq!(receivers[nth].len(), capacity);
                }
                Err(broadcast::TryRecvError::Empty) => assert_eq!(behind, 0),
                Err(broadcast::TryRecvError::Closed) => unreachable!("it is open"),
            }
        }
        drop(tx);
        for (mut rx, mut next) in receivers.into_iter().zip(next) {
            loop {
                match rx.recv().wait() {
                    Ok(n) => {
                        assert_eq!(n, next);
                        next += 1;
                    }
                    Err(broadcast::RecvError::Lagged(missed)) => next += missed,
                    Err(broadcast::RecvError::Closed) => break,
                }
            }
            assert_eq!(next, sent);
        }
    }
}

/// `zero_capacity`, `capacity_too_big`, `send_no_rx`, `drop_rx_while_values_remain`,
/// `unconsumed_messages_are_dropped`, `dropping_sender_does_not_overwrite`.
#[test]
fn a_broadcast_without_receivers_keeps_nothing() {
    assert!(catch_unwind(|| broadcast::<u8>(0)).is_err());
    let ledger = Ledger::default();
    let (tx, rx) = broadcast(4);
    assert!(tx.send(Arc::new(ledger.letter(1))).is_ok());
    assert!(tx.send(Arc::new(ledger.letter(2))).is_ok());
    let rx2 = rx.resubscribe();
    drop(rx);
    drop(rx2);
    assert_eq!((ledger.alive(), tx.len()), (0, 0));
    assert_eq!(tx.send(Arc::new(ledger.letter(3))).unwrap_err().0.n, 3);
    let mut rx = tx.subscribe();
    assert_eq!(rx.try_recv().err(), Some(broadcast::TryRecvError::Empty));
    assert!(tx.send(Arc::new(ledger.letter(4))).is_ok());
    drop(tx);
    assert_eq!(rx.try_recv().unwrap().n, 4);
    assert_eq!(rx.try_recv().err(), Some(broadcast::TryRecvError::Closed));
    drop(rx);
    assert_eq!(ledger.alive(), 0);
}

/// `panic_in_clone`: a clone that panics costs its receiver that one value.
#[test]
fn a_clone_that_panics_costs_one_value() {
    #[derive(Debug, PartialEq)]
    struct Picky(u8);
    impl Clone for Picky {
        fn clone(&self) -> Self {
            assert_ne!(self.0, 0, "not this one");
            Self(self.0)
        }
    }
    let (tx, mut rx) = broadcast(16);
    let mut other = rx.resubscribe();
    tx.send(Picky(0)).unwrap();
    tx.send(Picky(1)).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| rx.try_recv())).is_err());
    let mut next = rx.try_recv();
    if next.is_err() {
        next = rx.try_recv();
    }
    assert_eq!(next, Ok(Picky(1)));
    assert!(catch_unwind(AssertUnwindSafe(|| other.recv().wait())).is_err());
    tx.send(Picky(2)).unwrap();
    assert_eq!(rx.try_recv(), Ok(Picky(2)));
}

/// `resubscribe_points_to_tail`, `resubscribe_lagged`, `resubscribe_to_closed_channel`, `sender_len`,
/// `sender_len_random`, `broadcast_sender_closed_with_extra_subscribe`.
#[test]
fn who_subscribes_again_begins_at_the_end() {
    on_all(|| async {
        let (tx, mut rx) = broadcast(2);
        (0..4).for_each(|n| drop(tx.send(n)));
        let mut again = rx.resubscribe();
        assert_eq!((tx.len(), again.len(), rx.len()), (2, 0, 2));
        assert_eq!(again.try_recv(), Err(broadcast::TryRecvError::Empty));
        assert_eq!(rx.try_recv(), Err(broadcast::TryRecvError::Lagged(2)));
        tx.send(4).unwrap();
        assert_eq!(again.recv().await, Ok(4));
        let mut closed = pinned(tx.closed());
        drop((rx, again));
        let late = tx.subscribe();
        assert!(poll(closed.as_mut()).is_pending(), "there is one again");
        drop(late);
        assert!(poll(closed.as_mut()).is_ready());
        drop(closed);
        let rx = tx.subscribe();
        drop(tx);
        let mut again = rx.resubscribe();
        assert!(again.is_closed());
        assert_eq!(again.recv().await, Err(broadcast::RecvError::Closed));
    });
}

/// `sync_watch.rs: single_rx_recv`, `multi_rx`, `rx_observes_final_value`, `borrow_and_update`,
/// `multiple_sender`, `receiver_is_notified_when_last_sender_is_dropped`.
#[test]
fn every_watcher_sees_the_last_value_and_then_the_end() {
    on_all(|| async {
        let (tx, rx) = watch(0);
        let (other, mut late) = (tx.clone(), rx.clone());
        let watchers: Vec<_> = (0..3)
            .map(|_| {
                let mut rx = rx.clone();
                tidings::spawn(async move {
                    let mut last = *rx.get_and_update();
                    while rx.changed().await.is_ok() {
                        let now = *rx.get();
                        assert!(now >= last);
                        last = now;
                    }
                    last
                })
            })
            .collect();
        for n in 1..=20 {
            if n % 2 == 0 {
                tx.send(n).unwrap();
            } else {
                other.send(n).unwrap();
            }
            turns(n % 3).await;
        }
        drop(tx);
        assert_eq!((late.has_changed(), late.is_closed()), (Ok(true), false));
        drop(other);
        for watcher in watchers {
            assert_eq!(watcher.await.unwrap(), 20);
        }
        // The last value is seen after the end too, once.
        assert_eq!(
            (late.has_changed(), late.changed().await),
            (Ok(true), Ok(()))
        );
        assert_eq!(
            (late.has_changed(), late.changed().await),
            (Err(RecvError), Err(RecvError))
        );
        assert_eq!((*late.get(), late.is_closed()), (20, true));
    });
}

/// `rx_mark_changed`, `rx_version_underflow`, `poll_close`, `reopened_after_subscribe`,
/// `wait_for_errors_on_closed_channel_true_predicate`, `has_changed_errors_*`.
#[test]
fn a_watch_is_marked_reopened_and_asked() {
    on_all(|| async {
        let (tx, mut rx) = watch("one");
        rx.mark_changed();
        rx.mark_changed();
        assert_eq!(rx.has_changed(), Ok(true));
        assert_eq!(rx.changed().await, Ok(()));
        assert_eq!(rx.has_changed(), Ok(false));
        let mut closed = pinned(tx.closed());
        assert!(poll(closed.as_mut()).is_pending());
        drop(rx);
        assert!(poll(closed.as_mut()).is_ready() && tx.is_closed());
        drop(closed);
        let mut rx = tx.subscribe();
        assert!(!tx.is_closed());
        tx.send("two").unwrap();
        drop(tx);
        assert_eq!(*rx.wait_for(|_| true).await.unwrap(), "two");
        assert_eq!(
            rx.wait_for(|word| *word == "three").await.err(),
            Some(RecvError)
        );
        assert_eq!(*rx.wait_for(|word| *word == "two").await.unwrap(), "two");
        rx.mark_changed();
        assert_eq!(rx.changed().await, Ok(()));
        assert_eq!(rx.changed().await, Err(RecvError));
    });
}

/// `sync_once_cell.rs: set_and_get`, `set_twice`, `drop_cell`; `sync_set_once.rs:
/// set_and_wait_multiple_threads`, `drop_*`: a cell is set by one of many, and drops its value once.
#[test]
fn one_of_many_fills_a_cell_and_all_read_it() {
    on_pools(|| async {
        let ledger = Ledger::default();
        for round in 0..50u64 {
            let cell = IVar::new();
            let writers: Vec<_> = (0..3)
                .map(|nth| {
                    let (cell, letter) = (cell.clone(), ledger.letter(round * 10 + nth));
                    tidings::spawn(async move { cell.fill(letter).is_ok() })
                })
                .collect();
            let reader = cell.clone();
            let read = tidings::spawn(async move { reader.read().await.n });
            let seen = cell.read().await.n;
            assert_eq!((read.await.unwrap(), seen / 10), (seen, round));
            let mut filled = 0;
            for writer in writers {
                filled += u32::from(writer.await.unwrap());
            }
            assert_eq!((filled, ledger.alive()), (1, 1));
            drop(cell);
            assert_eq!(ledger.alive(), 0);
        }
        let empty = IVar::<u8>::new();
        assert!(empty.try_read().is_none() && !empty.is_full());
        drop(empty);
    });
}

/// `receiver_recv_is_cooperative`, `{receiver_changed,receiver_wait_for,sender_closed}_is_cooperative`:
/// a wait that always happens at once lets its neighbour on the same worker run.
#[test]
fn a_wait_that_always_happens_lets_its_neighbours_run() {
    /// `waits`: until it is told that the neighbour has run.
    fn beside<F: Future<Output = ()> + Send + 'static>(
        waits: impl FnOnce(Arc<AtomicBool>) -> F + Send + 'static,
    ) {
        let _watchdog = watchdog();
        run(&pool(1), async {
            let ran = Arc::new(AtomicBool::new(false));
            let flag = Arc::clone(&ran);
            let other = tidings::spawn(async move { flag.store(true, Ordering::SeqCst) });
            waits(ran).await;
            other.await.unwrap();
        });
    }
    beside(|ran| async move {
        let (tx, mut seen) = watch(0);
        while !ran.load(Ordering::SeqCst) {
            tx.send(1).unwrap();
            seen.changed().await.unwrap();
        }
    });
    beside(|ran| async move {
        let (_tx, mut seen) = watch(1);
        while !ran.load(Ordering::SeqCst) {
            seen.wait_for(|&n| n == 1).await.unwrap();
        }
    });
    beside(|ran| async move {
        let (one, rest) = oneshot::<u8>();
        drop(rest);
        while !ran.load(Ordering::SeqCst) {
            one.closed().await;
        }
    });
}
