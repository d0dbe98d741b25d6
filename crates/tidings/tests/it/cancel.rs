//! A wait that is abandoned had no effect, wherever it is abandoned.

use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use crate::both::on_all;
use crate::channel::{rx_waiting, tx_waiting};
use crate::hands::{Wakes, pinned, poll, poll_with};
use crate::letter::{Ledger, Letter};
use tidings::channel::{dead_letters, ivar::IVar, mvar::MVar};
use tidings::{
    Either, Event, Receiver, Sender, always, bounded, channel, choose, never, oneshot, unbounded,
    yield_now,
};

fn kinds<T>() -> [(Sender<T>, Receiver<T>); 3] {
    [channel(), bounded(1), unbounded()]
}

/// Polls a wait so many times; it must wait.
fn poll_times<F: Future>(wait: &mut Pin<Box<F>>, polls: usize) {
    for _ in 0..polls {
        assert!(poll(wait.as_mut()).is_pending());
    }
}

#[test]
fn a_dropped_receive_leaves_no_trace_before_its_partner_came() {
    on_all(|| async {
        for polls in 0..3 {
            for (tx, rx) in kinds() {
                let mut wait = pinned(rx.recv());
                poll_times(&mut wait, polls);
                drop(wait);
                let mut many = Vec::new();
                let mut wait = pinned(rx.recv_many(&mut many, 3));
                poll_times(&mut wait, polls);
                drop(wait);
                assert_eq!((rx_waiting(&rx), many.len()), (0, 0));
                tx.post(1).unwrap();
                assert_eq!(rx.recv().await, Ok(1));
            }
        }
    });
}

#[test]
fn a_value_handed_to_a_dropped_receive_is_the_next_ones() {
    on_all(|| async {
        for (tx, rx) in kinds() {
            let mut first = pinned(rx.recv());
            poll_times(&mut first, 1);
            // To the one who waits; then one more behind it.
            tx.try_send(1).unwrap();
            tx.post(2).unwrap();
            drop(first);
            assert_eq!(
                (rx.try_recv(), rx.try_recv()),
                (Ok(1), Ok(2)),
                "at the front"
            );
            let mut many = Vec::new();
            let mut wait = pinned(rx.recv_many(&mut many, 3));
            poll_times(&mut wait, 2);
            tx.try_send(3).unwrap();
            drop(wait);
            assert!(many.is_empty());
            assert_eq!(rx.try_recv(), Ok(3));
        }
    });
}

#[test]
fn a_value_handed_to_a_dropped_receive_wakes_the_next_who_waits() {
    on_all(|| async {
        for (tx, rx) in kinds() {
            let (wakes, waker) = Wakes::new();
            let mut first = pinned(rx.recv());
            let mut second = pinned(rx.recv());
            poll_times(&mut first, 1);
            assert!(poll_with(second.as_mut(), &waker).is_pending());
            tx.try_send(1).unwrap();
            assert_eq!(wakes.count(), 0);
            drop(first);
            assert_eq!(wakes.count(), 1);
            assert_eq!(poll(second.as_mut()), Poll::Ready(Ok(1)));
        }
    });
}

#[test]
fn a_value_given_back_by_many_comes_out_once_each() {
    on_all(|| async {
        let ledger = Ledger::default();
        let (tx, rx) = channel();
        let mut waits: Vec<_> = (0..10).map(|_| pinned(rx.recv())).collect();
        waits.iter_mut().for_each(|wait| poll_times(wait, 1));
        for n in 0..10 {
            tx.try_send(ledger.letter(n)).unwrap();
        }
        drop(waits);
        let mut all: Vec<u64> = (0..10).map(|_| rx.try_recv().unwrap().n).collect();
        all.sort_unstable();
        assert_eq!(all, (0..10).collect::<Vec<_>>());
        assert_eq!(ledger.alive(), 0);
    });
}

