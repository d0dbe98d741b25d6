//! What a cluster on NATS costs: `cargo bench -p tidings-nats [-- routed | direct | lookup]`, with
//! nats-server (`cargo x nats`).
//!
//! | `--` | what | bar |
//! |---|---|---|
//! | `routed [CALLERS [SECONDS [BYTES]]]` | requests through NATS, beside a bare program on async-nats: an actor found by its name, and a subscription that answers | 0.8 |
//! | `direct [CALLERS [SECONDS [BYTES]]]` | the same actor over the direct link that the lookup made, beside a link of `tidings-link` alone | 1 |
//! | `lookup` | a name that was found before | 1 µs |
//!
//! Servers are processes of their own, all on this machine; the two that are compared take turns.
//! Callers each wait for an answer before they ask again. Without a number of callers, 1, 16, 64 and
//! 256 of them; 1 second a turn, and 32 bytes.

#[allow(dead_code, reason = "tests also kill and restart it")]
#[path = "../tests/it/server.rs"]
mod server;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use tidings::actor;
use tidings::remote::Bytes;
use tidings_link::{Connector, Exports, Listener};
use tidings_nats::{Cluster, Options};

use crate::server::NatsServer;

#[tidings::interface(remote)]
trait Echo {
    async fn echo(&self, bytes: Bytes) -> Bytes;
}

struct Mirror;

impl Echo for Mirror {
    async fn echo(&self, bytes: Bytes) -> Bytes {
        bytes
    }
}

const PASSES: usize = 5;

/// Where the bare program listens, and the actor's name.
const NAME: &str = "echo";

/// What a turn is: so many callers, for so long, with so many bytes.
#[derive(Clone, Copy)]
struct Load {
    callers: usize,
    time: Duration,
    bytes: usize,
}

/// What came of a turn.
struct Figures {
    rate: f64,
    /// The median and the 99th percentile, in microseconds.
    p50: f64,
    p99: f64,
}

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["serve-cluster", url, listen @ ..] => serve_cluster(url, listen.first()),
        ["serve-link"] => serve_link(),
        ["serve-bare", url] => serve_bare(url),
        ["routed", numbers @ ..] => routed(numbers),
        ["direct", numbers @ ..] => direct(numbers),
        ["lookup"] => lookup(),
        _ => {
            routed(&[]);
            direct(&[]);
            lookup();
        }
    }
}

fn loads(numbers: &[&str]) -> Vec<Load> {
    let number = |place: usize| numbers.get(place).and_then(|text| text.parse().ok());
    let callers = number(0).map_or(vec![1, 16, 64, 256], |callers| vec![callers]);
    let load = |callers| Load {
        callers,
        time: Duration::from_secs(number(1).unwrap_or(1) as u64),
        bytes: number(2).unwrap_or(32),
    };
    callers.into_iter().map(load).collect()
}

fn nats() -> NatsServer {
    NatsServer::start().expect("nats-server is there")
}

fn routed(numbers: &[&str]) {
    let server = nats();
    let url = server.url();
    let ours = Serving::start(&["serve-cluster", &url]);
    let theirs = Serving::start(&["serve-bare", &url]);
    for load in loads(numbers) {
        compare(
            load,
            ["routed", "bare async-nats"],
            || in_cluster(&url, load),
            || bare(&url, load),
        );
    }
    drop((ours, theirs));
}

fn direct(numbers: &[&str]) {
    let server = nats();
    let url = server.url();
    let ours = Serving::start(&["serve-cluster", &url, "tcp://127.0.0.1:0"]);
    let theirs = Serving::start(&["serve-link"]);
    for load in loads(numbers) {
        compare(
            load,
            ["direct", "tidings-link"],
            || in_cluster(&url, load),
            || linked(&theirs.said, load),
        );
    }
    drop(ours);
}

/// Turns of two, and what lies between them: the median of the turns' ratios.
fn compare(load: Load, names: [&str; 2], ours: impl Fn() -> Figures, theirs: impl Fn() -> Figures) {
    let Load { callers, bytes, .. } = load;
    let mut turns: Vec<[Figures; 2]> = (0..PASSES).map(|_| [ours(), theirs()]).collect();
    let middle = |mut all: Vec<f64>| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    println!("{callers} callers, {bytes} bytes:");
    for (place, name) in names.into_iter().enumerate() {
        let of = |f: fn(&Figures) -> f64| middle(turns.iter().map(|t| f(&t[place])).collect());
        let (rate, p50, p99) = (of(|f| f.rate), of(|f| f.p50), of(|f| f.p99));
        println!("  {name:<16} {rate:9.0}/s   p50 {p50:7.0} us   p99 {p99:7.0} us");
    }
    let ratios: Vec<f64> = { turns.drain(..) }
        .map(|[ours, theirs]| ours.rate / theirs.rate)
        .collect();
    let each: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
    println!("  ratio {:.2}, of {}", middle(ratios), each.join(" "));
}

/// What all callers have measured, in a turn that began then.
fn figures(began: Instant, mut all: Vec<u32>) -> Figures {
    let took = began.elapsed().as_secs_f64();
    all.sort_unstable();
    let at = |share: f64| f64::from(all[((all.len() - 1) as f64 * share) as usize]) / 1e3;
    Figures {
        rate: all.len() as f64 / took,
        p50: at(0.5),
        p99: at(0.99),
    }
}

