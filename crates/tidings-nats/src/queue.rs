//! Durable queues: what is put there is kept until somebody has done it. How actors are fed from them
//! is in `feed.rs`; what is set aside, in `aside.rs`.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::aside::{self, Aside};
use crate::cluster::{Cluster, Inner};
use crate::engine::EngineError;
use crate::options::{NAME, is_word};
use crate::tries::Tries;

/// A queue of messages that are kept by the engine until they are done: [`Cluster::queue`]. Clones are
/// the same queue.
///
/// Messages are JSON: they outlast the programs that wrote them, and others can read and write them.
///
/// # What is guaranteed
///
/// What was [put](Self::put) is handled *at least once*, and in no promised order, by one of the actors
/// that are [fed](Self::feed) from the queue on any node, or is [set aside](Self::aside) with the reason.
/// It is acknowledged after its handler has said that it succeeded, and not before.
///
/// It may be handled *more than once*: if its handler failed; if the node that had it ended, stood still
/// or could not reach the engine for longer than [`Options::hold`](crate::Options::hold); and if it
/// was put twice with more than [`DUPLICATES`](crate::DUPLICATES) in between. In one
/// [`Feed`](crate::Feed) a message whose id it has done is not handled again, for as many as it
/// [remembers](crate::FeedOptions::remember); another feed, and the next life of a process, know
/// nothing of that. A handler whose effect must happen once keeps the ids of what it has done with
/// the effect.
///
/// # What is not
///
/// JetStream says that a message is kept before it is on a disk. By its defaults machines that lose
/// power together lose what was put within the last two minutes (Jepsen, NATS 2.12.1, December 2025:
/// 14 % of the acknowledged writes in such a run; and a damaged file on one server lost more, and
/// split a stream for good). Who cannot bear that has three servers,
/// [`Options::replicas`](crate::Options::replicas)`(3)`, and `sync_interval: always` on each; who
/// cannot bear it at all keeps the messages elsewhere, too.
///
/// ```
/// use tidings::actor;
/// use tidings_nats::memory::Server;
/// use tidings_nats::{Cluster, FeedOptions, Options, Queue};
///
/// #[tidings::interface(remote)]
/// trait Clerk {
///     async fn book(&mut self, order: u64) -> Result<(), String>;
///     async fn booked(&self) -> u64;
/// }
/// # #[derive(Default)]
/// # struct Books(u64);
/// # impl Clerk for Books {
/// #     async fn book(&mut self, order: u64) -> Result<(), String> {
/// #         self.0 += order;
/// #         Ok(())
/// #     }
/// #     async fn booked(&self) -> u64 {
/// #         self.0
/// #     }
/// # }
/// # tidings::Runtime::new().unwrap().block_on(async {
/// # let server = Server::new();
/// let shop = Cluster::join_on(server.connect(), Options::new("shop", "one")).await.unwrap();
/// let orders: Queue<u64> = shop.queue("orders").await.unwrap();
/// orders.put("order-17", &17).await.unwrap();
/// // The answer to the first may have been lost: to ask again does no harm.
/// orders.put("order-17", &17).await.unwrap();
///
/// let clerk: ClerkRef = actor::start(Books::default());
/// let feed = orders.feed(&clerk, FeedOptions::new(), |clerk, order| async move {
///     clerk.book(order).await
/// });
/// while feed.stats().done == 0 {
///     tidings::yield_now().await;
/// }
/// assert_eq!(clerk.booked().await.unwrap(), 17);
/// # });
/// ```
pub struct Queue<T> {
    pub(crate) inner: Arc<Inner>,
    pub(crate) name: Arc<str>,
    /// So long a message is held, by the queue's own word.
    pub(crate) hold: Duration,
    of: PhantomData<fn(T) -> T>,
}

impl Cluster {
    /// Opens a queue of this name, of letters, digits, `-` and `_`, 120 at most, which is made if it is not
    /// there.
    ///
    /// # Errors
    /// If the engine cannot be reached or refuses, or the name is malformed.
    pub async fn queue<T>(&self, name: &str) -> Result<Queue<T>, EngineError> {
        if !is_word(name, NAME) {
            return Err(EngineError::Refused(format!(
                "{name:?} is no name of a queue"
            )));
        }
        Queue::open(Arc::clone(&self.inner), name).await
    }
}

impl<T> Queue<T> {
    async fn open(inner: Arc<Inner>, name: &str) -> Result<Self, EngineError> {
        let hold = inner.engine.open(name, inner.options.hold).await?;
        Ok(Self {
            inner,
            name: name.into(),
            hold,
            of: PhantomData,
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Puts a message at the end, and waits until the engine says that it is kept. While it does not
    /// say so, it is asked again, for as long as [`Options::patience`](crate::Options::patience)
    /// says.
    ///
    /// A message whose id was put within the last [`DUPLICATES`](crate::DUPLICATES) is not put again,
    /// and that is a success: so who does not know whether it was put, puts it again.
    ///
    /// # Errors
    /// [`Refused`](EngineError::Refused): it was not put. [`Unreachable`](EngineError::Unreachable):
    /// it is not known.
    pub async fn put(&self, id: &str, message: &T) -> Result<(), EngineError>
    where
        T: Serialize,
    {
        if id.is_empty() || id.starts_with('#') || !id.chars().all(|c| c.is_ascii_graphic()) {
            return Err(EngineError::Refused(format!("{id:?} is no id")));
        }
        let message = serde_json::to_vec(message);
        let message = message.map_err(|error| EngineError::Refused(error.to_string()))?;
        put(&self.inner, &self.name, id, message.into()).await
    }

    /// The messages of this queue that were set aside, in a queue of their own, from which an actor
    /// can be fed as from any. Who wants one done after all puts it into this queue again, under another
    /// id: the one before counts as put for [`DUPLICATES`](crate::DUPLICATES).
    ///
    /// # Errors
    /// As for [`Cluster::queue`].
    pub async fn aside(&self) -> Result<Queue<Aside>, EngineError> {
        Queue::open(Arc::clone(&self.inner), &aside::queue(&self.name)).await
    }
}

/// Puts a message that is kept for sure when this succeeds.
pub(crate) async fn put(
    inner: &Inner,
    queue: &str,
    id: &str,
    message: bytes::Bytes,
) -> Result<(), EngineError> {
    let mut tries = Tries::new(inner.options.patience, Duration::from_millis(50));
    loop {
        let error = match inner.engine.enqueue(queue, id, message.clone()).await {
            Ok(_) => return Ok(()),
            // It was removed; or is not there yet.
            Err(EngineError::NoResponders) => {
                let opened = inner.engine.open(queue, inner.options.hold).await;
                opened.err().unwrap_or(EngineError::NoResponders)
            }
            Err(error) => error,
        };
        if matches!(error, EngineError::Refused(_)) || !tries.again().await {
            return Err(error);
        }
    }
}

impl<T> Clone for Queue<T> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            name: Arc::clone(&self.name),
            hold: self.hold,
            of: PhantomData,
        }
    }
}

impl<T> fmt::Debug for Queue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("name", &self.name)
            .field("hold", &self.hold)
            .finish_non_exhaustive()
    }
}
