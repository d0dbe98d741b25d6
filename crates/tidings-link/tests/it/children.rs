//! Nodes that are killed, stopped and continued, and that return: processes of their own.
//!
//! The other process is this test program again, told by its environment to be the server.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};
use tidings::actor::{self, CallError, Exit};
use tidings::{Event, JoinSet, Remote, Runtime, Schema};
use tidings_link::{Broken, Connector, Exports, Limits, Link, Listener, Options, Server};

use crate::nodes::LONG;

/// Where the child is to listen, and where it writes what it has executed.
const ADDRESS: &str = "TIDINGS_TEST_CHILD_ADDRESS";
const RECORD: &str = "TIDINGS_TEST_CHILD_RECORD";

/// Whom the child is to call.
const CALLS: &str = "TIDINGS_TEST_CHILD_CALLS";

#[tidings::interface(remote)]
trait Book {
    /// Writes the number down, and says how many there are.
    async fn enter(&mut self, n: u64) -> u64;
    /// How many links its node has.
    async fn links(&self) -> u64;
}

struct Ledger {
    record: std::fs::File,
    count: u64,
    server: Arc<OnceLock<Server>>,
}

impl Book for Ledger {
    async fn enter(&mut self, n: u64) -> u64 {
        // In the system's hands when the answer goes: a kill does not take it back.
        self.record.write_all(&n.to_le_bytes()).unwrap();
        self.count += 1;
        self.count
    }
    async fn links(&self) -> u64 {
        self.server.get().map_or(0, Server::count) as u64
    }
}

/// The server's process. It does something only there.
#[test]
fn the_child_serves_until_it_is_killed() {
    let Ok(address) = std::env::var(ADDRESS) else {
        return;
    };
    let record = std::fs::File::create(std::env::var_os(RECORD).unwrap()).unwrap();
    Runtime::new().unwrap().block_on(async {
        let known = Arc::new(OnceLock::new());
        let book: BookRef = actor::start(Ledger {
            record,
            count: 0,
            server: Arc::clone(&known),
        });
        let options = Options::new("child").exports(Exports::new().add("book", &book));
        let listener = Listener::bind(&address, options).await.unwrap();
        println!("address {}", listener.address());
        let server = known.get_or_init(|| listener.links(4000).serve());
        loop {
            drop(server.next().await);
        }
    });
}

/// A node in another process, which is killed when it is dropped.
struct Node {
    child: Child,
    address: String,
    record: PathBuf,
}

impl Node {
    fn start(address: &str) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tidings-child-{}-{number}", std::process::id());
        let record = std::env::temp_dir().join(name);
        let this = [
            "children::the_child_serves_until_it_is_killed",
            "--exact",
            "--nocapture",
        ];
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(this)
            .env(ADDRESS, address)
            .env(RECORD, &record)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The pipe stays open: libtest says of a test that it takes a minute, and ends where nobody can hear it.
        let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        let address = lines
            .map_while(Result::ok)
            .find_map(|line| Some(line.split_once("address ")?.1.to_owned()));
        Self {
            child,
            address: address.expect("the child listens"),
            record,
        }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// `STOP` or `CONT`.
    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// Stops it. The signal is heard by one of its threads; the others run on for a moment.
    fn stop(&self) {
        self.signal("STOP");
        let threads = format!("/proc/{}/task", self.child.id());
        let stands = |thread: std::io::Result<std::fs::DirEntry>| {
            let stat = std::fs::read_to_string(thread.unwrap().path().join("stat"));
            // One that ends meanwhile is not there at the next look.
            stat.is_ok_and(|stat| stat.rsplit(") ").next().unwrap().starts_with('T'))
        };
        while !std::fs::read_dir(&threads).unwrap().all(stands) {
            std::thread::yield_now();
        }
    }

    /// What it has executed, in its order.
    fn executed(&self) -> Vec<u64> {
        let bytes = std::fs::read(&self.record).unwrap();
        let (numbers, _) = bytes.as_chunks::<8>();
        numbers.iter().map(|n| u64::from_le_bytes(*n)).collect()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.record);
    }
}

/// How calls have ended, by their numbers.
#[derive(Default)]
struct Outcomes {
    done: BTreeSet<u64>,
    not_executed: BTreeSet<u64>,
    unknown: BTreeSet<u64>,
}

