//! counter: P producers, one sum.

use super::{lost, push, send, start};
use crate::cells::{Counts, Fault, Params, Sample};
use crate::{on_tokio, sizes};
use kameo::Actor;
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};

const STEP: i64 = 100;

#[derive(Actor)]
struct Counter(i64);

struct Add(i64);
struct GetAndReset;

impl Message<Add> for Counter {
    type Reply = ();

    async fn handle(&mut self, Add(value): Add, _: &mut Context<Self, ()>) {
        self.0 += value;
    }
}

impl Message<GetAndReset> for Counter {
    type Reply = i64;

    async fn handle(&mut self, _: GetAndReset, _: &mut Context<Self, i64>) -> i64 {
        std::mem::take(&mut self.0)
    }
}

async fn ask(counter: &ActorRef<Counter>) -> Result<i64, Fault> {
    let sum = counter.ask(GetAndReset).send().await;
    sum.map_err(|_| lost())
}

/// The producers are tasks; they need no mailbox.
async fn counter<const ROOM: usize>(p: i64, n: i64, each: bool) -> Result<Counts, Fault> {
    let counter = start(Counter(0), ROOM);
    let producers = (0..p).map(|_| {
        let counter = counter.clone();
        tokio::spawn(async move {
            let mut sent = 0;
            for _ in 0..n {
                match ROOM {
                    0 => push(&counter, Add(STEP)),
                    _ => send(&counter, Add(STEP)).await,
                }
                sent += 1;
            }
            Ok::<_, Fault>(Counts {
                msgs: sent,
                units: 1,
                check: if each { ask(&counter).await? } else { 0 },
            })
        })
    });
    let mut counts = Counts {
        msgs: 0,
        units: 1,
        check: 0,
    };
    for producer in producers.collect::<Vec<_>>() {
        counts += producer.await.map_err(Fault::bug)??;
    }
    if !each {
        counts.check = ask(&counter).await?;
    }
    Ok(counts)
}

pub(super) fn cell<const ROOM: usize>(params: Params, each: bool) -> Result<Sample, Fault> {
    let (p, n) = sizes::counter(params)?;
    on_tokio::repeat(params.threads, move || counter::<ROOM>(p, n, each))
}
