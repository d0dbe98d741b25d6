//! Links of `tidings-link`, as they are, between simulated nodes whose network and machines fail: what
//! a link promises holds in every run. Each run has some of the faults, not all (`World::swarm`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tidings::actor::{self, CallError, Exit};
use tidings::net::TcpListener;
use tidings::sched::{incarnation, random};
use tidings::time::{Instant, sleep};
use tidings::{Event, JoinSet};
use tidings_link::{Connector, Exports, Link, Listener, Options, Request};
use tidings_sim::{Node, Sim, World, world};

const PORT: u16 = 7;

#[tidings::interface(remote)]
trait Clerk {
    async fn note(&mut self, item: u64);
    async fn add(&mut self, item: u64) -> u64;
    async fn listen(&mut self, ear: EarRef);
    async fn panics(&mut self) -> ();
}

#[tidings::interface(remote)]
trait Ear {
    async fn heard(&mut self, life: u64, n: u64);
}

/// What happened, as nobody in the run can see it.
#[derive(Clone, Default)]
struct Book(Arc<Mutex<Pages>>);

#[derive(Default)]
struct Pages {
    /// What clerks have done, in its order.
    done: Vec<u64>,
    /// What senders were told of what they sent.
    outcomes: BTreeMap<u64, Outcome>,
    /// Links by their numbers: which life of the server was at the other end.
    links: Vec<u64>,
    /// Of all that clerks may have been asked for: how much the server's interceptor has seen, and how much
    /// of that is under way.
    seen: usize,
    flying: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// A message was taken; a call was answered.
    Told,
    Answered,
    /// It has not been done, and will not be.
    NotDone,
    /// Who knows.
    Unknown,
}

impl Book {
    fn lock(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap()
    }

    fn sent(&self, item: u64, outcome: Outcome) {
        let before = self.lock().outcomes.insert(item, outcome);
        assert_eq!(before, None, "one outcome each");
    }
}

/// What the interceptor keeps of a request.
struct Flying(Book);

impl Flying {
    fn new(book: &Book, request: &Request<'_>) -> Self {
        assert!(request.peer_addr().is_some(), "it comes from a node");
        let mut pages = book.lock();
        pages.seen += 1;
        pages.flying += 1;
        Self(book.clone())
    }
}

impl Drop for Flying {
    fn drop(&mut self) {
        self.0.lock().flying -= 1;
    }
}

/// The items of one sender on one link are numbered in their order.
fn item(link: usize, sender: u64, n: u64) -> u64 {
    (link as u64) << 32 | sender << 16 | n
}

/// Writes down what it is told, and tells those who listen.
struct Desk {
    book: Book,
    ears: Vec<EarRef>,
    told: u64,
}

impl Desk {
    async fn done(&mut self, item: u64) {
        self.book.lock().done.push(item);
        self.told += 1;
        for ear in &self.ears {
            // A peer that has gone hears nothing.
            let _ = ear.heard(incarnation(), self.told).await;
        }
    }
}

impl Clerk for Desk {
    async fn note(&mut self, item: u64) {
        self.done(item).await;
    }
    async fn add(&mut self, item: u64) -> u64 {
        self.done(item).await;
        item + 1
    }
    async fn listen(&mut self, ear: EarRef) {
        self.ears.push(ear);
    }
    async fn panics(&mut self) -> () {
        panic!("the clerk breaks");
    }
}

/// A server that exports a clerk; what it knows is gone with it, but for the book.
fn server(book: &Book) -> Node {
    let book = book.clone();
    world().node("server", move || {
        let (book, ears) = (book.clone(), Vec::new());
        async move {
            let clerk: ClerkRef = actor::start(Desk {
                book: book.clone(),
                ears,
                told: 0,
            });
            let options = Options::new("server").exports(Exports::new().add("clerk", &clerk));
            let options = options.intercept(move |request| Ok(Flying::new(&book, request)));
            let listener = Listener::bind_insecure("tcp://0.0.0.0:7", options).await;
            let _server = listener.unwrap().serve();
            std::future::pending::<()>().await;
        }
    })
}

