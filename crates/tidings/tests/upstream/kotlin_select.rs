//! Kotlin's `kotlinx-coroutines-core/{common,concurrent,jvm}/test/selects`.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use crate::both::{on_all, on_pools};
use crate::hands::{pinned, poll};
use crate::{kinds, turns};
use tidings::sync::Mutex;
use tidings::{
    Either, Event, JoinHandle, RecvError, after, always, bounded, channel, choose, select,
    unbounded, yield_now,
};

/// `Select{Rendezvous,Buffered}ChannelTest.testSelectSendSuccess*`, `testSelectSendWait*`,
/// `testSelectReceiveSuccess*`, `testSelectReceiveWait*`: with a partner there, with one to come, and
/// with a default, on either side.
#[test]
fn a_choice_with_a_partner_there_to_come_and_with_a_default() {
    on_all(|| async {
        for partner_first in [true, false] {
            for choice_sends in [true, false] {
                for (tx, rx) in kinds() {
                    let (tx2, rx2) = (tx.clone(), rx.clone());
                    let mut partner = pinned(async move {
                        if choice_sends {
                            assert_eq!(rx2.recv().await, Ok(7));
                        } else {
                            tx2.send(7).await.unwrap();
                        }
                    });
                    let mut done = partner_first && poll(partner.as_mut()).is_ready();
                    let rendezvous = tx.capacity() == Some(0);
                    let event = || {
                        let send = tx.send(7).map(|sent| sent.is_ok()).boxed();
                        let recv = rx.recv().map(|got| got == Ok(7)).boxed();
                        if choice_sends { send } else { recv }
                    };
                    let ready = partner_first || (choice_sends && !rendezvous);
                    let tried = event().map(Some).or(always(None)).biased().await;
                    assert_eq!(tried, ready.then_some(true));
                    if ready {
                        // Over, or for who is still to come.
                        while !done {
                            done = poll(partner.as_mut()).is_ready();
                            yield_now().await;
                        }
                    } else {
                        let mut wait = pinned(event().or(event()));
                        assert!(poll(wait.as_mut()).is_pending());
                        assert!(poll(partner.as_mut()).is_ready());
                        assert!(wait.await);
                    }
                    assert!(rx.is_empty());
                    turns(1).await;
                }
            }
        }
    });
}

/// `testSelectReceiveClosed`, `testSelectReceiveWaitClosed*`, `testSelectReceiveCatching*`,
/// `testSelectSendWhenClosed`: the end of a channel, before the choice and under way, sends and
/// receives beside each other.
#[test]
fn a_choice_hears_of_an_end_before_it_and_under_way() {
    on_all(|| async {
        for before in [true, false] {
            for (tx, rx) in kinds() {
                let full = tx.capacity().is_some();
                while full && tx.try_send(0).is_ok() {}
                let (empty_tx, empty) = channel::<u8>();
                let mut wait = pinned(tx.send(1).either(empty.recv()));
                if before {
                    empty_tx.close();
                } else if full {
                    assert!(poll(wait.as_mut()).is_pending());
                    empty_tx.close();
                }
                match wait.await {
                    Either::Left(sent, ()) => {
                        assert_eq!(sent, Ok(()));
                        assert!(!full);
                    }
                    Either::Right(end, unsent) => {
                        assert_eq!((end, unsent), (Err(RecvError), 1));
                    }
                }
                rx.close();
                let end = tx
                    .send(2)
                    .map(|sent| sent.is_err())
                    .or(tx.closed().map(|()| true));
                assert!(end.await);
                turns(1).await;
            }
        }
    });
}

