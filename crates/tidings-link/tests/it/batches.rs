//! Answers of many parts whose items do not go together: each batch is as large as can be sent.

use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use tidings::actor::{self, CallError, Exit, Mailbox, Reply, Streaming, streaming};
use tidings::remote::Carried;
use tidings::time::Instant;
use tidings::{Event, Schema};
use tidings_link::{Exports, Failure, Incoming, Limits, Link, Options, link, memory};

use crate::by_hand::Peer;
use crate::faults::run;
use crate::formats::Json;
use crate::nodes::{LONG, linked};

/// Not every one can be written.
#[derive(Debug, PartialEq, Deserialize, Schema)]
struct Item(u32);

const REFUSES: u32 = 1_000;
const PANICS: u32 = 1_001;

impl Serialize for Item {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            REFUSES => Err(S::Error::custom("it will not be written")),
            PANICS => panic!("it cannot be written"),
            n => to.serialize_newtype_struct("Item", &n),
        }
    }
}

#[derive(Serialize, Deserialize, Schema)]
struct Job {
    load: Vec<u8>,
    reply: Reply<u32>,
}

#[derive(Serialize, Deserialize, Schema)]
struct Order {
    reply: Reply<u32>,
    item: Item,
}

#[tidings::interface(remote)]
trait Shop {
    /// So many rows of so many references each.
    async fn rows(&self, rows: u32, each: u32) -> Streaming<Vec<ShopRef>>;
    /// Items of so many bytes.
    async fn sized(&self, sizes: Vec<u32>) -> Streaming<Vec<u8>>;
    async fn items(&self, numbers: Vec<u32>) -> Streaming<Item>;
    async fn take(&mut self, item: Item) -> u32;
    async fn order(&mut self, order: Order);
    /// Somebody is to do it: whoever takes `jobs`.
    async fn ask(&mut self, size: u32, reply: Reply<u32>);
    async fn jobs(&mut self) -> Streaming<Job>;
}

#[derive(Default)]
struct Desk(Vec<Job>);

/// All of them are there before the first is taken.
async fn backlog<T: Send + 'static>(items: impl ExactSizeIterator<Item = T>) -> Streaming<T> {
    let (replies, stream) = streaming(items.len().max(1));
    for item in items {
        replies.send(item).await.unwrap();
    }
    replies.finish();
    stream
}

impl Shop for Desk {
    async fn rows(&self, rows: u32, each: u32) -> Streaming<Vec<ShopRef>> {
        let row = vec![shop(); each as usize];
        backlog((0..rows).map(|_| row.clone())).await
    }
    async fn sized(&self, sizes: Vec<u32>) -> Streaming<Vec<u8>> {
        backlog(sizes.into_iter().map(|size| vec![7; size as usize])).await
    }
    async fn items(&self, numbers: Vec<u32>) -> Streaming<Item> {
        backlog(numbers.into_iter().map(Item)).await
    }
    async fn take(&mut self, item: Item) -> u32 {
        item.0
    }
    async fn order(&mut self, order: Order) {
        let _ = order.reply.send(order.item.0);
    }
    async fn ask(&mut self, size: u32, reply: Reply<u32>) {
        let load = vec![7; size as usize];
        self.0.push(Job { load, reply });
    }
    async fn jobs(&mut self) -> Streaming<Job> {
        let jobs = std::mem::take(&mut self.0);
        backlog(jobs.into_iter()).await
    }
}

fn shop() -> ShopRef {
    actor::start(Desk::default())
}

/// A shop here, the same over a link, and the link's ends.
async fn there(options: fn(&str) -> Options) -> (ShopRef, ShopRef, Link, Link) {
    let here = shop();
    let exports = Exports::new().add("shop", &here);
    let (server, client) = linked(options("server").exports(exports), options("client"));
    let there = client.get("shop").await.unwrap();
    (here, there, server, client)
}

fn plain(node: &str) -> Options {
    Options::new(node)
}

fn json(node: &str) -> Options {
    Options::new(node).codec(Json)
}

