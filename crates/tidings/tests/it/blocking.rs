//! Threads for work that blocks: how many, and what is known of them.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

use crate::both::{run, seeded, watchdog};
use tidings::{Event, Runtime, unbounded};

fn limited(threads: usize) -> Runtime {
    let builder = Runtime::builder().workers(1).blocking_threads(threads);
    builder.build().unwrap()
}

#[test]
fn no_more_threads_block_than_were_allowed() {
    let _watchdog = watchdog();
    for _ in 0..20 {
        let rt = limited(1);
        let (go, wait) = mpsc::channel::<()>();
        let first = rt.spawn_blocking(move || {
            wait.recv().unwrap();
            thread::current().id()
        });
        let queued: Vec<_> = (0..20)
            .map(|_| rt.spawn_blocking(|| thread::current().id()))
            .collect();
        // A thread too many would take what is queued now.
        for _ in 0..50 {
            thread::yield_now();
        }
        go.send(()).unwrap();
        let all = queued.into_iter().chain([first]);
        let threads: BTreeSet<String> = all
            .map(|mut work| format!("{:?}", work.join().wait().unwrap()))
            .collect();
        assert_eq!(threads.len(), 1, "{threads:?}");
    }
}

#[test]
fn as_many_threads_block_as_are_needed_and_allowed() {
    static ALL: Barrier = Barrier::new(3);
    let _watchdog = watchdog();
    let rt = limited(3);
    let meet = || -> ThreadId {
        ALL.wait();
        thread::current().id()
    };
    for _ in 0..10 {
        let work = [(); 3].map(|()| rt.spawn_blocking(meet));
        let ids = work.map(|mut work| format!("{:?}", work.join().wait().unwrap()));
        assert_eq!(BTreeSet::from(ids).len(), 3);
    }
}

#[test]
fn blocking_work_that_is_over_hides_no_deadlock() {
    let _watchdog = watchdog();
    let rt = Runtime::builder()
        .workers(2)
        .watch_deadlocks(Duration::from_millis(20))
        .build()
        .unwrap();
    let done = rt.block_on(async { tidings::spawn_blocking(|| 1).await.unwrap() });
    assert_eq!(done, 1);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        rt.block_on(async {
            let (tx, rx) = unbounded::<u32>();
            let _ = rx.recv().await;
            drop(tx);
        });
    }));
    let report = *ended.unwrap_err().downcast::<String>().unwrap();
    assert!(report.contains("waits for Recv<u32>"), "{report}");
}

#[test]
fn a_runtime_that_is_dropped_waits_for_blocking_work_that_has_begun() {
    let _watchdog = watchdog();
    let rt = limited(2);
    let (begins, begun) = mpsc::channel();
    let done = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&done);
    rt.spawn_blocking(move || {
        begins.send(()).unwrap();
        // The work.
        thread::sleep(Duration::from_millis(30));
        ends.store(true, Ordering::SeqCst);
    });
    begun.recv().unwrap();
    drop(rt);
    assert!(done.load(Ordering::SeqCst));
}

#[test]
fn it_is_the_runtime_that_is_asked_which_says_whether_blocking_work_has_a_thread() {
    let _watchdog = watchdog();
    let (rt, solo) = (limited(1), seeded(1));
    let here = || thread::current().id();
    // By a task under a seam, of a runtime with threads.
    let handle = rt.handle();
    let there = solo.block_on(async { handle.spawn_blocking(here).await.unwrap() });
    assert_ne!(there, here());
    assert_ne!(there, rt.block_on(rt.spawn(async move { here() })).unwrap());
    // The other way round, and from outside.
    let handle = solo.handle();
    let (tell, told) = tidings::oneshot();
    run(&rt, async move {
        assert!(tell.send(handle.spawn_blocking(here)).is_ok());
    });
    let tasks = told.recv_blocking().unwrap();
    let outside = solo.spawn_blocking(here);
    for task in [tasks, outside] {
        assert_eq!(solo.block_on(task).unwrap(), here());
    }
    // One that has not run ends with its runtime.
    let mut left = solo.spawn_blocking(here);
    solo.shutdown_timeout(Duration::from_secs(3600));
    assert!(left.join().wait().unwrap_err().is_cancelled());
}
