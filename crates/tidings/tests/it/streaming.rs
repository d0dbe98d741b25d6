//! Answers of many parts: bounds, ends, and who hears of them.

use futures::StreamExt;

use crate::both::{on_all, on_all_unheard, on_pools};
use crate::letter::Ledger;
use tidings::actor::{self, CallError, Exit, Replies, Reply, Shared, Streaming, streaming};
use tidings::{Event, always, select, unbounded, yield_now};

#[tidings::interface]
trait Feed {
    /// What is published from now on.
    async fn subscribe(&mut self) -> Streaming<u32>;
    async fn publish(&mut self, n: u32) -> usize;
    async fn close(&mut self) -> ();
    async fn fail(&mut self);
    /// A stream that the handler itself fills.
    async fn count(this: Shared<Self>, to: u32) -> Streaming<u32>;
}

#[derive(Default)]
struct Topic(Vec<Replies<u32>>);

impl Feed for Topic {
    async fn subscribe(&mut self) -> Streaming<u32> {
        let (replies, items) = streaming(2);
        self.0.push(replies);
        items
    }
    async fn publish(&mut self, n: u32) -> usize {
        self.0.retain(|replies| !replies.is_closed());
        for replies in &self.0 {
            let _ = replies.send(n).await;
        }
        self.0.len()
    }
    async fn close(&mut self) {
        self.0.drain(..).for_each(Replies::finish);
    }
    async fn fail(&mut self) {
        panic!("no more news");
    }
    async fn count(this: Shared<Self>, to: u32) -> Streaming<u32> {
        let (replies, items) = streaming(1);
        this.spawn(async move {
            for n in 0..to {
                if replies.send(n).await.is_err() {
                    return;
                }
            }
            replies.finish();
        });
        items
    }
}

fn cause(item: Option<Result<u32, CallError>>) -> CallError {
    item.expect("an item").expect_err("a cause")
}

#[test]
fn subscribers_get_what_is_published_until_it_is_complete() {
    on_all(|| async {
        let feed: FeedRef = actor::start(Topic::default());
        let (mut a, mut b) = (
            feed.subscribe().await.unwrap(),
            feed.subscribe().await.unwrap(),
        );
        assert_eq!(feed.publish(1).await.unwrap(), 2);
        assert_eq!(feed.publish(2).await.unwrap(), 2);
        assert_eq!(a.recv().await.unwrap().unwrap(), 1);
        drop(b.recv().await);
        drop(b);
        assert_eq!(feed.publish(3).await.unwrap(), 1);
        feed.close().await.unwrap();
        let rest: Vec<_> = a.into_stream().map(Result::unwrap).collect().await;
        assert_eq!(rest, [2, 3]);
    });
}

#[test]
fn a_stream_holds_as_many_as_it_says() {
    on_all(|| async {
        let ledger = Ledger::default();
        let (replies, mut items) = streaming(2);
        replies.send(ledger.letter(1)).await.unwrap();
        replies.send(ledger.letter(2)).await.unwrap();
        let third = replies.send(ledger.letter(3)).try_now().unwrap_err();
        assert_eq!(items.recv().await.unwrap().unwrap().n, 1);
        replies.send(third).await.unwrap();
        // A wait that loses leaves the item.
        select! {
            biased;
            () = always(()) => {}
            _ = items.recv() => panic!("it comes second"),
        }
        assert_eq!(items.recv().await.unwrap().unwrap().n, 2);
        replies.finish();
        assert_eq!(items.recv().await.unwrap().unwrap().n, 3);
        assert!(items.recv().await.is_none());
        assert!(items.recv().await.is_none());
        assert_eq!(ledger.alive(), 0);
    });
}

