//! Panics that nobody hears of fail a run, as they fail a test on threads.

use std::time::Duration;

use tidings::actor::{self, Mailbox};
use tidings::time::sleep;
use tidings::{JoinSet, oneshot, spawn, spawn_blocking, spawn_local};
use tidings_sim::{Failure, Kind, Sim, world};

/// Lets a task panic, and waits until it has.
async fn let_go() {
    let (guard, gone) = oneshot::<()>();
    drop(spawn(async move {
        let _guard = guard;
        panic!("boom");
    }));
    assert!(gone.await.is_err());
}

fn fails<F: Future<Output = ()> + Send + 'static>(body: impl Fn() -> F) -> Box<Failure> {
    let failure = Sim::new(0).seeds(3).check(body).unwrap_err();
    assert_eq!(failure.kind, Kind::Panic);
    for words in [
        "panics that nobody has heard of",
        "panicked: boom, at ",
        "unheard.rs:",
    ] {
        assert!(failure.message.contains(words), "{}", failure.message);
    }
    failure
}

#[test]
fn a_panic_that_nobody_hears_fails_the_run_by_its_line() {
    let failure = fails(let_go);
    assert!(failure.message.contains("the task started at "));
    let failure = fails(|| async {
        let (guard, gone) = oneshot::<()>();
        let builder = actor::Builder::new().name("frail");
        builder.spawn(|_: Mailbox<()>| async move {
            let _guard = guard;
            panic!("boom");
        });
        assert!(gone.await.is_err());
    });
    assert!(failure.message.contains("the actor \"frail\" started at "));
}

#[test]
fn a_panic_on_a_node_that_nobody_hears_fails_the_run_though_the_node_crashes_or_ends() {
    for (crashes, ends) in [(false, false), (true, false), (false, true)] {
        let failure = fails(move || async move {
            let node = world().node("store", move || async move {
                let_go().await;
                if !ends {
                    sleep(Duration::from_secs(1)).await;
                }
            });
            sleep(Duration::from_millis(1)).await;
            assert_eq!(node.is_up(), !ends);
            if crashes {
                node.crash();
                sleep(Duration::from_millis(1)).await;
            }
        });
        assert!(
            failure.message.contains("node store: panics that"),
            "{}",
            failure.message
        );
    }
}

#[test]
fn a_panic_that_somebody_hears_fails_no_run() {
    Sim::new(0).seeds(20).run(|| async {
        assert!(spawn(async { panic!("heard") }).await.is_err());
        assert!(spawn_local(async { panic!("heard") }).await.is_err());
        assert!(spawn_blocking(|| panic!("heard")).await.is_err());
        let mut set = JoinSet::new();
        set.spawn(async { panic!("heard") });
        assert!(set.join_next().await.unwrap().is_err());
    });
}

#[tidings::test(sim, seeds = 3)]
#[should_panic(expected = "panics that nobody has heard of")]
async fn a_simulated_test_fails_of_a_panic_that_nobody_hears() {
    let_go().await;
}

#[tidings::test(sim, seeds = 3, panics = false)]
async fn a_simulated_test_that_says_so_does_not_fail_of_a_panic_that_nobody_hears() {
    let_go().await;
}
