//! What handles say when they are asked: counts, states, and whether two belong together.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::both::{pool, run};
use crate::hands::{Wakes, pinned, poll, poll_with};
use futures::Sink;
use tidings::actor::{Builder, Mailbox, Reply};
use tidings::channel::ivar::IVar;
use tidings::channel::mvar::MVar;
use tidings::channel::{broadcast, dead_letters, watch};
use tidings::sync::{Barrier, Semaphore};
use tidings::{CancellationToken, bounded, channel, oneshot, unbounded, yield_now};

#[test]
fn a_channel_tells_how_full_it_is_and_whether_it_is_closed() {
    let (tx, rx) = bounded(2);
    assert_eq!((tx.len(), rx.len()), (0, 0));
    assert!(tx.is_empty() && rx.is_empty());
    for n in 1..=2 {
        tx.try_send(n).unwrap();
        assert_eq!((tx.len(), rx.len()), (n, n));
        assert!(!tx.is_empty() && !rx.is_empty());
    }
    assert!(!tx.is_closed() && !rx.is_closed());
    assert!(rx.close(), "it was open");
    assert!(!rx.close() && !tx.close(), "it was closed");
    assert!(tx.is_closed() && rx.is_closed());
    assert_eq!(rx.len(), 2);
    let more = [(); 3].map(|()| tx.clone());
    assert!(
        format!("{rx:?}").contains("senders: 4, receivers: 1"),
        "{rx:?}"
    );
    drop(more);
    assert_eq!(bounded::<u8>(3).0.capacity(), Some(3));
    assert_eq!(channel::<u8>().0.capacity(), Some(0));
    assert_eq!(unbounded::<u8>().0.capacity(), None);
}

#[test]
fn handles_know_whether_they_belong_to_one_channel() {
    let ((tx, rx), (other_tx, other_rx)) = (unbounded::<u8>(), unbounded::<u8>());
    assert!(tx.same_channel(&tx.clone()) && rx.same_channel(&rx.clone()));
    assert!(!tx.same_channel(&other_tx) && !rx.same_channel(&other_rx));
    assert!(tx.same_channel(&tx.downgrade().upgrade().unwrap()));
    assert!(rx.same_channel(&rx.downgrade().upgrade().unwrap()));
    let ((tx, rx), (other_tx, other_rx)) = (broadcast::<u8>(1), broadcast::<u8>(1));
    assert!(tx.same_channel(&tx.clone()) && rx.same_channel(&tx.subscribe()));
    assert!(!tx.same_channel(&other_tx) && !rx.same_channel(&other_rx));
    let ((tx, rx), (other_tx, other_rx)) = (watch(1), watch(1));
    assert!(tx.same_channel(&tx.clone()) && rx.same_channel(&tx.subscribe()));
    assert!(!tx.same_channel(&other_tx) && !rx.same_channel(&other_rx));
}

#[test]
fn a_broadcast_counts_its_handles_and_what_it_keeps() {
    let (tx, mut rx) = broadcast(2);
    assert_eq!((tx.sender_count(), tx.receiver_count()), (1, 1));
    assert!(tx.is_empty() && rx.is_empty() && !rx.is_closed());
    let (more, late) = (tx.clone(), rx.resubscribe());
    assert_eq!((tx.sender_count(), tx.receiver_count()), (2, 2));
    for n in 1..=3 {
        assert_eq!(tx.send(n), Ok(2));
        let kept = n.min(2);
        assert_eq!((tx.len(), rx.len(), late.len()), (kept, kept, kept));
        assert!(!tx.is_empty() && !rx.is_empty());
    }
    drop((more, late));
    assert_eq!((tx.sender_count(), tx.receiver_count()), (1, 1));
    assert!(rx.try_recv().is_err(), "one was lost");
    assert_eq!((rx.try_recv(), rx.len()), (Ok(2), 1));
    assert_eq!(tx.len(), 2, "kept for those who are slower");
    let mut closed = pinned(tx.closed());
    assert!(poll(closed.as_mut()).is_pending());
    let new = tx.subscribe();
    drop(rx);
    assert!(poll(closed.as_mut()).is_pending());
    drop(new);
    assert_eq!(poll(closed.as_mut()), Poll::Ready(()));
    assert_eq!(poll(pinned(tx.closed()).as_mut()), Poll::Ready(()));
    let rx = tx.subscribe();
    drop(closed);
    drop(tx);
    assert!(rx.is_closed());
}

