//! Programs that go wrong, and what is said of them.

use std::collections::HashMap;
use std::future::{IntoFuture, pending};
use std::pin::Pin;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidings::actor::{self, Builder, Mailbox, Reply};
use tidings::time::sleep;
use tidings::{Event, after, bounded, channel, select, unbounded, yield_now};
use tidings_sim::{Failure, Kind, Sim, Strategy, world};

/// The canary: a lost update that one schedule in some has.
async fn lost_update() {
    let account = Arc::new(Mutex::new(0));
    let tasks = [(); 3].map(|()| {
        let account = Arc::clone(&account);
        tidings::spawn(async move {
            let seen = *account.lock().unwrap();
            yield_now().await;
            *account.lock().unwrap() = seen + 1;
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*account.lock().unwrap(), 3, "an update is lost");
}

fn fails(sim: &Sim) -> Box<Failure> {
    sim.check(lost_update).expect_err("it has a bug")
}

#[test]
fn the_canary_is_found_by_every_strategy() {
    for strategy in [
        Strategy::Mixed,
        Strategy::Random,
        Strategy::Pct { depth: 2 },
        Strategy::Exhaustive { delays: 1 },
    ] {
        let failure = fails(&Sim::new(0).seeds(100).strategy(strategy));
        assert_eq!(failure.kind, Kind::Panic, "{strategy:?}");
        assert!(failure.message.contains("an update is lost"));
        assert!(failure.message.contains("failing.rs"), "{failure}");
    }
}

#[test]
fn a_failing_run_is_made_short() {
    let failure = fails(&Sim::new(0).seeds(100).strategy(Strategy::Random));
    assert!(failure.trace.len() <= failure.found.len());
    let taken = failure.trace.iter().filter(|&&byte| byte > 0).count();
    assert!(taken <= 1, "{:?}: one task waits too long", failure.trace);
    assert!(failure.polls.1 <= failure.polls.0);
}

#[test]
fn the_picture_shows_in_which_order_tasks_ran() {
    let failure = fails(&Sim::new(0).seeds(100).strategy(Strategy::Random));
    let text = failure.chart.to_string();
    let rows = text.lines().filter(|row| row.contains("● runs"));
    let order: Vec<_> = rows.map(|row| row.chars().position(|c| c == '●')).collect();
    // An update is lost if another task runs between the two halves of one.
    let between = (2..order.len()).any(|at| {
        let again = order[..at - 1].contains(&order[at]);
        again && order[at - 1] != order[at]
    });
    assert!(between, "{order:?} of:\n{text}");
}

#[test]
fn the_seed_fails_again_and_the_report_says_how() {
    let failure = fails(&Sim::new(0).seeds(100).name("canary"));
    let again = fails(&Sim::new(failure.seed).name("canary"));
    assert_eq!(failure.to_string(), again.to_string());
    let report = failure.to_string();
    let again = format!("  again:     TIDINGS_SEED={} ", failure.seed);
    assert!(report.contains(&again), "{report}");
    let (trace, picture) = failure.saved.as_ref().expect("files beside the build");
    let text = std::fs::read_to_string(trace).unwrap();
    assert!(text.starts_with("tidings-sim trace 1\n# canary"), "{text}");
    assert!(
        std::fs::read_to_string(picture)
            .unwrap()
            .contains("an update is lost")
    );
}

/// Set in the process that [`of_child`] starts.
const CHILD: &str = "TIDINGS_TEST_CHILD";

#[test]
fn the_line_works_where_cargo_did_not_start_it() {
    const NAME: &str = "failing::the_line_works_where_cargo_did_not_start_it";
    if std::env::var_os(CHILD).is_some() {
        println!("{}", fails(&Sim::new(0).seeds(100)));
        return;
    }
    let report = of_child(NAME);
    for start in ["  again:     ", "             TIDINGS_TRACE="] {
        // The seed and what went wrong.
        assert_eq!(of_line(&report, start)[0], report[0]);
    }
}

#[test]
fn the_line_of_a_search_of_all_runs_makes_the_search_again() {
    const NAME: &str = "failing::the_line_of_a_search_of_all_runs_makes_the_search_again";
    if std::env::var_os(CHILD).is_some() {
        let runs = AtomicU32::new(0);
        let all = Strategy::Exhaustive { delays: 1 };
        let sim = Sim::new(0).seeds(10_000).strategy(all);
        let failure = sim
            .check(|| {
                let run = runs.fetch_add(1, Ordering::SeqCst);
                async move {
                    // Only this one, of very many.
                    if world().choose(1_000) == 321 {
                        let _ = tidings::sched::random(2 + run as usize % 2);
                    }
                }
            })
            .unwrap_err();
        println!("{failure}");
        return;
    }
    let report = of_child(NAME);
    assert!(report[0].contains("not deterministic"), "{report:?}");
    assert_eq!(of_line(&report, "  again:     ")[0], report[0]);
}

/// What a test of these reports in a process of its own, started as in a shell of somebody else's, anywhere.
fn of_child(name: &str) -> Vec<String> {
    let mut first = Command::new(std::env::current_exe().unwrap());
    first.args([name, "--exact", "--nocapture"]);
    reported(first)
}

/// What the line of a report that begins so reports.
fn of_line(report: &[String], start: &str) -> Vec<String> {
    let line = report.iter().find(|line| line.starts_with(start)).unwrap();
    let line = line.trim_start_matches("  again:").trim();
    assert!(!line.contains("cargo test"), "{line}");
    let mut again = Command::new("sh");
    again.args(["-c", &format!("{line} --nocapture")]);
    reported(again)
}

fn reported(mut command: Command) -> Vec<String> {
    let command = command.env_remove("CARGO_PKG_NAME").env(CHILD, "1");
    let output = command.current_dir("/").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    let lines = said.lines().skip_while(|line| !line.contains(": seed "));
    let report: Vec<String> = lines.map(str::to_owned).collect();
    assert!(report.len() > 1, "{said}");
    report
}

#[test]
#[should_panic(expected = "deadlock: nothing can run")]
fn run_panics_with_the_report() {
    Sim::new(0).run(pending::<()>);
}

#[test]
fn a_deadlock_is_told_at_once_with_names_and_lines() {
    let failure = Sim::new(0)
        .seeds(200)
        .check(|| async {
            let (one, two) = (bounded::<()>(1), bounded::<()>(1));
            let forks = [one, two];
            for (tx, _) in &forks {
                tx.send(()).await.unwrap();
            }
            let tasks = [(0, 1), (1, 0)].map(|(left, right)| {
                let [left, right] = [left, right].map(|fork: usize| forks[fork].clone());
                tidings::spawn(async move {
                    left.1.recv().await.unwrap();
                    right.1.recv().await.unwrap();
                    left.0.send(()).await.unwrap();
                    right.0.send(()).await.unwrap();
                })
            });
            for task in tasks {
                task.await.unwrap();
            }
        })
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Deadlock);
    let lines = failure.message.matches("Recv<()> of").count();
    assert_eq!(lines, 2, "{}", failure.message);
    assert!(
        failure.message.contains("failing.rs:"),
        "{}",
        failure.message
    );
}

#[test]
fn a_deadlock_names_all_that_is_waited_for_with_its_lines() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&lines);
    let failure = Sim::new(0)
        .check(move || {
            let lines = Arc::clone(&noted);
            lines.lock().unwrap().clear();
            let note = move |line| lines.lock().unwrap().push(line);
            async move {
                note(line!() + 1);
                let mute = actor::spawn(|mailbox: Mailbox<Reply<u8>>| async move {
                    let _keeps = mailbox;
                    pending::<()>().await;
                });
                let full = Builder::new().name("full").capacity(1);
                let full = full.spawn(|mailbox: Mailbox<u8>| async move {
                    let _keeps = mailbox;
                    pending::<()>().await;
                });
                full.send(1).await.unwrap();
                note(line!() + 1);
                let (_tx, rx) = unbounded::<u16>();
                let held = Arc::new(tidings::sync::Mutex::new(0));
                let _guard = held.lock().await;
                let lock = Arc::clone(&held);
                let chooses = tidings::spawn({
                    let note = note.clone();
                    async move {
                        note(line!() + 1);
                        select! { _ = rx.recv() => {}, _guard = lock.lock() => {} }
                    }
                });
                let asks = tidings::spawn({
                    let note = note.clone();
                    async move {
                        note(line!() + 1);
                        mute.call(|reply| reply).await.unwrap();
                    }
                });
                let noted = note.clone();
                let sends = tidings::spawn(async move {
                    noted(line!() + 1);
                    full.send(2).await.unwrap();
                });
                note(line!() + 1);
                chooses.await.unwrap();
                asks.await.unwrap();
                sends.await.unwrap();
            }
        })
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Deadlock);
    let told = failure.to_string();
    for words in [
        "waits for Recv<u16> of",
        ", or Lock<&Mutex<i32>> of",
        ", which the program has",
        "\n  full waits for something that is no event",
        "waits for the answer of actor",
        "waits for a place in the mailbox of full",
        "the program waits for the end of the task started at",
    ] {
        assert!(told.contains(words), "{words:?} is not in:\n{told}");
    }
    for line in lines.lock().unwrap().iter() {
        let at = format!("failing.rs:{line}");
        assert!(told.contains(&at), "{at} is not in:\n{told}");
    }
}