#[test]
fn a_server_that_is_killed_ends_each_call_once_and_has_executed_none_twice() {
    let mut node = Node::start("tcp://127.0.0.1:0");
    let runtime = Runtime::new().unwrap();
    let outcomes = Arc::new(Mutex::new(Outcomes::default()));
    let answers = Arc::new(AtomicU64::new(0));
    let (all, link, book) = runtime.block_on(async {
        let link = Link::connect(&node.address).await.unwrap();
        let book: BookRef = link.get("book").await.unwrap();
        let mut callers = JoinSet::new();
        for caller in 0..50 {
            let (book, outcomes, answers) = (book.clone(), outcomes.clone(), answers.clone());
            callers.spawn(async move {
                for n in (caller << 32).. {
                    let ended = book.enter(n).await;
                    let mut all = outcomes.lock().unwrap();
                    match ended {
                        Ok(_) => {
                            answers.fetch_add(1, Ordering::Relaxed);
                            all.done.insert(n);
                            continue;
                        }
                        Err(CallError::NotExecuted(Exit::Disconnected(_))) => {
                            all.not_executed.insert(n);
                        }
                        Err(CallError::Ended(Exit::Disconnected(_))) => {
                            all.unknown.insert(n);
                        }
                        Err(other) => panic!("{other}"),
                    }
                    return;
                }
            });
        }
        (callers, link, book)
    });
    while answers.load(Ordering::Relaxed) < 1000 {
        std::thread::yield_now();
    }
    node.kill();
    runtime.block_on(async {
        let mut all = all;
        while let Some(caller) = all.join_next().await {
            caller.unwrap();
        }
        assert_eq!(link.down().timeout(LONG).await.unwrap(), Broken::Closed);
        assert!(matches!(book.down().await, Exit::Disconnected(_)));
        // What came over the link is dead.
        let after = book.enter(0).await;
        assert!(matches!(after, Err(CallError::NotExecuted(_))), "{after:?}");
    });
    let outcomes = outcomes.lock().unwrap();
    assert_eq!(outcomes.not_executed.len() + outcomes.unknown.len(), 50);
    let executed = node.executed();
    let once: BTreeSet<u64> = executed.iter().copied().collect();
    assert_eq!(once.len(), executed.len(), "one was executed twice");
    assert!(outcomes.done.is_subset(&once));
    assert!(outcomes.not_executed.is_disjoint(&once));
    let known: BTreeSet<u64> = &outcomes.done | &outcomes.unknown;
    assert!(once.is_subset(&known));
    // Each sender's in their order.
    for caller in 0..50 {
        let of_one: Vec<u64> = executed
            .iter()
            .copied()
            .filter(|n| n >> 32 == caller)
            .collect();
        assert!(
            of_one
                .iter()
                .zip(caller << 32..)
                .all(|(n, next)| *n == next)
        );
    }
}

#[test]
fn a_server_that_returns_is_another_node_and_old_references_stay_dead() {
    let mut node = Node::start("tcp://127.0.0.1:0");
    let runtime = Runtime::new().unwrap();
    let address = node.address.clone();
    let (before, old) = runtime.block_on(async {
        let link = Link::connect(&address).await.unwrap();
        let book: BookRef = link.get("book").await.unwrap();
        assert_eq!(book.enter(1).await.unwrap(), 1);
        (link, book)
    });
    node.kill();
    let _again = Node::start(&address);
    runtime.block_on(async {
        before.down().timeout(LONG).await.unwrap();
        let link = Connector::new(&address)
            .unwrap()
            .connect_until_up()
            .await
            .unwrap();
        let (was, is) = (before.up().await.unwrap(), link.up().await.unwrap());
        assert_eq!(was.node, is.node);
        assert_ne!(was.incarnation, is.incarnation);
        let book: BookRef = link.get("book").await.unwrap();
        assert_eq!(book.enter(2).await.unwrap(), 1);
        assert_ne!(book, old);
        let stale = old.enter(3).await;
        assert!(matches!(
            stale,
            Err(CallError::NotExecuted(Exit::Disconnected(_)))
        ));
        assert_eq!(book.enter(4).await.unwrap(), 2);
    });
}

