//! The end of channels and cells: what is in them, who waits for them, who frees them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::both::{on_all, pool, watchdog};
use crate::hands::{pinned, poll};
use crate::letter::Ledger;
use tidings::{bounded, channel, oneshot, unbounded, yield_now};

/// zesterer/flume#120, GreptimeTeam/greptimedb#2298: the last message is lost when the sender
/// is dropped right behind it.
#[test]
fn flume_120_last_message_before_the_senders_drop_arrives() {
    on_all(|| async {
        for n in 0..50 {
            for (tx, rx) in [channel(), bounded(1), unbounded()] {
                let task = tidings::spawn(async move { tx.send(n).await.unwrap() });
                assert_eq!(rx.recv().await, Ok(n));
                assert!(rx.recv().await.is_err());
                task.await.unwrap();
            }
        }
    });
}

/// zesterer/flume#140: a rendezvous send returns before the value is received.
#[test]
fn flume_140_rendezvous_send_returns_after_the_receipt() {
    on_all(|| async {
        let (tx, rx) = channel();
        let taken = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&taken);
        let task = tidings::spawn(async move {
            for _ in 0..3 {
                yield_now().await;
            }
            flag.store(true, Ordering::SeqCst);
            rx.recv().await.unwrap();
        });
        tx.send(()).await.unwrap();
        assert!(taken.load(Ordering::SeqCst));
        task.await.unwrap();
    });
}

/// quickwit#2862 (flume): what is in the mailbox is not dropped with the last receiver.
#[test]
fn flume_quickwit_2862_last_receiver_drops_the_mailbox() {
    on_all(|| async {
        let ledger = Ledger::default();
        let (tx, rx) = unbounded();
        for n in 0..10 {
            tx.send(ledger.letter(n)).await.unwrap();
        }
        drop(rx);
        assert_eq!(ledger.alive(), 0);
        assert!(tx.is_closed());
    });
}

/// RUSTSEC-2021-0124 (tokio oneshot) and RUSTSEC-2026-0005 (oneshot): close or drop races send.
#[test]
fn tokio_rustsec_2021_0124_oneshot_drop_races_send() {
    let _watchdog = watchdog();
    let ledger = Ledger::default();
    let rt = pool(2);
    for n in 0..1_000 {
        let (tx, rx) = oneshot();
        let letter = ledger.letter(n);
        let mut wait = pinned(rx);
        assert!(poll(wait.as_mut()).is_pending());
        let send = rt.spawn(async move { tx.send(letter).is_ok() });
        let drop_it = rt.spawn(async move { drop(wait) });
        rt.block_on(async {
            send.await.unwrap();
            drop_it.await.unwrap();
        });
    }
    assert_eq!(ledger.alive(), 0);
}

/// RUSTSEC-2025-0024 (crossbeam-channel): values are dropped twice when the channel is.
#[test]
fn crossbeam_rustsec_2025_0024_values_are_dropped_once_with_the_channel() {
    let _watchdog = watchdog();
    let rt = pool(2);
    for round in 0..300 {
        let ledger = Ledger::default();
        let (tx, rx) = unbounded();
        let books = ledger.clone();
        let sender = rt.spawn(async move {
            for n in 0..round % 70 {
                drop(tx.try_send(books.letter(n)));
            }
        });
        let receiver = rt.spawn(async move { drop(rx) });
        rt.block_on(async {
            sender.await.unwrap();
            receiver.await.unwrap();
        });
        assert_eq!(ledger.alive(), 0);
    }
}

/// RUSTSEC-2020-0052 (crossbeam-channel): a bounded channel frees its buffer with the wrong size.
#[test]
fn crossbeam_rustsec_2020_0052_a_bounded_channel_of_any_size_is_freed_as_it_was_made() {
    let ledger = Ledger::default();
    for capacity in 1..=40 {
        for taken in [0, 1, capacity] {
            let (tx, rx) = bounded(capacity);
            // The values that are left begin somewhere in the middle.
            (0..capacity as u64).for_each(|n| tx.try_send(ledger.letter(n)).unwrap());
            (0..taken).for_each(|_| drop(rx.try_recv().unwrap()));
            (0..taken as u64).for_each(|n| tx.try_send(ledger.letter(n)).unwrap());
            assert_eq!(ledger.alive(), capacity);
            drop(rx);
            drop(tx);
            assert_eq!(ledger.alive(), 0);
        }
    }
}

/// google/tarpc#415, #416: requests stay in a channel that nobody reads any more, and with them
/// the callers that wait for their answers.
#[test]
fn tarpc_415_requests_left_in_a_closed_channel_free_their_callers() {
    on_all(|| async {
        for by_drop in [true, false] {
            let (requests, server) = unbounded();
            let callers: Vec<_> = (0..10)
                .map(|_| {
                    let requests = requests.clone();
                    tidings::spawn(async move {
                        let (reply, answer) = oneshot::<u8>();
                        if requests.send(reply).await.is_err() {
                            return Err(tidings::RecvError);
                        }
                        answer.await
                    })
                })
                .collect();
            for _ in 0..3 {
                yield_now().await;
            }
            if by_drop {
                drop(server);
            } else {
                server.close();
                while server.try_recv().is_ok() {}
                drop(server);
            }
            for caller in callers {
                assert!(caller.await.unwrap().is_err());
            }
        }
    });
}
