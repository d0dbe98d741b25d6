//! tokio's `tests/{sync_mpsc,sync_mpsc_weak,sync_errors}.rs`.

use std::error::Error;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures::{SinkExt, StreamExt};

use crate::both::{on_all, on_pools, pool, run, watchdog};
use crate::hands::{Wakes, pinned, poll, poll_with};
use crate::letter::Ledger;
use crate::{kinds, turns};
use tidings::channel::{broadcast, watch};
use tidings::{
    Event, RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError,
    bounded, channel, unbounded, yield_now,
};

/// `recv_close_gets_none_idle`, `try_recv_after_receiver_close`,
/// `try_recv_close_while_empty_{bounded,unbounded}`, `test_rx_is_closed_*`, `test_rx_is_empty_*`,
/// `test_rx_len_*` and their `unbounded` twins: what a receiver says in every state.
#[test]
fn a_receiver_says_closed_empty_and_how_many_in_every_state() {
    on_all(|| async {
        for (tx, rx) in [bounded(10), unbounded()] {
            let says = |closed, len| {
                assert_eq!(
                    (rx.is_closed(), rx.len(), rx.is_empty()),
                    (closed, len, len == 0)
                );
            };
            says(false, 0);
            let clone = tx.clone();
            for n in 1..=3 {
                tx.send(n).await.unwrap();
                says(false, n);
            }
            rx.recv().await.unwrap();
            says(false, 2);
            drop(tx);
            says(false, 2);
            drop(clone);
            assert_eq!(rx.try_recv(), Ok(2));
            says(true, 1);
            assert_eq!(rx.try_recv(), Ok(3));
            says(true, 0);
            assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
        }
        for (tx, rx) in [bounded(10), unbounded()] {
            tx.send(1).await.unwrap();
            rx.close();
            assert_eq!((rx.is_closed(), tx.is_closed(), rx.len()), (true, true, 1));
            assert_eq!(
                (rx.try_recv(), rx.try_recv()),
                (Ok(1), Err(TryRecvError::Closed))
            );
            assert_eq!(rx.len(), 0);
            drop(tx);
            assert!(rx.is_closed());
        }
    });
}

/// `recv_close_gets_none_reserved`, `try_recv_after_receiver_close_with_permit`,
/// `permit_available_not_acquired_close`, `ready_close_cancel_bounded`,
/// `{failed,cancelled}_reserve_wakes_closed_receiver`, `{dropping,sending}_last_permit_wakes_*`.
/// Other than tokio's, a close does not wait for permits: they give their value back.
#[test]
fn a_close_does_not_wait_for_permits() {
    on_all(|| async {
        for used in [true, false] {
            let (tx, rx) = bounded(1);
            let permit = tx.reserve().await.unwrap();
            let mut waiting = pinned(tx.reserve());
            assert!(poll(waiting.as_mut()).is_pending());
            let mut recv = pinned(rx.recv());
            assert!(poll(recv.as_mut()).is_pending());
            rx.close();
            assert_eq!(poll(recv.as_mut()), Poll::Ready(Err(RecvError)));
            assert!(matches!(
                poll(waiting.as_mut()),
                Poll::Ready(Err(SendError(())))
            ));
            assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
            if used {
                assert_eq!(permit.send(5).unwrap_err().0, 5);
            } else {
                drop(permit);
            }
            assert_eq!(rx.recv().await, Err(RecvError));
            assert!(tx.reserve().await.is_err());
        }
    });
}

/// `reserve_disarm`, `drop_permit_releases_permit`, `try_reserve_fails`: permits and sends compete
/// for the same places, in the order they came.
#[test]
fn permits_and_sends_compete_for_the_same_places() {
    on_all(|| async {
        let (tx, rx) = bounded(2);
        let (a, b) = (tx.reserve().await.unwrap(), tx.reserve().await.unwrap());
        assert_eq!((tx.len(), tx.try_send(0)), (0, Err(TrySendError::Full(0))));
        assert!(tx.reserve().try_now().is_err());
        let (wakes, waker) = Wakes::new();
        let mut third = pinned(tx.reserve());
        let mut send = pinned(tx.send(4));
        assert!(poll(third.as_mut()).is_pending());
        assert!(poll_with(send.as_mut(), &waker).is_pending());
        drop(a);
        assert_eq!(wakes.count(), 0, "the third is first");
        let Poll::Ready(Ok(third)) = poll(third.as_mut()) else {
            panic!("its turn")
        };
        b.send(1).unwrap();
        third.send(2).unwrap();
        assert!(poll_with(send.as_mut(), &waker).is_pending());
        assert_eq!((rx.recv().await, wakes.count()), (Ok(1), 1));
        assert!(poll(send.as_mut()).is_ready());
        assert_eq!((rx.recv().await, rx.recv().await), (Ok(2), Ok(4)));
    });
}

