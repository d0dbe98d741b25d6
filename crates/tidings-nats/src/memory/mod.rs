//! An engine in memory, which can delay, lose, double, cut off, expire and forget: for tests and
//! simulations of clusters, on virtual time as on real.
//!
//! All of its state lies behind one lock; who has to be woken is woken when that is free. What is
//! under way waits in queues of the receiving side, each thing with the time at which it arrives.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use tidings::sync::Notify;
use tidings::time::{Instant, timeout};
use tidings::{Event, after, at};

use crate::engine::{
    Answer, Arrivals, Delivery, Engine, EngineError, Entry, Expect, Message, Settle, Subscription,
    Watch,
};
use crate::lock::lock;

mod faults;
mod queues;

pub use faults::Faults;
use faults::one_in;
use queues::fits;

/// So long an operation waits for a server that it cannot reach.
const PATIENCE: Duration = Duration::from_secs(1);

/// So many messages wait for a subscriber; what comes then is lost, as with NATS.
const CAPACITY: usize = 1 << 16;

/// What nodes connect to. Clones are the same server.
///
/// It has no clock of its own: its time is that of whoever asks. Nodes of a simulation whose clocks differ do not
/// reach each other by it as by a real one.
///
/// ```
/// use tidings_nats::memory::Server;
/// use tidings_nats::{Engine, Expect};
///
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let server = Server::new();
/// let (one, other) = (server.connect(), server.connect());
/// let mut heard = other.subscribe("greetings").await.unwrap();
/// one.publish("greetings", "hello".into()).await.unwrap();
/// assert_eq!(heard.next().await.unwrap().payload, "hello");
///
/// let revision = one.write("leader", "one".into(), Expect::Absent, None).await.unwrap();
/// assert!(other.write("leader", "other".into(), Expect::Absent, None).await.is_err());
/// one.remove("leader", revision).await.unwrap();
/// # });
/// ```
#[derive(Clone, Default)]
pub struct Server {
    state: Arc<Mutex<State>>,
    /// Something has happened to a queue.
    queued: Arc<Notify>,
}

#[derive(Default)]
struct State {
    faults: Faults,
    keys: BTreeMap<String, Kept>,
    revision: u64,
    subscribers: BTreeMap<u64, Subscriber>,
    watchers: BTreeMap<u64, Queue<Entry>>,
    queues: BTreeMap<String, queues::Kept>,
    /// Connections that are cut off.
    cut: BTreeSet<u64>,
    /// Connections that are cut off from the keys.
    keyless: BTreeSet<u64>,
    /// The last number of a connection, subscription, watch or inbox.
    last: u64,
    lost: u64,
}

struct Kept {
    value: Bytes,
    revision: u64,
    expires: Option<Instant>,
}

struct Subscriber {
    subject: String,
    queue: Queue<Message>,
}

/// What is on its way to one reader.
struct Queue<T> {
    items: VecDeque<(Instant, T)>,
    line: u64,
    bell: Arc<Notify>,
}

impl<T> Queue<T> {
    fn new(line: u64) -> Self {
        Self {
            items: VecDeque::new(),
            line,
            bell: Arc::default(),
        }
    }

    /// It arrives after this time, and not before what came earlier.
    fn push(&mut self, delay: Duration, item: T) {
        let due = Instant::now() + delay;
        let due = self.items.back().map_or(due, |(last, _)| due.max(*last));
        self.items.push_back((due, item));
    }
}

type Bells = Vec<Arc<Notify>>;

impl State {
    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Tells all who watch.
    fn tell(&mut self, entry: &Entry, bells: &mut Bells) {
        for queue in self.watchers.values_mut() {
            queue.push(self.faults.delay(), entry.clone());
            bells.push(Arc::clone(&queue.bell));
        }
    }

    fn removed(&mut self, key: String, bells: &mut Bells) {
        self.revision += 1;
        let entry = Entry {
            key,
            revision: self.revision,
            value: None,
        };
        self.tell(&entry, bells);
    }

    /// Removes what has expired.
    fn sweep(&mut self, bells: &mut Bells) {
        let now = Instant::now();
        let over = |kept: &Kept| kept.expires.is_some_and(|at| at <= now);
        while let Some((key, _)) = self.keys.iter().find(|(_, kept)| over(kept)) {
            let key = key.clone();
            self.keys.remove(&key);
            self.removed(key, bells);
        }
    }

