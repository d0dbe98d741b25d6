//! Building a peer into the cache: what its hash covers, when it is done, and how it is made.

use std::fs::{self, File, TryLockError};
use std::io::{self, PipeReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::arena::exit::Stop;
use crate::arena::machine::interrupt::Interrupt;
use crate::arena::peers::catalog::{Built, Entry};
use crate::arena::peers::manifest::{Manifest, Places};
use crate::arena::peers::proc_tree;
use crate::arena::peers::process::wait_readable;
use crate::arena::plain;

/// Written last: a folder without it is a build that was cut off.
const STAMP: &str = ".tidings-built";
/// How often it is looked whether somebody asked to end.
const WATCH: Duration = Duration::from_millis(100);
/// What is said of a build that somebody asked to end.
const INTERRUPTED: &str = "interrupted";
/// Folders that builds fill and sources do not need.
const NOT_SOURCES: &[&str] = &["target", "node_modules", "__pycache__"];
/// The same directly below a peer's folder; further down they are names of sources, as in `src/bin`.
const NOT_SOURCES_AT_TOP: &[&str] = &["bin", "obj"];

/// Whether a file or folder belongs to a peer's sources.
pub(crate) fn is_source(name: &str, at_top: bool) -> bool {
    let made = NOT_SOURCES.contains(&name) || at_top && NOT_SOURCES_AT_TOP.contains(&name);
    !made && !name.starts_with('.')
}

/// A hash over the peer's sources, those it shares, its commands and its toolchain: a changed peer is another peer.
pub(crate) fn hash(
    folder: &Path,
    shared: &[PathBuf],
    manifest: &Manifest,
    toolchain: &str,
) -> Result<String, Stop> {
    // As the peer's commands name them, so that the hash is the same wherever the peers lie.
    let shared = shared.iter().zip(&manifest.peer.shared);
    let folders = shared.map(|(folder, name)| (folder.as_path(), name.as_str(), false));
    let mut files = Vec::new();
    for (folder, name, at_top) in folders.chain([(folder, "", true)]) {
        let mut found = Vec::new();
        sources(folder, at_top, &mut found).map_err(|e| Stop::file("read", folder, &e))?;
        files.extend(found.into_iter().map(|file| {
            let below = file.strip_prefix(folder).unwrap_or(&file);
            (Path::new(name).join(below), file)
        }));
    }
    files.sort();
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update(bytes.len().to_le_bytes());
        hash.update(bytes);
    };
    part(toolchain.as_bytes());
    for step in &manifest.build {
        part(step.cmd.join("\0").as_bytes());
    }
    for (name, file) in files {
        part(name.as_os_str().as_encoded_bytes());
        part(&fs::read(&file).map_err(|e| Stop::file("read", &file, &e))?);
    }
    Ok(hash
        .finalize()
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

fn sources(folder: &Path, at_top: bool, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if !is_source(&name.to_string_lossy(), at_top) {
            continue;
        }
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sources(&entry.path(), false, files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// Stands for the hash of this binary: reading all of it at every start would cost more than it tells.
pub(crate) fn fingerprint_of_self() -> String {
    let data = std::env::current_exe().and_then(fs::metadata);
    let changed = data.as_ref().ok().and_then(|d| {
        let time = d
            .modified()
            .ok()?
            .duration_since(std::time::UNIX_EPOCH)
            .ok()?;
        Some(format!("{:x}-{:x}", d.len(), time.as_secs()))
    });
    changed.unwrap_or_else(|| "unknown".to_owned())
}

/// Whether the build is there, whole.
pub(crate) fn is_done(built: &Built, manifest: &Manifest) -> bool {
    let outputs = manifest.build.iter().flat_map(|b| &b.outputs);
    built.out.join(STAMP).is_file() && outputs.clone().all(|o| built.out.join(o).exists())
}

/// The commands a build runs, for the plan that is shown first.
pub(crate) fn steps(entry: &Entry, built: &Built) -> Vec<Vec<String>> {
    let out = built.out.to_string_lossy();
    let src = entry.src();
    let places = Places {
        out: &out,
        src: &src,
        ..Places::default()
    };
    let fill = |cmd: &Vec<String>| cmd.iter().map(|w| places.fill(w)).collect();
    entry
        .manifest
        .build
        .iter()
        .map(|step| fill(&step.cmd))
        .collect()
}

/// Builds a peer; `begins` hears of each step before it runs. The error is fit to be shown: the step, how it ended, and
/// the end of what it said. Who is asked to end meanwhile kills the step.
pub(crate) fn make(
    entry: &Entry,
    built: &Built,
    interrupt: &Interrupt,
    mut begins: impl FnMut(&[String]),
) -> Result<(), String> {
    let folder = entry
        .folder
        .as_deref()
        .ok_or("a built-in peer has nothing to build")?;
    let named = |what: &str, path: &Path, e: io::Error| format!("{what} {}: {e}", path.display());
    fs::create_dir_all(&built.out).map_err(|e| named("cannot make", &built.out, e))?;
    // Two runs at once build once: the second waits here, then finds it done.
    let lock_path = built.out.with_extension("lock");
    let lock = File::create(&lock_path).map_err(|e| named("cannot make", &lock_path, e))?;
    loop {
        match lock.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if interrupt.is_asked() => {
                return Err(INTERRUPTED.to_owned());
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(WATCH),
            Err(TryLockError::Error(e)) => return Err(named("cannot lock", &lock_path, e)),
        }
    }
    if is_done(built, &entry.manifest) {
        return Ok(());
    }
    for step in steps(entry, built) {
        begins(&step);
        run_step(&step, folder, interrupt)?;
    }
    for output in entry.manifest.build.iter().flat_map(|b| &b.outputs) {
        if !built.out.join(output).exists() {
            return Err(format!("the build made no {output}"));
        }
    }
    let stamp = built.out.join(STAMP);
    fs::write(&stamp, &built.toolchain).map_err(|e| named("cannot write", &stamp, e))
}

/// Runs one command to its end, or until somebody asks to end; what it says is only shown if it fails.
pub(crate) fn run_step(
    step: &[String],
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<(), String> {
    const SHOWN: usize = 2000;
    let shown = step.join(" ");
    let (mut said, pipe) = io::pipe().map_err(|e| format!("no pipe: {e}"))?;
    let second = pipe.try_clone().map_err(|e| format!("no pipe: {e}"))?;
    let mut command = Command::new(&step[0]);
    command
        .args(&step[1..])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(pipe)
        .stderr(second);
    let mut child = command
        .spawn()
        .map_err(|e| format!("cannot start `{shown}`: {e}"))?;
    // The command holds the writing ends; without them gone the reading end never ends.
    drop(command);
    let mut text = Vec::new();
    let mut heard = Ok(true);
    while let Ok(true) = heard {
        if interrupt.is_asked() {
            proc_tree::kill(&proc_tree::descendants(child.id()));
            let _ = child.wait();
            return Err(INTERRUPTED.to_owned());
        }
        heard = hear(&mut said, &mut text);
    }
    let status = child.wait().map_err(|e| format!("`{shown}`: {e}"))?;
    if status.success() {
        return Ok(());
    }
    let text = plain::lines(&text[text.len().saturating_sub(SHOWN)..]).join("\n");
    Err(format!("`{shown}` ended with {status}\n{text}"))
}

/// Waits a while for something that is said; `false`: that was the end.
fn hear(said: &mut PipeReader, text: &mut Vec<u8>) -> io::Result<bool> {
    if !wait_readable(said, WATCH)? {
        return Ok(true);
    }
    let mut chunk = [0; 8192];
    let count = said.read(&mut chunk)?;
    text.extend_from_slice(&chunk[..count]);
    Ok(count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_follows_the_sources_only() {
        let root = std::env::temp_dir().join(format!("tidings-hash-{}", std::process::id()));
        let (folder, beside) = (root.join("x"), root.join("y"));
        fs::create_dir_all(beside.join("target")).expect("made");
        fs::create_dir_all(folder.join("target")).expect("made");
        fs::create_dir_all(folder.join("src/bin")).expect("made");
        fs::write(folder.join("main.go"), "package main").expect("written");
        let manifest = crate::arena::peers::manifest::parse(
            "[peer]\nid='x'\nsystems=['x']\nlang='Go'\nshared=['../y']\n[run]\ncmd=['x']\n[[cell]]\nid='fan/obj'\n",
        )
        .expect("valid");
        let shared = [beside.clone()];
        let hash = |toolchain| hash(&folder, &shared, &manifest, toolchain).expect("readable");
        let first = hash("1");
        fs::write(folder.join("target/x"), "output").expect("written");
        fs::write(folder.join(".hidden"), "editor").expect("written");
        assert_eq!(first, hash("1"));
        assert_ne!(first, hash("2"));
        fs::write(folder.join("src/bin/a.rs"), "fn main() {}").expect("written");
        let second = hash("1");
        assert_ne!(first, second, "a folder of sources that is called bin");
        fs::write(folder.join("main.go"), "package other").expect("written");
        let third = hash("1");
        assert_ne!(second, third);
        fs::write(beside.join("target/x"), "output").expect("written");
        assert_eq!(third, hash("1"));
        fs::write(beside.join("bin"), "shared").expect("written");
        assert_ne!(third, hash("1"), "a file of the shared folder");
        fs::remove_dir_all(&root).expect("removed");
    }
}
