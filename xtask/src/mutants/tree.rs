//! A copy of the work tree in which files can be changed.
//!
//! Files that are the same already are not touched, so that cargo builds little anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::command::{root, target};

/// Folders that are not copied: what git and cargo keep.
const SKIPPED: &[&str] = &[".git", "target"];

/// See the module.
pub(super) struct Tree {
    pub(super) root: PathBuf,
    /// Says whether the library and its tests are what they were at another time.
    pub(super) fingerprint: String,
}

impl Tree {
    /// Brings the copy `name` up to date: the work tree, with these texts in place of its own.
    pub(super) fn copy(name: &str, changed: &BTreeMap<String, String>) -> Result<Self, String> {
        let (from, to) = (root(), PathBuf::from(target("mutants")).join(name));
        let mut paths = BTreeSet::new();
        walk(&from, &from, &mut paths).map_err(|error| format!("{}: {error}", from.display()))?;
        let mut print = Fingerprint::default();
        for path in &paths {
            let at = from.join(path);
            let content = match changed.get(path) {
                Some(text) => text.clone().into_bytes(),
                None => fs::read(&at).map_err(|error| format!("{}: {error}", at.display()))?,
            };
            let library = [
                "crates/tidings/",
                "crates/tidings-link/",
                "crates/tidings-macros/",
                "crates/tidings-nats/",
                "crates/tidings-sim/",
            ];
            if library.iter().any(|folder| path.starts_with(folder)) || path == "Cargo.lock" {
                print.add(path.as_bytes());
                print.add(&content);
            }
            write(&to.join(path), &content)?;
        }
        let mut old = BTreeSet::new();
        // At the first copy there is nothing old.
        let _ = walk(&to, &to, &mut old);
        for path in old.difference(&paths) {
            fs::remove_file(to.join(path)).map_err(|error| format!("{path}: {error}"))?;
        }
        Ok(Self {
            root: to,
            fingerprint: print.text(),
        })
    }
}

/// The files below `folder`, as paths below `base` with `/`.
fn walk(base: &Path, folder: &Path, paths: &mut BTreeSet<String>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if !SKIPPED.iter().any(|name| entry.file_name() == *name) {
                walk(base, &entry.path(), paths)?;
            }
        } else if kind.is_file() {
            let path = entry.path();
            let below = path.strip_prefix(base).unwrap_or(&path);
            paths.insert(below.to_string_lossy().replace('\\', "/"));
        }
    }
    Ok(())
}

fn write(at: &Path, content: &[u8]) -> Result<(), String> {
    if fs::read(at).is_ok_and(|old| old == content) {
        return Ok(());
    }
    let folder = at.parent().unwrap_or(at);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(at, content))
        .map_err(|error| format!("{}: {error}", at.display()))
}

/// FNV-1a: short, and the same with every toolchain.
pub(super) struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        // The length too, so that what moves from one piece to the next is seen.
        for byte in bytes.len().to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub(super) fn text(&self) -> String {
        format!("{:016x}", self.0)
    }
}
