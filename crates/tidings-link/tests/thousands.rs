//! Ten thousand links over sockets, most of the time idle: what they take at each end, and that they
//! work afterwards. A process of its own, so that its memory is this test's; and another, so that each end's is.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tidings::{JoinSet, Runtime, actor};
use tidings_link::{Connector, Exports, Limits, Link, Listener, Options};

/// In the environment of the process that is the server.
const SERVER: &str = "TIDINGS_TEST_THOUSANDS";
/// How many take how many KiB at most, at each end.
const LINKS: u64 = 10_000;
const KIB: u64 = 300 << 10;
/// Files beside the sockets.
const OTHERS: u64 = 200;
/// No more at a time than a server lets in.
const AT_ONCE: usize = 60;

#[tidings::interface(remote)]
trait Sum {
    /// Says what it was.
    async fn add(&mut self, n: u64) -> u64;
}

#[derive(Default)]
struct Total(u64);

impl Sum for Total {
    async fn add(&mut self, n: u64) -> u64 {
        let before = self.0;
        self.0 += n;
        before
    }
}

/// A machine that does ten other things may be slow with so many: no link is to end for that, and no words that
/// are asked for all the time are to make it slower.
fn limits() -> Limits {
    let patience = Duration::from_secs(300);
    Limits {
        handshake: patience,
        silence: patience,
        stall: patience,
        idle: patience,
        ..Limits::default()
    }
}

/// Kibibytes of a process in memory.
fn resident(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    kib.parse().unwrap()
}

/// Whether this process, and those that it starts, may have so many files open.
fn may_open(files: u64) -> bool {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= files) {
        return true;
    }
    let raised = Rlimit {
        current: Some(files),
        maximum: limit.maximum,
    };
    limit.maximum.is_none_or(|most| most >= files) && setrlimit(Resource::Nofile, raised).is_ok()
}

/// The server's process. It does something only there.
#[test]
fn the_server_serves() {
    if std::env::var_os(SERVER).is_none() {
        return;
    }
    Runtime::new().unwrap().block_on(async {
        let sum: SumRef = actor::start(Total::default());
        let options = Options::new("server").exports(Exports::new().add("sum", &sum));
        let listener = Listener::bind("tcp://127.0.0.1:0", options.limits(limits()));
        let listener = listener.await.unwrap();
        println!("address {}", listener.address());
        let server = listener.links(usize::MAX).serve();
        loop {
            drop(server.next().await);
        }
    });
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn server() -> (Server, String) {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["the_server_serves", "--exact", "--nocapture"])
        .env(SERVER, "1")
        .stdout(Stdio::piped())
        .spawn();
    let mut server = Server(child.unwrap());
    // The pipe stays open: libtest says of a test that it takes a minute, and ends where nobody can hear it.
    let lines = BufReader::new(server.0.stdout.as_mut().unwrap()).lines();
    let address = lines
        .map_while(Result::ok)
        .find_map(|line| Some(line.split_once("address ")?.1.to_owned()));
    (server, address.expect("it listens"))
}

/// Adds 1 over each link; what it was is heard once each.
async fn each_adds_one(links: &[(Link, SumRef)], before: u64) {
    let mut heard: Vec<u64> = Vec::new();
    let mut adding = JoinSet::new();
    for (_, sum) in links {
        let sum = sum.clone();
        adding.spawn(async move { sum.add(1).await.unwrap() });
    }
    while let Some(was) = adding.join_next().await {
        heard.push(was.unwrap());
    }
    heard.sort_unstable();
    assert!(heard.into_iter().eq(before..before + links.len() as u64));
}

#[test]
fn ten_thousand_idle_links_over_sockets_take_300_mb_and_work_afterwards() {
    if !may_open(LINKS + OTHERS) {
        // Not `eprintln`: what a test that passes says that way is not seen.
        let most = getrlimit(Resource::Nofile).maximum;
        let told = format!("SKIPPED: {LINKS} links over sockets: files open at most {most:?}\n");
        std::io::stderr().write_all(told.as_bytes()).unwrap();
        return;
    }
    let (server, address) = server();
    let there = server.0.id().to_string();
    let before = [resident("self"), resident(&there)];
    Runtime::new().unwrap().block_on(async {
        let connector = Connector::new(&address).unwrap();
        let connector = connector.options(Options::new("client").limits(limits()));
        let connector = Arc::new(connector);
        let (mut linking, mut links) = (JoinSet::new(), Vec::new());
        for _ in 0..LINKS {
            let connector = Arc::clone(&connector);
            linking.spawn(async move {
                let link = connector.connect().await.unwrap();
                let sum: SumRef = link.get("sum").await.unwrap();
                (link, sum)
            });
            while linking.len() >= AT_ONCE {
                links.extend(linking.join_next().await.unwrap());
            }
        }
        while let Some(linked) = linking.join_next().await {
            links.push(linked.unwrap());
        }
        each_adds_one(&links, 0).await;
        let after = [resident("self"), resident(&there)];
        let [here, there] = [after[0] - before[0], after[1] - before[1]];
        println!("{LINKS} links: {here} KiB here, {there} KiB there");
        assert!(
            here < KIB && there < KIB,
            "{here} KiB here, {there} KiB there"
        );
        let down = links.iter().filter(|(link, _)| link.exit().is_some());
        assert_eq!(down.count(), 0, "all are up");
        each_adds_one(&links, LINKS).await;
        // Half of them go, and the others do not notice.
        links.truncate(links.len() / 2);
        each_adds_one(&links, 2 * LINKS).await;
    });
}
