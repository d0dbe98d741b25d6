//! counter: P producers, one sum.

use super::start;
use crate::cells::{Counts, Fault, Params, Sample};
use crate::{on_tokio, sizes};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

const STEP: i64 = 100;

enum Message {
    Add(i64),
    GetAndReset(RpcReplyPort<i64>),
}

struct Counter;

impl Actor for Counter {
    type Msg = Message;
    type State = i64;
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Message>, (): ()) -> Result<i64, ActorProcessingErr> {
        Ok(0)
    }

    async fn handle(
        &self,
        _: ActorRef<Message>,
        message: Message,
        sum: &mut i64,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Add(value) => *sum += value,
            Message::GetAndReset(reply) => reply.send(std::mem::take(sum))?,
        }
        Ok(())
    }
}

async fn ask(counter: &ActorRef<Message>) -> Result<i64, Fault> {
    let sum = counter.call(Message::GetAndReset, None).await;
    let sum = sum.map_err(|_| Fault::bug("the counter is gone"))?;
    sum.success_or(()).map_err(|()| Fault::bug("no answer"))
}

/// The producers are tasks; they need no mailbox.
async fn counter(producers: i64, n: i64, each: bool) -> Result<Counts, Fault> {
    let counter = start(Counter, ()).await?;
    let producers = (0..producers).map(|_| {
        let counter = counter.clone();
        tokio::spawn(async move {
            let mut sent = 0;
            for _ in 0..n {
                counter.cast(Message::Add(STEP)).map_err(Fault::bug)?;
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
    counter.stop(None);
    Ok(counts)
}

pub(super) fn send(params: Params) -> Result<Sample, Fault> {
    let (producers, n) = sizes::counter(params)?;
    on_tokio::repeat(params.threads, move || counter(producers, n, false))
}

pub(super) fn ask_each(params: Params) -> Result<Sample, Fault> {
    let (producers, n) = sizes::counter(params)?;
    on_tokio::repeat(params.threads, move || counter(producers, n, true))
}
