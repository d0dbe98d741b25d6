//! Three nats-servers with JetStream, one cluster, and who of them leads.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::network::{Failure, address, on};

pub(crate) const SERVERS: [&str; 3] = ["s1", "s2", "s3"];

/// All of them, as clients are told.
pub(crate) fn urls() -> String {
    SERVERS
        .map(|server| format!("nats://{}:4222", address(server)))
        .join(",")
}

fn program() -> Result<PathBuf, Failure> {
    let given = std::env::var_os("TIDINGS_NATS_SERVER").map(PathBuf::from);
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
        PathBuf::from,
    );
    let program = given.unwrap_or_else(|| target.join("tools/nats/nats-server"));
    match program.exists() {
        true => Ok(program),
        false => Err(format!(
            "no nats-server at {}: `cargo x nats` installs it",
            program.display()
        )),
    }
}

pub(crate) struct Server {
    name: &'static str,
    process: Child,
}

impl Server {
    pub(crate) fn start(name: &'static str, folder: &Path) -> Result<Self, Failure> {
        let here = address(name);
        let others = SERVERS.iter().filter(|other| **other != name);
        let routes: Vec<String> = others
            .map(|other| format!("nats://{}:6222", address(other)))
            .collect();
        let log = folder.join(format!("{name}.log"));
        let log = std::fs::File::options().create(true).append(true).open(log);
        let log = log.map_err(|error| error.to_string())?;
        let process = on(name, &program()?)
            .args([
                "-a", &here, "-p", "4222", "-m", "8222", "-n", name, "-js", "-sd",
            ])
            .arg(folder.join(name))
            .args([
                "--cluster_name",
                "chaos",
                "--cluster",
                &format!("nats://{here}:6222"),
            ])
            .args(["--routes", &routes.join(",")])
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(|error| error.to_string())?;
        Ok(Self { name, process })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// As by `kill -9`.
    pub(crate) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits until all servers are well and agree on who leads.
pub(crate) fn ready(limit: Duration) -> Result<(), Failure> {
    let until = Instant::now() + limit;
    let well =
        |server: &&str| ask(server, "/healthz").is_some_and(|health| health["status"] == "ok");
    while !(SERVERS.iter().all(well) && meta_leader().is_some()) {
        if Instant::now() > until {
            return Err(format!("the nats-servers are not ready after {limit:?}"));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Who leads the servers, if all that answer say the same.
pub(crate) fn meta_leader() -> Option<&'static str> {
    agreed(|answer| answer["meta_cluster"]["leader"].as_str().map(str::to_owned))
}

/// Who leads the stream of the keys, if all that answer say the same.
pub(crate) fn stream_leader() -> Option<&'static str> {
    agreed(|answer| {
        let streams = answer["account_details"][0]["stream_detail"].as_array()?;
        let keys = streams
            .iter()
            .find(|stream| stream["name"] == "KV_tidings-chaos")?;
        keys["cluster"]["leader"].as_str().map(str::to_owned)
    })
}

fn agreed(leader: impl Fn(&Value) -> Option<String>) -> Option<&'static str> {
    let answers: Vec<Value> = SERVERS
        .iter()
        .filter_map(|server| ask(server, "/jsz?streams=true"))
        .collect();
    let said: Vec<String> = answers.iter().filter_map(leader).collect();
    let first = said.first()?;
    let same = said.iter().all(|other| other == first);
    SERVERS.into_iter().find(|server| same && server == first)
}

/// What a server's monitor says.
fn ask(server: &str, path: &str) -> Option<Value> {
    let at = format!("{}:8222", address(server)).parse().ok()?;
    let mut stream = TcpStream::connect_timeout(&at, Duration::from_millis(300)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
    let request = format!("GET {path} HTTP/1.0\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
}

/// The subscriptions of links through NATS: whose they are, and for what.
pub(crate) fn streams() -> Vec<String> {
    let mut all = Vec::new();
    for server in SERVERS {
        let answer = ask(server, "/connz?subs=1").unwrap_or_default();
        let connections = answer["connections"].as_array();
        for connection in connections.into_iter().flatten() {
            let subjects = connection["subscriptions_list"].as_array();
            let subjects = subjects.into_iter().flatten().filter_map(Value::as_str);
            let of = format!(
                "{server} {}:{} since {} idle {}",
                connection["ip"], connection["port"], connection["start"], connection["idle"]
            );
            let streams = subjects.filter(|subject| subject.contains(".stream."));
            all.extend(streams.map(|subject| format!("{of} {subject}")));
        }
    }
    all
}
