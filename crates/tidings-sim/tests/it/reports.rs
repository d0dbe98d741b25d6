//! What a failing run says of itself, whatever fails in it and wherever.

use std::future::IntoFuture;
use std::net::SocketAddr;
use std::time::Duration;

use futures::join;
use tidings::channel::ivar::IVar;
use tidings::net::TcpStream;
use tidings::sync::Barrier;
use tidings::time::sleep;
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
