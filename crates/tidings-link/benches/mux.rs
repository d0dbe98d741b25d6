//! Many callers over one connection: what a link carries beside a bare loop of tokio's.
//!
//! `cargo bench -p tidings-link --bench mux [-- CALLERS SECONDS BYTES ACTORS]`: 1000 callers, 2 seconds, 32
//! bytes if nothing is said, and one actor that all call; 1000 at most. Each of the two servers is a process of its
//! own, over TCP on this machine; the passes alternate. With `WORKERS=1` in the environment tidings has so many at
//! each end.
//!
//! | `--` | what |
//! |---|---|
//! | `alone` | the round trip of a caller that is alone, beside a bare echo of tokio's |
//! | `tls` | the same 1000 callers over a link with mutual TLS, beside one without |
//! | `links N` | what N idle links take at each end, 10,000 if nothing is said: `ulimit -n` must allow it |
//! | `memory CALLERS CALLS ACTORS LINKS` | both ends in this process over a pipe, for callgrind; callers share an actor and a link if nothing is said |
//!
//! tokio's loop is the least that does this: a request is `u32 length | u32 id | bytes`, callers wait
//! at a oneshot each, one task writes what has gathered, one reads; there is no schema, no credit, no
//! mailbox.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tidings::actor;
use tidings::remote::Bytes;
use tidings_link::{Connector, Exports, Limits, Link, Listener, Options, Tls, link, memory};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

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

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let number = |place: usize, usual: u64| {
        let given = arguments.get(place).and_then(|text| text.parse().ok());
        given.unwrap_or(usual)
    };
    match arguments.first().map(String::as_str) {
        Some("serve-tidings") => serve_tidings("tcp://127.0.0.1:0"),
        Some("serve-tls") => serve_tidings("tls://127.0.0.1:0"),
        Some("serve-tokio") => serve_tokio(),
        Some("alone") => alone(number(1, 32) as usize),
        Some("tls") => tls(number(1, 1000), number(2, 2), number(3, 32) as usize),
        Some("links") => links(number(1, 10_000)),
        Some("memory") => in_memory(number(1, 1000), number(2, 100), number(3, 1), number(4, 1)),
        _ => compare(
            number(0, 1000),
            number(1, 2),
            number(2, 32) as usize,
            number(3, 1),
        ),
    }
}

const PASSES: u32 = 3;

fn compare(callers: u64, seconds: u64, bytes: usize, actors: u64) {
    println!(
        "{callers} callers of {actors} actors, {bytes} bytes, one connection, two processes: requests a second"
    );
    let time = Duration::from_secs(seconds);
    alternate(
        ["tidings", "tokio's loop"],
        || {
            with_server("serve-tidings", |at| {
                tidings_client(at, callers, time, bytes, actors)
            })
        },
        || with_server("serve-tokio", |at| tokio_client(at, callers, time, bytes)),
    );
}

/// Figures of two by turns, and the ratio of their sums.
fn alternate(names: [&str; 2], first: impl Fn() -> f64, second: impl Fn() -> f64) {
    let mut sums = [0.0; 2];
    for pass in 1..=PASSES {
        let figures = [first(), second()];
        println!(
            "pass {pass}: {} {:9.1}   {} {:9.1}   ratio {:.2}",
            names[0],
            figures[0],
            names[1],
            figures[1],
            figures[0] / figures[1]
        );
        sums[0] += figures[0];
        sums[1] += figures[1];
    }
    println!("all:    ratio {:.2}", sums[0] / sums[1]);
}

fn tls(callers: u64, seconds: u64, bytes: usize) {
    println!("{callers} callers, {bytes} bytes, one link, two processes: requests a second");
    let time = Duration::from_secs(seconds);
    let passes = |kind| with_server(kind, |at| tidings_client(at, callers, time, bytes, 1));
    alternate(
        ["TLS", "plain"],
        || passes("serve-tls"),
        || passes("serve-tidings"),
    );
}

/// Round trips that are timed, one by one.
const TRIPS: usize = 20_000;

