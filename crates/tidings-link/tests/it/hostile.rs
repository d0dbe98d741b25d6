//! Frames that are nearly right, by the hundred thousand: no panic, and nobody else notices.
//!
//! They are the published ones, each changed a little. `fuzz/fuzz_targets/link.rs` looks for new paths;
//! this is the same on every run.

use std::collections::BTreeMap;

use futures::{AsyncReadExt, AsyncWriteExt};
use serde::{Deserialize, Serialize};
use tidings::Schema;
use tidings::actor::{self, Mailbox, Reply, Streaming};
use tidings::time::Instant;
use tidings_link::{Broken, Exports, Identity, Incoming, Limits, Options, Session, link, memory};

use crate::nodes::pair_with;

/// The published frames.
fn frames() -> Vec<Vec<u8>> {
    let vectors: serde_json::Value =
        serde_json::from_str(include_str!("../../vectors.json")).unwrap();
    let frames = vectors["frames"].as_array().unwrap().iter();
    let bytes = frames.map(|frame| bytes(frame["bytes"].as_str().unwrap()));
    bytes.collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks_exact(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    pairs.map(byte).collect()
}

/// Xorshift (Marsaglia 2003).
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % n
    }

    fn one<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// A number that is likely to be a limit of something.
    fn byte(&mut self) -> u8 {
        let any = self.below(256).to_le_bytes()[0];
        *self.one(&[0, 1, 2, 0x7f, 0x80, 0xff, any, any])
    }

    /// A frame of these, a little changed behind the first `keep` bytes of its content.
    fn change(&mut self, frames: &[Vec<u8>], keep: impl Fn(usize) -> usize) -> Vec<u8> {
        let mut rest = self.one(frames)[4..].to_vec();
        let keep = keep(rest.len());
        for _ in 0..=self.below(3) {
            let at = keep + self.below((rest.len() - keep).max(1));
            match self.below(8) {
                0..=3 => rest[at] = self.byte(),
                4 => rest.truncate(at.max(1)),
                5 => rest.insert(at, self.byte()),
                6 => {
                    let other = &self.one(frames)[4..];
                    rest.truncate(at.max(1));
                    rest.extend_from_slice(&other[at.min(other.len())..]);
                }
                // A number of as many bits as there may be, and more.
                _ => drop(rest.splice(at..at, [0xff; 9].into_iter().chain([1]))),
            }
            if rest.len() <= keep {
                break;
            }
        }
        rest
    }

    /// A frame of these, a little changed; in one of eight its length is wrong, too.
    fn malform(&mut self, frames: &[Vec<u8>]) -> Vec<u8> {
        let rest = self.change(frames, |_| 0);
        let wrong = self.below(8) == 0;
        let length = if wrong { self.below(300) } else { rest.len() };
        framed(length, &rest)
    }

    /// As above, with a header that is likely to be as it was.
    fn malform_body(&mut self, frames: &[Vec<u8>]) -> Vec<u8> {
        let rest = self.change(frames, |length| length / 2);
        framed(rest.len(), &rest)
    }
}

fn framed(length: usize, rest: &[u8]) -> Vec<u8> {
    let mut frame = u32::try_from(length).unwrap().to_le_bytes().to_vec();
    frame.extend_from_slice(rest);
    frame
}

fn identity(node: &str) -> Identity {
    Identity {
        node: node.to_owned(),
        incarnation: 1,
        cluster: "test".to_owned(),
        codec: "postcard".to_owned(),
    }
}

/// All that it has to write.
fn output(session: &mut Session) -> Vec<u8> {
    let mut all = Vec::new();
    while !session.output().is_empty() {
        let next = session.output().to_vec();
        session.written(next.len());
        all.extend(next);
    }
    all
}