    fn next_expiry(&self) -> Option<Instant> {
        self.keys.values().filter_map(|kept| kept.expires).min()
    }

    /// Puts a message into the queues of those who get it. `false`: nobody is there.
    fn publish(&mut self, message: &Message, bells: &mut Bells) -> bool {
        let subscribers = self.subscribers.values_mut();
        let mut is_heard = false;
        for subscriber in subscribers.filter(|it| it.subject == message.subject) {
            is_heard = true;
            let queue = &mut subscriber.queue;
            for _ in 0..=usize::from(one_in(self.faults.double)) {
                let is_lost = one_in(self.faults.lose)
                    || self.cut.contains(&queue.line)
                    || queue.items.len() >= CAPACITY;
                if is_lost {
                    self.lost += 1;
                } else {
                    queue.push(self.faults.delay(), message.clone());
                    bells.push(Arc::clone(&queue.bell));
                }
            }
        }
        is_heard
    }

    fn write(
        &mut self,
        key: &str,
        value: Bytes,
        expect: Expect,
        ttl: Option<Duration>,
        bells: &mut Bells,
    ) -> Result<u64, EngineError> {
        self.expect(key, expect)?;
        self.revision += 1;
        let kept = Kept {
            value: value.clone(),
            revision: self.revision,
            expires: ttl.map(|ttl| Instant::now() + ttl),
        };
        self.keys.insert(key.to_owned(), kept);
        let entry = Entry {
            key: key.to_owned(),
            revision: self.revision,
            value: Some(value),
        };
        self.tell(&entry, bells);
        Ok(self.revision)
    }

    fn expect(&self, key: &str, expect: Expect) -> Result<(), EngineError> {
        let there = self
            .keys
            .get(key)
            .map_or(Expect::Absent, |kept| Expect::Revision(kept.revision));
        match there == expect {
            true => Ok(()),
            false => Err(EngineError::Conflict),
        }
    }
}

impl Server {
    /// One that works, at once.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A node's connection.
    #[must_use]
    pub fn connect(&self) -> Memory {
        let line = self.with(|state, _| state.number());
        Memory {
            server: self.clone(),
            line,
        }
    }

