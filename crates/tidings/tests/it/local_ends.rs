//! How local tasks end: by an abort, with their `block_on`, and with a runtime under a seam; always on their thread.

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;

use crate::both::{pool, run, seeded, watchdog};
use crate::local_tasks::{Drops, Stays, said};
use crate::process::child;
use tidings::sched::Runtime;
use tidings::task::AbortHandle;
use tidings::{oneshot, spawn_local, yield_now};

#[test]
fn aborts_and_wakes_from_many_threads_race_with_the_end_of_block_on() {
    let _watchdog = watchdog();
    let runtime = pool(2);
    let drops = Drops::default();
    for round in 0..200 {
        let (start, wakers) = (Arc::new(Barrier::new(3)), Arc::new(Mutex::new(Vec::new())));
        let mut handles = Vec::new();
        let mut aborters = Vec::new();
        runtime.block_on(async {
            for _ in 0..8 {
                let (has, wakers) = (drops.value(), Arc::clone(&wakers));
                let task = spawn_local(async move {
                    let _has = has;
                    poll_fn(|cx| {
                        wakers.lock().unwrap().push(cx.waker().clone());
                        Poll::<()>::Pending
                    })
                    .await;
                });
                aborters.push(task.abort_handle());
                handles.push(task);
            }
            yield_now().await;
            let waking = {
                let (start, wakers) = (Arc::clone(&start), Arc::clone(&wakers));
                move || {
                    start.wait();
                    for _ in 0..3 {
                        let wakers = wakers.lock().unwrap().clone();
                        wakers.iter().for_each(Waker::wake_by_ref);
                    }
                }
            };
            let abort = {
                let start = Arc::clone(&start);
                let aborters = std::mem::take(&mut aborters);
                move || {
                    start.wait();
                    aborters.iter().for_each(AbortHandle::abort);
                }
            };
            drop((
                tidings::spawn_blocking(waking),
                tidings::spawn_blocking(abort),
            ));
            start.wait();
            for _ in 0..round % 4 {
                yield_now().await;
            }
        });
        assert_eq!(drops.count(), 8 * (round + 1));
        for handle in handles {
            assert!(handle.is_finished());
            assert!(runtime.block_on(handle).unwrap_err().is_cancelled());
        }
    }
}

#[test]
fn what_is_left_when_block_on_returns_is_dropped_there_before_it_does() {
    /// Starts another as it is dropped, some times over.
    struct Heir(Stays, usize, Rc<RefCell<Vec<tidings::JoinHandle<()>>>>);
    impl Drop for Heir {
        fn drop(&mut self) {
            if self.1 > 0 {
                let drops = Drops(Arc::clone(&self.0.dropped));
                let heir = Self(drops.value(), self.1 - 1, Rc::clone(&self.2));
                let next = spawn_local(async move {
                    let _heir = heir;
                    pending::<()>().await;
                });
                self.2.borrow_mut().push(next);
            }
        }
    }
    let _watchdog = watchdog();
    let runtimes = [pool(2), seeded(3)];
    for (runtime, polled) in runtimes.iter().flat_map(|rt| [(rt, false), (rt, true)]) {
        let (drops, handles) = (Drops::default(), Rc::default());
        let first = Heir(drops.value(), 3, Rc::clone(&handles));
        let (mine, of_root) = (Rc::clone(&handles), drops.value());
        runtime.block_on(async move {
            let _of_root = of_root;
            let task = spawn_local(async move {
                let _first = first;
                pending::<()>().await;
            });
            mine.borrow_mut().push(task);
            for _ in 0..if polled { 50 } else { 0 } {
                yield_now().await;
            }
        });
        assert_eq!(drops.count(), 5);
        let handles = handles.take();
        assert_eq!(handles.len(), 4);
        for handle in handles {
            assert!(handle.is_finished());
            assert!(runtime.block_on(handle).unwrap_err().is_cancelled());
        }
    }
}

