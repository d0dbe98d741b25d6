//! The peers there are, and whether each can run now.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::arena::exit::Stop;
use crate::arena::paths;
use crate::arena::peers::build;
use crate::arena::peers::manifest::{self, Manifest, Places};
use crate::arena::peers::peer::{Launch, Limits};
use crate::arena::plain;

/// The manifest of tidings itself: no folder, no build, the binary is the peer.
const OWN: &str = include_str!("../../../../../arena/peers/tidings/peer.toml");

/// A peer: its manifest, the folder it lies in (`None`: built in), and the folders it shares with others.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) manifest: Manifest,
    pub(crate) folder: Option<PathBuf>,
    shared: Vec<PathBuf>,
}

/// Whether a peer can run.
#[derive(Clone, Debug)]
pub(crate) enum Readiness {
    Ready(Built),
    /// The toolchain is there, the build is not.
    Unbuilt(Built),
    /// Something is missing, with the command that gets it.
    Missing {
        reason: String,
        fix: String,
        /// Debian packages that bring all of it; empty if there are none.
        apt: Vec<String>,
    },
    /// It cannot run on this kind of machine.
    Blocked {
        reason: String,
    },
}

/// A build: where it is or would be.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    pub(crate) out: PathBuf,
    pub(crate) hash: String,
    pub(crate) toolchain: String,
}

/// All peers, in the order of their ids, tidings first.
pub(crate) fn load(folder: Option<&Path>) -> Result<Vec<Entry>, Stop> {
    let mut entries = Vec::new();
    let folder = match folder {
        Some(folder) if folder.is_dir() => Some(folder.to_owned()),
        Some(folder) => {
            return Err(Stop::usage(format!(
                "--peers {}: not a folder",
                folder.display()
            )));
        }
        None => paths::sources(),
    };
    if let Some(folder) = folder {
        let list = std::fs::read_dir(&folder).map_err(|e| Stop::file("read", &folder, &e))?;
        for peer in list.flatten().map(|entry| entry.path()) {
            let file = peer.join("peer.toml");
            if !file.is_file() {
                continue;
            }
            entries.push(one(&peer)?);
        }
    }
    if !entries.iter().any(|e| e.manifest.peer.id == "tidings") {
        let manifest = manifest::parse(OWN)
            .map_err(|e| Stop::internal(format!("the built-in manifest: {e}")))?;
        entries.push(Entry {
            manifest,
            folder: None,
            shared: Vec::new(),
        });
    }
    entries.sort_by_key(|e| (e.manifest.peer.id != "tidings", e.manifest.peer.id.clone()));
    let mut seen = std::collections::BTreeMap::new();
    for entry in &entries {
        for system in &entry.manifest.peer.systems {
            if let Some(other) = seen.insert(system, &entry.manifest.peer.id) {
                return Err(Stop::usage(format!(
                    "system {system} is in two peers, {other} and {}",
                    entry.manifest.peer.id
                )));
            }
        }
    }
    Ok(entries)
}

/// The peer in a folder.
pub(crate) fn one(peer: &Path) -> Result<Entry, Stop> {
    let file = peer.join("peer.toml");
    if !file.is_file() {
        return Err(Stop::usage(format!(
            "there is no peer.toml in {}",
            peer.display()
        )));
    }
    let text = std::fs::read_to_string(&file).map_err(|e| Stop::file("read", &file, &e))?;
    let manifest =
        manifest::parse(&text).map_err(|e| Stop::usage(format!("{}: {e}", file.display())))?;
    let folder = peer
        .canonicalize()
        .map_err(|e| Stop::file("resolve", peer, &e))?;
    let shared = manifest.peer.shared.iter().map(|path| {
        shared(&folder, path).map_err(|why| {
            Stop::usage(format!("{}: [peer] shared: {path:?} {why}", file.display()))
        })
    });
    let shared = shared.collect::<Result<_, _>>()?;
    Ok(Entry {
        manifest,
        folder: Some(folder),
        shared,
    })
}

/// A folder that a peer shares. Links may not lead out of the folder of all peers: a bundle would lack what is there.
fn shared(peer: &Path, path: &str) -> Result<PathBuf, String> {
    let folder = peer.join(path).canonicalize();
    let folder = folder.map_err(|e| format!("cannot be read: {e}"))?;
    if !folder.is_dir() {
        return Err("is not a folder".to_owned());
    }
    let all = peer.parent();
    if !all.is_some_and(|all| folder != all && folder.starts_with(all)) {
        return Err(format!(
            "leads out of the peers' folder, to {}",
            folder.display()
        ));
    }
    Ok(folder)
}

impl Entry {
    pub(crate) fn id(&self) -> &str {
        &self.manifest.peer.id
    }

    /// The command that sets this peer up.
    pub(crate) fn setup_command(&self) -> String {
        format!("tidings arena setup {}", self.id())
    }

    /// Looks at the toolchain and the cache. Starts the probes of the manifest, nothing else.
    pub(crate) fn readiness(&self) -> Result<Readiness, Stop> {
        if let Some(reason) = &self.manifest.peer.blocked {
            let reason = reason.clone();
            return Ok(Readiness::Blocked { reason });
        }
        if let Some(missing) = self.lacking() {
            return Ok(missing);
        }
        let toolchain = match self.toolchain() {
            Ok(toolchain) => toolchain,
            Err(reason) => {
                let fix = self
                    .manifest
                    .needs
                    .first()
                    .map_or(String::new(), |n| n.fix.clone());
                let apt = Vec::new();
                return Ok(Readiness::Missing { reason, fix, apt });
            }
        };
        let Some(folder) = &self.folder else {
            let hash = build::fingerprint_of_self();
            return Ok(Readiness::Ready(Built {
                out: PathBuf::new(),
                hash,
                toolchain,
            }));
        };
        let hash = build::hash(folder, &self.shared, &self.manifest, &toolchain)?;
        let out = paths::peers()?.join(format!("{}-{hash}", self.id()));
        let built = Built {
            out,
            hash,
            toolchain,
        };
        if self.manifest.build.is_empty() || build::is_done(&built, &self.manifest) {
            Ok(Readiness::Ready(built))
        } else {
            Ok(Readiness::Unbuilt(built))
        }
    }

