//! What a request over a socket costs, beside tokio: for whoever changes the poller.
//!
//! An echo of 32 bytes, the same program for `tidings` (2 workers), `tokio-mt` (`multi_thread`, 2
//! workers) and `tokio-ct` (`current_thread`), in turns.
//!
//! | shape | what |
//! |---|---|
//! | `pingpong` | one connection, both ends in one runtime; the median round trip |
//! | `pingpong2` | the same, the server in a process of its own |
//! | `many N` | N connections, each with one request at a time, in one runtime; requests per second |
//! | `many2 N` | the same, the server in a process of its own |
//! | `hog` | `pingpong` while another task holds a worker for 100 ms now and then; the worst round trip |
//!
//! `cargo bench -p tidings --bench net` plays all, `-- SHAPE [N]` one, with the medians of the
//! rounds and their ratios to the better of the two tokios. `-- once SYSTEM SHAPE [N]` plays one
//! system once: what `perf` and `strace` are given.

use std::env;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener as StdListener};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Bytes of a message.
const MESSAGE: usize = 32;
/// Requests of a round, in all.
const REQUESTS: usize = 40_000;
/// Rounds of a figure.
const ROUNDS: usize = 11;
/// How long a hog takes, and how often in a round.
const HOG: Duration = Duration::from_millis(100);
const HOGS: usize = 3;

/// The program, for one system.
macro_rules! system {
    ($name:ident, $net:path, $io:path, $spawn:path, $sleep:path) => {
        mod $name {
            use super::{Duration, HOG, HOGS, Instant, MESSAGE, SocketAddr, StdListener};
            use $io::{AsyncReadExt, AsyncWriteExt};
            use $net::{TcpListener, TcpStream};
            use $sleep as sleep;
            use $spawn as spawn;

            /// Echoes, for ever.
            pub(super) async fn serve(listener: StdListener) {
                let listener = TcpListener::from_std(listener).unwrap();
                loop {
                    let (mut stream, _) = listener.accept().await.unwrap();
                    stream.set_nodelay(true).unwrap();
                    spawn(async move {
                        let mut message = [0; MESSAGE];
                        while stream.read_exact(&mut message).await.is_ok() {
                            stream.write_all(&message).await.unwrap();
                        }
                    });
                }
            }

            /// The times of `n` requests over one connection.
            async fn requests(at: SocketAddr, n: usize) -> Vec<Duration> {
                let mut stream = TcpStream::connect(at).await.unwrap();
                stream.set_nodelay(true).unwrap();
                let mut message = [7; MESSAGE];
                let mut times = Vec::with_capacity(n);
                for _ in 0..n {
                    let start = Instant::now();
                    stream.write_all(&message).await.unwrap();
                    stream.read_exact(&mut message).await.unwrap();
                    times.push(start.elapsed());
                }
                times
            }

            /// The times of all requests, and of all together.
            pub(super) async fn clients(
                at: SocketAddr,
                connections: usize,
                n: usize,
            ) -> (Vec<Duration>, Duration) {
                let start = Instant::now();
                let clients: Vec<_> = (0..connections).map(|_| spawn(requests(at, n))).collect();
                let mut times = Vec::new();
                for client in clients {
                    times.extend(client.await.unwrap());
                }
                (times, start.elapsed())
            }

            /// The times of requests beside a task that does not wait.
            pub(super) async fn hog(at: SocketAddr) -> Vec<Duration> {
                let hog = spawn(async {
                    for _ in 0..HOGS {
                        sleep(HOG / 4).await;
                        let start = Instant::now();
                        while start.elapsed() < HOG {
                            std::hint::spin_loop();
                        }
                    }
                });
                let innocent = spawn(async move {
                    let mut times = Vec::new();
                    while !hog.is_finished() {
                        times.extend(requests(at, 100).await);
                    }
                    times
                });
                innocent.await.unwrap()
            }
        }
    };
}

system!(
    ours,
    tidings::net,
    futures::io,
    tidings::spawn,
    tidings::time::sleep
);
system!(
    tokios,
    tokio::net,
    tokio::io,
    tokio::spawn,
    tokio::time::sleep
);

const SYSTEMS: [&str; 3] = ["tidings", "tokio-mt", "tokio-ct"];

#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
enum Runtime {
    Ours(tidings::Runtime),
    Tokio(tokio::runtime::Runtime),
}

impl Runtime {
    fn new(system: &str) -> Self {
        let tokio = |mut builder: tokio::runtime::Builder| {
            Self::Tokio(builder.enable_all().build().unwrap())
        };
        match system {
            "tidings" => Self::Ours(tidings::Runtime::builder().workers(2).build().unwrap()),
            "tokio-mt" => {
                let mut builder = tokio::runtime::Builder::new_multi_thread();
                builder.worker_threads(2);
                tokio(builder)
            }
            "tokio-ct" => tokio(tokio::runtime::Builder::new_current_thread()),
            other => panic!("there is no system {other:?}"),
        }
    }

    fn serve(&self, listener: StdListener) {
        match self {
            Self::Ours(rt) => drop(rt.spawn(ours::serve(listener))),
            Self::Tokio(rt) => drop(rt.spawn(tokios::serve(listener))),
        }
    }

