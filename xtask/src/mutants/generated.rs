//! `cargo x mutants --generated FILE..`: what cargo-mutants makes of a file.
//!
//! It changes the code mechanically (a body for a default value, `<` for `<=`) and builds the
//! library and its tests anew each time: a minute per mutant, so it is run by hand, file by file,
//! and not in continuous integration. `.cargo/mutants.toml` says which tests it runs.

use std::collections::BTreeMap;
use std::process::{Command, ExitCode};

use super::tree::Tree;

/// The version that the configuration was written for.
const VERSION: &str = "27.1.0";

/// The files whose mutants have all been killed or argued. To be kept honest by hand.
pub(super) const THROUGH: &[&str] = &[];

pub(super) fn run(files: &[&str]) -> Result<ExitCode, String> {
    let installed = Command::new("cargo")
        .args(["mutants", "--version"])
        .output();
    if !installed.is_ok_and(|output| output.status.success()) {
        return Err(format!(
            "cargo-mutants is missing: cargo install cargo-mutants --version {VERSION} --locked"
        ));
    }
    // In a copy of ours, which keeps what was built for the next time.
    let tree = Tree::copy("generated", &BTreeMap::new())?;
    let mut arguments = vec!["mutants", "--in-place", "--package", "tidings"];
    arguments.extend(files.iter().flat_map(|file| ["--file", file]));
    println!(
        "$ cd {} && cargo {}",
        tree.root.display(),
        arguments.join(" ")
    );
    let status = Command::new("cargo")
        .args(&arguments)
        .env("CARGO_TARGET_DIR", tree.root.join("target"))
        .current_dir(&tree.root)
        .status()
        .map_err(|error| format!("cargo cannot be started: {error}"))?;
    if status.success() {
        Ok(ExitCode::SUCCESS)
    } else {
        Err(format!("cargo mutants: {status}"))
    }
}