#[test]
fn a_value_with_no_receiver_left_is_a_counted_dead_letter() {
    on_all(|| async {
        let ledger = Ledger::default();
        for (tx, rx) in kinds() {
            let before = dead_letters();
            let task = tidings::spawn(async move { rx.recv().await });
            while tx.try_send(ledger.letter(1)).is_err() {
                yield_now().await;
            }
            task.abort();
            match task.await {
                Ok(letter) => assert_eq!(letter.unwrap().n, 1),
                Err(_) => {
                    while dead_letters() == before {
                        yield_now().await;
                    }
                }
            }
            assert_eq!(ledger.alive(), 0);
            assert!(tx.send(ledger.letter(2)).await.is_err());
        }
        let before = dead_letters();
        let (tx, rx) = oneshot();
        tx.send(ledger.letter(3)).unwrap();
        drop(rx);
        assert!(dead_letters() > before);
        assert_eq!(ledger.alive(), 0);
    });
}

#[test]
fn a_dropped_send_leaves_no_trace_before_its_partner_came() {
    on_all(|| async {
        for polls in 0..3 {
            for capacity in 0..2 {
                let ledger = Ledger::default();
                let (tx, rx) = if capacity == 0 { channel() } else { bounded(1) };
                (0..capacity).for_each(|_| tx.try_send(ledger.letter(0)).unwrap());
                let mut wait = pinned(tx.send(ledger.letter(1)));
                poll_times(&mut wait, polls);
                drop(wait);
                let mut place = Some(ledger.letter(2));
                let mut wait = pinned(tx.send_from(&mut place));
                poll_times(&mut wait, polls);
                drop(wait);
                assert_eq!(place.unwrap().n, 2, "kept");
                let mut wait = pinned(tx.reserve());
                if capacity > 0 {
                    poll_times(&mut wait, polls);
                }
                drop(wait);
                assert_eq!((tx_waiting(&rx), rx.len()), (0, capacity));
                assert_eq!(ledger.alive(), capacity);
                while rx.try_recv().is_ok() {}
                let mut recv = pinned(rx.recv());
                poll_times(&mut recv, 1);
                tx.try_send(ledger.letter(3)).unwrap();
                assert!(matches!(poll(recv.as_mut()), Poll::Ready(Ok(letter)) if letter.n == 3));
            }
        }
    });
}

#[test]
fn a_send_that_was_taken_is_done_though_nobody_looked() {
    on_all(|| async {
        for capacity in 0..2 {
            let (tx, rx) = if capacity == 0 { channel() } else { bounded(1) };
            (0..capacity).for_each(|n| tx.try_send(n).unwrap());
            let mut wait = pinned(tx.send(7));
            poll_times(&mut wait, 1);
            let mut place = Some(8);
            let mut from = pinned(tx.send_from(&mut place));
            poll_times(&mut from, 1);
            (0..capacity).for_each(|n| assert_eq!(rx.try_recv(), Ok(n)));
            assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(7), Ok(8)));
            drop((wait, from));
            assert_eq!(place, None);
        }
    });
}

#[test]
fn a_place_kept_by_a_dropped_reservation_is_free_again() {
    on_all(|| async {
        let (tx, rx) = bounded(1);
        tx.try_send(1).unwrap();
        let (wakes, waker) = Wakes::new();
        let mut reserve = pinned(tx.reserve());
        let mut send = pinned(tx.send(2));
        poll_times(&mut reserve, 1);
        assert!(poll_with(send.as_mut(), &waker).is_pending());
        assert_eq!(rx.try_recv(), Ok(1));
        // The place went to the reservation, which nobody looks at any more.
        drop(reserve);
        assert_eq!(wakes.count(), 1);
        assert!(poll(send.as_mut()).is_ready());
        assert_eq!(rx.try_recv(), Ok(2));
    });
}

#[test]
fn a_send_that_loses_gives_its_value_back() {
    on_all(|| async {
        let (tx, _rx) = channel();
        let Either::Right(won, unsent) = tx.send(1).either(always("won")).await else {
            unreachable!("nobody receives")
        };
        assert_eq!((won, unsent), ("won", 1));
        assert_eq!(
            tx.send(2)
                .timeout(Duration::from_millis(1))
                .await
                .unwrap_err()
                .0,
            2
        );
        assert_eq!(tx.send(3).try_now(), Err(3));
        assert_eq!(choose([tx.send(4), tx.send(5)]).try_now(), Err(vec![4, 5]));
        let mut place = Some(6);
        assert!(tx.send_from(&mut place).or(never()).try_now().is_err());
        let won = tx
            .send_from(&mut place)
            .map(|_| false)
            .or(always(true))
            .await;
        assert_eq!((won, place), (true, Some(6)));
    });
}

