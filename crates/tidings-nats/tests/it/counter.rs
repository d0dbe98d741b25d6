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
