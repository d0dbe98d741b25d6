//! The queues of the server in memory: what is kept, who holds it, and when it is given out again.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use tidings::time::Instant;
use tidings::{Event, at};

use super::{Memory, State, one_in};
use crate::engine::{DUPLICATES, Delivery, EngineError, LARGEST, Settle};

/// A queue.
pub(super) struct Kept {
    hold: Duration,
    last: u64,
    waiting: BTreeMap<u64, Waiting>,
    /// When ids were put last.
    ids: BTreeMap<String, Instant>,
}

/// A message that is not done.
struct Waiting {
    id: String,
    payload: Bytes,
    tries: u64,
    /// It is not given out before.
    due: Instant,
}

/// As NATS counts: with the header in which the id stands, if it has one.
pub(super) fn fits(id: &str, payload: &Bytes) -> Result<(), EngineError> {
    let header = match id {
        "" => 0,
        id => "NATS/1.0\r\nNats-Msg-Id: \r\n\r\n".len() + id.len(),
    };
    match header + payload.len() > LARGEST {
        true => Err(EngineError::Refused("it is too large".to_owned())),
        false => Ok(()),
    }
}

impl State {
    pub(super) fn open(&mut self, queue: &str, hold: Duration) -> Duration {
        let made = || Kept {
            hold,
            last: 0,
            waiting: BTreeMap::new(),
            ids: BTreeMap::new(),
        };
        let queue = self.queues.entry(queue.to_owned()).or_insert_with(made);
        queue.hold
    }

    pub(super) fn enqueue(
        &mut self,
        queue: &str,
        id: &str,
        payload: Bytes,
    ) -> Result<bool, EngineError> {
        fits(id, &payload)?;
        let now = Instant::now();
        let queue = self.queues.get_mut(queue);
        let queue = queue.ok_or(EngineError::NoResponders)?;
        queue.ids.retain(|_, put| now - *put < DUPLICATES);
        if queue.ids.contains_key(id) {
            return Ok(false);
        }
        queue.ids.insert(id.to_owned(), now);
        queue.last += 1;
        let waiting = Waiting {
            id: id.to_owned(),
            payload,
            tries: 0,
            due: now,
        };
        queue.waiting.insert(queue.last, waiting);
        Ok(true)
    }

    /// What is there; or when something will be, as far as is known.
    fn take(
        &mut self,
        name: &str,
        max: usize,
        line: u64,
    ) -> Result<(Vec<Delivery>, Option<Instant>), EngineError> {
        let now = Instant::now();
        let queue = self.queues.get_mut(name).ok_or(EngineError::NoResponders)?;
        if self.cut.contains(&line) {
            return Ok((Vec::new(), None));
        }
        let due = queue.waiting.iter_mut().filter(|(_, w)| w.due <= now);
        let taken = due.take(max).map(|(&number, waiting)| {
            waiting.tries += 1;
            // One that comes twice is given out to the next who asks, too.
            if !one_in(self.faults.double) {
                waiting.due = now + queue.hold;
            }
            Delivery {
                id: waiting.id.clone(),
                number,
                tries: waiting.tries,
                payload: waiting.payload.clone(),
                receipt: name.to_owned(),
            }
        });
        let taken: Vec<Delivery> = taken.collect();
        Ok((taken, queue.waiting.values().map(|w| w.due).min()))
    }

    pub(super) fn settle(&mut self, delivery: &Delivery, settle: Settle) {
        let Some(queue) = self.queues.get_mut(&delivery.receipt) else {
            return;
        };
        if settle == Settle::Done {
            queue.waiting.remove(&delivery.number);
            return;
        }
        let waiting = queue.waiting.get_mut(&delivery.number);
        // It was given out again: another has it.
        let Some(waiting) = waiting.filter(|w| w.tries == delivery.tries) else {
            return;
        };
        waiting.due = match settle {
            Settle::Again(pause) => Instant::now() + pause,
            _ => Instant::now() + queue.hold,
        };
    }
}

impl Memory {
    /// Goes to the server, does something to a queue, and comes back. Who waits for it is woken.
    pub(super) async fn with_queue<R>(
        &self,
        f: impl FnOnce(&mut State) -> Result<R, EngineError>,
    ) -> Result<R, EngineError> {
        self.travel().await?;
        let result = self.server.with(|state, _| f(state));
        self.server.queued.notify_waiters();
        self.travel().await?;
        result
    }

    pub(super) async fn take(
        &self,
        queue: &str,
        max: usize,
        within: Duration,
    ) -> Result<Vec<Delivery>, EngineError> {
        self.travel().await?;
        let until = Instant::now() + within;
        let taken = loop {
            let changed = self.server.queued.notified();
            let (taken, next) = self
                .server
                .with(|state, _| state.take(queue, max, self.line))?;
            if !taken.is_empty() || Instant::now() >= until {
                break taken;
            }
            let next = next.map_or(until, |next| next.min(until));
            changed.or(at(next)).await;
        };
        self.travel().await?;
        Ok(taken)
    }
}