#[test]
fn a_server_that_is_stopped_too_long_is_given_up_and_one_that_goes_on_in_time_is_not() {
    let node = Node::start("tcp://127.0.0.1:0");
    Runtime::new().unwrap().block_on(async {
        let patient = Link::connect(&node.address).await.unwrap();
        let waits: BookRef = patient.get("book").await.unwrap();
        let limits = Limits {
            idle: Duration::from_millis(200),
            silence: Duration::from_secs(2),
            ..Limits::default()
        };
        let connector = Connector::new(&node.address).unwrap();
        let connector = connector.options(Options::new("hasty").limits(limits));
        let hasty = connector.connect().await.unwrap();
        let book: BookRef = hasty.get("book").await.unwrap();
        assert_eq!(book.enter(1).await.unwrap(), 1);
        node.stop();
        // It is neither refused nor closed: nothing comes.
        let error = book.enter(2).await.unwrap_err();
        assert!(
            matches!(error, CallError::Ended(Exit::Disconnected(_))),
            "{error}"
        );
        assert_eq!(hasty.down().timeout(LONG).await.unwrap(), Broken::Silent);
        let call = tidings::spawn({
            let waits = waits.clone();
            async move { waits.enter(3).await }
        });
        node.signal("CONT");
        // Who was patient notices nothing but the time.
        assert!(call.await.unwrap().is_ok());
        let again = connector.connect_until_up().await.unwrap();
        let fresh: BookRef = again.get("book").await.unwrap();
        assert!(fresh.enter(4).await.is_ok());
        // The same node, and yet what came over the old link stays dead.
        assert!(matches!(
            book.enter(5).await,
            Err(CallError::NotExecuted(_))
        ));
        // The server has read what lay in the old one's socket, and its end.
        while fresh.links().await.unwrap() != 2 {
            tidings::yield_now().await;
        }
    });
    // Nobody waited for it any more.
    let executed = node.executed();
    let once: BTreeSet<u64> = executed.iter().copied().collect();
    assert_eq!(once, BTreeSet::from([1, 3, 4]));
    assert_eq!(executed.len(), 3, "{executed:?}");
}

#[test]
fn what_is_given_up_while_the_server_stands_still_is_not_done_when_it_goes_on() {
    let node = Node::start("tcp://127.0.0.1:0");
    Runtime::new().unwrap().block_on(async {
        let link = Link::connect(&node.address).await.unwrap();
        let book: BookRef = link.get("book").await.unwrap();
        assert_eq!(book.enter(1).await.unwrap(), 1);
        node.stop();
        let late = book.enter(2).timeout(Duration::from_millis(100)).await;
        assert!(matches!(late, Err(CallError::Timeout)), "{late:?}");
        let waits = tidings::spawn({
            let book = book.clone();
            async move { book.enter(3).await }
        });
        node.signal("CONT");
        assert_eq!(waits.await.unwrap().unwrap(), 2);
    });
    assert_eq!(node.executed(), [1, 3]);
}

#[tidings::interface(remote)]
trait Gate {
    /// Says how many microseconds after `by` it was begun, of the time that all processes have.
    async fn pass(&mut self, by: By) -> i64;
}

struct Late(Arc<Mutex<Vec<i64>>>);

impl Gate for Late {
    async fn pass(&mut self, by: By) -> i64 {
        let late = since_epoch() as i64 - by.0 as i64;
        self.0.lock().unwrap().push(late);
        late
    }
}

fn since_epoch() -> u64 {
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(now.as_micros()).unwrap()
}

/// Until when the caller waits, or a little later: as it is written, its call has its deadline already. Said
/// before that, it would be too early where the process is stopped between the two.
#[derive(Deserialize, Schema, Remote)]
struct By(u64);

const PATIENCE: Duration = Duration::from_millis(50);

impl Serialize for By {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_newtype_struct("By", &(since_epoch() + PATIENCE.as_micros() as u64))
    }
}

/// A caller's process, whose calls have a deadline. It does something only where it is told so.
#[test]
fn the_child_calls_until_it_is_killed() {
    let Ok(address) = std::env::var(CALLS) else {
        return;
    };
    Runtime::new().unwrap().block_on(async {
        let link = Link::connect(&address).await.unwrap();
        let gate: GateRef = link.get("gate").await.unwrap();
        let mut callers = JoinSet::new();
        for _ in 0..20 {
            let gate = gate.clone();
            callers.spawn(
                async move { while link_lives(&gate.pass(By(0)).timeout(PATIENCE).await) {} },
            );
        }
        callers.join_next().await;
    });
}

