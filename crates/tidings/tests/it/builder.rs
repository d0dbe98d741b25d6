//! The settings of a runtime do what they say.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

use futures::future::{Either, join, join_all, select};

use crate::both::{run, watchdog};
use tidings::sched::Seeded;
use tidings::time::timeout;
use tidings::{Runtime, unbounded, yield_now};

/// So many frames of four KiB and more.
fn deep(n: u32) -> u32 {
    let frame = std::hint::black_box([n; 1024]);
    match n {
        0 => frame[7],
        n => 1 + deep(n - 1) + frame[n as usize % 1024] - n,
    }
}

#[test]
fn a_worker_has_the_stack_that_it_was_given() {
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

/// Has always something to do, and counts it.
async fn busy(done: Arc<AtomicU32>) {
    let (tx, rx) = unbounded();
    loop {
        tx.try_send(1).unwrap();
        rx.recv().await.unwrap();
        done.fetch_add(1, Ordering::Relaxed);
    }
}

/// Do more of them than can have some of the budget in a poll all go on, and a timeout behind them, if time goes by?
async fn all_go_on(operations: u32, timed: bool) {
    for more in [1, 40] {
        let each: Vec<_> = (0..=operations + more).map(|_| Arc::default()).collect();
        let mut all = Box::pin(join_all(each.iter().map(|done| busy(Arc::clone(done)))));
        while each.iter().any(|done| done.load(Ordering::Relaxed) == 0) {
            assert!(futures::poll!(all.as_mut()).is_pending());
            yield_now().await;
        }
        if timed {
            assert!(timeout(Duration::from_millis(1), all).await.is_err());
        }
    }
}

#[test]
fn more_futures_of_one_task_than_its_budget_all_go_on_and_so_does_a_timeout_behind_them() {
    let _watchdog = watchdog();
    for operations in [1, 2, 5, 128] {
        let rt = budget(operations);
        run(&rt, all_go_on(operations, true));
        rt.block_on(all_go_on(operations, true));
        let local = async move { tidings::spawn_local(all_go_on(operations, true)).await };
        rt.block_on(local).unwrap();
        // There the time stands still meanwhile.
        let seam = Runtime::builder().seam(Seeded::new(7)).budget(operations);
        run(&seam.build().unwrap(), all_go_on(operations, false));
    }
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
fn a_thread_for_blocking_work_has_the_stack_that_it_was_given() {
    let _watchdog = watchdog();
    let builder = Runtime::builder().workers(1);
    let rt = builder.thread_stack_size(64 << 20).build().unwrap();
    let work = rt.spawn_blocking(|| deep(4_000));
    assert_eq!(rt.block_on(work).unwrap(), 4_000);
}

fn name() -> String {
    thread::current().name().unwrap().to_owned()
}

#[test]
fn threads_have_the_runtimes_name_and_numbers_of_their_own() {
    let _watchdog = watchdog();
    for (called, worker, blocking) in [
        (Some("mine"), "mine-0", "mine-blocking"),
        (None, "tidings-worker-0", "tidings-blocking"),
    ] {
        let builder = Runtime::builder().workers(1);
        let builder = match called {
            Some(called) => builder.name(called),
            None => builder,
        };
        let rt = builder.thread_keep_alive(Duration::ZERO).build().unwrap();
        assert_eq!(run(&rt, async { name() }), worker);
        // So many at once, and again when those may have ended.
        let mut names = HashSet::new();
        for _ in 0..2 {
            let all = Arc::new(Barrier::new(3));
            let works = [(); 3].map(|()| {
                let all = Arc::clone(&all);
                rt.spawn_blocking(move || {
                    all.wait();
                    (name(), thread::current().id())
                })
            });
            for work in works {
                names.insert(rt.block_on(work).unwrap());
            }
        }
        let mut apart: Vec<String> = names.into_iter().map(|(name, _)| name).collect();
        let threads = apart.len();
        apart.sort_unstable();
        apart.dedup();
        assert_eq!(apart.len(), threads, "{apart:?}");
        assert!(
            apart.iter().all(|name| name.starts_with(blocking)),
            "{apart:?}"
        );
    }
}

#[test]
fn each_thread_calls_what_it_is_to_call_once_as_it_starts_and_once_as_it_stops() {
    let _watchdog = watchdog();
    let (told, tells) = mpsc::channel();
    let tell = |what: &'static str| {
        let told = told.clone();
        move || {
            told.send((name(), what)).unwrap();
            panic!("of which nobody hears");
        }
    };
    let builder = Runtime::builder().workers(2).on_thread_start(tell("start"));
    let rt = builder.on_thread_stop(tell("stop")).build().unwrap();
    run(&rt, async {
        tidings::spawn_blocking(|| ()).await.unwrap();
    });
    drop(rt);
    // All of it: who has it is gone.
    drop(told);
    let mut all: Vec<_> = tells.into_iter().collect();
    for at in ["tidings-worker-0", "tidings-worker-1", "tidings-blocking-0"] {
        let its: Vec<_> = all.extract_if(.., |(name, _)| name == at).collect();
        assert_eq!(
            its.iter().map(|its| its.1).collect::<Vec<_>>(),
            ["start", "stop"]
        );
    }
    assert!(all.is_empty(), "{all:?}");
}

#[test]
fn a_thread_for_blocking_work_is_kept_as_long_as_it_is_to_be() {
    let _watchdog = watchdog();
    for (time, ends) in [(Duration::ZERO, true), (Duration::from_secs(3600), false)] {
        let (told, tells) = mpsc::channel();
        let stop = move || _ = told.send(name());
        let builder = Runtime::builder().workers(1).thread_keep_alive(time);
        // One: work is done before its thread is free, and what comes between is to wait for that.
        let builder = builder.blocking_threads(1).on_thread_stop(stop);
        let rt = builder.build().unwrap();
        let work = || rt.block_on(rt.spawn_blocking(name)).unwrap();
        let worked = work();
        if ends {
            assert_eq!(tells.recv().unwrap(), worked);
            assert_ne!(work(), worked);
        } else {
            // Often: one that ends at once might be just in time for some.
            (0..100).for_each(|_| assert_eq!(work(), worked));
            assert!(tells.try_recv().is_err());
        }
    }
}

#[test]
fn a_runtime_whose_threads_do_not_start_is_an_error() {
    let builder = Runtime::builder().workers(3);
    assert!(builder.thread_stack_size(usize::MAX / 2).build().is_err());
}

#[test]
fn a_name_that_no_thread_can_have_is_an_error() {
    let named = Runtime::builder().name("a\0b").workers(1).build();
    assert_eq!(named.unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
}