/// What comes, and how it ends.
async fn all<T: Send>(mut stream: Streaming<T>) -> (Vec<T>, Option<CallError>) {
    let mut all = Vec::new();
    while let Some(next) = stream.recv().timeout(LONG).await.unwrap() {
        match next {
            Ok(item) => all.push(item),
            Err(why) => return (all, Some(why)),
        }
    }
    (all, None)
}

#[test]
fn a_batch_carries_no_more_references_than_a_message_may() {
    run(1, || async {
        let (_here, there, server, _client) = there(plain).await;
        let (rows, why) = all(there.rows(64, 17).await.unwrap()).await;
        assert!(why.is_none(), "{why:?}");
        assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [17; 64]);
        let (rows, why) = all(there.rows(3, 1024).await.unwrap()).await;
        assert_eq!((rows.len(), why.is_none()), (3, true));
        // Nothing was given up on the way.
        assert_eq!(server.stats().await.unsendable, 0);
        // One that carries more by itself ends the stream.
        let (rows, why) = all(there.rows(1, 1025).await.unwrap()).await;
        assert_eq!(rows.len(), 0);
        assert!(matches!(why, Some(CallError::Refused(_))), "{why:?}");
    });
}

#[test]
fn what_stands_before_an_item_that_cannot_be_written_comes() {
    for bad in [REFUSES, PANICS] {
        for options in [plain, json as fn(&str) -> Options] {
            run(2, || async move {
                let (_here, there, ..) = there(options).await;
                for good in [0, 1, 10, 63] {
                    let numbers = (0..good).chain([bad]).chain(0..20).collect();
                    let (items, why) = all(there.items(numbers).await.unwrap()).await;
                    assert_eq!(items, (0..good).map(Item).collect::<Vec<_>>());
                    assert!(matches!(why, Some(CallError::Refused(_))), "{why:?}");
                }
            });
        }
    }
}

#[test]
fn a_batch_is_no_larger_than_the_peer_takes() {
    fn small(node: &str) -> Options {
        plain(node).limits(Limits {
            message: 16 << 10,
            ..Limits::default()
        })
    }
    run(3, || async {
        let (_here, there, server, _client) = there(small).await;
        let sizes = vec![1 << 10; 64];
        let (items, why) = all(there.sized(sizes).await.unwrap()).await;
        assert!(why.is_none(), "{why:?}");
        assert_eq!(items.len(), 64);
        assert_eq!(server.stats().await.unsendable, 0);
        let sizes = vec![1 << 10, 1 << 10, 20 << 10, 1 << 10];
        let (items, why) = all(there.sized(sizes).await.unwrap()).await;
        assert_eq!(items.len(), 2);
        assert!(why.unwrap().to_string().contains("too large"));
        assert_eq!(server.stats().await.unsendable, 1);
    });
}

#[test]
fn replies_in_items_that_were_written_anew_are_answered() {
    run(4, || async {
        let (here, there, ..) = there(plain).await;
        let asked: Vec<_> = (1..=20)
            .map(|n| {
                let here = here.clone();
                tidings::spawn(async move { here.ask(n * 1000).await })
            })
            .collect();
        tidings::after(std::time::Duration::from_secs(1)).await;
        let (jobs, why) = all(there.jobs().await.unwrap()).await;
        assert!(why.is_none(), "{why:?}");
        assert_eq!(jobs.len(), 20);
        for job in jobs {
            job.reply.send(job.load.len() as u32 / 1000).unwrap();
        }
        let mut sum = 0;
        for mut answer in asked {
            sum += answer.join().timeout(LONG).await.unwrap().unwrap().unwrap();
        }
        assert_eq!(sum, 210);
    });
}

