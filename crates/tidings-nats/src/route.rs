//! A link between two nodes that cannot reach each other: over a stream of bytes that is made of the
//! engine's messages. What a link does (schema, deadlines, credit, order), it does over this, too.
//!
//! The engine loses messages, and may double them; so they are numbered. What comes twice is left
//! out; where one is missing the stream ends, and the link with it, as if a socket had been reset. So
//! many may be under way at a time that no subscription overflows: the receiver counts what it has
//! taken out, and says so.
//!
//! Each message says when it was sent, by its sender's clock. One that was under way for a lease longer
//! than the quickest before it was held up, where a network or a process stood still: its sender has
//! given up by now, and what it asks for is not to be done. The stream ends there, too. What was known to
//! be quick counts for less as time passes ([`DRIFT`]): clocks drift, and a stream may live for months.

use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::future::{self, Either};
use futures_util::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use serde::{Deserialize, Serialize};
use tidings::sync::Semaphore;
use tidings::time::Instant;
use tidings::{CancellationToken, DropGuard, JoinHandle};
use tidings_link::memory::{Pipe, pipe};

use crate::engine::{Engine, EngineError, Message, Subscription};
use crate::record::json;

/// Messages under way in one direction.
const WINDOW: u64 = 64;

/// Bytes of one message, if the engine takes that many. NATS takes up to a mebibyte, if nobody has set it
/// otherwise.
const FRAGMENT: usize = 32 << 10;

/// One part in so many clocks drift apart at most, and delays grow that are no standstill.
const DRIFT: u64 = 8;

/// What a message is.
const DATA: u8 = 0;
const TAKEN: u8 = 1;
const END: u8 = 2;

/// What stands before the bytes of a message: that it is [`DATA`], its number, and when it was sent.
const HEAD: usize = 1 + 8 + 8;

/// Asks a node for a stream.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Opening {
    /// Where the one who asks hears.
    to: String,
    /// Where it will speak.
    from: String,
}

/// One end of a stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) pipe: Pipe,
    /// To be dropped with the pipe. What the other end does not take within a lease after that is not sent:
    /// it may be gone, and would be waited for for ever.
    pub(crate) open: DropGuard,
    /// What moves its bytes. It ends when all that was written before the pipe was closed is with the
    /// engine.
    pub(crate) moved: JoinHandle<()>,
}

/// Where a life of a node is asked for streams.
pub(crate) fn inbox(cluster: &str, node: &str, incarnation: u64) -> String {
    format!("tidings.{cluster}.node.{node}.{incarnation:x}")
}

/// Opens a stream to a node that serves at this inbox. `id` is a number that no other stream has; what
/// comes later than others by a `lease` ends it.
pub(crate) async fn open(
    engine: &Arc<dyn Engine>,
    cluster: &str,
    inbox: &str,
    id: u64,
    within: Duration,
    lease: Duration,
) -> Result<Stream, EngineError> {
    let opening = Opening {
        to: format!("tidings.{cluster}.stream.{id:x}.back"),
        from: format!("tidings.{cluster}.stream.{id:x}.forth"),
    };
    let heard = engine.subscribe(&opening.to).await?;
    engine.request(inbox, json(&opening), within).await?;
    Ok(start(engine, heard, opening.from, lease))
}

/// The other end of a stream that somebody asks for.
pub(crate) async fn accept(
    engine: &Arc<dyn Engine>,
    message: &Message,
    lease: Duration,
) -> Result<Stream, EngineError> {
    let malformed = || EngineError::Refused("it asks for no stream".to_owned());
    let opening: Opening = serde_json::from_slice(&message.payload).map_err(|_| malformed())?;
    let reply = message.reply.as_ref().ok_or_else(malformed)?;
    let heard = engine.subscribe(&opening.from).await?;
    engine.publish(reply, Bytes::new()).await?;
    Ok(start(engine, heard, opening.to, lease))
}

