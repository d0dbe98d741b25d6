//! may: stackful coroutines on a work-stealing scheduler, blocking calls, unbounded channels.

mod chain;
mod counter;
mod echo;
mod fan;
mod pingpong;
mod skynet;
mod spawn;

use crate::cells::{Cell, Cells, Counts, Fault, Outcome, Params, Sample, Stopwatch};
use crate::sizes::within;
use may::coroutine::{self, JoinHandle};
use may::sync::mpsc::{Receiver, Sender};
use std::sync::OnceLock;
use std::time::Duration;

/// Stacks kept for the next coroutine. The default of 100 has most of them mapped anew.
const POOL: i64 = 10_000;

/// Starts a coroutine.
fn go<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    // SAFETY: nothing here keeps a thread-local across a blocking call, and no body comes near
    // the end of its stack.
    unsafe { coroutine::spawn(body) }
}

fn join<T>(handle: JoinHandle<T>) -> Result<T, Fault> {
    handle
        .join()
        .map_err(|_| Fault::bug("a coroutine panicked"))
}

fn push<T>(to: &Sender<T>, value: T) {
    assert!(to.send(value).is_ok(), "nobody receives");
}

fn take<T>(from: &Receiver<T>) -> T {
    from.recv().expect("a sender is here")
}

fn lost() -> Fault {
    Fault::bug("a coroutine was lost")
}

/// Sets the workers up, which is possible once in a process.
fn set_up(params: Params) -> Result<(), Fault> {
    static THREADS: OnceLock<i64> = OnceLock::new();
    let threads = *THREADS.get_or_init(|| {
        let config = may::config();
        config.set_workers(params.threads as usize);
        config.set_pool_capacity(most_stacks().min(POOL) as usize);
        params.threads
    });
    if threads != params.threads {
        let why = format!("this process has {threads} workers for its life");
        return Err(Fault::Limit(why));
    }
    // The first coroutine makes the scheduler and its stacks.
    join(go(|| ()))
}

/// How many stacks the kernel gives: each is a mapping and its guard.
fn most_stacks() -> i64 {
    let setting = std::fs::read_to_string("/proc/sys/vm/max_map_count");
    let maps = setting.ok().and_then(|maps| maps.trim().parse().ok());
    (maps.unwrap_or(65_530) - 2000) / 2
}

/// Refuses more coroutines at once than there can be stacks.
fn stacks(coroutines: i64) -> Result<(), Fault> {
    let most = most_stacks();
    within(&[("coroutines at once", coroutines, most)]).map_err(|fault| match fault {
        Fault::Limit(why) => Fault::Limit(format!("{why}, by vm.max_map_count")),
        other => other,
    })
}

/// Runs a sample in a coroutine.
fn sample(run: impl Fn(i64) -> Outcome + Send + Clone + 'static) -> Sample {
    Box::new(move |inner| {
        let run = run.clone();
        join(go(move || run(inner)))?
    })
}

/// Times all of a scenario.
fn repeat<S>(params: Params, scenario: S) -> Result<Sample, Fault>
where
    S: Fn() -> Result<Counts, Fault> + Send + Clone + 'static,
{
    set_up(params)?;
    Ok(sample(move |inner| {
        let mut total = Counts::default();
        let watch = Stopwatch::start();
        for _ in 0..inner {
            total += scenario()?;
        }
        Ok((watch.stop(), total))
    }))
}

/// For a scenario that times a part of itself.
fn repeat_timed<S>(params: Params, scenario: S) -> Result<Sample, Fault>
where
    S: Fn() -> Outcome + Send + Clone + 'static,
{
    set_up(params)?;
    Ok(sample(move |inner| {
        let (mut time, mut total) = (Duration::ZERO, Counts::default());
        for _ in 0..inner {
            let (elapsed, counts) = scenario()?;
            time += elapsed;
            total += counts;
        }
        Ok((time, total))
    }))
}

pub(crate) fn kind(threads: usize) -> String {
    let words = may::config().get_stack_size();
    let stack = words * size_of::<usize>() / 1024;
    format!("workers: {threads}, stacks of {stack} KiB")
}

pub(crate) fn cells() -> Cells {
    Cells::from([
        ("pingpong/tell", (|p| pingpong::tell(p, 1)) as Cell),
        ("pingpong/tell-w100", |p| pingpong::tell(p, 100)),
        ("pingpong/tell-w1000", |p| pingpong::tell(p, 1000)),
        ("pingpong/tell-fixed", pingpong::fixed),
        ("pingpong/call-send", echo::call),
        ("chain/struct", chain::cell),
        ("fan/struct", fan::cell),
        ("counter/send", |p| counter::cell(p, false)),
        ("counter/ask-each", |p| counter::cell(p, true)),
        ("skynet/tree-ch", |p| skynet::cell(p, false)),
        ("skynet/alive", |p| skynet::cell(p, true)),
        ("spawn/detached", spawn::detached),
        ("spawn/joined", spawn::joined),
        ("net/local", echo::net),
    ])
}
