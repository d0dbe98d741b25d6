//! Channels, choices and timers on other executors and on plain threads.

use std::sync::Arc;
use std::task::{Poll, Wake, Waker};
use std::time::Duration;

use crate::both::{pool, watchdog};
use crate::hands::{Wakes, pinned, poll_with};
use tidings::{
    Event, Receiver, Sender, after, bounded, channel, choose, oneshot, select, unbounded,
};

/// Sends, receives, chooses, waits for time, all without a runtime of ours.
async fn errands(peer: bool, tx: Sender<u32>, rx: Receiver<u32>) -> u32 {
    let mut sum = 0;
    for n in 0..200 {
        if peer {
            choose([tx.send(n), tx.send(n)]).await.unwrap();
            sum += rx.recv().await.unwrap();
        } else {
            let got = select! {
                got = rx.recv() => got.unwrap(),
                () = after(Duration::from_secs(3600)) => unreachable!("in time"),
            };
            sum += got;
            tx.send(got + 1).await.unwrap();
        }
        if n % 50 == 0 {
            after(Duration::from_millis(1)).await;
            let (_silent, quiet) = channel::<u8>();
            assert!(
                quiet
                    .recv()
                    .timeout(Duration::from_micros(100))
                    .await
                    .is_err()
            );
        }
    }
    sum
}

const SUMS: (u32, u32) = (19_900 + 200, 19_900);

type Ends = (Sender<u32>, Receiver<u32>);

fn pairs() -> [(Ends, Ends); 3] {
    let cross = |(a, ar): Ends, (b, br): Ends| ((a, br), (b, ar));
    [
        cross(channel(), channel()),
        cross(bounded(1), bounded(1)),
        cross(unbounded(), unbounded()),
    ]
}

#[test]
fn under_tokio_with_many_threads() {
    let _watchdog = watchdog();
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .build()
        .unwrap();
    tokio.block_on(async {
        for ((a, ar), (b, br)) in pairs() {
            let left = tokio::spawn(errands(true, a, ar));
            let right = tokio::spawn(errands(false, b, br));
            assert_eq!((left.await.unwrap(), right.await.unwrap()), SUMS);
        }
        let (tx, rx) = oneshot();
        tokio::spawn(async move { tx.send(1).unwrap() });
        assert_eq!(rx.await, Ok(1));
    });
}

#[test]
fn under_tokio_with_one_thread_beside_its_own_select_and_timers() {
    let _watchdog = watchdog();
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    tokio.block_on(async {
        for ((a, ar), (b, br)) in pairs() {
            let both = futures::future::join(errands(true, a, ar), errands(false, b, br));
            assert_eq!(both.await, SUMS);
        }
        let (tx, rx) = channel();
        let lost = tokio::time::timeout(Duration::from_millis(2), rx.recv().into_future()).await;
        assert!(lost.is_err());
        let sender = tokio::spawn(async move { tx.send(4).await });
        let got = tokio::select! {
            got = rx.recv().into_future() => got,
            () = tokio::time::sleep(Duration::from_secs(3600)) => unreachable!("in time"),
        };
        assert_eq!(got, Ok(4));
        sender.await.unwrap().unwrap();
    });
}

#[test]
fn under_the_executors_of_futures() {
    let _watchdog = watchdog();
    for ((a, ar), (b, br)) in pairs() {
        let mut local = futures::executor::LocalPool::new();
        let both = futures::future::join(errands(true, a, ar), errands(false, b, br));
        assert_eq!(local.run_until(both), SUMS);
    }
}

#[test]
fn on_plain_threads_and_across_all_of_them() {
    let _watchdog = watchdog();
    let rt = pool(2);
    for ((a, ar), (b, br)) in pairs() {
        let task = rt.spawn(errands(true, a, ar));
        let thread = std::thread::spawn(|| futures::executor::block_on(errands(false, b, br)));
        assert_eq!((rt.block_on(task).unwrap(), thread.join().unwrap()), SUMS);
    }
    for ((a, ar), (b, br)) in pairs() {
        let thread = std::thread::spawn(move || {
            for n in 0..200 {
                assert_eq!(br.recv().wait(), Ok(n));
                b.send(n + 1).wait().unwrap();
            }
        });
        for n in 0..200 {
            a.send_blocking(n).unwrap();
            assert_eq!(ar.recv_blocking(), Ok(n + 1));
        }
        thread.join().unwrap();
    }
}