#[test]
fn a_panic_of_the_future_of_block_on_ends_the_local_tasks_too() {
    let _watchdog = watchdog();
    for runtime in [pool(2), seeded(3)] {
        let (drops, task) = (Drops::default(), RefCell::new(None));
        let ended = catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(async {
                let has = drops.value();
                *task.borrow_mut() = Some(spawn_local(async move {
                    let _has = has;
                    pending::<()>().await;
                }));
                yield_now().await;
                resume_unwind(Box::new("on purpose"));
            });
        }));
        assert_eq!(
            *ended.unwrap_err().downcast::<&str>().unwrap(),
            "on purpose"
        );
        assert_eq!(drops.count(), 1);
        let task = task.take().unwrap();
        assert!(runtime.block_on(task).unwrap_err().is_cancelled());
        // It goes on.
        assert_eq!(
            *runtime
                .block_on(async { spawn_local(async { Rc::new(1) }).await })
                .unwrap(),
            1
        );
    }
}

#[test]
fn a_waker_that_outlives_its_block_on_wakes_nobody_else() {
    let _watchdog = watchdog();
    for runtime in [pool(1), seeded(5)] {
        let wakers = RefCell::new(Vec::new());
        let polls = Rc::new(Cell::new(0));
        for round in 0..20 {
            let started = polls.get();
            runtime.block_on(async {
                let (waker, told) = oneshot();
                let mut waker = Some(waker);
                let polls = Rc::clone(&polls);
                let task = spawn_local(poll_fn(move |cx| {
                    polls.set(polls.get() + 1);
                    if let Some(tell) = waker.take() {
                        tell.send(cx.waker().clone()).unwrap();
                    }
                    Poll::<()>::Pending
                }));
                let waker: Waker = told.await.unwrap();
                // Those of before have no effect, or have this one, in the place of theirs, polled once more.
                let old = wakers.borrow().clone();
                thread::spawn(move || old.iter().for_each(Waker::wake_by_ref))
                    .join()
                    .unwrap();
                wakers.borrow_mut().push(waker);
                for _ in 0..10 {
                    yield_now().await;
                }
                assert!(!task.is_finished());
            });
            assert!((1..=1 + round).contains(&(polls.get() - started)));
            wakers.borrow().iter().for_each(Waker::wake_by_ref);
        }
    }
}

#[test]
fn a_block_on_of_a_handle_goes_on_though_its_runtime_ends() {
    let _watchdog = watchdog();
    let runtime = pool(2);
    let handle = runtime.handle();
    let (ask, end) = mpsc::channel();
    let (ended, heard) = oneshot();
    let thread = thread::spawn(move || {
        handle.block_on(async {
            let local = spawn_local(async move { heard.await.map(Rc::new) });
            ask.send(()).unwrap();
            assert_eq!(*local.await.unwrap().unwrap(), 1);
            assert!(tidings::spawn(async {}).await.unwrap_err().is_cancelled());
            *spawn_local(async { Rc::new(2) }).await.unwrap()
        })
    });
    end.recv().unwrap();
    drop(runtime);
    ended.send(1).unwrap();
    assert_eq!(thread.join().unwrap(), 2);
}

#[test]
fn under_a_seam_any_task_may_start_a_local_one_and_the_seam_picks() {
    let order = |seed| {
        let runtime = seeded(seed);
        let noted = Arc::new(Mutex::new(String::new()));
        let note = Arc::clone(&noted);
        run(&runtime, async move {
            let tasks = ["a", "b", "c", "d"].map(|name| {
                let (note, local) = (Arc::clone(&note), Rc::new(name));
                let part = async move {
                    for _ in 0..2 {
                        note.lock().unwrap().push_str(&local);
                        yield_now().await;
                    }
                };
                spawn_local(part).abort_handle()
            });
            while tasks.iter().any(|task| !task.is_finished()) {
                yield_now().await;
            }
        });
        std::mem::take(&mut *noted.lock().unwrap())
    };
    let orders: Vec<_> = (0..50).map(order).collect();
    assert_eq!(orders, (0..50).map(order).collect::<Vec<_>>());
    let different: std::collections::HashSet<_> = orders.iter().collect();
    assert!(different.len() > 25, "{different:?}");
}

