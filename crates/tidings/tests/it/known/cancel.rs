//! Waits that were given up, and what they took with them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures::{FutureExt, StreamExt};

use crate::both::on_all;
use crate::channel::rx_waiting;
use crate::hands::{Wakes, pinned, poll, poll_with};
use crate::letter::Ledger;
use tidings::{Either, Event, after, bounded, channel, oneshot, select, unbounded, yield_now};

/// fereidani/kanal#24: a cancelled recv drops the value it was handed.
#[test]
fn kanal_24_cancelled_recv_keeps_the_value() {
    on_all(|| async {
        let (tx, rx) = channel();
        for n in 0..200 {
            let mut wait = pinned(rx.recv());
            assert!(poll(wait.as_mut()).is_pending());
            tx.try_send(n).unwrap();
            drop(wait);
            assert_eq!(rx.try_recv(), Ok(n));
            // Polls by hand spend the task's budget too.
            yield_now().await;
        }
    });
}

/// fereidani/kanal#50: the branch of a select that is not taken loses its value.
#[test]
fn kanal_50_unselected_branch_keeps_its_value() {
    on_all(|| async {
        let ((a, ar), (b, br)) = (unbounded(), unbounded());
        a.try_send(1).unwrap();
        b.try_send(2).unwrap();
        let mut sum = 0;
        for _ in 0..2 {
            select! {
                got = ar.recv() => sum += got.unwrap(),
                got = br.recv() => sum += got.unwrap(),
            }
        }
        assert_eq!((sum, ar.len(), br.len()), (3, 0, 0));
    });
}

/// n0-computer/iroh#2536 (flume): a receive cancelled after its notification swallows it, and
/// the other receiver sleeps beside a full queue.
#[test]
fn flume_iroh_2536_cancelled_receive_passes_its_wake_up_on() {
    on_all(|| async {
        let (tx, rx) = bounded(8);
        let (wakes, waker) = Wakes::new();
        let mut first = pinned(rx.recv());
        let mut second = pinned(rx.recv());
        assert!(poll(first.as_mut()).is_pending());
        assert!(poll_with(second.as_mut(), &waker).is_pending());
        tx.try_send(1).unwrap();
        drop(first);
        assert_eq!(wakes.count(), 1);
        assert_eq!(poll(second.as_mut()), Poll::Ready(Ok(1)));
    });
}

/// zesterer/flume#182: hooks of abandoned waits pile up without bound.
#[test]
fn flume_182_abandoned_waits_leave_no_hooks() {
    on_all(|| async {
        let (_tx, rx) = unbounded::<u8>();
        for _ in 0..1_000 {
            assert!(rx.recv().into_future().now_or_never().is_none());
        }
        assert_eq!(rx_waiting(&rx), 0);
    });
}

/// tokio-rs/tokio#5947, marmot-protocol/mdk#712: a cancelled send loses its value.
#[test]
fn tokio_5947_cancelled_send_keeps_the_value() {
    on_all(|| async {
        let (tx, rx) = bounded(1);
        tx.send("first".to_owned()).await.unwrap();
        let mut letter = Some("second".to_owned());
        for _ in 0..3 {
            let sent = tx
                .send_from(&mut letter)
                .timeout(Duration::from_micros(100))
                .await;
            assert!(sent.is_err());
        }
        assert_eq!(letter.as_deref(), Some("second"));
        rx.recv().await.unwrap();
        tx.send_from(&mut letter).await.unwrap();
        assert_eq!((rx.recv().await.unwrap(), letter), ("second".into(), None));
    });
}

/// smol-rs/async-channel#87: no way to wait for a place before the value exists.
#[test]
fn async_channel_87_a_place_can_be_had_before_the_value() {
    on_all(|| async {
        let (tx, rx) = bounded(1);
        tx.send(1).await.unwrap();
        let made = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&made);
        let task = tidings::spawn(async move {
            let permit = tx.reserve().await.unwrap();
            flag.store(true, Ordering::SeqCst);
            permit.send(2).unwrap();
        });
        for _ in 0..3 {
            yield_now().await;
        }
        assert!(!made.load(Ordering::SeqCst));
        assert_eq!((rx.recv().await, rx.recv().await), (Ok(1), Ok(2)));
        task.await.unwrap();
    });
}

