//! An engine around the one in memory, which does what that does not: it goes on with a write that was
//! given up, as NATS' client does, and takes no large messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tidings_nats::memory::Memory;
use tidings_nats::{
    Answer, Delivery, Engine, EngineError, Entry, Expect, Settle, Subscription, Watch,
};

#[derive(Clone, Debug)]
pub(crate) struct Wrapped {
    engine: Memory,
    late: Arc<AtomicU64>,
    largest: usize,
}

impl Wrapped {
    pub(crate) fn new(engine: Memory) -> Self {
        Self {
            largest: engine.largest(),
            engine,
            late: Arc::default(),
        }
    }

    pub(crate) fn largest(mut self, bytes: usize) -> Self {
        self.largest = bytes;
        self
    }

    /// Names are written so much later from now on.
    pub(crate) fn writes_after(&self, millis: u64) {
        self.late.store(millis, Ordering::Relaxed);
    }
}

impl Engine for Wrapped {
    fn publish<'a>(&'a self, subject: &'a str, payload: Bytes) -> Answer<'a, ()> {
        if payload.len() > self.largest {
            let refused = EngineError::Refused("it is too large".to_owned());
            return Box::pin(async { Err(refused) });
        }
        self.engine.publish(subject, payload)
    }

    fn request<'a>(
        &'a self,
        subject: &'a str,
        payload: Bytes,
        within: Duration,
    ) -> Answer<'a, Bytes> {
        self.engine.request(subject, payload, within)
    }

    fn subscribe<'a>(&'a self, subject: &'a str) -> Answer<'a, Subscription> {
        self.engine.subscribe(subject)
    }

    fn read<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Entry>> {
        self.engine.read(key)
    }

    fn write<'a>(
        &'a self,
        key: &'a str,
        value: Bytes,
        expect: Expect,
        ttl: Option<Duration>,
    ) -> Answer<'a, u64> {
        let late = Duration::from_millis(self.late.load(Ordering::Relaxed));
        if !key.starts_with("name.") || late.is_zero() {
            return self.engine.write(key, value, expect, ttl);
        }
        let (engine, key) = (self.engine.clone(), key.to_owned());
        let written = tidings::spawn(async move {
            tidings::after(late).await;
            engine.write(&key, value, expect, ttl).await
        });
        Box::pin(async move { written.await.expect("it does not panic") })
    }

    fn remove<'a>(&'a self, key: &'a str, revision: u64) -> Answer<'a, ()> {
        self.engine.remove(key, revision)
    }

    fn watch(&self) -> Answer<'_, Watch> {
        self.engine.watch()
    }

    fn open<'a>(&'a self, queue: &'a str, hold: Duration) -> Answer<'a, Duration> {
        self.engine.open(queue, hold)
    }

    fn enqueue<'a>(&'a self, queue: &'a str, id: &'a str, payload: Bytes) -> Answer<'a, bool> {
        self.engine.enqueue(queue, id, payload)
    }

    fn fetch<'a>(
        &'a self,
        queue: &'a str,
        max: usize,
        within: Duration,
    ) -> Answer<'a, Vec<Delivery>> {
        self.engine.fetch(queue, max, within)
    }

    fn settle<'a>(&'a self, delivery: &'a Delivery, settle: Settle) -> Answer<'a, ()> {
        self.engine.settle(delivery, settle)
    }

    fn largest(&self) -> usize {
        self.largest
    }
}
