//! counter: P producers, one sum, all on the arbiter of the driver: messages between arbiters cost
//! more than the second thread gains.

use super::{lost, repeat};
use crate::cells::{Counts, Fault, Params, Sample};
use crate::sizes;
use actix::dev::SendError;
use actix::{Actor, Addr, Context, Handler, Message};
use tokio::sync::mpsc::unbounded_channel;

const STEP: i64 = 100;

struct Counter(i64);

impl Actor for Counter {
    type Context = Context<Self>;
}

#[derive(Message)]
#[rtype(result = "()")]
struct Add(i64);

#[derive(Message)]
#[rtype(result = "i64")]
struct GetAndReset;

impl Handler<Add> for Counter {
    type Result = ();

    fn handle(&mut self, Add(value): Add, _: &mut Context<Self>) {
        self.0 += value;
    }
}

impl Handler<GetAndReset> for Counter {
    type Result = i64;

    fn handle(&mut self, _: GetAndReset, _: &mut Context<Self>) -> i64 {
        std::mem::take(&mut self.0)
    }
}

async fn ask(counter: &Addr<Counter>) -> Result<i64, Fault> {
    counter.send(GetAndReset).await.map_err(Fault::bug)
}

/// Waits only where the mailbox is full: then for room and, since that is what actix has, until
/// the message is handled.
async fn send(counter: &Addr<Counter>, add: Add) -> Result<(), Fault> {
    match counter.try_send(add) {
        Ok(()) => Ok(()),
        Err(SendError::Full(add)) => counter.send(add).await.map_err(Fault::bug),
        Err(SendError::Closed(_)) => Err(lost()),
    }
}

/// The producers are futures; they need no mailbox.
async fn produce(
    counter: Addr<Counter>,
    n: i64,
    bounded: bool,
    each: bool,
) -> Result<Counts, Fault> {
    let mut sent = 0;
    for _ in 0..n {
        if bounded {
            send(&counter, Add(STEP)).await?;
        } else {
            counter.do_send(Add(STEP));
        }
        sent += 1;
    }
    Ok(Counts {
        msgs: sent,
        units: 1,
        check: if each { ask(&counter).await? } else { 0 },
    })
}

/// `room` is 0 for messages that need none: `do_send` ignores it.
async fn counter(p: i64, n: i64, room: usize, each: bool) -> Result<Counts, Fault> {
    let counter = Counter::create(|context| {
        if room > 0 {
            context.set_mailbox_capacity(room);
        }
        Counter(0)
    });
    let (done, mut ends) = unbounded_channel();
    for _ in 0..p {
        let (counter, done) = (counter.clone(), done.clone());
        actix::spawn(async move { done.send(produce(counter, n, room > 0, each).await) });
    }
    let mut counts = Counts {
        msgs: 0,
        units: 1,
        check: 0,
    };
    for _ in 0..p {
        counts += ends.recv().await.ok_or_else(lost)??;
    }
    if !each {
        counts.check = ask(&counter).await?;
    }
    Ok(counts)
}

fn cell(params: Params, room: usize, each: bool) -> Result<Sample, Fault> {
    let (p, n) = sizes::counter(params)?;
    Ok(repeat(params, move |_| counter(p, n, room, each)))
}

pub(super) fn unbounded(params: Params) -> Result<Sample, Fault> {
    cell(params, 0, false)
}

pub(super) fn bounded(params: Params) -> Result<Sample, Fault> {
    cell(params, 1024, false)
}

pub(super) fn ask_each(params: Params) -> Result<Sample, Fault> {
    cell(params, 0, true)
}
