//! Choices that lost values, starved a branch, hung, or left themselves behind.

use std::pin::Pin;
use std::sync::Mutex;
use std::time::Duration;

use crate::both::on_all;
use crate::channel::{rx_waiting, tx_waiting};
use crate::hands::{pinned, poll};
use crate::letter::Ledger;
use tidings::{Event, bounded, channel, choose, select, unbounded, yield_now};

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

/// crossbeam-rs/crossbeam-channel#1, Kotlin/kotlinx.coroutines#3132, BurntSushi/chan#8: of branches
/// that are always ready the first wins, and the last are never served.
#[test]
fn crossbeam_channel_1_no_ready_branch_is_starved() {
    on_all(|| async {
        let all: Vec<_> = (0..4).map(|_| unbounded()).collect();
        for (tx, _) in &all {
            for n in 0..500 {
                tx.try_send(n).unwrap();
            }
        }
        for _ in 0..400 {
            select! {
                _ = all[0].1.recv() => {}
                _ = all[1].1.recv() => {}
                _ = all[2].1.recv() => {}
                _ = all[3].1.recv() => {}
            }
        }
        let left: Vec<_> = all.iter().map(|ends| ends.1.len()).collect();
        assert!(left.iter().all(|&n| n < 460), "each was served: {left:?}");
        assert_eq!(left.iter().sum::<usize>(), 1_600);
    });
}

/// Kotlin/kotlinx.coroutines#1054: a choice of a send that can always happen and two joins spins
/// for ever when others use the channel.
#[test]
fn kotlin_1054_a_choice_with_a_send_that_can_happen_ends() {
    on_all(|| async {
        let (tx, rx) = unbounded();
        let senders: Vec<_> = (0..4)
            .map(|_| {
                let tx = tx.clone();
                tidings::spawn(async move {
                    let mut forever = tidings::spawn(std::future::pending::<()>());
                    let mut ended = tidings::spawn(std::future::pending::<()>());
                    for n in 0..50 {
                        select! {
                            sent = tx.send(n) => sent.unwrap(),
                            _ = forever.join() => unreachable!(),
                            _ = ended.join() => unreachable!(),
                        }
                    }
                    forever.abort();
                    ended.abort();
                })
            })
            .collect();
        drop(tx);
        let mut got = 0;
        while rx.recv().await.is_ok() {
            got += 1;
        }
        assert_eq!(got, 200);
        for sender in senders {
            sender.await.unwrap();
        }
    });
}

/// rust-lang/rust#27800: std's select could not take a number of channels known at run time.
#[test]
fn rust_27800_the_number_of_branches_may_change_from_choice_to_choice() {
    on_all(|| async {
        let mut ends: Vec<_> = (0..20).map(|_| bounded(1)).collect();
        let mut got = Vec::new();
        while !ends.is_empty() {
            let (nth, last) = (ends.len() / 2, ends.len());
            ends[nth].0.try_send(last).unwrap();
            got.push(choose(ends.iter().map(|ends| ends.1.recv())).await.unwrap());
            ends.remove(nth);
        }
        assert_eq!(got, (1..=20).rev().collect::<Vec<_>>());
    });
}

/// Forgets a wait, and keeps its address where a search for leaks finds it.
#[expect(clippy::mem_forget, reason = "what a user may do")]
fn leak<F>(wait: Pin<Box<F>>) {
    static KEPT: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    KEPT.lock().unwrap().push(std::ptr::from_ref(&*wait).addr());
    std::mem::forget(wait);
}

/// crossbeam-rs/crossbeam#1295: a selected operation that is leaked (`mem::forget`) leaves the
/// channel with a pointer into memory that is gone.
#[test]
#[expect(clippy::mem_forget, reason = "what a user may do")]
fn crossbeam_1295_leaked_waits_and_permits_harm_nobody() {
    on_all(|| async {
        let mut ledger = Ledger::default();
        for kind in 0..3 {
            let (tx, rx) = [channel(), bounded(1), unbounded()]
                .into_iter()
                .nth(kind)
                .unwrap();
            let mut leaked = pinned(rx.recv());
            assert!(poll(leaked.as_mut()).is_pending());
            leak(leaked);
            // It is first in the list, and what it gets stays with it.
            assert!(tx.try_send(ledger.letter(1)).is_ok());
            let mut wait = pinned(rx.recv());
            assert!(poll(wait.as_mut()).is_pending());
            assert!(tx.try_send(ledger.letter(2)).is_ok());
            assert!(poll(wait.as_mut()).is_ready());
            drop(wait);
            std::mem::forget(tx.reserve().await.unwrap());
            let mut asleep = pinned(choose([tx.reserve(), tx.reserve()]));
            let _ = poll(asleep.as_mut());
            leak(asleep);
            drop((tx, rx));
            assert_eq!(ledger.alive(), 1, "only what was leaked is left");
            ledger = Ledger::default();
        }
    });
}

/// Kotlin/kotlinx.coroutines#504, #1411: a choice that sends and receives on one channel, and
/// choices over opposite channels, overflow the stack.
#[test]
fn kotlin_504_opposite_choices_over_the_same_channels_end() {
    on_all(|| async {
        let ((a, ar), (b, br)) = (channel(), channel());
        let mut tasks = Vec::new();
        for side in 0..4 {
            let (a, ar, b, br) = (a.clone(), ar.clone(), b.clone(), br.clone());
            tasks.push(tidings::spawn(async move {
                let mut balance = 0i64;
                for n in 0..50i64 {
                    let send = if side % 2 == 0 { a.send(n) } else { b.send(n) };
                    let recv = if side % 2 == 0 { br.recv() } else { ar.recv() };
                    balance += send.map(|_| -n).or(recv.map(Result::unwrap)).await;
                    yield_now().await;
                }
                balance
            }));
        }
        let mut balance = 0;
        for task in tasks {
            balance += task.await.unwrap();
        }
        assert_eq!(balance, 0);
        assert_eq!((tx_waiting(&ar), rx_waiting(&ar)), (0, 0));
        assert!(br.recv().timeout(Duration::ZERO).await.is_err());
    });
}
