//! The seeded scheduler: the same seed is the same run, and time is virtual.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::both::{run, seeded, watchdog};
use crate::hands::{pinned, poll};
use crate::letter::Ledger;
use tidings::event::Boxed;
use tidings::sched::{Choice, Runtime, Seam, Seeded, buggify, incarnation};
use tidings::time::Instant;
use tidings::{
    Event, Receiver, after, bounded, channel, choose, never, select, unbounded, yield_now,
};

type Trace = Arc<Mutex<Vec<String>>>;

/// A small program that notes what happens in which order.
async fn program(trace: Trace) {
    let note = move |text: String| {
        let at = Instant::now();
        trace.lock().unwrap().push(format!("{at:?} {text}"));
    };
    let ((a, ar), (b, br)) = (channel::<u64>(), bounded::<u64>(2));
    let mut tasks = Vec::new();
    for id in 0..3u64 {
        let (a, b, note) = (a.clone(), b.clone(), note.clone());
        tasks.push(tidings::spawn(async move {
            for n in 0..5 {
                choose([a.send(id * 10 + n), b.send(id * 10 + n)])
                    .await
                    .unwrap();
                note(format!("{id} sent {n}"));
                if n % 2 == 0 {
                    after(Duration::from_millis(id + 1)).await;
                }
            }
        }));
    }
    drop((a, b));
    for id in 0..2 {
        let (ar, br, note) = (ar.clone(), br.clone(), note.clone());
        tasks.push(tidings::spawn(async move {
            loop {
                let got = select! {
                    got = ar.recv() => got,
                    got = br.recv() => got,
                    () = after(Duration::from_secs(1)) => break,
                };
                match got {
                    Ok(n) => note(format!("{id} got {n}")),
                    Err(_) => break,
                }
                yield_now().await;
            }
        }));
    }
    drop((ar, br));
    for task in tasks {
        task.await.unwrap();
    }
    let blocking = tidings::spawn_blocking(|| 5).await.unwrap();
    note(format!("end {blocking}"));
}

fn trace_of(seed: u64) -> Vec<String> {
    let trace = Trace::default();
    run(&seeded(seed), program(Arc::clone(&trace)));
    Arc::try_unwrap(trace).unwrap().into_inner().unwrap()
}

#[test]
fn the_same_seed_is_the_same_run() {
    for seed in 0..50 {
        assert_eq!(trace_of(seed), trace_of(seed), "seed {seed}");
    }
}

#[test]
fn other_seeds_are_other_runs() {
    let runs: HashSet<_> = (0..50).map(trace_of).collect();
    assert!(runs.len() > 40, "{} different runs of 50", runs.len());
}

#[test]
fn time_is_virtual_and_jumps_to_the_next_timer() {
    let real = std::time::Instant::now();
    run(&seeded(1), async {
        let start = Instant::now();
        let sleeper = tidings::spawn(async move {
            after(Duration::from_secs(7_200)).await;
            start.elapsed()
        });
        after(Duration::from_secs(3_600)).await;
        let hour = start.elapsed();
        assert!(hour >= Duration::from_secs(3_600) && hour < Duration::from_secs(3_601));
        yield_now().await;
        assert_eq!(
            start.elapsed(),
            hour,
            "it stands still while something can run"
        );
        assert!(sleeper.await.unwrap() >= Duration::from_secs(7_200));
    });
    assert!(real.elapsed() < Duration::from_secs(3_600));
}

#[test]
fn two_hundred_seeds_of_a_pipeline_conserve() {
    for seed in 0..200 {
        let ledger = Ledger::default();
        let books = ledger.clone();
        let rt = seeded(seed);
        let n = run(&rt, async move {
            let ((a, ar), (b, br)) = (channel(), bounded(2));
            for id in 0..3u64 {
                let (a, books) = (a.clone(), books.clone());
                drop(tidings::spawn(async move {
                    for n in 0..10 {
                        let mut place = Some(books.letter(id * 10 + n));
                        while place.is_some() {
                            a.send_from(&mut place)
                                .timeout(Duration::from_millis(1))
                                .await
                                .ok();
                        }
                    }
                }));
            }
            drop(a);
            let mut stages = Vec::new();
            for _ in 0..2 {
                let (ar, b) = (ar.clone(), b.clone());
                stages.push(tidings::spawn(async move {
                    loop {
                        match ar.recv().timeout(Duration::from_micros(300)).await {
                            Ok(Ok(letter)) => b.send(letter).await.unwrap(),
                            Ok(Err(_)) => break,
                            Err(_) => yield_now().await,
                        }
                    }
                }));
            }
            drop((ar, b));
            let mut seen = HashSet::new();
            while let Ok(letter) = br.recv().await {
                assert!(seen.insert(letter.n), "twice");
            }
            for stage in stages {
                stage.await.unwrap();
            }
            seen.len()
        });
        drop(rt);
        assert_eq!((n, ledger.alive()), (30, 0), "seed {seed}");
    }
}

