//! A nats-server of its own, at a port that the system chose. It ends with this process, also when that is killed.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use peer_protocol::Fault;

pub(crate) struct NatsServer {
    // Where its standard input ends, so does nats-server.
    keeper: Child,
    folder: PathBuf,
    pub(crate) addr: SocketAddr,
}

impl NatsServer {
    pub(crate) fn start() -> Result<Self, Fault> {
        let program = std::env::var_os("TIDINGS_NATS_SERVER")
            .ok_or_else(|| Fault::bug("TIDINGS_NATS_SERVER does not say where nats-server is"))?;
        let folder = std::env::temp_dir().join(format!("peer-nats-{}", std::process::id()));
        let mut keeper = Command::new("sh")
            .args(["-c", "\"$@\" & read -r _; kill $!", "sh"])
            .arg(program)
            .args(["-a", "127.0.0.1", "-p", "-1", "-js", "-sd"])
            .arg(&folder)
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let log = BufReader::new(keeper.stderr.take().expect("piped"));
        let mut lines = log.lines().map_while(Result::ok);
        let mut addr = None;
        for line in lines.by_ref() {
            if let Some((_, at)) = line.split_once("Listening for client connections on ") {
                addr = Some(at.trim().parse()?);
            }
            if line.contains("Server is ready") {
                break;
            }
        }
        // It must not be held up by what it writes.
        std::thread::spawn(move || lines.for_each(drop));
        let Some(addr) = addr else {
            return Err(Fault::bug("nats-server does not say where it listens"));
        };
        Ok(Self {
            keeper,
            folder,
            addr,
        })
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