    /// As a task: `block_on` is another thread.
    fn clients(&self, at: SocketAddr, connections: usize, n: usize) -> (Vec<Duration>, Duration) {
        match self {
            Self::Ours(rt) => rt
                .block_on(rt.spawn(ours::clients(at, connections, n)))
                .unwrap(),
            Self::Tokio(rt) => rt
                .block_on(rt.spawn(tokios::clients(at, connections, n)))
                .unwrap(),
        }
    }

    fn hog(&self, at: SocketAddr) -> Vec<Duration> {
        match self {
            Self::Ours(rt) => rt.block_on(rt.spawn(ours::hog(at))).unwrap(),
            Self::Tokio(rt) => rt.block_on(rt.spawn(tokios::hog(at))).unwrap(),
        }
    }
}

/// A server in a process of its own.
struct Server(Child, SocketAddr);

impl Server {
    fn start(system: &str) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["serve", system])
            .stdout(Stdio::piped())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        Self(child, line.trim().parse().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn listen() -> (StdListener, SocketAddr) {
    let listener = StdListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let at = listener.local_addr().unwrap();
    (listener, at)
}

/// The child: serves until its parent has gone.
fn serve(system: &str) {
    let (listener, at) = listen();
    println!("{at}");
    let rt = Runtime::new(system);
    let parent = std::thread::spawn(|| std::io::stdin().read_line(&mut String::new()));
    match &rt {
        // Nobody drives this runtime but who is inside of it.
        Runtime::Tokio(tokio) if system == "tokio-ct" => {
            std::thread::spawn(move || {
                let _ = parent.join();
                std::process::exit(0);
            });
            tokio.block_on(tokios::serve(listener));
        }
        _ => {
            rt.serve(listener);
            let _ = parent.join();
        }
    }
}

#[derive(Clone, Copy)]
struct Shape {
    name: &'static str,
    connections: usize,
    unit: &'static str,
}

const SHAPES: [Shape; 7] = [
    Shape {
        name: "pingpong",
        connections: 1,
        unit: "us",
    },
    Shape {
        name: "pingpong2",
        connections: 1,
        unit: "us",
    },
    Shape {
        name: "many",
        connections: 64,
        unit: "requests/s",
    },
    Shape {
        name: "many",
        connections: 1000,
        unit: "requests/s",
    },
    Shape {
        name: "many2",
        connections: 64,
        unit: "requests/s",
    },
    Shape {
        name: "many2",
        connections: 1000,
        unit: "requests/s",
    },
    Shape {
        name: "hog",
        connections: 1,
        unit: "us, the worst",
    },
];

/// One round: its figure in the unit of the shape.
fn play(shape: Shape, system: &str) -> f64 {
    let rt = Runtime::new(system);
    let server;
    let at = if shape.name.ends_with('2') {
        server = Server::start(system);
        server.1
    } else {
        let (listener, at) = listen();
        rt.serve(listener);
        at
    };
    if shape.name == "hog" {
        let worst = rt.hog(at).into_iter().max().unwrap();
        return worst.as_secs_f64() * 1e6;
    }
    // Once for nothing, so that pages and ports are there.
    rt.clients(at, shape.connections, 10);
    let n = REQUESTS / shape.connections;
    let (mut times, whole) = rt.clients(at, shape.connections, n);
    times.sort_unstable();
    if shape.connections == 1 {
        times[n / 2].as_secs_f64() * 1e6
    } else {
        times.len() as f64 / whole.as_secs_f64()
    }
}

fn median(figures: &mut [f64]) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn table(shape: Shape) {
    let mut figures = SYSTEMS.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for (system, figures) in SYSTEMS.iter().zip(&mut figures) {
            figures.push(play(shape, system));
        }
    }
    let medians = figures.each_mut().map(|figures| median(figures));
    let less_is_better = shape.unit.starts_with("us");
    let best = if less_is_better {
        medians[1].min(medians[2])
    } else {
        medians[1].max(medians[2])
    };
    println!("{} {} ({})", shape.name, shape.connections, shape.unit);
    for (system, (median, figures)) in SYSTEMS.iter().zip(medians.iter().zip(&figures)) {
        let (low, high) = (figures[ROUNDS / 4], figures[ROUNDS - 1 - ROUNDS / 4]);
        println!(
            "  {system:9} {median:10.1}  {low:10.1} .. {high:<10.1}  {:.2}",
            median / best
        );
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).filter(|a| a != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let chosen = |name: &str, connections: Option<&&str>| {
        let number = connections.map(|n| n.parse::<usize>().unwrap());
        let of_name: Vec<Shape> = SHAPES.iter().copied().filter(|s| s.name == name).collect();
        assert!(!of_name.is_empty(), "there is no shape {name:?}");
        match number {
            Some(connections) => vec![Shape {
                connections,
                ..of_name[0]
            }],
            None => of_name,
        }
    };
    match words[..] {
        ["serve", system] => serve(system),
        ["once", system, name, ref rest @ ..] => {
            for shape in chosen(name, rest.first()) {
                println!("{:.1} {}", play(shape, system), shape.unit);
            }
        }
        [] => SHAPES.into_iter().for_each(table),
        [name, ref rest @ ..] => chosen(name, rest.first()).into_iter().for_each(table),
    }
    ExitCode::SUCCESS
}
