//! The client in `clients/python` against nodes of ours: it was written from PROTOCOL.md and the
//! vectors, so what holds here holds because the document says it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidings::actor::{self, Mailbox, Reply, Streaming};
use tidings::{Runtime, Schema};
use tidings_link::{Exports, Limits, Listener, Options, Server, Tls};

use crate::authority::Authority;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Schema)]
struct Item {
    name: String,
    price: u32,
    tags: Vec<String>,
    kind: Kind,
    code: [u8; 4],
    #[expect(
        clippy::option_option,
        reason = "both are told apart on the other side, too"
    )]
    note: Option<Option<String>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Schema)]
enum Kind {
    Tea,
    Cake,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Schema)]
enum News {
    Opened,
    Sold(Item, u32),
    Left { who: String, after: Duration },
    Both(Vec<Self>),
}

/// A value of most shapes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Schema)]
struct All {
    numbers: (u8, u16, u32, u64, u128, i8, i16, i32),
    more: (i64, i128, f32, f64, bool, char),
    map: std::collections::BTreeMap<String, Vec<News>>,
    array: [i16; 3],
    result: Result<Item, String>,
    nothing: (),
}

/// Types that stand twice in a shape.
type Swapped = ((Duration, Duration), (Kind, Kind));

/// A reply that is no last argument.
#[derive(Serialize, Deserialize, Schema)]
struct Ask {
    n: u32,
    reply: Reply<u32>,
}

/// What the program in Python is, too.
#[tidings::interface(remote)]
trait Ear {
    async fn heard(&mut self, news: News);
    async fn ask(&mut self, n: u32) -> u32;
    async fn hang(&mut self) -> u32;
}

#[tidings::interface(remote)]
trait Shop {
    async fn add(&mut self, n: i64);
    async fn sum(&self) -> i64;
    async fn nap(&mut self, millis: u64);
    async fn all(&self, all: All) -> All;
    async fn swap(&self, kinds: (Kind, Kind), from: Duration, to: Duration) -> Swapped;
    async fn bytes(&self, bytes: Vec<u8>) -> Vec<u8>;
    async fn check(&self, good: bool) -> Result<u32, String>;
    async fn join(&mut self, listener: EarRef) -> ShopRef;
    async fn is_here(&self, listener: EarRef) -> bool;
    async fn announce(&mut self, news: News) -> u32;
    async fn leave(&mut self, listener: EarRef);
    async fn ask(&mut self, listener: EarRef, n: u32) -> u32;
    async fn gives_up(&mut self, listener: EarRef) -> bool;
    async fn hang(&mut self, reply: Reply<u32>);
    async fn given_up(&self) -> usize;
    async fn drops(&mut self, reply: Reply<u32>);
    async fn later(&mut self, asks: Vec<Ask>);
    async fn large(&self, size: u32) -> Vec<u8>;
    async fn branch(&mut self) -> ShopRef;
    async fn panics(&mut self) -> ();
    async fn count(&self, to: u32) -> Streaming<u32>;
    async fn total(&self, numbers: Streaming<u32>) -> Result<u64, String>;
    /// How many streams were left by who took their items.
    async fn left(&self) -> u32;
}

#[derive(Default)]
struct Counter {
    sum: i64,
    this: Option<actor::WeakActorRef<ShopMessage>>,
    listeners: Vec<EarRef>,
    hung: Vec<Reply<u32>>,
    left: std::sync::Arc<std::sync::atomic::AtomicU32>,
}

impl Shop for Counter {
    async fn add(&mut self, n: i64) {
        self.sum += n;
    }
    async fn sum(&self) -> i64 {
        self.sum
    }
    async fn nap(&mut self, millis: u64) {
        tidings::after(Duration::from_millis(millis)).await;
    }
    async fn all(&self, all: All) -> All {
        all
    }
    async fn swap(&self, kinds: (Kind, Kind), from: Duration, to: Duration) -> Swapped {
        ((to, from), (kinds.1, kinds.0))
    }
    async fn bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }
    async fn check(&self, good: bool) -> Result<u32, String> {
        if good { Ok(1) } else { Err("no".to_owned()) }
    }
    async fn join(&mut self, listener: EarRef) -> ShopRef {
        self.listeners.push(listener);
        let this = self.this.as_ref().and_then(actor::WeakActorRef::upgrade);
        ShopRef::from(&this.expect("it is called"))
    }
    async fn is_here(&self, listener: EarRef) -> bool {
        self.listeners.contains(&listener)
    }
    async fn announce(&mut self, news: News) -> u32 {
        for listener in &self.listeners {
            listener.heard(news.clone()).await.unwrap();
        }
        self.listeners.len() as u32
    }
    async fn leave(&mut self, listener: EarRef) {
        self.listeners.retain(|other| *other != listener);
    }
    async fn ask(&mut self, listener: EarRef, n: u32) -> u32 {
        listener.ask(n).await.unwrap() + 1
    }
    async fn gives_up(&mut self, listener: EarRef) -> bool {
        let short = Duration::from_secs(1);
        listener.hang().timeout(short).await.is_err()
    }
    async fn hang(&mut self, reply: Reply<u32>) {
        self.hung.push(reply);
    }
    async fn given_up(&self) -> usize {
        self.hung.iter().filter(|reply| reply.is_closed()).count()
    }
    async fn drops(&mut self, _reply: Reply<u32>) {}
    async fn later(&mut self, asks: Vec<Ask>) {
        for ask in asks.into_iter().filter(|ask| ask.n > 0) {
            let _ = ask.reply.send(10 * ask.n);
        }
    }
    async fn large(&self, size: u32) -> Vec<u8> {
        vec![7; size as usize]
    }
    async fn branch(&mut self) -> ShopRef {
        shop()
    }
    async fn panics(&mut self) -> () {
        panic!("the shop breaks");
    }
    async fn count(&self, to: u32) -> Streaming<u32> {
        let (replies, numbers) = actor::streaming(8);
        let left = std::sync::Arc::clone(&self.left);
        tidings::spawn(async move {
            for n in 0..to {
                if replies.send(n).await.is_err() {
                    left.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    return;
                }
            }
            replies.finish();
        });
        numbers
    }
    async fn total(&self, mut numbers: Streaming<u32>) -> Result<u64, String> {
        let mut sum = 0;
        while let Some(n) = numbers.recv().await {
            sum += u64::from(n.map_err(|why| why.to_string())?);
        }
        Ok(sum)
    }
    async fn left(&self) -> u32 {
        self.left.load(std::sync::atomic::Ordering::Relaxed)
    }
}

