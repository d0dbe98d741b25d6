//! What the actors of `spawn` report to.

use crate::cells::Counts;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::AcqRel, Ordering::Acquire};
use tokio::sync::Notify;

/// Counts who ran; the last says so.
pub(crate) struct Tally {
    ran: AtomicI64,
    all: i64,
    full: Notify,
}

impl Tally {
    pub(crate) fn new(all: i64) -> Arc<Self> {
        Arc::new(Self {
            ran: AtomicI64::new(0),
            all,
            full: Notify::new(),
        })
    }

    pub(crate) fn one(&self) {
        if self.ran.fetch_add(1, AcqRel) + 1 == self.all {
            self.full.notify_one();
        }
    }

    /// Waits for all of them.
    pub(crate) async fn full(&self) -> Counts {
        self.full.notified().await;
        self.counts()
    }

    pub(crate) fn counts(&self) -> Counts {
        let ran = self.ran.load(Acquire);
        Counts {
            msgs: ran,
            units: ran,
            check: ran,
        }
    }
}
