//! crossbeam-channel's `tests/{array,list,zero,iter,same_channel,thread_locals,never}.rs`.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;

use crate::both::{on_all, on_pools, pool, watchdog};
use crate::dice::Dice;
use crate::hands::{pinned, poll};
use crate::letter::Ledger;
use crate::{kinds, turns};
use tidings::{
    Event, Receiver, RecvError, Sender, TryRecvError, TrySendError, bounded, channel, choose,
    never, select, unbounded, yield_now,
};

/// `len_empty_full`, `capacity`, `len`: what a channel says of itself while it fills and empties.
#[test]
fn a_channel_says_how_much_is_in_it() {
    on_all(|| async {
        for (tx, rx) in kinds() {
            let room = tx.capacity().unwrap_or(20);
            assert_eq!((rx.len(), rx.is_empty()), (0, true));
            for n in 0..room {
                assert_eq!((tx.len(), rx.len()), (n, n));
                tx.send(n).await.unwrap();
                assert!(!tx.is_empty() && !rx.is_empty());
            }
            assert_eq!(tx.try_send(0).is_err(), tx.capacity().is_some());
            for n in 0..room {
                rx.recv().await.unwrap();
                let extra = usize::from(tx.capacity().is_none());
                assert_eq!(rx.len(), room - n - 1 + extra);
            }
        }
    });
}

/// `array.rs: len`: while others send and receive, the length stays within the bound.
#[test]
fn the_length_stays_within_the_bound_under_way() {
    on_pools(|| async {
        for (tx, rx) in [channel(), bounded(1), bounded(7)] {
            let bound = tx.capacity().unwrap();
            let sender = tidings::spawn(async move {
                for n in 0..500 {
                    tx.send(n).await.unwrap();
                    assert!(tx.len() <= bound);
                }
            });
            for _ in 0..500 {
                assert!(rx.len() <= bound);
                rx.recv().await.unwrap();
            }
            sender.await.unwrap();
            assert_eq!(rx.len(), 0);
        }
    });
}

/// `try_recv`, `recv`, `recv_timeout`, `try_send`, `send`, `send_timeout`: each form before its
/// partner comes, when it is there, and after the end.
#[test]
fn each_form_before_its_partner_with_it_and_after_the_end() {
    const SOON: Duration = Duration::from_micros(200);
    on_all(|| async {
        for (tx, rx) in kinds() {
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
            assert!(rx.recv_timeout(SOON).await.is_err());
            let task = tidings::spawn(async move {
                tx.send(7).await.unwrap();
                while tx.try_send(8).is_err() {
                    yield_now().await;
                }
                // What was sent last may still be in the queue.
                let full = tx.capacity().is_some_and(|n| tx.len() == n);
                if full {
                    drop(tx.send_timeout(9, SOON).await);
                }
            });
            assert_eq!(rx.recv_timeout(Duration::from_secs(3_600)).await, Ok(7));
            assert_eq!(rx.recv().await, Ok(8));
            while rx.recv().await == Ok(9) {}
            task.await.unwrap();
            assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
            assert!(rx.recv_timeout(SOON).await.is_err());
            assert_eq!(rx.recv().await, Err(RecvError));
        }
    });
}

/// `recv_timeout_nonempty_expired`, `send_timeout_nonfull_expired`: a deadline that has passed does
/// not stop what can happen at once.
#[test]
fn a_deadline_that_has_passed_does_not_stop_what_can_happen() {
    on_all(|| async {
        for (tx, rx) in [bounded(1), unbounded()] {
            tx.send(1).timeout(Duration::ZERO).await.unwrap().unwrap();
            assert_eq!(rx.recv_timeout(Duration::ZERO).await, Ok(1));
            let past = tidings::time::Instant::now();
            turns(1).await;
            tx.send_timeout(2, Duration::ZERO).await.unwrap();
            let got = rx
                .recv()
                .map(Result::ok)
                .or(tidings::at(past).map(|()| None));
            assert!(matches!(got.await, Some(2) | None));
        }
    });
}

