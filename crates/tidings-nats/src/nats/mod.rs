//! The engine of production: NATS with JetStream, by `async-nats`, whose tokio lives on a thread of
//! its own beside our scheduler.
//!
//! Messages go from our tasks straight into the client's queue and out of its subscriptions; what
//! needs tokio's time (requests, keys) is done by a task on that thread.
//!
//! Keys lie in one JetStream key-value bucket, in the servers' memory: leases and names are asserted
//! anew by those who hold them, and are not worth a disk. Queues (`nats/queues.rs`) lie on disks.
//! JetStream says that a write is done before it is on a disk, and has lost such writes when machines lost
//! power (Jepsen, NATS 2.12.1, December 2025), unless the servers say `sync_interval: always`.

use std::error::Error;
use std::fmt;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub use async_nats::ConnectOptions;
use async_nats::header::{
    NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, NATS_MARKER_REASON, NATS_MESSAGE_TTL,
};
use async_nats::jetstream::context::{
    CreateKeyValueError, CreateStreamError, CreateStreamErrorKind, PublishError, PublishErrorKind,
};
use async_nats::jetstream::kv::{self, Operation, Store, UpdateErrorKind};
use async_nats::jetstream::stream::{LastRawMessageErrorKind, StorageType};
use async_nats::jetstream::{self, Context, ErrorCode};
use async_nats::{Client, HeaderMap, Request, RequestErrorKind};
use bytes::Bytes;
use futures_util::{StreamExt, future};
use tokio::runtime::{Handle, Runtime};

use crate::engine::{
    Answer, Arrivals, Delivery, Engine, EngineError, Entry, Expect, Message, Settle, Subscription,
    Watch,
};

mod address;
mod complaints;
mod queues;

pub(crate) use address::shown;
use complaints::Complaints;

/// So long an operation on keys waits for the server.
const PATIENCE: Duration = Duration::from_secs(2);

/// So long it is told that a key is gone.
const MARKER: Duration = Duration::from_secs(60);

/// What was done to a key, where it was not written.
const OPERATION: &str = "KV-Operation";

/// After this it is asked again whether a key can be written, while another write of it is under way.
const UNDER_WAY: Duration = Duration::from_millis(20);

/// Changes that wait for who watches.
const CHANGES: usize = 1 << 10;

/// A connection to NATS, and the bucket of its keys. Clones are the same connection.
///
/// It needs nats-server 2.11 or later with JetStream, for keys that expire one by one. A connection
/// that breaks is made anew, for as long as the engine lives.
///
/// ```no_run
/// use tidings_nats::nats::{Bucket, ConnectOptions, Nats};
/// use tidings_nats::{Engine, Expect};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let credentials = std::fs::read_to_string("node.creds")?;
/// let options = ConnectOptions::new().credentials(&credentials)?;
/// let engine = Nats::connect("tls://nats.example:4222", options, Bucket::new("shop")).await?;
/// engine.write("leader", "me".into(), Expect::Absent, None).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Nats {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    context: Context,
    store: Store,
    bucket: Bucket,
    queues: queues::Queues,
    lost: Arc<AtomicU64>,
    tokio: Tokio,
}

/// A runtime of tokio's, which ends without waiting: also on a worker, which must not wait.
struct Tokio {
    runtime: Option<Runtime>,
    complaints: Complaints,
}

