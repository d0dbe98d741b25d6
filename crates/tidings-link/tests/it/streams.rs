//! Answers of many parts, over a link: order, room, and who hears of their end.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tidings::Event;
use tidings::actor::{self, CallError, Exit, Replies, Streaming, streaming};
use tidings::remote::{Bytes, Describe, Schema};
use tidings_link::{Broken, Exports, GetError, Grant, Limits, Link, Options, Unbound};

use crate::faults::run;
use crate::formats::Json;
use crate::nodes::{LONG, linked};

#[tidings::interface(remote)]
trait Feed {
    /// What is published from now on.
    async fn subscribe(&mut self) -> Streaming<String>;
    async fn publish(&mut self, text: String) -> usize;
    async fn close(&mut self) -> ();
    async fn fail(&mut self);
    async fn count(&self, to: u32, room: u32) -> Streaming<u32>;
    /// Items of so many bytes.
    async fn large(&self, sizes: Vec<u32>) -> Streaming<Vec<u8>>;
    async fn others(&self) -> Streaming<FeedRef>;
    /// One that comes from the caller.
    async fn sum(&self, numbers: Streaming<u32>) -> Result<u64, String>;
    async fn same(&self, numbers: Streaming<u32>) -> Streaming<u32>;
}

struct Topic {
    open: Vec<Replies<String>>,
    /// Hears how many items were sent of each stream that its caller left.
    left: tidings::Sender<u32>,
}

fn filled<T: Send + 'static>(
    room: usize,
    items: impl Iterator<Item = T> + Send + 'static,
) -> Streaming<T> {
    let (replies, stream) = streaming(room);
    tidings::spawn(async move {
        for item in items {
            if replies.send(item).await.is_err() {
                return;
            }
        }
        replies.finish();
    });
    stream
}

impl Feed for Topic {
    async fn subscribe(&mut self) -> Streaming<String> {
        let (replies, items) = streaming(2);
        self.open.push(replies);
        items
    }
    async fn publish(&mut self, text: String) -> usize {
        self.open.retain(|replies| !replies.is_closed());
        for replies in &self.open {
            let _ = replies.send(text.clone()).await;
        }
        self.open.len()
    }
    async fn close(&mut self) {
        self.open.drain(..).for_each(Replies::finish);
    }
    async fn fail(&mut self) {
        panic!("the feed breaks");
    }
    async fn count(&self, to: u32, room: u32) -> Streaming<u32> {
        let (replies, stream) = streaming(room as usize);
        let left = self.left.clone();
        tidings::spawn(async move {
            for n in 0..to {
                if replies.send(n).await.is_err() {
                    left.send(n).await.unwrap();
                    return;
                }
            }
            replies.finish();
        });
        stream
    }
    async fn large(&self, sizes: Vec<u32>) -> Streaming<Vec<u8>> {
        filled(64, sizes.into_iter().map(|size| vec![7; size as usize]))
    }
    async fn others(&self) -> Streaming<FeedRef> {
        filled(2, (0..3).map(|_| feed().0))
    }
    async fn sum(&self, mut numbers: Streaming<u32>) -> Result<u64, String> {
        let mut sum = 0;
        while let Some(n) = numbers.recv().await {
            sum += u64::from(n.map_err(|why| why.to_string())?);
        }
        Ok(sum)
    }
    async fn same(&self, numbers: Streaming<u32>) -> Streaming<u32> {
        numbers
    }
}

fn feed() -> (FeedRef, tidings::Receiver<u32>) {
    let (left, heard) = tidings::unbounded();
    let topic = Topic {
        open: Vec::new(),
        left,
    };
    (actor::start(topic), heard)
}

/// A feed on the other side of a link, what hears who left, and the links.
async fn there(options: fn(&str) -> Options) -> (FeedRef, tidings::Receiver<u32>, Link, Link) {
    let (here, left) = feed();
    let exports = Exports::new().add("feed", &here);
    let (server, client) = linked(options("server").exports(exports), options("client"));
    (client.get("feed").await.unwrap(), left, server, client)
}

fn plain(node: &str) -> Options {
    Options::new(node)
}

async fn all<T: Send>(mut stream: Streaming<T>) -> Vec<T> {
    let mut all = Vec::new();
    while let Some(item) = stream.recv().timeout(LONG).await.unwrap() {
        all.push(item.unwrap());
    }
    // Its end stays its end.
    assert!(stream.recv().timeout(LONG).await.unwrap().is_none());
    all
}

#[test]
fn a_stream_comes_whole_and_in_order_under_a_hundred_schedules_in_any_format() {
    for seed in 0..100 {
        run(seed, || async move {
            let json = |node: &str| Options::new(node).codec(Json);
            let options: fn(&str) -> Options = if seed % 4 == 0 { json } else { plain };
            let (feed, ..) = there(options).await;
            for (to, room) in [(0, 1), (1, 1), (300, 1), (300, 3), (500, 1000)] {
                let numbers = feed.count(to, room).await.unwrap();
                assert_eq!(all(numbers).await, (0..to).collect::<Vec<_>>());
            }
            // Several at once, and calls beside them.
            let first = feed.count(100, 7).await.unwrap();
            let mut subscribed = feed.subscribe().await.unwrap();
            let second = feed.count(100, 7).await.unwrap();
            assert_eq!(feed.publish("one".to_owned()).await.unwrap(), 1);
            assert_eq!(feed.publish("two".to_owned()).await.unwrap(), 1);
            feed.close().await.unwrap();
            assert_eq!(all(second).await.len(), 100);
            assert_eq!(all(first).await.len(), 100);
            assert_eq!(subscribed.recv().await.unwrap().unwrap(), "one");
            assert_eq!(all(subscribed).await, ["two"]);
        });
    }
}

