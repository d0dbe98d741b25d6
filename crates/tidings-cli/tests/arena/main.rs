//! The arena as its users meet it: the binary, with peers that behave and peers that do not.

mod blocked;
mod compare;
mod failures;
mod figures;
mod golden;
mod interrupt;
mod invented;
mod machines;
mod net;
mod noise;
mod peers;
mod report;
mod resume;
mod setup;
mod shared;
mod smoke;
mod stage;
mod usage;

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{PoisonError, RwLock};

/// Held by each test that starts peers: shared where its fakes sleep and tell made-up times, whole where they measure.
static MACHINE: RwLock<()> = RwLock::new(());

/// Runs a test that starts peers, beside others; if it fails, again as [`alone`].
///
/// The harness measures real processes, even fakes; a machine that stands still for a while (a
/// virtual one whose neighbours are busy) can make a true sample look false. What is wrong in
/// the harness fails every time.
pub(crate) fn steady(test: impl Fn()) {
    let passed = {
        let _part = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
        passes(&test)
    };
    if !passed {
        alone(test);
    }
}

/// Runs a test beside others, once: what it is about is races of the harness, and one that is lost now and then is to be
/// seen.
pub(crate) fn once(test: impl Fn()) {
    let _part = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    test();
}

/// Runs a test whose figures the others would disturb, when none of them runs. If it fails it is run again, four times at
/// most.
pub(crate) fn alone(test: impl Fn()) {
    let _whole = MACHINE.write().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..4 {
        if passes(&test) {
            return;
        }
    }
    test();
}

/// Runs a test once. That it failed is said past the capture of `cargo test`, which shows nothing of a test that passes in
/// the end.
fn passes(test: impl Fn()) -> bool {
    let passed = catch_unwind(AssertUnwindSafe(&test)).is_ok();
    if !passed {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("a test");
        let _ = writeln!(std::io::stderr(), "{name} failed and is run again");
    }
    passed
}