/// Gives it bytes; it does what the driver of a link would.
fn feed(session: &mut Session, mut bytes: &[u8], now: Instant) -> Result<(), Broken> {
    while let Some((taken, incoming)) = session.receive(bytes, now)? {
        bytes = &bytes[taken..];
        match incoming {
            Some(Incoming::Request {
                call, target, body, ..
            }) => {
                if let Some(call) = call
                    && session.serve(call)?
                {
                    session.answer(call, Ok(vec![]), &mut body.to_vec());
                }
                session.taken(target, body.len());
            }
            Some(Incoming::Ping(at)) => session.pong(at, now),
            _ => {}
        }
    }
    Ok(())
}

#[test]
fn a_million_malformed_frames_end_their_links_and_nothing_else() {
    let frames = frames();
    let now = Instant::now();
    let greeting = output(&mut Session::new(
        &identity("other"),
        Limits::default(),
        now,
    ));
    let fresh = || {
        let mut session = Session::new(&identity("one"), Limits::default(), now);
        feed(&mut session, &greeting, now).unwrap();
        // Calls of its own, which the frames may answer.
        for _ in 0..3 {
            let call = session.begin_call().unwrap();
            session.call(call, 0, 7, None, vec![], &mut vec![1, 2, 3]);
        }
        session
    };
    let mut chance = Chance(0x7469_6469_6e67);
    let mut ends = BTreeMap::new();
    let mut session = fresh();
    for _ in 0..1_000_000 {
        let frame = chance.malform(&frames);
        if let Err(why) = feed(&mut session, &frame, now) {
            let why = match why {
                Broken::Protocol(what) => what.to_owned(),
                Broken::Refused(_) | Broken::RefusedByPeer(_) => "refused".to_owned(),
                other => other.to_string(),
            };
            *ends.entry(why).or_insert(0_u32) += 1;
            session = fresh();
        }
        output(&mut session);
    }
    let links: u32 = ends.values().sum();
    assert!((500_000..900_000).contains(&links), "{ends:#?}");
    // They came to where each of these is looked at.
    for why in [
        "a header is malformed",
        "a frame of unknown kind",
        "only bodies come in parts",
        "a part of no message",
        "an answer to no call",
        "credit for what was not sent",
        "refused",
    ] {
        assert!(ends.contains_key(why), "{why}: {ends:#?}");
    }
}

#[derive(Serialize, Deserialize, Schema)]
enum Part {
    Text(String),
    Number(Option<u64>),
    Ask(Reply<u32>),
    Here(WardRef),
    Parts(Vec<Self>),
}

#[tidings::interface(remote)]
trait Ward {
    async fn take(&mut self, parts: Vec<Part>);
    async fn count(&mut self, parts: Vec<Part>) -> u64;
    async fn numbers(&self, to: u32) -> Streaming<u32>;
    async fn sum(&self, numbers: Streaming<u32>) -> u64;
}

/// Looks at all that it is given, and keeps nothing.
struct Looks;

fn count(parts: Vec<Part>) -> u64 {
    let each = parts.into_iter().map(|part| match part {
        Part::Text(text) => text.len() as u64,
        Part::Number(number) => number.map_or(0, |_| 1),
        Part::Ask(reply) => reply.send(1).map_or(0, |()| 1),
        Part::Here(other) => other.id().min(1),
        Part::Parts(parts) => count(parts),
    });
    each.sum()
}

impl Ward for Looks {
    async fn take(&mut self, parts: Vec<Part>) {
        count(parts);
    }
    async fn count(&mut self, parts: Vec<Part>) -> u64 {
        count(parts)
    }
    async fn numbers(&self, to: u32) -> Streaming<u32> {
        let (replies, stream) = actor::streaming(8);
        tidings::spawn(async move {
            for n in 0..to.min(100) {
                if replies.send(n).await.is_err() {
                    return;
                }
            }
            replies.finish();
        });
        stream
    }
    async fn sum(&self, numbers: Streaming<u32>) -> u64 {
        // Of a hostile peer none may ever come.
        drop(numbers);
        7
    }
}