impl Tokio {
    fn new() -> Result<Self, EngineError> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let builder = builder.worker_threads(1).thread_name("tidings-nats");
        let runtime = builder.enable_all().build();
        let runtime = runtime.map_err(|error| EngineError::Unreachable(error.to_string()))?;
        Ok(Self {
            runtime: Some(runtime),
            complaints: Complaints::default(),
        })
    }

    fn handle(&self) -> &Handle {
        self.runtime
            .as_ref()
            .expect("it lives until it is dropped")
            .handle()
    }

    /// Does something there. If that fails, and the server has said why meanwhile (that we may not publish to a
    /// subject, for one), so do we.
    async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, EngineError>> + Send + 'static,
    ) -> Result<T, EngineError> {
        let before = self.complaints.number();
        let done = self.handle().spawn(work).await;
        let done = done.unwrap_or_else(|error| Err(EngineError::Unreachable(error.to_string())));
        done.map_err(|error| match (error, self.complaints.since(before)) {
            (EngineError::Unreachable(why), Some(said)) => {
                EngineError::Unreachable(format!("{why}; the server has said: {said}"))
            }
            (error, _) => error,
        })
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let Some(runtime) = self.tokio.runtime.take() else {
            return;
        };
        let client = self.client.clone();
        let handle = runtime.handle().clone();
        drop(handle.spawn(async move {
            // What was published is written before the end.
            let _ = tokio::time::timeout(PATIENCE, client.flush()).await;
            runtime.shutdown_background();
        }));
    }
}

impl Drop for Tokio {
    fn drop(&mut self) {
        // There is no connection yet.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Where the keys lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    name: String,
    replicas: usize,
}

impl Bucket {
    /// A bucket of this name, on one server.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            replicas: 1,
        }
    }

    /// On so many servers of NATS' own cluster: 3, if there are three, so that one can fail. It counts
    /// when the bucket is made, by the first who connects.
    #[must_use]
    pub fn replicas(mut self, servers: usize) -> Self {
        self.replicas = servers;
        self
    }
}

