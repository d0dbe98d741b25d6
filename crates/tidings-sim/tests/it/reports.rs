//! What a failing run says of itself, whatever fails in it and wherever.

use std::future::IntoFuture;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::join;
use tidings::channel::ivar::IVar;
use tidings::net::TcpStream;
use tidings::sync::Barrier;
use tidings::time::sleep;
use tidings::{Receiver, unbounded};
use tidings_sim::{Failure, Kind, Sim, world};

#[test]
fn a_task_that_ends_its_own_wait_is_in_the_picture() {
    let failure = Sim::new(0)
        .check(|| async {
            let cell = IVar::new();
            let (read, ()) = join!(cell.read().into_future(), async {
                cell.fill(1).unwrap();
            });
            let both = Barrier::new(2);
            join!(both.wait().into_future(), both.wait().into_future());
            Err::<(), _>(format!("{read:?}"))
        })
        .unwrap_err();
    let report = failure.to_string();
    let own = report.lines().filter(|line| line.contains('↺'));
    assert_eq!(own.count(), 2, "{report}");
    assert!(failure.chart.to_svg().contains("class=\"release\""));
}

#[test]
fn a_call_to_where_nobody_is_is_in_the_picture() {
    let failure = Sim::new(0)
        .check(|| async {
            let nobody: SocketAddr = ([10, 0, 9, 9], 7).into();
            TcpStream::connect(nobody).await.map(drop)
        })
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Error);
    assert!(failure.message.contains("ConnectionRefused"), "{failure}");
    let picture = failure.chart.to_string();
    assert!(picture.contains("10.0.9.9"), "{picture}");
}

/// It says what it panicked with and where, and its seed.
fn is_a_panic(failure: &Failure, message: &str) {
    assert_eq!(failure.kind, Kind::Panic, "{failure}");
    assert!(failure.message.starts_with(message), "{failure}");
    assert!(failure.message.contains("reports.rs:"), "{failure}");
    assert!(failure.to_string().contains("TIDINGS_SEED="), "{failure}");
}

#[test]
fn a_panic_of_a_condition_fails_the_run_by_its_text() {
    let failure = Sim::new(0)
        .check(|| async {
            world().always("well", || panic!("the condition breaks"));
            sleep(Duration::from_secs(1)).await;
        })
        .unwrap_err();
    is_a_panic(&failure, "the condition breaks");
}

#[test]
fn a_panic_before_the_program_begins_fails_the_run_by_its_text() {
    let failure = Sim::new(0)
        .check(|| {
            assert!(world().seed() > 0, "the program is not made");
            async {}
        })
        .unwrap_err();
    is_a_panic(&failure, "the program is not made");
    // What can be done in a task only.
    let failure = Sim::new(0)
        .check(|| {
            drop(tidings::spawn(async {}));
            async {}
        })
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Panic, "{failure}");
}

#[test]
fn a_panic_where_a_nodes_program_is_made_fails_the_run_by_its_text() {
    let failure = Sim::new(0)
        .check(|| async {
            let _node = world().node("broken", || {
                assert!(world().seed() > 0, "the node is not made");
                async {}
            });
            sleep(Duration::from_secs(1)).await;
        })
        .unwrap_err();
    is_a_panic(&failure, "the node is not made");
}

#[test]
fn a_panic_as_the_world_is_dropped_fails_the_run_by_its_text() {
    struct Breaks;
    impl Drop for Breaks {
        fn drop(&mut self) {
            panic!("it does not go");
        }
    }
    let failure = Sim::new(0)
        .check(|| async {
            let breaks = Breaks;
            world().always("well", move || {
                let _kept = &breaks;
                true
            });
        })
        .unwrap_err();
    is_a_panic(&failure, "it does not go");
}

#[test]
fn a_panic_of_a_program_that_is_dropped_by_a_crash_is_the_programs() {
    struct Breaks;
    impl Drop for Breaks {
        fn drop(&mut self) {
            panic!("it does not go");
        }
    }
    let failure = Sim::new(0)
        .check(|| async {
            let node = world().node("broken", || async {
                let _breaks = Breaks;
                std::future::pending::<()>().await;
            });
            sleep(Duration::from_millis(1)).await;
            node.crash();
            sleep(Duration::from_millis(1)).await;
        })
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Panic);
    let told =
        "\n  the program panicked: it does not go, at crates/tidings-sim/tests/it/reports.rs:";
    assert!(failure.message.contains(told), "{failure}");
}

#[test]
fn a_program_that_takes_another_time_in_each_run_or_sends_more_is_not_deterministic() {
    let runs = AtomicU32::new(1);
    let takes = Sim::new(0).check(|| {
        // As by the system's clock.
        let run = runs.fetch_add(1, Ordering::SeqCst);
        sleep(Duration::from_millis(run.into())).into_future()
    });
    let sends = Sim::new(0).cooperative().check(|| {
        let run = runs.fetch_add(1, Ordering::SeqCst);
        async move {
            let (tx, _rx) = unbounded();
            for n in 0..run {
                tx.try_send(n).unwrap();
            }
        }
    });
    for (run, words) in [
        (takes, "took 2 polls and "),
        (sends, " 3 messages, 3 of them dead; "),
    ] {
        let failure = run.unwrap_err();
        assert_eq!(failure.kind, Kind::Nondeterminism, "{failure}");
        assert!(failure.message.contains(words), "{failure}");
        assert!(
            failure.message.contains("a clock that is not tidings'"),
            "{failure}"
        );
    }
}

