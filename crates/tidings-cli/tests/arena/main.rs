//! The arena as its users meet it: the binary, with peers that behave and peers that do not.

mod blocked;
mod compare;
mod failures;
mod figures;
mod golden;
mod interrupt;
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

/// Runs a test again if it fails, four times at most.
///
/// The harness measures real processes, even fakes; a machine that stands still for a while (a
/// virtual one whose neighbours are busy) can make a true sample look false. What is wrong in
/// the harness fails every time.
pub(crate) fn steady(test: impl Fn()) {
    // One at a time: they would be each other's noise.
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _turn = TURN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    for _ in 0..4 {
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(&test)).is_ok() {
            return;
        }
    }
    test();
}