/// `start_send_past_cap`, `buffer_gteq_one`, `send_recv_buffer_limited`: those who wait beyond the
/// bound are served one by one.
#[test]
fn those_who_wait_beyond_the_bound_are_served_one_by_one() {
    on_all(|| async {
        assert!(std::panic::catch_unwind(|| bounded::<u8>(0)).is_err());
        let (tx, rx) = bounded(1);
        tx.try_send(0).unwrap();
        let (first, waker_1) = Wakes::new();
        let (second, waker_2) = Wakes::new();
        let (mut a, mut b) = (pinned(tx.send(1)), pinned(tx.send(2)));
        assert!(poll_with(a.as_mut(), &waker_1).is_pending());
        assert!(poll_with(b.as_mut(), &waker_2).is_pending());
        assert_eq!(rx.recv().await, Ok(0));
        assert_eq!((first.count(), second.count()), (1, 0));
        assert_eq!(rx.recv().await, Ok(1));
        assert_eq!((first.count(), second.count()), (1, 1));
        drop((a, b));
        assert_eq!(rx.recv().await, Ok(2));
    });
}

/// `async_send_recv_many_with_buffer`, `send_recv_many_{bounded,unbounded}_capacity`,
/// `recv_many_with_non_empty_buffer_*`: many at once, behind what the buffer has.
#[test]
fn many_are_received_behind_what_is_in_the_buffer() {
    on_all(|| async {
        for (tx, rx) in kinds() {
            let sender = tidings::spawn(async move {
                for n in 0..100 {
                    tx.send(n).await.unwrap();
                }
            });
            let mut all = vec![1_000];
            loop {
                let before = all.len();
                let got = rx.recv_many(&mut all, 7).await;
                assert_eq!(all.len(), before + got);
                assert!(got <= 7);
                if got == 0 {
                    break;
                }
            }
            assert_eq!(all[0], 1_000);
            assert!(all[1..].iter().copied().eq(0..100));
            sender.await.unwrap();
            assert_eq!(rx.recv_many(&mut all, 7).await, 0);
            assert_eq!(all.len(), 101);
        }
    });
}

/// `no_t_bounds_{buffer,unbounded}`: handles are `Clone` and `Debug` whatever the value is.
#[test]
fn handles_ask_nothing_of_the_value() {
    struct Plain;
    for (tx, rx) in kinds::<Plain>() {
        assert!(format!("{tx:?}").starts_with("Sender"));
        assert!(format!("{rx:?}").starts_with("Receiver"));
        drop((tx.clone(), rx.clone(), tx.downgrade(), rx.downgrade()));
        assert!(tx.post(Plain).is_ok());
        drop(rx);
        assert!(format!("{:?}", tx.try_send(Plain)).contains("Closed"));
    }
}

/// `sync_errors.rs`: errors are `Error + Send + Sync` and say what happened.
#[test]
fn errors_are_errors() {
    fn says<E: Error + Send + Sync + Clone + 'static>(error: E) -> String {
        error.to_string()
    }
    let texts = [
        says(SendError(1)),
        says(TrySendError::Full(1)),
        says(TrySendError::Closed(1)),
        says(SendTimeoutError::Timeout(1)),
        says(SendTimeoutError::Closed(1)),
        says(RecvError),
        says(TryRecvError::Empty),
        says(TryRecvError::Closed),
        says(RecvTimeoutError::Timeout),
        says(RecvTimeoutError::Closed),
        says(broadcast::RecvError::Lagged(3)),
        says(broadcast::TryRecvError::Lagged(3)),
    ];
    assert!(texts.iter().all(|text| !text.is_empty()));
    assert_ne!(texts[1], texts[2]);
    assert_ne!(texts[6], texts[7]);
    assert!(texts[10].contains('3'));
}