/// tokio-rs/tokio#6450: a place is handed to a waiter that is not polled any more, and all
/// others wait behind it ("futurelock"). Ours too while it lives; its drop passes the place on.
#[test]
fn tokio_6450_a_dropped_waiter_passes_its_place_on() {
    on_all(|| async {
        let (tx, rx) = bounded(1);
        tx.send(0).await.unwrap();
        let mut asleep = pinned(tx.reserve());
        assert!(poll(asleep.as_mut()).is_pending());
        let other = tx.clone();
        let task = tidings::spawn(async move { other.send(1).await });
        yield_now().await;
        assert_eq!(rx.recv().await, Ok(0));
        drop(asleep);
        assert_eq!(rx.recv().await, Ok(1));
        task.await.unwrap().unwrap();
    });
}

/// Kotlin/kotlinx.coroutines#1936: an element handed to a cancelled receiver is lost.
#[test]
fn kotlin_1936_an_aborted_receiver_loses_no_element() {
    on_all(|| async {
        let (tx, rx) = channel();
        let mut got = 0;
        for _ in 0..50 {
            let other = rx.clone();
            let task = tidings::spawn(async move { other.recv().await.unwrap() });
            yield_now().await;
            let tx = tx.clone();
            let sender = tidings::spawn(async move { tx.send(1).await.unwrap() });
            task.abort();
            got += match task.await {
                Ok(n) => n,
                Err(_) => rx.recv().await.unwrap(),
            };
            sender.await.unwrap();
        }
        assert_eq!(got, 50);
    });
}

/// Xline#339: a listener loses events, because its stream is dropped between them.
#[test]
fn xline_339_a_stream_made_anew_for_each_value_misses_none() {
    on_all(|| async {
        let (tx, rx) = channel();
        let sender = tidings::spawn(async move {
            for n in 0..50 {
                tx.send(n).await.unwrap();
            }
        });
        let mut n = 0;
        while n < 50 {
            let mut stream = rx.clone().into_stream();
            if let Some(got) = stream.next().now_or_never().flatten() {
                assert_eq!(got, n);
                n += 1;
            }
            drop(stream);
            yield_now().await;
        }
        sender.await.unwrap();
    });
}

/// zesterer/flume#104: a send that is given up may deliver its item at any time later, and never
/// gives it back.
#[test]
fn flume_104_a_send_that_is_given_up_gives_its_item_back_and_delivers_nothing() {
    on_all(|| async {
        let ledger = Ledger::default();
        for (tx, rx) in [channel(), bounded(1)] {
            while tx.capacity() == Some(1) && tx.try_send(ledger.letter(0)).is_ok() {}
            let late = tx
                .send(ledger.letter(1))
                .timeout(Duration::from_micros(50))
                .await;
            assert_eq!(late.unwrap_err().0.n, 1);
            let mut dropped = pinned(tx.send(ledger.letter(2)));
            assert!(poll(dropped.as_mut()).is_pending());
            drop(dropped);
            while let Ok(letter) = rx.try_recv() {
                assert_eq!(letter.n, 0);
            }
            assert_eq!(ledger.alive(), 0);
        }
    });
}

/// MitulShah1/ferrotunnel#170 (kanal): of 200 items, each sent while a receive was being given up,
/// 200 were destroyed.
#[test]
fn ferrotunnel_170_receives_that_time_out_destroy_no_item() {
    on_all(|| async {
        let (tx, rx) = channel();
        let sender = tidings::spawn(async move {
            for n in 0..200 {
                tx.send(n).await.unwrap();
            }
        });
        let mut next = 0;
        while next < 200 {
            let mut wait = pinned(rx.recv());
            let early = futures::poll!(wait.as_mut());
            yield_now().await;
            // Dropped with or without an item in it.
            drop(wait);
            for got in [
                early,
                rx.try_recv().map_or(Poll::Pending, |n| Poll::Ready(Ok(n))),
            ] {
                if let Poll::Ready(got) = got {
                    assert_eq!(got, Ok(next));
                    next += 1;
                }
            }
        }
        sender.await.unwrap();
    });
}

