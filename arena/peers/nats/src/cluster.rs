//! A cluster of two nodes: actors under names on one, found and called by the other.

use std::any::Any;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use peer_protocol::net::pair;
use peer_protocol::{Counts, Fault, Outcome};
use tidings::channel::ivar::IVar;
use tidings::{Runtime, actor, unbounded};
use tidings_nats::{Cluster, Name, Options};

use crate::server::NatsServer;
use crate::{Clients, Sizes};

#[tidings::interface(remote)]
trait Echo {
    async fn echo(&self, number: i64) -> i64;
}

struct Mirror;

impl Echo for Mirror {
    async fn echo(&self, number: i64) -> i64 {
        number
    }
}

fn name(pair: usize) -> String {
    format!("pair{pair}")
}

fn runtime(sizes: Sizes) -> Result<Runtime, Fault> {
    Ok(Runtime::builder().workers(sizes.threads).build()?)
}

fn url(addr: SocketAddr) -> String {
    format!("nats://{addr}")
}

/// The fields end in this order.
struct Serving {
    _names: Vec<Name>,
    _cluster: Cluster,
    _runtime: Runtime,
    _nats: NatsServer,
}

pub(crate) fn serve(sizes: Sizes, direct: bool) -> Result<(Box<dyn Any>, SocketAddr), Fault> {
    let nats = NatsServer::start()?;
    let addr = nats.addr;
    let runtime = runtime(sizes)?;
    let joined = runtime.spawn(async move {
        let mut options = Options::new("arena", "server");
        if direct {
            options = options.listen("tcp://127.0.0.1:0");
        }
        let cluster = Cluster::join(&url(addr), options).await?;
        let mut names = Vec::new();
        for pair in 0..sizes.pairs {
            let echo: EchoRef = actor::start(Mirror);
            names.push(cluster.register(&name(pair), &echo).await?);
        }
        Ok::<_, Fault>((cluster, names))
    });
    let (cluster, names) = runtime.block_on(joined)??;
    let serving = Serving {
        _names: names,
        _cluster: cluster,
        _runtime: runtime,
        _nats: nats,
    };
    Ok((Box::new(serving), addr))
}

struct Connected {
    ends: Vec<EchoRef>,
    requests: i64,
    ready: Duration,
    _cluster: Cluster,
    runtime: Runtime,
}

pub(crate) fn connect(addr: SocketAddr, sizes: Sizes) -> Result<Box<dyn Clients>, Fault> {
    let runtime = runtime(sizes)?;
    let begin = Instant::now();
    let connected = runtime.spawn(async move {
        let cluster = Cluster::join(&url(addr), Options::new("arena", "client")).await?;
        let mut ends = Vec::new();
        for pair in 0..sizes.pairs {
            let echo: EchoRef = cluster.lookup(&name(pair)).await?;
            if echo.echo(-1).await? != -1 {
                return Err(Fault::bug("the first echo is another"));
            }
            ends.push(echo);
        }
        Ok::<_, Fault>((cluster, ends))
    });
    let (cluster, ends) = runtime.block_on(connected)??;
    Ok(Box::new(Connected {
        ends,
        requests: sizes.requests,
        ready: begin.elapsed(),
        _cluster: cluster,
        runtime,
    }))
}

/// One repetition.
async fn once(ends: Vec<EchoRef>, requests: i64) -> Outcome {
    let (ready, all_ready) = unbounded();
    let go = IVar::new();
    let client = |echo: EchoRef| {
        let (ready, go) = (ready.clone(), go.clone());
        tidings::spawn(async move {
            assert!(ready.try_send(()).is_ok(), "the driver waits");
            go.read().await;
            let mut counts = pair();
            for number in 0..requests {
                let answer = echo.echo(number).await?;
                if answer != number {
                    return Err(Fault::bug(format!(
                        "asked {number}, the answer is {answer}"
                    )));
                }
                counts.check += answer;
                counts.msgs += 2;
            }
            Ok::<_, Fault>(counts)
        })
    };
    let tasks: Vec<_> = ends.into_iter().map(client).collect();
    for _ in 0..tasks.len() {
        all_ready.recv().await?;
    }
    let begin = Instant::now();
    go.fill(()).expect("filled here only");
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
            let once = self.runtime.spawn(once(self.ends.clone(), self.requests));
            let (elapsed, counts) = self.runtime.block_on(once)??;
            time += elapsed;
            total += counts;
        }
        Ok((time, total))
    }
}