fn alone(bytes: usize) {
    println!("one caller, {bytes} bytes, two processes: the median round trip in microseconds");
    let median = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e6
    };
    let ours = |at: String| {
        runtime().block_on(async move {
            let link = connect(&at).await;
            let echo: EchoRef = link.get("echo0").await.unwrap();
            // As a task: this is another thread.
            let trips = tidings::spawn(async move {
                let sent = Bytes(vec![7; bytes]);
                let mut times = Vec::with_capacity(TRIPS);
                for _ in 0..TRIPS {
                    let begin = Instant::now();
                    assert_eq!(echo.echo(sent.clone()).await.unwrap(), sent);
                    times.push(begin.elapsed());
                }
                times
            });
            median(trips.await.unwrap())
        })
    };
    let theirs = |at: String| {
        on_tokio(async move {
            let trips = tokio::spawn(async move {
                let mut stream = tokio::net::TcpStream::connect(at).await.unwrap();
                stream.set_nodelay(true).unwrap();
                let mut frame = vec![7; 4 + bytes];
                frame[..4].copy_from_slice(&(bytes as u32).to_le_bytes());
                let mut times = Vec::with_capacity(TRIPS);
                for _ in 0..TRIPS {
                    let begin = Instant::now();
                    stream.write_all(&frame).await.unwrap();
                    stream.read_exact(&mut frame).await.unwrap();
                    times.push(begin.elapsed());
                }
                times
            });
            median(trips.await.unwrap())
        })
    };
    alternate(
        ["tidings", "tokio's echo"],
        || with_server("serve-tidings", ours),
        || with_server("serve-tokio", theirs),
    );
}

/// Idle links, each of which has carried a call.
fn links(n: u64) {
    let resident = |process: &str| {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kib: u64 = line
            .unwrap()
            .split_whitespace()
            .nth(1)
            .unwrap()
            .parse()
            .unwrap();
        kib as f64 / 1024.0
    };
    let kept = with_server_process("serve-tidings", |at, server| {
        runtime().block_on(async {
            let before = [resident("self"), resident(&server.to_string())];
            let mut all = tidings::JoinSet::new();
            let mut kept = Vec::new();
            for _ in 0..n {
                let at = at.clone();
                all.spawn(async move {
                    let link = connect(&at).await;
                    let echo: EchoRef = link.get("echo0").await.unwrap();
                    echo.echo(Bytes(vec![7; 32])).await.unwrap();
                    (link, echo)
                });
                // No more at a time than a server lets in.
                while all.len() >= 64 {
                    kept.extend(all.join_next().await.unwrap());
                }
            }
            while let Some(link) = all.join_next().await {
                kept.push(link.unwrap());
            }
            for moment in ["at once", "after two heartbeats"] {
                let after = [resident("self"), resident(&server.to_string())];
                let [client, server] = [after[0] - before[0], after[1] - before[1]];
                println!("{n} links {moment}: {client:.1} MiB here, {server:.1} MiB at the server");
                tidings::after(2 * HEARTBEAT + HEARTBEAT / 2).await;
            }
            let ended = kept.iter().filter(|(link, _)| link.exit().is_some());
            assert_eq!(ended.count(), 0, "all are still up");
            kept.len()
        })
    });
    println!("{kept} links were up");
}

