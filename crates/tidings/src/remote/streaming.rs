//! Streams that travel: a stream is an actor of the side where it is filled, which the other asks for
//! the next items whenever it has room. So a slow taker slows the filler down, and a stream that is
//! dropped, breaks off, or whose link ends is what an actor is.

use std::any::{Any, TypeId};
use std::future::ready;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::export::{Export, Incoming, Served, Wait};
use super::port::{Carried, Identity, Outcome, not_written, with};
use super::proxy::{Imported, Outgoing, unfit};
use super::schema::{self, Describe, Schema};
use super::{Format, Interface, Malformed, Method};
use crate::actor::remote::Proxy;
use crate::actor::{self, CallError, Exit, Mailbox, Replies, Reply, Streaming, next_id};
use crate::channel::TryRecvError;
use crate::channel::oneshot::{self, Wanted, oneshot};
use crate::event::{Either, Event};
use crate::primitive::{Arc, Mutex, OnceLock, lock};
use crate::task::text_of;

/// How many items are asked for at a time, and how many wait for who takes them.
const ITEMS: u32 = 64;

/// No more are given at a time, whatever is asked for.
const MOST: u32 = 1 << 10;

/// An answer that is larger has one item.
const LARGE: usize = 32 << 10;

/// What a stream can be asked. What its items are, the method says that it came by.
fn interface() -> &'static Interface {
    static STREAMING: OnceLock<Interface> = OnceLock::new();
    STREAMING.get_or_init(|| {
        let shape = "Streaming.next(u32)->[T]";
        let next = Method {
            name: "next",
            arguments: &["most"],
            shape: shape.to_owned(),
            number: schema::number(shape),
        };
        Interface {
            name: "Streaming",
            methods: vec![next],
        }
    })
}

impl<T: Schema> Schema for Streaming<T> {
    fn describe(to: &mut Describe) {
        to.parts("*", &[("", T::describe)], "");
    }
}

/// The stream that travels has the items; this one, which stays, has none any more.
impl<T: Serialize + Send + 'static> Serialize for Streaming<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let identity = Identity {
            actor: next_id(),
            kind: TypeId::of::<Self>(),
            sends: TypeId::of::<Self>(),
        };
        let place = with(|port| {
            port.export(identity, &mut |_, _| {
                Arc::new(Source(Arc::new(Mutex::new(State {
                    items: Some(self.twin()),
                    taken: Vec::new(),
                }))))
            })
        });
        serializer.serialize_u32(place.flatten().map_err(not_written)?)
    }
}

impl<'de, T: DeserializeOwned + Send + 'static> Deserialize<'de> for Streaming<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let place = u32::deserialize(deserializer)?;
        let found = with(|port| match port.carried(place) {
            Some(Carried::Mine(target)) => {
                let format = port.format();
                port.import(target, TypeId::of::<Self>(), &mut |target, turn| {
                    let way = Outgoing::new(target, turn, interface(), format.clone());
                    let (replies, items) = actor::streaming::<T>(ITEMS as usize);
                    let (_, proxy) =
                        Proxy::new("Streaming", 1, |_: Mailbox<()>| pull(replies, way));
                    (Box::new(items), Imported::alone::<Self>(proxy))
                })
            }
            _ => Err(Malformed::new("it carries no such stream")),
        });
        let found = found.flatten().map_err(D::Error::custom)?;
        let found = found.downcast::<Self>();
        found
            .map(|found| *found)
            .map_err(|_| D::Error::custom("it is of another type"))
    }
}

/// Asks for items until there are no more, or nobody takes them.
async fn pull<T: DeserializeOwned + Send + 'static>(replies: Replies<T>, mut way: Outgoing) {
    loop {
        way.first(ready(())).await;
        let (reply, mut answers) = Reply::<Vec<T>>::pair(Wanted::default(), None);
        way.call(0, &(ITEMS,), reply);
        let answer = answers.recv().either(replies.closed()).biased().await;
        let Either::Left(answer, ()) = answer else {
            return;
        };
        let items = match answer {
            Ok(Ok(items)) if items.is_empty() => return replies.finish(),
            Ok(Ok(items)) => items,
            Ok(Err(why)) => return replies.fail(*why),
            Err(_) => return replies.fail(CallError::NoReply),
        };
        for item in items {
            if replies.send(item).await.is_err() {
                return;
            }
        }
    }
}

/// A stream that is filled here, for the peer.
struct Source<T>(Arc<Mutex<State<T>>>);

struct State<T> {
    /// Not there while the next item is waited for, nor when it has broken off.
    items: Option<Streaming<T>>,
    /// Items that have been taken, and not been sent: those that did not go into the last answer.
    taken: Vec<T>,
}

impl<T: Serialize + Send + 'static> Export for Source<T> {
    fn interface(&self) -> &'static Interface {
        interface()
    }

    fn deliver(&self, incoming: &mut Incoming<'_>) -> Result<Option<Wait>, Malformed> {
        let (most,) = incoming.arguments::<(u32,)>()?;
        let rings = incoming.caller()?.rings();
        let (ready, answer) = oneshot::wanted(Wanted::default(), Some(rings));
        let (held, written) = oneshot::<()>();
        let batch = Batch {
            answer,
            state: Arc::clone(&self.0),
            most: most.clamp(1, MOST) as usize,
            _held: held,
        };
        incoming.serve(batch);
        let state = Arc::clone(&self.0);
        Ok(Some(Box::pin(async move {
            wait(&state, ready).await;
            // The next is asked for when these have been written.
            let _ = written.await;
        })))
    }

    fn takes_at_once(&self) -> bool {
        true
    }

    fn references(&self) -> [&dyn Any; 2] {
        [&(), &()]
    }

    fn exit(&self) -> Option<Exit> {
        None
    }
}