#[test]
fn streams_travel_both_ways_and_through_and_carry_references() {
    run(1, || async {
        let (feed, ..) = there(plain).await;
        assert_eq!(feed.sum(filled(3, 0..1000)).await.unwrap(), Ok(499_500));
        let through = feed.same(filled(3, 0..500)).await.unwrap();
        assert_eq!(all(through).await, (0..500).collect::<Vec<_>>());
        let others = all(feed.others().await.unwrap()).await;
        assert_eq!(others.len(), 3);
        assert_ne!(others[0], others[1]);
        let mut heard = others[2].subscribe().await.unwrap();
        others[2].publish("here".to_owned()).await.unwrap();
        assert_eq!(heard.recv().await.unwrap().unwrap(), "here");
        // One that the caller breaks off is heard there, and its reason.
        let (replies, broken) = streaming::<u32>(1);
        drop(replies);
        let why = feed.sum(broken).await.unwrap().unwrap_err();
        assert_eq!(why, CallError::NoReply.to_string());
    });
}

mod changed {
    //! The same interface, as it was before the items were others.

    #[tidings::interface(remote)]
    pub(super) trait Feed {
        async fn count(&self, to: u32, room: u32) -> super::Streaming<u64>;
    }
}

#[test]
fn a_method_whose_items_changed_is_another_method() {
    run(6, || async {
        let (.., _server, client) = there(plain).await;
        let refused = client.get::<changed::FeedRef>("feed").await.unwrap_err();
        let (name, why) = ("feed".to_owned(), Unbound::Schema("count".to_owned()));
        assert_eq!(refused, GetError::Refused { name, why });
        // As PROTOCOL.md writes them, for those who are no program in Rust.
        let shapes = tidings::remote::interface::<FeedMessage>().to_string();
        assert!(shapes.contains("Feed.count(u32,u32)->*u32"), "{shapes}");
        assert!(
            shapes.contains("Feed.sum(*u32)->Result<u64|str>"),
            "{shapes}"
        );
    });
}

#[test]
fn items_that_are_large_go_one_by_one() {
    run(2, || async {
        let (feed, _, server, _client) = there(plain).await;
        let sizes = [10, 40_000, 1_000_000, 20_000, 20_000, 1_000_000, 1, 2];
        let items = all(feed.large(sizes.to_vec()).await.unwrap()).await;
        assert_eq!(
            items.iter().map(Vec::len).collect::<Vec<_>>(),
            sizes.map(|size| size as usize)
        );
        // What had to be written anew was sent once.
        let stats = server.stats().await;
        assert_eq!(stats.unsendable, 0);
        // One that is larger than any message ends the stream.
        let mut items = feed.large(vec![1, 2_000_000, 1]).await.unwrap();
        assert_eq!(items.recv().await.unwrap().unwrap(), [7]);
        let why = items.recv().await.unwrap().unwrap_err();
        assert!(why.to_string().contains("too large"), "{why}");
        assert!(items.recv().await.is_none());
    });
}

/// Counts how often it is written.
struct Chunk(Bytes, Arc<AtomicUsize>);

impl Schema for Chunk {
    fn describe(to: &mut Describe) {
        Bytes::describe(to);
    }
}

impl Serialize for Chunk {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.1.fetch_add(1, Relaxed);
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Chunk {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self(Bytes::deserialize(from)?, Arc::default()))
    }
}

#[tidings::interface(remote)]
trait Store {
    /// A hundred of so many bytes.
    async fn chunks(&self, size: u32, room: u32) -> Streaming<Chunk>;
}

#[derive(Default)]
struct Shelf {
    made: Arc<AtomicUsize>,
    written: Arc<AtomicUsize>,
}

impl Store for Shelf {
    async fn chunks(&self, size: u32, room: u32) -> Streaming<Chunk> {
        let (made, written) = (Arc::clone(&self.made), Arc::clone(&self.written));
        let chunk = move |_| {
            made.fetch_add(1, Relaxed);
            Chunk(Bytes(vec![7; size as usize]), Arc::clone(&written))
        };
        filled(room as usize, (0..100).map(chunk))
    }
}

