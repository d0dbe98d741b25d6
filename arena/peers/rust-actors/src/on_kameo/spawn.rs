//! spawn: actors without messages. They end by themselves, since nobody refers to them.

use super::start;
use crate::cells::{Fault, Params, Sample};
use crate::on_tokio::{self, Tally};
use crate::sizes;
use kameo::actor::{Actor, ActorRef};
use kameo::error::Infallible;
use std::sync::Arc;

struct One(Arc<Tally>);

impl Actor for One {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(one: Self, _: ActorRef<Self>) -> Result<Self, Infallible> {
        one.0.one();
        Ok(one)
    }
}

/// Nobody waits for an actor.
pub(super) fn detached(params: Params) -> Result<Sample, Fault> {
    let n = sizes::spawn(params)?;
    on_tokio::repeat(params.threads, move || async move {
        let tally = Tally::new(n);
        let starter = Arc::clone(&tally);
        tokio::spawn(async move {
            for _ in 0..n {
                start(One(Arc::clone(&starter)), 0);
            }
        });
        Ok(tally.full().await)
    })
}

/// Start one, wait for its end, n times.
pub(super) fn joined(params: Params) -> Result<Sample, Fault> {
    let n = sizes::spawn(params)?;
    on_tokio::repeat(params.threads, move || async move {
        let tally = Tally::new(n);
        for _ in 0..n {
            let one = start(One(Arc::clone(&tally)), 0);
            let _ = one.stop_gracefully().await;
            one.wait_for_shutdown().await;
        }
        Ok(tally.counts())
    })
}
