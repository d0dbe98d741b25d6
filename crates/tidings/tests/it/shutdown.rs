//! How a runtime ends, whatever its tasks are doing.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use crate::both::{pool, seeded, watchdog};
use crate::letter::{Ledger, Letter};
use tidings::sched::Handle;
use tidings::{Event, Runtime, after, channel, oneshot, unbounded, yield_now};

#[test]
fn runtimes_start_and_stop_a_hundred_times() {
    let _watchdog = watchdog();
    let ledger = Ledger::default();
    for round in 0..100 {
        let rt = pool(1 + round % 4);
        for n in 0..10 {
            let letter = ledger.letter(n);
            drop(rt.spawn(async move {
                let _letter = letter;
                if n % 2 == 0 {
                    std::future::pending::<()>().await;
                }
            }));
        }
        if round % 2 == 0 {
            rt.block_on(async { tidings::spawn(async {}).await.unwrap() });
        }
    }
    assert_eq!(ledger.alive(), 0);
}

#[test]
fn a_shutdown_ends_tasks_in_every_state() {
    let _watchdog = watchdog();
    for rt in [pool(1), pool(2), pool(8), seeded(1)] {
        let ledger = Ledger::default();
        let mut handles = Vec::new();
        let (tx, rx) = unbounded::<u8>();
        for n in 0..8 {
            let (letter, rx) = (ledger.letter(n), rx.clone());
            handles.push(rt.spawn(async move {
                let _letter = letter;
                match n {
                    0 => std::future::pending().await,
                    1 => drop(rx.recv().await),
                    2 => after(Duration::from_secs(3600)).await,
                    3 => loop {
                        yield_now().await;
                    },
                    4 => drop(tidings::spawn(std::future::pending::<()>()).await),
                    5 => drop(channel().0.send(1).await),
                    6 => {}
                    _ => std::panic::resume_unwind(Box::new(())),
                }
            }));
        }
        rt.block_on(async { yield_now().await });
        // One that is woken at this moment.
        tx.try_send(1).unwrap();
        drop(rt);
        assert_eq!(ledger.alive(), 0);
        for mut handle in handles {
            assert!(handle.is_finished());
            drop(handle.join().wait());
        }
    }
}

#[test]
fn a_future_that_spawns_in_its_drop_does_not_hinder_the_shutdown() {
    struct Spawns(Ledger);
    impl Drop for Spawns {
        fn drop(&mut self) {
            let letter = self.0.letter(0);
            if let Some(handle) = Handle::try_current() {
                drop(handle.spawn(async move { drop(letter) }));
            }
        }
    }
    let _watchdog = watchdog();
    for rt in [pool(1), pool(2), seeded(1)] {
        let ledger = Ledger::default();
        for _ in 0..10 {
            let spawns = Spawns(ledger.clone());
            drop(rt.spawn(async move {
                let _spawns = spawns;
                std::future::pending::<()>().await;
            }));
        }
        rt.block_on(async { yield_now().await });
        drop(rt);
        assert_eq!(ledger.alive(), 0);
    }
}

#[test]
fn a_runtime_may_be_dropped_by_its_own_task() {
    let _watchdog = watchdog();
    for workers in [1, 2] {
        let ledger = Ledger::default();
        let rt = Arc::new(pool(workers));
        let (tx, rx) = oneshot();
        let (inside, letter) = (Arc::clone(&rt), ledger.letter(0));
        let waiting = rt.spawn(async move {
            let _letter = letter;
            std::future::pending::<()>().await;
        });
        let task = rt.spawn(async move {
            rx.await.unwrap();
            drop(inside);
        });
        drop(rt);
        tx.send(()).unwrap();
        drop(task.into_result());
        assert!(waiting.into_result().unwrap_err().is_cancelled());
        assert_eq!(ledger.alive(), 0);
    }
}

trait IntoResult<T> {
    fn into_result(self) -> Result<T, tidings::JoinError>;
}

