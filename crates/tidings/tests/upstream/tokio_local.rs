//! tokio's `tests/task_local_set.rs`, and what `task_abort.rs` and `task_join_set.rs` ask of local tasks.

use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use futures::future::join_all;

use crate::both::{pool, seeded, watchdog};
use crate::turns;
use tidings::{JoinSet, after, oneshot, spawn_local, unbounded, yield_now};

thread_local! {
    static HOME: Cell<bool> = const { Cell::new(false) };
}

/// Runs it on this thread, which is home.
fn at_home<F: Future>(body: F) -> F::Output {
    let _watchdog = watchdog();
    HOME.set(true);
    pool(2).block_on(body)
}

/// `local_basic_scheduler`, `local_threadpool`, `localset_future_threadpool`, `all_spawns_are_local`,
/// `nested_spawn_is_local`, `local_tasks_wake_join_all`: local tasks, and those that they start, run on the thread of
/// `block_on`, which hears of their ends, however many they are.
#[test]
fn local_tasks_and_what_they_start_run_at_home() {
    fn nested(depth: usize) -> std::pin::Pin<Box<dyn Future<Output = usize>>> {
        Box::pin(async move {
            assert!(HOME.get());
            match depth {
                0 => 0,
                _ => 1 + spawn_local(nested(depth - 1)).await.unwrap(),
            }
        })
    }
    at_home(async {
        let deep = spawn_local(nested(20));
        let many = join_all((0..128).map(|n| spawn_local(nested(n % 3)))).await;
        let sum: usize = many.into_iter().map(Result::unwrap).sum();
        assert_eq!((deep.await.unwrap(), sum), (20, 127));
    });
}

/// `localset_future_timers`, `local_threadpool_timer`, `localset_future_drives_all_local_futs`: a timer wakes a local
/// task; one whose handle nobody has goes on.
#[test]
fn timers_wake_local_tasks_that_nobody_waits_for() {
    at_home(async {
        let (tell, told) = unbounded();
        for n in [2, 0, 1] {
            let tell = tell.clone();
            drop(spawn_local(async move {
                after(n * Duration::from_millis(5)).await;
                assert!(HOME.get());
                drop(spawn_local(async move {
                    yield_now().await;
                    tell.send(Rc::new(n)).await.unwrap();
                }));
            }));
        }
        drop(tell);
        let mut sum = 0;
        while let Ok(n) = told.recv().await {
            sum += *n;
        }
        assert_eq!(sum, 3);
    });
}

/// `local_threadpool_blocking_run`: blocking work runs elsewhere, and the local task goes on at home.
#[test]
fn blocking_work_of_a_local_task_runs_elsewhere() {
    at_home(async {
        let local = spawn_local(async {
            let there = tidings::spawn_blocking(|| HOME.get()).await.unwrap();
            (HOME.get(), there)
        });
        assert_eq!(local.await.unwrap(), (true, false));
    });
}

/// `join_local_future_elsewhere`: a task of the workers waits for a local one, and wakes it.
#[test]
fn a_local_task_is_joined_by_a_task_elsewhere() {
    at_home(async {
        let (tx, rx) = oneshot();
        let local = spawn_local(async move {
            rx.await.unwrap();
            HOME.get()
        });
        let other = tidings::spawn(async move {
            tx.send(()).unwrap();
            (HOME.get(), local.await.unwrap())
        });
        assert_eq!(other.await.unwrap(), (false, true));
    });
}

/// `drop_cancels_tasks` (#1842), `drop_cancels_remote_tasks` (#1885), `acquire_mutex_in_drop`: what is left at the end
/// of `block_on` is dropped, also what others have woken just now, and what the drops wake.
#[test]
fn the_end_drops_local_tasks_that_wait_and_those_that_were_woken() {
    let _watchdog = watchdog();
    for runtime in [pool(2), seeded(1)] {
        let kept = Rc::new(());
        let ((tx, rx), (first, starts), (second, follows)) = (unbounded(), oneshot(), oneshot());
        let sender = tx.clone();
        let has = |_: &str| Rc::clone(&kept);
        runtime.block_on(async {
            let mine = has("waits for ever");
            drop(spawn_local(async move {
                pending::<()>().await;
                first.send(()).unwrap();
                drop(mine);
            }));
            let mine = has("is woken by the drop of the first");
            drop(spawn_local(async move {
                let _ = starts.await;
                let _ = second.send(());
                drop(mine);
            }));
            let mine = has("is woken by the second");
            drop(spawn_local(async move {
                let _ = follows.await;
                drop(mine);
            }));
            let mine = has("is woken by a thread");
            drop(spawn_local(async move {
                while rx.recv().await.is_ok() {}
                drop(mine);
            }));
            turns(3).await;
            let woken = thread::spawn(move || sender.try_send(1));
            woken.join().unwrap().unwrap();
        });
        assert_eq!(Rc::strong_count(&kept), 1);
        assert!(tx.try_send(2).is_err());
    }
}