fn connector(server: &Node) -> Connector {
    let connector = Connector::new(&format!("tcp://{}", server.address(PORT))).unwrap();
    connector
        .insecure(true)
        .options(Options::new("client"))
        .backoff(Duration::from_millis(10), Duration::from_secs(2))
}

/// A link to the server, its number in the book, and its clerk.
async fn connected(connector: &Connector, book: &Book) -> (Link, usize, ClerkRef) {
    loop {
        let link = connector.connect_until_up().await.unwrap();
        let peer = link.up().await.unwrap();
        let number = {
            let mut pages = book.lock();
            pages.links.push(peer.incarnation);
            pages.links.len() - 1
        };
        match link.get("clerk").await {
            Ok(clerk) => return (link, number, clerk),
            Err(error) => assert!(link.exit().is_some(), "{error}"),
        }
    }
}

/// Sends and calls in turn, until something fails or all is done.
async fn sender(book: Book, clerk: ClerkRef, link: usize, sender: u64, items: u64) {
    for n in 0..items {
        let item = item(link, sender, n);
        let start = Instant::now();
        let outcome = match random(4) {
            0 => match clerk.note(item).await {
                Ok(()) => Outcome::Told,
                Err(_) => Outcome::NotDone,
            },
            1 => of_call(
                item,
                clerk.add(item).timeout(Duration::from_millis(3)).await,
            ),
            _ => of_call(item, clerk.add(item).await),
        };
        book.sent(item, outcome);
        let took = start.elapsed();
        assert!(took < Duration::from_secs(60), "it waited for {took:?}");
        if random(3) == 0 {
            sleep(Duration::from_millis(random(2_000) as u64)).await;
        }
    }
}

fn of_call(item: u64, result: Result<u64, CallError>) -> Outcome {
    match result {
        Ok(answer) => {
            assert_eq!(answer, item + 1, "the answer to another call");
            Outcome::Answered
        }
        Err(CallError::NotExecuted(Exit::Disconnected(_)) | CallError::Full) => Outcome::NotDone,
        Err(CallError::Ended(Exit::Disconnected(_)) | CallError::Timeout) => Outcome::Unknown,
        Err(other) => panic!("the clerk lives: {other}"),
    }
}

struct Listening(Arc<Mutex<Vec<(u64, u64)>>>);

impl Ear for Listening {
    async fn heard(&mut self, life: u64, n: u64) {
        self.0.lock().unwrap().push((life, n));
    }
}

/// One link's life with senders, watchers and a listener.
async fn use_link(book: &Book, connector: &Connector) {
    let (link, number, clerk) = connected(connector, book).await;
    let life = book.lock().links[number];
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear: EarRef = actor::start(Listening(Arc::clone(&heard)));
    let listens = clerk.listen(ear).await;
    let mut tasks = JoinSet::new();
    for id in 0..2 {
        let (book, clerk) = (book.clone(), clerk.clone());
        tasks.spawn(sender(book, clerk, number, id, 6));
    }
    let watches = [(); 2].map(|()| {
        let clerk = clerk.clone();
        tidings::spawn(async move { clerk.down().await.to_string() })
    });
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    // Whoever has nothing to say any more leaves, one way or another.
    match random(3) {
        0 => link.close(),
        1 => link.drain(),
        _ => drop(link.down().timeout(Duration::from_secs(5)).await),
    }
    link.close();
    link.down().await;
    // What came before the end is handled, if no time passes.
    sleep(Duration::from_nanos(1)).await;
    let before = heard.lock().unwrap().clone();
    let downs = watches.map(|watch| async { watch.await.unwrap() });
    let [one, other] = futures::future::join_all(downs).await.try_into().unwrap();
    assert_eq!(one, other, "all hear of the same end");
    let late = clerk.add(item(number, 9, 0)).await;
    assert_eq!(of_call(0, late), Outcome::NotDone, "a dead reference");
    book.sent(item(number, 9, 0), Outcome::NotDone);
    if listens.is_ok() {
        assert!(before.is_sorted(), "in order: {before:?}");
        assert!(before.iter().all(|(of, _)| *of == life), "{before:?}");
        sleep(Duration::from_millis(random(30_000) as u64)).await;
        let after = heard.lock().unwrap().clone();
        assert_eq!(before, after, "nothing comes after the end");
    }
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    Sever,
    Partition,
    OneWay,
    Crash,
    Slow,
    Skew,
}

