//! nats-servers for tests: processes of their own, which end with the test.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The program: `cargo x nats` installs it. `None`, with a line that says so, if it is not there; CI
/// sets `TIDINGS_NEED_NATS`: there it must be.
fn program() -> Option<PathBuf> {
    let at = std::env::var_os("TIDINGS_NATS_SERVER").map_or_else(
        || {
            let target = std::env::var_os("CARGO_TARGET_DIR");
            let target = target.map_or_else(
                || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
                PathBuf::from,
            );
            target.join("tools/nats/nats-server")
        },
        PathBuf::from,
    );
    if at.exists() {
        return Some(at);
    }
    assert!(
        std::env::var_os("TIDINGS_NEED_NATS").is_none(),
        "there is no nats-server at {}, and TIDINGS_NEED_NATS is set",
        at.display()
    );
    eprintln!("skipped: there is no nats-server; `cargo x nats` installs it");
    None
}

/// A nats-server with JetStream, at a free port of this machine.
pub(crate) struct NatsServer {
    process: Child,
    program: PathBuf,
    port: u16,
    folder: PathBuf,
    arguments: Vec<String>,
}

impl NatsServer {
    /// `None`: it is not on this machine.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    pub(crate) fn start_without_jetstream() -> Option<Self> {
        Self::start_with(&["-js=false"])
    }

    /// With these arguments beside those that it always has.
    pub(crate) fn start_with(arguments: &[&str]) -> Option<Self> {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let program = program()?;
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("tidings-nats-{}-{number}", std::process::id()));
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let (process, port) = spawn(&program, &folder, None, &arguments);
        Some(Self {
            process,
            program,
            port,
            folder,
            arguments,
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Ends it, as by `kill -9`.
    pub(crate) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Starts it anew, after a kill, at the same port.
    pub(crate) fn restart(&mut self) {
        self.process = spawn(
            &self.program,
            &self.folder,
            Some(self.port),
            &self.arguments,
        )
        .0;
    }
}

/// Starts it, and waits until it says that it is ready.
fn spawn(program: &Path, folder: &Path, port: Option<u16>, arguments: &[String]) -> (Child, u16) {
    let port = port.map_or("-1".to_owned(), |port| port.to_string());
    let mut process = Command::new(program)
        .args(["-a", "127.0.0.1", "-p", &port, "-js", "-sd"])
        .arg(folder)
        .args(arguments)
        .stderr(Stdio::piped())
        .spawn()
        .expect("nats-server starts");
    let log = BufReader::new(process.stderr.take().expect("it is piped"));
    let mut lines = log.lines().map_while(Result::ok);
    let mut port = None;
    for line in lines.by_ref() {
        if let Some((_, at)) = line.split_once("Listening for client connections on ") {
            let at = at.rsplit_once(':').expect("host and port").1;
            port = Some(at.parse().expect("a port"));
        }
        if line.contains("Server is ready") {
            break;
        }
    }
    // It must not be held up by what it writes.
    std::thread::spawn(move || lines.for_each(drop));
    (process, port.expect("it says where it listens"))
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