/// `local_tasks_are_polled_after_tick` (#1899, #1900): many that a worker wakes at once, while the future of `block_on`
/// starts them, all run.
#[test]
fn local_tasks_that_are_woken_all_at_once_all_run() {
    const MANY: usize = 500;
    at_home(async {
        let (ended, (tx, rx)) = (Arc::new(AtomicUsize::new(0)), unbounded());
        let all = Arc::clone(&ended);
        let other = tidings::spawn(async move {
            let mut starts = Vec::new();
            for _ in 0..MANY {
                let (start, started) = oneshot();
                starts.push(start);
                tx.try_send(started).unwrap();
            }
            yield_now().await;
            starts.into_iter().for_each(|start| start.send(()).unwrap());
            drop(tx);
            while all.load(Ordering::SeqCst) < MANY {
                yield_now().await;
            }
        });
        while let Ok(started) = rx.recv().await {
            let ended = Arc::clone(&ended);
            drop(spawn_local(async move {
                started.await.unwrap();
                ended.fetch_add(1, Ordering::SeqCst);
            }));
        }
        other.await.unwrap();
    });
}

/// `spawn_wakes_localset`: one that is started while the future of `block_on` only waits for others runs.
#[test]
fn a_local_task_that_a_local_task_starts_last_runs() {
    at_home(async {
        let (tx, rx) = oneshot();
        drop(spawn_local(async move {
            drop(spawn_local(async move { tx.send(Rc::new(1)).unwrap() }));
        }));
        assert_eq!(*rx.await.unwrap(), 1);
    });
}

/// `task_abort.rs: remote_abort_local_set_3929`: another thread aborts a task that is not `Send`, and its drop sees
/// that it is at home.
#[test]
fn a_local_task_that_a_thread_aborts_is_dropped_at_home() {
    struct AtHome(Rc<AtomicBool>, Arc<AtomicBool>);
    impl Drop for AtHome {
        fn drop(&mut self) {
            self.1.store(HOME.get(), Ordering::SeqCst);
            self.0.store(true, Ordering::SeqCst);
        }
    }
    at_home(async {
        let dropped = Arc::new(AtomicBool::new(false));
        let has = AtHome(Rc::default(), Arc::clone(&dropped));
        let task = spawn_local(async move {
            after(Duration::from_secs(3600)).await;
            drop(has);
        });
        yield_now().await;
        let abort = task.abort_handle();
        let thread = thread::spawn(move || abort.abort());
        assert!(task.await.unwrap_err().is_cancelled());
        assert!(dropped.load(Ordering::SeqCst));
        thread.join().unwrap();
    });
}

/// `task_join_set.rs: spawn_local::*`: local tasks of a set are joined, shut down, and aborted with it; it says where
/// there can be none.
#[test]
fn a_set_has_local_tasks() {
    at_home(async {
        let kept = Rc::new(());
        let mut set = JoinSet::new();
        for n in 0..4 {
            let has = Rc::clone(&kept);
            set.spawn_local(async move {
                yield_now().await;
                (n, has)
            });
        }
        let mut sum = 0;
        while let Some(end) = set.join_next().await {
            sum += end.unwrap().0;
        }
        assert_eq!((sum, Rc::strong_count(&kept)), (6, 1));
        for ways in 0..2 {
            for _ in 0..4 {
                let has = Rc::clone(&kept);
                set.spawn_local(async move {
                    pending::<()>().await;
                    (0, has)
                });
            }
            yield_now().await;
            match ways {
                0 => set.shutdown().await,
                _ => drop(std::mem::take(&mut set)),
            }
            while Rc::strong_count(&kept) > 1 {
                yield_now().await;
            }
            assert!(set.is_empty());
        }
        let refused = tidings::spawn(async {
            let mut set = JoinSet::new();
            drop(set.spawn_local(async {}));
        });
        assert!(refused.await.unwrap_err().is_panic());
    });
    let outside = std::panic::catch_unwind(|| drop(JoinSet::new().spawn_local(async {})));
    assert!(outside.is_err());
}