/// `testSelect{Send,Receive}ResourceCleanup`, `SelectChannelStressTest`, `SelectMemoryLeakStressTest`:
/// ten thousand choices that go elsewhere leave nothing at the channel that stays silent.
#[test]
fn choices_that_go_elsewhere_leave_nothing() {
    on_all(|| async {
        let ((silent, quiet), (tx, rx)) = (channel::<u32>(), unbounded());
        for n in 0..1_000 {
            let mut wait = pinned(silent.send(n).map(|_| 0).or(rx.recv().map(Result::unwrap)));
            let mut other = pinned(quiet.recv().map(|_| 0).or(rx.recv().map(Result::unwrap)));
            if n % 2 == 0 {
                assert!(poll(wait.as_mut()).is_pending());
                tx.try_send(7).unwrap();
                assert_eq!(wait.await, 7);
            } else {
                drop(wait);
                assert!(poll(other.as_mut()).is_pending());
                tx.try_send(7).unwrap();
                assert_eq!(other.await, 7);
            }
        }
        let text = format!("{quiet:?}");
        assert!(text.contains("senders_waiting: 0"), "{text}");
        assert!(text.contains("receivers_waiting: 0"), "{text}");
        assert!(quiet.recv().try_now().is_err());
    });
}

/// `SelectRendezvousChannelTest.testSelectAtomicFailure`: an arm that fails has done its
/// communication.
#[test]
fn an_arm_that_fails_has_done_its_communication() {
    on_all(|| async {
        let (tx, rx) = channel();
        let receiver = tidings::spawn(async move { rx.recv().await });
        turns(3).await;
        let fails = tidings::spawn(async move {
            select! {
                sent = tx.send(7) => {
                    sent.unwrap();
                    resume_unwind(Box::new("quiet"));
                }
                () = after(Duration::from_secs(3_600)) => {}
            }
        });
        assert!(fails.await.unwrap_err().is_panic());
        assert_eq!(receiver.await.unwrap(), Ok(7));
    });
}

/// `testSelectWaitDispatch`, `testSelectReceiveDispatchNonSuspending*`: an arm that waits again does
/// so after its communication, beside the others.
#[test]
fn an_arm_that_waits_lets_its_partner_go_on() {
    on_all(|| async {
        let ((tx, rx), (out, order)) = (channel(), unbounded());
        let log = out.clone();
        let partner = tidings::spawn(async move {
            tx.send(1).await.unwrap();
            log.try_send("partner").unwrap();
        });
        select! {
            got = rx.recv() => {
                assert_eq!(got, Ok(1));
                partner.await.unwrap();
                out.try_send("arm").unwrap();
            }
            () = after(Duration::from_secs(3_600)) => {}
        }
        assert_eq!(
            (order.try_recv(), order.try_recv()),
            (Ok("partner"), Ok("arm"))
        );
    });
}

/// `testSelectSendAndReceive`, `testSelectReceiveAndSend`: a send and a receive on one rendezvous
/// channel in one choice, either way round, do not meet, but meet another.
#[test]
fn a_send_and_a_receive_in_one_choice_meet_another() {
    on_all(|| async {
        for receive_first in [true, false] {
            let (tx, rx) = channel();
            let send = || tx.send(1).map(|_| None).boxed();
            let recv = || rx.recv().map(Result::ok).boxed();
            let events = || {
                if receive_first {
                    [recv(), send()]
                } else {
                    [send(), recv()]
                }
            };
            assert!(choose(events()).biased().try_now().is_err());
            let mut wait = pinned(choose(events()).biased());
            assert!(poll(wait.as_mut()).is_pending());
            assert_eq!(rx.try_recv(), Ok(1));
            assert_eq!(wait.await, None);
            let mut wait = pinned(choose(events()));
            assert!(poll(wait.as_mut()).is_pending());
            assert_eq!(tx.try_send(2), Ok(()));
            assert_eq!(wait.await, Some(2));
        }
    });
}