#[test]
fn a_program_that_is_not_deterministic_is_told_where() {
    let runs = AtomicU32::new(0);
    let failure = Sim::new(0)
        .check(|| {
            let more = runs.fetch_add(1, Ordering::SeqCst);
            async move {
                for _ in 0..more {
                    yield_now().await;
                }
                let tasks = [(); 2].map(|()| tidings::spawn(yield_now()));
                for task in tasks {
                    task.await.unwrap();
                }
            }
        })
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Nondeterminism);
    let (question, who) = failure.message.split_once(", while or after ").unwrap();
    assert!(question.contains("diverges at question"), "{failure}");
    assert!(who.starts_with("the program ran"), "{failure}");
}

#[test]
fn the_task_that_is_not_deterministic_is_named() {
    static LINE: AtomicU32 = AtomicU32::new(0);
    let runs = AtomicU32::new(0);
    let failure = Sim::new(0)
        .check(|| {
            let run = runs.fetch_add(1, Ordering::SeqCst);
            async move {
                LINE.store(line!() + 1, Ordering::SeqCst);
                let odd = tidings::spawn(async move {
                    let _ = tidings::sched::random(2 + run as usize);
                });
                odd.await.unwrap();
                tidings::spawn(yield_now()).await.unwrap();
            }
        })
        .unwrap_err();
    let line = LINE.load(Ordering::SeqCst);
    let who = format!(
        "while or after the task started at crates/tidings-sim/tests/it/failing.rs:{line}:"
    );
    assert!(failure.message.contains(&who), "{failure}");
}

