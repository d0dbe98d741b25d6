//! Real threads, real time, everything at once: nothing is lost, nothing hangs, nothing leaks.
//!
//! `TIDINGS_STRESS_SECS` says how long each test runs (2 by default).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::StreamExt;
use tidings::channel::dead_letters;
use tidings::sched::Handle;
use tidings::{
    Either, Event, JoinHandle, Receiver, Runtime, Sender, after, bounded, channel, choose, oneshot,
    unbounded, yield_now,
};

/// No progress for so long is a hang.
const HANG: Duration = Duration::from_secs(60);

/// One test at a time: dead letters are counted for the whole process.
static ONE: Mutex<()> = Mutex::new(());
/// Counts what has happened, for the watchdog.
static PROGRESS: AtomicU64 = AtomicU64::new(0);

fn budget() -> Duration {
    let secs = std::env::var("TIDINGS_STRESS_SECS").ok();
    Duration::from_secs(secs.and_then(|secs| secs.parse().ok()).unwrap_or(2))
}

/// Enters the test alone, with a thread that ends the process when nothing happens any more.
fn alone(name: &'static str) -> (MutexGuard<'static, ()>, std::sync::mpsc::Sender<()>) {
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (alive, gone) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        let mut seen = u64::MAX;
        loop {
            let now = PROGRESS.load(Ordering::Relaxed);
            if now == seen {
                eprintln!("{name} hangs after {now} steps; its seed is the last one printed");
                std::process::abort();
            }
            seen = now;
            if gone.recv_timeout(HANG) != Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                return;
            }
        }
    });
    (guard, alive)
}

/// `SplitMix64`.
#[derive(Clone)]
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn split(&mut self) -> Self {
        Self(self.below(u64::MAX))
    }
}

#[derive(Debug, Default)]
struct Ledger {
    made: AtomicU64,
    received: AtomicU64,
    returned: AtomicU64,
    dropped: AtomicU64,
}

/// A value that its ledger counts from its making to its drop.
#[derive(Debug)]
struct Letter(Arc<Ledger>);

impl Drop for Letter {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

impl Letter {
    fn new(ledger: &Arc<Ledger>) -> Self {
        ledger.made.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(ledger))
    }

    fn receive(self) {
        PROGRESS.fetch_add(1, Ordering::Relaxed);
        self.0.received.fetch_add(1, Ordering::Relaxed);
    }

    fn take_back(self) {
        self.0.returned.fetch_add(1, Ordering::Relaxed);
    }
}

/// A letter that is not sent yet; one that is still here when its task ends has come back.
struct Kept(Option<Letter>);

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(letter) = self.0.take() {
            letter.take_back();
        }
    }
}

fn any_channel(dice: &mut Dice) -> (Sender<Letter>, Receiver<Letter>) {
    match dice.below(4) {
        0 => channel(),
        1 => bounded(1),
        2 => bounded(5),
        _ => unbounded(),
    }
}

/// Sends `n` letters in all ways there are; ends early when nobody receives.
///
/// `loose`: also by plain sends, which drop their value with their future; nobody aborts then.
async fn sender(
    (a, b): (Sender<Letter>, Sender<Letter>),
    ledger: Arc<Ledger>,
    n: u64,
    loose: bool,
    mut dice: Dice,
) {
    for _ in 0..n {
        let mut kept = Kept(Some(Letter::new(&ledger)));
        let micros = Duration::from_micros(dice.below(300));
        match dice.below(6 + u64::from(loose)) {
            0 | 1 => {
                a.send_from(&mut kept.0).await.ok();
            }
            2 => {
                a.send_from(&mut kept.0).timeout(micros).await.ok();
            }
            3 => {
                let mut other = Kept(Some(Letter::new(&ledger)));
                let sent = choose([a.send_from(&mut kept.0), b.send_from(&mut other.0)]);
                sent.timeout(micros).await.ok();
            }
            4 => {
                if let Ok(permit) = a.reserve().await {
                    yield_now().await;
                    if let Err(error) = permit.send(kept.0.take().unwrap()) {
                        error.into_inner().take_back();
                    }
                }
            }
            5 => {
                if let Err(error) = b.try_send(kept.0.take().unwrap()) {
                    error.into_inner().take_back();
                }
            }
            // Lost sends give back.
            _ => match a.send(kept.0.take().unwrap()).either(after(micros)).await {
                Either::Left(Ok(()), ()) => {}
                Either::Left(Err(error), ()) => error.into_inner().take_back(),
                Either::Right((), letter) => letter.take_back(),
            },
        }
        PROGRESS.fetch_add(1, Ordering::Relaxed);
        if a.is_closed() && b.is_closed() {
            return;
        }
    }
}

/// Receives in all ways there are, until both channels have ended.
async fn receiver(a: Receiver<Letter>, b: Receiver<Letter>, mut dice: Dice) {
    let mut open = [Some(a), Some(b)];
    while let Some(index) = open.iter().position(Option::is_some) {
        let rx = open[index].as_ref().unwrap();
        let micros = Duration::from_micros(dice.below(300));
        let ended = match dice.below(5) {
            0 => rx
                .recv()
                .await
                .map(Letter::receive)
                .is_err()
                .then_some(index),
            1 => match rx.recv().timeout(micros).await {
                Ok(Ok(letter)) => {
                    letter.receive();
                    None
                }
                Ok(Err(_)) => Some(index),
                Err(_) => None,
            },
            2 => {
                let mut many = Vec::new();
                let n = rx.recv_many(&mut many, 4).await;
                many.into_iter().for_each(Letter::receive);
                (n == 0).then_some(index)
            }
            3 => {
                let both = open.iter().enumerate().filter_map(|(index, rx)| {
                    rx.as_ref().map(|rx| rx.recv().map(move |got| (index, got)))
                });
                match choose(both).await {
                    (_, Ok(letter)) => {
                        letter.receive();
                        None
                    }
                    (index, Err(_)) => Some(index),
                }
            }
            _ => {
                let mut stream = rx.clone().into_stream();
                let next = stream.next().await.map(Letter::receive);
                next.is_none().then_some(index)
            }
        };
        if let Some(index) = ended {
            open[index] = None;
        }
        if dice.below(16) == 0 {
            yield_now().await;
        }
    }
}

/// Sends or receives on one channel, whatever comes first: both sides choose.
async fn swapper(tx: Sender<Letter>, rx: Receiver<Letter>, ledger: Arc<Ledger>, n: u64) {
    for _ in 0..n {
        let mut kept = Kept(Some(Letter::new(&ledger)));
        let swap = tx.send_from(&mut kept.0).either(rx.recv());
        if let Ok(Either::Right(Ok(letter), ())) = swap.timeout(Duration::from_micros(200)).await {
            letter.receive();
        }
    }
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
    let _alone = alone(name);
    let end = Instant::now() + budget();
    let mut seed = u64::from(std::process::id()) << 20;
    while Instant::now() < end {
        seed += 1;
        println!("{name}: seed {seed}");
        round(workers, Dice(seed));
        PROGRESS.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn everything_at_once_on_one_worker() {
    rounds("everything_at_once_on_one_worker", 1);
}

#[test]
fn everything_at_once_on_two_workers() {
    rounds("everything_at_once_on_two_workers", 2);
}

#[test]
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

#[test]
fn spawn_storms_on_fresh_runtimes_lose_no_task() {
    let _alone = alone("spawn_storms_on_fresh_runtimes_lose_no_task");
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

#[test]
fn a_runtime_that_ends_amid_the_work_of_others_leaves_nothing() {
    let _alone = alone("a_runtime_that_ends_amid_the_work_of_others_leaves_nothing");
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
