//! Timers of reentrant actors.

use std::time::Duration;

use crate::both::on_all;
use tidings::actor::{self, Shared};
use tidings::time::sleep;

const MILLI: Duration = Duration::from_millis(1);

#[tidings::interface]
trait Clock {
    async fn set(this: Shared<Self>, name: &'static str, after: Duration) -> ();
    async fn every(this: Shared<Self>, name: &'static str, period: Duration) -> ();
    /// As `every`, but the first time it cancels itself, and takes until the next is due.
    async fn once_in_every(this: Shared<Self>, name: &'static str, period: Duration) -> ();
    /// Sets two, and cancels the first when its time has come.
    async fn set_and_cancel(&mut self) -> bool;
    /// Sets one, and has the actor to itself until its time has come.
    async fn set_and_stay(&mut self) -> ();
    async fn cancel(this: Shared<Self>, name: &'static str) -> bool;
    async fn fired(&self) -> Vec<&'static str>;
}

struct Alarms {
    this: Shared<Self>,
    fired: Vec<&'static str>,
}

impl Clock for Alarms {
    async fn set(this: Shared<Self>, name: &'static str, after: Duration) {
        this.after(name, after, move |alarms| alarms.fired.push(name));
    }
    async fn every(this: Shared<Self>, name: &'static str, period: Duration) {
        this.every(name, period, move |alarms| {
            alarms.fired.push(name);
            if alarms.fired.len() == 3 {
                assert!(alarms.this.cancel(name));
            }
        });
    }
    async fn once_in_every(this: Shared<Self>, name: &'static str, period: Duration) {
        this.every(name, period, move |alarms| {
            alarms.fired.push(name);
            alarms.this.cancel(name);
            let begun = std::time::Instant::now();
            while begun.elapsed() < 2 * period {}
        });
    }
    async fn set_and_cancel(&mut self) -> bool {
        let fire = |name| move |alarms: &mut Self| alarms.fired.push(name);
        self.this.after("stale", MILLI, fire("stale"));
        self.this.after("other", 2 * MILLI, fire("other"));
        // Nothing else of the actor runs meanwhile.
        sleep(5 * MILLI).await;
        self.this.cancel("stale")
    }
    async fn set_and_stay(&mut self) {
        self.this
            .after("first", 20 * MILLI, |alarms| alarms.fired.push("first"));
        sleep(30 * MILLI).await;
    }
    async fn cancel(this: Shared<Self>, name: &'static str) -> bool {
        this.cancel(name)
    }
    async fn fired(&self) -> Vec<&'static str> {
        self.fired.clone()
    }
}

fn clock() -> ClockRef {
    actor::start_with(|this: &Shared<Alarms>| Alarms {
        this: this.clone(),
        fired: Vec::new(),
    })
}

/// What has fired, when there are so many.
async fn fired(clock: &ClockRef, n: usize) -> Vec<&'static str> {
    loop {
        let fired = clock.fired().await.unwrap();
        if fired.len() >= n {
            return fired;
        }
        sleep(MILLI).await;
    }
}

#[test]
fn timers_fire_once_are_replaced_and_go_on() {
    on_all(|| async {
        let clock = clock();
        let hour = Duration::from_secs(3600);
        // The first time it fires is after one period.
        clock.every("rare", hour).await.unwrap();
        clock.set("late", hour).await.unwrap();
        clock.set("soon", hour).await.unwrap();
        clock.set("soon", MILLI).await.unwrap();
        assert_eq!(fired(&clock, 1).await, ["soon"]);
        assert!(!clock.cancel("soon").await.unwrap());
        assert!(clock.cancel("late").await.unwrap());
        clock.every("tick", MILLI).await.unwrap();
        assert_eq!(fired(&clock, 3).await, ["soon", "tick", "tick"]);
        assert!(!clock.cancel("tick").await.unwrap());
        // What was replaced does not fire when its own time comes.
        clock.set("anew", 2 * MILLI).await.unwrap();
        clock.set("anew", MILLI).await.unwrap();
        assert_eq!(fired(&clock, 4).await[3..], ["anew"]);
        clock.set("end", 2 * MILLI).await.unwrap();
        assert_eq!(fired(&clock, 5).await[3..], ["anew", "end"]);
    });
}

#[test]
fn a_timer_that_cancels_itself_does_not_fire_again_though_it_is_late() {
    on_all(|| async {
        let clock = clock();
        clock.once_in_every("tick", MILLI).await.unwrap();
        assert_eq!(fired(&clock, 1).await, ["tick"]);
        clock.set("soon", MILLI).await.unwrap();
        assert_eq!(fired(&clock, 2).await, ["tick", "soon"]);
    });
}

#[test]
fn a_cancelled_timer_does_not_fire_even_if_its_time_had_come() {
    on_all(|| async {
        let clock = clock();
        assert!(clock.set_and_cancel().await.unwrap());
        assert_eq!(fired(&clock, 1).await, ["other"]);
    });
}

#[test]
fn the_time_of_a_timer_counts_from_when_it_is_set() {
    on_all(|| async {
        let clock = clock();
        clock.set_and_stay().await.unwrap();
        clock.set("second", MILLI).await.unwrap();
        assert_eq!(fired(&clock, 2).await, ["first", "second"]);
    });
}
