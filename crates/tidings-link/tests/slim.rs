//! Clients without our scheduler over real connections, plain and over TLS: under tokio, and on plain threads. They
//! have actors of their own, which they lend and export.
//!
//! The server is this program again, told by its environment to be that: so this process has no runtime of
//! ours, which is looked at.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use async_io::Async;
use futures::executor::block_on;
use futures::future::join_all;
use futures::{AsyncRead, AsyncWrite};
use tidings::actor::{self, Builder, Exit, Reply, Streaming};
use tidings::{Event, Receiver, Runtime, Sender, unbounded};
use tidings_link::{Broken, Driver, Exports, Link, Listener, Options, Server, Tls, link};
use tokio_util::compat::TokioAsyncReadCompatExt;

use authority::Authority;

#[path = "it/authority.rs"]
mod authority;

/// What makes a process the server, and the identity that it has: three texts.
const IDENTITY: &str = "TIDINGS_TEST_SLIM_IDENTITY";

#[tidings::interface(remote)]
trait Board {
    async fn post(&mut self, text: String);
    async fn posts(&self) -> u64;
    /// What is posted from here on.
    async fn watch(&mut self) -> Streaming<String>;
    /// It keeps the reply.
    async fn never(&mut self, reply: Reply<()>);
    /// It answers one that it keeps.
    async fn answer(&mut self) -> bool;
    /// The reader hears of what is posted from here on.
    async fn lend(&mut self, reader: ReaderRef);
    /// How the reader that was lent last has ended; waits for that.
    async fn last_end(&mut self) -> String;
}

/// A client's, lent: an observer.
#[tidings::interface(remote)]
trait Reader {
    async fn posted(&mut self, text: String);
}

/// A client's, exported.
#[tidings::interface(remote)]
trait Desk {
    async fn twice(&self, n: u64) -> u64;
    async fn result(&mut self, n: u64);
}

#[derive(Default)]
struct Wall {
    posts: u64,
    watchers: Vec<actor::Replies<String>>,
    kept: Vec<Reply<()>>,
    readers: Vec<ReaderRef>,
}

impl Board for Wall {
    async fn post(&mut self, text: String) {
        self.posts += 1;
        for watcher in &self.watchers {
            let _ = watcher.send(text.clone()).await;
        }
        for reader in &self.readers {
            let _ = reader.posted(text.clone()).await;
        }
    }
    async fn posts(&self) -> u64 {
        self.posts
    }
    async fn watch(&mut self) -> Streaming<String> {
        let (watcher, stream) = actor::streaming(8);
        self.watchers.push(watcher);
        stream
    }
    async fn never(&mut self, reply: Reply<()>) {
        self.kept.push(reply);
    }
    async fn answer(&mut self) -> bool {
        let kept = self.kept.pop();
        kept.is_some_and(|reply| reply.send(()).is_ok())
    }
    async fn lend(&mut self, reader: ReaderRef) {
        self.readers.push(reader);
    }
    async fn last_end(&mut self) -> String {
        let last = self.readers.pop().expect("one was lent");
        last.any().down().await.to_string()
    }
}

struct Ear(Sender<String>);

impl Reader for Ear {
    async fn posted(&mut self, text: String) {
        self.0.send(text).await.unwrap();
    }
}

struct Sums(Sender<u64>);

impl Desk for Sums {
    async fn twice(&self, n: u64) -> u64 {
        2 * n
    }
    async fn result(&mut self, n: u64) {
        self.0.send(n).await.unwrap();
    }
}

/// What the server does with each link: it has the client's desk at work, if there is one.
async fn greet(server: Server) {
    loop {
        let link = server.next().await;
        drop(tidings::spawn(async move {
            if let Ok(desk) = link.get::<DeskRef>("desk").await
                && let Ok(n) = desk.twice(21).await
            {
                let _ = desk.result(n).await;
            }
        }));
    }
}

/// The server's process. It does something only there.
#[test]
fn the_child_serves_until_it_is_killed() {
    let Ok(identity) = std::env::var(IDENTITY) else {
        return;
    };
    let [authority, certificate, key] = texts(&identity);
    let tls = Tls::from_pem(authority, certificate, key).unwrap();
    Runtime::new().unwrap().block_on(async {
        let options = || {
            let board: BoardRef = actor::start(Wall::default());
            Options::new("server").exports(Exports::new().add("board", &board))
        };
        let plain = Listener::bind("tcp://127.0.0.1:0", options()).await;
        let secured = Listener::bind("tls://127.0.0.1:0", options()).await;
        let (plain, secured) = (plain.unwrap().serve(), secured.unwrap().tls(tls).serve());
        println!("at {} {}", plain.address(), secured.address());
        futures::join!(greet(plain), greet(secured));
    });
}

