//! Real threads, real time, everything at once: nothing is lost, nothing hangs, nothing leaks.
//!
//! `TIDINGS_STRESS_SECS` says how long each test runs (2 by default). Without libtest, whose own
//! threads ThreadSanitizer does not understand; arguments are parts of names of tests.

#[path = "laws/dice.rs"]
mod dice;
#[path = "stress/load.rs"]
mod load;
#[path = "stress/runner.rs"]
mod runner;
#[path = "stress/soak.rs"]
mod soak;
#[cfg(target_os = "linux")]
#[path = "stress/stalls.rs"]
mod stalls;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dice::Dice;
use load::{Ledger, any_channel, receiver, sender, swapper};
use runner::{PROGRESS, budget, tests, watched};
use tidings::channel::dead_letters;
use tidings::sched::Handle;
use tidings::{JoinHandle, Runtime, Sender, oneshot, unbounded, yield_now};

fn main() -> ExitCode {
    runner::run(tests![
        everything_at_once_on_one_worker,
        everything_at_once_on_two_workers,
        everything_at_once_on_eight_workers,
        spawn_storms_on_fresh_runtimes_lose_no_task,
        a_runtime_that_ends_amid_the_work_of_others_leaves_nothing,
        soak::a_mixed_load_leaves_nothing_behind,
    ])
}

/// A round: tasks, threads, aborts; then the books must balance.
fn round(workers: usize, mut dice: Dice) {
    let ledger = Arc::new(Ledger::default());
    let dead_before = dead_letters();
    let rt = Runtime::builder().workers(workers).build().unwrap();
    let mut tasks: Vec<JoinHandle<()>> = Vec::new();
    let mut threads = Vec::new();
    let aborts = dice.below(3);
    let awaited = dice.below(4) > 0;
    let loose = aborts == 0 && awaited;
    for _ in 0..1 + dice.below(3) {
        let (a, b) = (any_channel(&mut dice), any_channel(&mut dice));
        for _ in 0..1 + dice.below(4) {
            let n = 20 + dice.below(100);
            let both = (a.0.clone(), b.0.clone());
            tasks.push(rt.spawn(sender(both, Arc::clone(&ledger), n, loose, dice.split())));
        }
        for _ in 0..1 + dice.below(4) {
            let receiver = receiver(a.1.clone(), b.1.clone(), dice.split());
            if dice.below(5) == 0 {
                threads.push(std::thread::spawn(|| futures::executor::block_on(receiver)));
            } else {
                tasks.push(rt.spawn(receiver));
            }
        }
    }
    let (tx, rx) = any_channel(&mut dice);
    for _ in 0..4 {
        tasks.push(rt.spawn(swapper(tx.clone(), rx.clone(), Arc::clone(&ledger), 50)));
    }
    drop((tx, rx));
    for _ in 0..aborts * 3 {
        std::thread::sleep(Duration::from_micros(dice.below(400)));
        if tasks.is_empty() {
            break;
        }
        let index = dice.below(tasks.len() as u64) as usize;
        if dice.below(2) == 0 {
            tasks[index].abort();
        } else {
            drop(tasks.swap_remove(index));
        }
    }
    if awaited {
        rt.block_on(async {
            for task in tasks.drain(..) {
                if let Err(error) = task.await {
                    assert!(error.is_cancelled(), "{error}");
                }
            }
        });
    }
    drop(tasks);
    drop(rt);
    for thread in threads {
        thread.join().unwrap();
    }
    let count = |count: &AtomicU64| count.load(Ordering::SeqCst);
    let (made, dropped) = (count(&ledger.made), count(&ledger.dropped));
    let (received, returned) = (count(&ledger.received), count(&ledger.returned));
    let dead = dead_letters() - dead_before;
    assert_eq!(
        made,
        received + returned + dead,
        "{received} + {returned} + {dead}"
    );
    assert_eq!(made, dropped, "letters leak");
    assert_eq!(Arc::strong_count(&ledger), 1);
}

