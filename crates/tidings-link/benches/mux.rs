//! Many callers over one connection: what a link carries beside a bare loop of tokio's.
//!
//! `cargo bench -p tidings-link --bench mux [-- CALLERS SECONDS BYTES]`: 1000 callers, 2 seconds, 32
//! bytes if nothing is said. Each of the two servers is a process of its own, over TCP on this machine;
//! the passes alternate. `-- memory` runs both ends in this process over a pipe, for callgrind.
//!
//! tokio's loop is the least that does this: a request is `u32 length | u32 id | bytes`, callers wait
//! at a oneshot each, one task writes what has gathered, one reads; there is no schema, no credit, no
//! mailbox.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tidings::actor;
use tidings::remote::Bytes;
use tidings_link::{Exports, Link, Listener, Options, link, memory};
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
        Some("serve-tidings") => serve_tidings(),
        Some("serve-tokio") => serve_tokio(),
        Some("memory") => in_memory(number(1, 1000), number(2, 100)),
        _ => compare(number(0, 1000), number(1, 2), number(2, 32) as usize),
    }
}

fn compare(callers: u64, seconds: u64, bytes: usize) {
    println!("{callers} callers, {bytes} bytes, one connection, two processes: requests a second");
    let time = Duration::from_secs(seconds);
    let mut sums = [0.0; 2];
    const PASSES: u32 = 3;
    for pass in 1..=PASSES {
        let ours = with_server("serve-tidings", |at| {
            tidings_client(at, callers, time, bytes)
        });
        let theirs = with_server("serve-tokio", |at| tokio_client(at, callers, time, bytes));
        println!(
            "pass {pass}: tidings {ours:9.0}   tokio's loop {theirs:9.0}   ratio {:.2}",
            ours / theirs
        );
        sums[0] += ours;
        sums[1] += theirs;
    }
    println!("all:    ratio {:.2}", sums[0] / sums[1]);
}

struct Reaped(Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn with_server(kind: &str, f: impl FnOnce(String) -> f64) -> f64 {
    let this = std::env::current_exe().unwrap();
    let child = Command::new(this)
        .arg(kind)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut child = Reaped(child);
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    f(line.trim().to_owned())
}

fn serve_tidings() {
    tidings::Runtime::new().unwrap().block_on(async {
        let mirror: EchoRef = actor::start(Mirror);
        let options = Options::new("server").exports(Exports::new().add("echo", &mirror));
        let server = Listener::bind("tcp://127.0.0.1:0", options)
            .await
            .unwrap()
            .serve();
        println!("{}", server.address());
        std::future::pending::<()>().await;
    });
}

fn tidings_client(at: String, callers: u64, time: Duration, bytes: usize) -> f64 {
    tidings::Runtime::new().unwrap().block_on(async move {
        let link = Link::connect(&at).await.unwrap();
        let echo: EchoRef = link.get("echo").await.unwrap();
        let (stop, count) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let mut all = tidings::JoinSet::new();
        for caller in 0..callers {
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

/// Both ends here: so many callers, so many calls each.
fn in_memory(callers: u64, calls: u64) {
    let begin = Instant::now();
    tidings::Runtime::builder()
        .workers(1)
        .build()
        .unwrap()
        .block_on(async {
            let (ours, theirs) = memory::pipe();
            let mirror: EchoRef = actor::start(Mirror);
            let options = Options::new("server").exports(Exports::new().add("echo", &mirror));
            let (_server, driver) = link(ours, options);
            drop(tidings::spawn(driver));
            let (client, driver) = link(theirs, Options::new("client"));
            drop(tidings::spawn(driver));
            let echo: EchoRef = client.get("echo").await.unwrap();
            let mut all = tidings::JoinSet::new();
            for _ in 0..callers {
                let echo = echo.clone();
                all.spawn(async move {
                    for _ in 0..calls {
                        echo.echo(Bytes(vec![7; 32])).await.unwrap();
                    }
                });
            }
            while all.join_next().await.is_some() {}
            println!("{:?}", client.stats().await.unwrap());
        });
    let took = begin.elapsed();
    println!(
        "{} calls in {took:?}: {:?} each",
        callers * calls,
        took / (callers * calls) as u32
    );
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
            filled += n;
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
                filled += n;
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
