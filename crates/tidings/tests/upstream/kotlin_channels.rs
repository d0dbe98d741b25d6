//! Kotlin's `kotlinx-coroutines-core/{common,concurrent,jvm}/test/channels`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;

use crate::both::{on_all, on_pools, run, seeded};
use crate::dice::Dice;
use crate::hands::{pinned, poll};
use crate::letter::Ledger;
use crate::{kinds, turns};
use tidings::channel::broadcast::broadcast;
use tidings::channel::watch::watch;
use tidings::time::{Instant, interval_at};
use tidings::{
    Event, Receiver, RecvError, TryRecvError, TrySendError, after, bounded, channel, choose,
    unbounded, yield_now,
};

/// Sends numbers from a task of its own (Kotlin's `produce`).
fn produce(numbers: std::ops::Range<u32>) -> Receiver<u32> {
    let (tx, rx) = channel();
    drop(tidings::spawn(async move {
        for n in numbers {
            if tx.send(n).await.is_err() {
                break;
            }
        }
    }));
    rx
}

/// `RendezvousChannelTest.testSimple`: who suspends when, step by step.
#[test]
fn a_rendezvous_step_by_step() {
    for seed in 0..20 {
        run(&seeded(seed), async {
            let (tx, rx) = channel();
            let log = Arc::new(std::sync::Mutex::new(Vec::new()));
            let mine = Arc::clone(&log);
            let sender = tidings::spawn(async move {
                for n in 1..=2 {
                    tx.send(n).await.unwrap();
                    mine.lock().unwrap().push(n);
                }
            });
            turns(5).await;
            assert!(log.lock().unwrap().is_empty(), "nobody has received");
            assert_eq!(rx.recv().await, Ok(1));
            turns(5).await;
            assert_eq!(*log.lock().unwrap(), [1], "the second waits");
            assert_eq!(rx.recv().await, Ok(2));
            sender.await.unwrap();
            assert_eq!(*log.lock().unwrap(), [1, 2]);
        });
    }
}

/// `RendezvousChannelTest.testTrySendTryReceive`, `BufferedChannelTest.testTryOp`.
#[test]
fn the_forms_that_try_beside_those_that_wait() {
    on_all(|| async {
        for (tx, rx) in [channel(), bounded(1)] {
            let room = tx.capacity().unwrap();
            assert_eq!(tx.try_send(1).is_ok(), room == 1);
            assert!(matches!(tx.try_send(2), Err(TrySendError::Full(2))));
            let other = rx.clone();
            let receiver = tidings::spawn(async move {
                let mut got = Vec::new();
                while let Ok(n) = other.recv().await {
                    got.push(n);
                }
                got
            });
            turns(4).await;
            while tx.try_send(3).is_err() {
                yield_now().await;
            }
            tx.close();
            let got = receiver.await.unwrap();
            assert_eq!(got, if room == 1 { vec![1, 3] } else { vec![3] });
            assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
        }
    });
}

/// `BufferedChannelTest.testBufferSize`, `testBufferSizeFromTheMiddle`: the bound holds wherever in
/// its life the channel is.
#[test]
fn the_bound_holds_from_any_point_on() {
    for begin in [0, 1, 31, 32, 33, 100] {
        let (tx, rx) = bounded(8);
        for n in 0..begin {
            tx.try_send(n).unwrap();
            assert_eq!(rx.try_recv(), Ok(n));
        }
        (0..8).for_each(|n| tx.try_send(n).unwrap());
        assert_eq!(tx.try_send(8), Err(TrySendError::Full(8)));
        assert_eq!(rx.try_recv(), Ok(0));
        assert_eq!(tx.try_send(8), Ok(()));
        assert_eq!(tx.try_send(9), Err(TrySendError::Full(9)));
        assert_eq!(rx.len(), 8);
    }
}