/// `SelectDeferredTest`, `SelectJobTest`, `SelectOldTest`: the ends of tasks in a choice: which has
/// ended, at once, later, by a panic, by an abort; the loser goes on.
#[test]
fn the_first_task_to_end_is_taken_and_the_other_goes_on() {
    on_all(|| async {
        let (go, gone) = channel::<()>();
        let mut slow = tidings::spawn(async move {
            gone.recv()
                .await
                .map_or("never".to_owned(), |()| "slow".to_owned())
        });
        let ends: [fn() -> JoinHandle<String>; 4] = [
            || tidings::spawn(async { "at once".to_owned() }),
            || {
                tidings::spawn(async {
                    turns(3).await;
                    "later".to_owned()
                })
            },
            || tidings::spawn(async { resume_unwind(Box::new("panic".to_owned())) }),
            || {
                let task = tidings::spawn(std::future::pending());
                task.abort();
                task
            },
        ];
        let mut seen = Vec::new();
        for make in ends {
            let mut fast = make();
            select! {
                _ = slow.join() => unreachable!("it waits"),
                end = fast.join() => seen.push(match end {
                    Ok(text) => text,
                    Err(error) if error.is_cancelled() => "cancelled".to_owned(),
                    Err(error) => error.panic_message().unwrap().to_owned(),
                }),
            }
        }
        assert_eq!(seen, ["at once", "later", "panic", "cancelled"]);
        assert!(!slow.is_finished());
        go.send(()).await.unwrap();
        assert_eq!(slow.join().or(slow_never()).await.unwrap(), "slow");
    });
    fn slow_never() -> tidings::event::Never<Result<String, tidings::JoinError>> {
        tidings::never()
    }
}

/// `SelectMutexTest.testSelectLock`, `testSelectLockWait`, `SelectMutexStressTest`: the lock in a
/// choice; ten thousand that go elsewhere leave it free.
#[test]
fn a_lock_in_a_choice_is_taken_or_left() {
    on_all(|| async {
        let mutex = Arc::new(Mutex::new(0));
        let (tx, rx) = unbounded::<()>();
        let Either::Left(got, ()) = mutex.lock().either(rx.recv()).await else {
            unreachable!("nothing is sent")
        };
        for _ in 0..500 {
            tx.send(()).await.unwrap();
            let lost = mutex.lock().either(rx.recv()).await;
            assert!(matches!(lost, Either::Right(Ok(()), ())), "it is held");
        }
        let other = Arc::clone(&mutex);
        let waits = tidings::spawn(async move {
            select! { mut held = other.lock() => *held += 1, }
        });
        turns(3).await;
        assert!(!waits.is_finished());
        drop(got);
        waits.await.unwrap();
        assert_eq!(*mutex.try_lock().expect("nobody has it"), 1);
    });
}

/// `SelectTimeoutTest`, `SelectTimeoutDurationTest`: the shortest of several timeouts, one of
/// nothing, and one beside what can happen.
#[test]
fn the_shortest_timeout_of_a_choice_fires() {
    on_all(|| async {
        let late = |millis, n| after(Duration::from_millis(millis)).map(move |()| n);
        assert_eq!(
            choose([late(3_600_000, 1), late(1, 2), late(1_000_000, 3)]).await,
            2
        );
        let (_tx, rx) = channel::<u8>();
        select! {
            biased;
            _ = rx.recv() => unreachable!(),
            () = after(Duration::ZERO) => {}
        }
        assert_eq!(late(0, 4).or(late(3_600_000, 5)).await, 4);
    });
}

/// `SelectLoopTest.testChannelSelectLoop`: a loop of choices over a task and its messages ends when
/// the task fails.
#[test]
fn a_loop_of_choices_ends_with_the_task() {
    on_all(|| async {
        let (tx, rx) = channel();
        let mut task = tidings::spawn(async move {
            for n in 0..5 {
                tx.send(n).await.unwrap();
            }
            resume_unwind(Box::new("quiet"))
        });
        let (mut got, mut open) = (0, true);
        let error = loop {
            let recv = if open {
                rx.recv().boxed()
            } else {
                tidings::never().boxed()
            };
            select! {
                n = recv => match n {
                    Ok(n) => { assert_eq!(n, got); got += 1 }
                    Err(RecvError) => open = false,
                },
                end = task.join() => {
                    let end: Result<(), _> = end;
                    break end.unwrap_err();
                }
            }
        };
        assert!(error.is_panic() && got == 5);
    });
}