struct Reaped(Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn with_server<R>(kind: &str, f: impl FnOnce(String) -> R) -> R {
    with_server_process(kind, |at, _| f(at))
}

/// Where the pair of processes finds the texts of its certificates.
const PEM: [&str; 3] = [
    "TIDINGS_MUX_AUTHORITY",
    "TIDINGS_MUX_CERTIFICATE",
    "TIDINGS_MUX_KEY",
];

fn with_server_process<R>(kind: &str, f: impl FnOnce(String, u32) -> R) -> R {
    let this = std::env::current_exe().unwrap();
    let child = Command::new(this)
        .arg(kind)
        .envs(PEM.into_iter().zip(certificates()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut child = Reaped(child);
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let process = child.0.id();
    f(line.trim().to_owned(), process)
}

/// An authority, and a certificate for both ends with its key: made once in a process.
fn certificates() -> &'static [String; 3] {
    static MADE: OnceLock<[String; 3]> = OnceLock::new();
    MADE.get_or_init(|| {
        if let [Ok(authority), Ok(certificate), Ok(key)] = PEM.map(std::env::var) {
            return [authority, certificate, key];
        }
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["bench".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &authority).unwrap();
        [authority.pem(), certificate.pem(), key.serialize_pem()]
    })
}

fn identity() -> Tls {
    static IDENTITY: OnceLock<Tls> = OnceLock::new();
    let made = IDENTITY.get_or_init(|| {
        let [authority, certificate, key] = certificates().each_ref().map(|text| text.as_bytes());
        Tls::from_pem(authority, certificate, key).unwrap()
    });
    made.clone()
}

/// So that an idle link is one soon.
const HEARTBEAT: Duration = Duration::from_secs(2);

fn options() -> Options {
    let limits = Limits {
        idle: HEARTBEAT,
        ..Limits::default()
    };
    Options::new("bench").limits(limits)
}

/// An identity goes with such an address, and with no other.
fn is_tls(at: &str) -> bool {
    at.starts_with("tls:")
}

/// How many actors a server has.
const ACTORS: u64 = 1000;

/// So many actors, each by its number.
fn mirrors(n: u64) -> Exports {
    (0..n).fold(Exports::new(), |exports, n| {
        let mirror: EchoRef = actor::start(Mirror);
        exports.add(format!("echo{n}"), &mirror)
    })
}

/// References to the first `n` of them.
async fn echoes(link: &Link, n: u64) -> Vec<EchoRef> {
    let mut all = Vec::new();
    for n in 0..n {
        all.push(link.get(&format!("echo{n}")).await.unwrap());
    }
    all
}

fn runtime() -> tidings::Runtime {
    let workers = std::env::var("WORKERS").ok();
    let builder = tidings::Runtime::builder();
    let builder = match workers.and_then(|n| n.parse().ok()) {
        Some(workers) => builder.workers(workers),
        None => builder,
    };
    builder.build().unwrap()
}

fn serve_tidings(at: &str) {
    runtime().block_on(async {
        let options = options().exports(mirrors(ACTORS));
        let server = Listener::bind(at, options).await.unwrap();
        let server = server.links(usize::MAX);
        let server = if is_tls(at) {
            server.tls(identity())
        } else {
            server
        };
        let server = server.serve();
        println!("{}", server.address());
        std::future::pending::<()>().await;
    });
}

async fn connect(at: &str) -> Link {
    let connector = Connector::new(at).unwrap().options(options());
    let connector = if is_tls(at) {
        connector.node("bench").tls(identity())
    } else {
        connector
    };
    connector.connect().await.unwrap()
}

fn tidings_client(at: String, callers: u64, time: Duration, bytes: usize, actors: u64) -> f64 {
    runtime().block_on(async move {
        let link = connect(&at).await;
        let echoes = echoes(&link, actors).await;
        let (stop, count) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let mut all = tidings::JoinSet::new();
        for (caller, echo) in (0..callers).zip(echoes.iter().cycle()) {
            let (echo, stop, count) = (echo.clone(), Arc::clone(&stop), Arc::clone(&count));
            all.spawn(async move {
                let sent = Bytes(vec![caller as u8; bytes]);
                let mut n = 0;
                while !stop.load(Ordering::Relaxed) {
                    assert_eq!(echo.echo(sent.clone()).await.unwrap(), sent);
                    n += 1;
                }
                count.fetch_add(n, Ordering::Relaxed);
            });
        }
        let begin = Instant::now();
        tidings::after(time).await;
        stop.store(true, Ordering::Relaxed);
        let took = begin.elapsed();
        while all.join_next().await.is_some() {}
        count.load(Ordering::Relaxed) as f64 / took.as_secs_f64()
    })
}

/// Both ends here: so many callers, so many calls each, which go round so many actors of each of so many links.
fn in_memory(callers: u64, calls: u64, actors: u64, links: u64) {
    tidings::Runtime::builder()
        .workers(1)
        .build()
        .unwrap()
        .block_on(async {
            let (mut ends, mut known) = (Vec::new(), Vec::new());
            for _ in 0..links {
                let (ours, theirs) = memory::pipe();
                let options = Options::new("server").exports(mirrors(actors));
                let (server, driver) = link(ours, options);
                drop(tidings::spawn(driver));
                let (client, driver) = link(theirs, Options::new("client"));
                drop(tidings::spawn(driver));
                known.extend(echoes(&client, actors).await);
                ends.push((server, client));
            }
            let mut all = tidings::JoinSet::new();
            let begin = Instant::now();
            for echo in known.iter().cycle().take(callers as usize) {
                let echo = echo.clone();
                all.spawn(async move {
                    for _ in 0..calls {
                        echo.echo(Bytes(vec![7; 32])).await.unwrap();
                    }
                });
            }
            while all.join_next().await.is_some() {}
            let took = begin.elapsed();
            println!("{:?}", ends[0].1.stats().await);
            println!(
                "{} calls in {took:?}: {:?} each",
                callers * calls,
                took / (callers * calls) as u32
            );
        });
}

fn on_tokio<R>(f: impl Future<Output = R>) -> R {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(f)
}

fn serve_tokio() {
    on_tokio(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("{}", listener.local_addr().unwrap());
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (mut input, mut filled) = (vec![0; 128 << 10], 0);
        // Echoes whole frames, many at a time.
        while let Ok(n @ 1..) = stream.read(&mut input[filled..]).await {
            filled = grown(&mut input, filled + n);
            let mut whole = 0;
            while let Some(length) = input[whole..filled].first_chunk::<4>() {
                let end = whole + 4 + u32::from_le_bytes(*length) as usize;
                if end > filled {
                    break;
                }
                whole = end;
            }
            stream.write_all(&input[..whole]).await.unwrap();
            input.copy_within(whole..filled, 0);
            filled -= whole;
        }
    });
}

/// Room for more where a frame takes all: `filled`, as it was.
fn grown(input: &mut Vec<u8>, filled: usize) -> usize {
    if filled == input.len() {
        input.resize(2 * filled, 0);
    }
    filled
}

/// Who waits for what id.
type Waiting = Arc<Mutex<Vec<Option<tokio::sync::oneshot::Sender<Vec<u8>>>>>>;

fn tokio_client(at: String, callers: u64, time: Duration, bytes: usize) -> f64 {
    on_tokio(async move {
        let stream = tokio::net::TcpStream::connect(at).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (mut reads, mut writes) = stream.into_split();
        let waiting: Waiting = Arc::new(Mutex::new((0..callers).map(|_| None).collect()));
        let (requests, mut queue) = tokio::sync::mpsc::unbounded_channel::<(u32, Vec<u8>)>();
        tokio::spawn(async move {
            let (mut batch, mut out) = (Vec::new(), Vec::new());
            while queue.recv_many(&mut batch, 1024).await > 0 {
                for (id, body) in batch.drain(..) {
                    out.extend_from_slice(&(4 + body.len() as u32).to_le_bytes());
                    out.extend_from_slice(&id.to_le_bytes());
                    out.extend_from_slice(&body);
                }
                writes.write_all(&out).await.unwrap();
                out.clear();
            }
        });
        let answers = Arc::clone(&waiting);
        tokio::spawn(async move {
            let (mut input, mut filled) = (vec![0; 128 << 10], 0);
            while let Ok(n @ 1..) = reads.read(&mut input[filled..]).await {
                filled = grown(&mut input, filled + n);
                let mut rest = &input[..filled];
                while let Some((length, after)) = rest.split_first_chunk::<4>() {
                    let Some((frame, after)) =
                        after.split_at_checked(u32::from_le_bytes(*length) as usize)
                    else {
                        break;
                    };
                    let (id, body) = frame.split_first_chunk::<4>().unwrap();
                    let id = u32::from_le_bytes(*id) as usize;
                    let caller = answers.lock().unwrap()[id].take().unwrap();
                    let _ = caller.send(body.to_vec());
                    rest = after;
                }
                let left = rest.len();
                input.copy_within(filled - left..filled, 0);
                filled = left;
            }
        });
        let (stop, count) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let mut all = tokio::task::JoinSet::new();
        for caller in 0..callers {
            let (requests, waiting) = (requests.clone(), Arc::clone(&waiting));
            let (stop, count) = (Arc::clone(&stop), Arc::clone(&count));
            all.spawn(async move {
                let sent = vec![caller as u8; bytes];
                let mut n = 0;
                while !stop.load(Ordering::Relaxed) {
                    let (to, answer) = tokio::sync::oneshot::channel();
                    waiting.lock().unwrap()[caller as usize] = Some(to);
                    requests.send((caller as u32, sent.clone())).unwrap();
                    assert_eq!(answer.await.unwrap(), sent);
                    n += 1;
                }
                count.fetch_add(n, Ordering::Relaxed);
            });
        }
        let begin = Instant::now();
        tokio::time::sleep(time).await;
        stop.store(true, Ordering::Relaxed);
        let took = begin.elapsed();
        while all.join_next().await.is_some() {}
        count.load(Ordering::Relaxed) as f64 / took.as_secs_f64()
    })
}
