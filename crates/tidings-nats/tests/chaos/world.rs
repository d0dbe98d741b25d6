//! The processes, and what they have said: lines about the cluster, and requests.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::member::{LEADER, WORKERS, own_name};
use crate::network::{Failure, address, on, signal};
use crate::servers::{SERVERS, Server, urls};

pub(crate) const NODES: [&str; 3] = ["one", "two", "three"];
/// The node that is reached through NATS; the others listen.
pub(crate) const ROUTED: &str = "three";
pub(crate) const CLIENT: &str = "client";

/// What a process has said.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) at: Instant,
    pub(crate) from: &'static str,
    pub(crate) words: Vec<String>,
}

/// How a request has ended.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) number: u64,
    pub(crate) outcome: String,
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) life: String,
}

#[derive(Default)]
pub(crate) struct Said {
    pub(crate) lines: Vec<Line>,
    pub(crate) requests: Vec<Request>,
}

impl Said {
    fn note(&mut self, from: &'static str, line: &str) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        if let [kind, number, outcome, begin, end, life] = words.as_slice()
            && kind == "end"
        {
            let micros = |text: &str| text.parse().expect("a number");
            if outcome != "answered" {
                let (at, words) = (Instant::now(), words.clone());
                self.lines.push(Line { at, from, words });
            }
            self.requests.push(Request {
                number: micros(number),
                outcome: outcome.clone(),
                begin: micros(begin),
                end: micros(end),
                life: life.clone(),
            });
            return;
        }
        let at = Instant::now();
        self.lines.push(Line { at, from, words });
    }

    /// The last line of a process that begins with these words.
    fn last(&self, from: &str, words: &[&str]) -> Option<&Line> {
        let is_it =
            |line: &&Line| line.from == from && line.words.iter().zip(words).all(|(a, b)| a == b);
        self.lines.iter().rev().find(is_it)
    }

    /// Which life of a node was the last to join.
    pub(crate) fn life(&self, node: &str) -> Option<String> {
        Some(self.last(node, &["joined"])?.words[1].clone())
    }

    /// When the members began to see all the same: these nodes, the others not, and one leader.
    /// `Err`: they do not; who sees what.
    fn converged(&self, living: &[&str]) -> Result<Instant, String> {
        let life = |node: &str| match living.contains(&node) {
            true => self.life(node).unwrap_or_default(),
            false => "-".to_owned(),
        };
        let mut workers: Vec<String> = living.iter().map(|node| life(node)).collect();
        workers.sort_unstable();
        let mut expected: Vec<(String, String)> = NODES
            .iter()
            .map(|node| (own_name(node), life(node)))
            .collect();
        expected.push((WORKERS.to_owned(), workers.join(",")));
        let first = living.first().ok_or("nobody lives")?;
        let leader = self
            .last(first, &["sees", LEADER])
            .map(|line| line.words[2].clone());
        let leader = leader.filter(|life| workers.contains(life));
        expected.push((LEADER.to_owned(), leader.unwrap_or("a member".to_owned())));
        let mut since = self.lines.first().ok_or("nothing was said")?.at;
        for observer in living.iter().copied().chain([CLIENT]) {
            if self
                .last(observer, &["connected", "true"])
                .map(|line| line.at)
                < self.last(observer, &["connected"]).map(|line| line.at)
            {
                return Err(format!("{observer} does not hear NATS"));
            }
            for (name, lives) in &expected {
                match self.last(observer, &["sees", name]) {
                    Some(line) if line.words[2] == *lives => since = since.max(line.at),
                    other => {
                        let seen = other.map_or("nothing", |line| &line.words[2]);
                        return Err(format!("{observer} sees {seen} as {name}, not {lives}"));
                    }
                }
            }
        }
        Ok(since)
    }
}

/// What was said, as it comes.
#[derive(Clone, Default)]
struct Log(Arc<(Mutex<Said>, Condvar)>);

impl Log {
    fn lock(&self) -> MutexGuard<'_, Said> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, from: &'static str, output: impl std::io::Read + Send + 'static) {
        let log = self.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                log.lock().note(from, &line);
                log.0.1.notify_all();
            }
        });
    }
}

struct Process {
    child: Child,
    input: ChildStdin,
}

impl Process {
    fn start(name: &'static str, command: &mut Command, log: &Log) -> Result<Self, Failure> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|error| format!("{name}: {error}"))?;
        log.hear(name, child.stdout.take().expect("it is piped"));
        let input = child.stdin.take().expect("it is piped");
        Ok(Self { child, input })
    }