fn texts(identity: &str) -> [&[u8]; 3] {
    let texts: Vec<&[u8]> = identity.split('|').map(str::as_bytes).collect();
    texts.try_into().unwrap()
}

/// The server, killed when this is dropped; and how it is connected to.
struct Node {
    child: Child,
    plain: SocketAddr,
    secured: SocketAddr,
    tls: Tls,
}

impl Node {
    fn start() -> Self {
        let authority = Authority::new();
        let (certificate, key) = authority.signed("server");
        let identity = [authority.pem(), certificate, key].join("|");
        let this = [
            "the_child_serves_until_it_is_killed",
            "--exact",
            "--nocapture",
        ];
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(this)
            .env(IDENTITY, identity)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The pipe stays open: libtest says of a test that it takes a minute, and ends where nobody can hear it.
        let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        let at = lines
            .map_while(Result::ok)
            .find_map(|line| Some(line.split_once("at tcp://")?.1.to_owned()))
            .expect("the child listens");
        let (plain, secured) = at.split_once(" tls://").unwrap();
        Self {
            child,
            plain: plain.parse().unwrap(),
            secured: secured.parse().unwrap(),
            tls: authority.identity("client", false),
        }
    }

    fn at(&self, secured: bool) -> SocketAddr {
        if secured { self.secured } else { self.plain }
    }

    /// A link over a stream to one of its addresses.
    async fn link<S>(&self, stream: S, secured: bool, options: Options) -> (Link, Driver)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        match secured {
            true => self.tls.connect(stream, "server", options).await.unwrap(),
            false => link(stream, options),
        }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

/// No thread of this process is one of a runtime of ours. The timers of links have one.
fn nothing_of_a_runtime_is_here() {
    let threads = std::fs::read_dir("/proc/self/task");
    // Elsewhere than on Linux it is not looked at.
    for thread in threads.into_iter().flatten() {
        let name = std::fs::read_to_string(thread.unwrap().path().join("comm"));
        let name = name.unwrap_or_default();
        assert!(
            !name.starts_with("tidings") || name.trim() == "tidings-timer",
            "{name}"
        );
    }
}

/// Does all that a client does.
async fn speaks(board: &BoardRef) {
    let mut news = board.watch().await.unwrap();
    let texts = || (0..100).map(|n| format!("post {n}"));
    let posts = async {
        for text in texts() {
            board.post(text).await.unwrap();
        }
    };
    let reads = async {
        for text in texts() {
            assert_eq!(news.recv().await.unwrap().unwrap(), text);
        }
    };
    futures::join!(posts, reads);
    drop(news);
    let calls = (0..100).map(|_| async { board.posts().await.unwrap() });
    assert!(join_all(calls).await.iter().all(|&posts| posts == 100));
    // One is answered later, one not in time, and then there is nobody to answer.
    let (answered, answers) = futures::join!(async { board.never().await }, async {
        board.answer().await.unwrap()
    },);
    assert!(answered.is_ok() && answers);
    let late = board.never().timeout(Duration::from_millis(20)).await;
    assert!(late.is_err(), "{late:?}");
    assert!(!board.answer().await.unwrap());
}

/// What a client is, and that it exports its desk, which tells what it has heard.
fn exports(on: &Builder) -> (Options, actor::AnyRef, Receiver<u64>) {
    let (tell, told) = unbounded();
    let desk: DeskRef = on.clone().name("desk").start(Sums(tell));
    let options = Options::new("client").exports(Exports::new().add("desk", &desk));
    (options, desk.any(), told)
}

/// Lends readers, whose ends the server notices.
async fn lends(board: &BoardRef, on: &Builder) {
    let lend = async || {
        let (tell, posts) = unbounded();
        let reader: ReaderRef = on.clone().start(Ear(tell));
        board.lend(reader.clone()).await.unwrap();
        board.post("first".to_owned()).await.unwrap();
        assert_eq!(posts.recv().await.unwrap(), "first");
        (reader, posts)
    };
    let (reader, posts) = lend().await;
    let texts = || (0..100).map(|n| format!("post {n}"));
    let send = async {
        for text in texts() {
            board.post(text).await.unwrap();
        }
    };
    let hear = async {
        for text in texts() {
            assert_eq!(posts.recv().await.unwrap(), text);
        }
    };
    futures::join!(send, hear);
    reader.any().stop();
    assert_eq!(board.last_end().await.unwrap(), "was stopped");
    // One that waits for messages, and that is killed.
    let (reader, _posts) = lend().await;
    reader.any().kill();
    assert_eq!(board.last_end().await.unwrap(), "was killed");
    // One that panics: nobody takes what it tells.
    let (_reader, posts) = lend().await;
    drop(posts);
    board.post("last".to_owned()).await.unwrap();
    let end = board.last_end().await.unwrap();
    assert!(end.starts_with("panicked"), "{end}");
}

/// A call that is under way when the server is killed ends, and so does all that came over the link; and what was lent
/// to the server and nobody else has.
async fn is_cut_off(link: &Link, board: &BoardRef, on: &Builder, node: &mut Node) {
    let (tell, posts) = unbounded();
    let reader: ReaderRef = on.clone().start(Ear(tell));
    let lent = reader.any();
    board.lend(reader).await.unwrap();
    board.post("to all".to_owned()).await.unwrap();
    assert_eq!(posts.recv().await.unwrap(), "to all");
    assert!(lent.exit().is_none());
    let (call, ()) = futures::join!(async { board.never().await }, async { node.kill() });
    assert!(call.is_err());
    let why = link.down().await;
    assert!(matches!(why, Broken::Closed | Broken::Io(..)), "{why}");
    board.any().down().await;
    assert!(board.posts().await.is_err());
    assert!(matches!(lent.down().await, Exit::Normal));
    assert!(posts.recv().await.is_err());
}

fn under_tokio(runtime: &tokio::runtime::Runtime) {
    for secured in [false, true] {
        let mut node = Node::start();
        let on = Builder::new().executor(|life| drop(tokio::spawn(life)));
        runtime.block_on(async {
            let connect = || tokio::net::TcpStream::connect(node.at(secured));
            // One that nobody uses any more ends in order;
            let stream = connect().await.unwrap().compat();
            let (options, desk, told) = exports(&on);
            let (link, driver) = node.link(stream, secured, options).await;
            let driver = tokio::spawn(driver);
            let board: BoardRef = link.get("board").await.unwrap();
            speaks(&board).await;
            assert_eq!(told.recv().await, Ok(42));
            drop((link, board));
            assert_eq!(driver.await.unwrap(), Broken::Drained);
            assert!(matches!(desk.down().await, Exit::Normal));
            // another with its server.
            let stream = connect().await.unwrap().compat();
            let (link, driver) = node.link(stream, secured, Options::new("client")).await;
            let driver = tokio::spawn(driver);
            let board: BoardRef = link.get("board").await.unwrap();
            lends(&board, &on).await;
            is_cut_off(&link, &board, &on, &mut node).await;
            assert_eq!(Some(driver.await.unwrap()), link.exit());
        });
        nothing_of_a_runtime_is_here();
    }
}

#[test]
fn a_client_lives_under_tokio_on_many_threads() {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    under_tokio(&builder.worker_threads(2).enable_all().build().unwrap());
}

#[test]
fn a_client_lives_under_tokio_on_one_thread() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    under_tokio(&builder.enable_all().build().unwrap());
}

