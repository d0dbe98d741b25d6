//! What users of the library see, and what the library depends on: the public API against its
//! snapshot and against another revision, what is published, and `cargo-deny`.

use std::fs;
use std::process::Command;

use crate::command::{Tally, read, root, run_at_root, target};
use crate::sanitizers::NIGHTLY;
use crate::tools;

/// The libraries, each with its snapshot in its folder.
const LIBRARIES: &[&str] = &["tidings", "tidings-link", "tidings-nats", "tidings-sim"];

/// The public APIs are those in the snapshots; with `update` they become so.
pub(crate) fn api(update: bool) -> Result<(), String> {
    LIBRARIES
        .iter()
        .try_for_each(|library| api_of(library, update))
}

fn api_of(library: &str, update: bool) -> Result<(), String> {
    let snapshot = format!("crates/{library}/public-api.txt");
    let tool = tools::PUBLIC_API.get()?;
    let built = target("api");
    let toolchain = NIGHTLY.trim_start_matches('+');
    // With all features: what stands behind one is public, too.
    let arguments = [
        "public-api",
        "-p",
        library,
        "--all-features",
        "-sss",
        "--color",
        "never",
    ];
    println!(
        "$ RUSTUP_TOOLCHAIN={toolchain} {tool} {}",
        arguments.join(" ")
    );
    let output = Command::new(&tool)
        .args(arguments)
        .env("RUSTUP_TOOLCHAIN", toolchain)
        .env("CARGO_TARGET_DIR", built)
        .current_dir(root())
        .output()
        .map_err(|error| format!("{tool}: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let now = String::from_utf8_lossy(&output.stdout).into_owned();
    let path = root().join(&snapshot);
    if update {
        return fs::write(&path, now).map_err(|error| format!("{snapshot}: {error}"));
    }
    let before = read(&snapshot)?;
    let changes = changes(&before, &now);
    if changes.is_empty() {
        println!("api: {} items, as in {snapshot}", now.lines().count());
        return Ok(());
    }
    println!("{}", changes.join("\n"));
    Err(format!(
        "the public API differs from {snapshot} in {} lines; if it should: `cargo x api --update`",
        changes.len()
    ))
}

/// Lines that went and lines that came.
fn changes(before: &str, now: &str) -> Vec<String> {
    let missing = |lines: &str, other: &str, sign: &str| -> Vec<String> {
        let other: Vec<&str> = other.lines().collect();
        let gone = lines.lines().filter(|line| !other.contains(line));
        gone.map(|line| format!("{sign}{line}")).collect()
    };
    let mut changes = missing(before, now, "-");
    changes.extend(missing(now, before, "+"));
    changes
}

/// What would break users that had the libraries of another revision, by `cargo-semver-checks`:
/// those of the last release, if nobody names one.
///
/// The snapshot shows every change, this says which of them ask for a new major version; also
/// those of behaviour that no signature shows: a type that is not `Send` any more, a trait that
/// can be implemented no more.
pub(crate) fn semver(revision: Option<&str>, tally: &mut Tally) -> Result<(), String> {
    let revision = match revision {
        Some(revision) => revision.to_owned(),
        None => last_release()?,
    };
    let tool = tools::SEMVER.get()?;
    let packages = LIBRARIES.join(" -p ");
    let line = format!("{tool} semver-checks -p {packages} --baseline-rev {revision}");
    run_at_root(&[], &line, tally)
}

/// The newest tag of a release.
fn last_release() -> Result<String, String> {
    let arguments = ["describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"];
    let output = Command::new("git")
        .args(arguments)
        .current_dir(root())
        .output()
        .map_err(|error| format!("git cannot be started: {error}"))?;
    let tag = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if tag.is_empty() {
        return Err("there is no release yet: `cargo x semver REVISION`".to_owned());
    }
    Ok(tag)
}

/// The libraries can be published: each builds from what its package has.
pub(crate) fn publish(tally: &mut Tally) -> Result<(), String> {
    let line = "cargo publish --dry-run --workspace --allow-dirty";
    run_at_root(&[], line, tally)
}

/// Licences, bans and sources of every dependency. Advisories need a database from the network:
/// `cargo deny check advisories`.
pub(crate) fn deny(tally: &mut Tally) -> Result<(), String> {
    let tool = tools::DENY.get()?;
    run_at_root(&[], &format!("{tool} check licenses bans sources"), tally)
}

#[cfg(test)]
mod tests {
    use super::changes;

    #[test]
    fn what_went_and_what_came_is_named() {
        assert_eq!(changes("a\nb\n", "b\nc\n"), ["-a", "+c"]);
        assert!(changes("a\nb\n", "a\nb\n").is_empty());
    }
}