    /// What goes wrong from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.with(|state, _| state.faults = faults);
    }

    /// Removes a key now, as if its time had come.
    pub fn expire(&self, key: &str) {
        self.with(|state, bells| {
            if state.keys.remove(key).is_some() {
                state.removed(key.to_owned(), bells);
            }
        });
    }

    /// Loses all keys, but no queue, as a server does that kept them in memory and was started anew: revisions begin
    /// anew, and who watches hears nothing any more, nor that it does not.
    pub fn forget(&self) {
        self.with(|state, _| {
            state.keys.clear();
            state.revision = 0;
            // Their readers wait on.
            state.watchers.clear();
        });
    }

    /// How many messages were lost: by [`Faults::lose`], by a cut, by a subscriber that was too slow.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.with(|state, _| state.lost)
    }

    /// How many subjects are heard, by all connections.
    #[cfg(test)]
    pub(crate) fn subscriptions(&self) -> usize {
        self.with(|state, _| state.subscribers.len())
    }

    /// Does something to the state as it is now, and wakes whom that concerns.
    fn with<R>(&self, f: impl FnOnce(&mut State, &mut Bells) -> R) -> R {
        let mut bells = Vec::new();
        let result = {
            let mut state = lock(&self.state);
            state.sweep(&mut bells);
            f(&mut state, &mut bells)
        };
        for bell in bells {
            bell.notify_one();
        }
        result
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

/// A connection to a [`Server`]. Clones are the same connection.
#[derive(Clone, Debug)]
pub struct Memory {
    server: Server,
    line: u64,
}

impl Memory {
    /// Cuts this node off: it reaches nothing, and nothing reaches it. Messages to it are lost; changes
    /// of keys wait for it.
    pub fn cut(&self) {
        self.server.with(|state, _| state.cut.insert(self.line));
    }

    /// Cuts this node off from the keys: it reads and writes none, and what changes waits for it. Messages
    /// and queues go on: as with servers that have chosen no leader for the keys, or one that lags behind.
    pub fn cut_keys(&self) {
        self.server.with(|state, _| state.keyless.insert(self.line));
    }

    /// Ends the [`cut`](Self::cut), and that [of the keys](Self::cut_keys).
    pub fn heal(&self) {
        self.server.with(|state, bells| {
            state.cut.remove(&self.line);
            state.keyless.remove(&self.line);
            bells.extend(state.watchers.values().map(|queue| Arc::clone(&queue.bell)));
            let queues = state.subscribers.values().map(|s| &s.queue);
            bells.extend(queues.map(|queue| Arc::clone(&queue.bell)));
        });
        self.server.queued.notify_waiters();
    }

    /// The way to the server, or back. What is lost on it, nobody tells: its sender gives up.
    async fn travel(&self) -> Result<(), EngineError> {
        let (delay, lost) = self.server.with(|state, _| {
            let lost = state.cut.contains(&self.line) || one_in(state.faults.lose);
            (state.faults.delay(), lost)
        });
        if !delay.is_zero() {
            after(delay).await;
        }
        if lost || self.server.with(|state, _| state.cut.contains(&self.line)) {
            after(PATIENCE).await;
            return Err(EngineError::Unreachable("no answer".to_owned()));
        }
        Ok(())
    }

    /// Goes to the server, does something there, and comes back.
    async fn there<R>(
        &self,
        f: impl FnOnce(&mut State, &mut Bells) -> Result<R, EngineError>,
    ) -> Result<R, EngineError> {
        self.travel().await?;
        let result = self.server.with(f);
        self.travel().await?;
        result
    }

    /// The same, for what is done to keys.
    async fn at_keys<R>(
        &self,
        f: impl FnOnce(&mut State, &mut Bells) -> Result<R, EngineError>,
    ) -> Result<R, EngineError> {
        if self
            .server
            .with(|state, _| state.keyless.contains(&self.line))
        {
            after(PATIENCE).await;
            return Err(EngineError::Unreachable("no answer".to_owned()));
        }
        self.there(f).await
    }

    fn listen(&self, state: &mut State, subject: &str) -> Reader {
        let id = state.number();
        let queue = Queue::new(self.line);
        let reader = Reader {
            server: self.server.clone(),
            id,
            bell: Arc::clone(&queue.bell),
        };
        let subscriber = Subscriber {
            subject: subject.to_owned(),
            queue,
        };
        state.subscribers.insert(id, subscriber);
        reader
    }
}

/// The reading end of a queue.
struct Reader {
    server: Server,
    id: u64,
    bell: Arc<Notify>,
}

impl Reader {
    /// Waits for what `find` says is there. It says when something may be, too.
    async fn next<T>(
        &self,
        find: impl Fn(&mut State, u64) -> Result<T, Option<Instant>>,
    ) -> Option<T> {
        loop {
            match self.server.with(|state, _| find(state, self.id)) {
                Ok(item) => return Some(item),
                Err(None) => self.bell.notified().await,
                Err(Some(due)) => self.bell.notified().or(at(due)).await,
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // What they held is dropped outside of the lock.
        let gone = self.server.with(|state, _| {
            let subscriber = state.subscribers.remove(&self.id);
            (subscriber, state.watchers.remove(&self.id))
        });
        drop(gone);
    }
}

/// The first of a queue, if it has arrived.
fn arrived<T>(queue: Option<&mut Queue<T>>, cut: &[&BTreeSet<u64>]) -> Result<T, Option<Instant>> {
    let queue = queue.ok_or(None)?;
    match queue.items.front() {
        _ if cut.iter().any(|cut| cut.contains(&queue.line)) => Err(None),
        None => Err(None),
        Some(&(due, _)) if due > Instant::now() => Err(Some(due)),
        Some(_) => Ok(queue.items.pop_front().expect("it is there").1),
    }
}

fn next_message(state: &mut State, id: u64) -> Result<Message, Option<Instant>> {
    let queue = state.subscribers.get_mut(&id).map(|s| &mut s.queue);
    arrived(queue, &[&state.cut])
}

/// Who watches sees to it that what expires does so in time.
fn next_change(state: &mut State, id: u64) -> Result<Entry, Option<Instant>> {
    let expiry = state.next_expiry();
    let found = arrived(state.watchers.get_mut(&id), &[&state.cut, &state.keyless]);
    found.map_err(|due| due.into_iter().chain(expiry).min())
}

impl Engine for Memory {
    fn publish<'a>(&'a self, subject: &'a str, payload: Bytes) -> Answer<'a, ()> {
        Box::pin(async move {
            fits("", &payload)?;
            // What cannot be sent is gone, and nobody hears of it.
            if self.travel().await.is_ok() {
                let message = Message {
                    subject: subject.to_owned(),
                    reply: None,
                    payload,
                };
                self.server
                    .with(|state, bells| state.publish(&message, bells));
            }
            Ok(())
        })
    }

    fn request<'a>(
        &'a self,
        subject: &'a str,
        payload: Bytes,
        within: Duration,
    ) -> Answer<'a, Bytes> {
        Box::pin(async move {
            let asked = async {
                fits("", &payload)?;
                self.travel().await?;
                let inbox = self.server.with(|state, bells| {
                    let reply = format!("_INBOX.{}", state.number());
                    let inbox = self.listen(state, &reply);
                    let message = Message {
                        subject: subject.to_owned(),
                        reply: Some(reply),
                        payload,
                    };
                    (inbox, state.publish(&message, bells))
                });
                let (inbox, true) = inbox else {
                    return Err(EngineError::NoResponders);
                };
                let answer = inbox.next(next_message).await;
                Ok(answer.expect("it waits for one").payload)
            };
            let late = Err(EngineError::Timeout);
            timeout(within, asked).await.unwrap_or(late)
        })
    }

    fn subscribe<'a>(&'a self, subject: &'a str) -> Answer<'a, Subscription> {
        Box::pin(async move {
            let reader = self.there(|state, _| Ok(self.listen(state, subject)));
            let reader = reader.await?;
            Ok(Arrivals::new(stream::unfold(reader, async |reader| {
                Some((reader.next(next_message).await?, reader))
            })))
        })
    }

    fn read<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Entry>> {
        Box::pin(self.at_keys(move |state, _| {
            Ok(state.keys.get(key).map(|kept| Entry {
                key: key.to_owned(),
                revision: kept.revision,
                value: Some(kept.value.clone()),
            }))
        }))
    }

    fn write<'a>(
        &'a self,
        key: &'a str,
        value: Bytes,
        expect: Expect,
        ttl: Option<Duration>,
    ) -> Answer<'a, u64> {
        Box::pin(self.at_keys(move |state, bells| {
            fits("", &value)?;
            state.write(key, value, expect, ttl, bells)
        }))
    }

    fn remove<'a>(&'a self, key: &'a str, revision: u64) -> Answer<'a, ()> {
        Box::pin(self.at_keys(move |state, bells| {
            state.expect(key, Expect::Revision(revision))?;
            state.keys.remove(key);
            state.removed(key.to_owned(), bells);
            Ok(())
        }))
    }

    fn watch(&self) -> Answer<'_, Watch> {
        Box::pin(async move {
            let reader = self.at_keys(|state, _| {
                let id = state.number();
                let mut queue = Queue::new(self.line);
                let mut entries: Vec<Entry> = state
                    .keys
                    .iter()
                    .map(|(key, kept)| Entry {
                        key: key.clone(),
                        revision: kept.revision,
                        value: Some(kept.value.clone()),
                    })
                    .collect();
                entries.sort_by_key(|entry| entry.revision);
                for entry in entries {
                    queue.push(Duration::ZERO, entry);
                }
                let bell = Arc::clone(&queue.bell);
                state.watchers.insert(id, queue);
                let server = self.server.clone();
                Ok(Reader { server, id, bell })
            });
            Ok(Arrivals::new(stream::unfold(
                reader.await?,
                async |reader| Some((reader.next(next_change).await?, reader)),
            )))
        })
    }

    fn open<'a>(&'a self, queue: &'a str, hold: Duration) -> Answer<'a, Duration> {
        Box::pin(self.there(move |state, _| Ok(state.open(queue, hold))))
    }

    fn enqueue<'a>(&'a self, queue: &'a str, id: &'a str, payload: Bytes) -> Answer<'a, bool> {
        Box::pin(self.with_queue(move |state| state.enqueue(queue, id, payload)))
    }

    fn fetch<'a>(
        &'a self,
        queue: &'a str,
        max: usize,
        within: Duration,
    ) -> Answer<'a, Vec<Delivery>> {
        Box::pin(self.take(queue, max, within))
    }

    fn settle<'a>(&'a self, delivery: &'a Delivery, settle: Settle) -> Answer<'a, ()> {
        Box::pin(self.with_queue(move |state| {
            state.settle(delivery, settle);
            Ok(())
        }))
    }
}