impl<T> IntoResult<T> for tidings::JoinHandle<T> {
    fn into_result(mut self) -> Result<T, tidings::JoinError> {
        self.join().wait()
    }
}

#[test]
fn a_runtime_may_be_dropped_by_its_own_blocking_work() {
    let _watchdog = watchdog();
    let rt = Arc::new(pool(1));
    let (go, wait) = mpsc::channel::<()>();
    let inside = Arc::clone(&rt);
    let job = rt.spawn_blocking(move || {
        wait.recv().unwrap();
        drop(inside);
        9
    });
    drop(rt);
    go.send(()).unwrap();
    let mut job = job;
    assert_eq!(job.join().wait().unwrap(), 9);
}

/// That waits for a task which nobody cancels before the worker goes on that drops the runtime.
#[test]
fn a_runtime_that_its_own_task_drops_does_not_wait_for_blocking_work() {
    let _watchdog = watchdog();
    for workers in [1, 2] {
        let rt = Arc::new(pool(workers));
        let mut waiting = rt.spawn(std::future::pending::<()>());
        let (begins, begun) = mpsc::channel();
        let work = rt.spawn_blocking(move || {
            begins.send(()).unwrap();
            waiting.join().wait().unwrap_err().is_cancelled()
        });
        begun.recv().unwrap();
        let (tx, rx) = oneshot();
        let inside = Arc::clone(&rt);
        let task = rt.spawn(async move {
            rx.await.unwrap();
            drop(inside);
        });
        drop(rt);
        tx.send(()).unwrap();
        task.into_result().unwrap();
        assert!(work.into_result().unwrap());
    }
}

#[test]
fn a_shutdown_with_a_timeout_by_one_of_its_tasks_does_not_wait_for_blocking_work() {
    // The watchdog is shorter than the timeout.
    let _watchdog = watchdog();
    let rt = pool(2);
    let handle = rt.handle();
    let mut waiting = handle.spawn(std::future::pending::<()>());
    let (begins, begun) = mpsc::channel();
    let work = handle.spawn_blocking(move || {
        begins.send(()).unwrap();
        waiting.join().wait().unwrap_err().is_cancelled()
    });
    begun.recv().unwrap();
    let task = handle.spawn(async move { rt.shutdown_timeout(Duration::from_secs(3600)) });
    task.into_result().unwrap();
    assert!(work.into_result().unwrap());
}

#[test]
fn a_shutdown_with_a_timeout_leaves_a_drop_that_does_not_return() {
    /// Whose drop waits until it may go on.
    struct Waits(mpsc::Receiver<()>, mpsc::Sender<()>);
    impl Drop for Waits {
        fn drop(&mut self) {
            self.1.send(()).unwrap();
            let _ = self.0.recv();
        }
    }
    let _watchdog = watchdog();
    for workers in [1, 2] {
        let rt = pool(workers);
        let (go, wait) = mpsc::channel();
        let (begins, begun) = mpsc::channel();
        let waits = Waits(wait, begins);
        drop(rt.spawn(async move {
            let _waits = waits;
            std::future::pending::<()>().await;
        }));
        rt.block_on(async { yield_now().await });
        rt.shutdown_timeout(Duration::from_millis(30));
        // It returns though the drop has not.
        begun.recv().unwrap();
        drop(go);
    }
}

#[test]
fn a_spawn_after_the_shutdown_is_cancelled() {
    let _watchdog = watchdog();
    for rt in [pool(1), pool(2), seeded(1)] {
        let handle = rt.handle();
        drop(rt);
        let ledger = Ledger::default();
        let letter = ledger.letter(1);
        let task = handle.spawn(async move { drop(letter) });
        assert!(task.into_result().unwrap_err().is_cancelled());
        assert_eq!(ledger.alive(), 0);
    }
    let rt = pool(1);
    let handle = rt.handle();
    drop(rt);
    assert!(
        handle
            .spawn_blocking(|| ())
            .into_result()
            .unwrap_err()
            .is_cancelled()
    );
}

