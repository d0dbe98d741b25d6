//! crossbeam-channel's `tests/{select,select_macro,ready}.rs`.

use std::collections::HashMap;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::time::Duration;

use futures::FutureExt;

use crate::both::{on_all, on_pools};
use crate::dice::Dice;
use crate::hands::{pinned, poll};
use crate::letter::Ledger;
use crate::{kinds, turns};
use tidings::event::Boxed;
use tidings::{
    Event, Receiver, RecvError, Sender, after, always, bounded, channel, choose, never, select,
    unbounded, yield_now,
};

const SOON: Duration = Duration::from_micros(100);

/// `smoke1`, `smoke2`: the one channel that has something is found among those that have not.
#[test]
fn the_one_that_is_ready_is_found() {
    on_all(|| async {
        let ends: Vec<_> = (0..5).map(|_| unbounded()).collect();
        for nth in [4, 0, 2] {
            ends[nth].0.send(nth).await.unwrap();
            assert_eq!(choose(ends.iter().map(|ends| ends.1.recv())).await, Ok(nth));
            select! {
                _ = ends[(nth + 1) % 5].1.recv() => unreachable!("nothing there"),
                () = always(()) => {}
            }
        }
    });
}

/// `disconnected`, `default_when_disconnected`, `disconnect_wakes_{sender,receiver}`: the end of a
/// channel is something that happens, before the choice and under way.
#[test]
fn the_end_of_a_channel_happens_in_a_choice() {
    on_all(|| async {
        let ((tx, rx), (_quiet_tx, quiet)) = (unbounded::<u8>(), unbounded());
        let ender = tidings::spawn(async move {
            turns(2).await;
            drop(tx);
        });
        assert_eq!(rx.recv().or(quiet.recv()).await, Err(RecvError));
        ender.await.unwrap();
        assert_eq!(rx.recv().or(quiet.recv()).await, Err(RecvError));
        assert_eq!(rx.recv().or(quiet.recv()).try_now(), Ok(Err(RecvError)));
        let (tx, rx) = channel();
        let (deaf, _keep) = channel();
        let ender = tidings::spawn(async move {
            turns(2).await;
            drop(rx);
        });
        assert_eq!(tx.send(1).or(deaf.send(2)).await.unwrap_err().0, 1);
        ender.await.unwrap();
        assert!(tx.send(1).or(deaf.send(2)).try_now().unwrap().is_err());
    });
}

/// `default`, `default_only`, `default_syntax`, `timeout`, `unfairness_timeout`, `unfairness_try`:
/// a default happens if nothing else can, a timeout if nothing else does; both come last.
#[test]
fn a_default_and_a_timeout_come_last() {
    on_all(|| async {
        let ((tx, rx), (_quiet_tx, quiet)) = (unbounded(), unbounded());
        let default = || always(Ok(0));
        assert_eq!(
            rx.recv().or(quiet.recv()).or(default()).biased().await,
            Ok(0)
        );
        assert_eq!(default().await, Ok(0));
        assert!(rx.recv().or(quiet.recv()).timeout(SOON).await.is_err());
        for n in 1..=50 {
            tx.send(n).await.unwrap();
            let got = if n % 2 == 0 {
                rx.recv().or(quiet.recv()).or(default()).biased().await
            } else {
                rx.recv()
                    .or(quiet.recv())
                    .timeout(Duration::ZERO)
                    .await
                    .unwrap()
            };
            assert_eq!(got, Ok(n));
        }
        select! { biased; _ = rx.recv() => unreachable!(), () = always(()) => {} }
        select! { () = always(()) => {} }
    });
}

/// `unblocks`, `loop_try`: a choice that waits goes on when a partner comes, on either side, also
/// one that only tries, in a loop.
#[test]
fn a_choice_that_waits_goes_on_when_a_partner_comes() {
    on_all(|| async {
        for round in 0..20 {
            let ((a, ar), (b, br)) = (channel(), channel());
            let other = tidings::spawn(async move {
                turns(round % 3).await;
                if round % 2 == 0 {
                    b.send(2).await.unwrap();
                    return None;
                }
                loop {
                    if let Ok(got) = ar.recv().try_now() {
                        return got.ok();
                    }
                    yield_now().await;
                }
            });
            let happened = a
                .send(1)
                .map(|_| 1)
                .or(br.recv().map(|got| got.unwrap_or(0)))
                .await;
            match other.await.unwrap() {
                Some(got) => assert!((got, happened) == (1, 1) || happened == 0),
                None => assert_eq!(happened, 2),
            }
        }
    });
}