#[test]
fn a_handler_hears_that_its_caller_has_gone() {
    on_all(|| async {
        let (replies, items) = streaming(1);
        replies.send(1).await.unwrap();
        let waits = tidings::spawn(async move {
            let unsent = replies.send(2).await.unwrap_err();
            assert_eq!(unsent.0, 2);
            replies.closed().await;
        });
        yield_now().await;
        drop(items);
        waits.await.unwrap();

        // Also when the answer with the stream in it found nobody.
        let (told, heard) = unbounded();
        let actor = actor::spawn(move |mut mailbox| async move {
            while let Ok(reply) = mailbox.recv().await {
                let reply: Reply<Streaming<u8>> = reply;
                reply.closed().await;
                let (replies, items) = streaming(1);
                assert!(reply.send(items).is_err());
                replies.closed().await;
                told.send(()).await.unwrap();
            }
        });
        let soon = std::time::Duration::from_millis(1);
        assert!(actor.call(|reply| reply).timeout(soon).await.is_err());
        heard.recv().await.unwrap();
    });
}

#[test]
fn a_caller_hears_why_a_stream_breaks_off() {
    on_all_unheard(|| async {
        // A panic of the actor that keeps the other end in its state.
        let feed: FeedRef = actor::start(Topic::default());
        let mut items = feed.subscribe().await.unwrap();
        feed.publish(1).await.unwrap();
        feed.fail().await.unwrap();
        feed.down().await;
        assert_eq!(items.recv().await.unwrap().unwrap(), 1);
        match cause(items.recv().await) {
            CallError::Ended(Exit::Panicked(why)) => assert_eq!(&*why, "no more news"),
            other => panic!("{other:?}"),
        }
        assert!(items.recv().await.is_none());

        // A panic of the handler that holds it.
        let actor = actor::spawn(|mut mailbox| async move {
            let reply: Reply<Streaming<u32>> = mailbox.recv().await.unwrap();
            let (_replies, items) = streaming(1);
            let _ = reply.send(items);
            yield_now().await;
            panic!("half way");
        });
        let mut items = actor.call(|reply| reply).await.unwrap();
        let why = cause(items.recv().await);
        assert!(
            matches!(why, CallError::Ended(Exit::Panicked(_))),
            "{why:?}"
        );

        // A kill.
        let feed: FeedRef = actor::start(Topic::default());
        let mut items = feed.subscribe().await.unwrap();
        feed.kill();
        let why = cause(items.recv().await);
        assert!(matches!(why, CallError::Ended(Exit::Killed)), "{why:?}");

        // A drop without a word, also by the panic of a task that is no actor.
        let (replies, items) = streaming::<u32>(1);
        drop(replies);
        let all: Vec<_> = items.into_stream().collect().await;
        assert!(matches!(all[..], [Err(CallError::NoReply)]), "{all:?}");
        let (replies, mut items) = streaming(1);
        tidings::spawn(async move {
            replies.send(1).await.unwrap();
            panic!("nobody's");
        });
        assert_eq!(items.recv().await.unwrap().unwrap(), 1);
        assert!(matches!(cause(items.recv().await), CallError::NoReply));
    });
}

#[test]
fn a_handler_fills_its_stream_beside_others() {
    on_all(|| async {
        let feed: FeedRef = actor::start(Topic::default());
        let mut slow = feed.count(100).await.unwrap();
        assert_eq!(slow.recv().await.unwrap().unwrap(), 0);
        // The first is full, and waits.
        let all: Vec<_> = feed.count(50).await.unwrap().into_stream().collect().await;
        assert_eq!(all.len(), 50);
        assert!(all.iter().all(Result::is_ok));
        drop(slow);
        feed.stop();
        assert!(feed.down().await.is_orderly());
    });
}

#[test]
fn items_are_taken_dropped_or_given_back_whoever_goes_first() {
    on_pools(|| async {
        for round in 0..200 {
            let ledger = Ledger::default();
            let (replies, mut items) = streaming(3);
            let letters: Vec<_> = (0..20).map(|n| ledger.letter(n)).collect();
            let sends = tidings::spawn(async move {
                for letter in letters {
                    if replies.send(letter).await.is_err() {
                        return;
                    }
                    if round % 3 == 0 {
                        yield_now().await;
                    }
                }
                replies.finish();
            });
            let takes = tidings::spawn(async move {
                for n in 0..round % 25 {
                    match items.recv().await {
                        Some(item) => assert_eq!(item.unwrap().n, n),
                        None => assert_eq!(n, 20),
                    }
                    if n == 20 {
                        break;
                    }
                }
            });
            sends.await.unwrap();
            takes.await.unwrap();
            assert_eq!(ledger.alive(), 0);
        }
    });
}