/// `stress_timeout_two_threads`: sends and receives that time out at random times, one value after
/// the other.
#[test]
fn sends_and_receives_that_time_out_keep_the_order() {
    on_all(|| async {
        for (tx, rx) in kinds() {
            let sender = tidings::spawn(async move {
                let mut dice = Dice(1);
                for n in 0..60 {
                    let mut place = Some(n);
                    while place.is_some() {
                        let soon = Duration::from_micros(dice.below(40));
                        drop(tx.send_from(&mut place).timeout(soon).await);
                    }
                }
            });
            let (mut dice, mut next) = (Dice(2), 0);
            while next < 60 {
                match rx.recv_timeout(Duration::from_micros(dice.below(40))).await {
                    Ok(n) => {
                        assert_eq!(n, next);
                        next += 1;
                    }
                    Err(_) => yield_now().await,
                }
            }
            sender.await.unwrap();
        }
    });
}

/// `drops`: of values sent, some received and some left in the channel, each is dropped once.
#[test]
fn values_received_and_values_left_are_dropped_once() {
    on_pools(|| async {
        let mut dice = Dice(7);
        for (tx, rx) in kinds().into_iter().chain(kinds()) {
            let (ledger, received) = (Ledger::default(), dice.below(60));
            let left = tx.capacity().map_or(20, |n| n as u64);
            let books = ledger.clone();
            let sender = tidings::spawn(async move {
                for n in 0..received + left {
                    tx.send(books.letter(n)).await.unwrap();
                }
                tx
            });
            for n in 0..received {
                assert_eq!(rx.recv().await.unwrap().n, n);
            }
            let tx = sender.await.unwrap();
            assert_eq!(ledger.alive() as u64, left);
            drop(tx);
            drop(rx);
            assert_eq!(ledger.alive(), 0);
        }
    });
}

