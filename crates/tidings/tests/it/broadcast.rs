//! Broadcast: everybody sees everything, or is told how much was missed.

use crate::by_hand::{Chance, on_tokio, poll, poll_and_drop, rt};
use std::pin::pin;
use std::task::Poll;
use tidings::Event;
use tidings::channel::broadcast::{Receiver, RecvError, TryRecvError, broadcast};

#[test]
fn a_receiver_sees_what_is_sent_after_it_subscribed() {
    let (tx, mut a) = broadcast(4);
    assert_eq!(tx.send(1), Ok(1));
    let mut b = a.resubscribe();
    assert_eq!(tx.send(2), Ok(2));
    assert_eq!((a.len(), b.len(), tx.receiver_count()), (2, 1, 2));
    assert_eq!((a.try_recv(), a.try_recv()), (Ok(1), Ok(2)));
    assert_eq!(
        (b.try_recv(), b.try_recv()),
        (Ok(2), Err(TryRecvError::Empty))
    );
}

#[test]
fn a_slow_receiver_is_told_how_many_it_missed() {
    let (tx, mut rx) = broadcast(3);
    (0..10).for_each(|n| assert!(tx.send(n).is_ok()));
    assert_eq!(rx.len(), 3);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Lagged(7)));
    assert_eq!(rx.recv().wait(), Ok(7));
    (10..13).for_each(|n| assert!(tx.send(n).is_ok()));
    assert_eq!(rx.recv().wait(), Err(RecvError::Lagged(2)));
    drop(tx);
    assert_eq!([(); 3].map(|()| rx.recv().wait()), [Ok(10), Ok(11), Ok(12)]);
    assert_eq!(rx.recv().wait(), Err(RecvError::Closed));
}

#[test]
fn a_dropped_wait_loses_nothing() {
    let (tx, mut rx) = broadcast(4);
    poll_and_drop(rx.recv());
    {
        let mut wait = pin!(rx.recv().into_future());
        assert!(poll(wait.as_mut()).is_pending());
        tx.send(1).unwrap();
    }
    assert!(format!("{tx:?}").contains("receivers_waiting: 0"));
    assert_eq!(rx.try_recv(), Ok(1));
}

#[test]
fn a_value_overwritten_between_wake_and_look_is_reported() {
    let (tx, mut rx) = broadcast(1);
    let mut wait = pin!(rx.recv().into_future());
    assert!(poll(wait.as_mut()).is_pending());
    tx.send(1).unwrap();
    tx.send(2).unwrap();
    assert_eq!(poll(wait.as_mut()), Poll::Ready(Err(RecvError::Lagged(1))));
}

#[test]
fn closing_wakes_everybody() {
    let (tx, rx) = broadcast::<u8>(1);
    let other = tx.clone();
    let mut receivers: Vec<_> = (0..100).map(|_| rx.resubscribe()).collect();
    let mut waits: Vec<_> = receivers
        .iter_mut()
        .map(|rx| Box::pin(rx.recv().into_future()))
        .collect();
    assert!(
        waits
            .iter_mut()
            .all(|wait| poll(wait.as_mut()).is_pending())
    );
    drop(tx);
    assert!(
        waits
            .iter_mut()
            .all(|wait| poll(wait.as_mut()).is_pending())
    );
    drop(other);
    for wait in &mut waits {
        assert_eq!(poll(wait.as_mut()), Poll::Ready(Err(RecvError::Closed)));
    }
}

#[test]
fn senders_hear_when_the_last_receiver_goes() {
    let (tx, rx) = broadcast(1);
    let kept = std::sync::Arc::new(());
    tx.send(kept.clone()).unwrap();
    poll_and_drop(tx.closed());
    let mut closed = pin!(tx.closed().into_future());
    assert!(poll(closed.as_mut()).is_pending());
    drop(rx);
    assert!(poll(closed.as_mut()).is_ready());
    assert_eq!((tx.len(), std::sync::Arc::strong_count(&kept)), (0, 1));
    let unsent = tx.send(kept.clone()).unwrap_err().into_inner();
    drop((unsent, tx.subscribe()));
    assert_eq!(tx.receiver_count(), 0);
}

#[test]
fn a_clone_that_sends_does_not_deadlock() {
    struct Loud(tidings::channel::broadcast::Sender<Self>);
    impl Clone for Loud {
        fn clone(&self) -> Self {
            // User code that needs the channel's lock.
            assert_eq!(self.0.receiver_count(), 2);
            Self(self.0.clone())
        }
    }
    let (tx, mut rx) = broadcast(2);
    let _other = tx.subscribe();
    tx.send(Loud(tx.clone())).ok().unwrap();
    drop(rx.try_recv().ok().unwrap());
}

/// Every receiver counts what it got and what it missed: together all that was sent.
async fn conserve(mut rx: Receiver<u64>, seed: u64) -> u64 {
    let mut chance = Chance::new(seed);
    let (mut seen, mut last) = (0, None);
    loop {
        match chance.maybe(rx.recv()).await {
            None => {}
            Some(Ok(n)) => {
                assert!(last < Some(n), "values come in order");
                last = Some(n);
                seen += 1;
            }
            Some(Err(RecvError::Lagged(n))) => seen += n,
            Some(Err(RecvError::Closed)) => return seen,
        }
    }
}

#[test]
fn stress_nothing_is_lost_or_seen_twice() {
    rt().block_on(async {
        let (tx, rx) = broadcast(16);
        let tasks: Vec<_> = (0..8)
            .map(|seed| tidings::spawn(conserve(rx.resubscribe(), seed)))
            .collect();
        for n in 0..20_000 {
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
    let (tx, rx) = broadcast(4);
    let seen = on_tokio(async move {
        let task = tokio::spawn(conserve(rx, 1));
        for n in 0..1000 {
            tx.send(n).unwrap();
            tokio::task::yield_now().await;
        }
        drop(tx);
        task.await.unwrap()
    });
    assert_eq!(seen, 1000);
}