#[test]
fn a_send_that_loses_while_it_waits_gives_its_value_back() {
    on_all(|| async {
        let (tx, _rx) = channel();
        let (go, wait) = unbounded();
        let mut choice = pinned(tx.send(1).either(wait.recv()));
        poll_times(&mut choice, 2);
        go.send(()).await.unwrap();
        let Poll::Ready(Either::Right(Ok(()), 1)) = poll(choice.as_mut()) else {
            panic!("the other branch happened")
        };
    });
}

#[test]
fn a_send_that_loses_a_choice_drops_its_value_where_nobody_gets_it_back() {
    on_all(|| async {
        let ledger = Ledger::default();
        let (tx, rx) = channel();
        let lost = tx.send(ledger.letter(1)).map(|_| false);
        assert!(lost.or(always(true)).await);
        assert_eq!(ledger.alive(), 0);
        let (go, wait) = unbounded();
        let sends = [2, 3].map(|n| tx.send(ledger.letter(n)).map(drop).boxed());
        let mut choice = pinned(choose(
            sends.into_iter().chain([wait.recv().map(drop).boxed()]),
        ));
        poll_times(&mut choice, 2);
        assert_eq!(ledger.alive(), 2);
        go.send(()).await.unwrap();
        assert!(poll(choice.as_mut()).is_ready());
        drop(choice);
        assert_eq!((ledger.alive(), rx.len()), (0, 0));
        let mut place = Some(ledger.letter(4));
        tidings::select! {
            sent = tx.send_from(&mut place) => sent.unwrap(),
            () = tidings::after(Duration::from_millis(1)) => {}
        }
        assert_eq!(place.unwrap().n, 4);
    });
}

#[test]
fn the_other_waits_leave_nothing_behind() {
    on_all(|| async {
        for polls in 0..3 {
            let (tx, mut rx) = oneshot();
            let mut wait = pinned(rx.recv());
            poll_times(&mut wait, polls);
            drop(wait);
            let mut wait = pinned(tx.closed());
            poll_times(&mut wait, polls);
            drop(wait);
            let mut wait = pinned(rx.recv());
            poll_times(&mut wait, polls);
            tx.send(1).unwrap();
            drop(wait);
            assert_eq!(rx.await, Ok(1));
            let cell = IVar::new();
            let mut wait = pinned(cell.read());
            poll_times(&mut wait, polls);
            cell.fill(2).unwrap();
            drop(wait);
            assert_eq!(*cell.read().await, 2);
            let cell = MVar::full(3);
            let mut put = pinned(cell.put(4));
            poll_times(&mut put, polls);
            drop(put);
            assert_eq!(cell.take().await, 3);
            let mut take = pinned(cell.take());
            poll_times(&mut take, polls);
            cell.put(5).await;
            drop(take);
            assert_eq!(cell.take().await, 5);
            let mut sleep = pinned(tidings::after(Duration::from_secs(3600)));
            poll_times(&mut sleep, polls);
            drop(sleep);
            let mut task = tidings::spawn(std::future::pending::<()>());
            let mut join = pinned(task.join());
            poll_times(&mut join, polls);
            drop(join);
            task.abort();
            assert!(task.await.is_err());
        }
    });
}

#[test]
fn a_guard_that_panics_leaves_the_value_of_its_neighbour() {
    let (tx, _rx) = channel::<Letter>();
    let ledger = Ledger::default();
    let mut place = Some(ledger.letter(1));
    let bad =
        tidings::guard(|| -> tidings::event::Never<_> { std::panic::resume_unwind(Box::new(1)) });
    let mut choice = pinned(tx.send_from(&mut place).or(bad));
    let polled = std::panic::AssertUnwindSafe(|| poll(choice.as_mut()).is_ready());
    assert!(std::panic::catch_unwind(polled).is_err());
    drop(choice);
    assert_eq!(place.unwrap().n, 1);
}