#[test]
fn what_a_stream_costs_is_in_proportion_to_what_is_taken_of_it() {
    for (size, times) in [(60_000, 1), (20_000, 3), (10_000, 3), (100, 3)] {
        run(8, move || async move {
            let shelf = Shelf::default();
            let (made, written) = (Arc::clone(&shelf.made), Arc::clone(&shelf.written));
            let here: StoreRef = actor::start(shelf);
            let exports = Exports::new().add("store", &here);
            let server = Options::new("server").exports(exports);
            let (_server, client) = linked(server, Options::new("client"));
            let there: StoreRef = client.get("store").await.unwrap();
            // The filler is far ahead of who takes.
            let chunks = all(there.chunks(size, 100).await.unwrap()).await;
            assert_eq!(chunks.len(), 100);
            let all = written.load(Relaxed);
            assert!(all <= times * 100, "{size}: {all}");
            // And it does not get ahead where the stream has no room.
            made.store(0, Relaxed);
            let mut chunks = there.chunks(size, 3).await.unwrap();
            drop(chunks.recv().await.unwrap().unwrap());
            tidings::after(Duration::from_secs(3)).await;
            // One was taken, 64 wait here and one for room, and there are three, one for room and one
            // that did not go into the last answer.
            let made = made.load(Relaxed);
            assert!(made <= 1 + 64 + 64 + 3 + 2, "{size}: {made}");
        });
    }
}

#[test]
fn who_fills_a_stream_waits_for_who_takes_its_items_and_hears_that_he_has_gone() {
    run(3, || async {
        let (feed, left, server, client) = there(plain).await;
        let mut numbers = feed.count(u32::MAX, 4).await.unwrap();
        assert_eq!(numbers.recv().await.unwrap().unwrap(), 0);
        // Nothing runs any more but this.
        tidings::after(Duration::from_secs(3)).await;
        drop(numbers);
        let sent = left.recv().timeout(LONG).await.unwrap().unwrap();
        // 64 wait here, 64 have come, and 4 and one are there, and one that has been taken.
        assert!((66..=1 + 64 + 64 + 4 + 2).contains(&sent), "{sent}");
        // Also one that nothing comes from.
        let silent = feed.subscribe().await.unwrap();
        tidings::after(Duration::from_secs(1)).await;
        drop(silent);
        tidings::after(Duration::from_secs(1)).await;
        assert_eq!(feed.publish("nobody".to_owned()).await.unwrap(), 0);
        // And one that is sent, and never looked at.
        drop(feed.count(1000, 1));
        drop(feed.count(1000, 1).await.unwrap());
        left.recv().timeout(LONG).await.unwrap().unwrap();
        // Nothing of them is left that would keep the link.
        let (down, state) = tidings::oneshot();
        tidings::spawn(async move { down.send(server.down().await) });
        drop((feed, client));
        let why = state.into_recv().timeout(LONG).await.unwrap().unwrap();
        assert_eq!(why, Broken::Drained);
    });
}

#[test]
fn streams_that_nothing_comes_from_take_no_credit() {
    run(5, || async {
        let few = |node: &str| {
            Options::new(node).limits(Limits {
                link_window: Grant {
                    messages: 4,
                    bytes: 1000,
                },
                ..Limits::default()
            })
        };
        let (feed, ..) = there(few).await;
        let mut streams = Vec::new();
        for _ in 0..20 {
            streams.push(feed.subscribe().timeout(LONG).await.unwrap());
        }
        let all = feed.publish("news".to_owned()).timeout(LONG).await;
        assert_eq!(all.unwrap(), 20);
        for stream in &mut streams {
            let item = stream.recv().timeout(LONG).await.unwrap().unwrap();
            assert_eq!(item.unwrap(), "news");
        }
    });
}

/// The next item says why there are no more.
async fn breaks_off<T: Send + fmt::Debug>(stream: &mut Streaming<T>) -> CallError {
    let next = stream.recv().timeout(LONG).await;
    next.unwrap().unwrap().unwrap_err()
}

#[test]
fn a_stream_that_breaks_off_says_why_also_when_the_link_does() {
    run(4, || async {
        let (feed, _, server, _client) = there(plain).await;
        let mut panicked = feed.subscribe().await.unwrap();
        feed.publish("last".to_owned()).await.unwrap();
        feed.fail().await.unwrap();
        assert_eq!(panicked.recv().await.unwrap().unwrap(), "last");
        let why = breaks_off(&mut panicked).await;
        assert!(
            matches!(&why, CallError::Ended(Exit::Panicked(text)) if text.to_string() == "the feed breaks"),
            "{why:?}"
        );
        assert!(panicked.recv().await.is_none());

        let (feed, left, server_of_other, _other) = there(plain).await;
        let mut cut = feed.count(u32::MAX, 1).await.unwrap();
        let mut waits = feed.subscribe().await.unwrap();
        assert_eq!(cut.recv().await.unwrap().unwrap(), 0);
        server_of_other.close();
        let why = breaks_off(&mut waits).await;
        assert!(
            matches!(&why, CallError::Ended(Exit::Disconnected(_))),
            "{why:?}"
        );
        let last = loop {
            match cut.recv().timeout(LONG).await.unwrap().unwrap() {
                Ok(_) => {}
                Err(why) => break why,
            }
        };
        assert!(
            matches!(&last, CallError::Ended(Exit::Disconnected(_))),
            "{last:?}"
        );
        // Who filled it hears of it.
        left.recv().timeout(LONG).await.unwrap().unwrap();
        drop(server);
    });
}
