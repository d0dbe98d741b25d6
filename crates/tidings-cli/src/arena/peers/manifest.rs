//! `peer.toml`: how a peer is found, built and started, and which cells it says it can run.
//!
//! ```toml
//! [peer]
//! id = "go"                                  # the folder's name
//! systems = ["go", "go-reused-timer"]        # one process serves one of them
//! lang = "Go"
//! auto_build = true                          # default false: a first `arena run` may build it (no download)
//! spare = ["go-reused-timer"]                # optional: left out of a quick run first when time is short
//! shared = ["../shared/java"]                # optional: folders beside the peer's that its build needs, too
//! blocked = "why"                            # optional: cannot run on this kind of machine; needs no [run] and no [[build]]
//! [version]                                  # optional: a command that tells the toolchain's version
//! cmd = ["go", "version"]
//! regex = 'go(\S+)'                          # group 1 is the version
//! min = "1.19"                               # optional
//! [[needs]]                                  # any number: must start and exit with 0
//! cmd = ["go", "version"]
//! apt = ["golang-go"]                        # Debian packages that bring it: `setup --yes` installs them as root
//! fix = "apt-get install golang-go"          # optional with apt: printed, never run
//! [[build]]                                  # any number, in order; run in the peer's folder
//! cmd = ["go", "build", "-o", "{out}/peer-go", "."]
//! outputs = ["peer-go"]                      # must exist below {out} afterwards
//! [run]
//! cmd = ["{out}/peer-go"]                    # the harness appends: --arena 1 --system <system>
//! env = { GOMAXPROCS = "{threads}" }
//! [[cell]]                                   # one or more
//! id = "pingpong/tell"                       # workload/variant of WORKLOADS.md, or workload/original:<name>
//! systems = ["go"]                           # default: every system of the peer
//! labels = { mailbox = "bounded", reply = "carried" }
//! origin = "ext"                             # "own", "ext", "seed:000" .. "seed:004", "original"
//! max = { S = 1000000 }                      # optional: larger sizes are not asked of this peer
//! min_threads = 1                            # optional
//! blocked = "why"                            # optional: this cell cannot run
//! ```
//!
//! Placeholders: `{out}` the build's own cache folder, `{src}` the peer's folder, `{threads}` the thread count of the
//! launch (in `run` only), `{heap_mb}` three quarters of the peer's memory cap in MiB (in `run` only), `{self}` this binary. Unknown fields are errors.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use serde::Deserialize;

use crate::arena::cells::workload;

/// A whole `peer.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    pub(crate) peer: Peer,
    pub(crate) version: Option<Version>,
    #[serde(default)]
    pub(crate) needs: Vec<Need>,
    #[serde(default)]
    pub(crate) build: Vec<Build>,
    #[serde(default)]
    pub(crate) run: Run,
    pub(crate) cell: Vec<Cell>,
}

/// Who the peer is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Peer {
    pub(crate) id: String,
    pub(crate) systems: Vec<String>,
    pub(crate) lang: String,
    #[serde(default)]
    pub(crate) auto_build: bool,
    /// Systems that a quick run leaves out first when time is short, the last one first.
    #[serde(default)]
    pub(crate) spare: Vec<String>,
    /// Folders with sources that several peers are built from, as paths from the peer's folder.
    #[serde(default)]
    pub(crate) shared: Vec<String>,
    /// Why it cannot run on this kind of machine: its cells are listed and never started.
    pub(crate) blocked: Option<String>,
}

impl Peer {
    /// Whether its runtime compiles while it runs, so that it is slow at first.
    pub(crate) fn is_jit(&self) -> bool {
        const LANGUAGES: &[&str] = &["Java", "Kotlin", "Scala", "JavaScript", "C#", "F#"];
        LANGUAGES.contains(&self.lang.as_str())
    }
}

/// How the toolchain's version is learnt.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Version {
    pub(crate) cmd: Vec<String>,
    pub(crate) regex: String,
    pub(crate) min: Option<String>,
}

/// A program that must be there.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Need {
    pub(crate) cmd: Vec<String>,
    /// Debian packages that bring it.
    #[serde(default)]
    pub(crate) apt: Vec<String>,
    /// What brings it otherwise; told, never run.
    #[serde(default)]
    pub(crate) fix: String,
}

/// One build step.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Build {
    pub(crate) cmd: Vec<String>,
    #[serde(default)]
    pub(crate) outputs: Vec<String>,
}

/// How the peer is started. Empty for a blocked one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    #[serde(default)]
    pub(crate) cmd: Vec<String>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
}

/// One cell, or the same cell of several systems.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cell {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) systems: Vec<String>,
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, Label>,
    #[serde(default = "extension")]
    pub(crate) origin: String,
    #[serde(default)]
    pub(crate) max: BTreeMap<String, i64>,
    pub(crate) min_threads: Option<u32>,
    /// Why this cell cannot run.
    pub(crate) blocked: Option<String>,
}