/// `both_ready`: a choice of two that are ready, against a partner that serves both, again and
/// again.
#[test]
fn two_partners_are_served_in_whatever_order() {
    on_all(|| async {
        let ((a, ar), (b, br)) = (channel(), channel());
        let other = tidings::spawn(async move {
            for _ in 0..50 {
                a.send(1).await.unwrap();
                br.recv().await.unwrap();
            }
        });
        let mut counts = [0; 2];
        for _ in 0..100 {
            select! {
                got = ar.recv() => { got.unwrap(); counts[0] += 1 },
                sent = b.send(0) => { sent.unwrap(); counts[1] += 1 },
            }
        }
        assert_eq!(counts, [50, 50]);
        other.await.unwrap();
    });
}

/// `cloning1`, `cloning2`, `send_and_clone`: handles are cloned and dropped while a choice waits on
/// their channels.
#[test]
fn clones_come_and_go_while_a_choice_waits() {
    on_all(|| async {
        let ((a, ar), (b, br), (c, cr)) = (channel::<u8>(), channel::<u8>(), unbounded());
        let other = tidings::spawn(async move {
            cr.recv().await.unwrap();
            drop(a.clone());
            turns(2).await;
            drop((a.clone(), b.clone()));
            b.send(2).await.unwrap();
            a
        });
        c.send(()).await.unwrap();
        select! {
            _ = ar.recv() => unreachable!("nothing is sent there"),
            got = br.recv() => assert_eq!(got, Ok(2)),
        }
        drop(other.await.unwrap());
        assert_eq!(ar.recv().await, Err(RecvError));
    });
}

/// `preflight1`, `preflight2`, `preflight3`: what is ready before the choice begins happens at the
/// first look.
#[test]
fn what_is_ready_before_happens_at_the_first_look() {
    on_all(|| async {
        let ((tx, rx), (_quiet_tx, quiet)) = (unbounded(), unbounded::<u8>());
        tx.send(1).await.unwrap();
        assert!(poll(pinned(rx.recv().or(quiet.recv())).as_mut()).is_ready());
        assert!(poll(pinned(tx.send(1).map(drop).or(quiet.recv().map(drop))).as_mut()).is_ready());
        drop(tx);
        assert!(poll(pinned(quiet.recv().or(rx.recv())).as_mut()).is_ready());
        assert!(poll(pinned(quiet.recv().or(rx.recv())).as_mut()).is_ready());
    });
}

/// `duplicate_operations`: the same operations several times each, until all values are through.
#[test]
fn the_same_operations_several_times_each() {
    on_all(|| async {
        for (tx, rx) in [bounded(1), unbounded()] {
            (0..tx.capacity().unwrap_or(5)).for_each(|n| tx.try_send(n).unwrap());
            let sends = (0..4).map(|_| tx.send(9).map(|_| None).boxed());
            let recvs = (0..4).map(|_| rx.recv().map(Result::ok).boxed());
            let all: Vec<Boxed<'_, Option<usize>>> = sends.chain(recvs).collect();
            let before = rx.len();
            let got = choose(all).await;
            let after = if got.is_some() {
                before - 1
            } else {
                before + 1
            };
            assert_eq!(rx.len(), after);
        }
    });
}

/// `nesting`, `parse_nesting`: a choice in the arm of a choice in the arm of a choice.
#[test]
fn arms_have_choices_of_their_own() {
    on_all(|| async {
        let (tx, rx) = unbounded();
        select! {
            sent = tx.send(0) => {
                sent.unwrap();
                select! {
                    got = rx.recv() => {
                        assert_eq!(got, Ok(0));
                        select! {
                            sent = tx.send(1) => {
                                sent.unwrap();
                                select! { got = rx.recv() => assert_eq!(got, Ok(1)) }
                            }
                        }
                    }
                }
            }
        }
        assert!(rx.is_empty());
    });
}

/// `panic_sender`, `panic_receiver`: an expression of an arm panics before the choice begins:
/// nothing has happened to the other arms.
#[test]
fn an_expression_that_panics_leaves_the_other_arms_alone() {
    fn bad<T>() -> T {
        resume_unwind(Box::new("quiet"))
    }
    on_all(|| async {
        let (tx, rx) = unbounded();
        tx.send(1).await.unwrap();
        let choice = async {
            select! {
                _ = rx.recv() => {}
                sent = bad::<&Sender<u8>>().send(2) => sent.unwrap(),
            }
        };
        assert!(AssertUnwindSafe(choice).catch_unwind().await.is_err());
        let choice = async {
            select! {
                sent = tx.send(3) => sent.unwrap(),
                _ = bad::<&Receiver<u8>>().recv() => {}
            }
        };
        assert!(AssertUnwindSafe(choice).catch_unwind().await.is_err());
        assert_eq!((rx.try_recv(), rx.len()), (Ok(1), 0));
    });
}