/// Always the first alternative; notes what it was asked.
#[derive(Default)]
struct First {
    asked: Arc<Mutex<HashSet<String>>>,
    now: Duration,
}

impl Seam for First {
    fn choose(&mut self, choice: Choice, n: usize) -> usize {
        assert!(n > 0);
        self.asked.lock().unwrap().insert(format!("{choice:?}"));
        0
    }
    fn now(&mut self) -> Duration {
        self.now
    }
    fn idle(&mut self, next: Option<Duration>) -> bool {
        self.now = next.unwrap_or(self.now);
        next.is_some()
    }
}

#[test]
fn a_seam_of_ones_own_makes_the_choices() {
    let asked = Arc::new(Mutex::new(HashSet::new()));
    let seam = First {
        asked: Arc::clone(&asked),
        now: Duration::ZERO,
    };
    let rt = Runtime::builder().seam(seam).build().unwrap();
    run(&rt, program(Trace::default()));
    // What it says nothing of is as it is without one.
    let process = incarnation();
    assert!(process > 1, "it is drawn from 2^64");
    run(&rt, async move {
        assert_eq!(incarnation(), process);
        assert!(!buggify());
    });
    let asked = asked.lock().unwrap();
    assert!(
        asked.contains("Task") && asked.contains("Branch"),
        "{asked:?}"
    );
    assert!(format!("{:?}", Seeded::new(1)).contains("Seeded"));
}

#[test]
fn a_run_goes_on_where_the_last_one_ended() {
    let rt = seeded(4);
    let (tx, rx) = unbounded();
    let task = rt.spawn(async move {
        for n in 0..3 {
            after(Duration::from_secs(60)).await;
            tx.send(n).await.unwrap();
        }
    });
    for n in 0..3 {
        assert_eq!(rt.block_on(rx.recv().into_future()), Ok(n));
    }
    rt.block_on(task).unwrap();
}

/// Panics where it is asked for the n-th order of branches from now on.
struct Panics(First, Arc<AtomicUsize>);

impl Seam for Panics {
    fn choose(&mut self, choice: Choice, n: usize) -> usize {
        let panics = choice == Choice::Branch && self.1.fetch_sub(1, Ordering::Relaxed) == 1;
        assert!(!panics, "a seam that panics");
        self.0.choose(choice, n)
    }
    fn now(&mut self) -> Duration {
        self.0.now()
    }
    fn idle(&mut self, next: Option<Duration>) -> bool {
        self.0.idle(next)
    }
}

#[test]
fn a_seam_that_panics_in_a_choice_leaves_no_lock_taken() {
    const HOUR: Duration = Duration::from_secs(3600);
    fn leaf(rx: &Receiver<()>) -> impl Event<Output = ()> + Send + '_ {
        rx.recv().map(drop)
    }
    /// Waits on one source, and asks for an order while it has that one's lock.
    fn one(rx: &Receiver<()>) -> impl Event<Output = ()> + Send + '_ {
        leaf(rx).or(never()).timeout(HOUR).map(drop)
    }
    type Form = for<'a> fn(&'a [Receiver<()>]) -> Boxed<'a, ()>;
    let forms: [(usize, Form); 4] = [
        (1, |rx| one(&rx[0]).boxed()),
        (2, |rx| choose([one(&rx[0]), one(&rx[1])]).boxed()),
        (1, |rx| {
            leaf(&rx[0]).or(leaf(&rx[1])).or(leaf(&rx[2])).boxed()
        }),
        (2, |rx| choose(rx.iter().map(one)).boxed()),
    ];
    let _watchdog = watchdog();
    let left = Arc::new(AtomicUsize::new(0));
    let seam = Panics(First::default(), Arc::clone(&left));
    let rt = Runtime::builder().seam(seam).build().unwrap();
    rt.block_on(async {
        for (at, form) in forms {
            let (tx, rx): (Vec<_>, Vec<_>) = (0..12).map(|_| unbounded()).unzip();
            left.store(at, Ordering::Relaxed);
            let mut choice = pinned(form(&rx));
            let polled = catch_unwind(AssertUnwindSafe(|| poll(choice.as_mut())));
            assert!(polled.is_err());
            drop(choice);
            for (tx, rx) in tx.iter().zip(&rx) {
                assert!(!tx.counts().receiver_waits);
                tx.try_send(()).unwrap();
                assert_eq!(rx.try_recv(), Ok(()));
            }
        }
    });
}
