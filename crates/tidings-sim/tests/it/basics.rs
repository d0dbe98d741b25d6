//! What a run of a program is like when nothing goes wrong.

use std::collections::HashSet;
use std::future::{IntoFuture, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use tidings::sync::Notify;
use tidings::time::{Instant, sleep};
use tidings::{Event, after, bounded, select, unbounded, yield_now};
use tidings_sim::{Sim, Strategy, try_world, world};

const STRATEGIES: [Strategy; 4] = [
    Strategy::Mixed,
    Strategy::Random,
    Strategy::Pct { depth: 3 },
    Strategy::Exhaustive { delays: 2 },
];

/// Two tasks that note what they do; the orders that were seen.
fn orders(sim: &Sim) -> HashSet<String> {
    let seen = Arc::new(Mutex::new(HashSet::new()));
    let all = Arc::clone(&seen);
    sim.run(move || {
        let all = Arc::clone(&all);
        async move {
            let noted = Arc::new(Mutex::new(String::new()));
            let tasks = ["a", "b", "c"].map(|name| {
                let noted = Arc::clone(&noted);
                tidings::spawn(async move {
                    for _ in 0..2 {
                        noted.lock().unwrap().push_str(name);
                        yield_now().await;
                    }
                })
            });
            for task in tasks {
                task.await.unwrap();
            }
            let noted = noted.lock().unwrap().clone();
            all.lock().unwrap().insert(noted);
        }
    });
    Arc::try_unwrap(seen).unwrap().into_inner().unwrap()
}

#[test]
fn every_strategy_sees_many_orders() {
    for strategy in STRATEGIES {
        let seen = orders(&Sim::new(0).seeds(300).strategy(strategy));
        assert!(seen.len() > 10, "{strategy:?}: {seen:?}");
        assert!(seen.iter().all(|order| order.len() == 6));
    }
}

#[test]
fn an_exhaustive_search_sees_every_order() {
    // 6! / (2! 2! 2!) orders of two each of three.
    let sim = Sim::new(0).strategy(Strategy::Exhaustive { delays: 99 });
    assert_eq!(orders(&sim.seeds(1_000_000)).len(), 90);
    let summary = Sim::new(0)
        .seeds(1000)
        .strategy(Strategy::Exhaustive { delays: 0 })
        .run(|| async {});
    assert!(summary.complete && summary.runs == 1);
}

#[test]
fn an_exhaustive_search_goes_to_its_end_if_nobody_has_said_how_many_runs() {
    let sim = Sim::new(0).strategy(Strategy::Exhaustive { delays: 1 });
    let summary = sim.run(|| async {
        let tasks = [(); 3].map(|()| tidings::spawn(yield_now()));
        for task in tasks {
            task.await.unwrap();
        }
    });
    assert!(summary.complete && summary.runs > 5, "{summary:?}");
}

#[test]
fn who_yields_until_another_has_run_ends_though_the_first_alternative_is_taken_each_time() {
    let first = Sim::new(0)
        .polls(100)
        .strategy(Strategy::Exhaustive { delays: 0 });
    let yields_until = |starts: fn(Arc<Notify>, Arc<AtomicBool>)| {
        first.run(move || async move {
            let (bell, rung) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
            starts(Arc::clone(&bell), Arc::clone(&rung));
            while !rung.load(Ordering::SeqCst) {
                bell.notify_one();
                yield_now().await;
            }
        })
    };
    let summary = yields_until(|_, rung| {
        drop(tidings::spawn(
            async move { rung.store(true, Ordering::SeqCst) },
        ));
    });
    assert_eq!(summary.polls, 3, "it stands behind who was there before it");
    yields_until(|_, rung| {
        drop(tidings::spawn_local(async move {
            rung.store(true, Ordering::SeqCst);
        }));
    });
    // One that is woken each time.
    yields_until(|bell, rung| {
        drop(tidings::spawn(async move {
            for _ in 0..3 {
                bell.notified().await;
            }
            rung.store(true, Ordering::SeqCst);
        }));
    });
    // A local one that waits for one that is none.
    first.run(|| async {
        let rung = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&rung);
        let waits = tidings::spawn_local(async move {
            while !seen.load(Ordering::SeqCst) {
                yield_now().await;
            }
        });
        let rings = tidings::spawn(async move {
            yield_now().await;
            rung.store(true, Ordering::SeqCst);
        });
        rings.await.unwrap();
        waits.await.unwrap();
    });
}

#[test]
fn a_seed_is_one_run() {
    let order = |seed| orders(&Sim::new(seed));
    for seed in 0..20 {
        assert_eq!(order(seed), order(seed));
        assert_eq!(order(seed).len(), 1);
    }
}

