//! The law of every actor: sent = handled + returned + dropped by its policy + dead-lettered. Letters write down what became
//! of them, so a test need only send them and balance the books.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tidings::actor::{ActorRef, SendError};

/// The books of one test.
#[derive(Clone, Default)]
pub(crate) struct Books(Arc<Accounts>);

#[derive(Default)]
struct Accounts {
    sent: AtomicU64,
    handled: AtomicU64,
    returned: AtomicU64,
    /// Dropped by nobody who had taken it.
    dead: AtomicU64,
}

/// A message that is written down when it is made and when it goes.
pub(crate) struct Entry {
    books: Books,
    settled: bool,
}

impl Books {
    pub(crate) fn entry(&self) -> Entry {
        self.0.sent.fetch_add(1, Ordering::SeqCst);
        Entry {
            books: self.clone(),
            settled: false,
        }
    }

    /// Sends an entry; if that fails it has come back.
    pub(crate) async fn send<M: Send + 'static>(
        &self,
        to: &ActorRef<M>,
        wrap: impl FnOnce(Entry) -> M,
        unwrap: impl FnOnce(M) -> Entry,
    ) -> bool {
        match to.send(wrap(self.entry())).await {
            Ok(()) => true,
            Err(error) => {
                unwrap(SendError::into_message(error)).returned();
                false
            }
        }
    }

    pub(crate) fn handled(&self) -> u64 {
        self.0.handled.load(Ordering::SeqCst)
    }

    /// The law, with what the library counted as dead letters, and as dropped by overflow policies.
    pub(crate) fn balance(&self, dead_letters: u64) {
        let of = |account: &AtomicU64| account.load(Ordering::SeqCst);
        let Accounts {
            sent,
            handled,
            returned,
            dead,
        } = &*self.0;
        assert_eq!(
            of(sent),
            of(handled) + of(returned) + of(dead),
            "sent is not {} handled + {} returned + {} dead",
            of(handled),
            of(returned),
            of(dead)
        );
        assert_eq!(
            of(dead),
            dead_letters,
            "dead letters, as the library counts"
        );
    }
}

impl Entry {
    /// A handler has it in its hands.
    pub(crate) fn handle(mut self) {
        self.settle(|accounts| &accounts.handled);
    }

    fn returned(mut self) {
        self.settle(|accounts| &accounts.returned);
    }

    fn settle(&mut self, account: impl FnOnce(&Accounts) -> &AtomicU64) {
        self.settled = true;
        account(&self.books.0).fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.settled {
            self.settle(|accounts| &accounts.dead);
        }
    }
}
