//! spawn: tasks of their own, without messages; tokio only.

use crate::cells::{Cell, Cells, Counts, Fault, Params, Sample, repeat, within};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::AcqRel, Ordering::Acquire};
use tokio::sync::Notify;

/// Nobody joins; the task that brings the counter to n says so.
async fn detached(n: i64) -> Result<Counts, Fault> {
    let shared = Arc::new((AtomicI64::new(0), Notify::new()));
    let starter = Arc::clone(&shared);
    tokio::spawn(async move {
        for _ in 0..n {
            let shared = Arc::clone(&starter);
            tokio::spawn(async move {
                if shared.0.fetch_add(1, AcqRel) + 1 == n {
                    shared.1.notify_one();
                }
            });
        }
    });
    shared.1.notified().await;
    let ran = shared.0.load(Acquire);
    Ok(Counts {
        msgs: ran,
        units: ran,
        check: ran,
    })
}

/// Start one, await its result, n times.
async fn joined(n: i64) -> Result<Counts, Fault> {
    let (mut started, mut sum) = (0, 0);
    while started < n {
        started += 1;
        sum += tokio::spawn(async { 1 }).await?;
    }
    Ok(Counts {
        msgs: sum,
        units: started,
        check: sum,
    })
}

fn cell<S, R>(params: Params, scenario: S) -> Result<Sample, Fault>
where
    S: Fn(i64) -> R + Send + Sync + Copy + 'static,
    R: Future<Output = Result<Counts, Fault>> + Send,
{
    within(&[("n", params.n, 1_000_000_000)])?;
    Ok(repeat(move || scenario(params.n)))
}

pub(crate) fn cells(library: &str) -> Cells {
    match library {
        "tokio" => Cells::from([
            ("spawn/detached", (|p| cell(p, detached)) as Cell),
            ("spawn/joined", |p| cell(p, joined)),
        ]),
        _ => Cells::new(),
    }
}
