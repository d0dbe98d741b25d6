//! The settings of a runtime do what they say.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::future::{Either, join, join_all, select};

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

/// The most operations in a poll, of a task that goes on until `last` of them are done and counts each.
async fn most<F>(last: u32, task: impl FnOnce(Arc<AtomicU32>) -> F) -> u32
where
    F: Future<Output: Send> + Send + 'static,
{
    let done = Arc::new(AtomicU32::new(0));
    tidings::spawn(task(Arc::clone(&done)));
    let (mut most, mut seen) = (0, 0);
    while seen < last {
        yield_now().await;
        let now = done.load(Ordering::Relaxed);
        most = most.max(now - seen);
        seen = now;
    }
    most
}

/// Receives so many that are there, and counts them.
async fn drain(n: u32, done: Arc<AtomicU32>) {
    let (tx, rx) = unbounded();
    (0..n).for_each(|n| tx.try_send(n).unwrap());
    for _ in 0..n {
        rx.recv().await.unwrap();
        done.fetch_add(1, Ordering::Relaxed);
    }
}

fn budget(operations: u32) -> Runtime {
    let builder = Runtime::builder().workers(1).budget(operations);
    builder.build().unwrap()
}

#[test]
fn a_poll_does_as_many_operations_as_it_may() {
    let _watchdog = watchdog();
    for operations in [1, 5, 100] {
        let most = run(&budget(operations), most(400, |done| drain(400, done)));
        assert_eq!(most, operations);
    }
}

#[test]
fn two_futures_of_one_task_do_in_a_poll_as_much_as_two_tasks_at_most() {
    let _watchdog = watchdog();
    for operations in [1, 5, 100] {
        let both = |done: Arc<_>| join(drain(400, Arc::clone(&done)), drain(400, done));
        let most = run(&budget(operations), most(800, both));
        assert!((operations..=2 * operations).contains(&most), "{most}");
    }
}

#[test]
fn many_futures_of_one_task_that_are_always_ready_all_go_on() {
    let _watchdog = watchdog();
    let each = [(); 30].map(|()| Arc::new(AtomicU32::new(0)));
    let all = each.clone().map(|done| drain(20_000, done));
    run(&budget(64), async move {
        let task = tidings::spawn(join_all(all));
        while each.iter().any(|done| done.load(Ordering::Relaxed) == 0) {
            yield_now().await;
        }
        let done = each.iter().map(|done| done.load(Ordering::Relaxed));
        assert!(done.sum::<u32>() < 1_000, "not one after the other");
        task.abort();
    });
}

/// A loop that looks at one which is always ready, and has been refused, again and again.
#[test]
fn a_loop_around_a_choice_of_futures_ends_its_poll_too() {
    let _watchdog = watchdog();
    for operations in [1, 5, 100] {
        let looks = |done: Arc<AtomicU32>| async move {
            let mut busy = pin!(drain(10_000, Arc::clone(&done)));
            loop {
                let one = pin!(drain(1, Arc::clone(&done)));
                match select(busy.as_mut(), one).await {
                    Either::Left(_) => break,
                    Either::Right(_) => {}
                }
            }
        };
        let most = run(&budget(operations), most(10_000, looks));
        assert!((operations..3 * operations).contains(&most), "{most}");
    }
}

#[test]
fn a_runtime_whose_threads_do_not_start_is_an_error() {
    let builder = Runtime::builder().workers(3);
    assert!(builder.thread_stack_size(1 << 60).build().is_err());
}