/// Moves bytes between a pipe and the engine, until one of them ends.
fn start(engine: &Arc<dyn Engine>, heard: Subscription, to: String, lease: Duration) -> Stream {
    let (ours, theirs) = pipe();
    let closed = CancellationToken::new();
    let open = closed.clone().drop_guard();
    let engine = Arc::clone(engine);
    let moved = tidings::spawn(async move {
        let (read, write) = ours.split();
        let free = Semaphore::new(WINDOW as usize);
        let out = std::pin::pin!(send(&*engine, &to, read, &free, &closed, lease));
        let back = std::pin::pin!(receive(&*engine, &to, heard, write, &free, lease));
        let told = matches!(
            future::select(out, back).await,
            Either::Right((Some(()), _))
        );
        if !told {
            // The link here has ended, or a message is missing: the other end is to hear of it, or it
            // would wait for answers that cannot come.
            let _ = engine.publish(&to, Bytes::from_static(&[END])).await;
        }
    });
    Stream {
        pipe: theirs,
        open,
        moved,
    }
}

async fn send(
    engine: &dyn Engine,
    to: &str,
    mut from: impl AsyncRead + Unpin,
    free: &Semaphore,
    closed: &CancellationToken,
    lease: Duration,
) -> Option<()> {
    let room = engine.largest().saturating_sub(HEAD);
    let mut fragment = vec![0; room.clamp(1, FRAGMENT)];
    let begin = Instant::now();
    for number in 0_u64.. {
        let taken = std::pin::pin!(free.acquire(1).into_future());
        let too_late = std::pin::pin!(async {
            closed.cancelled().await;
            tidings::after(lease).await;
        });
        let Either::Left((Ok(place), _)) = future::select(taken, too_late).await else {
            return None;
        };
        place.forget();
        let n = from.read(&mut fragment).await.ok().filter(|&n| n > 0)?;
        let mut message = BytesMut::with_capacity(HEAD + n);
        message.put_u8(DATA);
        message.put_u64_le(number);
        message.put_u64_le(micros(begin.elapsed()));
        message.put_slice(&fragment[..n]);
        engine.publish(to, message.freeze()).await.ok()?;
    }
    None
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// `Some`: the other end has said that it has ended.
async fn receive(
    engine: &dyn Engine,
    to: &str,
    mut heard: Subscription,
    mut into: impl AsyncWrite + Unpin,
    free: &Semaphore,
    lease: Duration,
) -> Option<()> {
    // Taken here; taken there of what we sent.
    let (mut here, mut there) = (0, 0);
    // The clocks here and there, as far apart as the quickest message shows.
    let (begin, mut quickest) = (Instant::now(), i128::MAX);
    let mut last = begin;
    loop {
        let message = heard.next().await?.payload;
        let (&kind, rest) = message.split_first()?;
        if kind == END {
            return Some(());
        }
        let (number, bytes) = rest.split_first_chunk()?;
        let number = u64::from_le_bytes(*number);
        match kind {
            DATA if number < here => {}
            DATA if number == here => {
                let (sent, bytes) = bytes.split_first_chunk()?;
                let sent = i128::from(u64::from_le_bytes(*sent));
                let took = i128::from(micros(begin.elapsed())) - sent;
                let drifted = i128::from(micros(last.elapsed()) / DRIFT);
                quickest = took.min(quickest.saturating_add(drifted));
                last = Instant::now();
                if took - quickest > i128::from(micros(lease)) {
                    return None;
                }
                into.write_all(bytes).await.ok()?;
                here += 1;
                if here % (WINDOW / 4) == 0 {
                    let mut taken = BytesMut::with_capacity(9);
                    taken.put_u8(TAKEN);
                    taken.put_u64_le(here);
                    engine.publish(to, taken.freeze()).await.ok()?;
                }
            }
            // Counts only grow; one that is late says nothing new.
            TAKEN if number <= there => {}
            TAKEN if number - there <= WINDOW => {
                free.add_permits(usize::try_from(number - there).ok()?);
                there = number;
            }
            // A message is missing; or it is none.
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Faults, Server};
    use tidings::time::timeout;
    use tidings_sim::Sim;

    const LEASE: Duration = Duration::from_secs(3);

    /// Two ends of a stream over a server, once it is open.
    async fn two_ends(server: &Server) -> (Stream, Stream) {
        let one: Arc<dyn Engine> = Arc::new(server.connect());
        let other: Arc<dyn Engine> = Arc::new(server.connect());
        let at = inbox("c", "n", 1);
        let mut asked = other.subscribe(&at).await.unwrap();
        let accepted = tidings::spawn(async move {
            let message = asked.next().await.unwrap();
            accept(&other, &message, LEASE).await.unwrap()
        });
        let within = Duration::from_secs(5);
        let here = open(&one, "c", &at, 7, within, LEASE).await.unwrap();
        (here, accepted.await.unwrap())
    }

    fn bytes(n: usize) -> Vec<u8> {
        (0..n).map(|n| (n % 251) as u8).collect()
    }

    #[test]
    fn all_bytes_come_in_their_order_though_messages_are_doubled_and_more_than_a_window() {
        Sim::new(0).seeds(10).run(|| async {
            let server = Server::new();
            server.set_faults(Faults {
                delay: Duration::ZERO..=Duration::from_millis(3),
                double: 3,
                ..Faults::default()
            });
            let (mut here, mut there) = two_ends(&server).await;
            let sent = bytes(3 * WINDOW as usize * FRAGMENT / 2);
            let expected = sent.clone();
            let sender = tidings::spawn(async move {
                here.pipe.write_all(&sent).await.unwrap();
                here
            });
            let mut got = vec![0; expected.len()];
            there.pipe.read_exact(&mut got).await.unwrap();
            assert!(got == expected);
            drop(sender.await.unwrap());
            assert_eq!(
                there.pipe.read(&mut got).await.unwrap(),
                0,
                "and then the end"
            );
        });
    }

    #[test]
    fn a_stream_of_which_a_message_is_lost_ends_and_gives_nothing_that_came_after_it() {
        Sim::new(0).seeds(30).run(|| async {
            let server = Server::new();
            let (mut here, mut there) = two_ends(&server).await;
            server.set_faults(Faults {
                lose: 8,
                ..Faults::default()
            });
            let sent = bytes(20 * FRAGMENT);
            let expected = sent.clone();
            drop(tidings::spawn(async move {
                // Its end is heard of where something comes after what was lost.
                let _ = here.pipe.write_all(&sent).await;
                tidings::after(Duration::from_secs(1)).await;
            }));
            let mut got = Vec::new();
            let read = there.pipe.read_to_end(&mut got);
            let _ = timeout(Duration::from_secs(5), read).await;
            assert!(expected.starts_with(&got));
        });
    }

    #[test]
    fn what_was_held_up_for_a_lease_does_not_come_and_the_stream_has_ended() {
        Sim::new(0).seeds(10).run(|| async {
            let server = Server::new();
            let (mut here, mut there) = two_ends(&server).await;
            let delay = |delay| Faults {
                delay: delay..=delay,
                ..Faults::default()
            };
            for seconds in [0, 1] {
                server.set_faults(delay(Duration::from_secs(seconds)));
                here.pipe.write_all(b"in time").await.unwrap();
                let mut got = [0; 7];
                there.pipe.read_exact(&mut got).await.unwrap();
            }
            server.set_faults(delay(2 * LEASE));
            here.pipe.write_all(b"held up").await.unwrap();
            let mut byte = [0];
            for end in [&mut there, &mut here] {
                assert!(!matches!(end.pipe.read(&mut byte).await, Ok(1..)));
            }
        });
    }

    /// What a sender says whose clock goes so many tenths as fast as ours, a message each second.
    fn ticking(tenths: u64) -> Subscription {
        let message = move |number: u64| async move {
            tidings::after(Duration::from_secs(1)).await;
            let mut payload = BytesMut::new();
            payload.put_u8(DATA);
            payload.put_u64_le(number);
            payload.put_u64_le(number * 100_000 * tenths);
            payload.put_u8(7);
            let message = Message {
                subject: String::new(),
                reply: None,
                payload: payload.freeze(),
            };
            Some((message, number + 1))
        };
        Subscription::new(futures_util::stream::unfold(0, message))
    }

    #[test]
    fn clocks_that_drift_apart_end_no_stream() {
        Sim::new(0).seeds(2).run(|| async {
            for tenths in [9, 10, 11] {
                let (ours, mut theirs) = pipe();
                let moved = tidings::spawn(async move {
                    let engine = Server::new().connect();
                    let (_read, write) = ours.split();
                    let free = Semaphore::new(WINDOW as usize);
                    receive(&engine, "there", ticking(tenths), write, &free, LEASE).await
                });
                let mut got = vec![0; 20 * LEASE.as_secs() as usize];
                theirs.read_exact(&mut got).await.unwrap();
                moved.abort();
            }
        });
    }

    #[test]
    fn of_a_stream_that_has_ended_nothing_is_left_in_the_engine() {
        Sim::new(0).seeds(10).run(|| async {
            let server = Server::new();
            let before = server.subscriptions();
            let (mut here, mut there) = two_ends(&server).await;
            here.pipe.write_all(b"hello").await.unwrap();
            let mut got = [0; 5];
            there.pipe.read_exact(&mut got).await.unwrap();
            assert!(server.subscriptions() > before);
            let moved = [here.moved, there.moved];
            drop((here.pipe, here.open, there.pipe, there.open));
            for moved in moved {
                moved.await.unwrap();
            }
            assert_eq!(server.subscriptions(), before);
        });
    }

    #[test]
    fn where_a_message_is_missing_its_sender_hears_that_the_stream_has_ended() {
        Sim::new(0).seeds(10).run(|| async {
            let server = Server::new();
            let (mut here, _there) = two_ends(&server).await;
            let all = Faults {
                lose: 1,
                ..Faults::default()
            };
            server.set_faults(all);
            here.pipe.write_all(b"lost").await.unwrap();
            tidings::after(Duration::from_secs(1)).await;
            server.set_faults(Faults::default());
            here.pipe.write_all(b"comes").await.unwrap();
            let since = Instant::now();
            let mut byte = [0];
            assert!(!matches!(here.pipe.read(&mut byte).await, Ok(1..)));
            assert!(since.elapsed() < Duration::from_secs(1));
        });
    }

    #[test]
    fn a_stream_that_is_closed_ends_though_the_other_end_is_gone_and_its_window_is_used_up() {
        Sim::new(0).seeds(10).run(|| async {
            let server = Server::new();
            let (mut here, _there) = two_ends(&server).await;
            server.set_faults(Faults {
                lose: 1,
                ..Faults::default()
            });
            // Each a message: the engine takes a second for one that is lost.
            for _ in 0..2 * WINDOW {
                here.pipe.write_all(b"?").await.unwrap();
                tidings::after(Duration::from_secs(2)).await;
            }
            let Stream { pipe, open, moved } = here;
            drop((pipe, open));
            let since = Instant::now();
            moved.await.unwrap();
            assert!(since.elapsed() < 2 * LEASE);
        });
    }

    #[test]
    fn who_does_not_read_gets_no_more_than_a_window() {
        Sim::new(0).seeds(5).run(|| async {
            let server = Server::new();
            let (mut here, there) = two_ends(&server).await;
            let written = Arc::new(std::sync::atomic::AtomicUsize::new(0));
            let count = Arc::clone(&written);
            let writer = tidings::spawn(async move {
                let block = bytes(FRAGMENT);
                loop {
                    here.pipe.write_all(&block).await.unwrap();
                    count.fetch_add(block.len(), std::sync::atomic::Ordering::Relaxed);
                }
            });
            tidings::after(Duration::from_secs(60)).await;
            let written = written.load(std::sync::atomic::Ordering::Relaxed);
            // A window, and the two pipes of 256 KiB.
            assert!(written <= (WINDOW as usize + 20) * FRAGMENT, "{written}");
            writer.abort();
            drop(there);
        });
    }
}
