//! Requests that wait for their answer: `pingpong/call` and `net/local`. The server is an actor,
//! the client a future on the same arbiter: its answers come in cells of their own.

use super::{Stage, lost, repeat, repeat_timed};
use crate::cells::{Counts, Fault, Outcome, Params, Sample, Stopwatch};
use crate::sizes;
use actix::{Actor, Addr, Context, Handler, Message};
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::Barrier;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

#[derive(Message)]
#[rtype(result = "i64")]
struct Number(i64);

/// Gives every number back; ends with the only address of it.
struct Server;

impl Actor for Server {
    type Context = Context<Self>;
}

impl Handler<Number> for Server {
    type Result = i64;

    fn handle(&mut self, Number(number): Number, _: &mut Context<Self>) -> i64 {
        number
    }
}

/// Asks for 0 to n - 1, one after the other.
async fn client(server: &Addr<Server>, n: i64) -> Result<Counts, Fault> {
    let (mut sent, mut answered, mut sum) = (0, 0, 0);
    while sent < n {
        let answer = server.send(Number(sent)).await.map_err(Fault::bug)?;
        if answer != sent {
            return Err(Fault::bug(format!("{answer} instead of {sent}")));
        }
        sum += answer;
        sent += 1;
        answered += 1;
    }
    Ok(Counts {
        msgs: sent + answered,
        units: 2,
        check: sum,
    })
}

type Ends = UnboundedReceiver<Result<Counts, Fault>>;

async fn sum(clients: i64, mut ends: Ends) -> Result<Counts, Fault> {
    let mut counts = Counts::default();
    for _ in 0..clients {
        counts += ends.recv().await.ok_or_else(lost)??;
    }
    Ok(counts)
}

async fn calls(stage: Rc<Stage>, p: i64, n: i64) -> Result<Counts, Fault> {
    let (done, ends) = unbounded_channel();
    for i in 0..p {
        let done = done.clone();
        stage.run(i, move || {
            let server = Server.start();
            actix::spawn(async move { done.send(client(&server, n).await) });
        });
    }
    sum(p, ends).await
}

pub(super) fn call(params: Params) -> Result<Sample, Fault> {
    let (p, n, _) = sizes::pingpong(params, 1)?;
    Ok(repeat(params, move |stage| calls(stage, p, n)))
}

/// Makes the pairs, lets each client have one verified echo, and times only the rest.
async fn local(stage: Rc<Stage>, n: i64, m: i64) -> Outcome {
    let all = n as usize + 1;
    let gates = Arc::new((Barrier::new(all), Barrier::new(all))); // ready, go
    let (done, ends) = unbounded_channel();
    for i in 0..n {
        let (done, gates) = (done.clone(), Arc::clone(&gates));
        stage.run(i, move || {
            let server = Server.start();
            actix::spawn(async move {
                let first = client(&server, 1).await;
                gates.0.wait().await;
                gates.1.wait().await;
                let counts = match first {
                    Ok(_) => client(&server, m).await,
                    fault => fault,
                };
                done.send(counts)
            });
        });
    }
    gates.0.wait().await;
    let watch = Stopwatch::start();
    gates.1.wait().await;
    let counts = sum(n, ends).await?;
    Ok((watch.stop(), counts))
}

pub(super) fn net(params: Params) -> Result<Sample, Fault> {
    let (n, m) = sizes::net(params)?;
    Ok(repeat_timed(params, move |stage| local(stage, n, m)))
}
