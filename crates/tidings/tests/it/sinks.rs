//! Channels as streams and sinks.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use tidings::{bounded, broadcast, channel, unbounded};

use crate::both::{on_all, on_all_unheard, pool, run};
use crate::channel::kinds;
use crate::hands::{Bomb, pinned, poll, poll_with};

#[test]
fn a_stream_gives_all_and_ends() {
    on_all(|| async {
        for (tx, rx) in kinds() {
            let sender = tidings::spawn(async move {
                let mut sink = tx.into_sink();
                let mut numbers = futures::stream::iter((0..50).map(Ok));
                sink.send_all(&mut numbers).await.unwrap();
                sink.close().await.unwrap();
            });
            let all: Vec<u32> = rx.into_stream().collect().await;
            assert_eq!(all, (0..50).collect::<Vec<_>>());
            sender.await.unwrap();
        }
        let (tx, rx) = bounded(1);
        drop(rx);
        let mut sink = tx.into_sink();
        assert_eq!(sink.send(4).await.unwrap_err().into_inner(), 4);
    });
}

#[test]
fn a_sink_that_is_closed_has_let_its_sender_go() {
    on_all(|| async {
        for (tx, rx) in kinds() {
            let mut sink = tx.into_sink();
            let taker = tidings::spawn(async move {
                assert_eq!(rx.recv().await, Ok(1));
                rx.recv().await
            });
            sink.send(1).await.unwrap();
            sink.close().await.unwrap();
            assert!(taker.await.unwrap().is_err());
            assert!(sink.sender().is_none());
            assert_eq!(sink.send(2).await.unwrap_err().into_inner(), 2);
        }
    });
}

#[test]
fn what_a_sink_is_given_is_in_the_channel_at_once_if_there_is_room() {
    on_all(|| async {
        let (tx, rx) = bounded(2);
        let mut sink = tx.into_sink();
        for n in 1..=3 {
            sink.feed(n).await.unwrap();
            assert_eq!(rx.len(), n.min(2));
        }
        // The third waits, in the sink.
        assert!(poll(pin!(sink.flush())).is_pending());
        assert_eq!(rx.try_recv(), Ok(1));
        sink.flush().await.unwrap();
        drop(sink);
        assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(2), Ok(3)));

        let (tx, rx) = channel();
        let mut sink = tx.into_sink();
        let mut wait = pinned(rx.recv());
        assert!(poll(wait.as_mut()).is_pending());
        sink.feed(4).await.unwrap();
        drop(sink);
        assert_eq!(wait.await, Ok(4));

        let (tx, rx) = bounded(1);
        let mut sink = tx.into_sink();
        drop(rx);
        assert_eq!(sink.feed(5).await.unwrap_err().into_inner(), 5);
        assert_eq!(sink.close().await, Ok(()), "it holds nothing");
    });
}

#[test]
fn a_sink_that_always_has_room_lets_others_run() {
    let given = run(&pool(1), async {
        let (tx, _rx) = unbounded();
        let mut sink = tx.into_sink();
        poll_fn(|cx| {
            let mut given = 0;
            while given < 1_000 && sink.poll_ready_unpin(cx).is_ready() {
                sink.start_send_unpin(given).unwrap();
                given += 1;
            }
            Poll::Ready(given)
        })
        .await
    });
    assert!((1..=128).contains(&given), "{given} in one poll");
}

#[test]
fn a_stream_dropped_between_polls_loses_nothing() {
    on_all(|| async {
        let (tx, rx) = channel();
        let mut stream = rx.clone().into_stream();
        assert!(poll(std::pin::Pin::new(&mut stream.next())).is_pending());
        tx.send(1).await.unwrap();
        drop(stream);
        assert_eq!(rx.recv().await, Ok(1));
    });
}

#[test]
fn a_stream_and_a_sink_go_on_after_a_partners_waker_that_panics() {
    on_all_unheard(|| async {
        let bomb = Waker::from(Arc::new(Bomb));
        let (tx, rx) = bounded(1);
        tx.try_send(1).unwrap();
        let mut behind = pinned(tx.send(2));
        assert!(poll_with(behind.as_mut(), &bomb).is_pending());
        let mut stream = rx.into_stream();
        let unwound = catch_unwind(AssertUnwindSafe(|| poll(pin!(stream.next()))));
        assert!(unwound.is_err());
        assert_eq!(poll(behind.as_mut()), Poll::Ready(Ok(())));
        assert_eq!(stream.next().await, Some(1));
        assert_eq!(stream.next().await, Some(2));

        let (tx, rx) = bounded(1);
        let mut sink = tx.into_sink();
        sink.feed(1).await.unwrap();
        sink.feed(2).await.unwrap();
        assert_eq!(rx.try_recv(), Ok(1));
        let mut waits = pinned(rx.recv());
        assert!(poll_with(waits.as_mut(), &bomb).is_pending());
        let unwound = catch_unwind(AssertUnwindSafe(|| poll(pin!(sink.flush()))));
        assert!(unwound.is_err());
        assert_eq!(waits.await, Ok(2));
        sink.send(3).await.unwrap();
        assert_eq!(rx.recv().await, Ok(3));
    });
}

#[test]
fn a_stream_of_a_broadcast_goes_on_after_a_clone_that_panics() {
    #[derive(Debug, PartialEq)]
    struct Fussy(u8);
    impl Clone for Fussy {
        fn clone(&self) -> Self {
            assert!(self.0 != 2, "a clone that panics");
            Self(self.0)
        }
    }
    on_all_unheard(|| async {
        let (tx, rx) = broadcast(4);
        let mut stream = rx.into_stream();
        (1..=3).for_each(|n| assert!(tx.send(Fussy(n)).is_ok()));
        assert_eq!(stream.next().await, Some(Ok(Fussy(1))));
        let unwound = catch_unwind(AssertUnwindSafe(|| poll(pin!(stream.next()))));
        assert!(unwound.is_err());
        assert_eq!(stream.next().await, Some(Ok(Fussy(3))));
        drop(tx);
        assert_eq!(stream.next().await, None);
    });
}

#[test]
fn streams_of_broadcasts_watches_and_intervals_wait_are_moved_between_polls_and_end() {
    on_all(|| async {
        let (tx, rx) = broadcast(4);
        let mut values = rx.into_stream();
        assert!(poll(pin!(values.next())).is_pending());
        let mut values = Box::new(values);
        tx.send(1).unwrap();
        assert_eq!(values.next().await, Some(Ok(1)));
        drop(tx);
        assert_eq!(values.next().await, None);
        assert_eq!(values.next().await, None);

        let (tx, rx) = channel::watch(1);
        let mut values = rx.into_stream();
        assert_eq!(values.next().await.as_deref(), Some(&1));
        assert!(poll(pin!(values.next())).is_pending());
        let mut values = Box::new(values);
        tx.send(2).unwrap();
        assert_eq!(values.next().await.as_deref(), Some(&2));
        drop(tx);
        assert_eq!(values.next().await, None);
        assert_eq!(values.next().await, None);

        let period = Duration::from_millis(1);
        let mut ticks = tidings::time::interval(period).into_stream();
        let first = ticks.next().await.unwrap();
        assert_eq!(ticks.next().await, Some(first + period));
    });
}
