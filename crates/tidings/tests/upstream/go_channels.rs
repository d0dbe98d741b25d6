//! Go: `src/runtime/chan_test.go`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use crate::both::{on_all, on_pools};
use crate::hands::{pinned, poll};
use crate::turns;
use tidings::{Event, RecvError, TryRecvError, TrySendError, bounded, channel, choose, yield_now};

/// A channel of this capacity, 0 included.
fn make<T>(capacity: usize) -> (tidings::Sender<T>, tidings::Receiver<T>) {
    if capacity == 0 {
        channel()
    } else {
        bounded(capacity)
    }
}

/// `TestChan`, first part: an empty channel makes receivers wait, a full one senders, and neither
/// the direct form nor a choice with a default gets through.
#[test]
fn an_empty_channel_and_a_full_one_make_wait() {
    on_all(|| async {
        for capacity in [0, 1, 2, 5] {
            let (tx, rx) = make(capacity);
            let mut recv = pinned(rx.recv());
            let mut select = pinned(choose([rx.recv()]));
            assert!(poll(recv.as_mut()).is_pending() && poll(select.as_mut()).is_pending());
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
            assert!(rx.recv().try_now().is_err());
            drop((recv, select));
            for n in 0..capacity {
                tx.send(n).await.unwrap();
            }
            let mut send = pinned(tx.send(capacity));
            assert!(poll(send.as_mut()).is_pending());
            assert_eq!(tx.try_send(9), Err(TrySendError::Full(9)));
            assert_eq!(tx.send(9).try_now(), Err(9));
            for n in 0..=capacity {
                assert_eq!(rx.recv().await, Ok(n));
            }
            assert!(poll(send.as_mut()).is_ready());
        }
    });
}

/// `TestChan`, second part: what was sent before the close is received after it, then the end, for
/// ever, in every form.
#[test]
fn a_closed_channel_gives_what_it_has_and_then_its_end_for_ever() {
    on_all(|| async {
        for capacity in [1, 3, 10] {
            let (tx, rx) = bounded(capacity);
            for n in 0..capacity {
                tx.send(n).await.unwrap();
            }
            tx.close();
            for n in 0..capacity {
                assert_eq!(rx.recv().await, Ok(n));
            }
            for _ in 0..3 {
                assert_eq!(rx.recv().await, Err(RecvError));
                assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
                assert_eq!(choose([rx.recv(), rx.recv()]).await, Err(RecvError));
            }
        }
    });
}

/// `TestChan`, last part: as many senders as receivers, of every capacity, exchange everything.
#[test]
fn senders_and_receivers_of_every_capacity_exchange_everything() {
    on_all(|| async {
        for capacity in [0, 1, 4] {
            let (tx, rx) = make(capacity);
            let mut tasks = Vec::new();
            for _ in 0..4u32 {
                let (tx, rx) = (tx.clone(), rx.clone());
                drop(tidings::spawn(async move {
                    for n in 1..=50u32 {
                        tx.send(n).await.unwrap();
                    }
                }));
                tasks.push(tidings::spawn(async move {
                    let mut sum = 0;
                    for _ in 1..=50 {
                        sum += rx.recv().await.unwrap();
                    }
                    sum
                }));
            }
            let mut sum = 0;
            for task in tasks {
                sum += task.await.unwrap();
            }
            assert_eq!(sum, 4 * 51 * 25);
        }
    });
}

/// `TestNonblockRecvRace`: a channel that has a value, or is closed, is never found empty.
#[test]
fn a_try_recv_beside_a_close_finds_the_value_or_the_end() {
    on_pools(|| async {
        for _ in 0..500 {
            let (tx, rx) = bounded(1);
            tx.try_send(1).unwrap();
            let other = rx.clone();
            let task = tidings::spawn(async move { other.try_recv() });
            tx.close();
            let mine = rx.try_recv();
            let theirs = task.await.unwrap();
            assert!(mine != Err(TryRecvError::Empty) && theirs != Err(TryRecvError::Empty));
            assert_eq!(usize::from(mine.is_ok()) + usize::from(theirs.is_ok()), 1);
        }
    });
}

