//! What a server says of what we may not do: beside, and not as an answer to what we asked.

use std::pin::pin;
use std::sync::{Arc, Mutex};

use futures_util::future::{self, Either};
use tidings::sync::Notify;

use super::Tokio;
use crate::engine::EngineError;
use crate::lock::lock;

/// The complaints of the servers of one connection. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Complaints(Arc<Shared>);

#[derive(Default)]
struct Shared {
    heard: Mutex<Heard>,
    /// There is another.
    another: Notify,
}

#[derive(Default)]
struct Heard {
    /// The last.
    text: String,
    /// So many there were.
    number: u64,
}

impl Complaints {
    pub(super) fn hear(&self, text: String) {
        {
            let mut heard = lock(&self.0.heard);
            heard.text = text;
            heard.number += 1;
        }
        self.0.another.notify_waiters();
    }

    /// How many there were.
    pub(super) fn number(&self) -> u64 {
        lock(&self.0.heard).number
    }

    /// The last, if there were fewer before.
    pub(super) fn since(&self, before: u64) -> Option<String> {
        let heard = lock(&self.0.heard);
        (heard.number > before).then(|| heard.text.clone())
    }

    /// The last since then, if it says that we may not subscribe to this.
    pub(super) fn of_subscription(&self, subject: &str, before: u64) -> Option<String> {
        let denied = format!("Permissions Violation for Subscription to \"{subject}\"");
        self.since(before).filter(|text| text.contains(&denied))
    }

    /// Waits until one says that we may not publish to this.
    async fn of_publishing(&self, subject: &str) -> String {
        let denied = format!("Permissions Violation for Publish to \"{subject}\"");
        let before = self.number();
        loop {
            let another = self.0.another.notified();
            let text = self.since(before);
            if let Some(text) = text.filter(|text| text.contains(&denied)) {
                return text;
            }
            another.await;
        }
    }
}

impl Tokio {
    /// As [`run`](Self::run), of what is published to this subject and answered. Who may not has no answer: he is
    /// refused when the server says so.
    pub(super) async fn publish<T: Send + 'static>(
        &self,
        subject: &str,
        work: impl Future<Output = Result<T, EngineError>> + Send + 'static,
    ) -> Result<T, EngineError> {
        // It listens before the work begins.
        let denied = pin!(self.complaints.of_publishing(subject));
        match future::select(denied, pin!(self.run(work))).await {
            Either::Left((denied, _)) => Err(EngineError::Refused(denied)),
            Either::Right((done, _)) => done,
        }
    }
}
