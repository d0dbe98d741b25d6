//! The last value, for everybody: configuration, state, progress.
//!
//! The value is in an `Arc`: reading takes a snapshot, and no lock is held while anybody looks.
//! tokio's `borrow` gives a guard of a read lock instead, with which a task that holds it over
//! an await, or reads twice while a sender waits, stops senders and readers (its documentation
//! warns of both). Here a snapshot can be kept for as long as one likes; the price is an allocation per
//! send, and that changing the value in place clones it
//! ([`send_modify`](Sender::send_modify)).
//!
//! Budget: a send is an allocation and one lock; a look is one lock and a count up and down.

mod receiver;
mod sender;

use std::marker::PhantomData;

pub use receiver::{Changed, Receiver};
pub use sender::{Closed, Sender};

use super::ends::Ends;
use super::source::Source;
use crate::primitive::Arc;

/// A cell that keeps the last value sent; receivers see it, and wait for the next.
///
/// Receivers may miss values in between, never the last one. Sends never wait.
///
/// ```
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let (tx, mut rx) = tidings::channel::watch(1);
/// assert_eq!(*rx.get(), 1);
/// tx.send(2).unwrap();
/// tx.send(3).unwrap();
/// rx.changed().await.unwrap();
/// assert_eq!(*rx.get(), 3);
/// # });
/// ```
#[must_use]
#[cfg_attr(debug_assertions, track_caller)]
pub fn watch<T>(value: T) -> (Sender<T>, Receiver<T>) {
    let last = Last {
        value: Arc::new(value),
        version: 0,
    };
    let source = Arc::new(Source::new(Ends::new(last)));
    let sender = Sender {
        source: Arc::clone(&source),
        value: PhantomData,
    };
    (
        sender,
        Receiver {
            source,
            seen: 0,
            value: PhantomData,
        },
    )
}

/// A receiver's ticket is the version that it has seen.
type State<T> = Ends<Last<T>>;

#[derive(Debug)]
pub(crate) struct Last<T> {
    value: Arc<T>,
    /// How many values were sent.
    version: u64,
}
