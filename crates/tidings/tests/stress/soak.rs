//! A mixed load, round after round: channels of all kinds, choices, timers, tasks that are
//! aborted, blocking work, scopes, locks, other executors, and workers that are stopped anywhere.
//! At the end of each round nothing is left: no letter, no task, no waiter.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tidings::sync::{Barrier, Mutex, Notify, Semaphore};
use tidings::task::trim;
use tidings::time::interval;
use tidings::{Event, JoinSet, Receiver, Runtime, Sender, after, scope, spawn_blocking, yield_now};

use super::dice::Dice;
use super::load::{Ledger, Letter, any_channel, receiver, sender};
use super::runner::{PROGRESS, budget, watched};

/// Workers of a round, in turn: far more than there are cores, too.
const WORKERS: &[usize] = &[64, 1, 2, 8];

/// Counts the tasks that exist, by a guard in each.
#[derive(Clone, Default)]
struct Live(Arc<AtomicU64>);

impl Live {
    fn task(&self) -> Here {
        self.0.fetch_add(1, Ordering::SeqCst);
        Here(self.clone())
    }
}

struct Here(Live);

impl Drop for Here {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
        PROGRESS.fetch_add(1, Ordering::Relaxed);
    }
}

/// Deadlines: most are cancelled by what comes before them.
async fn timers(_here: Here, mut dice: Dice) {
    let (tx, rx) = any_channel(&mut dice);
    let ledger = Arc::new(Ledger::default());
    let mut ticks = interval(Duration::from_micros(100 + dice.below(2000)));
    for _ in 0..20 {
        let long = Duration::from_secs(3600);
        let short = Duration::from_micros(dice.below(800));
        match dice.below(4) {
            0 => after(long).or(after(short)).await,
            1 => drop(ticks.tick().await),
            2 => {
                let letter = Letter::new(&ledger);
                drop(tx.send(letter).timeout(short).await);
            }
            _ => {
                if let Ok(Ok(letter)) = rx.recv().timeout(short).await {
                    letter.receive();
                }
            }
        }
    }
}

/// Tasks that start tasks, some of which are aborted at any moment.
async fn aborts(here: Here, mut dice: Dice) {
    let mut set = JoinSet::new();
    let mut aborted = 0;
    for _ in 0..40 {
        let (child, turns) = (here.0.task(), dice.below(5));
        set.spawn(async move {
            let _child = child;
            for _ in 0..turns {
                yield_now().await;
            }
        });
        if dice.below(8) == 0 {
            set.spawn(timers(here.0.task(), dice.split())).abort();
            aborted += 1;
        }
    }
    if dice.below(2) == 0 {
        set.shutdown().await;
        return;
    }
    while let Some(ended) = set.join_next().await {
        if let Err(error) = ended {
            assert!(error.is_cancelled(), "{error}");
            aborted -= 1;
        }
    }
    assert!(aborted >= 0, "a task is cancelled that nobody has aborted");
}

/// Children of scopes, nested, and work that blocks.
async fn scopes(here: Here, mut dice: Dice) {
    for _ in 0..5 {
        let done = Arc::new(AtomicU64::new(0));
        let (live, count) = (here.0.clone(), Arc::clone(&done));
        let inner = dice.split();
        scope(|s| async move {
            for n in 0..4 {
                let (child, count) = (live.task(), Arc::clone(&count));
                let d = inner.clone().below(200);
                s.spawn(async move {
                    let _child = child;
                    after(Duration::from_micros(d * n)).await;
                    let job = spawn_blocking(move || count.fetch_add(1, Ordering::SeqCst));
                    job.await.expect("no panic");
                });
            }
        })
        .await;
        assert_eq!(
            done.load(Ordering::SeqCst),
            4,
            "a scope ended before its children"
        );
    }
}

/// What many tasks share.
struct Shared {
    sum: Mutex<u64>,
    permits: Semaphore,
    barrier: Barrier,
    notify: Notify,
}

/// Locks: each of `n` tasks adds 20, and all meet at the end.
async fn locks(_here: Here, shared: Arc<Shared>, mut dice: Dice) {
    for _ in 0..20 {
        let short = Duration::from_micros(dice.below(100));
        let permit = shared.permits.acquire(1 + dice.below(2) as usize).await;
        if dice.below(3) == 0 {
            let _ = shared.notify.notified().timeout(short).await;
        } else {
            shared.notify.notify_one();
        }
        drop(shared.sum.lock().timeout(short).await);
        *shared.sum.lock().await += 1;
        drop(permit);
    }
    shared.barrier.wait().await;
}

