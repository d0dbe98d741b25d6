//! What must come, what must not last, and when a simulation looks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tidings::time::sleep;
use tidings::yield_now;
use tidings_sim::{Failure, Kind, Sim, world};

const SECOND: Duration = Duration::from_secs(1);

fn switch(on: bool) -> (Arc<AtomicBool>, impl FnMut() -> bool + Send + 'static) {
    let switch = Arc::new(AtomicBool::new(on));
    let seen = Arc::clone(&switch);
    (switch, move || seen.load(Ordering::SeqCst))
}

fn is_too_late(failure: &Failure, message: &str) {
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (Kind::Liveness, message)
    );
}

#[test]
fn what_comes_after_its_time_is_late_though_nothing_ran_in_between() {
    let failure = Sim::new(0)
        .check(|| async {
            let (done, is_done) = switch(false);
            world().eventually("x", SECOND, is_done);
            sleep(10 * SECOND).await;
            done.store(true, Ordering::SeqCst);
        })
        .unwrap_err();
    is_too_late(&failure, "x: not within 1s, nor by the end");
}

#[test]
fn what_is_hot_too_long_is_told_though_nothing_ran_in_between() {
    let failure = Sim::new(0)
        .check(|| async {
            let (hot, is_hot) = switch(true);
            world().not_hot_for("x", SECOND, is_hot);
            sleep(10 * SECOND).await;
            hot.store(false, Ordering::SeqCst);
        })
        .unwrap_err();
    is_too_late(&failure, "x: for longer than 1s");
}

#[test]
fn what_comes_in_time_or_lasts_as_long_as_it_may_is_well() {
    Sim::new(0).seeds(20).run(|| async {
        let (done, is_done) = switch(false);
        let (hot, is_hot) = switch(true);
        // Timers are a little late.
        world().eventually("x", 11 * SECOND, is_done);
        world().not_hot_for("y", 11 * SECOND, is_hot);
        sleep(10 * SECOND).await;
        done.store(true, Ordering::SeqCst);
        hot.store(false, Ordering::SeqCst);
        sleep(10 * SECOND).await;
    });
}

#[test]
fn what_a_poll_does_is_done_before_the_time_that_it_takes() {
    let sim = Sim::new(0).seeds(20).busy(SECOND);
    let failure = sim
        .check(|| async {
            let (hot, is_hot) = switch(true);
            world().not_hot_for("x", SECOND / 2, is_hot);
            yield_now().await;
            hot.store(false, Ordering::SeqCst);
        })
        .unwrap_err();
    is_too_late(&failure, "x: for longer than 500ms");
    // It takes no longer than a second, so it was there in time.
    sim.run(|| async {
        let (done, is_done) = switch(false);
        world().eventually("x", Duration::ZERO, is_done);
        done.store(true, Ordering::SeqCst);
        yield_now().await;
    });
}

#[test]
fn an_invariant_is_asked_after_polls_and_not_as_time_passes() {
    Sim::new(0).seeds(20).run(|| async {
        let (held, is_held) = switch(true);
        let mut is_held = is_held;
        world().always("given back in time", move || {
            !is_held() || world().elapsed() < SECOND
        });
        sleep(SECOND).await;
        held.store(false, Ordering::SeqCst);
    });
}

#[test]
fn what_is_hot_anew_is_hot_since_then() {
    Sim::new(0).seeds(5).run(|| async {
        let (hot, is_hot) = switch(true);
        world().not_hot_for("x", 3 * SECOND, is_hot);
        for on in [true, false, true, false] {
            hot.store(on, Ordering::SeqCst);
            sleep(2 * SECOND).await;
        }
    });
}
