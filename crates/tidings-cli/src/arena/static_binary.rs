//! The binary that goes into a bundle: one that needs no shared library, if it can be had.

use std::fs;
use std::path::{Path, PathBuf};

use super::build;
use super::exit::Stop;
use super::heartbeat::Heartbeat;
use super::terminal;

/// How a binary is linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Linked {
    Static,
    /// With the reason why it is not static.
    Dynamic(String),
}

impl Linked {
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Static => "statically linked, runs on any Linux of this architecture".to_owned(),
            Self::Dynamic(why) => format!(
                "dynamically linked ({why}): it needs a glibc at least as new as that of the machine it was built on"
            ),
        }
    }
}

/// The binary given; else this one if it is static; else one built anew from the sources this one comes from, below
/// `work`; else this one as it is.
pub(crate) fn find(given: Option<&Path>, work: &Path) -> Result<(PathBuf, Linked), Stop> {
    let this = std::env::current_exe()
        .map_err(|e| Stop::internal(format!("cannot find this binary: {e}")))?;
    let path = given.map_or(this, Path::to_owned);
    let bytes = fs::read(&path).map_err(|e| Stop::file("read", &path, &e))?;
    if is_static(&bytes) == Some(true) {
        return Ok((path, Linked::Static));
    }
    if given.is_some() {
        return Ok((path, Linked::Dynamic("as given".to_owned())));
    }
    match built(work) {
        Ok(built) => Ok((built, Linked::Static)),
        Err(why) => {
            terminal::say(&format!("no static binary: {why}"));
            // The command is long and has just been shown; what the compiler says is what counts.
            let error = why.lines().find(|line| line.starts_with("error"));
            let why = error.or(why.lines().last()).unwrap_or_default();
            Ok((path, Linked::Dynamic(why.to_owned())))
        }
    }
}

/// Builds with the C library linked in: musl's target if rustup has it, else glibc's archive, which the compiler of the
/// distribution brings.
fn built(work: &Path) -> Result<PathBuf, String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sources = sources
        .canonicalize()
        .map_err(|_| "its sources are not here to build it statically".to_owned())?;
    let arch = std::env::consts::ARCH;
    let musl = format!("{arch}-unknown-linux-musl");
    let sysroot = std::process::Command::new("rustc")
        .args(["--print", "sysroot"])
        .current_dir(&sources)
        .output()
        .map_err(|_| "there is no rustc here to build it statically".to_owned())?;
    let sysroot = String::from_utf8_lossy(&sysroot.stdout).trim().to_owned();
    let has_musl = Path::new(&sysroot).join("lib/rustlib").join(&musl).is_dir();
    let target = if has_musl {
        musl
    } else {
        format!("{arch}-unknown-linux-gnu")
    };
    let folder = work.join("build");
    let mut step = vec!["env".to_owned()];
    step.push("RUSTFLAGS=-C target-feature=+crt-static".to_owned());
    step.extend(
        [
            "cargo",
            "build",
            "--release",
            "--locked",
            "-p",
            "tidings-cli",
        ]
        .map(str::to_owned),
    );
    step.extend([
        "--target".to_owned(),
        target.clone(),
        "--target-dir".to_owned(),
    ]);
    step.push(folder.to_string_lossy().into_owned());
    terminal::say(&format!("building a static binary: {}", step.join(" ")));
    let _beat = Heartbeat::start("building a static binary");
    let outcome = build::run_step(&step, &sources);
    let made = folder.join(target).join("release/tidings");
    let place = work.join("tidings");
    let moved = outcome.and_then(|()| {
        let bytes = fs::read(&made).map_err(|e| format!("{}: {e}", made.display()))?;
        if is_static(&bytes) != Some(true) {
            return Err("the linker made no static binary".to_owned());
        }
        fs::copy(&made, &place).map_err(|e| format!("{}: {e}", place.display()))
    });
    let _ = fs::remove_dir_all(&folder);
    moved.map(|_| place)
}

/// Whether a 64-bit little-endian ELF file asks for no interpreter, that is for no dynamic linker. `None`: no such file.
fn is_static(file: &[u8]) -> Option<bool> {
    const INTERPRETER: u32 = 3;
    if file.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let half = |at: usize| {
        Some(usize::from(u16::from_le_bytes(
            file.get(at..at + 2)?.try_into().ok()?,
        )))
    };
    let headers = u64::from_le_bytes(file.get(32..40)?.try_into().ok()?);
    let (size, count) = (half(54)?, half(56)?);
    let headers = usize::try_from(headers).ok()?;
    for index in 0..count {
        let at = headers + index * size;
        let kind = u32::from_le_bytes(file.get(at..at + 4)?.try_into().ok()?);
        if kind == INTERPRETER {
            return Some(false);
        }
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dynamic_binary_is_told_from_a_static_one() {
        // 64 bytes of header, then program headers of 56 bytes each.
        let elf = |kinds: &[u32]| {
            let mut file = vec![0; 64 + 56 * kinds.len()];
            file[..6].copy_from_slice(b"\x7fELF\x02\x01");
            file[32] = 64;
            file[54] = 56;
            file[56] = u8::try_from(kinds.len()).expect("few");
            for (index, kind) in kinds.iter().enumerate() {
                file[64 + 56 * index..][..4].copy_from_slice(&kind.to_le_bytes());
            }
            file
        };
        assert_eq!(is_static(&elf(&[1, 2])), Some(true));
        assert_eq!(is_static(&elf(&[6, 3, 1])), Some(false));
        assert_eq!(is_static(b"#!/bin/sh\n"), None);
        assert_eq!(is_static(&elf(&[1])[..66]), None, "cut off");
        let this = fs::read(std::env::current_exe().expect("known")).expect("readable");
        assert!(is_static(&this).is_some());
    }
}
