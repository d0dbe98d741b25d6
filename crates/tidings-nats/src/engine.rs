//! What a cluster asks of the engine under it: messages by subject; keys that are written by
//! compare-and-set, expire, and can be watched; and queues, whose messages are kept until they are done.
//!
//! Implementations are [`Memory`](crate::memory::Memory) and `Nats`; one conformance suite,
//! `tests/it/conformance.rs`, runs against both and says in code what this page says in words.

use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;

/// What an engine's operation gives, some time.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, EngineError>> + Send + 'a>>;

/// An engine that nodes of a cluster meet by. Each node has a connection of its own to it.
///
/// Messages are delivered at most once, and in order from one publisher to one subscription; what
/// comes while nobody subscribes is gone. Keys are kept by the engine: all writes of all keys have an
/// order, which their revisions tell. Queues keep messages, and give each to one node after the other
/// until one says that it is done.
///
/// Dropping an operation leaves its outcome unknown.
pub trait Engine: fmt::Debug + Send + Sync + 'static {
    /// Sends a message to all who subscribe to this subject.
    ///
    /// It may be gone, without an error, if the engine cannot be reached.
    fn publish<'a>(&'a self, subject: &'a str, payload: Bytes) -> Answer<'a, ()>;

    /// Sends a message, and waits for the first that somebody publishes to its
    /// [`reply`](Message::reply).
    ///
    /// # Errors
    /// [`NoResponders`](EngineError::NoResponders) if nobody subscribes: it was not received.
    /// [`Timeout`](EngineError::Timeout): it may have been.
    fn request<'a>(
        &'a self,
        subject: &'a str,
        payload: Bytes,
        within: Duration,
    ) -> Answer<'a, Bytes>;

    /// Hears what is published to a subject from here on. Dropped, it hears nothing more.
    ///
    /// One that does not keep up loses messages.
    fn subscribe<'a>(&'a self, subject: &'a str) -> Answer<'a, Subscription>;

    /// What is under a key; `None` if nothing is. It is what was written last, not a copy that lags behind.
    fn read<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Entry>>;

    /// Writes under a key, if there is what is expected there; gives the revision of the write. With a
    /// time to live it is gone after that time, unless it is written anew before; times below a second
    /// may be taken for one.
    ///
    /// # Errors
    /// [`Conflict`](EngineError::Conflict) if there is something else.
    fn write<'a>(
        &'a self,
        key: &'a str,
        value: Bytes,
        expect: Expect,
        ttl: Option<Duration>,
    ) -> Answer<'a, u64>;

    /// Removes what is under a key, if it has this revision.
    ///
    /// # Errors
    /// [`Conflict`](EngineError::Conflict) if there is something else, or nothing.
    fn remove<'a>(&'a self, key: &'a str, revision: u64) -> Answer<'a, ()>;

    /// All that is there, and then every change, in the order of revisions. Of changes that come fast
    /// one after the other to one key, the last is told for sure. What expires is told as removed.
    ///
    /// It outlasts an engine that could not be reached for a while. When it ends, begin another.
    fn watch(&self) -> Answer<'_, Watch>;

    /// Opens a queue, which is made if it is not there, for this connection. A message that was fetched
    /// and of which nothing is heard for so long is given out again; the answer is how long that is: a
    /// queue that was there keeps to what was said when it was made.
    fn open<'a>(&'a self, queue: &'a str, hold: Duration) -> Answer<'a, Duration>;

    /// Puts a message at the end of a queue: `true`. If a message of this id was put there within the
    /// last [`DUPLICATES`], nothing is done: `false`. To ask again, when the outcome is not known, is
    /// therefore safe.
    ///
    /// # Errors
    /// [`NoResponders`](EngineError::NoResponders) if there is no such queue.
    fn enqueue<'a>(&'a self, queue: &'a str, id: &'a str, payload: Bytes) -> Answer<'a, bool>;

    /// Takes up to so many messages out of a queue that this connection has [opened](Self::open), the
    /// eldest first: those that are there, or the first that comes within this time. They are held for
    /// us. Of what was put just now, some may come with the next fetch only. Dropping the wait gives back
    /// what was taken, or it is given out again after the hold.
    ///
    /// # Errors
    /// [`NoResponders`](EngineError::NoResponders) if it is not open, or gone.
    fn fetch<'a>(
        &'a self,
        queue: &'a str,
        max: usize,
        within: Duration,
    ) -> Answer<'a, Vec<Delivery>>;

    /// Says what has become of a message that was fetched. Only for [`Done`](Settle::Done) it is waited
    /// until the engine has heard it.
    fn settle<'a>(&'a self, delivery: &'a Delivery, settle: Settle) -> Answer<'a, ()>;

    /// How many bytes the largest message has that it takes, with its id and what the engine puts around
    /// them; 1 MiB if nothing else is known. A larger one is [`Refused`](EngineError::Refused).
    fn largest(&self) -> usize {
        LARGEST
    }

    /// How often messages were lost because a subscription of this connection did not keep up; 0 if
    /// that is not known.
    fn lost(&self) -> u64 {
        0
    }
}