fn extension() -> String {
    "ext".to_owned()
}

/// A label's value: TOML lets an author write `window = 1000` without quotes.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Label {
    Text(String),
    Number(i64),
    Flag(bool),
}

impl Label {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Flag(flag) => flag.to_string(),
        }
    }
}

impl Manifest {
    /// Why a cell cannot run: its own reason goes before the peer's.
    pub(crate) fn why_blocked<'a>(&'a self, cell: &'a Cell) -> Option<&'a str> {
        let reason = cell.blocked.as_ref().or(self.peer.blocked.as_ref());
        reason.map(String::as_str)
    }
}

/// Reads and checks a manifest. The error names what is wrong, without the file's path.
pub(crate) fn parse(text: &str) -> Result<Manifest, String> {
    let mut manifest: Manifest = toml::from_str(text).map_err(|e| e.to_string())?;
    check(&mut manifest)?;
    Ok(manifest)
}

fn check(manifest: &mut Manifest) -> Result<(), String> {
    let peer = &manifest.peer;
    if !is_name(&peer.id) {
        return Err(format!(
            "[peer] id {:?}: use lower-case letters, digits and '-'",
            peer.id
        ));
    }
    if peer.systems.is_empty() {
        return Err("[peer] systems is empty".to_owned());
    }
    if let Some(bad) = peer.spare.iter().find(|s| !peer.systems.contains(s)) {
        return Err(format!("[peer] spare: {bad:?} is not in [peer] systems"));
    }
    if let Some(bad) = peer.systems.iter().find(|s| !is_name(s)) {
        return Err(format!(
            "[peer] systems: {bad:?}: use lower-case letters, digits and '-'"
        ));
    }
    if let Some(bad) = peer.shared.iter().find(|path| !leads_beside(path)) {
        return Err(format!(
            "[peer] shared: {bad:?} must lead from the peer's folder to one beside it, as \"../shared/java\" does"
        ));
    }
    if peer.blocked.as_ref().is_some_and(String::is_empty) {
        return Err("[peer] blocked: say why".to_owned());
    }
    for need in &mut manifest.needs {
        if need.fix.is_empty() {
            if need.apt.is_empty() {
                return Err("[[needs]] has neither apt nor fix".to_owned());
            }
            need.fix = format!("apt-get install {}", need.apt.join(" "));
        }
    }
    let start = [("[run] cmd", &manifest.run.cmd)];
    let commands = start
        .into_iter()
        .filter(|_| peer.blocked.is_none())
        .chain(manifest.version.iter().map(|v| ("[version] cmd", &v.cmd)))
        .chain(manifest.needs.iter().map(|n| ("[[needs]] cmd", &n.cmd)))
        .chain(manifest.build.iter().map(|b| ("[[build]] cmd", &b.cmd)));
    for (name, command) in commands {
        if command.first().is_none_or(String::is_empty) {
            return Err(format!("{name} is empty"));
        }
    }
    if let Some(version) = &manifest.version {
        regex_lite::Regex::new(&version.regex).map_err(|e| format!("[version] regex: {e}"))?;
    }
    if manifest.cell.is_empty() {
        return Err("no [[cell]]".to_owned());
    }
    let mut seen = std::collections::BTreeSet::new();
    for cell in &mut manifest.cell {
        workload::parse_cell_id(&cell.id).map_err(|e| format!("[[cell]] id {:?}: {e}", cell.id))?;
        if cell.systems.is_empty() {
            cell.systems.clone_from(&manifest.peer.systems);
        }
        for system in &cell.systems {
            if !manifest.peer.systems.contains(system) {
                return Err(format!(
                    "[[cell]] {}: system {system:?} is not in [peer] systems",
                    cell.id
                ));
            }
            if !seen.insert((cell.id.clone(), system.clone())) {
                return Err(format!("[[cell]] {} of {system} stands twice", cell.id));
            }
        }
    }
    Ok(())
}

/// Whether a path goes up once, and then only down.
fn leads_beside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    let up = parts.next() == Some(Component::ParentDir);
    let mut down = parts.peekable();
    up && down.peek().is_some() && down.all(|part| matches!(part, Component::Normal(_)))
}

/// Whether a text may be the id of a peer or a system.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b))
}

/// What the placeholders of a command stand for.
#[derive(Debug, Default)]
pub(crate) struct Places<'a> {
    pub(crate) out: &'a str,
    pub(crate) src: &'a str,
    pub(crate) threads: Option<u32>,
    pub(crate) heap_mb: Option<u64>,
    pub(crate) this: &'a str,
}

