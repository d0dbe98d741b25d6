//! Watch: the last value is seen by everybody.

use crate::by_hand::{Chance, on_tokio, poll, poll_and_drop, rt};
use std::pin::pin;
use std::task::Poll;
use tidings::channel::watch::{Receiver, watch};
use tidings::{Event, RecvError};

#[test]
fn a_change_is_seen_once() {
    let (tx, mut rx) = watch(0);
    poll_and_drop(rx.changed());
    tx.send(1).unwrap();
    tx.send(2).unwrap();
    let mut clone = rx.clone();
    assert_eq!(rx.changed().wait(), Ok(()));
    assert_eq!(*rx.get(), 2);
    poll_and_drop(rx.changed());
    assert_eq!(clone.changed().wait(), Ok(()));
    poll_and_drop(tx.subscribe().changed());
    assert_eq!(tx.version(), 2);
}

#[test]
fn a_dropped_wait_has_seen_nothing() {
    let (tx, mut rx) = watch(0);
    {
        let mut wait = pin!(rx.changed().into_future());
        assert!(poll(wait.as_mut()).is_pending());
        tx.send(1).unwrap();
    }
    assert!(format!("{tx:?}").contains("receivers_waiting: 0"));
    assert_eq!(rx.has_changed(), Ok(true));
    assert_eq!(rx.changed().try_now(), Ok(Ok(())));
}

#[test]
fn a_snapshot_held_stops_nobody() {
    let (tx, rx) = watch(vec![0]);
    let snapshot = rx.get();
    tx.send_modify(|list| list.push(1));
    assert_eq!((&*snapshot, &*rx.get()), (&vec![0], &vec![0, 1]));
}

#[test]
fn modify_from_many_threads_loses_no_change() {
    let (tx, rx) = watch(0);
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| (0..1000).for_each(|_| tx.send_modify(|n| *n += 1)));
        }
    });
    assert_eq!((*rx.get(), tx.version()), (4000, 4000));
}

#[test]
fn a_change_that_comes_during_another_is_not_overwritten() {
    let (tx, rx) = watch(0);
    let mut first = true;
    tx.send_modify(|n| {
        if std::mem::take(&mut first) {
            tx.send_modify(|n| *n += 10);
        }
        *n += 1;
    });
    assert_eq!((*rx.get(), tx.version()), (11, 2));
}

#[test]
fn a_panic_in_modify_changes_nothing() {
    let (tx, mut rx) = watch(1);
    let modify = || tx.send_modify(|_| panic!("no"));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(modify)).is_err());
    tx.send_if_modified(|n| {
        *n = 9;
        false
    });
    assert_eq!((*rx.get_and_update(), rx.has_changed()), (1, Ok(false)));
}

#[test]
fn closing_wakes_everybody_after_the_last_value() {
    let (tx, rx) = watch(0);
    let mut receivers: Vec<_> = (0..100).map(|_| rx.clone()).collect();
    let mut waits: Vec<_> = receivers
        .iter_mut()
        .map(|rx| Box::pin(rx.changed().into_future()))
        .collect();
    assert!(
        waits
            .iter_mut()
            .all(|wait| poll(wait.as_mut()).is_pending())
    );
    drop(tx);
    for wait in &mut waits {
        assert_eq!(poll(wait.as_mut()), Poll::Ready(Err(RecvError)));
    }
    assert_eq!(rx.has_changed(), Err(RecvError));
    assert!(rx.is_closed());
}

#[test]
fn senders_hear_when_the_last_receiver_goes() {
    let (tx, rx) = watch(0);
    poll_and_drop(tx.closed());
    let mut closed = pin!(tx.closed().into_future());
    assert!(poll(closed.as_mut()).is_pending());
    drop(rx);
    assert!(poll(closed.as_mut()).is_ready());
    assert_eq!(tx.send(5).unwrap_err().into_inner(), 5);
    assert_eq!(*tx.send_replace(6), 0);
    let rx = tx.subscribe();
    assert_eq!((*rx.get(), tx.is_closed()), (6, false));
    poll_and_drop(tx.closed());
}

async fn follow(mut rx: Receiver<u64>, seed: u64) -> u64 {
    let mut chance = Chance::new(seed);
    let mut last = 0;
    loop {
        match chance.maybe(rx.changed()).await {
            None => {}
            Some(Ok(())) => {
                let now = *rx.get();
                assert!(now >= last, "values do not go back");
                last = now;
            }
            Some(Err(RecvError)) => return last,
        }
    }
}

#[test]
fn stress_everybody_sees_the_last_value() {
    rt().block_on(async {
        let (tx, rx) = watch(0);
        let tasks: Vec<_> = (0..8)
            .map(|seed| tidings::spawn(follow(rx.clone(), seed)))
            .collect();
        for n in 1..=20_000 {
            tx.send(n).unwrap();
            if n % 32 == 0 {
                tidings::yield_now().await;
            }
        }
        drop(tx);
        for task in tasks {
            assert_eq!(task.await.unwrap(), 20_000);
        }
    });
}

#[test]
fn under_tokio() {
    let (tx, mut rx) = watch(0);
    let last = on_tokio(async move {
        let task = tokio::spawn(async move { rx.wait_for(|&n| n == 100).await.map(|n| *n) });
        for n in 1..=100 {
            tx.send(n).unwrap();
            tokio::task::yield_now().await;
        }
        task.await.unwrap()
    });
    assert_eq!(last, Ok(100));
}