/// `blocking_{recv,send}`, `blocking_{recv,send}_async`: a thread on one end, a task on the other;
/// inside of a task the blocking forms panic.
#[test]
fn a_thread_on_one_end_and_a_task_on_the_other() {
    let _watchdog = watchdog();
    let rt = pool(1);
    for (tx, rx) in kinds() {
        let task = rt.spawn(async move {
            for n in 0..20 {
                tx.send(n).await.unwrap();
            }
            tx
        });
        (0..20).for_each(|n| assert_eq!(rx.recv_blocking(), Ok(n)));
        let tx = rt.block_on(task).unwrap();
        let task = rt.spawn(async move {
            for n in 0..20 {
                assert_eq!(rx.recv().await, Ok(n));
            }
        });
        (0..20).for_each(|n| tx.send_blocking(n).unwrap());
        rt.block_on(task).unwrap();
    }
    run(&rt, async {
        let (_tx, rx) = unbounded::<u8>();
        let wait = tidings::spawn(async move { rx.recv_blocking() });
        assert!(wait.await.unwrap_err().is_panic());
    });
}

/// `recv_timeout`, `recv_timeout_panic` (which needs a runtime there; here it does not).
#[test]
fn a_timed_receive_needs_no_runtime() {
    let (tx, rx) = unbounded();
    let soon = Duration::from_micros(100);
    let wait = futures::executor::block_on(rx.recv_timeout(soon));
    assert_eq!(wait, Err(RecvTimeoutError::Timeout));
    tx.try_send(1).unwrap();
    assert_eq!(futures::executor::block_on(rx.recv_timeout(soon)), Ok(1));
    drop(tx);
    let wait = futures::executor::block_on(rx.recv_timeout(soon));
    assert_eq!(wait, Err(RecvTimeoutError::Closed));
}

/// `send_recv_stream_{with_buffer,unbounded}`: the ends as a sink and a stream.
#[test]
fn a_sink_feeds_a_stream() {
    on_all(|| async {
        for (tx, rx) in kinds() {
            let other = tx.clone();
            let mut sink = tx.into_sink();
            let feeder = tidings::spawn(async move {
                for n in 0..10 {
                    sink.feed(n).await.unwrap();
                }
                sink.flush().await.unwrap();
                other.send(10).await.unwrap();
            });
            let all: Vec<i32> = rx.into_stream().collect().await;
            assert_eq!(all, (0..=10).collect::<Vec<_>>());
            feeder.await.unwrap();
        }
    });
}

/// `sync_mpsc_weak.rs: actor_weak_{sender,unbounded_sender}`: whoever serves a channel may hold a
/// weak sender into it, and still hears its end.
#[test]
fn a_server_with_a_weak_sender_to_itself_ends() {
    on_all(|| async {
        for (tx, rx) in kinds() {
            let weak = tx.downgrade();
            let server = tidings::spawn(async move {
                let mut seen = Vec::new();
                while let Ok(n) = rx.recv().await {
                    seen.push(n);
                    if n < 10
                        && let Some(tx) = weak.upgrade()
                    {
                        // To itself, from aside: it must not wait for itself.
                        drop(tidings::spawn(async move { tx.send(n + 10).await }));
                    }
                }
                seen
            });
            for n in 0..5 {
                tx.send(n).await.unwrap();
            }
            drop(tx);
            let mut seen = server.await.unwrap();
            seen.sort_unstable();
            assert!(seen.starts_with(&[0, 1, 2, 3, 4]));
            assert!(seen[5..].iter().all(|n| (10..15).contains(n)));
        }
    });
}