#[test]
fn a_client_lives_on_plain_threads() {
    for secured in [false, true] {
        let mut node = Node::start();
        let on = Builder::new().executor(|life| drop(thread::spawn(|| block_on(life))));
        let connect = |node: &Node, options| {
            let stream = Async::<TcpStream>::connect(node.at(secured));
            let stream = block_on(stream).unwrap();
            let (link, driver) = block_on(node.link(stream, secured, options));
            (link, thread::spawn(move || block_on(driver)))
        };
        let (options, desk, told) = exports(&on);
        let (link, driver) = connect(&node, options);
        let board: BoardRef = block_on(link.get("board")).unwrap();
        block_on(speaks(&board));
        // Without a word of async.
        let callers = [3, 4].map(|posts| {
            let board = board.clone();
            thread::spawn(move || {
                for n in 0..posts {
                    board.post(n.to_string()).wait().unwrap();
                }
                let late = board.never().timeout(Duration::from_millis(20)).wait();
                assert!(late.is_err(), "{late:?}");
                board.posts().wait().unwrap()
            })
        });
        let posts = callers.map(|caller| caller.join().unwrap());
        assert_eq!(posts.into_iter().max(), Some(107));
        assert_eq!(told.recv().wait(), Ok(42));
        drop((link, board));
        assert_eq!(driver.join().unwrap(), Broken::Drained);
        assert!(matches!(desk.down().wait(), Exit::Normal));
        let (link, driver) = connect(&node, Options::new("client"));
        let board: BoardRef = block_on(link.get("board")).unwrap();
        block_on(lends(&board, &on));
        block_on(is_cut_off(&link, &board, &on, &mut node));
        assert_eq!(Some(driver.join().unwrap()), link.exit());
        nothing_of_a_runtime_is_here();
    }
}
