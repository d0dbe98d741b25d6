//! A place for one test: folders of its own, fake peers, and a way to call the binary.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Folders that belong to one test.
pub(crate) struct Stage {
    pub(crate) root: PathBuf,
}

/// What a call of the binary came to.
pub(crate) struct Called {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The fake peer: an example of this package, which `cargo test` builds.
pub(crate) fn fake_peer() -> PathBuf {
    let folder = Path::new(env!("CARGO_BIN_EXE_tidings"))
        .parent()
        .expect("a folder");
    let path = folder.join("examples/fake_peer");
    assert!(
        path.is_file(),
        "build it: cargo build -p tidings-cli --example fake_peer"
    );
    path
}

/// Where Go keeps what it compiled for this user. By default that is below `XDG_CACHE_HOME`, and in the empty folder of a
/// stage it would compile its standard library anew for each test.
fn go_cache() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let home = || variable("HOME").map(|home| home.join(".cache"));
    let below = || variable("XDG_CACHE_HOME").or_else(home);
    variable("GOCACHE").or_else(|| Some(below()?.join("go-build")))
}

impl Stage {
    pub(crate) fn new(name: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("peers")).expect("made");
        Self { root }
    }

    /// Adds a fake peer that serves one system of the same name.
    pub(crate) fn peer(&self, name: &str, mode: &str, cells: &[&str]) -> &Self {
        self.peer_with(name, &["--mode", mode], cells)
    }

    /// The same with any arguments of the fake peer.
    pub(crate) fn peer_with(&self, name: &str, args: &[&str], cells: &[&str]) -> &Self {
        let cells: String = cells
            .iter()
            .map(|c| format!("[[cell]]\nid = \"{c}\"\nlabels = {{ kind = \"fake\" }}\n"))
            .collect();
        let fake = fake_peer();
        let args: String = args.iter().map(|arg| format!(", {arg:?}")).collect();
        self.manifest(
            name,
            &format!(
                "[peer]\nid = \"{name}\"\nsystems = [\"{name}\"]\nlang = \"Rust\"\n[run]\ncmd = [{fake:?}{args}]\n{cells}"
            ),
        )
    }

    pub(crate) fn manifest(&self, name: &str, text: &str) -> &Self {
        let folder = self.root.join("peers").join(name);
        fs::create_dir_all(&folder).expect("made");
        fs::write(folder.join("peer.toml"), text).expect("written");
        self
    }

    /// The binary, ready to be called in this stage.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
        command
            .arg("arena")
            .args(args)
            .env("XDG_DATA_HOME", self.root.join("data"))
            .env("XDG_CACHE_HOME", self.root.join("cache"))
            .envs(go_cache().map(|folder| ("GOCACHE", folder)))
            .env_remove("NO_COLOR")
            .env_remove("COLUMNS");
        command
    }

    /// Calls a subcommand with the peers of this stage.
    pub(crate) fn call(&self, args: &[&str]) -> Called {
        let peers = self.root.join("peers");
        let peers = peers.to_str().expect("a name in UTF-8");
        Called::from(
            self.command(&[args, &["--peers", peers]].concat())
                .output()
                .expect("started"),
        )
    }

    /// The saved runs, oldest first.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        let folder = self.root.join("data/tidings/arena/runs");
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut list: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        list.sort();
        list
    }

    /// Waits until there is a run whose samples hold `text`.
    pub(crate) fn wait_for(&self, text: &str) {
        let deadline = Instant::now() + Duration::from_secs(60);
        let is_there = |run: &PathBuf| {
            fs::read_to_string(run.join("samples.ndjson")).is_ok_and(|all| all.contains(text))
        };
        while !self.runs().iter().any(is_there) {
            assert!(Instant::now() < deadline, "no sample with {text}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The folder of the only saved run.
    pub(crate) fn saved(&self) -> PathBuf {
        let list = self.runs();
        assert_eq!(list.len(), 1, "{list:?}");
        list[0].clone()
    }
}

impl From<Output> for Called {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }
}

impl Called {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("{e}\n{}\n{}", self.stdout, self.stderr))
    }
}

/// The record of a system's only cell.
pub(crate) fn cell<'a>(run: &'a Value, system: &str) -> &'a Value {
    let cells = run["cells"].as_array().expect("cells");
    cells
        .iter()
        .find(|c| c["system"] == system)
        .unwrap_or_else(|| panic!("no {system}"))
}