impl Nats {
    /// Connects, and opens the bucket, which it makes if it is not there.
    ///
    /// `options` are those of `async-nats`: TLS, credentials, nkeys. Their event callback is set by
    /// this, and that it is connected anew however often that has failed. Of their functions those that read files (`credentials_file`) are for tasks of tokio, and panic in
    /// ours: `credentials` takes the text. A name and a password in `url`, `nats://name:password@host`, or a token,
    /// `nats://token@host`, are taken too, those of the first server for all; what is no letter or digit is written
    /// as `%` and two digits.
    ///
    /// # Errors
    /// If no server answers, or one refuses; it is not tried again.
    pub async fn connect(
        url: &str,
        options: ConnectOptions,
        bucket: Bucket,
    ) -> Result<Self, EngineError> {
        let tokio = Tokio::new()?;
        let lost = Arc::new(AtomicU64::new(0));
        let (counted, complaints) = (Arc::clone(&lost), tokio.complaints.clone());
        let options = address::authorized(options, url);
        let options = options.max_reconnects(None).event_callback(move |event| {
            match event {
                async_nats::Event::SlowConsumer(_) => {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
                async_nats::Event::ServerError(error) => {
                    complaints.hear(error.to_string());
                }
                _ => {}
            }
            future::ready(())
        });
        let asked = bucket.clone();
        let url: Vec<String> = url.split(',').map(str::to_owned).collect();
        let (client, context, store) = tokio
            .run(async move {
                let client = options.connect(url).await.map_err(|error| {
                    let why = error.to_string();
                    match error.kind() {
                        async_nats::ConnectErrorKind::Io if is_tls(&error) => {
                            EngineError::Refused(why)
                        }
                        async_nats::ConnectErrorKind::Authentication
                        | async_nats::ConnectErrorKind::AuthorizationViolation
                        | async_nats::ConnectErrorKind::ServerParse
                        | async_nats::ConnectErrorKind::Tls => EngineError::Refused(why),
                        _ => EngineError::Unreachable(why),
                    }
                })?;
                let context = jetstream::new(client.clone());
                let store = in_time(open(&context, &asked)).await?;
                Ok((client, context, store))
            })
            .await?;
        let inner = Inner {
            client,
            context,
            store,
            bucket,
            queues: queues::Queues::default(),
            lost,
            tokio,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Waits until the server has handled all that was sent before.
    async fn round_trip(client: &Client) -> Result<(), EngineError> {
        let nobody = client.new_inbox();
        let request = Request::new().timeout(Some(PATIENCE));
        match client.send_request(nobody, request).await {
            Err(error) if error.kind() != RequestErrorKind::NoResponders => {
                Err(EngineError::Unreachable(error.to_string()))
            }
            _ => Ok(()),
        }
    }
}

async fn open(context: &Context, bucket: &Bucket) -> Result<Store, EngineError> {
    let config = kv::Config {
        bucket: bucket.name.clone(),
        description: "leases and names of a cluster of tidings nodes".to_owned(),
        history: 1,
        storage: StorageType::Memory,
        num_replicas: bucket.replicas,
        limit_markers: Some(MARKER),
        ..kv::Config::default()
    };
    let error = match context.create_key_value(config).await {
        Ok(store) => return Ok(store),
        Err(error) => error,
    };
    // It may be there with other settings, which are its operator's.
    let there = context.get_key_value(&bucket.name).await;
    let why = format!("no bucket for keys, is JetStream on (`nats-server -js`)? {error}");
    there.map_err(|_| match is_final(&error) {
        true => EngineError::Refused(why),
        false => EngineError::Unreachable(why),
    })
}

/// TLS has failed: a certificate that we do not trust, or that the server does not.
fn is_tls(error: &async_nats::ConnectError) -> bool {
    let io = error.source().and_then(|source| source.downcast_ref());
    let cause = io.and_then(io::Error::get_ref);
    cause.is_some_and(|cause| cause.is::<async_nats::rustls::Error>())
}

/// JetStream will say so for as long as nobody sets it otherwise: it is one server, and not several.
fn is_final(error: &CreateKeyValueError) -> bool {
    let stream = error.source();
    let stream = stream.and_then(|error| error.downcast_ref::<CreateStreamError>());
    let said = stream.map(CreateStreamError::kind);
    matches!(said, Some(CreateStreamErrorKind::JetStream(said))
        if said.error_code() == ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED)
}

async fn in_time<T>(work: impl Future<Output = Result<T, EngineError>>) -> Result<T, EngineError> {
    within(PATIENCE, work).await?
}

async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> Result<T, EngineError> {
    let done = tokio::time::timeout(limit, work).await;
    done.map_err(|_| EngineError::Unreachable("no answer".to_owned()))
}

fn unreachable(error: impl fmt::Display) -> EngineError {
    EngineError::Unreachable(error.to_string())
}

/// Why the server has not taken what was published to a stream.
fn refused(error: PublishError) -> EngineError {
    match error.kind() {
        PublishErrorKind::WrongLastSequence => EngineError::Conflict,
        PublishErrorKind::StreamNotFound => EngineError::NoResponders,
        PublishErrorKind::MaxPayloadExceeded => EngineError::Refused(error.to_string()),
        _ => match said(&error).map(jetstream::Error::error_code) {
            // It will be as long next time.
            Some(
                ErrorCode::STREAM_HEADER_EXCEEDS_MAXIMUM
                | ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM,
            ) => EngineError::Refused(error.to_string()),
            _ => unreachable(error),
        },
    }
}

/// What JetStream has answered, if it has.
fn said(error: &PublishError) -> Option<&jetstream::Error> {
    error.source()?.downcast_ref()
}

/// Is it that another write of the key has been taken and is not done yet? Which of them counts will be
/// known in a moment.
fn is_under_way(error: &PublishError) -> bool {
    said(error)
        .is_some_and(|said| said.error_code() == ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT)
}

/// What was written last under a key, by the server that leads: what the others have may be old, and who
/// wrote by that would be refused for as long as they lag behind.
async fn entry(store: &Store, key: &str) -> Result<Option<Entry>, EngineError> {
    let subject = format!("{}{key}", store.prefix);
    let there = store.stream.get_last_raw_message_by_subject(&subject).await;
    match there {
        Ok(there) => {
            let removed = there.headers.get(OPERATION);
            let is_gone = removed.is_some_and(|said| said.as_str() != "PUT")
                || there.headers.get(NATS_MARKER_REASON).is_some();
            Ok(Some(Entry {
                key: key.to_owned(),
                revision: there.sequence,
                value: (!is_gone).then_some(there.payload),
            }))
        }
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(unreachable(error)),
    }
}

/// Writes, if the last revision under the key is this one.
async fn write_after(
    context: &Context,
    subject: String,
    value: Bytes,
    last: u64,
    ttl: Option<Duration>,
) -> Result<u64, EngineError> {
    let mut headers = HeaderMap::new();
    headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, last.to_string());
    if let Some(ttl) = ttl {
        let secs = ttl.as_millis().div_ceil(1000).max(1);
        headers.insert(NATS_MESSAGE_TTL, format!("{secs}s"));
    }
    loop {
        let (subject, headers) = (subject.clone(), headers.clone());
        let sent = context.publish_with_headers(subject, headers, value.clone());
        match sent.await.map_err(refused)?.await {
            Ok(written) => return Ok(written.sequence),
            Err(error) if is_under_way(&error) => tokio::time::sleep(UNDER_WAY).await,
            Err(error) => return Err(refused(error)),
        }
    }
}

impl Engine for Nats {
    fn publish<'a>(&'a self, subject: &'a str, payload: Bytes) -> Answer<'a, ()> {
        Box::pin(async move {
            let sent = self.inner.client.publish(subject.to_owned(), payload).await;
            sent.map_err(|error| EngineError::Refused(error.to_string()))
        })
    }

    fn request<'a>(
        &'a self,
        subject: &'a str,
        payload: Bytes,
        within: Duration,
    ) -> Answer<'a, Bytes> {
        let client = self.inner.client.clone();
        let to = subject.to_owned();
        Box::pin(self.inner.tokio.publish(subject, async move {
            let request = Request::new().payload(payload).timeout(Some(within));
            let answer = client.send_request(to, request).await;
            let message = answer.map_err(|error| match error.kind() {
                RequestErrorKind::NoResponders => EngineError::NoResponders,
                RequestErrorKind::TimedOut => EngineError::Timeout,
                RequestErrorKind::InvalidSubject | RequestErrorKind::MaxPayloadExceeded => {
                    EngineError::Refused(error.to_string())
                }
                _ => unreachable(error),
            })?;
            Ok(message.payload)
        }))
    }

