//! What a server says of what we may not do: beside, and not as an answer to what we asked.

use std::sync::{Arc, Mutex};

use crate::lock::lock;

/// The complaints of the servers of one connection. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Complaints(Arc<Mutex<Heard>>);

#[derive(Default)]
struct Heard {
    /// The last.
    text: String,
    /// So many there were.
    number: u64,
}

impl Complaints {
    pub(super) fn hear(&self, text: String) {
        let mut heard = lock(&self.0);
        heard.text = text;
        heard.number += 1;
    }

    /// How many there were.
    pub(super) fn number(&self) -> u64 {
        lock(&self.0).number
    }

    /// The last, if there were fewer before.
    pub(super) fn since(&self, before: u64) -> Option<String> {
        let heard = lock(&self.0);
        (heard.number > before).then(|| heard.text.clone())
    }

    /// The last since then, if it says that we may not subscribe to this.
    pub(super) fn of_subscription(&self, subject: &str, before: u64) -> Option<String> {
        let denied = format!("Permissions Violation for Subscription to \"{subject}\"");
        self.since(before).filter(|text| text.contains(&denied))
    }
}