fn link_lives(ended: &Result<i64, CallError>) -> bool {
    matches!(ended, Ok(_) | Err(CallError::Timeout))
}

#[test]
fn what_a_caller_that_stood_still_had_on_its_way_is_not_begun_after_its_deadline() {
    let late = Arc::new(Mutex::new(Vec::new()));
    let runtime = Runtime::new().unwrap();
    let server = runtime.block_on(async {
        let gate: GateRef = actor::start(Late(Arc::clone(&late)));
        let options = Options::new("server").exports(Exports::new().add("gate", &gate));
        let listener = Listener::bind("tcp://127.0.0.1:0", options).await;
        listener.unwrap().serve()
    });
    let mut caller = Command::new(std::env::current_exe().unwrap());
    caller.args(["children::the_child_calls_until_it_is_killed", "--exact"]);
    caller.env(CALLS, server.address().to_string());
    let child = caller.stdout(Stdio::null()).stderr(Stdio::null());
    let caller = Node {
        child: child.spawn().unwrap(),
        address: String::new(),
        record: PathBuf::new(),
    };
    for _ in 0..5 {
        let before = late.lock().unwrap().len();
        while late.lock().unwrap().len() < before + 200 {
            std::thread::yield_now();
        }
        caller.stop();
        // Longer than any of them waits.
        runtime.block_on(async { tidings::after(Duration::from_secs(1)).await });
        caller.signal("CONT");
    }
    let worst = late.lock().unwrap().iter().copied().max().unwrap();
    // A thread may have lost its core between the look at the time and the handler's.
    assert!(worst < 300_000, "begun {worst} us late");
}

#[test]
fn a_thousand_clients_that_come_at_once_are_all_served_and_go() {
    let node = Node::start("tcp://127.0.0.1:0");
    Runtime::new().unwrap().block_on(async {
        let mut clients = JoinSet::new();
        for n in 0..1000 {
            let connector = Connector::new(&node.address).unwrap();
            clients.spawn(async move {
                let link = connector.connect_until_up().await.unwrap();
                let book: BookRef = link.get("book").await.unwrap();
                book.enter(n).await.unwrap();
                link.drain();
                assert_eq!(link.down().timeout(LONG).await.unwrap(), Broken::Drained);
            });
        }
        while let Some(client) = clients.join_next().await {
            client.unwrap();
        }
    });
    let executed: BTreeSet<u64> = node.executed().into_iter().collect();
    assert_eq!(executed.len(), 1000);
}

#[test]
fn a_thousand_clients_whose_server_is_killed_and_started_again_all_come_back() {
    let mut node = Node::start("tcp://127.0.0.1:0");
    let linked = Arc::new(AtomicU64::new(0));
    let runtime = Runtime::new().unwrap();
    let mut clients = runtime.block_on(async {
        let mut clients = JoinSet::new();
        for n in 0..1000 {
            let connector = Connector::new(&node.address).unwrap();
            let linked = Arc::clone(&linked);
            clients.spawn(async move {
                let first = connector.connect_until_up().await.unwrap();
                linked.fetch_add(1, Ordering::Relaxed);
                first.down().await;
                let link = connector.connect_until_up().await.unwrap();
                let book: BookRef = link.get("book").await.unwrap();
                book.enter(n).await.unwrap();
                link
            });
        }
        clients
    });
    while linked.load(Ordering::Relaxed) < 1000 {
        std::thread::yield_now();
    }
    node.kill();
    let again = Node::start(&node.address);
    runtime.block_on(async {
        let mut links = Vec::new();
        while let Some(link) = clients.join_next().await {
            links.push(link.unwrap());
        }
        let book: BookRef = links[0].get("book").await.unwrap();
        while book.links().await.unwrap() != 1000 {
            tidings::yield_now().await;
        }
    });
    let executed: BTreeSet<u64> = again.executed().into_iter().collect();
    assert_eq!(executed.len(), 1000);
}