const FAULTS: [Fault; 6] = [
    Fault::Sever,
    Fault::Partition,
    Fault::OneWay,
    Fault::Crash,
    Fault::Slow,
    Fault::Skew,
];

/// Breaks what can break, now and then; whole at the end.
async fn chaos(world: World, server: Node, clients: Vec<Node>, rounds: usize) {
    let faults = world.swarm(&FAULTS);
    for _ in 0..rounds {
        sleep(Duration::from_millis(random(1_500) as u64)).await;
        let Some(fault) = faults.get(random(faults.len().max(1))) else {
            return;
        };
        let client = &clients[random(clients.len())];
        // Shorter and longer than a link's patience.
        let spell = Duration::from_millis([5, 500, 20_000][random(3)]);
        match fault {
            Fault::Sever => server.sever(client),
            Fault::Partition => {
                server.partition(client);
                sleep(spell).await;
                server.heal(client);
            }
            Fault::OneWay => {
                match random(2) {
                    0 => server.cut_to(client),
                    _ => client.cut_to(&server),
                }
                sleep(spell).await;
                server.heal(client);
            }
            Fault::Crash => {
                server.crash();
                sleep(spell).await;
                server.restart();
            }
            Fault::Slow => {
                let millis = Duration::from_millis;
                server.latency_to(client, millis(1)..=millis(4_000));
            }
            Fault::Skew => client.skew(Duration::ZERO, random(200_000) as i32),
        }
    }
}

/// What must hold of a whole run.
fn check(pages: &Pages) {
    let mut done = BTreeSet::new();
    for item in &pages.done {
        assert!(done.insert(*item), "{item:x} was done twice");
    }
    for (item, outcome) in &pages.outcomes {
        match outcome {
            Outcome::Answered => assert!(done.contains(item), "{item:x} was answered, not done"),
            Outcome::NotDone => assert!(!done.contains(item), "{item:x} was done after all"),
            Outcome::Told | Outcome::Unknown => {}
        }
    }
    // In order for each sender on each link, and without a gap that is not an unknown one.
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    for item in &pages.done {
        let before = last.insert(item >> 16, *item);
        let first = before.map_or(item >> 16 << 16, |before| before + 1);
        assert!(first <= *item, "{item:x} after {before:x?}");
        for missed in first..*item {
            let outcome = pages.outcomes[&missed];
            let may_miss = [Outcome::Unknown, Outcome::NotDone].contains(&outcome);
            assert!(may_miss, "{missed:x} was lost before {item:x}");
        }
    }
}

/// Clients that use a server, while everything may break.
async fn contract() {
    let book = Book::default();
    let server = server(&book);
    sleep(Duration::from_millis(1)).await;
    let (over, ended) = tidings::unbounded::<()>();
    let clients: Vec<Node> = (0..2)
        .map(|_| {
            let (book, server, over) = (book.clone(), server.clone(), over.clone());
            world().node("client", move || {
                let (book, over) = (book.clone(), over.clone());
                let connector = connector(&server);
                async move {
                    for _ in 0..3 {
                        use_link(&book, &connector).await;
                    }
                    over.send(()).await.unwrap();
                }
            })
        })
        .collect();
    let breaks = chaos(world(), server.clone(), clients.clone(), 4);
    let breaks = tidings::spawn(breaks);
    for _ in &clients {
        ended.recv().await.unwrap();
    }
    breaks.await.unwrap();
    check(&book.lock());
    // Two lives are never taken for one.
    let lives: BTreeSet<u64> = book.lock().links.iter().copied().collect();
    assert!(lives.len() as u64 <= server.incarnation());
    // All was seen before it was done, and nothing is kept of it when its link has ended.
    sleep(Duration::from_secs(60)).await;
    let pages = book.lock();
    assert!(pages.seen >= pages.done.len() && pages.flying == 0);
}

