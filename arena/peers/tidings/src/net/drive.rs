//! The clients of a cell: all start together, each asks when it is answered, or when its request is
//! due.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use peer_protocol::net::{End, Latencies, Paced, Transport, due_at, pair, verified};
use peer_protocol::{Counts, Fault, Outcome, Stopwatch, within};
use tidings::channel::ivar::IVar;
use tidings::{Runtime, time, unbounded};

use super::at_once;
use crate::cell::Driver;

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
        let (ready, all_ready) = unbounded();
        let go = IVar::new();
        let client = |mut end: E| {
            let (ready, go) = (ready.clone(), go.clone());
            tidings::spawn(async move {
                assert!(ready.try_send(()).is_ok(), "the driver waits");
                go.read().await;
                let mut counts = pair();
                for number in 0..requests {
                    counts.check += verified(&mut end, number).await?;
                    counts.msgs += 2;
                }
                Ok::<_, Fault>((counts, end))
            })
        };
        let tasks: Vec<_> = ends.into_iter().map(client).collect();
        for _ in 0..tasks.len() {
            all_ready.recv().await?;
        }
        let watch = Stopwatch::start();
        go.fill(()).expect("filled here only");
        let (mut counts, mut ends) = (Counts::default(), Vec::with_capacity(tasks.len()));
        for task in tasks {
            let (one, end) = task.await??;
            counts += one;
            ends.push(end);
        }
        Ok((watch.stop(), counts, ends))
    }

    /// Requests 0 .. `rate * secs`, request k by client k mod N and due at k / rate.
    async fn scheduled(ends: Vec<E>, rate: i64, secs: i64) -> Result<(Paced, Vec<E>), Fault> {
        let (requests, n) = (rate * secs, ends.len());
        let start = Instant::now() + Duration::from_millis(1);
        let alarm = time::Instant::now().saturating_add(start - Instant::now());
        let client = |(first, mut end): (usize, E)| {
            tidings::spawn(async move {
                let (mut counts, mut seen) = (pair(), Latencies::default());
                for k in (first as i64..requests).step_by(n) {
                    let due = due_at(k, rate);
                    if start + due > Instant::now() {
                        time::at(alarm.saturating_add(due)).await;
                    }
                    let sent = Instant::now();
                    counts.check += verified(&mut end, k).await?;
                    counts.msgs += 2;
                    let now = Instant::now();
                    seen.due.add(now.saturating_duration_since(start + due));
                    seen.sent.add(now - sent);
                }
                Ok::<_, Fault>((counts, seen, end))
            })
        };
        let tasks: Vec<_> = ends.into_iter().enumerate().map(client).collect();
        let (mut counts, mut ends) = (Counts::default(), Vec::with_capacity(n));
        let mut latencies = Latencies::default();
        for task in tasks {
            let (one, seen, end) = task.await??;
            counts += one;
            latencies.due.merge(&seen.due);
            latencies.sent.merge(&seen.sent);
            ends.push(end);
        }
        let paced = Paced {
            time: start.elapsed(),
            counts,
            latencies,
        };
        Ok((paced, ends))
    }
}

impl<E: End> Driver for Clients<E> {
    fn ready(&self) -> Duration {
        self.ready
    }

    fn run(&mut self, runtime: &Runtime, inner: i64) -> Outcome {
        let (mut time, mut total) = (Duration::ZERO, Counts::default());
        for _ in 0..inner {
            let once = Self::once(std::mem::take(&mut self.ends), self.requests);
            let (elapsed, counts, ends) = runtime.block_on(runtime.spawn(once))??;
            self.ends = ends;
            time += elapsed;
            total += counts;
        }
        Ok((time, total))
    }

    fn paced(&mut self, runtime: &Runtime, rate: i64, secs: i64) -> Result<Paced, Fault> {
        within(&[("rate", rate, 100_000_000), ("secs", secs, 10_000)])?;
        let scheduled = Self::scheduled(std::mem::take(&mut self.ends), rate, secs);
        let (paced, ends) = runtime.block_on(runtime.spawn(scheduled))??;
        self.ends = ends;
        Ok(paced)
    }
}
