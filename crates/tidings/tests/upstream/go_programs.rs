//! Go: the programs of `test/chan`, `test/ken`, `test/chancap.go` and `test/closedchan.go`.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::both::on_all;
use crate::hands::{pinned, poll};
use crate::{kinds, turns};
use tidings::{
    Event, Receiver, RecvError, TryRecvError, TrySendError, bounded, channel, choose, never,
    select, unbounded, yield_now,
};

/// `chan/doubleselect.go`: a choice of four sends never sends one value on two channels.
#[test]
fn a_choice_of_four_sends_sends_each_value_once() {
    on_all(|| async {
        let ends: Vec<_> = (0..4).map(|_| channel()).collect();
        let (out, seen) = channel();
        for (_, rx) in &ends {
            let (rx, out) = (rx.clone(), out.clone());
            drop(tidings::spawn(async move {
                while let Ok(n) = rx.recv().await {
                    out.send(n).await.unwrap();
                }
            }));
        }
        drop(out);
        let sender = tidings::spawn(async move {
            for n in 0..300 {
                choose(ends.iter().map(|ends| ends.0.send(n)))
                    .await
                    .unwrap();
            }
        });
        let mut all = HashSet::new();
        while let Ok(n) = seen.recv().await {
            assert!(all.insert(n), "{n} came twice");
        }
        assert_eq!(all.len(), 300);
        sender.await.unwrap();
    });
}

/// `chan/fifo.go`: a chain of tasks in which each waits for the one before it, over rendezvous
/// channels, comes to its end in order.
#[test]
fn a_chain_of_tasks_hands_its_turn_on_in_order() {
    on_all(|| async {
        let (values, all) = channel();
        let (first, mut turn) = channel::<()>();
        for n in 0..20 {
            let (next, next_turn) = channel();
            let (values, mine) = (values.clone(), std::mem::replace(&mut turn, next_turn));
            drop(tidings::spawn(async move {
                mine.recv().await.unwrap();
                values.send(n).await.unwrap();
                next.send(()).await.unwrap();
            }));
        }
        let starter = tidings::spawn(async move { first.send(()).await });
        for n in 0..20 {
            assert_eq!(all.recv().await, Ok(n));
        }
        turn.recv().await.unwrap();
        starter.await.unwrap().unwrap();
    });
}

/// `chan/goroutines.go`: a value goes through a chain of very many tasks.
#[test]
fn a_value_goes_through_a_chain_of_a_thousand_tasks() {
    on_all(|| async {
        let (leftmost, mut left) = channel();
        for _ in 0..1_000 {
            let (tx, rx) = channel();
            let from = std::mem::replace(&mut left, rx);
            drop(tidings::spawn(async move {
                tx.send(from.recv().await.unwrap() + 1).await.unwrap();
            }));
        }
        let start = tidings::spawn(async move { leftmost.send(0).await });
        assert_eq!(left.recv().await, Ok(1_000));
        start.await.unwrap().unwrap();
    });
}

async fn nonblock<T: Clone + PartialEq + std::fmt::Debug + Send + 'static>(value: T) {
    // Nobody is there.
    let (tx, rx) = channel();
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(
        tx.try_send(value.clone()),
        Err(TrySendError::Full(value.clone()))
    );
    // A receiver waits.
    let mut recv = pinned(rx.recv());
    assert!(poll(recv.as_mut()).is_pending());
    assert_eq!(tx.try_send(value.clone()), Ok(()));
    assert_eq!(
        tx.try_send(value.clone()),
        Err(TrySendError::Full(value.clone()))
    );
    assert_eq!(recv.await, Ok(value.clone()));
    // A sender waits.
    let mut send = pinned(tx.send(value.clone()));
    assert!(poll(send.as_mut()).is_pending());
    assert_eq!(rx.try_recv(), Ok(value.clone()));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    send.await.unwrap();
    // A place.
    let (tx, rx) = bounded(1);
    assert_eq!(tx.try_send(value.clone()), Ok(()));
    assert_eq!(
        tx.try_send(value.clone()),
        Err(TrySendError::Full(value.clone()))
    );
    assert_eq!(rx.try_recv(), Ok(value));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
}

