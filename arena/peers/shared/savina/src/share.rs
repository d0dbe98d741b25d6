//! How the counts of many actors are added up, and how the end of the last is noticed.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use crate::Counts;

type End = Box<dyn FnOnce(Counts) + Send>;

/// All actors of a repetition. The last share that goes takes it along.
struct Tally {
    msgs: AtomicI64,
    units: AtomicI64,
    check: AtomicI64,
    end: Mutex<Option<End>>,
}

impl Drop for Tally {
    fn drop(&mut self) {
        let counts = Counts {
            msgs: *self.msgs.get_mut(),
            units: *self.units.get_mut(),
            check: *self.check.get_mut(),
        };
        let end = self.end.get_mut();
        if let Some(end) = end.ok().and_then(Option::take) {
            end(counts);
        }
    }
}

/// What one actor did. Lives as long as the actor, which counts here without touching what others
/// touch.
pub struct Share {
    tally: Arc<Tally>,
    pub msgs: i64,
    pub check: i64,
}

impl Share {
    /// The share of who starts the actors, and is none. `end` gets the sum when all have ended.
    pub fn first(end: impl FnOnce(Counts) + Send + 'static) -> Self {
        let tally = Tally {
            msgs: AtomicI64::new(0),
            units: AtomicI64::new(0),
            check: AtomicI64::new(0),
            end: Mutex::new(Some(Box::new(end))),
        };
        Self::of(Arc::new(tally))
    }

    fn of(tally: Arc<Tally>) -> Self {
        Self {
            tally,
            msgs: 0,
            check: 0,
        }
    }

    /// The share of one more actor.
    #[must_use]
    pub fn actor(&self) -> Self {
        self.tally.units.fetch_add(1, Relaxed);
        Self::of(Arc::clone(&self.tally))
    }

    /// So much work done.
    pub fn worked(&mut self, msgs: i64) {
        self.msgs += msgs;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        // The last drop of the counted pointer sees what all others did.
        if self.msgs != 0 {
            self.tally.msgs.fetch_add(self.msgs, Relaxed);
        }
        if self.check != 0 {
            self.tally.check.fetch_add(self.check, Relaxed);
        }
    }
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Share")
            .field("msgs", &self.msgs)
            .field("check", &self.check)
            .finish_non_exhaustive()
    }
}