/// What NATS takes, if nobody has set it otherwise.
pub(crate) const LARGEST: usize = 1 << 20;

/// So long a queue knows the ids of what was put.
pub const DUPLICATES: Duration = Duration::from_secs(120);

/// A message that was fetched from a queue: [`Engine::fetch`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// What its publisher called it; its number, behind a `#`, if that has not.
    pub id: String,
    /// Its place in the queue.
    pub number: u64,
    /// How often it was given out, this time included.
    pub tries: u64,
    /// What it says.
    pub payload: Bytes,
    /// By which the engine knows it.
    pub receipt: String,
}

/// What has become of a message: [`Engine::settle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settle {
    /// It is done, and removed.
    Done,
    /// It is to be given out again, after this time.
    Again(Duration),
    /// It is being worked on: the hold begins anew.
    Working,
}

/// What must be under a key for it to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Nothing.
    Absent,
    /// What has this revision.
    Revision(u64),
}

/// A message that was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Where to.
    pub subject: String,
    /// Where an answer is waited for.
    pub reply: Option<String>,
    /// What it says.
    pub payload: Bytes,
}

/// What is under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Which write it is.
    pub revision: u64,
    /// What was written; `None`: it is removed.
    pub value: Option<Bytes>,
}

/// Messages that come: [`Engine::subscribe`].
pub type Subscription = Arrivals<Message>;

/// Changes that come: [`Engine::watch`].
pub type Watch = Arrivals<Entry>;

/// What comes from the engine, one after the other.
pub struct Arrivals<T>(Pin<Box<dyn Stream<Item = T> + Send>>);

impl<T> Arrivals<T> {
    /// From a stream, by which an engine is made.
    pub fn new(stream: impl Stream<Item = T> + Send + 'static) -> Self {
        Self(Box::pin(stream))
    }

    /// The next one; `None` if none will come. Dropping the wait loses nothing.
    pub async fn next(&mut self) -> Option<T> {
        poll_fn(|cx| self.0.as_mut().poll_next(cx)).await
    }
}

impl<T> fmt::Debug for Arrivals<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arrivals").finish_non_exhaustive()
    }
}

/// Why an operation of an [`Engine`] failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EngineError {
    /// Nobody subscribes to that subject, or there is no such queue: it was not received.
    NoResponders,
    /// No answer came in time. Whether a request was received is not known.
    Timeout,
    /// Under the key is something else than expected. Nothing was written.
    Conflict,
    /// The engine cannot be reached, or did not answer. Whether the operation was done is not known.
    Unreachable(String),
    /// The engine will not do it, and asking again does not help: it is not allowed, or malformed.
    Refused(String),
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoResponders => {
                f.write_str("nobody subscribes to that subject, or there is no such queue")
            }
            Self::Timeout => f.write_str("no answer came in time"),
            Self::Conflict => f.write_str("something else is under that key"),
            Self::Unreachable(why) => write!(f, "the engine cannot be reached: {why}"),
            Self::Refused(why) => write!(f, "the engine refuses it: {why}"),
        }
    }
}

impl Error for EngineError {}