#[test]
fn what_links_promise_holds_whatever_breaks() {
    Sim::new(0).seeds(150).run(contract);
}

#[tidings::test(sim, seeds = 50)]
async fn what_is_called_after_a_link_was_told_to_drain_is_not_done() {
    let book = Book::default();
    let server = server(&book);
    sleep(Duration::from_millis(1)).await;
    let (link, number, clerk) = connected(&connector(&server), &book).await;
    if random(2) == 0 {
        // The link is idle.
        sleep(Duration::from_millis(random(20) as u64)).await;
    }
    link.drain();
    let late = item(number, 1, 0);
    assert_eq!(of_call(late, clerk.add(late).await), Outcome::NotDone);
    link.down().await;
    assert_eq!(book.lock().done, []);
}

#[tidings::test(sim, seeds = 50)]
async fn a_server_that_returns_is_a_new_one_and_old_references_stay_dead() {
    let book = Book::default();
    let server = server(&book);
    sleep(Duration::from_millis(1)).await;
    let connector = connector(&server);
    let (link, _, old) = connected(&connector, &book).await;
    let waits = tidings::spawn({
        let old = old.clone();
        async move { old.down().await }
    });
    assert_eq!(old.add(1).await.unwrap(), 2);
    server.restart();
    assert!(matches!(waits.await.unwrap(), Exit::Disconnected(_)));
    link.down().await;
    let (_link, _, new) = connected(&connector, &book).await;
    assert_eq!(new.add(2).await.unwrap(), 3);
    let late = old.add(3).await.unwrap_err();
    assert!(
        matches!(late, CallError::NotExecuted(Exit::Disconnected(_))),
        "{late}"
    );
    let pages = book.lock();
    assert_eq!(pages.done, [1, 2]);
    assert_ne!(pages.links[0], pages.links[1]);
}

#[tidings::test(sim, seeds = 50)]
async fn a_link_that_breaks_is_made_anew_to_the_same_life() {
    let book = Book::default();
    let server = server(&book);
    sleep(Duration::from_millis(1)).await;
    let connector = connector(&server);
    for n in 0..3 {
        let (link, _, clerk) = connected(&connector, &book).await;
        assert_eq!(clerk.add(n).await.unwrap(), n + 1);
        server.sever(&world().program());
        link.down().await;
    }
    let pages = book.lock();
    assert!(pages.links.iter().all(|life| *life == pages.links[0]));
}

#[tidings::test(sim, seeds = 30)]
async fn who_connects_until_it_is_up_waits_at_random_ever_longer_and_no_longer_than_was_said() {
    let came = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&came);
    let closed = world().node("closed", move || {
        let noted = Arc::clone(&noted);
        async move {
            let listener = TcpListener::bind(([0, 0, 0, 0], PORT)).unwrap();
            loop {
                drop(listener.accept().await.unwrap());
                noted.lock().unwrap().push(Instant::now());
            }
        }
    });
    sleep(Duration::from_millis(1)).await;
    let (first, longest) = (Duration::from_secs(10), Duration::from_secs(80));
    let connector = connector(&closed).backoff(first, longest);
    let tries = tidings::spawn(async move { connector.connect_until_up().await });
    sleep(Duration::from_secs(3_600)).await;
    tries.abort();
    let came = came.lock().unwrap();
    let waits: Vec<_> = came.windows(2).map(|two| two[1] - two[0]).collect();
    // The rest is what the network takes.
    let rest = Duration::from_secs(1);
    let limits = (0..).map(|n| (first * 2_u32.pow(n.min(3))).min(longest));
    for (wait, limit) in waits.iter().zip(limits) {
        assert!(*wait <= limit + rest, "{waits:?}");
    }
    let long = |wait: &&Duration| **wait > longest / 2;
    let longer = waits.iter().filter(long).count();
    assert!(0 < longer && longer < waits.len() - 4, "{waits:?}");
}