/// Waits until there is an item, and says so.
async fn wait<T: Send>(state: &Mutex<State<T>>, ready: oneshot::Sender<Result<(), CallError>>) {
    let items = {
        let mut state = lock(state);
        let waits = state.taken.is_empty();
        waits.then(|| state.items.take()).flatten()
    };
    let Some(mut items) = items else {
        let _ = ready.send(Ok(()));
        return;
    };
    let (mut first, mut outcome) = (None, Ok(()));
    match items.recv().either(ready.closed()).biased().await {
        Either::Left(Some(Ok(item)), ()) => first = Some(item),
        Either::Left(Some(Err(why)), ()) => outcome = Err(why),
        // It is complete, or nobody wants it any more.
        Either::Left(None, ()) | Either::Right(_, ()) => {}
    }
    {
        let mut state = lock(state);
        state.items = Some(items);
        state.taken.extend(first);
    }
    let _ = ready.send(outcome);
}

/// What the peer gets who has asked for the next items.
struct Batch<T> {
    answer: oneshot::Receiver<Result<(), CallError>>,
    state: Arc<Mutex<State<T>>>,
    /// So many are asked for.
    most: usize,
    /// Dropped when the items have been written.
    _held: oneshot::Sender<()>,
}

impl<T: Serialize + Send + 'static> Served for Batch<T> {
    fn answer(&mut self, format: &Format, to: &mut Vec<u8>) -> Option<Outcome<()>> {
        match self.answer.try_recv() {
            Ok(Ok(())) => {
                let written = self.write(format, to);
                Some(written.map_err(|why| unfit(Some(true), why)))
            }
            Ok(Err(why)) => Some(Err(why)),
            Err(TryRecvError::Closed) => Some(Err(CallError::NoReply)),
            Err(TryRecvError::Empty) => None,
        }
    }
}

impl<T: Serialize> Batch<T> {
    /// As many as make an answer that can be sent and is not large, or one. If that cannot be sent
    /// either the stream breaks off: it is complete when it is asked again.
    fn write(&self, format: &Format, to: &mut Vec<u8>) -> Result<(), Malformed> {
        let (mut items, mut taken) = {
            let mut state = lock(&self.state);
            (state.items.take(), std::mem::take(&mut state.taken))
        };
        match self.fill(format, to, items.as_mut(), &mut taken) {
            Ok(count) => {
                taken.drain(..count);
                *lock(&self.state) = State { items, taken };
                Ok(())
            }
            Err(malformed) => {
                drop((items, taken));
                with(|port| port.undo())?;
                Err(malformed)
            }
        }
    }

    /// Writes the first of those that are taken, and of those that are there behind them; says how many.
    ///
    /// Each is written by itself, until one does not go with those before it, and only then is the next one
    /// taken; and those that go together a second time, together. So what a taker costs is in proportion to
    /// what is sent to him.
    fn fill(
        &self,
        format: &Format,
        to: &mut Vec<u8>,
        mut items: Option<&mut Streaming<T>>,
        taken: &mut Vec<T>,
    ) -> Result<usize, Malformed> {
        let largest = with(|port| port.largest())?;
        let (mut count, mut length) = (0, 0);
        while count < self.most {
            if count == taken.len() {
                match items.as_mut().and_then(|items| items.try_recv()) {
                    Some(item) => taken.push(item),
                    // The only one has been written.
                    None if count == 1 => return Ok(1),
                    None => break,
                }
            }
            match encode(format, &taken[count..=count], to, largest) {
                Ok(()) if length + to.len() <= LARGE => {}
                Ok(()) if count == 0 => return Ok(1),
                Err(malformed) if count == 0 => return Err(malformed),
                _ => break,
            }
            length += to.len();
            count += 1;
        }
        loop {
            match encode(format, &taken[..count], to, largest) {
                Ok(()) => return Ok(count),
                Err(malformed) if count <= 1 => return Err(malformed),
                // They carry too much together.
                Err(_) => count /= 2,
            }
        }
    }
}

/// Writes a message of these items, if it is one that can be sent. An item that panics as it is written
/// keeps those before it from nobody.
fn encode<T: Serialize>(
    format: &Format,
    items: &[T],
    to: &mut Vec<u8>,
    largest: usize,
) -> Result<(), Malformed> {
    with(|port| port.begin())?;
    to.clear();
    // What it can leave half done is the answer, which is not sent.
    let encoded = catch_unwind(AssertUnwindSafe(|| format.encode(&items, to)));
    let encoded = encoded.unwrap_or_else(|panic| {
        let why = format!("the answer panicked: {}", text_of(&*panic));
        Err(Malformed::new(why))
    });
    match encoded {
        Ok(()) if to.len() > largest => Err(Malformed::new("the answer is too large")),
        encoded => encoded,
    }
}
