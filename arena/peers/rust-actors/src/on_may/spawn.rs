//! spawn: coroutines without messages.

use super::{go, join, repeat};
use crate::cells::{Counts, Fault, Params, Sample};
use crate::sizes;
use may::sync::SyncFlag;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::AcqRel, Ordering::Acquire};

/// Nobody joins; the one that brings the counter to n says so.
fn all(n: i64) -> Counts {
    let shared = Arc::new((AtomicI64::new(0), SyncFlag::new()));
    let starter = Arc::clone(&shared);
    go(move || {
        for _ in 0..n {
            let shared = Arc::clone(&starter);
            go(move || {
                if shared.0.fetch_add(1, AcqRel) + 1 == n {
                    shared.1.fire();
                }
            });
        }
    });
    shared.1.wait();
    let ran = shared.0.load(Acquire);
    Counts {
        msgs: ran,
        units: ran,
        check: ran,
    }
}

pub(super) fn detached(params: Params) -> Result<Sample, Fault> {
    let n = sizes::spawn(params)?;
    super::stacks(n)?;
    repeat(params, move || Ok(all(n)))
}

/// Start one, await its result, n times.
pub(super) fn joined(params: Params) -> Result<Sample, Fault> {
    let n = sizes::spawn(params)?;
    repeat(params, move || {
        let (mut started, mut sum) = (0, 0);
        while started < n {
            started += 1;
            sum += join(go(|| 1))?;
        }
        Ok(Counts {
            msgs: sum,
            units: started,
            check: sum,
        })
    })
}