/// `BasicOperationsTest.testInvokeOnClose*`, `InvokeOnCloseStressTest.testInvokedExactlyOnce`,
/// `DoubleChannelCloseStressTest`: of many who close at once one has closed; whoever waits for the
/// end hears once, before it and after.
#[test]
fn of_many_who_close_one_has_closed() {
    on_pools(|| async {
        for _ in 0..100 {
            let (tx, rx) = unbounded::<u8>();
            let heard = Arc::new(AtomicUsize::new(0));
            let waits: Vec<_> = (0..2)
                .map(|_| {
                    let (tx, heard) = (tx.clone(), Arc::clone(&heard));
                    tidings::spawn(async move {
                        tx.closed().await;
                        heard.fetch_add(1, Ordering::SeqCst);
                    })
                })
                .collect();
            let closers: Vec<_> = (0..4)
                .map(|n| {
                    let (tx, rx) = (tx.clone(), rx.clone());
                    tidings::spawn(async move { if n % 2 == 0 { tx.close() } else { rx.close() } })
                })
                .collect();
            let mut closed = 0;
            for closer in closers {
                closed += u32::from(closer.await.unwrap());
            }
            for wait in waits {
                wait.await.unwrap();
            }
            assert_eq!((closed, heard.load(Ordering::SeqCst)), (1, 2));
            tx.closed().await;
        }
    });
}

/// `ChannelIteratorTest`, `BasicOperationsTest.testIteratorHasNextMustPrecedeNext`,
/// `RendezvousChannelTest.testIterator*`: iteration ends with the channel, and stays at its end.
#[test]
fn iteration_ends_with_the_channel_and_stays_there() {
    on_all(|| async {
        for length in 0..3 {
            let mut stream = produce(0..length).into_stream();
            for n in 0..length {
                assert_eq!(stream.next().await, Some(n));
                yield_now().await;
            }
            assert_eq!((stream.next().await, stream.next().await), (None, None));
        }
    });
}

/// `ChannelPropertiesTest`, `testClosedReceiveCatching`, `ChannelReceiveCatchingTest`: what is left
/// is not the end yet.
#[test]
fn a_closed_channel_with_values_is_not_at_its_end() {
    on_all(|| async {
        let (tx, rx) = unbounded();
        tx.send(None).await.unwrap();
        tx.send(Some(RecvError)).await.unwrap();
        tx.close();
        assert!(rx.is_closed() && !rx.is_empty());
        // Values that look like an end or an error are values.
        assert_eq!(
            (rx.recv().await, rx.recv().await),
            (Ok(None), Ok(Some(RecvError)))
        );
        assert_eq!(rx.recv().await, Err(RecvError));
        assert!(tx.send(None).await.is_err());
        assert!(tx.closed().try_now().is_ok());
    });
}

/// `ChannelUndeliveredElementTest`, `ChannelUndeliveredElementFailureTest`: every value that reaches
/// nobody is dropped, once, and none that reached somebody, however it was on its way.
#[test]
fn every_value_that_reaches_nobody_is_dropped_once() {
    on_all(|| async {
        let ledger = Ledger::default();
        for (tx, rx) in kinds() {
            // A send that is aborted while it waits; one that was done.
            let (other, letter) = (tx.clone(), ledger.letter(1));
            let sender = tidings::spawn(async move { other.send(letter).await.is_ok() });
            turns(4).await;
            sender.abort();
            drop(sender.await);
            assert_eq!(ledger.alive(), rx.len());
            // A receive that is aborted when the value may be in its hands.
            let other = rx.clone();
            let receiver = tidings::spawn(async move { other.recv().await.map(drop) });
            turns(3).await;
            let sent = tx.try_send(ledger.letter(2)).is_ok();
            receiver.abort();
            drop(receiver.await);
            assert!(sent || ledger.alive() == rx.len());
            // A choice that loses with a value in its hands.
            let lost = choose([tx.send(ledger.letter(3)), tx.send(ledger.letter(4))]);
            drop(lost.try_now());
            tx.close();
            drop(tx.send(ledger.letter(5)).await);
            drop((tx, rx));
            assert_eq!(ledger.alive(), 0);
        }
    });
}

/// `ChannelUndeliveredElementStressTest`, `ChannelCancelUndeliveredElementStressTest`,
/// `BufferedChannelStressTest`: senders and receivers that are aborted at random, while the channel
/// may end.
#[test]
fn tasks_aborted_at_random_drop_every_value_once() {
    on_pools(|| async {
        let ledger = Ledger::default();
        let mut dice = Dice(5);
        for (tx, rx) in kinds().into_iter().chain(kinds()) {
            let mut tasks = Vec::new();
            for n in 0..30 {
                let (tx, rx, letter) = (tx.clone(), rx.clone(), ledger.letter(n));
                tasks.push(tidings::spawn(async move { drop(tx.send(letter).await) }));
                tasks.push(tidings::spawn(async move { drop(rx.recv().await) }));
                if dice.below(2) == 0 {
                    turns(dice.below(3) as usize).await;
                }
                let victim = dice.below(tasks.len() as u64) as usize;
                tasks[victim].abort();
            }
            if dice.below(2) == 0 {
                rx.close();
            }
            drop((tx, rx));
            tasks.iter().for_each(tidings::JoinHandle::abort);
            for task in tasks {
                drop(task.await);
            }
            assert_eq!(ledger.alive(), 0);
        }
    });
}