/// `chan/nonblock.go`: the forms that do not wait, for values of several types.
#[test]
fn the_forms_that_do_not_wait_meet_only_who_waits() {
    on_all(|| async {
        nonblock(123i32).await;
        nonblock(1i64 << 40).await;
        nonblock(true).await;
        nonblock("hello".to_owned()).await;
        nonblock(()).await;
    });
}

/// `chan/select.go`: branches are switched off one by one (Go's nil channel is our `never`), until
/// none is left and the default happens.
#[test]
fn a_branch_that_is_switched_off_is_not_taken() {
    on_all(|| async {
        let ((a, ar), (b, br)) = (bounded(1), bounded(1));
        let (mut open, mut shift) = ([true; 2], 0);
        loop {
            let to_a = if open[0] {
                a.send(1 << shift).map(|_| 0).boxed()
            } else {
                never().boxed()
            };
            let to_b = if open[1] {
                b.send(1 << shift).map(|_| 1).boxed()
            } else {
                never().boxed()
            };
            let Ok(nth) = to_a.or(to_b).try_now() else {
                break;
            };
            open[nth] = false;
            shift += 1;
        }
        assert_eq!(shift, 2);
        assert_eq!(ar.recv().await.unwrap() | br.recv().await.unwrap(), 3);
    });
}

/// `chan/select3.go`: which operations wait, which do not, and which fail.
#[test]
fn which_choices_wait_and_which_happen_at_once() {
    on_all(|| async {
        fn waits<E: Event>(event: E) {
            assert!(poll(pinned(event).as_mut()).is_pending());
        }
        let (tx, rx) = channel::<u8>();
        let (full, _keep) = bounded(1);
        full.try_send(7).unwrap();
        let (free, _keep2) = bounded::<u8>(1);
        let (_tx2, closed) = channel::<u8>();
        closed.close();
        // Nil, empty, and not ready.
        waits(never::<()>());
        waits(choose(Vec::<tidings::event::Never<()>>::new()));
        waits(choose([never::<()>(), never()]));
        waits(rx.recv());
        waits(tx.send(1));
        waits(full.send(1));
        waits(rx.recv().or(never()));
        waits(tx.send(1).map(drop).or(full.send(2).map(drop)));
        // The same with a default.
        assert!(rx.recv().try_now().is_err() && tx.send(1).try_now().is_err());
        assert!(never::<()>().try_now().is_err());
        // Ready: a place, a value, an end.
        assert_eq!(free.send(7).try_now(), Ok(Ok(())));
        assert_eq!(closed.recv().or(rx.recv()).await, Err(RecvError));
        assert!(closed.recv().or(never()).await.is_err());
        closed.close();
        assert_eq!(closed.recv().await, Err(RecvError));
        let (gone, _) = channel();
        assert!(gone.send(1).await.is_err());
        assert!(gone.send(1).map(drop).or(never()).try_now().is_ok());
    });
}

/// `chan/select5.go`: the expressions of a choice are evaluated once each, in the order written,
/// whichever branch happens.
#[test]
fn the_expressions_of_a_choice_are_evaluated_once_in_order() {
    on_all(|| async {
        let log = std::sync::Mutex::new(Vec::new());
        let note = |n: u32| {
            log.lock().unwrap().push(n);
            n
        };
        let ((a, ar), (b, _br)) = (unbounded(), channel());
        let receiver = |n: u32| {
            note(n);
            &ar
        };
        for _ in 0..10 {
            a.try_send(0).unwrap();
            log.lock().unwrap().clear();
            select! {
                sent = b.send(note(1)) => sent.unwrap(),
                got = receiver(2).recv() => assert_eq!(got, Ok(0)),
                () = tidings::at(tidings::time::Instant::now() + std::time::Duration::from_secs(note(3).into())) => {}
            }
            assert_eq!(*log.lock().unwrap(), [1, 2, 3]);
        }
    });
}