#[test]
fn a_watch_counts_its_handles_and_versions() {
    let (tx, mut rx) = watch(0);
    assert_eq!((tx.sender_count(), tx.receiver_count()), (1, 1));
    let (more, late) = (tx.clone(), tx.subscribe());
    assert_eq!((tx.sender_count(), tx.receiver_count()), (2, 2));
    let first = tx.version();
    tx.send(1).unwrap();
    assert_eq!((tx.version(), *tx.get()), (first + 1, 1));
    assert_eq!((rx.has_changed(), late.has_changed()), (Ok(true), Ok(true)));
    assert_eq!(*rx.get_and_update(), 1);
    assert_eq!(rx.has_changed(), Ok(false));
    rx.mark_changed();
    assert_eq!(rx.has_changed(), Ok(true));
    assert_eq!((*tx.send_replace(2), *rx.get()), (1, 2));
    assert!(!tx.send_if_modified(|_| false), "not changed");
    assert_eq!(tx.version(), first + 2);
    assert!(tx.send_if_modified(|n| std::mem::replace(n, 3) == 2));
    assert_eq!((tx.version(), *rx.get()), (first + 3, 3));
    drop((more, late));
    assert_eq!((tx.sender_count(), tx.receiver_count()), (1, 1));
    assert!(!tx.is_closed() && !rx.is_closed());
    let mut closed = pinned(tx.closed());
    assert!(poll(closed.as_mut()).is_pending());
    drop(rx);
    assert!(tx.is_closed());
    assert_eq!(poll(closed.as_mut()), Poll::Ready(()));
    drop(closed);
    let rx = tx.subscribe();
    drop(tx);
    assert!(rx.is_closed());
}

#[test]
fn cells_tell_whether_they_are_full() {
    let cell = IVar::new();
    assert!(!cell.is_full() && cell.try_read().is_none());
    cell.fill(1).unwrap();
    assert!(cell.is_full());
    assert_eq!((cell.fill(2), cell.try_read()), (Err(2), Some(&1)));
    let cell = MVar::empty();
    assert!(!cell.is_full() && cell.try_take().is_none());
    cell.try_put(1).unwrap();
    assert!(cell.is_full());
    assert_eq!((cell.try_put(2), cell.try_take()), (Err(2), Some(1)));
    assert!(!cell.is_full() && MVar::full(3).is_full());
    let (tx, rx) = oneshot::<u8>();
    assert!(!tx.is_closed());
    drop(rx);
    assert!(tx.is_closed());
}

#[test]
fn a_guard_that_is_disarmed_gives_its_own_token_back() {
    let token = CancellationToken::new();
    let back = token.clone().drop_guard().disarm();
    assert!(!token.is_cancelled());
    back.cancel();
    assert!(token.is_cancelled());
}

#[test]
fn a_semaphore_counts_its_permits() {
    let places = Semaphore::new(3);
    assert_eq!(places.available_permits(), 3);
    let mut two = places.try_acquire(2).unwrap();
    assert_eq!((two.permits(), places.available_permits()), (2, 1));
    let mut wait = pinned(places.acquire(2));
    assert!(poll(wait.as_mut()).is_pending());
    assert!(format!("{places:?}").contains("permits: 1, waiting: 1"));
    drop(wait);
    let one = two.split(1).unwrap();
    assert_eq!((one.permits(), two.permits()), (1, 1));
    assert!(two.split(2).is_none());
    drop(one);
    assert_eq!(places.available_permits(), 2);
    two.forget();
    assert_eq!(places.available_permits(), 2);
    places.add_permits(4);
    assert_eq!(places.available_permits(), 6);
    assert!(!places.is_closed());
    places.close();
    assert!(places.is_closed() && places.try_acquire(1).is_err());
}

