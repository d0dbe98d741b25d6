//! spawn: actors without messages.

use crate::cells::{Fault, Params, Sample};
use crate::on_tokio::{self, Tally};
use crate::sizes;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::sync::Arc;

struct One;

impl Actor for One {
    type Msg = ();
    type State = Arc<Tally>;
    type Arguments = Arc<Tally>;

    async fn pre_start(
        &self,
        _: ActorRef<()>,
        tally: Arc<Tally>,
    ) -> Result<Arc<Tally>, ActorProcessingErr> {
        Ok(tally)
    }

    async fn post_start(
        &self,
        me: ActorRef<()>,
        tally: &mut Arc<Tally>,
    ) -> Result<(), ActorProcessingErr> {
        tally.one();
        me.stop(None);
        Ok(())
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
                let started = One::spawn(None, One, Arc::clone(&starter)).await;
                started.expect("it has no name that could be taken");
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
            let one = One::spawn(None, One, Arc::clone(&tally)).await;
            let (_, end) = one.map_err(Fault::bug)?;
            end.await.map_err(Fault::bug)?;
        }
        Ok(tally.counts())
    })
}