/// `TestNonblockSelectRace`, `TestNonblockSelectRace2`: of two channels, the second gets ready
/// before the first is emptied. A choice that looks at both must not see neither.
#[test]
fn a_choice_that_tries_sees_one_instant_of_all_its_channels() {
    on_pools(|| async {
        for round in 0..500 {
            let ((a, ar), (b, br)) = (bounded(1), bounded(1));
            a.try_send(1).unwrap();
            let (ar2, br2) = (ar.clone(), br.clone());
            let task =
                tidings::spawn(async move { choose([ar2.recv(), br2.recv()]).try_now().is_ok() });
            if round % 2 == 0 {
                b.try_send(1).unwrap();
            } else {
                b.close();
            }
            drop(ar.try_recv());
            assert!(
                task.await.unwrap(),
                "one of them was ready at every instant"
            );
        }
    });
}

/// `TestSelfSelect`: a send and a receive of one channel in one choice meet others, not each other.
#[test]
fn a_choice_that_sends_and_receives_on_one_channel_never_receives_its_own() {
    on_all(|| async {
        for capacity in [0, 10] {
            let (tx, rx) = make(capacity);
            let tasks: Vec<_> = (0..2)
                .map(|side| {
                    let (tx, rx) = (tx.clone(), rx.clone());
                    tidings::spawn(async move {
                        for n in 0..200 {
                            let send = tx.send(side).map(|_| None);
                            let recv = rx.recv().map(|got| Some(got.unwrap()));
                            let got = if side == 0 || n % 2 == 0 {
                                send.or(recv).await
                            } else {
                                recv.or(send).await
                            };
                            assert!(capacity > 0 || got != Some(side), "its own");
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        }
    });
}

/// `TestSelectStress`: four channels, two of them with a buffer, each with a sender and a receiver
/// of its own, and one choice on either side over all four.
#[test]
fn plain_waits_and_choices_share_four_channels() {
    on_all(|| async {
        const EACH: usize = 50;
        let ends: Arc<Vec<_>> = Arc::new([0, 0, 2, 3].map(make::<usize>).into());
        let mut senders = Vec::new();
        let mut receivers = Vec::new();
        for nth in 0..4 {
            let ends2 = Arc::clone(&ends);
            senders.push(tidings::spawn(async move {
                for n in 0..EACH {
                    ends2[nth].0.send(n).await.unwrap();
                }
            }));
            let ends2 = Arc::clone(&ends);
            receivers.push(tidings::spawn(async move {
                for _ in 0..EACH {
                    ends2[nth].1.recv().await.unwrap();
                }
            }));
        }
        // A choice takes exactly as many from each channel as the other choice sends there.
        let ends2 = Arc::clone(&ends);
        senders.push(tidings::spawn(async move {
            let mut left = [EACH; 4];
            while left.iter().any(|&n| n > 0) {
                let open = (0..4).filter(|&nth| left[nth] > 0);
                let nth = choose(open.map(|nth| ends2[nth].0.send(1).map(move |_| nth))).await;
                left[nth] -= 1;
            }
        }));
        let ends2 = Arc::clone(&ends);
        receivers.push(tidings::spawn(async move {
            let mut left = [EACH; 4];
            while left.iter().any(|&n| n > 0) {
                let open = (0..4).filter(|&nth| left[nth] > 0);
                let recv = |nth: usize| ends2[nth].1.recv().map(move |got| got.map(|_| nth));
                left[choose(open.map(recv)).await.unwrap()] -= 1;
            }
        }));
        for task in senders.into_iter().chain(receivers) {
            task.await.unwrap();
        }
        assert!(ends.iter().all(|(tx, _)| tx.is_empty()));
    });
}

/// `TestChanSendInterface`: values behind a trait, by direct send, by a choice with a default, and
/// by a choice of sends.
#[test]
fn values_behind_a_trait_go_through_every_form_of_send() {
    on_all(|| async {
        type Any = Box<dyn std::fmt::Display + Send>;
        let (tx, rx) = bounded::<Any>(3);
        tx.send(Box::new(1)).await.unwrap();
        assert!(tx.send(Box::new("two")).try_now().is_ok());
        let sends: [Any; 2] = [Box::new(3.5), Box::new('x')];
        choose(sends.map(|value| tx.send(value))).await.unwrap();
        assert!(tx.try_send(Box::new(4)).is_err());
        let mut text = Vec::new();
        while let Ok(value) = rx.try_recv() {
            text.push(value.to_string());
        }
        assert!(
            text == ["1", "two", "3.5"] || text == ["1", "two", "x"],
            "{text:?}"
        );
    });
}

/// `TestPseudoRandomSend`: two sends of one choice into one channel are taken alike where there is
/// a place. (Of those that wait, the first written is served, as they stand in the queue.)
#[test]
fn two_sends_into_one_channel_are_taken_alike() {
    on_all(|| async {
        for capacity in [400, 1_000] {
            let (tx, rx) = make(capacity);
            let sender = tidings::spawn(async move {
                for _ in 0..400 {
                    choose([tx.send(0), tx.send(1)]).await.unwrap();
                }
            });
            let mut ones = 0;
            while let Ok(n) = rx.recv().await {
                ones += n;
            }
            sender.await.unwrap();
            assert!((100..=300).contains(&ones), "{ones} of 400");
        }
    });
}

/// `TestMultiConsumer`: work handed out to many, whose results are gathered in one channel.
#[test]
fn work_handed_to_many_comes_back_once_each() {
    on_all(|| async {
        let primes = [2usize, 3, 7, 11, 13, 17, 19, 23, 27, 31];
        let ((jobs, queue), (results, gathered)) = (bounded(10), bounded(10));
        for nth in 0..10 {
            let (queue, results) = (queue.clone(), results.clone());
            drop(tidings::spawn(async move {
                while let Ok(n) = queue.recv().await {
                    if primes[nth % primes.len()] == n {
                        yield_now().await;
                    }
                    results.send(n).await.unwrap();
                }
            }));
        }
        drop((queue, results));
        let feeder = tidings::spawn(async move {
            let mut sum = 0;
            for nth in 0..300 {
                sum += primes[nth % 10];
                jobs.send(primes[nth % 10]).await.unwrap();
            }
            sum
        });
        let (mut sum, mut count) = (0, 0);
        while let Ok(n) = gathered.recv().await {
            sum += n;
            count += 1;
        }
        assert_eq!((sum, count), (feeder.await.unwrap(), 300));
    });
}

/// `TestSelectDuplicateChannel`: a choice that names one channel twice leaves the other waiters of
/// that channel in their places when it goes.
#[test]
fn a_choice_with_a_channel_twice_leaves_other_waiters_in_place() {
    on_all(|| async {
        let ((c, cr), (d, dr), (e, er)) = (channel(), channel(), channel());
        let twice = [cr.clone(), cr.clone(), dr];
        let done = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&done);
        let first = tidings::spawn(async move {
            let got = choose(twice.iter().map(tidings::Receiver::recv)).await;
            e.send(got.unwrap()).await.unwrap();
        });
        turns(4).await;
        let second = tidings::spawn(async move {
            assert_eq!(cr.recv().await, Ok(2));
            flag.store(true, Ordering::SeqCst);
        });
        turns(4).await;
        d.send(1).await.unwrap();
        assert_eq!(er.recv().await, Ok(1));
        c.send(2).await.unwrap();
        first.await.unwrap();
        second.await.unwrap();
        assert!(done.load(Ordering::SeqCst));
    });
}

/// `TestSelectFairness`: a choice served by two that always send takes from both, also while a
/// third branch never happens.
#[test]
fn two_that_always_send_are_served_alike() {
    on_all(|| async {
        let ((a, ar), (b, br)) = (bounded(2), bounded(2));
        let (_silent, quiet) = channel::<u8>();
        let feed = |tx: tidings::Sender<u8>, n| {
            tidings::spawn(async move { while tx.send(n).await.is_ok() {} })
        };
        let feeders = [feed(a, 0), feed(b, 1)];
        while ar.len() + br.len() < 4 {
            yield_now().await;
        }
        let mut ones = 0u32;
        for _ in 0..400 {
            // Both are filled again before the next choice.
            while ar.is_empty() || br.is_empty() {
                yield_now().await;
            }
            ones += u32::from(choose([ar.recv(), br.recv(), quiet.recv()]).await.unwrap());
        }
        assert!((100..=300).contains(&ones), "{ones} of 400");
        drop((ar, br));
        for feeder in feeders {
            feeder.await.unwrap();
        }
    });
}

/// A receiver asleep on an empty channel gets the value of the sender that comes, not of the queue
/// of another (the hand-over that `TestChan` counts on).
#[test]
fn a_sleeping_receiver_is_handed_the_value_itself() {
    on_all(|| async {
        for capacity in [0, 1, 3] {
            let (tx, rx) = make(capacity);
            let mut wait = pinned(rx.recv());
            assert!(poll(wait.as_mut()).is_pending());
            assert_eq!(tx.try_send(5), Ok(()));
            assert_eq!((tx.len(), rx.try_recv()), (0, Err(TryRecvError::Empty)));
            assert_eq!(poll(wait.as_mut()), Poll::Ready(Ok(5)));
        }
    });
}