/// `ConflatedChannelTest`, `ChannelBufferOverflowTest`, `ConflatedBroadcastChannelTest`: the last
/// value is what counts: a `watch`, or a `broadcast` of one.
#[test]
fn the_last_value_replaces_those_nobody_has_seen() {
    on_all(|| async {
        let (tx, mut rx) = watch(0);
        (1..=3).for_each(|n| tx.send(n).unwrap());
        assert_eq!((rx.changed().await, *rx.get()), (Ok(()), 3));
        assert!(rx.changed().try_now().is_err());
        tx.send(4).unwrap();
        drop(tx);
        assert_eq!((rx.changed().await, *rx.get()), (Ok(()), 4));
        assert_eq!(rx.changed().await, Err(RecvError));
        let (tx, mut rx) = broadcast(1);
        (1..=3).for_each(|n| drop(tx.send(n)));
        assert!(rx.try_recv().is_err(), "it says that it missed some");
        assert_eq!(rx.try_recv(), Ok(3));
    });
}

/// `ProduceTest`, `ConsumeTest`, `ProduceConsumeTest`: a producer ends when its consumer has gone,
/// also in the middle of a send, and a pipeline of them does.
#[test]
fn a_producer_ends_when_its_consumer_goes() {
    on_all(|| async {
        let ledger = Ledger::default();
        let books = ledger.clone();
        let (tx, rx) = channel();
        let producer = tidings::spawn(async move {
            for n in 0.. {
                if let Err(error) = tx.send(books.letter(n)).await {
                    return error.0.n;
                }
            }
            unreachable!()
        });
        let double = {
            let (tx, doubled) = bounded(1);
            drop(tidings::spawn(async move {
                while let Ok(letter) = rx.recv().await {
                    if tx.send(2 * letter.n).await.is_err() {
                        break;
                    }
                }
            }));
            doubled
        };
        let mut stream = double.into_stream();
        let first: Vec<_> = stream.by_ref().take(4).collect().await;
        assert_eq!(first, [0, 2, 4, 6]);
        drop(stream);
        assert!(producer.await.unwrap() >= 4);
        assert_eq!(ledger.alive(), 0);
    });
}

/// `ChannelsTest.testCloseWithMultipleSuspended{Receivers,Senders}`: in which order those who wait
/// hear of the end does not matter: all do.
#[test]
fn all_who_wait_hear_of_the_end() {
    on_all(|| async {
        let (tx, rx) = channel::<u8>();
        let receivers: Vec<_> = (0..5)
            .map(|_| {
                let rx = rx.clone();
                tidings::spawn(async move { rx.recv().await })
            })
            .collect();
        turns(3).await;
        tx.close();
        for receiver in receivers {
            assert_eq!(receiver.await.unwrap(), Err(RecvError));
        }
        let (tx, rx) = channel();
        let senders: Vec<_> = (0..5)
            .map(|n| {
                let tx = tx.clone();
                tidings::spawn(async move { tx.send(n).await.unwrap_err().0 })
            })
            .collect();
        turns(3).await;
        rx.close();
        for (n, sender) in senders.into_iter().enumerate() {
            let got = sender.await;
            // Who came after the close hears the same.
            assert_eq!(got.unwrap(), n);
        }
    });
}

/// `TickerChannelCommonTest`, `TickerChannelTest`: ticks, with a start, for a slow reader.
#[test]
fn a_ticker_keeps_its_schedule_for_a_slow_reader() {
    for seed in 0..10 {
        run(&seeded(seed), async {
            let start = Instant::now();
            let ms = Duration::from_millis(1);
            let mut ticks = interval_at(start + ms * 100, ms * 100);
            assert!(poll(pinned(ticks.tick()).as_mut()).is_pending());
            after(ms * 99).await;
            assert!(ticks.tick().try_now().is_err());
            after(ms * 2).await;
            assert!(ticks.tick().try_now().is_ok());
            for n in 2..10u32 {
                let due = ticks.tick().await;
                assert_eq!(due - start, ms * 100 * n);
                after(ms * 30).await;
            }
        });
    }
}