impl Places<'_> {
    /// Fills the placeholders of one word.
    pub(crate) fn fill(&self, word: &str) -> String {
        let word = word
            .replace("{out}", self.out)
            .replace("{src}", self.src)
            .replace("{self}", self.this);
        let word = match self.threads {
            Some(threads) => word.replace("{threads}", &threads.to_string()),
            None => word,
        };
        match self.heap_mb {
            Some(heap) => word.replace("{heap_mb}", &heap.to_string()),
            None => word,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GO: &str = r#"
        [peer]
        id = "go"
        systems = ["go", "go-reused-timer"]
        lang = "Go"
        auto_build = true
        spare = ["go-reused-timer"]
        [version]
        cmd = ["go", "version"]
        regex = 'go(\S+)'
        min = "1.19"
        [[needs]]
        cmd = ["go", "version"]
        apt = ["golang-go"]
        [[build]]
        cmd = ["go", "build", "-o", "{out}/peer-go", "."]
        outputs = ["peer-go"]
        [run]
        cmd = ["{out}/peer-go"]
        env = { GOMAXPROCS = "{threads}" }
        [[cell]]
        id = "pingpong/tell"
        systems = ["go"]
        labels = { mailbox = "bounded", window = 1 }
        origin = "ext"
        max = { n = 1000000 }
        min_threads = 1
        [[cell]]
        id = "skynet/original:go"
    "#;

    #[test]
    fn the_documented_example_is_accepted() {
        let manifest = parse(GO).expect("parses");
        assert_eq!(manifest.cell[0].systems, ["go"]);
        assert_eq!(manifest.cell[0].labels["window"].text(), "1");
        assert_eq!(manifest.cell[1].systems, ["go", "go-reused-timer"]);
        let places = Places {
            out: "/o",
            threads: Some(2),
            heap_mb: Some(96),
            ..Places::default()
        };
        assert_eq!(manifest.needs[0].fix, "apt-get install golang-go");
        assert_eq!(places.fill(&manifest.run.cmd[0]), "/o/peer-go");
        assert_eq!(places.fill("-Xmx{heap_mb}m"), "-Xmx96m");
        assert_eq!(places.fill(&manifest.run.env["GOMAXPROCS"]), "2");
    }

    #[test]
    fn a_blocked_peer_needs_no_command() {
        let text = |blocked: &str| {
            format!(
                "[peer]\nid='x'\nsystems=['x']\nlang='F#'\n{blocked}\n[[cell]]\nid='fan/obj'\n\
                 [[cell]]\nid='fan/struct'\nblocked='retired'\n"
            )
        };
        let manifest = parse(&text("blocked='no SDK'")).expect("valid");
        let reasons = manifest.cell.iter().map(|c| manifest.why_blocked(c));
        assert_eq!(
            reasons.collect::<Vec<_>>(),
            [Some("no SDK"), Some("retired")]
        );
        assert!(parse(&text("")).is_err_and(|e| e.contains("[run] cmd is empty")));
        assert!(parse(&text("blocked=''")).is_err_and(|e| e.contains("say why")));
    }

    #[test]
    fn shared_folders_stand_beside_the_peer() {
        let with = |path: &str| {
            parse(&GO.replacen(
                "lang =",
                &format!("shared = [\"../go-lib\", {path:?}]\nlang ="),
                1,
            ))
        };
        let manifest = with("../shared/go").expect("beside");
        assert_eq!(manifest.peer.shared, ["../go-lib", "../shared/go"]);
        let outside = [
            "",
            ".",
            "..",
            "../",
            "src",
            "./src",
            "/etc",
            "../../etc",
            "../x/../../etc",
            "../..",
        ];
        for path in outside {
            let error = with(path).expect_err(path);
            let named = format!("[peer] shared: {path:?} must lead");
            assert!(error.contains(&named), "{path}: {error}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let cases = [
            ("origin = \"ext\"", "orign = \"ext\"", "orign"),
            ("pingpong/tell", "pingpong/tall", "tall"),
            ("pingpong/tell", "pong/tell", "pong"),
            ("systems = [\"go\"]", "systems = [\"gone\"]", "gone"),
            (
                "cmd = [\"{out}/peer-go\"]",
                "cmd = []",
                "[run] cmd is empty",
            ),
            ("skynet/original:go", "pingpong/tell", "stands twice"),
            ("apt = [\"golang-go\"]", "apt = []", "neither apt nor fix"),
            ("go(\\S+)", "go(", "regex"),
            ("id = \"go\"", "id = \"Go 1\"", "[peer] id"),
            (
                "lang = \"Go\"",
                "lang = \"Go\"\nshared = \"../go\"",
                "shared",
            ),
        ];
        for (from, to, names) in cases {
            let error = parse(&GO.replacen(from, to, 1)).expect_err(to);
            assert!(error.contains(names), "{to}: {error}");
        }
    }
}