    fn subscribe<'a>(&'a self, subject: &'a str) -> Answer<'a, Subscription> {
        let (client, subject) = (self.inner.client.clone(), subject.to_owned());
        let complaints = self.inner.tokio.complaints.clone();
        Box::pin(self.inner.tokio.run(async move {
            let before = complaints.number();
            let subscriber = client.subscribe(subject.clone()).await;
            let subscriber = subscriber.map_err(|error| EngineError::Refused(error.to_string()))?;
            Self::round_trip(&client).await?;
            // What the server says of it has come before that, and is noted in a task of the client's.
            tokio::task::yield_now().await;
            if let Some(denied) = complaints.of_subscription(&subject, before) {
                return Err(EngineError::Refused(denied));
            }
            Ok(Arrivals::new(subscriber.map(|message| Message {
                subject: message.subject.into_string(),
                reply: message.reply.map(async_nats::Subject::into_string),
                payload: message.payload,
            })))
        }))
    }

    fn read<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Entry>> {
        let (store, key) = (self.inner.store.clone(), key.to_owned());
        Box::pin(self.inner.tokio.run(in_time(async move {
            let there = entry(&store, &key).await?;
            Ok(there.filter(|there| there.value.is_some()))
        })))
    }

    fn write<'a>(
        &'a self,
        key: &'a str,
        value: Bytes,
        expect: Expect,
        ttl: Option<Duration>,
    ) -> Answer<'a, u64> {
        let (context, store) = (self.inner.context.clone(), self.inner.store.clone());
        let (key, bucket) = (key.to_owned(), self.inner.bucket.clone());
        let subject = format!("{}{key}", store.prefix);
        let to = subject.clone();
        let written = in_time(async move {
            let last = match expect {
                Expect::Revision(last) => last,
                Expect::Absent => 0,
            };
            let write =
                async |last| write_after(&context, subject.clone(), value.clone(), last, ttl).await;
            let mut first = write(last).await;
            if first == Err(EngineError::NoResponders) {
                // A server that was started anew has no bucket any more.
                open(&context, &bucket).await?;
                first = write(last).await;
            }
            if expect != Expect::Absent || first != Err(EngineError::Conflict) {
                return first;
            }
            // What says that nothing is there any more has a revision, too.
            match entry(&store, &key).await? {
                Some(there) if there.value.is_none() => write(there.revision).await,
                _ => Err(EngineError::Conflict),
            }
        });
        Box::pin(async move { self.inner.tokio.publish(&to, written).await })
    }

    fn remove<'a>(&'a self, key: &'a str, revision: u64) -> Answer<'a, ()> {
        let (store, key) = (self.inner.store.clone(), key.to_owned());
        Box::pin(self.inner.tokio.run(in_time(async move {
            let removed = store.purge_expect_revision_with_ttl(key, revision, MARKER);
            removed.await.map_err(|error| match error.kind() {
                UpdateErrorKind::WrongLastRevision => EngineError::Conflict,
                _ => unreachable(error),
            })
        })))
    }

    fn watch(&self) -> Answer<'_, Watch> {
        let store = self.inner.store.clone();
        let handle = self.inner.tokio.handle().clone();
        Box::pin(self.inner.tokio.run(async move {
            let watch = in_time(async { store.watch_with_history(">").await.map_err(unreachable) });
            let mut watch = watch.await?;
            let (tell, changes) = tidings::bounded(CHANGES);
            drop(handle.spawn(async move {
                loop {
                    let nobody = pin!(tell.closed().into_future());
                    let next = match future::select(watch.next(), nobody).await {
                        future::Either::Left((Some(Ok(entry)), _)) => heard(entry),
                        _ => return,
                    };
                    if tell.send(next).await.is_err() {
                        return;
                    }
                }
            }));
            Ok(Arrivals::new(changes.into_stream()))
        }))
    }

    fn open<'a>(&'a self, queue: &'a str, hold: Duration) -> Answer<'a, Duration> {
        Box::pin(self.open_queue(queue, hold))
    }

    fn enqueue<'a>(&'a self, queue: &'a str, id: &'a str, payload: Bytes) -> Answer<'a, bool> {
        Box::pin(self.put(queue, id, payload))
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
        Box::pin(self.say(delivery, settle))
    }

    fn largest(&self) -> usize {
        self.inner.client.max_payload()
    }

    fn lost(&self) -> u64 {
        self.inner.lost.load(Ordering::Relaxed)
    }
}

fn heard(entry: kv::Entry) -> Entry {
    let value = (entry.operation == Operation::Put).then_some(entry.value);
    Entry {
        key: entry.key,
        revision: entry.revision,
        value,
    }
}

impl fmt::Debug for Nats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nats")
            .field("bucket", &self.inner.store.name)
            .field("state", &self.inner.client.connection_state())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{EngineError, Tokio};

    #[test]
    fn what_the_server_has_said_before_is_not_why_something_fails_later() {
        let tokio = Tokio::new().unwrap();
        let fails = |said: Option<&'static str>| {
            let complaints = tokio.complaints.clone();
            let work = tokio.run(async move {
                said.into_iter()
                    .for_each(|text| complaints.hear(text.to_owned()));
                Err::<(), _>(EngineError::Unreachable("no answer".to_owned()))
            });
            tokio.handle().block_on(work).unwrap_err().to_string()
        };
        tokio.complaints.hear("not of it".to_owned());
        let why = "the engine cannot be reached: no answer";
        assert_eq!(fails(None), why);
        assert_eq!(fails(Some("no")), format!("{why}; the server has said: no"));
        assert_eq!(fails(None), why);
    }
}
