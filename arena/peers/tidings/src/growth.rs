//! growth: operations where many things are there: tasks, waiters, branches, timers, bytes.

use std::collections::VecDeque;
use std::future::{IntoFuture as _, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tidings::channel::ivar::IVar;
use tidings::time::sleep;
use tidings::{bounded, channel, choose};

use crate::cell::{Cells, Counts, Fault, Params, Sample, plain, repeat, sums_fit, within};

const MOST: i64 = 1_000_000_000;

/// k at a time: the last to arrive opens the gate at which the others wait.
async fn tasks(k: i64, n: i64) -> Result<Counts, Fault> {
    struct Round {
        arrived: AtomicI64,
        passed: AtomicI64,
        gate: IVar<()>,
        done: IVar<()>,
    }
    let mut ran = 0;
    while ran < n {
        let size = k.min(n - ran);
        let round = Arc::new(Round {
            arrived: AtomicI64::new(0),
            passed: AtomicI64::new(0),
            gate: IVar::new(),
            done: IVar::new(),
        });
        for _ in 0..size {
            let round = Arc::clone(&round);
            tidings::spawn(async move {
                // RELAXED: the last synchronises through the gate.
                if round.arrived.fetch_add(1, Ordering::Relaxed) + 1 == size {
                    round.gate.fill(()).expect("one is the last");
                }
                round.gate.read().await;
                // RELAXED: as above, through the cell.
                if round.passed.fetch_add(1, Ordering::Relaxed) + 1 == size {
                    round.done.fill(()).expect("one is the last");
                }
            });
        }
        round.done.read().await;
        // RELAXED: as above.
        ran += round.passed.load(Ordering::Relaxed);
    }
    Ok(Counts {
        msgs: ran,
        units: ran,
        check: ran,
    })
}

/// k wait on one channel; each message is given to one of them.
async fn waiters(k: i64, n: i64) -> Result<Counts, Fault> {
    let (tx, rx) = channel();
    let waiting: Vec<_> = (0..k)
        .map(|_| {
            let rx = rx.clone();
            tidings::spawn(async move {
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

/// One chooses among k channels; the other gives to each in turn.
async fn branches(k: i64, n: i64) -> Result<Counts, Fault> {
    let (to, from): (Vec<_>, Vec<_>) = (0..k).map(|_| channel()).unzip();
    let giver = tidings::spawn(async move {
        for (value, to) in (0..n).zip(to.iter().cycle()) {
            to.send(value).await?;
        }
        Ok::<_, tidings::SendError<i64>>(())
    });
    let (mut msgs, mut check) = (0, 0);
    while msgs < n {
        check += choose(from.iter().map(|from| from.recv())).await?;
        msgs += 1;
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
        let mut timer = Box::pin(sleep(after).into_future());
        if poll_fn(|cx| std::task::Poll::Ready(timer.as_mut().poll(cx)))
            .await
            .is_ready()
        {
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
    let (tx, rx) = bounded::<[i64; WORDS]>(1024);
    let sender = tidings::spawn(async move {
        for i in 0..n {
            tx.send([i; WORDS]).await?;
        }
        Ok::<_, tidings::SendError<[i64; WORDS]>>(())
    });
    let (mut msgs, mut check) = (0, 0);
    while let Ok(words) = rx.recv().await {
        if words[WORDS - 1] != words[0] {
            return Err(Fault::Bug("the words of a message differ".into()));
        }
        msgs += 1;
        check += words[0];
    }
    sender.await??;
    Ok(Counts {
        msgs,
        units: 2,
        check,
    })
}

fn of<R>(params: Params, most: i64, scenario: fn(i64, i64) -> R) -> Result<Sample, Fault>
where
    R: Future<Output = Result<Counts, Fault>> + Send + 'static,
{
    let (k, n) = (params.k, params.n);
    within(&[("k", k, most), ("n", n, MOST)])?;
    sums_fit(1, n)?;
    Ok(repeat(move || scenario(k, n)))
}

fn bytes(params: Params) -> Result<Sample, Fault> {
    let n = params.n;
    within(&[("k", params.k, 4096), ("n", n, MOST)])?;
    sums_fit(1, n)?;
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

pub(crate) fn cells() -> Cells {
    plain([
        ("growth/tasks", |p, _| of(p, 100_000_000, tasks)),
        ("growth/waiters", |p, _| of(p, 10_000_000, waiters)),
        ("growth/branches", |p, _| of(p, 10_000, branches)),
        ("growth/timers", |p, _| of(p, 100_000_000, timers)),
        ("growth/payload", |p, _| bytes(p)),
    ])
}