#[test]
fn a_node_that_has_ended_is_not_taken_for_the_one_after_it() {
    let runs = AtomicU32::new(0);
    let failure = Sim::new(0)
        .check(|| {
            let run = runs.fetch_add(1, Ordering::SeqCst);
            async move {
                let _odd = world().node("odd", move || async move {
                    sleep(Duration::from_millis(1)).await;
                    let _ = tidings::sched::random(2 + run as usize);
                });
                let _even = world().node("even", || async {
                    for _ in 0..20 {
                        sleep(Duration::from_micros(150)).await;
                    }
                });
                sleep(Duration::from_millis(2)).await;
            }
        })
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Nondeterminism);
    let who = "while or after a node that has ended ran:";
    assert!(failure.message.contains(who), "{failure}");
}

#[test]
fn a_deadline_that_never_comes_ends_no_wait() {
    let failure = Sim::new(0)
        .check(|| async {
            let (_tx, rx) = unbounded::<()>();
            let _ = rx.recv().timeout(Duration::MAX).await;
        })
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Deadlock, "{failure}");
}

#[test]
fn a_failure_that_does_not_come_again_is_told_with_its_cause() {
    let runs = AtomicU32::new(0);
    let failure = Sim::new(0)
        .check(|| {
            let first = runs.fetch_add(1, Ordering::SeqCst) == 0;
            async move {
                assert!(!first, "only in the first run");
                tidings::spawn(yield_now()).await.unwrap();
            }
        })
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Nondeterminism);
    assert!(
        failure.message.contains("only in the first run"),
        "{failure}"
    );
}

#[test]
fn the_order_of_a_hash_map_is_noticed() {
    let failure = Sim::new(0)
        .seeds(20)
        .check(|| async {
            let map: HashMap<u32, u32> = (0..50).map(|n| (n, n)).collect();
            for n in map.into_keys() {
                if n % 2 == 0 {
                    let _ = tidings::sched::random(2);
                } else {
                    let _ = tidings::sched::random(3);
                }
            }
        })
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Nondeterminism);
}

#[test]
fn a_run_without_end_is_ended() {
    let sim = Sim::new(0).polls(1_000).shrinks(50);
    let failure = sim
        .check(|| async {
            while world().seed() == 0 {
                yield_now().await;
            }
        })
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Endless);
    assert_eq!(failure.trace, []);
    let words = "has not ended after 1000 polls, the last of them of the program";
    assert_eq!(failure.message, words);
    let on_a_node = sim.check(|| async {
        world().node("mill", || async {
            while world().seed() == 0 {
                yield_now().await;
            }
        });
        pending::<()>().await;
    });
    let failure = on_a_node.unwrap_err();
    assert_eq!(failure.message, format!("{words} on node mill"));
}

#[test]
#[should_panic(expected = "would run nothing")]
fn no_seeds_are_no_simulation() {
    let _ = Sim::new(0).seeds(0);
}

#[test]
fn after_the_last_seed_comes_the_first() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&seen);
    let sim = Sim::new(u64::MAX - 1).seeds(4).once();
    let runs = sim.run(move || {
        note.lock().unwrap().push(world().seed());
        async {}
    });
    assert_eq!(runs.runs, 4);
    assert_eq!(*seen.lock().unwrap(), [u64::MAX - 1, u64::MAX, 0, 1]);
}