#[test]
fn time_jumps_and_stands_still_while_something_runs() {
    let summary = Sim::new(3).run(|| async {
        let start = Instant::now();
        after(Duration::from_secs(86_400)).await;
        let day = start.elapsed();
        assert!(day >= Duration::from_secs(86_400));
        for _ in 0..10 {
            yield_now().await;
        }
        assert_eq!(start.elapsed(), day);
        assert!(world().elapsed() >= day);
    });
    assert!(summary.time >= Duration::from_secs(86_400));
}

#[test]
fn deadlines_race_with_work_that_takes_time() {
    let outcomes = Arc::new(Mutex::new(HashSet::new()));
    let all = Arc::clone(&outcomes);
    let sim = Sim::new(0).seeds(100).busy(Duration::from_millis(1));
    sim.run(move || {
        let all = Arc::clone(&all);
        async move {
            let (tx, rx) = unbounded();
            drop(tidings::spawn(async move {
                for _ in 0..5 {
                    yield_now().await;
                }
                tx.send(()).await
            }));
            let got = rx.recv().timeout(Duration::from_millis(3)).await;
            all.lock().unwrap().insert(got.is_ok());
        }
    });
    assert_eq!(outcomes.lock().unwrap().len(), 2);
}

#[test]
fn chance_is_the_seeds() {
    let drawn = |seed| {
        let drawn = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&drawn);
        Sim::new(seed).once().run(move || {
            let all = Arc::clone(&all);
            async move {
                let numbers = (0..8).map(|_| tidings::sched::random(1000));
                all.lock().unwrap().extend(numbers);
            }
        });
        drawn.lock().unwrap().clone()
    };
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
}

#[test]
fn where_all_decisions_are_the_first_alternative_names_that_are_drawn_differ_and_numbers_are_0() {
    let first = Strategy::Exhaustive { delays: 0 };
    Sim::new(0).strategy(first).run(|| async {
        let drawn = |n| -> HashSet<usize> { (0..8).map(|_| tidings::sched::random(n)).collect() };
        assert_eq!(drawn(1 << 16).len(), 8);
        assert_eq!(drawn(1000), HashSet::from([0]));
    });
}

#[test]
fn unlikely_things_happen_in_some_runs() {
    let happened = Arc::new(Mutex::new([0; 2]));
    let all = Arc::clone(&happened);
    Sim::new(0).seeds(200).once().run(move || {
        let all = Arc::clone(&all);
        async move {
            let any = (0..20).any(|_| tidings::sched::buggify());
            all.lock().unwrap()[usize::from(any)] += 1;
        }
    });
    let [never, sometimes] = *happened.lock().unwrap();
    assert!(sometimes > 20 && never > 100, "{sometimes} of 200");
    assert!(!tidings::sched::buggify(), "but not outside");
}

#[test]
fn a_swarm_has_all_of_them_or_some_or_none_and_a_short_run_has_none() {
    let seen = Arc::new(Mutex::new(HashSet::new()));
    let all = Arc::clone(&seen);
    Sim::new(0).seeds(200).run(move || {
        let all = Arc::clone(&all);
        async move {
            let some = world().swarm(&["crash", "cut", "slow"]);
            all.lock().unwrap().insert(some);
        }
    });
    assert_eq!(seen.lock().unwrap().len(), 8, "each subset");
    let failure = Sim::new(0)
        .seeds(200)
        .check(|| async {
            let some = world().swarm(&["crash", "cut", "slow"]);
            if some.contains(&"cut") {
                Err(some.len())
            } else {
                Ok(())
            }
        })
        .unwrap_err();
    assert_eq!(failure.message, "1", "only what it takes");
}

#[test]
fn who_tries_several_things_anew_in_each_poll_gets_to_the_last() {
    // At every communication the task lets others run first.
    let sim = Sim::new(0).strategy(Strategy::Pct { depth: 1 });
    sim.polls(1_000).run(|| async {
        let (tx, rx) = unbounded();
        let (_never, nothing) = unbounded::<()>();
        tx.send(7).await.unwrap();
        let got = poll_fn(|cx| {
            for _ in 0..3 {
                let polled = pin!(nothing.recv().into_future()).poll(cx);
                assert!(polled.is_pending(), "nobody sends");
            }
            pin!(rx.recv().into_future()).poll(cx)
        });
        assert_eq!(got.await, Ok(7));
    });
}

/// Notes on which thread it is made, used and dropped.
struct Noting(Arc<Mutex<Vec<ThreadId>>>);

impl Noting {
    fn new(seen: &Arc<Mutex<Vec<ThreadId>>>) -> Self {
        let noting = Self(Arc::clone(seen));
        noting.note();
        noting
    }

    fn note(&self) {
        self.0.lock().unwrap().push(thread::current().id());
    }

    /// Is there for so long.
    async fn stays(self, time: Duration) {
        sleep(time).await;
        self.note();
    }
}

impl Drop for Noting {
    fn drop(&mut self) {
        self.note();
    }
}

