//! Requests that wait for their answer: `pingpong/call..` and `net/local`. The server is an
//! actor, the client a task: it needs no mailbox, since its answers come in cells of their own.

use crate::cells::{Counts, Fault, Outcome, Params, Sample, Stopwatch};
use crate::{on_tokio, sizes};
use std::sync::Arc;
use tokio::sync::Barrier;

/// An actor that gives every number back.
pub(crate) trait Echo: Sized + Send + Sync + 'static {
    fn start() -> impl Future<Output = Result<Self, Fault>> + Send;
    fn ask(&self, number: i64) -> impl Future<Output = Result<i64, Fault>> + Send;
    fn end(self);
}

/// Asks for 0 to n - 1, one after the other.
async fn client<E: Echo>(server: &E, n: i64) -> Result<Counts, Fault> {
    let (mut sent, mut answered, mut sum) = (0, 0, 0);
    while sent < n {
        let answer = server.ask(sent).await?;
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

async fn calls<E: Echo>(p: i64, n: i64) -> Result<Counts, Fault> {
    let mut clients = Vec::new();
    for _ in 0..p {
        let server = E::start().await?;
        clients.push(tokio::spawn(async move {
            let counts = client(&server, n).await;
            server.end();
            counts
        }));
    }
    let mut counts = Counts::default();
    for client in clients {
        counts += client.await.map_err(Fault::bug)??;
    }
    Ok(counts)
}

pub(crate) fn call<E: Echo>(params: Params) -> Result<Sample, Fault> {
    let (p, n, _) = sizes::pingpong(params, 1)?;
    on_tokio::repeat(params.threads, move || calls::<E>(p, n))
}

/// Makes the pairs, lets each client have one verified echo, and times only the rest.
async fn local<E: Echo>(n: i64, m: i64) -> Outcome {
    let all = n as usize + 1;
    let gates = Arc::new((Barrier::new(all), Barrier::new(all))); // ready, go
    let mut clients = Vec::new();
    for _ in 0..n {
        let server = E::start().await?;
        let gates = Arc::clone(&gates);
        clients.push(tokio::spawn(async move {
            let first = client(&server, 1).await;
            gates.0.wait().await;
            gates.1.wait().await;
            let counts = match first {
                Ok(_) => client(&server, m).await,
                fault => fault,
            };
            server.end();
            counts
        }));
    }
    gates.0.wait().await;
    let watch = Stopwatch::start();
    gates.1.wait().await;
    let mut counts = Counts::default();
    for client in clients {
        counts += client.await.map_err(Fault::bug)??;
    }
    Ok((watch.stop(), counts))
}

pub(crate) fn net<E: Echo>(params: Params) -> Result<Sample, Fault> {
    let (n, m) = sizes::net(params)?;
    on_tokio::repeat_timed(params.threads, move || local::<E>(n, m))
}