/// `chan/select6.go`: a choice that is last in a queue loses there; those who queue behind it
/// afterwards are served.
#[test]
fn a_loser_at_the_end_of_a_queue_does_not_cut_off_those_behind() {
    on_all(|| async {
        let ((c1, r1), (c2, r2), (c3, r3)) = (channel(), channel(), channel());
        let front = r1.clone();
        let first = tidings::spawn(async move { front.recv().await });
        turns(3).await;
        let second = tidings::spawn(async move {
            let won = r1.recv().map(|_| 1).or(r2.recv().map(|_| 2)).await;
            assert_eq!(won, 2);
            c3.send(()).await.unwrap();
            r1.recv().await
        });
        turns(3).await;
        c2.send(()).await.unwrap();
        r3.recv().await.unwrap();
        c1.send(()).await.unwrap();
        c1.send(()).await.unwrap();
        assert_eq!(
            (first.await.unwrap(), second.await.unwrap()),
            (Ok(()), Ok(()))
        );
    });
}

/// `chan/select7.go`: every way to receive, value thrown away, meets every way to send.
#[test]
fn every_way_to_receive_meets_every_way_to_send() {
    on_all(|| async {
        for recv_way in 0..3 {
            for send_way in 0..3 {
                let (tx, rx) = channel();
                let (_quiet_tx, quiet) = channel::<u8>();
                let (deaf, _deaf_rx) = channel();
                let receiver = tidings::spawn(async move {
                    match recv_way {
                        0 => drop(rx.recv().await),
                        1 => drop(choose([rx.recv()]).await),
                        _ => drop(rx.recv().or(quiet.recv()).await),
                    }
                });
                yield_now().await;
                match send_way {
                    0 => tx.send(1).await.unwrap(),
                    1 => choose([tx.send(1)]).await.unwrap(),
                    _ => tx.send(1).or(deaf.send(1)).await.unwrap(),
                }
                receiver.await.unwrap();
            }
        }
    });
}

/// `chan/sieve1.go`, `chan/sieve2.go`; MLton's `lib/cml/tests/primes.sml`: the prime sieve, a task
/// and a rendezvous channel for every prime.
#[test]
fn a_sieve_of_tasks_finds_the_primes() {
    on_all(|| async {
        let (tx, mut rx) = channel();
        drop(tidings::spawn(async move {
            for n in 2.. {
                if tx.send(n).await.is_err() {
                    break;
                }
            }
        }));
        let mut primes = Vec::new();
        for _ in 0..20 {
            let prime = rx.recv().await.unwrap();
            primes.push(prime);
            let (tx, next) = channel();
            let from = std::mem::replace(&mut rx, next);
            drop(tidings::spawn(async move {
                while let Ok(n) = from.recv().await {
                    if n % prime != 0 && tx.send(n).await.is_err() {
                        break;
                    }
                }
            }));
        }
        assert_eq!(primes[..8], [2, 3, 5, 7, 11, 13, 17, 19]);
        assert_eq!(primes[19], 71);
    });
}

/// The first coefficients of a product of power series, each series a task that sends its
/// coefficients on demand.
fn product(f: Receiver<i64>, g: Receiver<i64>) -> Receiver<i64> {
    let (out, result) = channel();
    drop(tidings::spawn(async move {
        let (mut fs, mut gs) = (Vec::new(), Vec::new());
        while let (Ok(a), Ok(b)) = (f.recv().await, g.recv().await) {
            fs.push(a);
            gs.push(b);
            let sum = fs.iter().zip(gs.iter().rev()).map(|(a, b)| a * b).sum();
            if out.send(sum).await.is_err() {
                break;
            }
        }
    }));
    result
}

/// `chan/powser1.go`, `chan/powser2.go`: series as tasks, combined without end and left when
/// enough was seen.
#[test]
fn power_series_are_multiplied_by_tasks() {
    on_all(|| async {
        let ones = || {
            let (tx, rx) = channel();
            drop(tidings::spawn(async move {
                while tx.send(1i64).await.is_ok() {}
            }));
            rx
        };
        // 1/(1-x) cubed has the triangular numbers.
        let cube = product(product(ones(), ones()), ones());
        let mut got = Vec::new();
        for _ in 0..6 {
            got.push(cube.recv().await.unwrap());
        }
        assert_eq!(got, [1, 3, 6, 10, 15, 21]);
    });
}