#[test]
fn a_run_is_on_the_thread_that_asks_for_it_from_its_start_to_the_drop_of_all_it_has() {
    const LONG: Duration = Duration::from_secs(3600);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&seen);
    let summary = Sim::new(0).seeds(20).run(move || {
        let (all, beside) = (Arc::clone(&all), Noting::new(&all));
        async move {
            let nodes = ["ends", "crashes", "is left"].map(|name| {
                let all = Arc::clone(&all);
                world().node(name, move || {
                    let (task, own) = (Noting::new(&all), Noting::new(&all));
                    async move {
                        drop(tidings::spawn(task.stays(LONG)));
                        let time = if name == "ends" { 1 } else { 100 };
                        own.stays(Duration::from_secs(time)).await;
                    }
                })
            });
            let condition = Noting::new(&all);
            world().always("well", move || {
                condition.note();
                true
            });
            let (blocks, left) = (Noting::new(&all), Noting::new(&all));
            let blocks = tidings::spawn_blocking(move || blocks.note());
            blocks.await.unwrap();
            drop(tidings::spawn(left.stays(LONG)));
            sleep(Duration::from_secs(10)).await;
            nodes[1].crash();
            beside.stays(Duration::from_secs(10)).await;
        }
    });
    let (seen, here) = (seen.lock().unwrap(), thread::current().id());
    // A dozen for each of two runs of a seed, at the least.
    assert!(seen.len() as u64 > 24 * summary.runs, "{}", seen.len());
    assert!(seen.iter().all(|&thread| thread == here));
}

#[test]
fn there_is_a_world_inside_only() {
    assert!(try_world().is_none());
    Sim::new(9).run(|| async { assert_eq!(world().seed(), 9) });
    assert!(try_world().is_none());
}

#[tidings::test(sim, seeds = 50)]
async fn a_test_by_attribute_runs_in_a_simulation() {
    let (tx, rx) = bounded(1);
    drop(tidings::spawn(async move { tx.send(world().seed()).await }));
    select! {
        got = rx.recv() => assert!(got.unwrap() < 50),
        () = after(Duration::from_secs(3600)) => panic!("an hour"),
    }
}

#[tidings::test(sim, seeds = 3, with = |sim| sim.settles())]
async fn a_test_may_give_a_result() -> Result<(), String> {
    tidings::spawn(async { 1 })
        .await
        .map_err(|error| error.to_string())?;
    Ok(())
}

#[test]
fn a_cooperative_task_runs_until_it_waits() {
    let firsts = |sim: Sim| {
        let seen = Arc::new(Mutex::new(HashSet::new()));
        let all = Arc::clone(&seen);
        sim.seeds(100).run(move || {
            let all = Arc::clone(&all);
            async move {
                let (tx, rx) = unbounded();
                for id in 0..2 {
                    let tx = tx.clone();
                    drop(tidings::spawn(async move {
                        tx.send(id).await.unwrap();
                        tx.send(id).await.unwrap();
                    }));
                }
                let (one, two) = (rx.recv().await.unwrap(), rx.recv().await.unwrap());
                all.lock().unwrap().insert(one == two);
            }
        });
        seen.lock().unwrap().len()
    };
    assert_eq!(firsts(Sim::new(0).cooperative()), 1);
    assert_eq!(firsts(Sim::new(0)), 2);
}

#[test]
fn a_chart_of_an_ordinary_run_has_one_column_for_threads() {
    let builder = tidings::Runtime::builder().workers(1).flight_recorder(100);
    let rt = builder.build().unwrap();
    rt.block_on(async {
        // Received here once it waits here, and sent from here.
        let (question, asked) = tidings::channel::<u8>();
        let (answer, answers) = tidings::channel::<u16>();
        let task = tidings::spawn(async move {
            for _ in 0..3 {
                let n = asked.recv().await.unwrap();
                answer.send(n.into()).await.unwrap();
            }
        });
        for n in 0..3 {
            question.send(n).await.unwrap();
            assert_eq!(answers.recv().await, Ok(n.into()));
        }
        task.await.unwrap();
    });
    let chart = tidings_sim::Chart::new(&rt.handle().flight_record()).to_string();
    let columns = chart.lines().next().unwrap();
    assert_eq!(columns.matches(": thread").count(), 1, "{chart}");
    assert_eq!(columns.matches(": basics.rs:").count(), 1, "{chart}");
}

/// A test may have any name, also those that the attribute itself has inside.
mod a_test_may_be_called {
    #[tidings::test]
    async fn runtime() {}
    #[tidings::test]
    async fn output() -> Result<(), String> {
        Ok(())
    }
    #[tidings::test]
    async fn unheard() {}
    #[tidings::test(sim, seeds = 1)]
    async fn path() {}
    #[tidings::test(sim, seeds = 1)]
    async fn sim() {}
    #[tidings::test(sim, seeds = 1)]
    async fn with() {}
}
