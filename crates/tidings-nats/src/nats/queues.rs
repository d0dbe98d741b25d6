//! Queues on JetStream: a stream on the servers' disks for each, whose messages go when they are done,
//! with one durable consumer that all nodes pull from.
//!
//! What is in flight is bounded by each who pulls, for itself; JetStream's own bound would be one for
//! all of them together, and is off. So is its bound of tries: it would drop messages silently.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Mutex;
use std::time::Duration;

use async_nats::header::NATS_MESSAGE_ID;
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::stream::{self, RetentionPolicy, StorageType};
use async_nats::jetstream::{self, AckKind, Context};
use async_nats::{Client, HeaderMap, Request};
use bytes::Bytes;
use futures_util::{StreamExt, future};

use super::{Bucket, Nats, PATIENCE, in_time, refused, unreachable, within};
use crate::engine::{DUPLICATES, Delivery, EngineError, Settle};
use crate::lock::lock;

/// The consumer of all who feed actors from a queue.
const CONSUMER: &str = "feed";

/// The longest time that the server takes: it counts nanoseconds, by 63 bits.
const LONGEST: Duration = Duration::from_nanos(i64::MAX as u64);

/// The queues that were opened by this connection.
#[derive(Default)]
pub(super) struct Queues(Mutex<HashMap<String, PullConsumer>>);

impl Queues {
    fn with<R>(&self, f: impl FnOnce(&mut HashMap<String, PullConsumer>) -> R) -> R {
        f(&mut lock(&self.0))
    }
}

fn subject(bucket: &Bucket, queue: &str) -> String {
    format!("{}.queue.{queue}", bucket.name)
}

/// Opens the stream and its consumer: those that are there are their operator's.
async fn consumer(
    context: &Context,
    bucket: &Bucket,
    queue: &str,
    hold: Duration,
) -> Result<PullConsumer, EngineError> {
    let config = stream::Config {
        // Neither part has a `=`, and either may have a `-`.
        name: format!("{}={queue}", bucket.name),
        subjects: vec![subject(bucket, queue)],
        retention: RetentionPolicy::WorkQueue,
        storage: StorageType::File,
        num_replicas: bucket.replicas,
        duplicate_window: DUPLICATES,
        ..stream::Config::default()
    };
    let stream = context.get_or_create_stream(config).await;
    let stream = stream.map_err(unreachable)?;
    let config = pull::Config {
        durable_name: Some(CONSUMER.to_owned()),
        ack_policy: AckPolicy::Explicit,
        ack_wait: hold.min(LONGEST),
        max_deliver: -1,
        max_ack_pending: -1,
        ..pull::Config::default()
    };
    let consumer = stream.get_or_create_consumer(CONSUMER, config).await;
    consumer.map_err(unreachable)
}

fn delivery(message: &jetstream::Message) -> Result<Delivery, EngineError> {
    let info = message.info().map_err(unreachable)?;
    let headers = message.headers.as_ref();
    let id = headers.and_then(|headers| headers.get(NATS_MESSAGE_ID));
    let id = id.map_or_else(|| format!("#{}", info.stream_sequence), ToString::to_string);
    Ok(Delivery {
        id,
        number: info.stream_sequence,
        tries: u64::try_from(info.delivered).unwrap_or(1),
        payload: message.payload.clone(),
        receipt: message
            .reply
            .as_ref()
            .map_or_else(String::new, ToString::to_string),
    })
}

/// Adds what a pull gives, until it says that there is no more. Each message has its time: many take long
/// over a slow line.
async fn pull(
    batch: pull::Batch,
    each: Duration,
    taken: &mut Vec<Delivery>,
) -> Result<(), EngineError> {
    let mut batch = pin!(batch);
    loop {
        let Some(message) = within(each, batch.next()).await? else {
            return Ok(());
        };
        taken.push(delivery(&message.map_err(unreachable)?)?);
    }
}