#[test]
fn who_waits_is_told_in_the_order_in_which_they_began_wherever_they_lie() {
    let failure = Sim::new(0)
        .check(|| async {
            let start = |n, rx: Option<Receiver<u8>>| {
                let named = tidings::task::named(format!("the {n}th"), async move {
                    sleep(Duration::from_millis(n * 7 % 20)).await;
                    if let Some(rx) = rx {
                        rx.recv().await.unwrap();
                    }
                });
                tidings::spawn(named)
            };
            // Places become free in another order than that of their addresses.
            (0_u64..20).for_each(|n| drop(start(n, None)));
            sleep(Duration::from_millis(30)).await;
            let (_tx, rx) = unbounded::<u8>();
            let waits = (0..20).map(|n| start(n, Some(rx.clone())));
            for task in waits.collect::<Vec<_>>() {
                task.await.unwrap();
            }
        })
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Deadlock);
    let lines = failure.message.lines();
    let tasks = lines.filter(|line| line.starts_with("  the task "));
    let told: Vec<_> = tasks.filter_map(|line| line.split('"').nth(1)).collect();
    let all: Vec<_> = (0..20).map(|n| format!("the {}th", n * 3 % 20)).collect();
    assert_eq!(told, all, "{failure}");
}

#[test]
fn files_of_a_failure_are_where_those_of_another_program_are_not() {
    let failure = Sim::new(0).check(std::future::pending::<()>).unwrap_err();
    let (trace, picture) = failure.saved.unwrap();
    // Cargo gives each target of each package a name of its own.
    let program = std::env::current_exe().unwrap();
    for file in [trace, picture] {
        assert_eq!(file.parent().unwrap().file_name(), program.file_stem());
    }
}

#[test]
fn a_line_with_words_that_a_shell_would_read_otherwise_is_quoted() {
    let name = "it's; a test";
    let thread = std::thread::Builder::new().name(name.to_owned());
    let failed = thread.spawn(|| Sim::new(0).check(std::future::pending::<()>).unwrap_err());
    let failure = failed.unwrap().join().unwrap();
    assert!(failure.command.contains(r"'it'\''s; a test' "), "{failure}");
}

/// What the first run of a seed failed with, and the shortest one: each draws a number, which says the error.
fn first_and_last<T: std::fmt::Debug + 'static>(
    seed: u64,
    fails: fn(usize) -> Result<(), T>,
) -> Option<(String, String)> {
    let first = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&first);
    let failure = Sim::new(seed).check(move || {
        let seen = Arc::clone(&seen);
        async move {
            let failed = fails(world().choose(100));
            if let Err(error) = &failed {
                seen.lock().unwrap().get_or_insert(format!("{error:?}"));
            }
            failed
        }
    });
    let message = failure.err()?.message;
    let first = first.lock().unwrap().take();
    first.map(|first| (first, message))
}

#[test]
fn a_run_is_made_short_but_not_into_one_with_another_error() {
    let fails = |n| match n {
        0..10 => Ok(()),
        10..50 => Err(format!("no money, {n}")),
        _ => Err(format!("no such account, {n}")),
    };
    let mut seen = [0; 2];
    for seed in 0..40 {
        let Some((first, last)) = first_and_last(seed, fails) else {
            continue;
        };
        let other = first.contains("account");
        seen[usize::from(other)] += 1;
        let shortest = ["\"no money, 10\"", "\"no such account, 50\""][usize::from(other)];
        assert_eq!(last, shortest, "seed {seed}, which failed with {first}");
    }
    assert!(seen.iter().all(|&times| times > 3), "{seen:?}");
}

#[test]
fn a_run_is_made_short_though_the_numbers_and_lists_in_its_error_change() {
    let fails = |n| match n {
        0..10 => Ok(()),
        _ => Err(("too many", (0..n).collect::<Vec<_>>())),
    };
    let failures: Vec<_> = (0..10)
        .filter_map(|seed| first_and_last(seed, fails))
        .collect();
    assert!(failures.len() > 5);
    let shortest = format!("{:?}", fails(10).unwrap_err());
    assert!(failures.iter().all(|(_, last)| *last == shortest));
}

#[test]
fn a_run_in_which_a_node_fails_is_not_made_into_one_in_which_another_does() {
    let fails = |fails: usize| async move {
        for (name, when) in [("cache", 10..50), ("store", 50..100)] {
            world().node(name, move || {
                std::future::ready(match when.contains(&fails) {
                    true => Err("the disk is full"),
                    false => Ok(()),
                })
            });
        }
        sleep(Duration::from_secs(1)).await;
    };
    let mut seen = [0; 2];
    for seed in 0..40 {
        let first = Arc::new(Mutex::new(None));
        let noted = Arc::clone(&first);
        let failed = Sim::new(seed).check(move || {
            let chosen = world().choose(100);
            noted.lock().unwrap().get_or_insert(chosen);
            fails(chosen)
        });
        let Err(failure) = failed else { continue };
        let of_store = first.lock().unwrap().unwrap() >= 50;
        seen[usize::from(of_store)] += 1;
        let who = ["node cache: ", "node store: "][usize::from(of_store)];
        assert!(failure.message.starts_with(who), "{failure}");
    }
    assert!(seen.iter().all(|&times| times > 3), "{seen:?}");
}
