//! Interceptors: what they see, what they refuse, and what becomes of that. How long they keep what they
//! give is in `kept.rs`.

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tidings::Event;
use tidings::actor::{self, CallError, Exit, Reply, Streaming, streaming};
use tidings::remote::Carried;
use tidings::time::Instant;
use tidings::trace::Trace;
use tidings_link::{Connector, End, Exports, Failure, Grant, Incoming, Limits};
use tidings_link::{Link, Listener, Options, Request, Tls, link, memory};

use crate::authority::Authority;
use crate::by_hand::Peer;
use crate::faults::run;
use crate::nodes::{LONG, linked};

#[tidings::interface(remote)]
pub(crate) trait Desk {
    async fn note(&mut self, n: u64);
    async fn noted(&self) -> Vec<u64>;
    /// Answered by `answer`.
    async fn wait(&mut self, reply: Reply<u64>);
    async fn answer(&mut self) -> ();
    /// What the other has noted.
    async fn ask(&self, other: DeskRef) -> Vec<u64>;
    async fn keep(&mut self, other: DeskRef, replies: Vec<Reply<u64>>) -> ();
    async fn count(&self, to: u32) -> Streaming<u32>;
}

#[derive(Default)]
pub(crate) struct Drawer {
    notes: Vec<u64>,
    waiting: Vec<Reply<u64>>,
}

impl Desk for Drawer {
    async fn note(&mut self, n: u64) {
        self.notes.push(n);
    }
    async fn noted(&self) -> Vec<u64> {
        self.notes.clone()
    }
    async fn wait(&mut self, reply: Reply<u64>) {
        self.waiting.push(reply);
    }
    async fn answer(&mut self) {
        for reply in self.waiting.drain(..) {
            let _ = reply.send(7);
        }
    }
    async fn ask(&self, other: DeskRef) -> Vec<u64> {
        other.noted().await.unwrap()
    }
    async fn keep(&mut self, _: DeskRef, replies: Vec<Reply<u64>>) {
        self.waiting.extend(replies);
    }
    async fn count(&self, to: u32) -> Streaming<u32> {
        let (replies, items) = streaming(4);
        tidings::spawn(async move {
            for n in 0..to {
                let _ = replies.send(n).await;
            }
            replies.finish();
        });
        items
    }
}

/// What an interceptor has seen, and how much of that is under way.
#[derive(Clone, Default)]
pub(crate) struct Gate {
    seen: Arc<Mutex<Vec<&'static str>>>,
    flying: Arc<AtomicUsize>,
}

/// One that is under way.
struct Flying(Arc<AtomicUsize>);

impl Drop for Flying {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Gate {
    /// A server that exports the desk, and refuses these methods.
    fn options(&self, desk: &DeskRef, refused: &'static [&str]) -> Options {
        let gate = self.clone();
        let exports = Exports::new().add("desk", desk);
        let options = Options::new("server").exports(exports);
        options.intercept(move |request| {
            let method = request.method();
            gate.seen.lock().unwrap().push(method);
            if refused.contains(&method) {
                return Err(format!("no {method} today").into());
            }
            gate.flying.fetch_add(1, Ordering::Relaxed);
            Ok(Flying(Arc::clone(&gate.flying)))
        })
    }

    pub(crate) fn seen(&self) -> Vec<&'static str> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn flying(&self) -> usize {
        self.flying.load(Ordering::Relaxed)
    }
}

/// A desk here, behind a gate; both ends of a link that exports it; and what the other end has.
pub(crate) struct Stage {
    pub(crate) gate: Gate,
    pub(crate) here: DeskRef,
    pub(crate) server: Link,
    _client: Link,
    pub(crate) there: DeskRef,
}

impl Stage {
    pub(crate) async fn new(refused: &'static [&str], limits: Limits) -> Self {
        let here: DeskRef = actor::start(Drawer::default());
        Self::of(here, refused, limits).await
    }

    pub(crate) async fn of(here: DeskRef, refused: &'static [&str], limits: Limits) -> Self {
        let gate = Gate::default();
        let options = gate.options(&here, refused).limits(limits);
        let (server, client) = linked(options, Options::new("client").limits(limits));
        let there = client.get("desk").await.unwrap();
        Self {
            gate,
            here,
            server,
            _client: client,
            there,
        }
    }