async fn take(
    consumer: &PullConsumer,
    max: usize,
    wait: Duration,
    taken: &mut Vec<Delivery>,
) -> Result<(), EngineError> {
    let now = async { consumer.fetch().max_messages(max).messages().await };
    let now = within(PATIENCE, now).await?.map_err(unreachable)?;
    pull(now, PATIENCE, taken).await?;
    if taken.is_empty() {
        let first = consumer.batch().max_messages(1).expires(wait).messages();
        let first = within(PATIENCE, first).await?.map_err(unreachable)?;
        pull(first, wait + PATIENCE, taken).await?;
    }
    Ok(())
}

async fn give_back(
    client: &Client,
    delivery: &Delivery,
    pause: Option<Duration>,
) -> Result<(), EngineError> {
    let pause = pause.map(|pause| pause.min(LONGEST));
    let nack = client.publish(delivery.receipt.clone(), AckKind::Nak(pause).into());
    nack.await.map_err(unreachable)
}

impl Nats {
    pub(super) async fn open_queue(
        &self,
        queue: &str,
        hold: Duration,
    ) -> Result<Duration, EngineError> {
        let (context, bucket) = (self.inner.context.clone(), self.inner.bucket.clone());
        let name = queue.to_owned();
        let opened = async move { consumer(&context, &bucket, &name, hold).await };
        let opened = self.inner.tokio.run(in_time(opened)).await?;
        let hold = opened.cached_info().config.ack_wait;
        self.inner
            .queues
            .with(|all| all.insert(queue.to_owned(), opened));
        Ok(hold)
    }

    pub(super) async fn put(
        &self,
        queue: &str,
        id: &str,
        payload: Bytes,
    ) -> Result<bool, EngineError> {
        let context = self.inner.context.clone();
        let subject = subject(&self.inner.bucket, queue);
        let to = subject.clone();
        let mut headers = HeaderMap::new();
        headers.insert(NATS_MESSAGE_ID, id);
        let put = in_time(async move {
            let sent = context
                .publish_with_headers(subject, headers, payload)
                .await;
            let put = sent.map_err(refused)?.await.map_err(refused)?;
            Ok(!put.duplicate)
        });
        self.inner.tokio.publish(&to, put).await
    }

    pub(super) async fn take(
        &self,
        queue: &str,
        max: usize,
        wait: Duration,
    ) -> Result<Vec<Delivery>, EngineError> {
        let consumer = self.inner.queues.with(|all| all.get(queue).cloned());
        let consumer = consumer.ok_or(EngineError::NoResponders)?;
        let client = self.inner.client.clone();
        let (tell, taken) = tidings::oneshot();
        drop(self.inner.tokio.handle().spawn(async move {
            let mut taken = Vec::new();
            let failed = {
                let work = pin!(take(&consumer, max, wait, &mut taken));
                // Nobody waits any more: the server is told so, by the end of the pull.
                let nobody = pin!(tell.closed().into_future());
                match future::select(work, nobody).await {
                    future::Either::Left((done, _)) => done.err(),
                    future::Either::Right(_) => None,
                }
            };
            let result = match failed {
                // What came before something went wrong is held for us.
                Some(error) if taken.is_empty() => Err(error),
                _ => Ok(taken),
            };
            if let Err(Ok(unwanted)) = tell.send(result) {
                for delivery in unwanted {
                    let _ = give_back(&client, &delivery, None).await;
                }
            }
        }));
        let gone = || EngineError::Unreachable("the engine has ended".to_owned());
        let taken = taken.await.unwrap_or_else(|_| Err(gone()));
        if taken.is_err() {
            // It may be gone: to be opened anew.
            self.inner.queues.with(|all| all.remove(queue));
        }
        taken
    }

    pub(super) async fn say(&self, delivery: &Delivery, settle: Settle) -> Result<(), EngineError> {
        let client = self.inner.client.clone();
        let receipt = delivery.receipt.clone();
        match settle {
            Settle::Done => {
                let done = async move {
                    let request = Request::new()
                        .payload(AckKind::Ack.into())
                        .timeout(Some(PATIENCE));
                    let heard = client.send_request(receipt, request).await;
                    heard.map(drop).map_err(unreachable)
                };
                self.inner.tokio.run(done).await
            }
            Settle::Again(pause) => give_back(&client, delivery, Some(pause)).await,
            Settle::Working => {
                let working = client.publish(receipt, AckKind::Progress.into());
                working.await.map_err(unreachable)
            }
        }
    }
}