#[test]
fn under_a_seam_step_by_step_local_tasks_stand_beside_the_others() {
    let runtime = seeded(1);
    let kept = Arc::new(AtomicBool::new(false));
    let keeps = Arc::clone(&kept);
    let task = runtime.spawn(async move {
        let locals = [1, 2].map(|n| spawn_local(async move { drop(Rc::new(n)) }).abort_handle());
        keeps.store(
            locals.iter().all(|local| !local.is_finished()),
            Ordering::SeqCst,
        );
        pending::<()>().await;
    });
    assert_eq!((runtime.ready(), runtime.step(0)), (1, Some(0)));
    assert!(kept.load(Ordering::SeqCst) && runtime.tasks() == 3);
    let mut numbers = Vec::new();
    runtime.ready_numbers(&mut numbers);
    assert_eq!((runtime.ready(), numbers), (2, vec![1, 2]));
    task.abort();
    assert_eq!(runtime.ready(), 3);
    let lines = [0, 1, 2].map(|pick| runtime.ready_party(pick).unwrap().started.unwrap().line());
    // The other one ran last, so that it comes after them.
    assert_eq!((lines[0], lines[1]), (lines[1], lines[2] + 1));
    assert!(runtime.ready_party(3).is_none() && runtime.step(3).is_none());
    // The second of them, after which the other is the first, and then the first of them.
    assert_eq!(
        [1, 0, 0].map(|pick| runtime.step(pick)),
        [Some(2), Some(0), Some(1)]
    );
    assert_eq!((runtime.tasks(), runtime.ready()), (0, 0));
}

#[test]
fn a_runtime_with_a_seam_stays_on_the_thread_of_its_local_tasks() {
    // In a process of its own, whose leaks nobody looks at: what cannot be ended stays, and is meant to.
    if let Some(mut child) = child() {
        let ended = child
            .env("ASAN_OPTIONS", "detect_leaks=0")
            .output()
            .unwrap();
        assert!(ended.status.success(), "{ended:?}");
        return;
    }
    let _watchdog = watchdog();
    let there =
        |f: &mut (dyn FnMut() -> String + Send)| thread::scope(|s| s.spawn(f).join().unwrap());
    let runtime = seeded(1);
    let drops = Drops::default();
    let begin = |runtime: &Runtime| {
        let drops = drops.clone();
        let task = async move {
            let has = drops.value();
            drop(spawn_local(async move {
                let _has = has;
                pending::<()>().await;
            }));
        };
        drop(runtime.spawn(task));
        let ready = runtime.ready();
        runtime.step(ready - 1);
    };
    begin(&runtime);
    for _ in 0..2 {
        for looks in [
            (|rt| _ = rt.ready()) as fn(&Runtime),
            |rt| _ = rt.step(0),
            |rt| rt.block_on(async {}),
        ] {
            let said = there(&mut || said(|| looks(&runtime)));
            assert!(
                said.contains("stay on the thread that has started them"),
                "{said}"
            );
        }
        assert!(runtime.ready() < 2);
        runtime.step(0);
    }
    // Their own thread may go on with them, and end them.
    assert_eq!((runtime.tasks(), drops.count()), (1, 0));
    runtime.block_on(async {});
    assert_eq!((runtime.tasks(), drops.count()), (0, 1));
    // Then it may be another's.
    there(&mut || {
        begin(&runtime);
        assert_eq!(runtime.ready(), 1);
        runtime
            .block_on(async { assert_eq!(*spawn_local(async { Rc::new(1) }).await.unwrap(), 1) });
        String::new()
    });
    assert_eq!(drops.count(), 2);
    // A drop elsewhere does not touch them.
    begin(&runtime);
    let mut moved = Some(runtime);
    let said = there(&mut || said(|| drop(moved.take())));
    assert!(
        said.contains("on another thread than that of its local tasks"),
        "{said}"
    );
    assert_eq!(drops.count(), 2);
    // Nor does one on their own keep anything.
    let runtime = seeded(1);
    begin(&runtime);
    drop(runtime);
    assert_eq!(drops.count(), 3);
}

#[test]
fn what_is_dropped_as_a_runtime_with_a_seam_ends_may_start_local_tasks() {
    struct Starts(Drops);
    impl Drop for Starts {
        fn drop(&mut self) {
            let has = self.0.value();
            let task = spawn_local(async move {
                let _has = has;
                pending::<()>().await;
            });
            assert!(task.is_finished());
        }
    }
    let drops = Drops::default();
    let runtime = seeded(1);
    let starts = Starts(drops.clone());
    drop(runtime.spawn(async move {
        let _starts = starts;
        pending::<()>().await;
    }));
    assert_eq!((runtime.ready(), runtime.step(0)), (1, Some(0)));
    drop(runtime);
    assert_eq!(drops.count(), 1);
}
