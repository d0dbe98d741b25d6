//! What a peer may say because of what was sent before, however much of it at once: that callers have
//! gone, that references are given up, that actors have ended. And what it may not.

use std::sync::Arc;

use tidings::actor::{self, AnyRef, Exit};
use tidings::{Event, JoinSet};
use tidings_link::memory::{self, Pipe};
use tidings_link::{Bind, Broken, End, Exports, Limits, Link, Options, Session, Stats, link};

use crate::by_hand::Peer;
use crate::nodes::{CounterRef, LONG, Tally, linked};

/// So few control frames a second that what is said here does not fit into them.
const FEW: u32 = 20;
const MANY: usize = 300;

#[tidings::interface(remote)]
trait Bank {
    async fn open(&mut self, n: usize) -> Vec<AccountRef>;
    async fn close(&mut self) -> usize;
}

#[tidings::interface(remote)]
trait Account {
    async fn pay(&mut self, n: i64);
}

/// Lives as long as its account does.
struct Open(#[expect(dead_code, reason = "it is there to be dropped")] Arc<()>);

impl Account for Open {
    async fn pay(&mut self, _: i64) {}
}

#[derive(Default)]
struct Vault {
    accounts: Vec<AnyRef>,
    alive: Arc<()>,
}

impl Bank for Vault {
    async fn open(&mut self, n: usize) -> Vec<AccountRef> {
        let open = || actor::start(Open(Arc::clone(&self.alive)));
        let accounts: Vec<AccountRef> = (0..n).map(|_| open()).collect();
        self.accounts = accounts.iter().map(|account| account.any()).collect();
        accounts
    }
    async fn close(&mut self) -> usize {
        let accounts = std::mem::take(&mut self.accounts);
        accounts.iter().for_each(AnyRef::kill);
        accounts.len()
    }
}

fn few() -> Limits {
    Limits {
        control: FEW,
        ..Limits::default()
    }
}

/// A bank here, a link on both of whose sides control is for few, and what the other end has.
async fn bank() -> (Arc<()>, Link, Link, BankRef) {
    let vault = Vault::default();
    let alive = Arc::clone(&vault.alive);
    let here: BankRef = actor::start(vault);
    let server = Options::new("server").exports(Exports::new().add("bank", &here));
    let (server, client) = linked(server.limits(few()), Options::new("client").limits(few()));
    let there = client.get("bank").await.unwrap();
    (alive, server, client, there)
}

/// Waits until a link has counted this.
async fn until(link: &Link, counted: impl Fn(&Stats) -> bool) {
    while !counted(&link.stats().await) {
        assert_eq!(link.exit(), None);
        tidings::yield_now().await;
    }
}

#[tidings::test]
async fn callers_that_all_go_at_once_end_no_link() {
    let here: CounterRef = actor::start(Tally::default());
    let server = Options::new("server").exports(Exports::new().add("counter", &here));
    let (server, client) = linked(server.limits(few()), Options::new("client"));
    let there: CounterRef = client.get("counter").await.unwrap();
    let waits = || {
        let there = there.clone();
        tidings::spawn(async move { there.wait().await })
    };
    let waiting: Vec<_> = (0..MANY).map(|_| waits()).collect();
    until(&server, |stats| stats.calls_in == MANY as u64).await;
    for caller in waiting {
        caller.abort();
    }
    until(&server, |stats| stats.nacks_in == MANY as u64).await;
    assert_eq!(there.get().await.unwrap(), 0);
}

#[tidings::test]
async fn references_that_are_all_dropped_at_once_end_no_link() {
    let (alive, server, _client, there) = bank().await;
    let accounts = there.open(MANY).await.unwrap();
    assert_eq!(accounts.len(), MANY);
    drop(accounts);
    while Arc::strong_count(&alive) > 2 {
        assert_eq!(server.exit(), None);
        tidings::yield_now().await;
    }
    assert!(there.open(0).await.unwrap().is_empty());
}

#[tidings::test]
async fn actors_that_all_end_at_once_end_no_link() {
    let (_alive, _server, client, there) = bank().await;
    // Some are given up as they end.
    for given_up in [0, MANY / 2] {
        let mut accounts = there.open(MANY).await.unwrap();
        drop(accounts.drain(..given_up));
        assert_eq!(there.close().await.unwrap(), MANY);
        for account in &accounts {
            let exit = account.down().timeout(LONG).await.unwrap();
            assert!(matches!(exit, Exit::Killed), "{exit}");
        }
        // Behind the second word of each.
        assert!(there.open(0).await.unwrap().is_empty());
        assert_eq!(client.exit(), None);
    }
}

#[tidings::test]
async fn names_that_are_all_asked_for_at_once_end_no_link() {
    let (_alive, _server, client, there) = bank().await;
    let mut asked = JoinSet::new();
    for _ in 0..MANY {
        asked.spawn(client.get::<BankRef>("bank"));
    }
    while let Some(got) = asked.join_next().await {
        assert_eq!(got.unwrap().unwrap().id(), there.id());
    }
}

/// A peer that is moved by hand, of a link on which control is for few.
async fn hostile() -> (Link, Peer<Pipe>) {
    let here: CounterRef = actor::start(Tally::default());
    let (ours, theirs) = memory::pipe();
    let server = Options::new("server").exports(Exports::new().add("counter", &here));
    let (server, driver) = link(ours, server.limits(few()));
    tidings::spawn(driver);
    let mut peer = Peer::new(theirs, Limits::default());
    peer.up().await;
    (server, peer)
}

#[tidings::test]
async fn what_no_message_has_earned_is_a_flood() {
    let says: [fn(&mut Session, u32); 3] = [
        // A caller has gone that never was.
        |peer, n| peer.nack(n),
        // An actor has ended that was not sent.
        |peer, n| peer.down(n, End::Stopped),
        // There is nothing under this name.
        |peer, n| {
            peer.bind(&Bind {
                id: n,
                name: "key".to_owned(),
                token: vec![],
                interface: "Counter".to_owned(),
                methods: vec![],
            });
        },
    ];
    for says in says {
        let (server, mut peer) = hostile().await;
        for n in 0..FEW + 1 {
            says(&mut peer.session, n);
        }
        let _ = peer.tries().await;
        assert_eq!(server.down().timeout(LONG).await.unwrap(), Broken::Flood);
    }
}
