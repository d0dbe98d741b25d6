//! async-nats without anything: a subject and a task for each pair, requests as `Client::request` makes them.

use std::any::Any;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::Client;
use futures::StreamExt;
use peer_protocol::net::pair;
use peer_protocol::{Counts, Fault, Outcome};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Barrier, oneshot};

use crate::server::NatsServer;
use crate::{Clients, Sizes};

fn subject(pair: usize) -> String {
    format!("pair.{pair}")
}

fn runtime(sizes: Sizes) -> Result<Runtime, Fault> {
    let mut builder = match sizes.threads {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    Ok(builder.worker_threads(sizes.threads).enable_all().build()?)
}

/// The fields end in this order.
struct Serving {
    /// The runtime runs on a thread until this is dropped.
    _until: oneshot::Sender<()>,
    _nats: NatsServer,
}

pub(crate) fn serve(sizes: Sizes) -> Result<(Box<dyn Any>, SocketAddr), Fault> {
    let nats = NatsServer::start()?;
    let addr = nats.addr;
    let runtime = runtime(sizes)?;
    runtime.block_on(async {
        let client = async_nats::connect(addr.to_string()).await?;
        for pair in 0..sizes.pairs {
            let mut asked = client.subscribe(subject(pair)).await?;
            let client = client.clone();
            tokio::spawn(async move {
                while let Some(message) = asked.next().await {
                    let Some(reply) = message.reply else { return };
                    if client.publish(reply, message.payload).await.is_err() {
                        return;
                    }
                }
            });
        }
        client.flush().await?;
        Ok::<_, Fault>(())
    })?;
    let (until, ended) = oneshot::channel::<()>();
    std::thread::spawn(move || drop(runtime.block_on(ended)));
    let serving = Serving {
        _until: until,
        _nats: nats,
    };
    Ok((Box::new(serving), addr))
}

struct Connected {
    client: Client,
    pairs: usize,
    requests: i64,
    ready: Duration,
    runtime: Runtime,
}

async fn echo(client: &Client, pair: usize, number: i64) -> Result<i64, Fault> {
    let sent = number.to_be_bytes().to_vec();
    let answer = client.request(subject(pair), sent.into()).await?;
    let answer: [u8; 8] = answer.payload.as_ref().try_into()?;
    let answer = i64::from_be_bytes(answer);
    match answer == number {
        true => Ok(answer),
        false => Err(Fault::bug(format!(
            "asked {number}, the answer is {answer}"
        ))),
    }
}

pub(crate) fn connect(addr: SocketAddr, sizes: Sizes) -> Result<Box<dyn Clients>, Fault> {
    let runtime = runtime(sizes)?;
    let begin = Instant::now();
    let client = runtime.block_on(async {
        let client = async_nats::connect(addr.to_string()).await?;
        for pair in 0..sizes.pairs {
            echo(&client, pair, -1).await?;
        }
        Ok::<_, Fault>(client)
    })?;
    Ok(Box::new(Connected {
        client,
        pairs: sizes.pairs,
        requests: sizes.requests,
        ready: begin.elapsed(),
        runtime,
    }))
}

/// One repetition.
async fn once(client: Client, pairs: usize, requests: i64) -> Outcome {
    let gates = Arc::new((Barrier::new(pairs + 1), Barrier::new(pairs + 1)));
    let tasks: Vec<_> = (0..pairs)
        .map(|number| {
            let (client, gates) = (client.clone(), Arc::clone(&gates));
            tokio::spawn(async move {
                gates.0.wait().await;
                gates.1.wait().await;
                let mut counts = pair();
                for request in 0..requests {
                    counts.check += echo(&client, number, request).await?;
                    counts.msgs += 2;
                }
                Ok::<_, Fault>(counts)
            })
        })
        .collect();
    gates.0.wait().await;
    let begin = Instant::now();
    gates.1.wait().await;
    let mut counts = Counts::default();
    for task in tasks {
        counts += task.await??;
    }
    Ok((begin.elapsed(), counts))
}

impl Clients for Connected {
    fn ready(&self) -> Duration {
        self.ready
    }

    fn run(&mut self, inner: i64) -> Outcome {
        let (mut time, mut total) = (Duration::ZERO, Counts::default());
        for _ in 0..inner {
            let once = once(self.client.clone(), self.pairs, self.requests);
            let (elapsed, counts) = self.runtime.block_on(async { tokio::spawn(once).await? })?;
            time += elapsed;
            total += counts;
        }
        Ok((time, total))
    }
}
