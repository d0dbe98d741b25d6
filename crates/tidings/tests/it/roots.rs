//! Deadlocks of runtimes in whose `block_on` several threads are.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;

use crate::both::watchdog;
use crate::deadlock::{PATIENCE, goes_on};
use tidings::sched::{Runtime, Seeded};
use tidings::{Handle, after, oneshot, unbounded};

#[test]
fn what_waits_for_a_time_in_the_block_on_of_another_thread_is_no_deadlock() {
    goes_on(|| async {
        let ((tx, rx), (begins, begun)) = (oneshot(), mpsc::channel());
        let handle = Handle::current();
        thread::spawn(move || {
            handle.block_on(async {
                begins.send(()).unwrap();
                after(3 * PATIENCE).await;
                tx.send(7).unwrap();
            });
        });
        begun.recv().unwrap();
        rx.await.unwrap()
    });
}

#[test]
fn what_is_busy_or_waits_for_foreign_code_in_the_block_on_of_another_thread_is_no_deadlock() {
    for busy in [true, false] {
        goes_on(|| async move {
            let ((tx, rx), (begins, begun)) = (oneshot(), mpsc::channel());
            let (theirs, comes) = futures::channel::oneshot::channel();
            let handle = Handle::current();
            thread::spawn(move || {
                handle.block_on(async {
                    begins.send(()).unwrap();
                    if busy {
                        thread::sleep(3 * PATIENCE);
                    } else {
                        comes.await.unwrap();
                    }
                    tx.send(7).unwrap();
                });
            });
            begun.recv().unwrap();
            thread::spawn(move || {
                thread::sleep(3 * PATIENCE);
                let _ = theirs.send(());
            });
            rx.await.unwrap()
        });
    }
}

#[test]
fn threads_in_block_on_that_wait_for_each_other_are_told_of_in_one_report() {
    let _watchdog = watchdog();
    let threads = Runtime::builder().workers(2).watch_deadlocks(PATIENCE);
    let seam = Runtime::builder().seam(Seeded::new(7));
    for builder in [threads, seam.watch_deadlocks(PATIENCE)] {
        let runtime = builder.build().unwrap();
        let ((tx, rx), (theirs, waits)) = (unbounded::<u8>(), unbounded::<u16>());
        let (handle, (begins, begun)) = (runtime.handle(), mpsc::channel());
        let waits = async move {
            begins.send(()).unwrap();
            let _ = waits.recv().await;
            drop(tx);
        };
        let other = thread::spawn(move || handle.block_on(waits));
        begun.recv().unwrap();
        let waits = async {
            let _ = rx.recv().await;
            drop(theirs);
        };
        let ended = catch_unwind(AssertUnwindSafe(|| runtime.block_on(waits)));
        // Whoever tells of it first lets the other go on.
        let reports = [ended.err(), other.join().err()].map(|panic| {
            let report = panic.map(|panic| *panic.downcast::<String>().expect("a report"));
            report.unwrap_or_default()
        });
        let both = reports.iter().any(|report| {
            let words = [
                "future of block_on waits for",
                "future of another block_on waits for",
            ];
            words.iter().all(|words| report.contains(words))
        });
        assert!(both, "{reports:?}");
    }
}
