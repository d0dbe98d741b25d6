//! Tests that run under something that watches their memory: AddressSanitizer, ThreadSanitizer,
//! valgrind.

use crate::command::{RUNNER, Tally, root, target};
use crate::engines::run_tests;

/// The only place that names the toolchain the sanitizers need.
pub(crate) const NIGHTLY: &str = "+nightly";
/// Sanitizers are told the target, so that proc macros and build scripts are built without them.
pub(crate) const HOST: &str = "x86_64-unknown-linux-gnu";
/// The flags of AddressSanitizer.
pub(crate) const ADDRESS: &str = "-Zsanitizer=address";
/// How long each stress test runs here.
const STRESS: &str = "TIDINGS_STRESS_SECS";

/// Tests of tidings under AddressSanitizer, which also fails on memory that was leaked: programs of every primitive, what
/// is inside of the library, and stress. With `full` all of its tests (those of the public API take as long to build as
/// all else), those of other libraries' suites, of links, of simulations and of features.
pub(crate) fn address(full: bool, tally: &mut Tally) -> Result<(), String> {
    if !full {
        return address_of("-p tidings --lib --test laws --test stress", "1", tally);
    }
    let others = "-p tidings-link -p tidings-sim --lib --test it";
    address_of(others, "5", tally)?;
    address_of(
        "-p tidings --all-features --test features --test tokio",
        "5",
        tally,
    )?;
    let own = "-p tidings --lib --test it --test laws --test stress --test upstream --test linear";
    address_of(own, "5", tally)
}

fn address_of(tests: &str, stress: &str, tally: &mut Tally) -> Result<(), String> {
    run_tests(
        &[
            ("RUSTFLAGS", ADDRESS),
            ("CARGO_TARGET_DIR", &target("asan")),
            (STRESS, stress),
        ],
        &format!("cargo {NIGHTLY} test {tests} --no-fail-fast --target {HOST}"),
        tally,
    )
}

/// The stress tests under ThreadSanitizer, the only ones without libtest.
///
/// The standard library in the toolchain is not built for it, which the second flag allows, and
/// so synchronises in ways it does not see: `tsan.supp` names them, with reasons.
pub(crate) fn thread(tally: &mut Tally) -> Result<(), String> {
    let suppressions = root().join("xtask/tsan.supp");
    let options = format!("halt_on_error=0:suppressions={}", suppressions.display());
    run_tests(
        &[
            (
                "RUSTFLAGS",
                "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer --cfg tidings_tsan",
            ),
            ("CARGO_TARGET_DIR", &target("tsan")),
            ("TSAN_OPTIONS", &options),
            (STRESS, "3"),
        ],
        &format!("cargo {NIGHTLY} test -p tidings --test stress --target {HOST}"),
        tally,
    )
}

/// Themes of `tests/it` that poll by hand on few threads: valgrind runs one thread at a time.
const MEMCHECK: &str = "cancel:: cell:: event:: watch:: broadcast:: token:: task:: scope::";

/// Those tests under valgrind's memcheck: memory that is used before it is written, after it
/// was freed, or is lost at the end.
pub(crate) fn memory(tally: &mut Tally) -> Result<(), String> {
    let valgrind = "valgrind --quiet --error-exitcode=1 --leak-check=full \
                    --errors-for-leak-kinds=definite --show-leak-kinds=definite --fair-sched=yes";
    run_tests(
        &[
            (RUNNER, valgrind),
            // All takes some fifty times as long: seeds differ in order, and not in what they touch.
            ("TIDINGS_SEEDS", "2"),
            ("TIDINGS_HANG_SECS", "1200"),
        ],
        &format!("cargo test -p tidings --test it -- {MEMCHECK}"),
        tally,
    )
}
