//! Counts the nodes of a tree in the untimed pass of `prep`.

use crate::cells::Fault;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed, Ordering::SeqCst};

static COUNTING: AtomicBool = AtomicBool::new(false);
static NODES: AtomicI64 = AtomicI64::new(0);

/// A node is made. Costs a load where nobody counts.
pub(crate) fn born() {
    if COUNTING.load(Relaxed) {
        NODES.fetch_add(1, Relaxed);
    }
}

/// How many nodes `pass` makes.
pub(crate) fn of<T>(pass: impl FnOnce() -> Result<T, Fault>) -> Result<i64, Fault> {
    NODES.store(0, SeqCst);
    COUNTING.store(true, SeqCst);
    let passed = pass();
    COUNTING.store(false, SeqCst);
    passed.map(|_| NODES.load(SeqCst))
}