    fn say(&mut self, command: &str) -> Result<(), Failure> {
        writeln!(self.input, "{command}").map_err(|error| error.to_string())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All that runs.
pub(crate) struct World {
    log: Log,
    folder: PathBuf,
    servers: Vec<Server>,
    nodes: BTreeMap<&'static str, Process>,
    client: Process,
    /// So many requests have ended.
    asked: u64,
}

impl World {
    /// Starts the servers and the client, and no node yet.
    pub(crate) fn start(folder: &Path) -> Result<Self, Failure> {
        let servers = SERVERS.into_iter().map(|name| Server::start(name, folder));
        let servers = servers.collect::<Result<Vec<_>, _>>()?;
        crate::servers::ready(Duration::from_secs(60))?;
        let log = Log::default();
        let this = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut client = on(CLIENT, &this);
        let client = Process::start(CLIENT, client.args(["client", &urls()]), &log)?;
        Ok(Self {
            log,
            folder: folder.to_owned(),
            servers,
            nodes: BTreeMap::new(),
            client,
            asked: 0,
        })
    }

    pub(crate) fn said(&self) -> MutexGuard<'_, Said> {
        self.log.lock()
    }

    /// Waits until there is something in what was said.
    pub(crate) fn wait<R>(
        &self,
        limit: Duration,
        find: impl Fn(&Said) -> Result<R, String>,
    ) -> Result<R, Failure> {
        let until = Instant::now() + limit;
        let mut said = self.log.lock();
        loop {
            let why = match find(&said) {
                Ok(found) => return Ok(found),
                Err(why) => why,
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(format!("not within {limit:?}: {why}"));
            }
            let left = left.min(Duration::from_millis(100));
            let woken = self.log.0.1.wait_timeout(said, left);
            said = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until all see the same, and tells since when.
    pub(crate) fn converge(&self, living: &[&str], limit: Duration) -> Result<Instant, Failure> {
        self.wait(limit, |said| said.converged(living))
    }

    pub(crate) fn life(&self, node: &str) -> String {
        self.said().life(node).unwrap_or_default()
    }

    /// Starts a node.
    pub(crate) fn start_node(&mut self, node: &'static str) -> Result<(), Failure> {
        let this = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = on(node, &this);
        command.args(["node", node, &urls()]).arg(self.ledger(node));
        if node != ROUTED {
            command.arg(format!("tcp://{}:0", address(node)));
        }
        let started = Process::start(node, &mut command, &self.log)?;
        self.nodes.insert(node, started);
        Ok(())
    }

    pub(crate) fn runs(&self, node: &str) -> bool {
        self.nodes.contains_key(node)
    }

    pub(crate) fn kill_node(&mut self, node: &str) {
        self.nodes.remove(node);
    }

    /// Asks a node to leave, and waits until its process has ended.
    pub(crate) fn leave(&mut self, node: &str, limit: Duration) -> Result<(), Failure> {
        let mut process = self.nodes.remove(node).ok_or("it does not run")?;
        process.say("leave")?;
        let until = Instant::now() + limit;
        loop {
            match process
                .child
                .try_wait()
                .map_err(|error| error.to_string())?
            {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("{node} left with {status}")),
                None if Instant::now() > until => return Err(format!("{node} does not leave")),
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    pub(crate) fn signal(&self, node: &str, name: &str) -> Result<(), Failure> {
        signal(name, self.nodes[node].child.id())
    }

    pub(crate) fn kill_server(&mut self, name: &str) {
        self.servers.retain(|server| server.name() != name);
    }

    /// Starts the servers that do not run.
    pub(crate) fn start_servers(&mut self) -> Result<(), Failure> {
        for name in SERVERS {
            if !self.servers.iter().any(|server| server.name() == name) {
                self.servers.push(Server::start(name, &self.folder)?);
            }
        }
        crate::servers::ready(Duration::from_secs(60))
    }

    pub(crate) fn asked(&self) -> u64 {
        self.asked
    }

    /// Starts the load.
    pub(crate) fn go(&mut self) -> Result<(), Failure> {
        self.client.say("go")
    }

    /// Ends the load, and waits until every request has ended. How many there were in all.
    pub(crate) fn pause(&mut self, limit: Duration) -> Result<u64, Failure> {
        let since = Instant::now();
        self.client.say("pause")?;
        self.asked = self.wait(limit, |said| {
            let paused = said
                .last(CLIENT, &["paused"])
                .filter(|line| line.at > since);
            let paused = paused.ok_or("requests have not ended")?;
            paused.words[1].parse().map_err(|_| "no number".to_owned())
        })?;
        Ok(self.asked)
    }

    pub(crate) fn ledger(&self, node: &str) -> PathBuf {
        self.folder.join(format!("{node}.ledger"))
    }

    /// Keeps what was said about the cluster, and of requests that were not answered.
    pub(crate) fn keep(&self, began: Instant) {
        let mut text = String::new();
        for line in &self.said().lines {
            let at = line.at.saturating_duration_since(began).as_secs_f64();
            let _ = writeln!(text, "{at:8.3} {:<7} {}", line.from, line.words.join(" "));
        }
        let _ = std::fs::write(self.folder.join("said.txt"), text);
    }
}
