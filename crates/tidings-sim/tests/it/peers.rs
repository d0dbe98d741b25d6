//! Nodes that keep to one link between them, and connect to each other whenever there is none: also
//! both at once, and while the network and machines fail.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tidings::Event;
use tidings::actor;
use tidings::net::TcpListener;
use tidings::sched::random;
use tidings::time::sleep;
use tidings_link::{Connector, Exports, Link, Listener, Options, Peers, Server};
use tidings_sim::{Node, Sim, world};

#[tidings::interface(remote)]
trait Clerk {
    async fn who(&self) -> String;
}

struct Desk(&'static str);

impl Clerk for Desk {
    async fn who(&self) -> String {
        self.0.to_owned()
    }
}

/// Where a node is, once it is there.
type Place = Arc<OnceLock<SocketAddr>>;

/// What each node says of itself: how often it had a link, and how many there are that were made to it.
type Book = Arc<Mutex<BTreeMap<&'static str, (usize, usize)>>>;

/// What a node has: a server, and what connects to the other.
async fn set_up(us: &'static str, them: &str, place: &Place) -> (Server, Connector) {
    let clerk: ClerkRef = actor::start(Desk(us));
    let options = Options::new(us).exports(Exports::new().add("clerk", &clerk));
    let listener = Listener::bind_insecure("tcp://0.0.0.0:7", options.clone()).await;
    let peers = Peers::new();
    let server = listener.unwrap().peers(&peers).serve();
    let there = format!("tcp://{}", place.get().unwrap());
    let connector = Connector::new(&there).unwrap().insecure(true);
    let connector = connector
        .options(options)
        .backoff(Duration::from_millis(10), Duration::from_secs(1))
        .peer(them, &peers);
    (server, connector)
}

/// A node that has a link to the other whenever it can.
fn node(us: &'static str, them: &'static str, place: &Place, book: &Book) -> Node {
    let (place, book) = (Arc::clone(place), Arc::clone(book));
    world().node(us, move || {
        let (place, book) = (Arc::clone(&place), Arc::clone(&book));
        async move {
            let (server, connector) = set_up(us, them, &place).await;
            for round in 0.. {
                if random(2) == 0 {
                    sleep(Duration::from_millis(random(6) as u64)).await;
                }
                // Two of this side at once: they get the same.
                let (link, same) = futures::future::join(
                    connector.connect_until_up(),
                    connector.connect_until_up(),
                )
                .await;
                drop(same.unwrap());
                let link = link.unwrap();
                let said = talk(&link, them).await;
                if said && round < ROUNDS && random(3) == 0 {
                    link.close();
                }
                loop {
                    book.lock().unwrap().insert(us, (round, server.count()));
                    let spell = Duration::from_secs(1 + random(3) as u64);
                    if link.down().timeout(spell).await.is_ok() || round < ROUNDS {
                        break;
                    }
                }
            }
        }
    })
}

/// A node that connects once, at about the same time as the other, and does not try again.
fn once(us: &'static str, them: &'static str, place: &Place, book: &Book) -> Node {
    let (place, book) = (Arc::clone(place), Arc::clone(book));
    world().node(us, move || {
        let (place, book) = (Arc::clone(&place), Arc::clone(&book));
        async move {
            let (server, connector) = set_up(us, them, &place).await;
            sleep(Duration::from_millis(5 + random(4) as u64)).await;
            let link = connector.connect().await.unwrap();
            if random(2) == 0 {
                // Nobody here uses it: it ends, if the other does not use it either, and also for
                // who only just waits for it.
                drop(link);
                book.lock().unwrap().insert(us, (0, 0));
            } else {
                let said = talk(&link, them).await;
                sleep(Duration::from_secs(20)).await;
                let kept = 1 + usize::from(said);
                book.lock().unwrap().insert(us, (kept, server.count()));
                link.down().await;
            }
            std::future::pending::<()>().await;
        }
    })
}

/// So often a node ends its link, perhaps; then it keeps it.
const ROUNDS: usize = 4;

/// Does the link lead where it should? `false`: it has ended.
async fn talk(link: &Link, them: &str) -> bool {
    let Ok(clerk) = link.get::<ClerkRef>("clerk").await else {
        return false;
    };
    match clerk.who().await {
        Ok(name) => {
            assert_eq!(name, them);
            true
        }
        Err(_) => false,
    }
}

async fn both(faults: bool) {
    let (first, second) = (Place::default(), Place::default());
    let book = Book::default();
    let alice = node("alice", "bob", &second, &book);
    let bob = node("bob", "alice", &first, &book);
    first.set(alice.address(7)).unwrap();
    second.set(bob.address(7)).unwrap();
    if faults {
        for _ in 0..4 {
            sleep(Duration::from_millis(random(2_000) as u64)).await;
            break_something(&alice, &bob).await;
        }
    }
    // Longer than all that a link and a connector wait for.
    sleep(Duration::from_secs(120)).await;
    let book = book.lock().unwrap();
    assert!(
        book.values().all(|(rounds, _)| *rounds >= ROUNDS),
        "{book:?}"
    );
    assert_eq!(
        book.values().map(|(_, links)| links).sum::<usize>(),
        1,
        "{book:?}"
    );
}

async fn break_something(alice: &Node, bob: &Node) {
    let spell = Duration::from_millis([5, 500, 20_000][random(3)]);
    match random(3) {
        0 => alice.sever(bob),
        1 => {
            alice.partition(bob);
            sleep(spell).await;
            alice.heal(bob);
        }
        _ => {
            bob.crash();
            sleep(spell).await;
            bob.restart();
        }
    }
}

#[test]
fn who_connects_gets_the_link_whoever_has_made_it() {
    Sim::new(0).seeds(300).run(|| async {
        world().latency(Duration::from_micros(500)..=Duration::from_millis(2));
        let (first, second) = (Place::default(), Place::default());
        let book = Book::default();
        let alice = once("alice", "bob", &second, &book);
        let bob = once("bob", "alice", &first, &book);
        first.set(alice.address(7)).unwrap();
        second.set(bob.address(7)).unwrap();
        sleep(Duration::from_secs(60)).await;
        let book = book.lock().unwrap();
        assert_eq!(book.len(), 2, "each has had its link: {book:?}");
        if book.values().all(|(kept, _)| *kept > 0) {
            assert!(book.values().all(|(kept, _)| *kept == 2), "{book:?}");
            let links: usize = book.values().map(|(_, links)| links).sum();
            assert_eq!(links, 1, "{book:?}");
        }
    });
}

#[test]
fn two_nodes_that_connect_to_each_other_at_once_have_one_link() {
    Sim::new(0).seeds(100).run(|| both(false));
}

#[test]
fn nodes_keep_to_one_link_while_they_crash_come_back_and_are_cut_off() {
    Sim::new(0).seeds(60).run(|| both(true));
}

/// A node of this name that lets others in, and what connects from it to the other, at this place.
async fn lets_in(us: &str, them: &str, place: SocketAddr) -> (Server, Connector, Peers) {
    let (options, peers) = (Options::new(us), Peers::new());
    let listener = Listener::bind_insecure("tcp://0.0.0.0:7", options.clone()).await;
    let connector = Connector::new(&format!("tcp://{place}")).unwrap();
    let connector = connector.options(options).insecure(true).peer(them, &peers);
    (listener.unwrap().peers(&peers).serve(), connector, peers)
}

#[test]
fn who_waits_for_a_stream_that_does_not_come_keeps_out_nobody_who_comes_from_there() {
    Sim::new(0).seeds(20).run(|| async {
        let nowhere = world().node("nowhere", std::future::pending::<()>);
        let place = nowhere.address(7);
        let had = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&had);
        let bob = world().node("bob", move || {
            let to = Arc::clone(&to);
            async move {
                let (_server, connector, _) = lets_in("bob", "alice", place).await;
                let link = connector.connect().await.unwrap();
                assert_eq!(link.up().await.unwrap().node, "alice");
                to.lock().unwrap().push("bob");
                link.down().await;
            }
        });
        bob.partition(&nowhere);
        let (to, place) = (Arc::clone(&had), bob.address(7));
        let _alice = world().node("alice", move || {
            let to = Arc::clone(&to);
            async move {
                let (_server, connector, _) = lets_in("alice", "bob", place).await;
                sleep(Duration::from_secs(1)).await;
                let link = connector.connect().await.unwrap();
                to.lock().unwrap().push("alice");
                link.down().await;
            }
        });
        // Before the first gives up.
        sleep(Duration::from_secs(3)).await;
        let mut had = had.lock().unwrap().clone();
        had.sort_unstable();
        assert_eq!(had, ["alice", "bob"]);
    });
}

