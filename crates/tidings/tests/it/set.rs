//! Join sets: every task is joined once, in the order of the ends.

use crate::by_hand::{Chance, poll, poll_and_drop, rt};
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::pin;
use std::task::Poll;
use tidings::{Event, JoinSet, oneshot};

#[test]
fn ends_come_in_their_order_and_say_how() {
    rt().block_on(async {
        let mut set = JoinSet::new();
        let (tx, rx) = oneshot::<()>();
        set.spawn(async move {
            rx.await.unwrap();
            1
        });
        set.spawn(async { panic!("two") });
        let two = set.join_next().await.unwrap().unwrap_err();
        assert_eq!(two.panic_message(), Some("two"));
        tx.send(()).unwrap();
        assert_eq!(set.join_next().await.unwrap().unwrap(), 1);
        assert!(set.join_next().await.is_none());
    });
}

#[test]
fn a_dropped_wait_leaves_the_output() {
    let rt = rt();
    let mut set = JoinSet::new();
    let (tx, rx) = oneshot::<()>();
    rt.block_on(async { drop(set.spawn(async move { rx.await.is_ok() })) });
    poll_and_drop(set.join_next());
    assert!(!set.is_empty());
    {
        let mut wait = pin!(set.join_next().into_future());
        assert!(poll(wait.as_mut()).is_pending());
        tx.send(()).unwrap();
        // Handed over at some moment before or after this, and dropped unseen.
    }
    assert!(set.join_next().wait().unwrap().unwrap());
    assert!(set.is_empty());
}

#[test]
fn dropping_the_set_aborts_and_detaching_does_not() {
    rt().block_on(async {
        let (tx, rx) = oneshot::<()>();
        let mut set = JoinSet::new();
        set.spawn(async move {
            let _tx = tx;
            pending::<()>().await;
        });
        drop(set);
        assert!(rx.await.is_err());

        let ((tx, rx), (go, gone)) = (oneshot(), oneshot::<()>());
        let mut set = JoinSet::new();
        set.spawn(async move {
            gone.await.unwrap();
            tx.send(1).unwrap();
        });
        set.detach_all();
        drop(set);
        go.send(()).unwrap();
        assert_eq!(rx.await, Ok(1));
    });
}

#[test]
fn shutdown_waits_until_all_futures_are_dropped() {
    rt().block_on(async {
        let alive = std::sync::Arc::new(());
        let mut set = JoinSet::new();
        for _ in 0..50 {
            let alive = alive.clone();
            set.spawn(async move {
                let _alive = alive;
                pending::<()>().await;
            });
        }
        assert_eq!(set.len(), 50);
        set.shutdown().await;
        assert_eq!(std::sync::Arc::strong_count(&alive), 1);
    });
}

#[test]
fn what_could_not_be_spawned_is_joined_as_cancelled() {
    let mut set = JoinSet::new();
    let spawned = catch_unwind(AssertUnwindSafe(|| {
        set.spawn(async {});
    }));
    assert!(spawned.is_err());
    assert!(set.join_next().wait().unwrap().unwrap_err().is_cancelled());
    assert!(matches!(
        poll(pin!(set.join_next().into_future())),
        Poll::Ready(None)
    ));
}

#[test]
fn stress_every_task_is_joined_once() {
    rt().block_on(async {
        let tasks: Vec<_> = (0..8)
            .map(|seed| {
                tidings::spawn(async move {
                    let mut chance = Chance::new(seed);
                    let mut set = JoinSet::new();
                    let (mut aborted, mut joined) = (0, 0);
                    for n in 0..500u64 {
                        let abort = set.spawn(async move {
                            for _ in 0..n % 3 {
                                tidings::yield_now().await;
                            }
                            if n % 7 == 0 { panic_quietly() } else { n }
                        });
                        if chance.below(5) == 0 {
                            abort.abort();
                            aborted += 1;
                        }
                        if let Some(end) = chance.maybe(set.join_next()).await {
                            joined += usize::from(end.is_some());
                        }
                    }
                    while set.join_next().await.is_some() {
                        joined += 1;
                    }
                    (aborted, joined)
                })
            })
            .collect();
        for task in tasks {
            let (aborted, joined) = task.await.unwrap();
            assert!(aborted < 500);
            assert_eq!(joined, 500);
        }
    });
}

fn panic_quietly() -> u64 {
    std::panic::resume_unwind(Box::new("quiet"))
}

#[test]
fn a_set_that_is_joined_as_a_whole_gives_all_outputs_or_ends_with_the_first_that_is_none() {
    let rt = rt();
    let (tx, rx) = oneshot();
    let mut set = JoinSet::new();
    set.spawn_on(async move { rx.await.unwrap() }, &rt.handle());
    let all = rt.block_on(async {
        set.spawn_blocking(move || tx.send(1).map_or(0, |()| 2));
        set.spawn_local(async { 3 });
        set.join_all().await
    });
    let mut all = all;
    all.sort_unstable();
    assert_eq!(all, [1, 2, 3]);
    for aborted in [false, true] {
        let (tx, rx) = oneshot::<()>();
        let failed = catch_unwind(AssertUnwindSafe(|| {
            rt.block_on(async {
                let mut set = JoinSet::new();
                set.spawn(async { rx.await.unwrap() });
                if aborted {
                    set.spawn(pending()).abort();
                } else {
                    set.spawn_blocking(|| panic_any(7));
                }
                set.join_all().await
            })
        }));
        let panic = failed.unwrap_err();
        assert_eq!(panic.is::<i32>(), !aborted);
        // The other was aborted.
        tx.closed().wait();
    }
}

#[test]
fn a_task_for_a_runtime_that_has_ended_is_joined_as_cancelled() {
    let rt = rt();
    let handle = rt.handle();
    drop(rt);
    let mut set = JoinSet::new();
    set.spawn_on(async { 1 }, &handle);
    let ended = set.join_next().wait().unwrap();
    assert!(ended.unwrap_err().is_cancelled());
    assert!(set.is_empty());
}
