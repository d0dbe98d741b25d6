//! Channels and cells: every form of sending and receiving, closing, order, counts.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::both::{on_all, watchdog};
use crate::hands::{Wakes, pinned, poll, poll_with};
use crate::letter::Ledger;
use tidings::{
    Event, Receiver, RecvError, RecvTimeoutError, SendTimeoutError, Sender, TryRecvError,
    TrySendError, bounded, channel, unbounded, yield_now,
};

const SOON: Duration = Duration::from_millis(3);

/// Every kind of channel.
pub(crate) fn kinds<T>() -> [(Sender<T>, Receiver<T>); 4] {
    [channel(), bounded(1), bounded(7), unbounded()]
}

#[test]
fn what_is_sent_is_received_in_order() {
    on_all(|| async {
        for (tx, rx) in kinds() {
            let sender = tidings::spawn(async move {
                for n in 0..200 {
                    tx.send(n).await.unwrap();
                }
            });
            for n in 0..200 {
                assert_eq!(rx.recv().await, Ok(n));
            }
            assert_eq!(rx.recv().await, Err(RecvError));
            sender.await.unwrap();
        }
    });
}

#[test]
fn a_rendezvous_send_is_done_when_the_value_is_taken() {
    on_all(|| async {
        let (tx, rx) = channel();
        let mut send = pinned(tx.send(1));
        assert!(poll(send.as_mut()).is_pending());
        assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
        assert_eq!(rx.recv().await, Ok(1));
        assert!(poll(send.as_mut()).is_ready());
    });
}

#[test]
fn a_bounded_channel_holds_its_bound_and_no_more() {
    on_all(|| async {
        let (tx, rx) = bounded(2);
        assert_eq!((tx.capacity(), tx.len(), tx.is_empty()), (Some(2), 0, true));
        tx.send(1).await.unwrap();
        tx.try_send(2).unwrap();
        assert_eq!(tx.try_send(3), Err(TrySendError::Full(3)));
        assert_eq!(tx.post(3), Err(TrySendError::Full(3)));
        let mut send = pinned(tx.send(3));
        assert!(poll(send.as_mut()).is_pending());
        assert_eq!((tx.len(), rx.len()), (2, 2));
        assert_eq!(rx.try_recv(), Ok(1));
        assert!(poll(send.as_mut()).is_ready());
        assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(2), Ok(3)));
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(channel::<u8>().0.capacity(), Some(0));
        assert_eq!(unbounded::<u8>().0.capacity(), None);
    });
}

#[test]
fn a_post_never_waits() {
    on_all(|| async {
        let (tx, rx) = channel();
        (0..1000).for_each(|n| tx.post(n).unwrap());
        let mut send = pinned(tx.send(1000));
        assert!(poll(send.as_mut()).is_pending());
        for n in 0..=1000 {
            assert_eq!(rx.try_recv(), Ok(n));
        }
        assert!(poll(send.as_mut()).is_ready());
    });
}

#[test]
fn the_forms_for_threads_and_with_time_work_for_every_kind() {
    let _watchdog = watchdog();
    for (tx, rx) in kinds() {
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        assert!(rx.recv().timeout(SOON).wait().is_err());
        let sender = std::thread::spawn(move || {
            for n in 0..100 {
                tx.send_blocking(n).unwrap();
            }
            tx
        });
        for n in 0..100 {
            assert_eq!(rx.recv_blocking(), Ok(n));
        }
        let tx = sender.join().unwrap();
        while tx.try_send(0).is_ok() && tx.len() < 7 {}
        if tx.capacity().is_some() {
            assert_eq!(tx.send(7).timeout(SOON).wait().unwrap_err().0, 7);
        }
        drop(rx);
        assert_eq!(tx.send_blocking(8).unwrap_err().into_inner(), 8);
    }
}

