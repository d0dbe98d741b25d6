//! The clients of a cell: all start together, each asks when it is answered, or when its request is
//! due. They are told what to do, and do it wherever they live: in tasks of a runtime, or as actors.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use peer_protocol::net::{End, Latencies, Paced, due_at, pair, verified};
use peer_protocol::{Counts, Fault, Outcome, Stopwatch, within};
use tidings::channel::ivar::IVar;
use tidings::{Sender, time, unbounded};

use super::{Host, Pairs};
use crate::cell::Driver;

/// What a client is to do.
pub(super) enum Job {
    /// The echo before all samples, which counts nowhere.
    First,
    /// Requests 0 .. `requests`, each when the one before is answered; from `go` on.
    Closed {
        requests: i64,
        ready: Ready,
        go: IVar<()>,
    },
    /// Requests `first`, `first + step` .. below `requests`, each when it is due.
    Paced {
        first: i64,
        step: usize,
        requests: i64,
        rate: i64,
        start: Instant,
        alarm: time::Instant,
    },
}

/// Tells the driver by its end that a client waits for the start, or never will.
pub(super) struct Ready(Sender<()>);

impl Drop for Ready {
    fn drop(&mut self) {
        // The driver waits for all, if it has not failed.
        let _ = self.0.try_send(());
    }
}

/// What a client has done.
#[derive(Default)]
pub(super) struct Done {
    counts: Counts,
    /// Of requests on a schedule.
    seen: Option<Latencies>,
}

impl Job {
    /// Does it at a client's end of its pair.
    pub(super) async fn done_at(self, end: &mut impl End) -> Result<Done, Fault> {
        let mut done = Done::default();
        match self {
            Self::First => drop(verified(end, -1).await?),
            Self::Closed {
                requests,
                ready,
                go,
            } => {
                drop(ready);
                go.read().await;
                done.counts = pair();
                for number in 0..requests {
                    done.counts.check += verified(end, number).await?;
                    done.counts.msgs += 2;
                }
            }
            Self::Paced {
                first,
                step,
                requests,
                rate,
                start,
                alarm,
            } => {
                let mut seen = Latencies::default();
                done.counts = pair();
                for k in (first..requests).step_by(step) {
                    let due = due_at(k, rate);
                    if start + due > Instant::now() {
                        time::at(alarm + due).await;
                    }
                    let sent = Instant::now();
                    done.counts.check += verified(end, k).await?;
                    done.counts.msgs += 2;
                    let now = Instant::now();
                    seen.due.add(now.saturating_duration_since(start + due));
                    seen.sent.add(now - sent);
                }
                done.seen = Some(seen);
            }
        }
        Ok(done)
    }
}

/// A client that is connected.
pub(super) trait Client: Sized + Send + 'static {
    /// Begins a job at once. What was done, and the client for the next one.
    fn begin<H: Host>(
        self,
        job: Job,
    ) -> impl Future<Output = Result<(Done, Self), Fault>> + Send + 'static;
}

/// In a task of its own for each job.
impl<E: End> Client for E {
    fn begin<H: Host>(
        mut self,
        job: Job,
    ) -> impl Future<Output = Result<(Done, Self), Fault>> + Send + 'static {
        let task = H::task(async move {
            let done = job.done_at(&mut self).await?;
            Ok::<_, Fault>((done, self))
        });
        async move { task.await? }
    }
}

/// What all of them have done, and the clients.
async fn all<C>(
    begun: Vec<impl Future<Output = Result<(Done, C), Fault>>>,
) -> Result<(Done, Vec<C>), Fault> {
    let mut clients = Vec::with_capacity(begun.len());
    let mut all = Done::default();
    for one in begun {
        let (done, client) = one.await?;
        all.counts += done.counts;
        match (&mut all.seen, done.seen) {
            (Some(all), Some(seen)) => {
                all.due.merge(&seen.due);
                all.sent.merge(&seen.sent);
            }
            (none @ None, seen) => *none = seen,
            (Some(_), None) => {}
        }
        clients.push(client);
    }
    Ok((all, clients))
}

/// All clients of a cell, connected.
pub(super) struct Clients<P: Pairs> {
    clients: Vec<P::Client>,
    requests: i64,
    ready: Duration,
    /// Dropped after the clients, which may hold things of it.
    host: P::Host,
}

impl<P: Pairs> Clients<P> {
    /// Connects, and lets each client have one echo.
    pub(super) fn connect(
        host: P::Host,
        addr: SocketAddr,
        pairs: usize,
        requests: i64,
    ) -> Result<Self, Fault> {
        let (ready, clients) = host.run(async move {
            let begin = Instant::now();
            let clients = P::connect(addr, pairs).await?.into_iter();
            let begun = clients.map(|client| client.begin::<P::Host>(Job::First));
            let (_, clients) = all(begun.collect()).await?;
            Ok::<_, Fault>((begin.elapsed(), clients))
        })??;
        Ok(Self {
            clients,
            requests,
            ready,
            host,
        })
    }

    /// One repetition. The clients come back for the next one.
    async fn once(
        clients: Vec<P::Client>,
        requests: i64,
    ) -> Result<(Duration, Counts, Vec<P::Client>), Fault> {
        let (ready, all_ready) = unbounded();
        let go = IVar::new();
        let job = || Job::Closed {
            requests,
            ready: Ready(ready.clone()),
            go: go.clone(),
        };
        let begun = clients
            .into_iter()
            .map(|client| client.begin::<P::Host>(job()));
        let begun: Vec<_> = begun.collect();
        for _ in 0..begun.len() {
            all_ready.recv().await?;
        }
        let watch = Stopwatch::start();
        go.fill(()).expect("filled here only");
        let (done, clients) = all(begun).await?;
        Ok((watch.stop(), done.counts, clients))
    }

    /// Requests 0 .. `rate * secs`, request k by client k mod N and due at k / rate.
    async fn scheduled(
        clients: Vec<P::Client>,
        rate: i64,
        secs: i64,
    ) -> Result<(Paced, Vec<P::Client>), Fault> {
        let step = clients.len();
        let start = Instant::now() + Duration::from_millis(1);
        let alarm = time::Instant::now() + (start - Instant::now());
        let job = |first| Job::Paced {
            first,
            step,
            requests: rate * secs,
            rate,
            start,
            alarm,
        };
        let begun = (0..)
            .zip(clients)
            .map(|(first, client)| client.begin::<P::Host>(job(first)));
        let (done, clients) = all(begun.collect()).await?;
        let paced = Paced {
            time: start.elapsed(),
            counts: done.counts,
            latencies: done.seen.unwrap_or_default(),
        };
        Ok((paced, clients))
    }
}

impl<P: Pairs> Driver for Clients<P> {
    fn ready(&self) -> Duration {
        self.ready
    }

    fn run(&mut self, inner: i64) -> Outcome {
        let (mut time, mut total) = (Duration::ZERO, Counts::default());
        for _ in 0..inner {
            let once = Self::once(std::mem::take(&mut self.clients), self.requests);
            let (elapsed, counts, clients) = self.host.run(once)??;
            self.clients = clients;
            time += elapsed;
            total += counts;
        }
        Ok((time, total))
    }

    fn paced(&mut self, rate: i64, secs: i64) -> Result<Paced, Fault> {
        within(&[("rate", rate, 100_000_000), ("secs", secs, 10_000)])?;
        let scheduled = Self::scheduled(std::mem::take(&mut self.clients), rate, secs);
        let (paced, clients) = self.host.run(scheduled)??;
        self.clients = clients;
        Ok(paced)
    }
}