fn rounds(name: &'static str, workers: usize) {
    let _watched = watched(name);
    let end = Instant::now() + budget();
    let mut seed = u64::from(std::process::id()) << 20;
    while Instant::now() < end {
        seed += 1;
        println!("{name}: seed {seed}");
        round(workers, Dice(seed));
        PROGRESS.fetch_add(1, Ordering::Relaxed);
    }
}

fn everything_at_once_on_one_worker() {
    rounds("everything_at_once_on_one_worker", 1);
}

fn everything_at_once_on_two_workers() {
    rounds("everything_at_once_on_two_workers", 2);
}

fn everything_at_once_on_eight_workers() {
    rounds("everything_at_once_on_eight_workers", 8);
}

/// A task that spawns until `depth`; all report.
fn tree(handle: Handle, depth: u32, done: Sender<()>) {
    let inner = handle.clone();
    drop(handle.spawn(async move {
        if depth > 0 {
            for _ in 0..3 {
                tree(inner.clone(), depth - 1, done.clone());
            }
        }
        yield_now().await;
        done.send(()).await.ok();
    }));
}

fn spawn_storms_on_fresh_runtimes_lose_no_task() {
    let _watched = watched("spawn_storms_on_fresh_runtimes_lose_no_task");
    let end = Instant::now() + budget();
    for workers in [1, 2, 8].into_iter().cycle() {
        if Instant::now() >= end {
            break;
        }
        let rt = Runtime::builder().workers(workers).build().unwrap();
        let (tx, rx) = unbounded();
        let storms: Vec<_> = (0..4)
            .map(|_| {
                let (handle, tx) = (rt.handle(), tx.clone());
                std::thread::spawn(move || {
                    tree(handle.clone(), 4, tx);
                    let (give, take) = oneshot();
                    drop(handle.spawn_blocking(move || give.send(1).unwrap()));
                    assert_eq!(take.recv_blocking(), Ok(1));
                })
            })
            .collect();
        drop(tx);
        let mut n = 0;
        while rx.recv_blocking().is_ok() {
            PROGRESS.fetch_add(1, Ordering::Relaxed);
            n += 1;
        }
        assert_eq!(n, 4 * (1 + 3 + 9 + 27 + 81));
        for storm in storms {
            storm.join().unwrap();
        }
    }
}

fn a_runtime_that_ends_amid_the_work_of_others_leaves_nothing() {
    let _watched = watched("a_runtime_that_ends_amid_the_work_of_others_leaves_nothing");
    let end = Instant::now() + budget();
    let mut dice = Dice(u64::from(std::process::id()));
    while Instant::now() < end {
        let ledger = Arc::new(Ledger::default());
        let stays = Runtime::builder().workers(2).build().unwrap();
        let goes = Runtime::builder()
            .workers(1 + dice.below(3) as usize)
            .build()
            .unwrap();
        let (tx, rx) = any_channel(&mut dice);
        let mut tasks = Vec::new();
        for n in 0..6 {
            let rt = if n % 2 == 0 { &stays } else { &goes };
            let (d, e) = (dice.split(), dice.split());
            let both = (tx.clone(), tx.clone());
            tasks.push(rt.spawn(sender(both, Arc::clone(&ledger), 200, true, d)));
            tasks.push(rt.spawn(receiver(rx.clone(), rx.clone(), e)));
        }
        drop((tx, rx));
        std::thread::sleep(Duration::from_micros(dice.below(3000)));
        drop(goes);
        stays.block_on(async {
            for task in tasks {
                if let Err(error) = task.await {
                    assert!(error.is_cancelled(), "{error}");
                }
                PROGRESS.fetch_add(1, Ordering::Relaxed);
            }
        });
        drop(stays);
        let made = ledger.made.load(Ordering::SeqCst);
        assert_eq!(made, ledger.dropped.load(Ordering::SeqCst), "letters leak");
    }
}