    /// What does not answer to its probe, all of it at once, if anything does not.
    fn lacking(&self) -> Option<Readiness> {
        let (mut reasons, mut fixes, mut apt) = (Vec::new(), Vec::new(), Vec::new());
        let mut by_apt = true;
        for need in &self.manifest.needs {
            if let Err(reason) = self.probe(&need.cmd) {
                by_apt &= !need.apt.is_empty();
                apt.extend(need.apt.iter().cloned());
                reasons.push(reason);
                fixes.push(need.fix.clone());
            }
        }
        for list in [&mut reasons, &mut fixes, &mut apt] {
            let mut seen = std::collections::BTreeSet::new();
            list.retain(|text| seen.insert(text.clone()));
        }
        (!reasons.is_empty()).then(|| Readiness::Missing {
            reason: reasons.join("; "),
            fix: fixes.join(" && "),
            apt: if by_apt { apt } else { Vec::new() },
        })
    }

    /// Runs a probe in the peer's folder; its output, or why there is none.
    pub(crate) fn probe(&self, command: &[String]) -> Result<String, String> {
        let output = Command::new(&command[0])
            .args(&command[1..])
            .current_dir(self.folder.as_deref().unwrap_or(Path::new(".")))
            .stdin(Stdio::null())
            .output()
            .map_err(|e| match e.kind() {
                std::io::ErrorKind::NotFound => format!("{} is not installed", command[0]),
                _ => format!("cannot start {}: {e}", command[0]),
            })?;
        if !output.status.success() {
            return Err(format!("`{}` fails", command.join(" ")));
        }
        // Some tools tell their version on standard error.
        Ok(plain::lines(&[output.stdout, output.stderr].concat()).join("\n"))
    }

    fn toolchain(&self) -> Result<String, String> {
        let Some(version) = &self.manifest.version else {
            return Ok(String::new());
        };
        let text = self.probe(&version.cmd)?;
        let regex = regex_lite::Regex::new(&version.regex).map_err(|e| e.to_string())?;
        let found = regex
            .captures(&text)
            .and_then(|c| c.get(1).or_else(|| c.get(0)));
        let found = found.map(|m| m.as_str().to_owned()).ok_or_else(|| {
            format!(
                "`{}` tells no version that {:?} finds",
                version.cmd.join(" "),
                version.regex
            )
        })?;
        match &version.min {
            Some(min) if is_older(&found, min) => {
                Err(format!("{} {found} is older than {min}", version.cmd[0]))
            }
            _ => Ok(found),
        }
    }

    /// The folder of its sources, in words; of one that is in this binary, none.
    pub(crate) fn src(&self) -> Cow<'_, str> {
        let folder = self.folder.as_ref();
        folder.map_or_else(Cow::default, |folder| folder.to_string_lossy())
    }

    /// How one system's process is started.
    pub(crate) fn launch(
        &self,
        system: &str,
        built: &Built,
        threads: u32,
        limits: Limits,
    ) -> Result<Launch, Stop> {
        let this = std::env::current_exe()
            .map_err(|e| Stop::internal(format!("cannot find this binary: {e}")))?;
        let (out, this) = (built.out.to_string_lossy(), this.to_string_lossy());
        let src = self.src();
        let places = Places {
            out: &out,
            src: &src,
            threads: Some(threads),
            heap_mb: Some((limits.mem_cap / 4 * 3) >> 20),
            this: &this,
        };
        let run = &self.manifest.run;
        let mut command: Vec<String> = run.cmd.iter().map(|word| places.fill(word)).collect();
        command.extend(["--arena", "1", "--system", system].map(str::to_owned));
        let env = run
            .env
            .iter()
            .map(|(k, v)| (k.clone(), places.fill(v)))
            .collect();
        Ok(Launch {
            system: system.to_owned(),
            command,
            env,
            threads,
            limits,
            is_jit: self.manifest.peer.is_jit(),
            files: 0,
        })
    }
}

fn is_older(found: &str, min: &str) -> bool {
    let numbers = |text: &str| -> Vec<u64> {
        let parts = text
            .split(|c: char| !c.is_ascii_digit())
            .filter(|p| !p.is_empty());
        parts.filter_map(|p| p.parse().ok()).collect()
    };
    numbers(found) < numbers(min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_manifest_is_valid_and_covers_all_variants() {
        let manifest = manifest::parse(OWN).expect("valid");
        let own: Vec<&str> = manifest.cell.iter().map(|c| c.id.as_str()).collect();
        for workload in crate::arena::cells::workload::WORKLOADS {
            for variant in workload.variants {
                let id = format!("{}/{}", workload.id, variant.id);
                // With NATS tidings is there by a peer of its own.
                assert!(own.contains(&id.as_str()) || id == "net/cluster", "{id}");
            }
        }
    }

    #[test]
    fn versions_compare_by_number() {
        assert!(is_older("1.9", "1.19"));
        assert!(!is_older("1.26.8", "1.19"));
        assert!(!is_older("17", "17"));
    }
}
