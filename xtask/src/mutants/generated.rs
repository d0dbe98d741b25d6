//! `cargo x mutants --generated FILE..`: what cargo-mutants makes of a file.
//!
//! It changes the code mechanically (a body for a default value, `<` for `<=`) and builds the
//! library anew each time: minutes per file, so it is run by hand and not in continuous
//! integration. `.cargo/mutants.toml` says which tests it runs and what is left out, and why;
//! `docs/trust/generated.md` says which files have been through it.

use std::process::{Command, ExitCode};

use crate::command::{Tally, run_at_root, target};

/// The version that the configuration was written for.
const VERSION: &str = "25.3.1";

pub(super) fn run(files: &[&str]) -> Result<ExitCode, String> {
    let installed = Command::new("cargo")
        .args(["mutants", "--version"])
        .output();
    if !installed.is_ok_and(|output| output.status.success()) {
        return Err(format!(
            "cargo-mutants is missing: cargo install cargo-mutants --version {VERSION} --locked"
        ));
    }
    let mut line = format!("cargo mutants -p tidings --output {}", target("mutants"));
    for file in files {
        line += &format!(" --file {file}");
    }
    run_at_root(&[], &line, &mut Tally::default())?;
    Ok(ExitCode::SUCCESS)
}