#[test]
fn timeouts_give_the_value_back() {
    on_all(|| async {
        let (tx, rx) = bounded(1);
        assert_eq!(rx.recv_timeout(SOON).await, Err(RecvTimeoutError::Timeout));
        tx.send(1).await.unwrap();
        assert_eq!(
            tx.send_timeout(2, SOON).await,
            Err(SendTimeoutError::Timeout(2))
        );
        assert_eq!(rx.recv_timeout(SOON).await, Ok(1));
        rx.close();
        assert_eq!(rx.recv_timeout(SOON).await, Err(RecvTimeoutError::Closed));
        assert_eq!(
            tx.send_timeout(2, SOON).await,
            Err(SendTimeoutError::Closed(2))
        );
    });
}

#[test]
fn a_close_lets_receivers_take_what_is_left() {
    on_all(|| async {
        for close_by_drop in [true, false] {
            let (tx, rx) = bounded(3);
            tx.send(1).await.unwrap();
            tx.send(2).await.unwrap();
            if close_by_drop {
                drop(tx);
            } else {
                assert!(tx.close());
                assert!(!tx.close() && !rx.close());
                assert_eq!(tx.try_send(3), Err(TrySendError::Closed(3)));
                assert!(tx.is_closed() && rx.is_closed());
            }
            assert_eq!((rx.recv().await, rx.try_recv()), (Ok(1), Ok(2)));
            assert_eq!(rx.recv().await, Err(RecvError));
            assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
        }
    });
}

#[test]
fn a_close_wakes_everyone_who_waits() {
    on_all(|| async {
        for receivers_go in [true, false] {
            let (tx, rx) = bounded(1);
            if receivers_go {
                tx.send(0).await.unwrap();
            }
            let waiting: Vec<_> = (0..100u32)
                .map(|n| {
                    let (tx, rx) = (tx.clone(), rx.downgrade());
                    tidings::spawn(async move {
                        if receivers_go {
                            drop(rx);
                            assert_eq!(tx.send(n).await.unwrap_err().0, n);
                            tx.closed().await;
                        } else {
                            drop(tx);
                            let rx = rx.upgrade().unwrap();
                            assert_eq!(rx.recv().await, Err(RecvError));
                        }
                    })
                })
                .collect();
            for _ in 0..3 {
                yield_now().await;
            }
            if receivers_go {
                drop(rx);
            } else {
                // The receivers' tasks upgrade first.
                while waiting.iter().any(|task| !task.is_finished()) {
                    if rx_waiting(&rx) == 100 {
                        tx.close();
                    }
                    yield_now().await;
                }
            }
            for task in waiting {
                task.await.unwrap();
            }
        }
    });
}

#[test]
fn whoever_waits_for_the_close_is_woken() {
    for receivers_go in [true, false] {
        let (tx, rx) = bounded::<u8>(1);
        let (wakes, waker) = Wakes::new();
        let mut waits: Vec<_> = (0..100).map(|_| pinned(tx.closed())).collect();
        for wait in &mut waits {
            assert!(poll_with(wait.as_mut(), &waker).is_pending());
        }
        if receivers_go {
            drop(rx);
        } else {
            tx.close();
        }
        assert_eq!(wakes.count(), 100);
        for wait in &mut waits {
            assert!(poll(wait.as_mut()).is_ready());
        }
    }
}

/// The number of waiting receivers, from the handle's `Debug`.
pub(crate) fn rx_waiting<T>(rx: &Receiver<T>) -> usize {
    number(&format!("{rx:?}"), "receivers_waiting: ")
}

/// The number of waiting senders, from the handle's `Debug`.
pub(crate) fn tx_waiting<T>(rx: &Receiver<T>) -> usize {
    number(&format!("{rx:?}"), "senders_waiting: ")
}