    /// Asks for what is answered later; gives the wait for the answer, once it has been seen.
    pub(crate) async fn asks(&self) -> tidings::JoinHandle<Result<u64, CallError>> {
        let there = self.there.clone();
        let before = self.gate.seen().len();
        let asked = tidings::spawn(async move { there.wait().await });
        while self.gate.seen().len() == before {
            tidings::yield_now().await;
        }
        asked
    }

    async fn refused(&self) -> u64 {
        self.server.stats().await.refused
    }
}

/// Why it was refused.
pub(crate) fn refusal<T: fmt::Debug>(outcome: Result<T, CallError>) -> String {
    match outcome {
        Err(CallError::Refused(why)) => why.to_string(),
        other => panic!("{other:?}"),
    }
}

/// What is seen of a request: who asks, what, of whom, in which way, and how many bytes.
type Seen = (
    String,
    u64,
    Option<String>,
    &'static str,
    &'static str,
    bool,
    bool,
    usize,
);

/// Writes down what it sees.
fn log(
    to: &Arc<Mutex<Vec<Seen>>>,
) -> impl Fn(&Request<'_>) -> Result<(), Box<dyn Error + Send + Sync>> + use<> {
    let to = Arc::clone(to);
    move |request| {
        let now = Instant::now();
        let soon = |due| due > now && due <= now + Duration::from_secs(10);
        let peer = request.peer();
        to.lock().unwrap().push((
            peer.node.clone(),
            peer.incarnation,
            request.name().map(str::to_owned),
            request.interface(),
            request.method(),
            request.is_call(),
            request.deadline().is_some_and(soon),
            request.size(),
        ));
        Ok(())
    }
}

#[test]
fn an_interceptor_at_either_end_sees_each_request_once_and_what_is_known_of_it() {
    run(1, || async {
        let (at_server, at_client) = <(Arc<Mutex<Vec<Seen>>>, Arc<_>)>::default();
        let here: DeskRef = actor::start(Drawer::default());
        let exports = Exports::new().add("desk", &here).add("table", &here);
        let server = Options::new("server").incarnation(3).exports(exports);
        let client = Options::new("client").incarnation(4);
        let (_server, client) = linked(
            server.intercept(log(&at_server)),
            client.intercept(log(&at_client)),
        );
        let there: DeskRef = client.get("desk").await.unwrap();
        // The same actor by another name.
        let _table: DeskRef = client.get("table").await.unwrap();
        there.note(300).await.unwrap();
        let noted = there.noted().timeout(Duration::from_secs(10)).await;
        assert_eq!(noted.unwrap(), [300]);
        let own: DeskRef = actor::start(Drawer::default());
        assert!(there.ask(own).await.unwrap().is_empty());
        let of = |peer: &str, life, name: Option<&str>, method, is_call, in_time, size| {
            let name = name.map(str::to_owned);
            let peer = peer.to_owned();
            (peer, life, name, "Desk", method, is_call, in_time, size)
        };
        let desk = Some("desk");
        let seen = [
            of("client", 4, desk, "note", false, false, 2),
            of("client", 4, desk, "noted", true, true, 0),
            of("client", 4, desk, "ask", true, false, 1),
        ];
        assert_eq!(*at_server.lock().unwrap(), seen);
        // It has no name there: it went in a message.
        let back = [of("server", 3, None, "noted", true, false, 0)];
        assert_eq!(*at_client.lock().unwrap(), back);
    });
}

#[test]
fn a_call_that_is_refused_hears_the_error_and_its_actor_nothing() {
    run(2, || async {
        let stage = Stage::new(&["noted"], Limits::default()).await;
        stage.there.note(1).await.unwrap();
        assert_eq!(refusal(stage.there.noted().await), "no noted today");
        stage.there.answer().await.unwrap();
        assert_eq!(stage.refused().await, 1);
        assert_eq!(stage.gate.seen(), ["note", "noted", "answer"]);
        assert_eq!(stage.gate.flying(), 0);
        assert_eq!(stage.here.noted().await.unwrap(), [1]);
        // As much of a longer one as goes over a link.
        let lengthy = Options::new("server").exports(Exports::new().add("desk", &stage.here));
        let lengthy = lengthy.intercept(|_| -> Result<(), _> { Err("é".repeat(5_000).into()) });
        let (_server, client) = linked(lengthy, Options::new("client"));
        let there: DeskRef = client.get("desk").await.unwrap();
        assert_eq!(refusal(there.answer().await), "é".repeat(512));
    });
}

