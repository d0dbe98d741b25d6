//! Scopes: children end before the scope does, and fail together.

use crate::both::{pool, run, watchdog};
use crate::by_hand::{poll, rt};
use crate::hands::{Bomb, pinned, poll_with};
use crate::panics::BadDrop;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Poll, Waker};
use tidings::{scope, try_scope};

/// Counts those that are alive.
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn caught<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = pin!(future);
    std::future::poll_fn(|cx| {
        match std::panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(polled) => polled.map(Ok),
            Err(panic) => Poll::Ready(Err((*panic.downcast::<&str>().unwrap()).into())),
        }
    })
    .await
}

#[test]
fn waits_for_children_and_grandchildren() {
    let rt = rt();
    for _ in 0..200 {
        let alive = Arc::new(AtomicUsize::new(0));
        let count = alive.clone();
        let task = rt.spawn(scope(move |s| async move {
            for _ in 0..4 {
                let (s2, alive) = (s.clone(), Alive::new(&count));
                s.spawn(async move {
                    tidings::yield_now().await;
                    let inner = Alive(alive.0.clone());
                    inner.0.fetch_add(1, Ordering::SeqCst);
                    drop(s2.spawn(async move {
                        tidings::yield_now().await;
                        drop(inner);
                    }));
                    drop(alive);
                });
            }
            7
        }));
        assert_eq!(rt.block_on(task).unwrap(), 7);
        assert_eq!(alive.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn the_body_may_borrow() {
    let text = String::from("mine");
    let len = rt().block_on(scope(|s| {
        let text = &text;
        async move { s.spawn(async { 1 }).await.unwrap() + text.len() }
    }));
    assert_eq!(len, 5);
}

#[test]
fn a_panic_ends_siblings_and_body_and_goes_on() {
    rt().block_on(async {
        let alive = Arc::new(AtomicUsize::new(0));
        let (a, b, c) = (Alive::new(&alive), Alive::new(&alive), Alive::new(&alive));
        let end = caught(scope(|s| async move {
            s.spawn(async move {
                let _a = a;
                std::future::pending::<()>().await;
            });
            s.spawn(async move {
                let _b = b;
                tidings::yield_now().await;
                panic!("child");
            });
            let _c = c;
            std::future::pending::<()>().await;
        }));
        assert_eq!(end.await, Err("child".to_string()));
        assert_eq!(alive.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn a_panic_of_the_body_ends_the_children_first() {
    rt().block_on(async {
        let alive = Arc::new(AtomicUsize::new(0));
        let a = Alive::new(&alive);
        let end = caught(scope(|s| async move {
            s.spawn(async move {
                let _a = a;
                std::future::pending::<()>().await;
            });
            panic!("body");
        }));
        assert_eq!(end.await, Err::<(), _>("body".to_string()));
        assert_eq!(alive.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn the_first_error_counts_though_another_follows() {
    let end = rt().block_on(try_scope(|s| async move {
        let (go, wait) = tidings::oneshot();
        let one = s.try_spawn(async move {
            wait.await.unwrap();
            Err::<(), _>(1)
        });
        s.try_spawn(async move {
            go.send(()).unwrap();
            // In one poll, so that it is not aborted before its own end.
            while !one.is_finished() {
                std::thread::yield_now();
            }
            Err::<(), _>(2)
        });
        Ok(())
    }));
    assert_eq!(end, Err(1));
}

/// The first error of two, whichever it is; the second panics as it is dropped.
#[test]
fn a_second_error_that_panics_as_it_is_dropped_does_not_keep_the_scope() {
    let _watchdog = watchdog();
    let rt = rt();
    let both = Arc::new(Barrier::new(2));
    let fails = move || {
        let both = Arc::clone(&both);
        async move {
            // Neither is aborted before its own end.
            both.wait();
            Err::<(), _>(BadDrop)
        }
    };
    let end = run(&rt, async move {
        try_scope(|s| async move {
            s.try_spawn(fails());
            s.try_spawn(fails());
            std::future::pending().await
        })
        .await
        .map_err(std::mem::forget)
    });
    assert_eq!(end, Err::<(), _>(()));
}

#[test]
fn a_waker_that_panics_does_not_keep_a_scope_whose_child_fails() {
    let _watchdog = watchdog();
    run(&rt(), async {
        let ((go, wait), (give, given)) = (tidings::oneshot(), tidings::oneshot());
        let mut end = pinned(try_scope(|s| async move {
            let child = s.try_spawn(async move {
                wait.await.unwrap();
                Err::<(), _>(7)
            });
            give.send(child).unwrap();
            std::future::pending().await
        }));
        let bomb = Waker::from(Arc::new(Bomb));
        assert!(poll_with(end.as_mut(), &bomb).is_pending());
        go.send(()).unwrap();
        let child: tidings::JoinHandle<()> = given.await.unwrap();
        assert!(child.await.unwrap_err().is_panic());
        assert_eq!(end.await, Err::<(), _>(7));
    });
}

/// Takes its time to be dropped.
struct SlowDrop(Arc<AtomicBool>);

impl Drop for SlowDrop {
    fn drop(&mut self) {
        std::thread::sleep(std::time::Duration::from_millis(2));
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn what_a_child_gave_that_nobody_wants_is_dropped_before_the_scope_ends() {
    let _watchdog = watchdog();
    run(&pool(2), async {
        for _ in 0..50 {
            let dropped = Arc::new(AtomicBool::new(false));
            let slow = SlowDrop(Arc::clone(&dropped));
            scope(|s| async move { drop(s.spawn(async { slow })) }).await;
            assert!(dropped.load(Ordering::SeqCst));
            let child = scope(|s| async move { [s.spawn(async { 1 })] }).await;
            assert!(child[0].is_finished());
        }
    });
}

#[test]
fn a_body_that_panics_as_it_is_dropped_does_not_leave_its_children() {
    let _watchdog = watchdog();
    run(&pool(2), async {
        let alive = Arc::new(AtomicUsize::new(0));
        let (busy, (started, go)) = (Alive::new(&alive), tidings::oneshot());
        let end = caught(try_scope(|s| async move {
            let _bad = BadDrop;
            drop(s.spawn(async move {
                let _busy = busy;
                started.send(()).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(20));
            }));
            go.await.unwrap();
            drop(s.try_spawn(async { Err::<(), _>(7) }));
            std::future::pending::<Result<(), _>>().await
        }));
        assert_eq!(end.await, Ok(Err(7)));
        assert_eq!(alive.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn the_first_error_counts() {
    rt().block_on(async {
        let end = try_scope(|s| async move {
            let failed = s.try_spawn(async { Err::<(), _>(1) });
            s.spawn(std::future::pending::<()>());
            drop(failed);
            std::future::pending().await
        });
        assert_eq!(end.await, Err::<(), _>(1));
        let body = try_scope(|s| async move {
            s.spawn(std::future::pending::<()>());
            Err::<(), _>(2)
        });
        assert_eq!(body.await, Err(2));
        let fine = try_scope(|s| async move {
            let n = s.try_spawn(async { Ok(3) });
            Ok::<_, ()>(n.await.unwrap())
        });
        assert_eq!(fine.await, Ok(3));
    });
}

#[test]
fn handles_of_failed_children_end() {
    rt().block_on(async {
        let (tx, rx) = tidings::oneshot();
        let end = try_scope(|s| async move {
            let failing = s.try_spawn(async { Err::<(), _>("no") });
            tidings::spawn(async move {
                let _ = tx.send(failing.await.unwrap_err().is_cancelled());
            });
            Ok(())
        });
        assert_eq!(end.await, Err("no"));
        assert_eq!(rx.await, Ok(true));
    });
}

#[test]
fn an_aborted_child_is_no_failure() {
    rt().block_on(async {
        let n = scope(|s| async move {
            let child = s.spawn(std::future::pending::<()>());
            child.abort();
            usize::from(child.await.unwrap_err().is_cancelled())
        });
        assert_eq!(n.await, 1);
    });
}

#[test]
fn a_dropped_scope_aborts_its_children() {
    let rt = rt();
    rt.block_on(async {
        let (tx, rx) = tidings::oneshot::<()>();
        {
            let mut future = pin!(scope(|s| async move {
                s.spawn(async move {
                    let _tx = tx;
                    std::future::pending::<()>().await;
                });
                std::future::pending::<()>().await;
            }));
            assert!(poll(future.as_mut()).is_pending());
        }
        // The sender goes with the child.
        assert!(rx.await.is_err());
    });
}

#[test]
fn no_child_is_started_after_the_end() {
    rt().block_on(async {
        let leaked = scope(|s| async move { s }).await;
        let late = leaked.spawn(async { panic!("never polled") });
        assert!(late.await.unwrap_err().is_cancelled());
        assert!(leaked.is_empty());
    });
}

#[test]
fn stress_many_children_fail_at_once() {
    let rt = rt();
    for round in 0..300u32 {
        let alive = Arc::new(AtomicUsize::new(0));
        let count = alive.clone();
        let task = rt.spawn(try_scope(move |s| async move {
            for n in 0..8 {
                let (alive, s2) = (Alive::new(&count), s.clone());
                s.try_spawn(async move {
                    let _alive = alive;
                    for _ in 0..round % 5 {
                        tidings::yield_now().await;
                    }
                    drop(s2.spawn(std::future::pending::<()>()));
                    if n % 3 == 0 { Err(n) } else { Ok(()) }
                });
            }
            Ok(())
        }));
        let end = rt.block_on(task).unwrap();
        assert!(end.is_err_and(|n| n % 3 == 0));
        assert_eq!(alive.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn a_scope_counts_its_children() {
    pool(2).block_on(scope(|s| async move {
        assert!(s.is_empty());
        let children = [(); 3].map(|()| s.spawn(std::future::pending::<()>()));
        assert_eq!((s.len(), s.is_empty()), (3, false));
        for (n, child) in children.into_iter().enumerate() {
            child.abort();
            assert!(child.await.is_err());
            assert_eq!(s.len(), 2 - n);
        }
    }));
}

#[test]
fn a_child_that_failed_before_the_scope_waited_is_heard_of() {
    let failed = pool(1).block_on(try_scope(|s| async move {
        let child = s.try_spawn(async { Err::<(), u8>(7) });
        // On this thread, which no child needs.
        while !child.is_finished() {
            std::thread::yield_now();
        }
        std::future::pending::<Result<(), u8>>().await
    }));
    assert_eq!(failed, Err(7));
}

#[test]
fn a_scope_that_fails_takes_no_child_while_others_still_end() {
    type Told = mpsc::Sender<tidings::JoinHandle<()>>;
    struct Late(tidings::Scope<u8>, Told);
    impl Drop for Late {
        fn drop(&mut self) {
            let _ = self.1.send(self.0.spawn(async {}));
        }
    }
    let (go, gate) = mpsc::channel();
    let (told, late) = mpsc::channel();
    let (begun, has_begun) = tidings::oneshot();
    let has_failed = Arc::new(AtomicBool::new(false));
    pool(2).block_on(async {
        let fails = Arc::clone(&has_failed);
        let mut scope = Box::pin(try_scope(|s| async move {
            let late = Late(s.clone(), told);
            s.spawn(async move {
                let _late = late;
                begun.send(()).unwrap();
                // Within a poll, so that the abort has to wait.
                gate.recv().unwrap();
                std::future::pending::<()>().await;
            });
            has_begun.await.unwrap();
            fails.store(true, Ordering::SeqCst);
            Err::<(), u8>(7)
        }));
        loop {
            assert!(futures::poll!(scope.as_mut()).is_pending());
            if has_failed.load(Ordering::SeqCst) {
                break;
            }
            tidings::yield_now().await;
        }
        go.send(()).unwrap();
        assert_eq!(scope.await, Err(7));
        let child = late.recv().unwrap();
        assert!(child.await.unwrap_err().is_cancelled());
    });
}