fn shop() -> ShopRef {
    let shop = actor::spawn(|mut mailbox: Mailbox<ShopMessage>| async move {
        let state = Counter {
            this: Some(mailbox.this()),
            ..Counter::default()
        };
        actor::serve(state, &mut mailbox).await;
    });
    ShopRef::from(&shop)
}

fn client() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("../../clients/python").canonicalize().unwrap()
}

/// `false`: this machine has no Python that the client runs on.
fn has_python() -> bool {
    let version = ["-c", "import sys; sys.exit(sys.version_info < (3, 10))"];
    let found = Command::new("python3").args(version).status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        eprintln!("skipped: there is no python3, or an older one than 3.10");
    }
    found
}

/// Runs a program in Python; what it says is shown if it fails.
fn python(program: &mut Command) {
    let output = program.output().expect("python3 was found");
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn the_tests_of_the_client_in_python_hold() {
    if has_python() {
        let tests = ["-m", "unittest", "discover", "-s", "tests"];
        python(
            Command::new("python3")
                .args(tests)
                .current_dir(client())
                .env("PYTHONPATH", client())
                .env("PYTHONDONTWRITEBYTECODE", "1"),
        );
    }
}

fn options(limits: Limits) -> Options {
    let exports =
        Exports::new()
            .add("shop", &shop())
            .add_with_token("back door", "open sesame", &shop());
    Options::new("server").exports(exports).limits(limits)
}

async fn serve(address: &str, tls: Option<Tls>, limits: Limits) -> Server {
    let mut listener = Listener::bind(address, options(limits)).await.unwrap();
    if let Some(tls) = tls {
        listener = listener.tls(tls);
    }
    listener.serve()
}

/// Asks each that links for its `ear`, and speaks to it.
async fn speak(server: &Server) {
    loop {
        let link = server.next().await;
        drop(tidings::spawn(async move {
            if let Ok(ear) = link.get::<EarRef>("ear").await {
                let news = match ear.ask(20).await {
                    Ok(21) => News::Opened,
                    other => News::Left {
                        who: format!("{other:?}"),
                        after: Duration::ZERO,
                    },
                };
                let _ = ear.heard(news).await;
            }
        }));
    }
}

#[test]
fn a_program_in_python_and_a_node_are_each_others_callers_and_actors() {
    if !has_python() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("tidings-python-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name);
    std::fs::write(path("shop.json"), tidings::remote::schema::<ShopMessage>()).unwrap();
    python(
        Command::new("python3")
            .args(["-m", "tidings_client.generate"])
            .args([path("shop.json"), path("shop.py")])
            .env("PYTHONPATH", client()),
    );
    let authority = Authority::new();
    let (certificate, key) = authority.signed("python");
    std::fs::write(path("ca.pem"), authority.pem()).unwrap();
    std::fs::write(path("python.pem"), certificate).unwrap();
    std::fs::write(path("python.key"), key).unwrap();
    let runtime = Runtime::new().unwrap();
    let unix = format!("unix:{}", path("shop.sock").display());
    let servers = runtime.block_on(async {
        let limits = Limits::default();
        let few = Limits { calls: 4, ..limits };
        [
            serve("tcp://127.0.0.1:0", None, limits).await,
            serve(&unix, None, limits).await,
            serve(
                "tls://127.0.0.1:0",
                Some(authority.identity("server", false)),
                limits,
            )
            .await,
            serve("tcp://127.0.0.1:0", None, few).await,
        ]
    });
    let [tcp, unix, tls, few] = servers
        .each_ref()
        .map(|server| server.address().to_string());
    let servers = std::sync::Arc::new(servers);
    for n in 0..servers.len() {
        let servers = std::sync::Arc::clone(&servers);
        drop(runtime.spawn(async move { speak(&servers[n]).await }));
    }
    python(
        Command::new("python3")
            .arg(client().join("tests/live.py"))
            .env(
                "PYTHONPATH",
                std::env::join_paths([client(), folder.clone()]).unwrap(),
            )
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("TIDINGS_FOLDER", &folder)
            .env("TIDINGS_TCP", tcp)
            .env("TIDINGS_UNIX", unix)
            .env("TIDINGS_TLS", tls)
            .env("TIDINGS_FEW", few),
    );
    drop(runtime);
    let _ = std::fs::remove_dir_all(&folder);
}
