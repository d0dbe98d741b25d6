//! The binary that goes into a bundle: one that needs no shared library, if it can be had.

use std::fs;
use std::path::{Path, PathBuf};

use crate::arena::exit::Stop;
use crate::arena::machine::heartbeat::Heartbeat;
use crate::arena::machine::interrupt::Interrupt;
use crate::arena::peers::build;
use crate::arena::terminal;

/// How a binary is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Linked {
    Static,
    Dynamic,
}

impl Linked {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Static => "statically linked, runs on any Linux of this architecture",
            Self::Dynamic => {
                "dynamically linked, as given: it needs a glibc at least as new as that of the machine it was built on"
            }
        }
    }
}

/// The binary given, however it is linked; else this one if it is static; else one built anew from the sources that this
/// one comes from.
pub(crate) fn find(given: Option<&Path>, interrupt: &Interrupt) -> Result<(PathBuf, Linked), Stop> {
    let this = std::env::current_exe()
        .map_err(|e| Stop::internal(format!("cannot find this binary: {e}")))?;
    let path = given.map_or(this, Path::to_owned);
    let bytes = fs::read(&path).map_err(|e| Stop::file("read", &path, &e))?;
    if is_static(&bytes) == Some(true) {
        return Ok((path, Linked::Static));
    }
    if given.is_some() {
        return Ok((path, Linked::Dynamic));
    }
    let built = built(interrupt).map_err(|why| {
        Stop::nothing(format!(
            "no static binary: {why}\n`--binary FILE` takes one as it is"
        ))
    })?;
    Ok((built, Linked::Static))
}

/// Builds with the C library linked in: musl's target if rustup has it, else glibc's archive, which the compiler of the
/// distribution brings. In the sources' own target folder, so that a build that was cut off goes on, and the next bundle
/// finds it done.
fn built(interrupt: &Interrupt) -> Result<PathBuf, String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sources = sources
        .canonicalize()
        .map_err(|_| "its sources are not here to build it".to_owned())?;
    let arch = std::env::consts::ARCH;
    let musl = format!("{arch}-unknown-linux-musl");
    let sysroot = std::process::Command::new("rustc")
        .args(["--print", "sysroot"])
        .current_dir(&sources)
        .output()
        .map_err(|_| "there is no rustc here to build it".to_owned())?;
    let sysroot = String::from_utf8_lossy(&sysroot.stdout).trim().to_owned();
    let has_musl = Path::new(&sysroot).join("lib/rustlib").join(&musl).is_dir();
    let target = if has_musl {
        musl
    } else {
        format!("{arch}-unknown-linux-gnu")
    };
    let folder = sources.join("target/static");
    let step = command(&target, &folder);
    terminal::say(&format!("building a static binary: {}", step.join(" ")));
    let beat = Heartbeat::start("building a static binary");
    let outcome = build::run_step(&step, &sources, interrupt);
    drop(beat);
    outcome?;
    let made = folder.join(target).join("release/tidings");
    let bytes = fs::read(&made).map_err(|e| format!("{}: {e}", made.display()))?;
    match is_static(&bytes) {
        Some(true) => Ok(made),
        _ => Err(format!("{} is not static", made.display())),
    }
}

/// `--target` is what keeps the flag from macros, which are loaded by the compiler and so cannot be static.
fn command(target: &str, folder: &Path) -> Vec<String> {
    let flags = "RUSTFLAGS=-C target-feature=+crt-static";
    // That variable of cargo would win over the flags.
    let mut step = ["env", "-u", "CARGO_ENCODED_RUSTFLAGS", flags].to_vec();
    step.extend("cargo build --release --locked -p tidings-cli --target".split(' '));
    step.extend([target, "--target-dir"]);
    let mut step: Vec<String> = step.into_iter().map(str::to_owned).collect();
    step.push(folder.to_string_lossy().into_owned());
    step
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