/// `stress_recv`, `stress_send`, `stress_mixed`: a choice faces two partners that use its channels
/// in turn, of every kind.
#[test]
fn a_choice_faces_partners_that_take_turns() {
    on_all(|| async {
        for (a, ar) in kinds() {
            let (b, br) = channel();
            let (turn, next) = channel();
            let other = tidings::spawn(async move {
                for n in 0..50 {
                    a.send(n).await.unwrap();
                    next.recv().await.unwrap();
                    assert_eq!(br.recv().await, Ok(n));
                    next.recv().await.unwrap();
                }
            });
            for n in 0..50 {
                for is_last in [false, true] {
                    select! {
                        got = ar.recv() => assert_eq!(got, Ok(n)),
                        sent = b.send(n) => sent.unwrap(),
                    }
                    // Whichever came first, the other has happened too. From the turn on there may be the next.
                    assert!(!is_last || ar.is_empty());
                    turn.send(()).await.unwrap();
                }
            }
            other.await.unwrap();
        }
    });
}

/// `stress_timeout_two_threads`, `linearizable_timeout`, `linearizable_try`: choices that time out
/// or only try, on both sides, pass every value once.
#[test]
fn choices_that_time_out_on_both_sides_pass_every_value_once() {
    on_pools(|| async {
        for (tx, rx) in kinds() {
            let other = (bounded(1), channel::<u64>());
            let sender = tidings::spawn(async move {
                let mut dice = Dice(3);
                for n in 0..100 {
                    let mut place = Some(n);
                    while place.is_some() {
                        let wait = after(Duration::from_micros(dice.below(30)));
                        let quiet = other.0.1.recv().map(|_: Result<u64, _>| ());
                        let send = tx.send_from(&mut place).map(drop);
                        send.or(quiet).or(wait).await;
                    }
                }
                drop(other);
            });
            let (mut dice, mut next) = (Dice(4), 0);
            while next < 100 {
                let wait = after(Duration::from_micros(dice.below(30))).map(|()| None);
                if let Some(n) = rx.recv().map(Result::ok).or(wait).await {
                    assert_eq!(n, next);
                    next += 1;
                }
                if let Ok(Ok(n)) = rx.recv().try_now() {
                    assert_eq!(n, next);
                    next += 1;
                }
                yield_now().await;
            }
            sender.await.unwrap();
        }
    });
}

