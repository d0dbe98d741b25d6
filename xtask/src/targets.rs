//! Other systems than Linux on x86-64, on which all else runs: that the libraries build for them, and their tests
//! under Wine.
//!
//! The standard library is built along, from the nightly toolchain's component `rust-src`, so no target need be installed.

use crate::command::{Tally, run_at_root, target};
use crate::engines::run_tests;
use crate::sanitizers::NIGHTLY;

/// Windows, macOS, another Unix, another processor, and words of 32 bits.
const TARGETS: &[&str] = &[
    WINDOWS,
    "x86_64-apple-darwin",
    "x86_64-unknown-freebsd",
    "aarch64-unknown-linux-gnu",
    "i686-unknown-linux-gnu",
];

/// Its libraries are linked by the binutils of MinGW-w64.
const WINDOWS: &str = "x86_64-pc-windows-gnu";

/// Builds the libraries for one target, or for each. Without TLS, for which ring needs a C compiler for each of them.
pub(crate) fn build(only: Option<&str>, tally: &mut Tally) -> Result<(), String> {
    let is_meant = |name: &str| only.is_none_or(|only| only == name);
    if !TARGETS.iter().any(|name| is_meant(name)) {
        return Err(format!("the targets are {}", TARGETS.join(", ")));
    }
    for name in TARGETS.iter().filter(|name| is_meant(name)) {
        let line = format!(
            "cargo {NIGHTLY} build -Zbuild-std=std,panic_unwind --target {name} --no-default-features \
             --features tidings/remote,tidings/serde,tidings/tracing -p tidings -p tidings-link -p tidings-sim"
        );
        run_at_root(&[("CARGO_TARGET_DIR", &target("targets"))], &line, tally)?;
    }
    Ok(())
}

/// The tests of tidings and of links as programs for Windows, by the `wine` in the path. Left out: links to Python, and
/// calls with more buffers than Linux takes at once, which Wine hands on to it.
pub(crate) fn wine(tally: &mut Tally) -> Result<(), String> {
    run_tests(
        &[
            ("CARGO_TARGET_DIR", &target("targets")),
            ("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", "wine"),
            ("WINEDEBUG", "-all"),
        ],
        &format!(
            "cargo {NIGHTLY} test -Zbuild-std --target {WINDOWS} -p tidings -p tidings-link --lib --test it \
             --no-fail-fast -- --skip python --skip more_buffers_than_the_system"
        ),
        tally,
    )
}
