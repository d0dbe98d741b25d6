//! spawn: tasks without messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tidings::channel::ivar::IVar;

use crate::cell::{Cells, Counts, Fault, Params, Sample, plain, repeat, within};

/// Nobody joins; the task that brings the counter to n says so.
async fn detached(n: i64) -> Result<Counts, Fault> {
    let shared = Arc::new((AtomicI64::new(0), IVar::new()));
    for _ in 0..n {
        let shared = Arc::clone(&shared);
        tidings::spawn(async move {
            // RELAXED: the last synchronises through the cell.
            if shared.0.fetch_add(1, Ordering::Relaxed) + 1 == n {
                shared.1.fill(()).expect("one is the last");
            }
        });
    }
    shared.1.read().await;
    // RELAXED: as above.
    let ran = shared.0.load(Ordering::Relaxed);
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
        sum += tidings::spawn(async { 1 }).await?;
    }
    Ok(Counts {
        msgs: sum,
        units: started,
        check: sum,
    })
}

fn cell<R>(params: Params, scenario: fn(i64) -> R) -> Result<Sample, Fault>
where
    R: Future<Output = Result<Counts, Fault>> + Send + 'static,
{
    let n = params.n;
    within(&[("n", n, 1_000_000_000)])?;
    Ok(repeat(move || scenario(n)))
}

pub(crate) fn cells() -> Cells {
    plain([
        ("spawn/detached", |p, _| cell(p, detached)),
        ("spawn/joined", |p, _| cell(p, joined)),
    ])
}