#[test]
fn a_shutdown_with_a_timeout_leaves_what_does_not_return() {
    let _watchdog = watchdog();
    let rt = pool(1);
    let (go, wait) = mpsc::channel::<()>();
    let (go_too, wait_too) = mpsc::channel::<()>();
    let started = Arc::new(AtomicUsize::new(0));
    let (a, b) = (Arc::clone(&started), Arc::clone(&started));
    drop(rt.spawn(async move {
        a.fetch_add(1, Ordering::SeqCst);
        let _ = wait.recv();
    }));
    drop(rt.spawn_blocking(move || {
        b.fetch_add(1, Ordering::SeqCst);
        let _ = wait_too.recv();
    }));
    while started.load(Ordering::SeqCst) < 2 {
        std::thread::yield_now();
    }
    // Returns, though neither has ended.
    rt.shutdown_timeout(Duration::from_millis(30));
    drop((go, go_too));
}

#[test]
fn a_shutdown_cancels_blocking_work_that_has_not_started() {
    let _watchdog = watchdog();
    let rt = Runtime::builder()
        .workers(1)
        .blocking_threads(1)
        .build()
        .unwrap();
    let (go, wait) = mpsc::channel::<()>();
    let (tell, started) = mpsc::channel();
    drop(rt.spawn_blocking(move || {
        tell.send(()).unwrap();
        let _ = wait.recv();
    }));
    started.recv().unwrap();
    let mut queued = rt.spawn_blocking(|| unreachable!("the one thread is taken"));
    rt.shutdown_timeout(Duration::ZERO);
    let end: Result<(), _> = queued.join().wait();
    assert!(end.unwrap_err().is_cancelled());
    drop(go);
}

#[test]
fn a_shutdown_with_a_long_timeout_ends_when_all_has_ended() {
    /// Whose drop takes some time.
    struct Slow(Letter);
    impl Drop for Slow {
        fn drop(&mut self) {
            (0..1000).for_each(|_| std::thread::yield_now());
            assert_eq!(self.0.n, 1);
        }
    }
    // The watchdog is shorter than the timeout.
    let _watchdog = watchdog();
    for rt in [pool(2), seeded(1)] {
        let ledger = Ledger::default();
        let slow = Slow(ledger.letter(1));
        drop(rt.spawn(async move {
            let _slow = slow;
            std::future::pending::<()>().await;
        }));
        rt.block_on(async { yield_now().await });
        rt.shutdown_timeout(Duration::from_secs(3600));
        assert_eq!(ledger.alive(), 0);
    }
}

#[test]
fn a_shutdown_with_a_timeout_by_one_of_its_tasks_does_not_wait_for_that() {
    let _watchdog = watchdog();
    for workers in [1, 2] {
        let rt = pool(workers);
        let handle = rt.handle();
        let (done, is_done) = mpsc::channel();
        drop(handle.spawn(async move {
            rt.shutdown_timeout(Duration::from_secs(3600));
            done.send(()).unwrap();
        }));
        is_done.recv().unwrap();
    }
}

#[test]
fn a_shutdown_with_a_timeout_leaves_a_thread_that_does_not_stop() {
    let _watchdog = watchdog();
    // By a thread outside, and by a task of its own.
    for (workers, own) in [(1, false), (2, false), (2, true)] {
        let (go, wait) = mpsc::channel::<()>();
        let wait = Mutex::new(wait);
        let stop = move || _ = wait.lock().unwrap().recv();
        let builder = Runtime::builder().workers(workers).on_thread_stop(stop);
        let rt = builder.build().unwrap();
        let timeout = Duration::from_millis(30);
        if own {
            let handle = rt.handle();
            let task = handle.spawn(async move { rt.shutdown_timeout(timeout) });
            task.into_result().unwrap();
        } else {
            rt.shutdown_timeout(timeout);
        }
        // It returns though no thread has stopped.
        drop(go);
    }
}