#[tidings::test(sim, seeds = 30)]
async fn who_is_cut_off_hears_of_it_within_the_links_patience() {
    let book = Book::default();
    let server = server(&book);
    sleep(Duration::from_millis(1)).await;
    let here = world().program();
    // Silence counts by the clock of whoever waits.
    server.skew(Duration::from_secs(100), -50_000);
    let (_link, _, clerk) = connected(&connector(&server), &book).await;
    match random(3) {
        0 => server.partition(&here),
        1 => server.cut_to(&here),
        _ => here.cut_to(&server),
    }
    let start = Instant::now();
    let error = clerk.add(1).await.unwrap_err();
    assert!(
        matches!(error, CallError::Ended(Exit::Disconnected(_))),
        "{error}"
    );
    let took = start.elapsed();
    assert!(took <= Duration::from_secs(21), "{took:?}");
}

#[tidings::test(sim, seeds = 50)]
async fn the_end_of_an_actor_there_is_heard_once_by_each_who_watches() {
    let book = Book::default();
    let server = server(&book);
    sleep(Duration::from_millis(1)).await;
    let (link, _, clerk) = connected(&connector(&server), &book).await;
    let (heard, ends) = tidings::unbounded();
    for _ in 0..3 {
        let (clerk, heard) = (clerk.clone(), heard.clone());
        drop(tidings::spawn(async move {
            let exit = clerk.down().await;
            heard.send(exit.to_string()).await
        }));
    }
    drop(heard);
    let error = clerk.panics().await.unwrap_err();
    assert!(
        matches!(error, CallError::Ended(Exit::Panicked(_))),
        "{error}"
    );
    if random(2) == 0 {
        server.crash();
        link.down().await;
    }
    let mut all = Vec::new();
    while let Ok(exit) = ends.recv().await {
        all.push(exit);
    }
    assert_eq!(all.len(), 3);
    assert!(all.iter().all(|exit| exit.contains("the clerk breaks")));
}

#[tidings::test(sim, seeds = 50)]
async fn what_is_given_up_while_the_network_is_cut_is_not_begun_when_it_is_whole_again() {
    let book = Book::default();
    let server = server(&book);
    sleep(Duration::from_millis(1)).await;
    let here = world().program();
    // Clocks need not agree, nor networks be the same in both directions.
    server.skew(Duration::from_secs(random(100) as u64), 0);
    server.latency_to(&here, Duration::from_millis(1)..=Duration::from_millis(30));
    let (link, _, clerk) = connected(&connector(&server), &book).await;
    assert_eq!(clerk.add(1).await.unwrap(), 2);
    match random(3) {
        0 => server.partition(&here),
        1 => server.cut_to(&here),
        _ => here.cut_to(&server),
    }
    let late = clerk.add(2).timeout(Duration::from_secs(2)).await;
    assert!(matches!(late, Err(CallError::Timeout)), "{late:?}");
    let closes = random(2) == 0;
    if closes {
        clerk.note(3).await.unwrap();
        let unknown = tidings::spawn({
            let clerk = clerk.clone();
            async move { clerk.add(4).await }
        });
        sleep(Duration::from_millis(1)).await;
        link.close();
        unknown.await.unwrap().unwrap_err();
        // What was under way where nothing is cut.
        sleep(Duration::from_secs(1)).await;
    }
    let done = book.lock().done.clone();
    sleep(Duration::from_secs(random(5) as u64)).await;
    server.heal(&here);
    if closes {
        link.down().await;
        // The next link is made when all of the first has arrived.
        let (_link, _, clerk) = connected(&connector(&server), &book).await;
        assert_eq!(clerk.add(5).await.unwrap(), 6);
    } else {
        assert_eq!(clerk.add(5).await.unwrap(), 6);
    }
    sleep(Duration::from_secs(60)).await;
    let after: Vec<u64> = done.into_iter().chain([5]).collect();
    assert_eq!(book.lock().done, after);
}
