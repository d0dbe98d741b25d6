//! growth: operations where many things are there; tokio, and async-channel where many wait on one channel.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::AcqRel, Ordering::Acquire};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, watch};

use crate::cells::{Cell, Cells, Counts, Fault, Params, Sample, repeat, within};

const MOST: i64 = 1_000_000_000;

/// k at a time: the last to arrive opens the gate at which the others wait.
async fn tasks(k: i64, n: i64) -> Result<Counts, Fault> {
    struct Round {
        arrived: AtomicI64,
        passed: AtomicI64,
        gate: watch::Sender<bool>,
        done: Notify,
    }
    let mut ran = 0;
    while ran < n {
        let size = k.min(n - ran);
        let round = Arc::new(Round {
            arrived: AtomicI64::new(0),
            passed: AtomicI64::new(0),
            gate: watch::Sender::new(false),
            done: Notify::new(),
        });
        for _ in 0..size {
            let round = Arc::clone(&round);
            tokio::spawn(async move {
                let mut gate = round.gate.subscribe();
                if round.arrived.fetch_add(1, AcqRel) + 1 == size {
                    round.gate.send_replace(true);
                }
                gate.wait_for(|open| *open).await.expect("it is kept");
                if round.passed.fetch_add(1, AcqRel) + 1 == size {
                    round.done.notify_one();
                }
            });
        }
        round.done.notified().await;
        ran += round.passed.load(Acquire);
    }
    Ok(Counts {
        msgs: ran,
        units: ran,
        check: ran,
    })
}

/// k wait on one channel; each message goes to one of them.
async fn waiters(k: i64, n: i64) -> Result<Counts, Fault> {
    let (tx, rx) = async_channel::bounded(1);
    let waiting: Vec<_> = (0..k)
        .map(|_| {
            let rx = rx.clone();
            tokio::spawn(async move {
                let (mut got, mut sum) = (0, 0);
                while let Ok(value) = rx.recv().await {
                    got += 1;
                    sum += value;
                }
                (got, sum)
            })
        })
        .collect();
    drop(rx);
    for value in 0..n {
        tx.send(value).await?;
    }
    drop(tx);
    let mut total = Counts {
        units: 1,
        ..Counts::default()
    };
    for waiter in waiting {
        let (got, sum) = waiter.await?;
        total += Counts {
            msgs: got,
            units: 1,
            check: sum,
        };
    }
    Ok(total)
}

/// One takes from whichever of k channels has something; the other sends to each in turn. Without an allocation: all
/// are polled, from another one on each time.
async fn branches(k: i64, n: i64) -> Result<Counts, Fault> {
    let (to, mut from): (Vec<_>, Vec<_>) = (0..k).map(|_| mpsc::channel(1)).unzip();
    let giver = tokio::spawn(async move {
        for (value, to) in (0..n).zip(to.iter().cycle()) {
            to.send(value).await?;
        }
        Ok::<_, mpsc::error::SendError<i64>>(())
    });
    let (mut msgs, mut check, mut first) = (0, 0, 0);
    while msgs < n {
        check += poll_fn(|cx| {
            for place in 0..from.len() {
                let place = (first + place) % from.len();
                if let Poll::Ready(Some(value)) = from[place].poll_recv(cx) {
                    return Poll::Ready(value);
                }
            }
            Poll::Pending
        })
        .await;
        msgs += 1;
        first = (first + 1) % from.len();
    }
    giver.await??;
    Ok(Counts {
        msgs,
        units: 2,
        check,
    })
}

/// k are armed at a time: the oldest is cancelled, and a new one armed.
async fn timers(k: i64, n: i64) -> Result<Counts, Fault> {
    let mut armed = VecDeque::new();
    let mut cancelled = 0;
    for i in 0..n {
        if i >= k {
            drop(armed.pop_front());
            cancelled += 1;
        }
        let after = Duration::from_millis(10_000 + (i * 7919 % 60_000) as u64);
        let mut timer = Box::pin(tokio::time::sleep(after));
        let early = poll_fn(|cx| Poll::Ready(timer.as_mut().poll(cx))).await;
        if early.is_ready() {
            return Err(Fault::Bug("a timer of 10 s fired".into()));
        }
        armed.push_back(timer);
    }
    cancelled += armed.len() as i64;
    drop(armed);
    Ok(Counts {
        msgs: cancelled,
        units: cancelled,
        check: cancelled,
    })
}

/// The value is the number, and so many words in all.
async fn payload<const WORDS: usize>(n: i64) -> Result<Counts, Fault> {
    let (tx, mut rx) = mpsc::channel::<[i64; WORDS]>(1024);
    let sender = tokio::spawn(async move {
        for i in 0..n {
            tx.send([i; WORDS]).await?;
        }
        Ok::<_, mpsc::error::SendError<[i64; WORDS]>>(())
    });
    let (mut msgs, mut check) = (0, 0);
    while let Some(words) = rx.recv().await {
        if words[WORDS - 1] != words[0] {
            return Err(Fault::Bug("the words of a message differ".into()));
        }
        msgs += 1;
        check += words[0];
    }
    sender
        .await?
        .map_err(|_| Fault::Bug("the receiver has ended".into()))?;
    Ok(Counts {
        msgs,
        units: 2,
        check,
    })
}

fn of<S, R>(params: Params, most: i64, scenario: S) -> Result<Sample, Fault>
where
    S: Fn(i64, i64) -> R + Send + Sync + Copy + 'static,
    R: Future<Output = Result<Counts, Fault>> + Send,
{
    let (k, n) = (params.k, params.n);
    within(&[("k", k, most), ("n", n, MOST)])?;
    Ok(repeat(move || scenario(k, n)))
}

fn bytes(params: Params) -> Result<Sample, Fault> {
    let n = params.n;
    within(&[("k", params.k, 4096), ("n", n, MOST)])?;
    Ok(match params.k {
        8 => repeat(move || payload::<1>(n)),
        64 => repeat(move || payload::<8>(n)),
        512 => repeat(move || payload::<64>(n)),
        4096 => repeat(move || payload::<512>(n)),
        other => {
            let why = format!("k={other}: must be 8, 64, 512 or 4096");
            return Err(Fault::Limit(why));
        }
    })
}

pub(crate) fn cells(library: &str) -> Cells {
    match library {
        "tokio" => Cells::from([
            ("growth/tasks", (|p| of(p, 10_000_000, tasks)) as Cell),
            ("growth/branches", |p| of(p, 10_000, branches)),
            ("growth/timers", |p| of(p, 10_000_000, timers)),
            ("growth/payload", bytes),
        ]),
        "async-channel" => {
            Cells::from([("growth/waiters", (|p| of(p, 10_000_000, waiters)) as Cell)])
        }
        _ => Cells::new(),
    }
}
