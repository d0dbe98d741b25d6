//! The actor that tests call.

use std::time::Duration;

use tidings::actor::Shared;

#[tidings::interface(remote)]
pub(crate) trait Counter {
    async fn add(&mut self, n: i64);
    async fn inc(&mut self) -> i64;
    async fn get(&self) -> i64;
    async fn slow(this: Shared<Self>) -> i64;
    async fn is_waiting(&self) -> bool;
}

#[tidings::interface(remote)]
pub(crate) trait Other {
    async fn something(&self) -> String;
}

/// What another version of the program takes for a counter.
pub(crate) mod later {
    #[tidings::interface(remote)]
    pub(crate) trait Counter {
        async fn add(&mut self, n: i64, twice: bool);
        async fn get(&self) -> i64;
    }
}

/// A counter that can do more.
pub(crate) mod grown {
    #[tidings::interface(remote)]
    pub(crate) trait Counter {
        async fn get(&self) -> i64;
        async fn reset(&mut self);
    }
}

#[derive(Default)]
pub(crate) struct Tally {
    sum: i64,
    waiting: bool,
}

impl Counter for Tally {
    async fn add(&mut self, n: i64) {
        self.sum += n;
    }
    async fn inc(&mut self) -> i64 {
        self.sum += 1;
        self.sum
    }
    async fn get(&self) -> i64 {
        self.sum
    }
    async fn slow(this: Shared<Self>) -> i64 {
        this.with(|s| s.waiting = true);
        tidings::time::sleep(Duration::from_secs(1)).await;
        7
    }
    async fn is_waiting(&self) -> bool {
        self.waiting
    }
}
