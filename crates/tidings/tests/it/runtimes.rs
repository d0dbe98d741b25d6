//! Deadlocks where a process has several runtimes.

use std::sync::mpsc;
use std::thread;

use crate::deadlock::{PATIENCE, goes_on, reports, says};
use futures::FutureExt;
use futures::future::BoxFuture;
use tidings::{Event, Handle, JoinHandle, JoinSet, Runtime, after, unbounded, yield_now};

/// Starts on the runtime what takes longer than the patience.
const STARTS: [fn(&Handle) -> JoinHandle<u32>; 4] = [
    |other| other.spawn(after(3 * PATIENCE).map(|()| 7).into_future()),
    |other| {
        other.spawn(async {
            let start = std::time::Instant::now();
            while start.elapsed() < 3 * PATIENCE {
                yield_now().await;
            }
            7
        })
    },
    |other| {
        other.spawn_blocking(|| {
            thread::sleep(3 * PATIENCE);
            7
        })
    },
    // A local one, of another thread.
    |other| {
        let (other, (give, given)) = (other.clone(), mpsc::channel());
        thread::spawn(move || {
            other.block_on(async {
                let late = async {
                    after(3 * PATIENCE).await;
                    7
                };
                give.send(tidings::spawn_local(late)).unwrap();
                after(4 * PATIENCE).await;
            });
        });
        given.recv().unwrap()
    },
];

/// Waits for it.
const WAITS: [fn(JoinHandle<u32>) -> BoxFuture<'static, u32>; 4] = [
    |task| async { task.await.unwrap() }.boxed(),
    |mut task| async move { task.join().await.unwrap() }.boxed(),
    |task| async { tidings::spawn(task).await.unwrap().unwrap() }.boxed(),
    |task| async { tidings::spawn_local(task).await.unwrap().unwrap() }.boxed(),
];

#[test]
fn what_waits_for_the_end_of_another_runtimes_task_is_no_deadlock() {
    let other = Runtime::builder().workers(1).build().unwrap();
    let other = &other.handle();
    for (n, start) in STARTS.into_iter().enumerate() {
        // Each with another, and the first with all.
        for (m, wait) in WAITS.into_iter().enumerate() {
            if n == 0 || n == m {
                goes_on(|| wait(start(other)));
            }
        }
    }
    // In a set, and in blocking work.
    goes_on(|| async {
        let mut set = JoinSet::new();
        set.spawn_on(after(3 * PATIENCE).map(|()| 7).into_future(), other);
        set.join_next().await.unwrap().unwrap()
    });
    let watching = Runtime::builder().workers(2).watch_deadlocks(PATIENCE);
    let work = async {
        let mut late = STARTS[0](other);
        let waits = tidings::spawn_blocking(move || late.join().wait().unwrap());
        waits.await.unwrap()
    };
    assert_eq!(watching.build().unwrap().block_on(work), 7);
}

#[test]
fn a_set_that_had_tasks_of_another_runtime_hides_no_deadlock() {
    let other = Runtime::builder().workers(1).build().unwrap();
    let found = reports(|| async {
        let mut set = JoinSet::new();
        set.spawn_on(async {}, &other.handle());
        set.join_next().await.unwrap().unwrap();
        let (_tx, rx) = unbounded::<u8>();
        set.spawn(async move { _ = rx.recv().await });
        set.join_next().await.unwrap().unwrap();
    });
    for report in found {
        says(&report, &["JoinNext<()> of 0x", "Recv<u8> of 0x"]);
    }
}