/// `linearizable`: whoever has sent finds something to take, however many do the same.
#[test]
fn who_has_sent_finds_something_to_take() {
    on_pools(|| async {
        for (tx, rx) in [bounded(4), unbounded()] {
            let tasks: Vec<_> = (0..4)
                .map(|_| {
                    let (tx, rx) = (tx.clone(), rx.clone());
                    tidings::spawn(async move {
                        for _ in 0..500 {
                            tx.try_send(0).expect("there are as many places as tasks");
                            rx.try_recv().expect("each has sent before it takes");
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
            assert_eq!(rx.len(), 0);
        }
    });
}

/// `fairness_duplicates`: a receiver that stands in a choice several times is taken through each of
/// its branches.
#[test]
fn each_branch_of_a_receiver_named_thrice_is_taken() {
    on_all(|| async {
        let (tx, rx) = unbounded();
        (0..600).for_each(|n| tx.try_send(n).unwrap());
        let mut hits = [0; 3];
        for _ in 0..600 {
            select! {
                _ = rx.recv() => hits[0] += 1,
                _ = rx.recv() => hits[1] += 1,
                _ = rx.recv() => hits[2] += 1,
            }
        }
        assert!(hits.iter().all(|&n| n >= 120), "{hits:?}");
    });
}

/// `recv_in_send`: what an arm sends comes from a wait of its own, inside of the expression.
#[test]
fn what_an_arm_sends_may_come_from_a_wait() {
    on_all(|| async {
        let ((tx, rx), (source, values)) = (bounded(1), unbounded());
        source.send(5).await.unwrap();
        select! {
            sent = tx.send(values.recv().await.unwrap()) => sent.unwrap(),
            () = never() => {}
        }
        assert_eq!(rx.recv().await, Ok(5));
        // And a send that waits for a value that never comes can be given up.
        let wait = async { tx.send(values.recv().await.unwrap()).await };
        assert!(
            tidings::time::timeout(Duration::from_micros(50), wait)
                .await
                .is_err()
        );
        assert!(rx.is_empty());
    });
}

/// `channel_through_channel`: each message is the channel that the next one comes through.
#[test]
fn channels_go_through_channels() {
    type Next = Box<dyn std::any::Any + Send>;
    fn make(capacity: usize) -> (Sender<Next>, Receiver<Next>) {
        match capacity {
            0 => channel(),
            9 => unbounded(),
            n => bounded(n),
        }
    }
    on_all(|| async {
        for capacity in [0, 1, 2, 9] {
            let (mut tx, mut rx) = make(capacity);
            let sender = tidings::spawn(async move {
                for _ in 0..50 {
                    let (next_tx, next_rx) = make(capacity);
                    tx.send(Box::new(next_rx)).await.unwrap();
                    tx = next_tx;
                }
            });
            for _ in 0..50 {
                let next: Box<Receiver<Next>> = rx.recv().await.unwrap().downcast().unwrap();
                rx = *next;
            }
            assert!(rx.recv().await.is_err());
            sender.await.unwrap();
        }
    });
}

/// A value whose drop panics, if it is told to, after it was counted.
struct Grenade {
    dropped: Arc<AtomicUsize>,
    panics: bool,
}

impl Drop for Grenade {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::SeqCst);
        assert!(!self.panics, "a drop that panics");
    }
}

/// `array.rs: panic_on_drop`; tokio's `sync_mpsc.rs: drop_all_elements_during_panic`: a value that
/// panics when the channel drops it keeps no other from being dropped, and none is dropped twice.
#[test]
fn a_drop_that_panics_costs_no_other_value() {
    for (tx, rx) in [bounded(5), unbounded()] {
        let dropped = Arc::new(AtomicUsize::new(0));
        for n in 0..5 {
            let grenade = Grenade {
                dropped: Arc::clone(&dropped),
                panics: n == 2,
            };
            assert!(tx.try_send(grenade).is_ok());
        }
        let last = Grenade {
            dropped: Arc::clone(&dropped),
            panics: false,
        };
        let mut waits = pinned(tx.reserve());
        let mut ends = pinned(tx.closed());
        assert_eq!(poll(waits.as_mut()).is_pending(), tx.capacity().is_some());
        assert!(poll(ends.as_mut()).is_pending());
        let drop_it = std::panic::AssertUnwindSafe(|| drop(rx));
        assert!(std::panic::catch_unwind(drop_it).is_err());
        assert_eq!(dropped.load(Ordering::SeqCst), 5);
        assert!(
            tx.is_closed() && poll(ends.as_mut()).is_ready(),
            "who waits has heard"
        );
        assert!(tx.capacity().is_none() || poll(waits.as_mut()).is_ready());
        drop((waits, ends));
        drop(tx.try_send(last));
        drop(tx);
        assert_eq!(dropped.load(Ordering::SeqCst), 6);
    }
}

/// `list.rs: stack_overflow`: values larger than a stack would like go through, and a channel of
/// such is made where stacks are small.
#[test]
fn values_too_large_for_a_small_stack_go_through_in_boxes_and_queues() {
    let thread = std::thread::Builder::new().stack_size(256 << 10);
    let large = thread.spawn(|| {
        let (tx, rx) = unbounded::<[u8; 4 << 10]>();
        assert!(tx.try_send([7; 4 << 10]).is_ok());
        let (tx2, rx2) = unbounded::<Box<[u8]>>();
        tx2.try_send(vec![8; 8 << 20].into()).unwrap();
        (rx.try_recv().unwrap()[9], rx2.try_recv().unwrap()[8 << 19])
    });
    assert_eq!(large.unwrap().join().unwrap(), (7, 8));
}

/// `iter.rs`: a stream ends with the channel, can be left and taken up again, and what is there can
/// be taken without a wait.
#[test]
fn a_stream_is_left_and_taken_up_again() {
    on_all(|| async {
        let (tx, rx) = unbounded();
        for n in [2, 2, 2, 9] {
            tx.send(n).await.unwrap();
        }
        let (mut stream, mut sum) = (rx.clone().into_stream(), 0);
        while let Some(n) = stream.next().await {
            sum += n;
            if sum >= 4 {
                break;
            }
        }
        drop(stream);
        assert_eq!((sum, rx.len()), (4, 2));
        let mut there = Vec::new();
        assert_eq!(rx.try_recv_many(&mut there, 10), 2);
        assert_eq!(rx.try_recv_many(&mut there, 10), 0);
        drop(tx);
        assert_eq!(there, [2, 9]);
        assert_eq!(rx.into_stream().next().await, None);
    });
}

/// `same_channel.rs`: handles know their own channel from every other, of any kind.
#[test]
fn handles_know_their_own_channel() {
    let (one, two) = (kinds::<u8>(), kinds::<u8>());
    for (nth, (tx, rx)) in one.iter().enumerate() {
        assert!(tx.same_channel(&tx.clone()) && rx.same_channel(&rx.clone()));
        assert!(tx.downgrade().upgrade().unwrap().same_channel(tx));
        for (tx2, rx2) in two.iter().chain(one.iter().skip(nth + 1)) {
            assert!(!tx.same_channel(tx2) && !rx.same_channel(rx2));
        }
    }
}

/// `thread_locals.rs: use_while_exiting`: a channel is used by the destructors of a thread's
/// locals, on plain threads and on those of the pool for blocking work.
#[test]
fn a_thread_that_ends_uses_channels_in_its_last_destructors() {
    struct Last(Option<(Sender<u32>, Receiver<u32>)>);
    impl Drop for Last {
        fn drop(&mut self) {
            let (tx, rx) = self.0.take().unwrap();
            tx.send_blocking(1).unwrap();
            drop(rx.recv().timeout(Duration::ZERO).wait());
            let own = unbounded();
            choose([own.0.send(2), own.0.send(2)]).wait().unwrap();
            assert_eq!(own.1.recv().or(own.1.recv()).wait(), Ok(2));
            assert!(
                own.1
                    .recv()
                    .timeout(Duration::from_micros(10))
                    .wait()
                    .is_err()
            );
            tx.send_blocking(3).unwrap();
        }
    }
    thread_local! {
        static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
    }
    let _watchdog = watchdog();
    for first_use in [true, false] {
        for on_pool in [true, false] {
            let ((tx, rx), (_quiet_tx, quiet)) = (unbounded(), unbounded());
            let work = move || {
                if first_use {
                    // The library's own locals are older than ours.
                    assert!(
                        quiet
                            .recv()
                            .timeout(Duration::from_micros(1))
                            .wait()
                            .is_err()
                    );
                }
                LAST.set(Some(Last(Some((tx, quiet)))));
            };
            if on_pool {
                let rt = pool(1);
                rt.block_on(rt.spawn_blocking(work)).unwrap();
                drop(rt);
            } else {
                std::thread::spawn(work).join().unwrap();
            }
            assert_eq!((rx.recv_blocking(), rx.recv_blocking()), (Ok(1), Ok(3)));
            assert_eq!(rx.recv_blocking(), Err(RecvError));
        }
    }
}

/// `never.rs: smoke`, `optional`, `tick_n`: a branch that never happens stands for one that is not
/// there.
#[test]
fn a_branch_that_is_not_there_never_happens() {
    on_all(|| async {
        let (tx, rx) = unbounded();
        tx.send(1).await.unwrap();
        for there in [true, false] {
            let maybe = if there {
                rx.recv().map(Result::ok).boxed()
            } else {
                never().boxed()
            };
            let soon = tidings::after(Duration::from_micros(100)).map(|()| None);
            assert_eq!(maybe.or(soon).biased().await, there.then_some(1));
        }
        assert!(never::<()>().try_now().is_err());
        assert!(
            never::<()>()
                .timeout(Duration::from_micros(10))
                .await
                .is_err()
        );
        assert!(never::<()>().timeout(Duration::ZERO).await.is_err());
    });
}

/// `disconnect_wakes_receiver`, `disconnect_wakes_sender`, `send_after_disconnect`,
/// `recv_after_disconnect`: by the last drop and by a close, from another task.
#[test]
fn an_end_from_another_task_wakes_who_waits() {
    on_all(|| async {
        for by_drop in [true, false] {
            let (tx, rx) = channel::<u8>();
            let waits = tidings::spawn(async move { rx.recv().await });
            turns(2).await;
            if by_drop {
                drop(tx);
            } else {
                tx.close();
                assert_eq!(tx.try_send(1), Err(TrySendError::Closed(1)));
            }
            assert_eq!(waits.await.unwrap(), Err(RecvError));
            let (tx, rx) = channel();
            let waits = tidings::spawn(async move { tx.send(5).await.unwrap_err().0 });
            turns(2).await;
            if by_drop {
                drop(rx);
            } else {
                rx.close();
                assert!(poll(pinned(rx.recv()).as_mut()).is_ready());
            }
            assert_eq!(waits.await.unwrap(), 5);
        }
    });
}
