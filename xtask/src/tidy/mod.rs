//! `cargo x tidy`: the rules of CONTRIBUTING.md, as far as text can show them.
//!
//! A check is a function from the tree to its problems, with a test of its own message. What may
//! deviate from a rule stands in `allowed.rs`.

mod allowed;
mod code;
pub(crate) mod laws;
mod manifests;
mod markdown;
mod promises;
mod rooms;
mod sources;
mod upstream;

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) use code::code_only;

/// One text file.
struct File {
    /// Below the root, with `/`.
    path: String,
    text: String,
}

/// What is checked: the Rust, Markdown and TOML files of the repository.
struct Tree {
    root: PathBuf,
    files: Vec<File>,
}

type Check = fn(&Tree, &mut Vec<String>);

const CHECKS: &[Check] = &[
    sources::header,
    sources::length,
    sources::trailing_spaces,
    sources::leftovers,
    sources::ignored_tests,
    sources::maps,
    rooms::unsafe_code,
    rooms::doors,
    promises::promises,
    promises::tables,
    promises::citations,
    laws::laws,
    markdown::links,
    manifests::lints,
    manifests::changelog,
    upstream::upstream,
];

/// Folders that hold what somebody else wrote: git, builds, and trybuild's output to be looked at.
const SKIPPED: &[&str] = &[".git", "target", "wip"];

/// Runs every check on the repository at `root` and prints what it finds.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let tree = Tree::load(root)?;
    let mut problems = Vec::new();
    for check in CHECKS {
        check(&tree, &mut problems);
    }
    for problem in &problems {
        println!("{problem}");
    }
    println!(
        "tidy: {} checks, {} files, {} problems",
        CHECKS.len(),
        tree.files.len(),
        problems.len()
    );
    if problems.is_empty() {
        Ok(())
    } else {
        Err(format!("tidy: {} problems", problems.len()))
    }
}

impl Tree {
    fn load(root: &Path) -> Result<Self, String> {
        let mut tree = Self {
            root: root.to_owned(),
            files: Vec::new(),
        };
        tree.enter(root)
            .map_err(|error| format!("{}: {error}", root.display()))?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    fn enter(&mut self, folder: &Path) -> std::io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                if !SKIPPED.iter().any(|name| entry.file_name() == *name) {
                    self.enter(&path)?;
                }
            } else if path
                .extension()
                .is_some_and(|ext| ext == "rs" || ext == "md" || ext == "toml")
            {
                let below = path.strip_prefix(&self.root).unwrap_or(&path);
                let path = below.to_string_lossy().replace('\\', "/");
                self.files.push(File {
                    path,
                    text: fs::read_to_string(entry.path())?,
                });
            }
        }
        Ok(())
    }

    /// The files of one kind.
    fn with(&self, extension: &str) -> impl Iterator<Item = &File> {
        self.files
            .iter()
            .filter(move |file| file.path.ends_with(extension))
    }

    fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

#[cfg(test)]
impl Tree {
    fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|&(path, text)| File {
            path: path.into(),
            text: text.into(),
        });
        Self {
            root: crate::command::root(),
            files: files.collect(),
        }
    }

    /// What one check says about these files.
    fn problems(check: Check, files: &[(&str, &str)]) -> Vec<String> {
        let mut problems = Vec::new();
        check(&Self::of(files), &mut problems);
        problems
    }
}
