//! spawn: actors on the arbiter of the one that starts them.

use super::repeat;
use crate::cells::{Counts, Fault, Params, Sample};
use crate::on_tokio::Tally;
use crate::sizes;
use actix::{Actor, ActorContext, Context, Handler, Message};
use std::sync::Arc;

struct Detached(Arc<Tally>);

impl Actor for Detached {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        self.0.one();
        context.stop();
    }
}

/// Nobody waits for an actor.
pub(super) fn detached(params: Params) -> Result<Sample, Fault> {
    let n = sizes::spawn(params)?;
    Ok(repeat(params, move |_| async move {
        let tally = Tally::new(n);
        let starter = Arc::clone(&tally);
        actix::spawn(async move {
            for _ in 0..n {
                Detached(Arc::clone(&starter)).start();
            }
        });
        Ok(tally.full().await)
    }))
}

struct Joined;

impl Actor for Joined {
    type Context = Context<Self>;
}

#[derive(Message)]
#[rtype(result = "i64")]
struct Take;

impl Handler<Take> for Joined {
    type Result = i64;

    fn handle(&mut self, _: Take, context: &mut Context<Self>) -> i64 {
        context.stop();
        1
    }
}

/// Start one, ask for its result, n times.
pub(super) fn joined(params: Params) -> Result<Sample, Fault> {
    let n = sizes::spawn(params)?;
    Ok(repeat(params, move |_| async move {
        let (mut started, mut sum) = (0, 0);
        while started < n {
            started += 1;
            sum += Joined.start().send(Take).await.map_err(Fault::bug)?;
        }
        Ok(Counts {
            msgs: sum,
            units: started,
            check: sum,
        })
    }))
}