#[test]
fn one_way_messages_that_are_refused_are_counted_and_their_credit_comes_back() {
    run(3, || async {
        let few = Limits {
            window: Grant {
                messages: 4,
                bytes: 64,
            },
            link_window: Grant {
                messages: 8,
                bytes: 128,
            },
            ..Limits::default()
        };
        let stage = Stage::new(&["note"], few).await;
        for n in 0..100 {
            let sent = tidings::time::timeout(LONG, stage.there.note(n));
            sent.await.unwrap().unwrap();
        }
        let noted = stage.there.noted().timeout(LONG).await;
        assert!(noted.unwrap().is_empty());
        assert_eq!(stage.refused().await, 100);
    });
}

#[test]
fn requests_keep_their_order_though_some_of_them_are_refused() {
    run(4, || async {
        let here: DeskRef = actor::start(Drawer::default());
        let nth = AtomicU64::new(0);
        let third = move |request: &Request<'_>| {
            let refuse = request.method() == "note" && nth.fetch_add(1, Ordering::Relaxed) % 3 == 2;
            if refuse { Err("third".into()) } else { Ok(()) }
        };
        let options = Options::new("server").exports(Exports::new().add("desk", &here));
        let (_server, client) = linked(options.intercept(third), Options::new("client"));
        let there: DeskRef = client.get("desk").await.unwrap();
        for n in 0..3_000 {
            there.note(n).await.unwrap();
        }
        let noted = there.noted().await.unwrap();
        assert!(noted.into_iter().eq((0..3_000).filter(|n| n % 3 != 2)));
    });
}

fn number(method: &str) -> u32 {
    let desk = tidings::remote::interface::<DeskMessage>();
    let method = desk.methods().iter().find(|it| it.name() == method);
    method.unwrap().number()
}

/// A peer by hand, and the number by which it has a desk that the options export.
async fn by_hand(options: Options) -> (Link, Peer, u32) {
    let (ours, theirs) = memory::pipe();
    let (server, driver) = link(ours, options);
    drop(tidings::spawn(driver));
    let mut peer = Peer::new(theirs, Limits::default());
    peer.up().await;
    let to = peer.asks(1, "desk", "Desk").await;
    (server, peer, to)
}

#[test]
fn what_was_held_up_is_seen_when_it_is_begun_and_with_its_trace() {
    run(8, || async {
        let here: DeskRef = actor::start(Drawer::default());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&seen);
        let options = Options::new("server").exports(Exports::new().add("desk", &here));
        let options = options.intercept(move |request| {
            to.lock().unwrap().push(request.trace());
            Ok(())
        });
        let (_server, mut peer, desk) = by_hand(options).await;
        let trace = Trace::new(0x1234, 0x56, 1);
        let none = Trace::new(0, 0x56, 1);
        for carried in [
            vec![Carried::Trace(trace)],
            vec![Carried::Trace(none)],
            vec![],
        ] {
            peer.session
                .tell(desk, number("note"), carried, &mut vec![7]);
        }
        // It has not said what its clock is: nothing is begun.
        peer.asks(2, "desk", "Desk").await;
        assert!(seen.lock().unwrap().is_empty());
        peer.session.pong(0, Instant::now());
        peer.asks(3, "desk", "Desk").await;
        assert_eq!(*seen.lock().unwrap(), [Some(trace), None, None]);
        assert_eq!(here.noted().await.unwrap(), [7, 7, 7]);
    });
}

#[test]
fn what_a_request_carried_that_is_refused_is_given_back() {
    run(9, || async {
        let here: DeskRef = actor::start(Drawer::default());
        let gate = Gate::default();
        let (_server, mut peer, desk) = by_hand(gate.options(&here, &["keep"])).await;
        peer.session.pong(0, Instant::now());
        let kept = peer.session.begin_call().unwrap();
        let call = peer.session.begin_call().unwrap();
        let carried = vec![Carried::Mine(5), Carried::Reply(kept, 0)];
        let keep = number("keep");
        let body = &[0, 1, 1];
        peer.session
            .call(call, desk, keep, None, carried, &mut body.to_vec());
        let mut heard = Vec::new();
        peer.until(|came| {
            match came {
                Incoming::Release(target, count) => heard.push((target, Ok(count))),
                Incoming::Answer { call, outcome, .. } => {
                    heard.push((call, Err(outcome.unwrap_err())));
                }
                _ => {}
            }
            (heard.len() == 3).then_some(())
        })
        .await;
        let released = (5, Ok(1));
        let refused = (call, Err(Failure::Refused("no keep today".to_owned())));
        let lost = Failure::NotExecuted(End::NoSuchActor);
        for told in [released, refused, (kept, Err(lost))] {
            assert!(heard.contains(&told), "{told:?} of {heard:?}");
        }
    });
}