/// A caller: asks until the time is over, and gives how long each request took, in nanoseconds.
async fn caller<F: Future<Output = bool>>(stop: Arc<AtomicBool>, ask: impl Fn() -> F) -> Vec<u32> {
    let mut times = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let begin = Instant::now();
        assert!(ask().await, "what was sent comes back");
        times.push(u32::try_from(begin.elapsed().as_nanos()).unwrap_or(u32::MAX));
    }
    times
}

async fn call(echo: &EchoRef, load: Load) -> Figures {
    let stop = Arc::new(AtomicBool::new(false));
    let mut all = tidings::JoinSet::new();
    let began = Instant::now();
    for _ in 0..load.callers {
        let (echo, stop) = (echo.clone(), Arc::clone(&stop));
        all.spawn(async move {
            let sent = Bytes(vec![7; load.bytes]);
            caller(stop, || async {
                echo.echo(sent.clone()).await.unwrap() == sent
            })
            .await
        });
    }
    tidings::after(load.time).await;
    stop.store(true, Ordering::Relaxed);
    let mut times = Vec::new();
    while let Some(some) = all.join_next().await {
        times.extend(some.unwrap());
    }
    figures(began, times)
}

fn in_cluster(url: &str, load: Load) -> Figures {
    tidings::Runtime::new().unwrap().block_on(async {
        let cluster = Cluster::join(url, Options::new("bench", "client"))
            .await
            .unwrap();
        let echo: EchoRef = cluster.lookup(NAME).await.unwrap();
        let figures = call(&echo, load).await;
        cluster.leave(Duration::from_secs(1)).await;
        figures
    })
}

fn linked(at: &str, load: Load) -> Figures {
    tidings::Runtime::new().unwrap().block_on(async {
        let options = tidings_link::Options::new("client");
        let connector = Connector::new(at).unwrap().options(options);
        let link = connector.connect().await.unwrap();
        let echo: EchoRef = link.get(NAME).await.unwrap();
        call(&echo, load).await
    })
}

fn bare(url: &str, load: Load) -> Figures {
    on_tokio(async {
        let client = async_nats::connect(url).await.unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let began = Instant::now();
        let callers: Vec<_> = (0..load.callers)
            .map(|_| {
                let (client, stop) = (client.clone(), Arc::clone(&stop));
                tokio::spawn(async move {
                    let sent = bytes::Bytes::from(vec![7; load.bytes]);
                    let ask = || async {
                        client.request(NAME, sent.clone()).await.unwrap().payload == sent
                    };
                    caller(stop, ask).await
                })
            })
            .collect();
        tokio::time::sleep(load.time).await;
        stop.store(true, Ordering::Relaxed);
        let mut times = Vec::new();
        for caller in callers {
            times.extend(caller.await.unwrap());
        }
        figures(began, times)
    })
}

/// A name that was found before, in a loop.
fn lookup() {
    const TIMES: u32 = 1_000_000;
    let server = nats();
    let url = server.url();
    let serving = Serving::start(&["serve-cluster", &url]);
    tidings::Runtime::new().unwrap().block_on(async move {
        let cluster = Cluster::join(&url, Options::new("bench", "client"))
            .await
            .unwrap();
        let first: EchoRef = cluster.lookup(NAME).await.unwrap();
        // As a task: this is another thread.
        let looked = tidings::spawn(async move {
            let mut best = Duration::MAX;
            for _ in 0..PASSES {
                let begin = Instant::now();
                for _ in 0..TIMES {
                    let found: EchoRef = cluster.lookup(NAME).await.unwrap();
                    assert!(found == first);
                }
                best = best.min(begin.elapsed());
            }
            best
        });
        let nanos = looked.await.unwrap().as_secs_f64() * 1e9 / f64::from(TIMES);
        println!("a lookup of a name that was found before: {nanos:.0} ns");
    });
    drop(serving);
}

/// A server, a process of its own.
struct Serving {
    process: Child,
    said: String,
}

impl Serving {
    /// Starts it, and waits until it says a line.
    fn start(arguments: &[&str]) -> Self {
        let this = std::env::current_exe().unwrap();
        let mut process = Command::new(this)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let output = process.stdout.take().expect("it is piped");
        BufReader::new(output).read_line(&mut said).unwrap();
        let said = said.trim().to_owned();
        Self { process, said }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn serve_cluster(url: &str, listen: Option<&&str>) {
    tidings::Runtime::new().unwrap().block_on(async {
        let mut options = Options::new("bench", "server");
        if let Some(listen) = listen {
            options = options.listen(*listen);
        }
        let cluster = Cluster::join(url, options).await.unwrap();
        let mirror: EchoRef = actor::start(Mirror);
        let _name = cluster.register(NAME, &mirror).await.unwrap();
        println!("ready");
        std::future::pending::<()>().await;
    });
}

fn serve_link() {
    tidings::Runtime::new().unwrap().block_on(async {
        let mirror: EchoRef = actor::start(Mirror);
        let exports = Exports::new().add(NAME, &mirror);
        let options = tidings_link::Options::new("server").exports(exports);
        let listener = Listener::bind("tcp://127.0.0.1:0", options).await.unwrap();
        let server = listener.serve();
        println!("{}", server.address());
        std::future::pending::<()>().await;
    });
}

fn serve_bare(url: &str) {
    on_tokio(async {
        let client = async_nats::connect(url).await.unwrap();
        let mut asked = client.subscribe(NAME).await.unwrap();
        client.flush().await.unwrap();
        println!("ready");
        while let Some(message) = asked.next().await {
            let reply = message.reply.expect("it is a request");
            client.publish(reply, message.payload).await.unwrap();
        }
    });
}

fn on_tokio<R>(work: impl Future<Output = R>) -> R {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.enable_all().build().unwrap().block_on(work)
}