/// marmot-protocol/mdk#712: an arm dequeues, then awaits; another arm gets ready meanwhile, and
/// what was dequeued is lost with the arm.
#[test]
fn mdk_712_an_arm_that_awaits_is_not_torn() {
    on_all(|| async {
        let ((tx, rx), (stop, stopped)) = (unbounded(), unbounded());
        let (out, done) = channel();
        let consumer = tidings::spawn(async move {
            let mut delivered = 0;
            for n in 0..100 {
                tx.try_send(n).unwrap();
                select! {
                    biased;
                    got = rx.recv() => {
                        // The other arm gets ready while this one waits.
                        stop.try_send(()).unwrap();
                        out.send(got.unwrap()).await.unwrap();
                        delivered += 1;
                    }
                    _ = stopped.recv() => unreachable!("the order is that written"),
                }
            }
            delivered
        });
        for n in 0..100 {
            assert_eq!(done.recv().await, Ok(n));
        }
        assert_eq!(consumer.await.unwrap(), 100);
    });
}

/// Kotlin/kotlinx.coroutines#4337: a collection of a channel that is cancelled loses the element
/// that was on its way ("prompt cancellation").
#[test]
fn kotlin_4337_a_collector_that_is_aborted_loses_no_element() {
    on_all(|| async {
        let (tx, rx) = channel();
        let ledger = Ledger::default();
        let books = ledger.clone();
        let sender = tidings::spawn(async move {
            for n in 0..100 {
                tx.send(books.letter(n)).await.unwrap();
            }
        });
        let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
        while seen.lock().unwrap().len() < 100 {
            let (seen, rx) = (Arc::clone(&seen), rx.clone());
            let collector = tidings::spawn(async move {
                let mut stream = rx.into_stream();
                while let Some(letter) = stream.next().await {
                    seen.lock().unwrap().push(letter.n);
                }
            });
            yield_now().await;
            yield_now().await;
            collector.abort();
            drop(collector.await);
        }
        let mut all = seen.lock().unwrap().clone();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
        assert_eq!(ledger.alive(), 0);
        sender.await.unwrap();
    });
}

/// RUSTSEC-2026-0005 (oneshot): a receiver that was polled, then dropped by a timeout or a lost
/// select, frees what the sender still touches.
#[test]
fn oneshot_rustsec_2026_0005_a_polled_receiver_that_loses_a_choice_may_be_dropped() {
    on_all(|| async {
        let ledger = Ledger::default();
        for n in 0..50 {
            let (tx, rx) = oneshot();
            let (go, wait) = unbounded();
            go.try_send(()).unwrap();
            let books = ledger.clone();
            let sender = tidings::spawn(async move { tx.send(books.letter(n)).is_ok() });
            if n % 2 == 0 {
                yield_now().await;
            }
            match rx.into_recv().either(wait.recv()).await {
                Either::Left(letter, ()) => assert_eq!(letter.unwrap().n, n),
                Either::Right(go, ()) => go.unwrap(),
            }
            sender.await.unwrap();
        }
        assert_eq!(ledger.alive(), 0);
    });
}

/// Hopac/Hopac#50: the timeouts that lose keep their state alive until they would have fired.
#[test]
fn hopac_50_a_long_timeout_that_loses_keeps_nothing() {
    on_all(|| async {
        let ledger = Ledger::default();
        let (tx, rx) = unbounded();
        for n in 0..100 {
            let letter = ledger.letter(n);
            let late = after(Duration::from_secs(86_400)).map(move |()| {
                let letter = letter;
                letter.n
            });
            let mut wait = pinned(rx.recv().map(Result::unwrap).or(late));
            assert!(poll(wait.as_mut()).is_pending());
            tx.try_send(n).unwrap();
            assert_eq!(poll(wait.as_mut()), Poll::Ready(n));
            drop(wait);
            assert_eq!(ledger.alive(), 0);
            yield_now().await;
        }
    });
}