#[test]
fn an_actor_that_was_sent_in_what_is_refused_is_kept_by_nobody() {
    run(10, || async {
        let stage = Stage::new(&["ask"], Limits::default()).await;
        let own: DeskRef = actor::start(Drawer::default());
        let any = own.any();
        assert_eq!(refusal(stage.there.ask(own).await), "no ask today");
        let exit = any.down().timeout(LONG).await.unwrap();
        assert!(matches!(exit, Exit::Normal), "{exit}");
    });
}

#[test]
fn the_items_of_a_stream_are_asked_for_by_calls_which_may_be_refused() {
    run(11, || async {
        let stage = Stage::new(&[], Limits::default()).await;
        let mut items = stage.there.count(100).await.unwrap();
        for n in 0..100 {
            assert_eq!(items.recv().await.unwrap().unwrap(), n);
        }
        assert!(items.recv().await.is_none());
        let seen = stage.gate.seen();
        assert_eq!(seen[0], "count");
        assert!(seen.len() > 2 && seen[1..].iter().all(|it| *it == "next"));
        assert_eq!(stage.gate.flying(), 0);

        let stage = Stage::new(&["next"], Limits::default()).await;
        let mut items = stage.there.count(100).await.unwrap();
        assert_eq!(refusal(items.recv().await.unwrap()), "no next today");
        assert!(items.recv().await.is_none());
        assert_eq!(stage.gate.seen(), ["count", "next"]);
    });
}

/// A node's certificate in DER, and its identity.
pub(crate) fn identity(authority: &Authority, node: &str) -> (Vec<u8>, Tls) {
    let (certificate, key) = authority.signed(node);
    let certificate = certificate.as_bytes();
    let tls = Tls::from_pem(authority.pem().as_bytes(), certificate, key.as_bytes());
    let der = CertificateDer::from_pem_slice(certificate).unwrap();
    (der.to_vec(), tls.unwrap())
}

#[tidings::test]
async fn over_tls_each_side_is_known_by_its_certificate_and_where_it_connects_from() {
    let authority = Authority::new();
    let [server, known, other] =
        ["server", "client", "client"].map(|node| identity(&authority, node));
    let here: DeskRef = actor::start(Drawer::default());
    let allowed = known.0.clone();
    let options = Options::new("server").exports(Exports::new().add("desk", &here));
    let options = options.intercept(move |request| {
        let from_here = request.peer_addr().is_some_and(|at| at.ip().is_loopback());
        match from_here && request.peer_certificate() == Some(&allowed) {
            true => Ok(()),
            false => Err("another certificate".into()),
        }
    });
    let listener = Listener::bind("tls://127.0.0.1:0", options).await.unwrap();
    let served = listener.tls(server.1).serve();
    let address = served.address().to_string();
    let theirs = Arc::new(Mutex::new(None));
    let connector = Connector::new(&address).unwrap().node("server");
    // The names are the same.
    for (tls, is_known) in [(known.1, true), (other.1, false)] {
        let to = Arc::clone(&theirs);
        let options = Options::new("client").intercept(move |request| {
            let at = request.peer_addr().map(|at| format!("tls://{at}"));
            *to.lock().unwrap() = Some((at, request.peer_certificate().map(<[u8]>::to_vec)));
            Ok(())
        });
        let connector = connector.clone().tls(tls).options(options);
        let link = connector.connect().await.unwrap();
        let there: DeskRef = link.get("desk").await.unwrap();
        let own: DeskRef = actor::start(Drawer::default());
        let asked = there.ask(own).await;
        let shown = theirs.lock().unwrap().take();
        if is_known {
            assert!(asked.unwrap().is_empty());
            assert_eq!(shown, Some((Some(address.clone()), Some(server.0.clone()))));
        } else {
            assert_eq!(refusal(asked), "another certificate");
            assert_eq!(shown, None);
        }
    }
}
