//! The settings of a runtime do what they say.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::future::join;

use crate::both::{run, watchdog};
use tidings::{Runtime, unbounded, yield_now};

#[test]
fn a_worker_has_the_stack_that_it_was_given() {
    /// So many frames of four KiB and more.
    fn deep(n: u32) -> u32 {
        let frame = std::hint::black_box([n; 1024]);
        match n {
            0 => frame[7],
            n => 1 + deep(n - 1) + frame[n as usize % 1024] - n,
        }
    }
    let _watchdog = watchdog();
    let builder = Runtime::builder().workers(1);
    let rt = builder.thread_stack_size(64 << 20).build().unwrap();
    assert_eq!(run(&rt, async { deep(4_000) }), 4_000);
}

#[test]
fn a_poll_does_as_many_operations_as_it_may() {
    let _watchdog = watchdog();
    for budget in [1, 5, 100] {
        let builder = Runtime::builder().workers(1);
        let rt = builder.budget(budget).build().unwrap();
        let most = run(&rt, async move {
            let (tx, rx) = unbounded();
            (0..400).for_each(|n| tx.try_send(n).unwrap());
            let done = Arc::new(AtomicU32::new(0));
            let counted = Arc::clone(&done);
            tidings::spawn(async move {
                while rx.recv().await.is_ok() {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            });
            let (mut most, mut last) = (0, 0);
            while last < 400 {
                yield_now().await;
                let now = done.load(Ordering::Relaxed);
                most = most.max(now - last);
                last = now;
            }
            most
        });
        assert_eq!(most, budget);
    }
}

/// Two futures of one task have a budget each, at most: who is refused leaves no more than that to the other.
#[test]
fn two_futures_of_one_task_do_as_many_operations_in_a_poll_as_they_may() {
    let _watchdog = watchdog();
    for budget in [1, 5, 100] {
        let builder = Runtime::builder().workers(1);
        let rt = builder.budget(budget).build().unwrap();
        let most = run(&rt, async move {
            let done = Arc::new(AtomicU32::new(0));
            let drain = || {
                let (tx, rx) = unbounded();
                (0..400).for_each(|n| tx.try_send(n).unwrap());
                let counted = Arc::clone(&done);
                async move {
                    let _open = tx;
                    for _ in 0..400 {
                        rx.recv().await.unwrap();
                        counted.fetch_add(1, Ordering::Relaxed);
                    }
                }
            };
            tidings::spawn(join(drain(), drain()));
            let (mut most, mut last) = (0, 0);
            while last < 800 {
                yield_now().await;
                let now = done.load(Ordering::Relaxed);
                most = most.max(now - last);
                last = now;
            }
            most
        });
        assert!((budget..=2 * budget).contains(&most), "{most} of {budget}");
    }
}

#[test]
fn a_runtime_whose_threads_do_not_start_is_an_error() {
    let builder = Runtime::builder().workers(3);
    assert!(builder.thread_stack_size(1 << 60).build().is_err());
}
