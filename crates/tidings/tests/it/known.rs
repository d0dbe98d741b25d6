//! Bugs that other libraries shipped, as tests of ours. The name says whose, the comment where.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures::{FutureExt, StreamExt};

use crate::both::{on_all, pool, run, watchdog};
use crate::channel::rx_waiting;
use crate::hands::{Wakes, pinned, poll, poll_with};
use crate::letter::Ledger;
use tidings::{Event, bounded, channel, choose, oneshot, select, unbounded, yield_now};

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

/// zesterer/flume#135: a selector on a channel with many receivers loses messages.
#[test]
fn flume_135_choice_among_many_receivers_loses_nothing() {
    on_all(|| async {
        let ((a, ar), (b, br)) = (bounded(1), bounded(1));
        let receivers: Vec<_> = (0..4)
            .map(|_| {
                let (ar, br) = (ar.clone(), br.clone());
                tidings::spawn(async move {
                    let mut n = 0;
                    while choose([ar.recv(), br.recv()]).await.is_ok() {
                        n += 1;
                    }
                    // One has ended: what is left in the other is taken too.
                    while ar.recv().await.is_ok() || br.recv().await.is_ok() {
                        n += 1;
                    }
                    n
                })
            })
            .collect();
        for n in 0..300 {
            choose([a.send(n), b.send(n)]).await.unwrap();
        }
        drop((a, b));
        let mut all = 0;
        for receiver in receivers {
            all += receiver.await.unwrap();
        }
        assert_eq!(all, 300);
    });
}

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

/// tokio-rs/tokio#4941: a task in the LIFO slot waits for the end of a long poll.
#[test]
fn tokio_4941_the_task_woken_last_is_not_stuck_behind_its_waker() {
    let _watchdog = watchdog();
    run(&pool(2), async {
        let (tell, done) = std::sync::mpsc::channel();
        let (tx, rx) = channel();
        drop(tidings::spawn(async move {
            rx.recv().await.unwrap();
            tell.send(()).unwrap();
        }));
        yield_now().await;
        tx.send(()).await.unwrap();
        done.recv_timeout(Duration::from_secs(20))
            .expect("it ran elsewhere");
    });
}

/// tokio-rs/tokio#8056: a closure for the blocking pool is never run, on a fresh runtime.
#[test]
fn tokio_8056_no_blocking_work_is_lost_on_fresh_runtimes() {
    let _watchdog = watchdog();
    for _ in 0..50 {
        let rt = pool(2);
        run(&rt, async {
            let jobs: Vec<_> = (0..8).map(|n| tidings::spawn_blocking(move || n)).collect();
            for (n, job) in jobs.into_iter().enumerate() {
                assert_eq!(job.await.unwrap(), n);
            }
        });
    }
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

/// Hopac/Hopac#107, #139, #174: branches that lost stay in the queues of their channels.
#[test]
fn hopac_107_losing_branches_leave_the_queues() {
    on_all(|| async {
        let (_silent, quiet) = channel::<u8>();
        let (tx, rx) = channel();
        for _ in 0..100 {
            let mut wait = pinned(quiet.recv().or(rx.recv()));
            assert!(poll(wait.as_mut()).is_pending());
            tx.try_send(1).unwrap();
            assert!(poll(wait.as_mut()).is_ready());
        }
        assert_eq!((rx_waiting(&quiet), rx_waiting(&rx)), (0, 0));
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

/// crossbeam-rs/crossbeam#997: a receiver that tries can block for ever beside a sender that
/// was stopped in the middle.
#[test]
fn crossbeam_997_try_recv_returns_while_a_sender_waits() {
    on_all(|| async {
        let (tx, rx) = bounded(1);
        let mut waits: Vec<_> = (0..3).map(|n| pinned(tx.send(n))).collect();
        for (n, wait) in waits.iter_mut().enumerate() {
            assert_eq!(poll(wait.as_mut()).is_ready(), n == 0);
        }
        for n in 0..3 {
            assert_eq!(rx.try_recv(), Ok(n));
        }
        assert!(rx.try_recv().is_err());
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

/// RUSTSEC-2026-0221 (event-listener): a type is `Send` that must not be; and ours that must be.
#[test]
fn event_listener_rustsec_2026_0221_what_may_cross_threads() {
    fn crosses<T: Send + Sync>(_: Option<T>) {}
    fn moves<T: Send>(_: &T) {}
    crosses::<tidings::Runtime>(None);
    crosses::<tidings::sched::Handle>(None);
    crosses::<tidings::JoinHandle<u8>>(None);
    crosses::<tidings::AbortHandle>(None);
    crosses::<tidings::JoinError>(None);
    crosses::<(tidings::Sender<u8>, tidings::Receiver<u8>)>(None);
    // A value that may only be moved makes handles that may be shared.
    crosses::<tidings::Sender<std::cell::Cell<u8>>>(None);
    crosses::<tidings::Receiver<std::cell::Cell<u8>>>(None);
    let (tx, rx) = channel::<std::cell::Cell<u8>>();
    let mut place = Some(std::cell::Cell::new(1));
    moves(&rx.recv().into_future());
    moves(&tx.reserve().into_future());
    moves(&tx.send_from(&mut place).into_future());
    moves(
        &rx.recv()
            .or(rx.recv())
            .timeout(Duration::ZERO)
            .into_future(),
    );

    /// Asks in a constant whether a type is `Send`.
    macro_rules! is_send {
        ($type:ty) => {{
            trait No {
                const IS: bool = false;
            }
            impl<T> No for T {}
            struct Probe<T>(std::marker::PhantomData<T>);
            #[allow(dead_code, reason = "only the one that applies is used")]
            impl<T: Send> Probe<T> {
                const IS: bool = true;
            }
            <Probe<$type>>::IS
        }};
    }
    type Rc = std::rc::Rc<u8>;
    assert!(!is_send!(tidings::Sender<Rc>) && !is_send!(tidings::Receiver<Rc>));
    assert!(!is_send!(oneshot::Sender<Rc>));
    assert!(!is_send!(oneshot::Receiver<Rc>));
    assert!(!is_send!(tidings::JoinHandle<Rc>));
    assert!(!is_send!(channel::ivar::IVar<Rc>));
    assert!(!is_send!(channel::ivar::IVar<std::cell::Cell<u8>>));
    assert!(!is_send!(channel::mvar::MVar<Rc>));
    assert!(!is_send!(channel::Recv<'static, Rc>));
    assert!(!is_send!(tidings::event::Sync<channel::Recv<'static, Rc>>));
    assert!(!is_send!(tidings::event::Always<Rc>));
}
