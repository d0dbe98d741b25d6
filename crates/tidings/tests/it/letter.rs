//! Values that are counted: what was made, what is still there.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the letters that exist.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    alive: Arc<AtomicUsize>,
}

impl Ledger {
    pub(crate) fn letter(&self, n: u64) -> Letter {
        self.alive.fetch_add(1, Ordering::SeqCst);
        Letter {
            n,
            ledger: self.clone(),
        }
    }

    /// How many letters have not been dropped.
    pub(crate) fn alive(&self) -> usize {
        self.alive.load(Ordering::SeqCst)
    }
}

/// A value that says when it is dropped; twice would underflow the count.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) n: u64,
    ledger: Ledger,
}

impl Drop for Letter {
    fn drop(&mut self) {
        let before = self.ledger.alive.fetch_sub(1, Ordering::SeqCst);
        assert!(before > 0, "a letter is dropped twice");
    }
}