/// What a client writes that asks for the ward and speaks to it, in frames.
async fn recorded(exports: Exports) -> Vec<Vec<u8>> {
    let (server, ours) = memory::pipe();
    let (theirs, client) = memory::pipe();
    let (_server, driver) = link(server, Options::new("server").exports(exports));
    tidings::spawn(driver);
    let (client, driver) = link(client, Options::new("client"));
    tidings::spawn(driver);
    let (mut from_server, mut to_server) = ours.split();
    let (mut from_client, mut to_client) = theirs.split();
    tidings::spawn(async move {
        let _ = futures::io::copy(&mut from_server, &mut to_client).await;
    });
    let record = tidings::spawn(async move {
        let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
        while let Ok(n @ 1..) = from_client.read(&mut buffer).await {
            all.extend_from_slice(&buffer[..n]);
            to_server.write_all(&buffer[..n]).await.unwrap();
        }
        all
    });
    let ward: WardRef = client.get("ward").await.unwrap();
    let text = || Part::Text("some words".to_owned());
    let parts = || vec![text(), Part::Parts(vec![Part::Number(Some(7)), text()])];
    ward.take(parts()).await.unwrap();
    assert_eq!(ward.count(parts()).await.unwrap(), 21);
    let asks = ward.clone();
    let asks = actor::spawn(|mut mailbox: Mailbox<Reply<u32>>| async move {
        let here: WardRef = actor::start(Looks);
        while let Ok(reply) = mailbox.recv().await {
            let all = [
                Part::Ask(reply),
                Part::Here(here.clone()),
                Part::Here(asks.clone()),
            ];
            asks.take(all.into()).await.unwrap();
        }
    });
    assert_eq!(asks.call(|reply| reply).await.unwrap(), 1);
    let mut numbers = ward.numbers(3).await.unwrap();
    while numbers.recv().await.is_some() {}
    let (replies, stream) = actor::streaming(8);
    assert_eq!(ward.sum(stream).await.unwrap(), 7);
    drop((numbers, replies, ward, asks));
    client.close();
    let mut all = &record.await.unwrap()[..];
    let mut frames = Vec::new();
    while let Some((length, _)) = all.split_first_chunk::<4>() {
        let (frame, rest) = all.split_at(4 + u32::from_le_bytes(*length) as usize);
        frames.push(frame.to_vec());
        all = rest;
    }
    frames
}

#[tidings::test]
async fn whatever_is_said_to_an_actor_by_some_links_it_serves_the_others() {
    let ward: WardRef = actor::start(Looks);
    let exports = || Exports::new().add("ward", &ward);
    let frames = recorded(exports()).await;
    assert!(frames.len() > 10, "{}", frames.len());
    let (server, client) = pair_with(exports(), Limits::default());
    let good: WardRef = client.get("ward").await.unwrap();
    let mut chance = Chance(0x7469_6469_6e67);
    let (mut malformed, mut refused) = (0, 0);
    for _ in 0..1_000 {
        let (ours, theirs) = memory::pipe();
        let options = Options::new("server").exports(exports());
        let (hostile, driver) = link(ours, options);
        tidings::spawn(driver);
        let (mut answers, mut says) = theirs.split();
        let reads = tidings::spawn(async move {
            let _ = futures::io::copy(&mut answers, &mut futures::io::sink()).await;
        });
        // As the good one began: its HELLO, and all until it had the actor.
        let begun = frames.iter().position(|frame| frame[4] == 4).unwrap();
        for frame in &frames[..begun] {
            says.write_all(frame).await.unwrap();
        }
        let (told, any) = (&frames[begun..=begun], &frames[begun..]);
        for n in 0..30 {
            let frame = match n {
                ..10 => chance.malform_body(told),
                _ => chance.malform(any),
            };
            // It may have been ended by now.
            if says.write_all(&frame).await.is_err() {
                break;
            }
        }
        drop(says);
        reads.abort();
        let why = hostile.down().await;
        refused += u32::from(matches!(why, Broken::Protocol(_)));
        malformed += hostile.stats().await.malformed;
        assert_eq!(
            good.count(vec![Part::Text("all is well".into())])
                .await
                .unwrap(),
            11
        );
    }
    // They were read so far that both bodies and headers were found to be wrong.
    assert!(malformed > 100 && refused > 100, "{malformed} {refused}");
    assert_eq!(server.stats().await.malformed, 0);
}
