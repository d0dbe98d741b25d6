//! Two nodes in one process.

use std::time::Duration;

use tidings::actor;
use tidings::time::Instant;
use tidings_link::{Exports, Identity, Limits, Link, Options, Session, link, memory};

#[tidings::interface(remote)]
pub(crate) trait Counter {
    async fn add(&mut self, n: i64);
    async fn get(&self) -> i64;
    async fn fail(&mut self) -> Result<i64, String>;
    async fn wait(&mut self, reply: actor::Reply<i64>);
    async fn panics(&mut self) -> ();
    async fn echo(&self, bytes: Vec<u8>) -> Vec<u8>;
}

/// Keeps the replies of `wait`.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) sum: i64,
    pub(crate) waiting: Vec<actor::Reply<i64>>,
}

impl Counter for Tally {
    async fn add(&mut self, n: i64) {
        self.sum += n;
    }
    async fn get(&self) -> i64 {
        self.sum
    }
    async fn fail(&mut self) -> Result<i64, String> {
        Err("the handler's".to_owned())
    }
    async fn wait(&mut self, reply: actor::Reply<i64>) {
        self.waiting.push(reply);
    }
    async fn panics(&mut self) -> () {
        panic!("the counter breaks");
    }
    async fn echo(&self, bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }
}

#[tidings::interface(remote)]
pub(crate) trait Later {
    async fn ask(&mut self, reply: actor::Reply<i64>);
}

/// Hands each reply on.
pub(crate) struct Hands(pub(crate) tidings::Sender<actor::Reply<i64>>);

impl Later for Hands {
    async fn ask(&mut self, reply: actor::Reply<i64>) {
        let _ = self.0.try_send(reply);
    }
}

/// Two ends of a link over memory.
pub(crate) fn linked(ours: Options, theirs: Options) -> (Link, Link) {
    let (here, there) = memory::pipe();
    let (ours, driver) = link(here, ours);
    tidings::spawn(driver);
    let (theirs, driver) = link(there, theirs);
    tidings::spawn(driver);
    (ours, theirs)
}

/// As `linked`; `exports` are the first one's.
pub(crate) fn pair_with(exports: Exports, limits: Limits) -> (Link, Link) {
    let server = Options::new("server").exports(exports).limits(limits);
    linked(server, Options::new("client").limits(limits))
}

pub(crate) fn pair(exports: Exports) -> (Link, Link) {
    pair_with(exports, Limits::default())
}

/// A counter here, a link that exports it, and what the other end has.
pub(crate) async fn counter() -> (CounterRef, Link, Link, CounterRef) {
    let here: CounterRef = actor::start(Tally::default());
    let (server, client) = pair(Exports::new().add("counter", &here));
    let there = client.get("counter").await.expect("it is exported");
    (here, server, client, there)
}

/// Longer than anything takes; less than the test runner's patience.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// A peer that is moved by hand.
pub(crate) fn peer(limits: Limits) -> Session {
    let identity = Identity {
        node: "peer".to_owned(),
        incarnation: 1,
        cluster: String::new(),
        codec: "postcard".to_owned(),
    };
    Session::new(&identity, limits, Instant::now())
}