/// `SelectDeadlockStressTest`: two tasks, each with a choice of sending to the other and receiving
/// from it, never wait for each other for ever.
#[test]
fn opposite_choices_of_two_tasks_never_block_each_other() {
    on_all(|| async {
        let ((a, ar), (b, br)) = (channel::<u32>(), channel());
        let side = |tx: tidings::Sender<u32>, rx: tidings::Receiver<u32>| {
            tidings::spawn(async move {
                let (mut sent, mut got) = (0, 0);
                while sent < 100 || got < 100 {
                    select! {
                        done = tx.send(sent) => match done {
                            Ok(()) => sent += 1,
                            Err(_) => break,
                        },
                        n = rx.recv() => match n {
                            Ok(n) => { assert_eq!(n, got); got += 1 }
                            Err(_) => break,
                        },
                    }
                }
                (sent, got)
            })
        };
        let (left, right) = (side(a, br), side(b, ar));
        let (left, right) = (left.await.unwrap(), right.await.unwrap());
        // What one has sent the other has received.
        assert_eq!((left.0, left.1), (right.1, right.0));
        assert!(left.0 >= 100 || right.0 >= 100);
    });
}

/// `SelectPhilosophersStressTest`: philosophers who take both forks by choices, either one first,
/// and give the first back if the second is not there.
#[test]
fn philosophers_who_choose_their_forks_do_not_starve() {
    on_pools(|| async {
        const COUNT: usize = 5;
        let forks: Arc<Vec<_>> = Arc::new((0..COUNT).map(|_| Mutex::new(0)).collect());
        let tasks: Vec<_> = (0..COUNT)
            .map(|nth| {
                let forks = Arc::clone(&forks);
                tidings::spawn(async move {
                    let (left, right) = (&forks[nth], &forks[(nth + 1) % COUNT]);
                    let mut eaten = 0;
                    while eaten < 50 {
                        let (first, other) = select! {
                            fork = left.lock() => (fork, right),
                            fork = right.lock() => (fork, left),
                        };
                        if let (mut first, Some(mut second)) = (first, other.try_lock()) {
                            *first += 1;
                            *second += 1;
                            eaten += 1;
                        }
                        yield_now().await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        let used: usize = forks.iter().map(|fork| *fork.try_lock().unwrap()).sum();
        assert_eq!(used, COUNT * 50 * 2);
    });
}

/// `ChannelSelectStressTest`, `SelectBufferedChannelTest.testSelectSendReceiveBuf`: many tasks choose
/// among many channels with buffers; every value is received once.
#[test]
fn many_choose_among_many_buffered_channels() {
    on_pools(|| async {
        let ends: Arc<Vec<_>> = Arc::new((1..=3).map(bounded::<u64>).collect());
        let senders: Vec<_> = (0..4u64)
            .map(|id| {
                let ends = Arc::clone(&ends);
                tidings::spawn(async move {
                    for n in 0..100 {
                        let value = id * 100 + n;
                        choose(ends.iter().map(|end| end.0.send(value)))
                            .await
                            .unwrap();
                    }
                })
            })
            .collect();
        let receivers: Vec<_> = (0..4)
            .map(|_| {
                let ends = Arc::clone(&ends);
                tidings::spawn(async move {
                    let mut got = Vec::new();
                    while got.len() < 100 {
                        got.push(choose(ends.iter().map(|end| end.1.recv())).await.unwrap());
                    }
                    got
                })
            })
            .collect();
        for sender in senders {
            sender.await.unwrap();
        }
        let mut all = Vec::new();
        for receiver in receivers {
            all.extend(receiver.await.unwrap());
        }
        all.sort_unstable();
        assert_eq!(all, (0..400).collect::<Vec<_>>());
    });
}