/// The two sides of a channel on two other executors.
fn elsewhere(
    here: Here,
    ledger: &Arc<Ledger>,
    dice: &mut Dice,
) -> Vec<std::thread::JoinHandle<()>> {
    let ((a, b), (c, d)) = (any_channel(dice), any_channel(dice));
    let sends = sender((a, c), Arc::clone(ledger), 60, false, dice.split());
    let receives = receiver(b, d, dice.split());
    let also_here = here.0.task();
    vec![
        std::thread::spawn(move || {
            let tokio = tokio::runtime::Builder::new_current_thread().build();
            tokio.expect("a runtime").block_on(sends);
            drop(here);
        }),
        std::thread::spawn(move || {
            futures::executor::block_on(receives);
            drop(also_here);
        }),
    ]
}

/// Nobody waits on the channel.
fn assert_no_waiters(tx: &Sender<Letter>, rx: &Receiver<Letter>) {
    let text = format!("{tx:?} {rx:?}");
    for side in ["senders_waiting: 0", "receivers_waiting: 0"] {
        assert_eq!(text.matches(side).count(), 2, "{text}");
    }
}

fn round(workers: usize, mut dice: Dice) {
    let (ledger, live) = (Arc::new(Ledger::default()), Live::default());
    let rt = Runtime::builder().workers(workers).build().unwrap();
    let mut tasks = Vec::new();
    let mut threads = Vec::new();
    let pairs: Vec<_> = (0..3).map(|_| any_channel(&mut dice)).collect();
    for (n, (tx, rx)) in pairs.iter().enumerate() {
        let (other_tx, other_rx) = &pairs[(n + 1) % pairs.len()];
        for _ in 0..3 {
            let both = (tx.clone(), other_tx.clone());
            let sends = sender(both, Arc::clone(&ledger), 60, false, dice.split());
            let receives = receiver(rx.clone(), other_rx.clone(), dice.split());
            let (a, b) = (live.task(), live.task());
            tasks.push(rt.spawn(async move {
                let _here = a;
                sends.await;
            }));
            // Ends with the channels, which are closed below.
            tasks.push(rt.spawn(async move {
                let _here = b;
                receives.await;
            }));
        }
    }
    let shared = Arc::new(Shared {
        sum: Mutex::new(0),
        permits: Semaphore::new(3),
        barrier: Barrier::new(4),
        notify: Notify::new(),
    });
    for _ in 0..4 {
        tasks.push(rt.spawn(timers(live.task(), dice.split())));
        tasks.push(rt.spawn(aborts(live.task(), dice.split())));
        tasks.push(rt.spawn(scopes(live.task(), dice.split())));
        tasks.push(rt.spawn(locks(live.task(), Arc::clone(&shared), dice.split())));
    }
    threads.append(&mut elsewhere(live.task(), &ledger, &mut dice));
    std::thread::sleep(Duration::from_micros(dice.below(20_000)));
    for (tx, _) in &pairs {
        tx.close();
    }
    rt.block_on(async {
        for task in tasks {
            task.await.expect("no panic");
        }
    });
    assert_eq!(rt.block_on(async { *shared.sum.lock().await }), 80);
    for thread in threads {
        thread.join().unwrap();
    }
    for (tx, rx) in &pairs {
        assert_no_waiters(tx, rx);
    }
    drop(pairs);
    drop(rt);
    assert_eq!(live.0.load(Ordering::SeqCst), 0, "tasks leak");
    let [made, dropped] = [&ledger.made, &ledger.dropped].map(|n| n.load(Ordering::SeqCst));
    assert_eq!(made, dropped, "letters leak");
    assert_eq!(Arc::strong_count(&ledger), 1);
}

/// Kilobytes of memory in use, where the system says it.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0) * 4
}

pub(super) fn a_mixed_load_leaves_nothing_behind() {
    let name = "a_mixed_load_leaves_nothing_behind";
    let _watched = watched(name);
    let mut seed = u64::from(std::process::id()) << 20;
    #[cfg(target_os = "linux")]
    let stalls = super::stalls::Stalls::new(Dice(seed));
    let end = Instant::now() + budget();
    let mut memory = Vec::new();
    for &workers in WORKERS.iter().cycle() {
        if Instant::now() >= end && memory.len() >= WORKERS.len() {
            break;
        }
        seed += 1;
        round(workers, Dice(seed));
        trim();
        memory.push(resident());
    }
    #[cfg(target_os = "linux")]
    println!("{name}: workers were stopped {} times", stalls.end());
    // For a reader: the kernel's counts are not ours to assert.
    let quarter = memory.len().div_ceil(4);
    let mean = |part: &[u64]| part.iter().sum::<u64>() / part.len() as u64;
    println!(
        "{name}: {} rounds, seeds up to {seed}; {} kB in use in the first quarter, {} in the last",
        memory.len(),
        mean(&memory[..quarter]),
        mean(&memory[memory.len() - quarter..]),
    );
}