#[test]
fn one_of_those_who_meet_leads() {
    let barrier = Arc::new(Barrier::new(3));
    let threads = [0; 3].map(|_| {
        let barrier = Arc::clone(&barrier);
        std::thread::spawn(move || barrier.wait_blocking().is_leader())
    });
    let leaders = threads.map(|thread| thread.join().unwrap());
    assert_eq!(leaders.iter().filter(|leads| **leads).count(), 1);
}

#[test]
fn values_that_die_with_their_channel_are_counted() {
    // Other tests may lose some meanwhile.
    let before = dead_letters();
    let (tx, rx) = unbounded();
    (0..1000).for_each(|n| tx.try_send(n).unwrap());
    drop(tx);
    drop(rx);
    let between = dead_letters();
    assert!(between >= before + 1000, "the receiver went last");
    let (tx, rx) = unbounded();
    (0..1000).for_each(|n| tx.try_send(n).unwrap());
    drop(rx);
    assert!(dead_letters() >= between + 1000, "the receiver went first");
    drop(tx);
}

#[test]
fn answers_that_come_for_who_has_gone_are_counted_too() {
    run(&pool(2), async {
        let (told, kept) = unbounded();
        let actor =
            Builder::new()
                .unbounded()
                .spawn(|mut mailbox: Mailbox<Reply<u32>>| async move {
                    while let Ok(reply) = mailbox.recv().await {
                        told.send(reply).await.unwrap();
                    }
                });
        let mut calls: Vec<_> = (0..1000)
            .map(|_| pinned(actor.call(|reply| reply)))
            .collect();
        for call in &mut calls {
            assert!(poll(call.as_mut()).is_pending());
            // Each is performed: none is for the next turn.
            yield_now().await;
        }
        for n in 0..1000 {
            kept.recv().await.unwrap().send(n).unwrap();
        }
        // Each is in the hands of a wait that does not go on.
        let before = dead_letters();
        drop(calls);
        assert!(dead_letters() >= before + 1000);
    });
}

#[test]
fn a_sink_is_closed_when_its_last_value_has_gone() {
    let (tx, rx) = channel();
    let mut sink = Box::pin(tx.into_sink());
    let mut cx = Context::from_waker(Waker::noop());
    assert_eq!(sink.as_mut().poll_ready(&mut cx), Poll::Ready(Ok(())));
    sink.as_mut().start_send(1).unwrap();
    assert!(sink.as_mut().poll_close(&mut cx).is_pending());
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!(sink.as_mut().poll_close(&mut cx), Poll::Ready(Ok(())));
}

#[test]
fn as_many_are_taken_at_a_time_as_were_asked_for() {
    let (tx, rx) = unbounded();
    (0..9).for_each(|n| tx.try_send(n).unwrap());
    let mut got = vec![100, 101];
    assert_eq!(rx.try_recv_many(&mut got, 3), 3);
    assert_eq!(got, [100, 101, 0, 1, 2]);
    assert_eq!(rx.try_recv_many(&mut got, 0), 0);
    // Senders wait, more than are woken in one go.
    let (tx, rx) = bounded(1);
    let mut sends: Vec<_> = (0..100).map(|n| pinned(tx.send(n))).collect();
    let (wakes, waker) = Wakes::new();
    let pending = sends
        .iter_mut()
        .filter_map(|send| poll_with(send.as_mut(), &waker).is_pending().then_some(()));
    assert_eq!(pending.count(), 99);
    let mut got = vec![0; 5];
    assert_eq!(rx.try_recv_many(&mut got, 70), 70);
    assert_eq!(got[5..], *(0..70).collect::<Vec<_>>());
    assert_eq!(wakes.count(), 70, "each whose value has found a place");
    assert_eq!(rx.try_recv_many(&mut got, 70), 30);
    assert_eq!(wakes.count(), 99);
    assert_eq!(rx.try_recv_many(&mut got, 70), 0);
}