#[test]
fn a_stream_that_has_broken_off_is_complete_when_it_is_asked_again() {
    run(5, || async {
        let here = shop();
        let (near, far) = memory::pipe();
        let options = plain("server").exports(Exports::new().add("shop", &here));
        let (_link, driver) = link(near, options);
        tidings::spawn(driver);
        let mut peer = Peer::new(far, Limits::default());
        peer.up().await;
        peer.session.pong(0, Instant::now());
        let shop = peer.asks(1, "shop", "Shop").await;
        let interface = tidings::remote::interface::<ShopMessage>();
        let items = interface.methods().iter().find(|it| it.name() == "items");
        let items = items.unwrap().number();
        let numbers = (vec![1, REFUSES, 2, 3],);
        let (carried, _) = ask(&mut peer, shop, items, &numbers).await.unwrap();
        let [Carried::Mine(stream)] = carried[..] else {
            panic!("{carried:?}");
        };
        let next = fnv("Streaming.next(u32)->[T]");
        let first = ask(&mut peer, stream, next, &(64_u32,)).await.unwrap();
        assert_eq!(first.1, [1, 1]);
        let second = ask(&mut peer, stream, next, &(64_u32,)).await;
        assert!(matches!(second, Err(Failure::Refused(_))), "{second:?}");
        for _ in 0..2 {
            let complete = ask(&mut peer, stream, next, &(64_u32,)).await.unwrap();
            assert_eq!(complete.1, [0]);
        }
    });
}

/// The number of a method, as PROTOCOL.md says.
fn fnv(shape: &str) -> u32 {
    shape.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// Calls, and waits for what the answer carries, and says.
async fn ask<A: Serialize>(
    peer: &mut Peer,
    target: u32,
    method: u32,
    arguments: &A,
) -> Result<(Vec<Carried>, Vec<u8>), Failure> {
    let mut body = Vec::new();
    tidings::remote::encode(arguments, &mut body).unwrap();
    let session = &mut peer.session;
    let call = session.begin_call().unwrap();
    session.call(call, target, method, None, vec![], &mut body.clone());
    let answer = |came: Incoming<'_>| match came {
        Incoming::Answer { outcome, body, .. } => {
            Some(outcome.map(|carried| (carried, body.into_owned())))
        }
        _ => None,
    };
    peer.until(answer).await
}

#[test]
fn a_message_that_panics_as_it_is_written_ends_its_reference_and_its_caller_hears_why() {
    run(2, || async {
        let (_here, there, ..) = there(plain).await;
        assert_eq!(there.take(Item(7)).await.unwrap(), 7);
        let panicked = there.take(Item(PANICS)).await.unwrap_err();
        let CallError::Ended(Exit::Panicked(text)) = panicked else {
            panic!("{panicked}");
        };
        assert_eq!(&*text, "it cannot be written");
        let late = there.take(Item(7)).await.unwrap_err();
        assert!(matches!(late, CallError::NotExecuted(_)), "{late}");
    });
}

#[test]
fn what_a_message_carries_whose_writing_panics_is_taken_back() {
    run(21, || async {
        let (_here, there, _server, _client) = there(plain).await;
        let orders = actor::spawn(|mut mailbox: Mailbox<Reply<u32>>| async move {
            while let Ok(reply) = mailbox.recv().await {
                let item = Item(PANICS);
                there.order(Order { reply, item }).await.unwrap();
            }
        });
        let why = orders.call(|reply| reply).timeout(LONG).await.unwrap_err();
        assert!(matches!(why, CallError::Refused(_)), "{why}");
    });
}

#[test]
fn of_a_reply_that_went_with_an_answer_it_is_not_known_what_became_when_the_link_ends() {
    run(22, || async {
        let (here, there, server, _client) = there(plain).await;
        let asked = tidings::spawn(async move { here.ask(7).await });
        let kept = loop {
            let mut jobs = there.jobs().await.unwrap();
            // It may not have been asked yet.
            if let Some(job) = jobs.recv().timeout(LONG).await.unwrap() {
                break job.unwrap();
            }
        };
        server.close();
        let why = asked.await.unwrap().unwrap_err();
        let unknown = matches!(why, CallError::Ended(Exit::Disconnected(_)));
        assert!(unknown, "{why}");
        drop(kept);
    });
}