#[test]
fn a_tokio_task_joins_and_aborts_tasks_of_ours() {
    let _watchdog = watchdog();
    let rt = pool(2);
    let tokio = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    tokio.block_on(async {
        assert_eq!(rt.spawn(async { 3 }).await.unwrap(), 3);
        let mut task = rt.spawn(std::future::pending::<()>());
        assert!(task.join().timeout(Duration::from_millis(2)).await.is_err());
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
    });
}

#[test]
fn the_last_waker_that_polled_is_woken_and_no_other() {
    let (tx, rx) = channel();
    let (first, first_waker) = Wakes::new();
    let (second, second_waker) = Wakes::new();
    for chooses in [false, true] {
        let mut wait = if chooses {
            pinned(rx.recv().or(rx.recv()).boxed())
        } else {
            pinned(rx.recv().boxed())
        };
        let before = (first.count(), second.count());
        assert!(poll_with(wait.as_mut(), &first_waker).is_pending());
        assert!(poll_with(wait.as_mut(), &second_waker).is_pending());
        tx.try_send(1).unwrap();
        assert_eq!((first.count(), second.count()), (before.0, before.1 + 1));
        assert_eq!(poll_with(wait.as_mut(), &first_waker), Poll::Ready(Ok(1)));
    }
    let mut wait = pinned(after(Duration::from_millis(3)));
    let before = (first.count(), second.count());
    assert!(poll_with(wait.as_mut(), &first_waker).is_pending());
    assert!(poll_with(wait.as_mut(), &second_waker).is_pending());
    let mut polls = 0;
    while poll_with(wait.as_mut(), &second_waker).is_pending() {
        std::thread::sleep(Duration::from_millis(1));
        polls += 1;
        assert!(polls < 20_000);
    }
    assert_eq!((first.count(), second.count()), (before.0, before.1 + 1));
    // The waits have let go of their wakers.
    drop((wait, first_waker, second_waker));
    assert_eq!(
        (Arc::strong_count(&first), Arc::strong_count(&second)),
        (1, 1)
    );
}

/// A waker that takes its time, and is used from wherever.
struct Slow(Waker);

impl Wake for Slow {
    fn wake(self: Arc<Self>) {
        std::thread::sleep(Duration::from_micros(200));
        self.0.wake_by_ref();
    }
}

#[test]
fn slow_wakers_and_changing_wakers_lose_nothing() {
    let _watchdog = watchdog();
    let rt = pool(2);
    let (tx, rx) = channel();
    let sender = rt.spawn(async move {
        for n in 0..200 {
            tx.send(n).await.unwrap();
        }
    });
    let receiver = rt.spawn(async move {
        for n in 0..200 {
            let mut wait = pinned(rx.recv());
            // A waker of its own for every poll.
            let got = std::future::poll_fn(|cx| {
                let slow = Waker::from(Arc::new(Slow(cx.waker().clone())));
                poll_with(wait.as_mut(), &slow)
            });
            assert_eq!(got.await, Ok(n));
        }
    });
    rt.block_on(async {
        sender.await.unwrap();
        receiver.await.unwrap();
    });
}

/// A waker that uses the very channel it is woken for.
struct Reentrant(Sender<u8>, Receiver<u8>);

impl Wake for Reentrant {
    fn wake(self: Arc<Self>) {
        self.0.try_send(9).ok();
        assert!(!format!("{:?}", self.1).is_empty());
        self.1.try_recv().ok();
    }
}

#[test]
fn a_waker_may_use_the_channel_it_is_woken_for() {
    let _watchdog = watchdog();
    let (tx, rx) = bounded(2);
    let waker = Waker::from(Arc::new(Reentrant(tx.clone(), rx.clone())));
    let mut wait = pinned(rx.recv());
    assert!(poll_with(wait.as_mut(), &waker).is_pending());
    tx.try_send(1).unwrap();
    assert_eq!(poll_with(wait.as_mut(), &waker), Poll::Ready(Ok(1)));
    let mut wait = pinned(rx.recv());
    assert!(poll_with(wait.as_mut(), &waker).is_pending());
    tx.close();
    assert!(poll_with(wait.as_mut(), &waker).is_ready());
}

/// What some executors do in a release build: every clone of the waker has another table.
#[test]
fn a_waker_that_looks_different_at_every_poll_misses_no_deadline() {
    let _watchdog = watchdog();
    let (_tx, rx) = channel::<u8>();
    let mut wait = pinned(rx.recv().timeout(Duration::from_millis(2)).boxed());
    let mut polls = 0;
    loop {
        let (_, waker) = Wakes::new();
        if poll_with(wait.as_mut(), &waker).is_ready() {
            break;
        }
        polls += 1;
        assert!(polls < 1_000_000, "the deadline passed long ago");
        std::thread::sleep(Duration::from_millis(1));
    }
}