/// `linearizable_default`: whoever sends by a choice with a default, among as many as there are
/// places, finds a place, and afterwards something to take.
#[test]
fn a_choice_with_a_default_takes_what_must_be_there() {
    on_pools(|| async {
        let (tx, rx) = bounded(4);
        let tasks: Vec<_> = (0..4)
            .map(|_| {
                let (tx, rx) = (tx.clone(), rx.clone());
                tidings::spawn(async move {
                    for _ in 0..300 {
                        assert!(choose([tx.send(0), tx.send(1)]).try_now().is_ok());
                        assert!(choose([rx.recv(), rx.recv()]).try_now().is_ok());
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

/// `matching`, `matching_with_leftover`: many tasks, each with a choice of sending its number or
/// receiving one: they pair up, and the odd one waits for a partner.
#[test]
fn many_that_send_or_receive_pair_up() {
    on_all(|| async {
        for count in [44, 45] {
            let (tx, rx) = channel();
            let tasks: Vec<_> = (0..count)
                .map(|n| {
                    let (tx, rx) = (tx.clone(), rx.clone());
                    tidings::spawn(async move {
                        let send = tx.send(n).map(|_| n);
                        let recv = rx.recv().map(|got| {
                            let got = got.unwrap();
                            assert_ne!(got, n, "itself");
                            got
                        });
                        send.or(recv).await
                    })
                })
                .collect();
            if count % 2 == 1 {
                tx.send(count).await.unwrap();
            }
            let mut seen: HashMap<_, u32> = HashMap::new();
            for task in tasks {
                *seen.entry(task.await.unwrap()).or_default() += 1;
            }
            // Each number that was sent is known to its sender and its receiver, or, if it was
            // ours, to its receiver.
            assert!(
                seen.iter()
                    .all(|(&n, &times)| times == if n == count { 1 } else { 2 })
            );
            assert!(rx.is_empty());
        }
    });
}

/// `fairness1`, `fairness2`, `fairness_recv`, `fairness_send`: ready receivers, ready senders, and
/// those that get ready under way.
#[test]
fn ready_sends_and_receives_are_taken_alike() {
    on_all(|| async {
        let ((a, ar), (b, br)) = (unbounded(), unbounded());
        let mut hits = [0u32; 4];
        (0..400).for_each(|n| {
            a.try_send(n).unwrap();
            b.try_send(n).unwrap();
        });
        for _ in 0..400 {
            select! {
                _ = ar.recv() => hits[0] += 1,
                _ = br.recv() => hits[1] += 1,
                sent = a.send(0) => { sent.unwrap(); hits[2] += 1 },
                sent = b.send(0) => { sent.unwrap(); hits[3] += 1 },
            }
        }
        assert!(hits.iter().all(|&n| n >= 50), "{hits:?}");
        assert_eq!(hits.iter().sum::<u32>(), 400);
    });
}

/// `unfairness`: in the order written, until the first has nothing left.
#[test]
fn a_biased_choice_empties_the_first_first() {
    on_all(|| async {
        let ends: Vec<_> = (0..3).map(|_| unbounded()).collect();
        for (nth, (tx, _)) in ends.iter().enumerate() {
            (0..10).for_each(|_| tx.try_send(nth).unwrap());
        }
        let mut order = Vec::new();
        for _ in 0..30 {
            order.push(
                choose(ends.iter().map(|ends| ends.1.recv()))
                    .biased()
                    .await
                    .unwrap(),
            );
        }
        assert!(order.is_sorted());
    });
}

struct Behind<T>(T);

impl<T> Deref for Behind<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// `references`, `deref`, `handles_on_heap`, `case_blocks`, `infer_types`, `result_types`,
/// `same_variable_name`, `trailing_comma`, `evaluate`, `move_handles`, `once_*`: handles behind
/// pointers, arms of every shape, values moved into one arm.
#[test]
fn arms_take_handles_behind_pointers_and_have_every_shape() {
    on_all(|| async {
        let (tx, rx) = unbounded::<String>();
        let (tx, rx) = (Box::new(Behind(tx)), std::sync::Arc::new(rx));
        let moved = "moved".to_owned();
        let shape: Option<u8> = select! {
            sent = tx.send(moved) => { sent.unwrap(); None }
            _ = (**tx).closed() => Some(2),
        };
        assert_eq!(shape, None);
        let once = || rx.clone();
        let got: Result<usize, RecvError> = select! {
            rx = once().recv() => rx.map(|text| text.len()),
            rx = rx.clone().recv() => rx.map(|text| text.len()),
        };
        assert_eq!(got, Ok(5));
        let none = {
            select! { biased; _ = rx.recv() => Some(()), () = always(()) => None, }
        };
        assert_eq!(none, None);
    });
}

/// `ready.rs`: that a channel is ready can be known without taking anything: a place by a
/// reservation, a value by its number.
#[test]
fn to_know_that_a_channel_is_ready_takes_nothing() {
    on_all(|| async {
        let (tx, rx) = bounded(1);
        let mut permit = pinned(tx.reserve());
        assert!(poll(permit.as_mut()).is_ready());
        drop(permit);
        assert_eq!((tx.len(), tx.try_send(1)), (0, Ok(())));
        assert!(!rx.is_empty());
        assert!(poll(pinned(tx.reserve()).as_mut()).is_pending());
        assert_eq!(rx.try_recv(), Ok(1));
        assert!(tx.reserve().try_now().is_ok());
    });
}

/// `channel_through_channel` by choices, `loop`s of them, with values that count: a choice that is
/// left by a panic of its arm has taken its value, once.
#[test]
fn an_arm_that_panics_has_its_value() {
    on_all(|| async {
        let ledger = Ledger::default();
        let ((tx, rx), (_quiet_tx, quiet)) = (unbounded(), unbounded());
        tx.send(ledger.letter(1)).await.unwrap();
        tx.send(ledger.letter(2)).await.unwrap();
        let choice = async {
            select! {
                letter = rx.recv() => {
                    let _letter = letter.unwrap();
                    resume_unwind(Box::new("quiet"));
                }
                got = quiet.recv() => got.unwrap(),
                () = never() => {}
            }
        };
        assert!(AssertUnwindSafe(choice).catch_unwind().await.is_err());
        assert_eq!((ledger.alive(), rx.len()), (1, 1));
        assert_eq!(rx.recv().await.unwrap().n, 2);
    });
}