/// `chan/zerosize.go`: values without a size are counted like any other.
#[test]
fn values_without_a_size_are_counted_and_dropped() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Nothing;
    impl Drop for Nothing {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::SeqCst);
        }
    }
    let (tx, rx) = bounded(3);
    for _ in 0..3 {
        assert!(tx.try_send(Nothing).is_ok());
    }
    assert!(tx.try_send(Nothing).is_err());
    assert_eq!((rx.len(), DROPPED.load(Ordering::SeqCst)), (3, 1));
    drop(rx.try_recv().ok());
    drop((tx, rx));
    assert_eq!(DROPPED.load(Ordering::SeqCst), 4);
    let (tx, rx) = unbounded();
    (0..1_000).for_each(|_| tx.try_send([0u64; 0]).unwrap());
    assert_eq!((rx.len(), rx.try_recv()), (1_000, Ok([])));
}

/// `ken/chan.go`, `ken/chan1.go`: many senders and receivers, through every combination of plain
/// waits and choices.
#[test]
fn senders_and_receivers_mix_waits_and_choices() {
    on_all(|| async {
        for (tx, rx) in kinds::<usize>() {
            let tasks: Vec<_> = (0..8)
                .map(|nth| {
                    let (tx, rx) = (tx.clone(), rx.clone());
                    tidings::spawn(async move {
                        let mut sum = 0;
                        for n in 0..20 {
                            match nth {
                                0 | 1 => tx.send(n).await.unwrap(),
                                2 | 3 => choose([tx.send(n), tx.send(n)]).await.unwrap(),
                                4 | 5 => sum += rx.recv().await.unwrap(),
                                _ => sum += choose([rx.recv(), rx.recv()]).await.unwrap(),
                            }
                        }
                        sum
                    })
                })
                .collect();
            let mut sum = 0;
            for task in tasks {
                sum += task.await.unwrap();
            }
            assert_eq!(sum, 4 * 190);
        }
    });
}

/// `chancap.go`: the capacity is what was asked for; a bound that is none is refused.
#[test]
fn the_capacity_is_what_was_asked_for() {
    for n in [1, 2, 10, 1_000] {
        let (tx, _rx) = bounded::<u8>(n);
        assert_eq!(tx.capacity(), Some(n));
    }
    assert_eq!(channel::<u8>().0.capacity(), Some(0));
    assert_eq!(unbounded::<u8>().0.capacity(), None);
    assert!(std::panic::catch_unwind(|| bounded::<u8>(0)).is_err());
}

type Way = fn(&Receiver<u32>) -> Pin<Box<dyn Future<Output = Option<u32>> + Send + '_>>;

/// `closedchan.go`: direct, by a choice, by a larger choice, by the forms that do not wait: on a
/// closed channel all say the same; sends fail and give the value back.
#[test]
fn a_closed_channel_looks_the_same_in_every_form() {
    on_all(|| async {
        let ways: [Way; 5] = [
            |rx| Box::pin(async { rx.recv().await.ok() }),
            |rx| Box::pin(async { choose([rx.recv()]).await.ok() }),
            |rx| Box::pin(async { rx.recv().map(Result::ok).or(never()).await }),
            |rx| Box::pin(async { rx.try_recv().ok() }),
            |rx| Box::pin(async { rx.recv().try_now().unwrap().ok() }),
        ];
        for way in ways {
            let (tx, rx) = bounded(2);
            tx.send(1).await.unwrap();
            tx.send(2).await.unwrap();
            assert!(tx.close() && !tx.close());
            for expected in [Some(1), Some(2), None, None] {
                assert_eq!(way(&rx).await, expected);
            }
            assert_eq!(tx.send(3).await.unwrap_err().0, 3);
            assert_eq!(tx.try_send(4), Err(TrySendError::Closed(4)));
            assert_eq!(choose([tx.send(5), tx.send(5)]).await.unwrap_err().0, 5);
            assert_eq!(tx.post(6), Err(TrySendError::Closed(6)));
        }
    });
}