#[test]
fn who_waits_for_the_answer_to_a_greeting_gets_the_link_that_comes_from_there_meanwhile() {
    Sim::new(0).seeds(20).run(|| async {
        // Somebody else is there, who lets all in and says nothing.
        let mute = world().node("mute", || async {
            let listener = TcpListener::bind(([0, 0, 0, 0], 7)).unwrap();
            let mut streams = Vec::new();
            loop {
                streams.push(listener.accept().await.unwrap());
            }
        });
        let place = mute.address(7);
        let had = Arc::new(OnceLock::new());
        let to = Arc::clone(&had);
        let alice = world().node("alice", move || {
            let to = Arc::clone(&to);
            async move {
                let (_server, connector, _) = lets_in("alice", "bob", place).await;
                let both = futures::future::join(connector.connect(), connector.connect()).await;
                for link in [both.0.unwrap(), both.1.unwrap()] {
                    assert_eq!(link.up().await.unwrap().node, "bob");
                }
                to.set(()).unwrap();
                std::future::pending::<()>().await;
            }
        });
        let place = alice.address(7);
        let _bob = world().node("bob", move || async move {
            let (_server, connector, _) = lets_in("bob", "alice", place).await;
            sleep(Duration::from_secs(1)).await;
            connector.connect().await.unwrap().down().await;
        });
        // Before the first gives up.
        sleep(Duration::from_secs(3)).await;
        assert!(had.get().is_some());
    });
}

#[test]
fn those_who_wait_for_one_that_fails_fail_with_it_and_nothing_is_kept_of_the_node() {
    Sim::new(0).seeds(20).run(|| async {
        let nowhere = world().node("nowhere", std::future::pending::<()>);
        let place = nowhere.address(7);
        let done = Arc::new(OnceLock::new());
        let to = Arc::clone(&done);
        let alice = world().node("alice", move || {
            let to = Arc::clone(&to);
            async move {
                let (_server, connector, peers) = lets_in("alice", "nowhere", place).await;
                let all = (0..10).map(|_| connector.connect());
                for failed in futures::future::join_all(all).await {
                    assert!(failed.is_err());
                }
                assert_eq!(format!("{peers:?}"), "{}");
                // Who comes later tries it himself.
                let began = tidings::time::Instant::now();
                connector.connect().await.unwrap_err();
                assert!(began.elapsed() > Duration::from_secs(4));
                to.set(()).unwrap();
            }
        });
        alice.partition(&nowhere);
        // Each attempt takes 5 s at most.
        sleep(Duration::from_secs(11)).await;
        assert!(done.get().is_some());
    });
}
