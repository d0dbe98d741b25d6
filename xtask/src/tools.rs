//! Programs that the verbs use, each at one version, in a folder of their own: Cargo's plug-ins, and
//! nats-server for the tests of `tidings-nats`.

use crate::command::{Tally, run_at_root, target};

/// A program of crates.io.
pub(crate) struct Tool {
    name: &'static str,
    version: &'static str,
}

pub(crate) const PUBLIC_API: Tool = Tool::new("cargo-public-api", "0.52.0");
pub(crate) const SEMVER: Tool = Tool::new("cargo-semver-checks", "0.51.0");
pub(crate) const DENY: Tool = Tool::new("cargo-deny", "0.20.2");
pub(crate) const MUTANTS: Tool = Tool::new("cargo-mutants", "27.1.0");

impl Tool {
    const fn new(name: &'static str, version: &'static str) -> Self {
        Self { name, version }
    }

    /// Where it is. Installs it when it is missing; cargo does nothing when it is there.
    pub(crate) fn get(&self) -> Result<String, String> {
        let folder = target("tools");
        let Self { name, version } = self;
        let program = format!("{folder}/bin/{name}");
        let installed = std::fs::read_to_string(format!("{folder}/.crates.toml"));
        let line = format!("\"{name} {version} ");
        if installed.is_ok_and(|list| list.contains(&line)) {
            return Ok(program);
        }
        // Quickly built rather than fast: each runs for seconds.
        let install = format!(
            "cargo install --locked --debug --root {folder} --target-dir {folder}/build \
             {name}@{version}"
        );
        run_at_root(&[], &install, &mut Tally::default())?;
        Ok(program)
    }
}

/// The Go module of nats-server.
const NATS: &str = "github.com/nats-io/nats-server/v2@v2.15.2";

/// Installs nats-server where the tests of `tidings-nats` look for it, and says where; go does nothing
/// when it is there.
pub(crate) fn nats(tally: &mut Tally) -> Result<String, String> {
    let folder = target("tools/nats");
    run_at_root(&[("GOBIN", &folder)], &format!("go install {NATS}"), tally)?;
    Ok(format!("{folder}/nats-server"))
}