/// `downgrade_upgrade_sender_{success,failure}`, `downgrade_drop_upgrade`, `weak_sender`,
/// `test_tx_count_weak_sender`, `test_rx_is_closed_when_dropping_all_senders_except_weak_senders`.
#[test]
fn weak_senders_upgrade_as_long_as_one_is_left_and_never_again() {
    on_all(|| async {
        for (tx, rx) in kinds() {
            let (weak, clone) = (tx.downgrade(), tx.clone());
            let weaks: Vec<_> = (0..5).map(|_| weak.clone()).collect();
            drop(tx);
            let upgraded = weak.upgrade().expect("a clone is left");
            drop(clone);
            assert!(!rx.is_closed(), "the upgraded one counts");
            upgraded.post(1).unwrap();
            drop(upgraded);
            assert!(weaks.iter().all(|weak| weak.upgrade().is_none()));
            assert_eq!(rx.recv().await, Ok(1));
            assert_eq!(rx.recv().await, Err(RecvError));
            assert!(rx.is_closed());
        }
    });
}

/// The race behind `downgrade_drop_upgrade`: an upgrade that meets the last drop gives a sender of
/// an open channel, or none.
#[test]
fn an_upgrade_that_meets_the_last_drop_is_all_or_nothing() {
    on_pools(|| async {
        for _ in 0..300 {
            let (tx, rx) = unbounded();
            let weak = tx.downgrade();
            let upgrade = tidings::spawn(async move {
                weak.upgrade().map(|tx| tx.try_send(1).expect("it is open"))
            });
            let last = tidings::spawn(async move { drop(tx) });
            let upgraded = upgrade.await.unwrap().is_some();
            last.await.unwrap();
            assert_eq!(rx.recv().await.is_ok(), upgraded);
            assert!(rx.recv().await.is_err());
        }
    });
}

/// `test_msgs_dropped_on_rx_drop`, `unconsumed_messages_are_dropped`, `dropping_rx_closes_channel`,
/// `try_send_fail*`: with weak and strong senders left, the values go with the last receiver.
#[test]
fn values_go_with_the_last_receiver_though_senders_are_left() {
    on_all(|| async {
        let ledger = Ledger::default();
        for (tx, rx) in kinds() {
            for n in 0..3 {
                tx.post(ledger.letter(n)).ok();
            }
            let (weak, other) = (tx.downgrade(), rx.clone());
            let mut closed = pinned(tx.closed());
            drop(rx);
            assert!(poll(closed.as_mut()).is_pending());
            drop(other);
            assert_eq!(ledger.alive(), 0);
            assert!(poll(closed.as_mut()).is_ready());
            let tx2 = weak.upgrade().unwrap();
            assert!(matches!(
                tx2.try_send(ledger.letter(9)),
                Err(TrySendError::Closed(_))
            ));
        }
        assert_eq!(ledger.alive(), 0);
    });
}

/// Values shared by many owners are let go of with the channel (`unconsumed_messages_are_dropped`
/// counts references).
#[test]
fn references_in_a_channel_are_let_go_of() {
    on_all(|| async {
        for (tx, rx) in [bounded(100), unbounded()] {
            let value = Arc::new(());
            for _ in 0..100 {
                tx.send(Arc::clone(&value)).await.unwrap();
            }
            assert_eq!(Arc::strong_count(&value), 101);
            turns(1).await;
            drop((tx, rx));
            assert_eq!(Arc::strong_count(&value), 1);
        }
    });
}

/// `test_is_empty_32_msgs`, over more than one block of the queue, in lockstep and in bursts.
#[test]
fn a_queue_that_grows_and_shrinks_keeps_its_order() {
    on_all(|| async {
        let (tx, rx) = unbounded();
        let (mut sent, mut got) = (0u32, 0u32);
        for burst in [1, 31, 32, 33, 64, 100, 1_000, 3] {
            for _ in 0..burst {
                tx.try_send(sent).unwrap();
                sent += 1;
            }
            for _ in 0..burst / 2 {
                assert_eq!(rx.try_recv(), Ok(got));
                got += 1;
            }
            assert_eq!(rx.len() as u32, sent - got);
        }
        while let Ok(n) = rx.try_recv() {
            assert_eq!(n, got);
            got += 1;
        }
        assert_eq!(got, sent);
        yield_now().await;
        let (cell, _seen) = watch(got);
        assert_eq!(*cell.get(), sent);
        assert!(channel::<u8>().1.is_empty());
    });
}