fn number(text: &str, key: &str) -> usize {
    let rest = text.split(key).nth(1).unwrap();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

#[test]
fn errors_give_the_value_back() {
    on_all(|| async {
        let ledger = Ledger::default();
        for (tx, rx) in kinds() {
            drop(rx);
            assert_eq!(
                tx.send(ledger.letter(1)).await.unwrap_err().into_inner().n,
                1
            );
            assert_eq!(tx.try_send(ledger.letter(2)).unwrap_err().into_inner().n, 2);
            assert_eq!(tx.post(ledger.letter(3)).unwrap_err().into_inner().n, 3);
            let late = tx.send_timeout(ledger.letter(4), SOON).await;
            assert_eq!(late.unwrap_err().into_inner().n, 4);
            let mut place = Some(ledger.letter(5));
            assert!(tx.send_from(&mut place).await.is_err());
            assert_eq!(place.unwrap().n, 5);
            assert!(tx.reserve().await.is_err());
        }
        assert_eq!(ledger.alive(), 0);
    });
}

#[test]
fn each_value_goes_to_one_of_many_receivers() {
    on_all(|| async {
        for (tx, rx) in kinds() {
            let senders: Vec<_> = (0..4u64)
                .map(|id| {
                    let tx = tx.clone();
                    tidings::spawn(async move {
                        for n in 0..100 {
                            tx.send((id, n)).await.unwrap();
                        }
                    })
                })
                .collect();
            let receivers: Vec<_> = (0..4)
                .map(|_| {
                    let rx = rx.clone();
                    tidings::spawn(async move {
                        let mut got = Vec::new();
                        while let Ok(value) = rx.recv().await {
                            got.push(value);
                        }
                        got
                    })
                })
                .collect();
            drop((tx, rx));
            for sender in senders {
                sender.await.unwrap();
            }
            let mut all = HashSet::new();
            for receiver in receivers {
                let got = receiver.await.unwrap();
                for id in 0..4 {
                    let of_one: Vec<u64> = got.iter().filter(|v| v.0 == id).map(|v| v.1).collect();
                    assert!(of_one.is_sorted(), "one receiver sees one sender in order");
                }
                all.extend(got);
            }
            assert_eq!(all.len(), 400);
        }
    });
}

#[test]
fn the_order_of_a_handle_holds_wherever_it_moves() {
    on_all(|| async {
        for (tx, rx) in kinds() {
            // A handle and its next number go from task to task, hence from worker to worker.
            let (pass, baton) = channel::<(Sender<u64>, u64)>();
            let movers: Vec<_> = (0..4)
                .map(|_| {
                    let (pass, baton) = (pass.clone(), baton.clone());
                    tidings::spawn(async move {
                        while let Ok((tx, first)) = baton.recv().await {
                            for n in first..first + 5 {
                                if n == 500 {
                                    baton.close();
                                    return;
                                }
                                tx.send(n).await.unwrap();
                            }
                            drop(pass.send((tx, first + 5)).await);
                        }
                    })
                })
                .collect();
            pass.send((tx, 0)).await.unwrap();
            for n in 0..500 {
                assert_eq!(rx.recv().await, Ok(n));
            }
            for mover in movers {
                mover.await.unwrap();
            }
        }
    });
}

#[test]
fn weak_handles_keep_nothing_open() {
    on_all(|| async {
        for (tx, rx) in kinds::<u8>() {
            let (weak_tx, weak_rx) = (tx.downgrade(), rx.downgrade());
            assert!(weak_tx.upgrade().unwrap().same_channel(&tx));
            assert!(weak_rx.clone().upgrade().unwrap().same_channel(&rx));
            drop(tx);
            assert!(weak_tx.upgrade().is_none());
            assert_eq!(rx.recv().await, Err(RecvError));
            drop(rx);
            assert!(weak_rx.upgrade().is_none() && weak_tx.clone().upgrade().is_none());
        }
    });
}

#[test]
fn recv_many_takes_what_is_there_in_order() {
    on_all(|| async {
        let (tx, rx) = bounded(4);
        (0..4).for_each(|n| tx.try_send(n).unwrap());
        let (wakes, waker) = Wakes::new();
        let mut sends: Vec<_> = (4..7).map(|n| pinned(tx.send(n))).collect();
        for send in &mut sends {
            assert!(poll_with(send.as_mut(), &waker).is_pending());
        }
        let mut got = Vec::new();
        assert_eq!(rx.recv_many(&mut got, 0).await, 0);
        assert_eq!(rx.recv_many(&mut got, 6).await, 6);
        assert_eq!(
            (got.as_slice(), wakes.count()),
            ([0, 1, 2, 3, 4, 5].as_slice(), 3)
        );
        for send in &mut sends {
            assert!(poll(send.as_mut()).is_ready());
        }
        assert_eq!(rx.recv_many(&mut got, 100).await, 1);
        let mut wait = pinned(rx.recv_many(&mut got, 100));
        assert!(poll(wait.as_mut()).is_pending());
        tx.send(7).await.unwrap();
        assert!(poll(wait.as_mut()).is_ready());
        drop(wait);
        drop(sends);
        assert_eq!(got, [0, 1, 2, 3, 4, 5, 6, 7]);
        drop(tx);
        assert_eq!(rx.recv_many(&mut got, 100).await, 0);
    });
}

#[test]
fn a_permit_keeps_a_place() {
    on_all(|| async {
        let (tx, rx) = bounded(1);
        let permit = tx.reserve().await.unwrap();
        assert_eq!(tx.try_send(1), Err(TrySendError::Full(1)));
        let mut next = pinned(tx.reserve());
        assert!(poll(next.as_mut()).is_pending());
        permit.send(2).unwrap();
        assert!(poll(next.as_mut()).is_pending());
        assert_eq!(rx.recv().await, Ok(2));
        let std::task::Poll::Ready(Ok(permit)) = poll(next.as_mut()) else {
            panic!("its turn")
        };
        drop(permit);
        tx.try_send(3).unwrap();
        let mut waiting = pinned(tx.reserve());
        assert!(poll(waiting.as_mut()).is_pending());
        rx.close();
        assert!(matches!(
            poll(waiting.as_mut()),
            std::task::Poll::Ready(Err(_))
        ));
        let (tx, rx) = channel();
        let permit = tx.reserve().await.unwrap();
        permit.send(1).unwrap();
        assert_eq!(rx.recv().await, Ok(1));
        let (tx, rx) = unbounded();
        let permit = tx.reserve().await.unwrap();
        drop(rx);
        assert_eq!(permit.send(5).unwrap_err().into_inner(), 5);
    });
}

#[test]
fn a_permit_of_its_own_keeps_its_place_and_the_channel_open() {
    on_all(|| async {
        let (tx, rx) = bounded(1);
        let (permit, next) = (tx.reserve_owned().await.unwrap(), tx.reserve_owned());
        let mut next = pinned(next);
        assert!(poll(next.as_mut()).is_pending());
        drop(tx);
        let sent = tidings::spawn(async move { permit.send(1) });
        sent.await.unwrap().unwrap();
        assert!(poll(next.as_mut()).is_pending());
        assert_eq!(rx.recv().await, Ok(1));
        let std::task::Poll::Ready(Ok(last)) = poll(next.as_mut()) else {
            panic!("its turn")
        };
        drop(next);
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        drop(last);
        assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    });
}

/// A sender waits for a place that a permit holds, and a receiver for a value: whatever becomes
/// of the permit, both must hear.
#[test]
fn a_permits_end_wakes_senders_and_receivers() {
    on_all(|| async {
        for used in [true, false] {
            let (tx, rx) = bounded(1);
            let permit = tx.reserve().await.unwrap();
            let mut send = pinned(tx.send(1));
            assert!(poll(send.as_mut()).is_pending());
            let mut recv = pinned(rx.recv());
            let early = poll(recv.as_mut());
            if used {
                permit.send(0).unwrap();
            } else {
                drop(permit);
            }
            assert!(
                poll(send.as_mut()).is_ready(),
                "there is a place, used: {used}"
            );
            assert!(
                early.is_ready() || poll(recv.as_mut()).is_ready(),
                "and a value"
            );
            assert_eq!(rx.try_recv().is_ok(), used);
        }
    });
}

#[test]
fn a_permits_end_serves_the_next_reservation() {
    on_all(|| async {
        let (tx, rx) = bounded::<u8>(1);
        let permit = tx.reserve().await.unwrap();
        let mut next = pinned(tx.reserve());
        assert!(poll(next.as_mut()).is_pending());
        let mut recv = pinned(rx.recv());
        assert!(poll(recv.as_mut()).is_pending());
        // To the receiver that waits; so the place is free.
        permit.send(1).unwrap();
        assert!(poll(recv.as_mut()).is_ready());
        assert!(poll(next.as_mut()).is_ready());
    });
}

#[test]
fn handles_may_be_dropped_in_any_order_with_values_inside() {
    on_all(|| async {
        let ledger = Ledger::default();
        for order in 0..24u64 {
            let (tx, rx) = unbounded();
            for n in 0..5 {
                tx.send(ledger.letter(n)).await.unwrap();
            }
            let (weak_tx, weak_rx) = (tx.downgrade(), rx.downgrade());
            let mut parts: Vec<Option<Box<dyn std::any::Any + Send>>> = vec![
                Some(Box::new(tx)),
                Some(Box::new(rx)),
                Some(Box::new(weak_tx)),
                Some(Box::new(weak_rx)),
            ];
            let mut code = order;
            for left in (1..=4u64).rev() {
                let nth = (code % left) as usize;
                code /= left;
                let part = parts
                    .iter_mut()
                    .filter(|part| part.is_some())
                    .nth(nth)
                    .unwrap();
                drop(part.take());
            }
        }
        assert_eq!(ledger.alive(), 0);
    });
}

#[test]
fn handles_dropped_on_many_threads_at_once_free_the_channel_once() {
    let _watchdog = watchdog();
    for round in 0..500u64 {
        let ledger = Ledger::default();
        let (tx, rx) = unbounded();
        tx.try_send(ledger.letter(round)).unwrap();
        let start = Arc::new(std::sync::Barrier::new(4));
        let parts: [Box<dyn FnOnce() + Send>; 4] = {
            let (tx2, rx2) = (tx.clone(), rx.clone());
            [
                Box::new(move || drop(tx)),
                Box::new(move || drop(rx)),
                Box::new(move || drop(tx2.downgrade().upgrade())),
                Box::new(move || drop(rx2.try_recv())),
            ]
        };
        let threads = parts.map(|part| {
            let start = Arc::clone(&start);
            std::thread::spawn(move || {
                start.wait();
                part();
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(ledger.alive(), 0);
    }
}

#[test]
fn a_channel_counts_what_it_took_and_what_left_it() {
    let (tx, rx) = bounded(1);
    tx.try_send(1).unwrap();
    let mut waits = pinned(tx.send(2));
    assert!(poll(waits.as_mut()).is_pending());
    let counts = rx.counts();
    assert_eq!((counts.sent, counts.received, counts.queued), (1, 0, 1));
    assert!(counts.sender_waits && !counts.receiver_waits);

    // The first leaves, and the second takes its place.
    assert_eq!(rx.try_recv(), Ok(1));
    let counts = tx.counts();
    assert_eq!((counts.sent, counts.received, counts.queued), (2, 1, 1));
    assert!(!counts.sender_waits);

    // A receive that got a value and is dropped before it looked gives it back.
    assert_eq!(rx.try_recv(), Ok(2));
    {
        let mut taken = pinned(rx.recv());
        assert!(poll(taken.as_mut()).is_pending());
        assert!(rx.counts().receiver_waits);
        tx.try_send(3).unwrap();
        assert_eq!((rx.counts().received, rx.counts().queued), (3, 0));
    }
    let counts = rx.counts();
    assert_eq!((counts.sent, counts.received, counts.queued), (3, 2, 1));

    let other = tx.clone();
    assert_eq!((rx.counts().senders, rx.counts().receivers), (2, 1));
    drop((other, rx));
    let counts = tx.counts();
    assert_eq!((counts.sent, counts.received, counts.receivers), (3, 3, 0));
}