#[test]
fn an_error_fails_the_run() {
    let failure = Sim::new(0)
        .check(|| async { Err::<(), _>("out of luck") })
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Error);
    assert!(failure.message.contains("out of luck"));
}

#[test]
fn what_is_left_at_the_end_is_told_if_asked_for() {
    let program = || async {
        let (tx, rx) = unbounded::<u32>();
        drop(tidings::spawn(async move {
            let _ = rx.recv().await;
            let _keeps = channel::<u32>();
            pending::<()>().await;
        }));
        after(Duration::from_millis(1)).await;
        drop(tx);
    };
    assert!(Sim::new(0).check(program).is_ok());
    let failure = Sim::new(0).settles().check(program).unwrap_err();
    assert_eq!(failure.kind, Kind::Left);
    assert!(failure.message.contains("1 tasks are left"), "{failure}");
}

#[test]
fn a_timer_that_outlives_all_tasks_is_told_if_asked_for() {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let ends = |keeps: bool| {
        let kept = Arc::clone(&kept);
        Sim::new(0).seeds(20).settles().check(move || {
            let kept = Arc::clone(&kept);
            async move {
                let sleeps = tidings::spawn(async move {
                    let mut hour = Box::pin(after(Duration::from_secs(3600)).into_future());
                    assert!(futures::poll!(hour.as_mut()).is_pending());
                    if keeps {
                        kept.lock().unwrap().push(hour);
                    }
                });
                sleeps.await.unwrap();
            }
        })
    };
    assert!(ends(false).is_ok());
    let failure = ends(true).unwrap_err();
    assert_eq!(failure.kind, Kind::Left);
    let told = "a timer is\n  kept: a time, at crates/tidings-sim/tests/it/failing.rs:";
    assert!(failure.message.contains(told), "{failure}");
}

#[test]
fn a_wait_that_outlives_all_tasks_is_told_if_asked_for() {
    type Waits = Vec<Pin<Box<dyn Future<Output = ()> + Send>>>;
    let kept = Arc::new(Mutex::new(Waits::new()));
    let ends = |keeps: bool| {
        let kept = Arc::clone(&kept);
        Sim::new(0).seeds(20).settles().check(move || {
            let kept = Arc::clone(&kept);
            async move {
                let (_tx, rx) = unbounded::<u8>();
                let mut waits: Waits = vec![Box::pin(async move {
                    let _ = rx.recv().await;
                })];
                let polls = tidings::spawn(async move {
                    assert!(futures::poll!(waits[0].as_mut()).is_pending());
                    waits
                });
                let waits = polls.await.unwrap();
                if keeps {
                    kept.lock().unwrap().extend(waits);
                }
            }
        })
    };
    let failure = ends(true).unwrap_err();
    assert_eq!(failure.kind, Kind::Left);
    let told = "no task is left, and a wait is\n  kept: Recv<u8> of";
    assert!(failure.message.contains(told), "{failure}");
    // Those of earlier runs, which are kept, are not this one's.
    assert!(!kept.lock().unwrap().is_empty());
    assert!(ends(false).is_ok());
}

#[test]
fn an_invariant_that_breaks_is_named() {
    let failure = Sim::new(0)
        .seeds(50)
        .check(|| async {
            let inside = Arc::new(AtomicU32::new(0));
            let seen = Arc::clone(&inside);
            world().always("one inside", move || seen.load(Ordering::SeqCst) <= 1);
            let tasks = [(); 2].map(|()| {
                let inside = Arc::clone(&inside);
                tidings::spawn(async move {
                    inside.fetch_add(1, Ordering::SeqCst);
                    yield_now().await;
                    inside.fetch_sub(1, Ordering::SeqCst);
                })
            });
            for task in tasks {
                task.await.unwrap();
            }
        })
        .unwrap_err();
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (Kind::Invariant, "one inside")
    );
}

#[test]
fn what_must_come_must_come_in_time_and_what_is_hot_must_cool() {
    let eventually = |secs| {
        Sim::new(0).check(move || async move {
            let start = world().elapsed();
            world().eventually("some time", Duration::from_secs(5), move || {
                world().elapsed() - start >= Duration::from_secs(secs)
            });
            for _ in 0..20 {
                after(Duration::from_secs(1)).await;
            }
        })
    };
    assert!(eventually(4).is_ok());
    let failure = eventually(10).unwrap_err();
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (Kind::Liveness, "some time: not within 5s, nor by the end")
    );
    let hot = |secs| {
        Sim::new(0).check(move || async move {
            world().not_hot_for("hot", Duration::from_secs(3), move || {
                world().elapsed().as_secs() % 10 < secs
            });
            for _ in 0..20 {
                after(Duration::from_secs(1)).await;
            }
        })
    };
    assert!(hot(3).is_ok());
    let failure = hot(7).unwrap_err();
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (Kind::Liveness, "hot: for longer than 3s")
    );
}
