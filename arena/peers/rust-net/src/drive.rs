//! The clients of a cell: all start together, each asks when it is answered, or when its request is due.

use std::iter::StepBy;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use peer_protocol::net::{End, Latencies, Paced, Transport, due_at, pair, verified};
use tokio::runtime::Runtime;
use tokio::sync::{Barrier, mpsc};
use tokio::time::sleep_until;

use crate::cells::{Counts, Driver, Fault, within};
use crate::tcp::at_once;

/// All clients of a cell, connected.
pub(crate) struct Clients<E> {
    ends: Vec<E>,
    requests: i64,
    ready: Duration,
}

impl<E: End> Clients<E> {
    /// Connects, and lets each client have one echo.
    pub(crate) async fn connect<T: Transport<End = E>>(
        addr: SocketAddr,
        pairs: usize,
        requests: i64,
    ) -> Result<Self, Fault> {
        let begin = Instant::now();
        let ends = T::connect(addr, pairs).await?;
        let first = |mut end: E| async move { verified(&mut end, -1).await.map(|_| end) };
        Ok(Self {
            ends: at_once(ends.into_iter().map(first)).await?,
            requests,
            ready: begin.elapsed(),
        })
    }

    /// One repetition. The connections come back for the next one.
    async fn once(ends: Vec<E>, requests: i64) -> Result<(Duration, Counts, Vec<E>), Fault> {
        let all = ends.len() + 1;
        let gates = Arc::new((Barrier::new(all), Barrier::new(all))); // ready, go
        let client = |mut end: E| {
            let gates = Arc::clone(&gates);
            tokio::spawn(async move {
                gates.0.wait().await;
                gates.1.wait().await;
                let mut counts = pair();
                for number in 0..requests {
                    counts.check += verified(&mut end, number).await?;
                    counts.msgs += 2;
                }
                Ok::<_, Fault>((counts, end))
            })
        };
        let tasks: Vec<_> = ends.into_iter().map(client).collect();
        gates.0.wait().await;
        let begin = Instant::now();
        gates.1.wait().await;
        let (mut counts, mut ends) = (Counts::default(), Vec::with_capacity(all));
        for task in tasks {
            let (one, end) = task.await??;
            counts += one;
            ends.push(end);
        }
        Ok((begin.elapsed(), counts, ends))
    }

    /// Requests 0 .. `rate * secs`, request k by client k mod N and due at k / rate.
    async fn scheduled(
        ends: Vec<E>,
        rate: i64,
        secs: i64,
        pacing: Pacing,
    ) -> Result<(Paced, Vec<E>), Fault> {
        let requests = rate * secs;
        let (clients, each) = (ends.len(), requests as usize / ends.len() + 1);
        let start = Instant::now() + Duration::from_millis(1);
        let (dues, pacer) = match pacing {
            Pacing::Timers => {
                let own = |first| Dues::Own((first..requests).step_by(clients));
                ((0..).map(own).take(clients).collect(), None)
            }
            Pacing::Thread => {
                let (queues, dues): (Vec<_>, Vec<_>) = (0..clients)
                    .map(|_| mpsc::unbounded_channel())
                    .map(|(queue, handed)| (queue, Dues::Handed(handed)))
                    .unzip();
                let pace = move || hand_out(start, rate, requests, &queues);
                (dues, Some(std::thread::spawn(pace)))
            }
        };
        let client = |(mut end, mut dues): (E, Dues)| {
            tokio::spawn(async move {
                let mut seen = Vec::with_capacity(each);
                let mut counts = pair();
                while let Some(k) = dues.next(start, rate).await {
                    let sent = Instant::now();
                    counts.check += verified(&mut end, k).await?;
                    let now = Instant::now();
                    counts.msgs += 2;
                    let due = start + due_at(k, rate);
                    seen.push((now.saturating_duration_since(due), now - sent));
                }
                Ok::<_, Fault>((counts, seen, end))
            })
        };
        let tasks: Vec<_> = ends.into_iter().zip(dues).map(client).collect();
        let (mut counts, mut ends, mut all_seen) = (Counts::default(), Vec::new(), Vec::new());
        for task in tasks {
            let (one, seen, end) = task.await??;
            counts += one;
            ends.push(end);
            all_seen.push(seen);
        }
        let time = start.elapsed();
        if let Some(pacer) = pacer {
            pacer
                .join()
                .map_err(|_| Fault::Bug("the pacer panicked".into()))?;
        }
        let mut latencies = Latencies::default();
        for (due, sent) in all_seen.into_iter().flatten() {
            latencies.due.add(due);
            latencies.sent.add(sent);
        }
        let paced = Paced {
            time,
            counts,
            latencies,
        };
        Ok((paced, ends))
    }
}

/// Who wakes a client when its request is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pacing {
    /// A thread beside the runtime, exact and a third one on the CPUs.
    Thread,
    /// tokio's timers, which round up to a millisecond.
    Timers,
}

/// The requests of a client, each when it is due.
enum Dues {
    Handed(mpsc::UnboundedReceiver<i64>),
    Own(StepBy<Range<i64>>),
}

impl Dues {
    async fn next(&mut self, start: Instant, rate: i64) -> Option<i64> {
        match self {
            Self::Handed(due_now) => due_now.recv().await,
            Self::Own(numbers) => {
                let k = numbers.next()?;
                let due = start + due_at(k, rate);
                if due > Instant::now() {
                    sleep_until(due.into()).await;
                }
                Some(k)
            }
        }
    }
}

/// Gives each client its requests as they fall due.
fn hand_out(start: Instant, rate: i64, requests: i64, queues: &[mpsc::UnboundedSender<i64>]) {
    let mut k = 0;
    while k < requests {
        let now = Instant::now();
        while k < requests && start + due_at(k, rate) <= now {
            // A client that failed is gone; its task tells why.
            let _ = queues[k as usize % queues.len()].send(k);
            k += 1;
        }
        if k < requests {
            let next = start + due_at(k, rate);
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
    }
}

impl<E: End> Driver for Clients<E> {
    fn ready(&self) -> Duration {
        self.ready
    }

    fn run(&mut self, runtime: &Runtime, inner: i64) -> Result<(Duration, Counts), Fault> {
        let (mut time, mut total) = (Duration::ZERO, Counts::default());
        for _ in 0..inner {
            let once = Self::once(std::mem::take(&mut self.ends), self.requests);
            let (elapsed, counts, ends) = runtime.block_on(async { tokio::spawn(once).await? })?;
            self.ends = ends;
            time += elapsed;
            total += counts;
        }
        Ok((time, total))
    }

    fn paced(
        &mut self,
        runtime: &Runtime,
        rate: i64,
        secs: i64,
        pacing: Pacing,
    ) -> Result<Paced, Fault> {
        within(&[("rate", rate, 100_000_000), ("secs", secs, 10_000)])?;
        let scheduled = Self::scheduled(std::mem::take(&mut self.ends), rate, secs, pacing);
        let (paced, ends) = runtime.block_on(async { tokio::spawn(scheduled).await? })?;
        self.ends = ends;
        Ok(paced)
    }
}
