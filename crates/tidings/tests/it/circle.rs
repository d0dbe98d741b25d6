//! Tasks that wait for each other's ends are told of though others run, and no others are.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::both::watchdog;
use crate::deadlock::says;
use futures::future::{Either, select as either};
use futures::poll;
use tidings::sched::Runtime;
use tidings::task::named;
use tidings::{
    Event, JoinHandle, after, oneshot, select, spawn, spawn_local, unbounded, yield_now,
};

const PATIENCE: Duration = Duration::from_millis(100);
const SOON: Duration = Duration::from_millis(1);

fn watching() -> Runtime {
    let builder = Runtime::builder().workers(2);
    builder.watch_deadlocks(PATIENCE).build().unwrap()
}

type Waits = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Tasks named `task 0`, .., each of which does with the handle of the next what `join` says; the last has the first.
fn circle(
    n: usize,
    start: fn(Waits) -> JoinHandle<()>,
    join: impl Fn(usize, JoinHandle<()>) -> Waits + Clone + Send + 'static,
) {
    let (mut given, mut tasks) = (Vec::new(), Vec::new());
    for index in 0..n {
        let (give, take) = oneshot::<JoinHandle<()>>();
        given.push(give);
        let join = join.clone();
        let task = async move {
            let next = take.await.unwrap();
            join(index, next).await;
        };
        tasks.push(start(Box::pin(named(format!("task {index}"), task))));
    }
    tasks.rotate_left(1);
    for (give, task) in given.into_iter().zip(tasks) {
        give.send(task).unwrap();
    }
}

fn just_awaits(_: usize, task: JoinHandle<()>) -> Waits {
    Box::pin(async { task.await.unwrap() })
}

fn joins(_: usize, mut task: JoinHandle<()>) -> Waits {
    Box::pin(async move { task.join().await.unwrap() })
}

/// Others run for ever, this future too.
async fn goes_on() {
    drop(spawn(async {
        loop {
            after(SOON).await;
        }
    }));
    loop {
        after(SOON).await;
    }
}

#[test]
fn tasks_that_wait_for_each_others_ends_are_told_though_others_run() {
    let _watchdog = watchdog();
    let starts: [fn(Waits) -> JoinHandle<()>; 2] = [spawn, spawn_local];
    for start in starts {
        for n in [1, 2, 5] {
            let ended = catch_unwind(AssertUnwindSafe(|| {
                watching().block_on(async {
                    circle(n, start, if n == 2 { joins } else { just_awaits });
                    goes_on().await;
                });
            }));
            let report = *ended.unwrap_err().downcast::<String>().unwrap();
            says(&report, &["deadlock: tasks wait for each other's ends"]);
            for task in 0..n {
                let waits = format!("the task \"task {task}\" started at ");
                let next = format!("waits for the end of the task \"task {}\"", (task + 1) % n);
                let line = report.lines().find(|line| line.trim().starts_with(&waits));
                assert!(line.is_some_and(|line| line.contains(&next)), "{report}");
            }
            assert_eq!(report.lines().count(), 1 + n, "{report}");
        }
    }
}

#[test]
fn who_waits_for_those_in_a_circle_is_not_of_it() {
    let _watchdog = watchdog();
    let ended = catch_unwind(AssertUnwindSafe(|| {
        watching().block_on(async {
            let (give, take) = oneshot::<JoinHandle<()>>();
            let task = spawn(async { take.await.unwrap().await.unwrap() });
            // It is no circle yet.
            let waits = spawn(named("outside", async { task.await.unwrap() }));
            drop(spawn(named("beside", async { waits.await.unwrap() })));
            circle(2, spawn, just_awaits);
            drop(give);
            goes_on().await;
        });
    }));
    let report = *ended.unwrap_err().downcast::<String>().unwrap();
    assert!(!report.contains("side\""), "{report}");
}

/// In a circle of two, of whom the second waits as `joins` says, for longer than the runtime is patient.
fn ends(waits: impl Fn(JoinHandle<()>) -> Waits + Clone + Send + 'static) {
    let _watchdog = watchdog();
    watching().block_on(async {
        let (done, is_done) = unbounded();
        circle(2, spawn, move |index, task| match index {
            0 => Box::pin(async { _ = task.await }),
            _ => {
                let (waits, done) = (waits.clone(), done.clone());
                Box::pin(async move {
                    waits(task).await;
                    done.try_send(()).unwrap();
                })
            }
        });
        is_done.recv().await.unwrap();
    });
}

#[test]
fn what_something_else_may_end_is_no_circle() {
    // By the time.
    ends(|mut task| Box::pin(async move { _ = task.join().timeout(3 * PATIENCE).await }));
    // A choice.
    ends(|mut task| {
        let (tell, told) = unbounded();
        drop(spawn(async move {
            after(3 * PATIENCE).await;
            tell.try_send(()).unwrap();
        }));
        Box::pin(async move {
            select! {
                _ = task.join() => unreachable!(),
                told = told.recv() => told.unwrap(),
            }
        })
    });
    // Foreign code.
    ends(|task| {
        let (tell, told) = futures::channel::oneshot::channel();
        drop(spawn(async move {
            after(3 * PATIENCE).await;
            tell.send(()).unwrap();
        }));
        Box::pin(async move {
            let Either::Right(told) = either(task, told).await else {
                unreachable!()
            };
            told.0.unwrap();
        })
    });
    // It does something else.
    ends(|mut task| {
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        drop(spawn(async move {
            after(3 * PATIENCE).await;
            over.store(true, Ordering::Release);
        }));
        Box::pin(async move {
            assert!(poll!(&mut task).is_pending());
            while !is_over.load(Ordering::Acquire) {
                yield_now().await;
            }
        })
    });
    // An abort.
    ends(|task| {
        let abort = task.abort_handle();
        drop(spawn(async move {
            after(3 * PATIENCE).await;
            abort.abort();
        }));
        Box::pin(async { _ = task.await })
    });
}
