//! Every receiver sees every value: a ring of the last `n` values, and a cursor per receiver.
//!
//! A value is stored in an `Arc`. A receiver copies the pointer under the lock and clones the
//! value without it: clone is user code, which must not run under a lock, and a slow clone
//! must not hold up the senders. The price is an allocation per send; several receivers clone
//! one value at the same time, hence `T: Sync`. The last holder of a value that has left the
//! ring takes it without cloning.
//!
//! Budget: a send is an allocation and one lock, a receive one lock and a count up and down.

mod receiver;
mod sender;

use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;

pub use receiver::{Receiver, Recv};
pub use sender::{Closed, Sender};

use super::ends::Ends;
use super::source::Source;
use crate::primitive::Arc;

/// A channel that gives every value to every receiver, and keeps the last `n` values.
///
/// It keeps a value until `n` more have come or the last receiver goes, though all receivers have seen it.
/// Sends never wait. A receiver that is more than `n` values behind misses the oldest of them
/// and is told how many ([`RecvError::Lagged`]). Receivers see what is sent after they
/// subscribed.
///
/// # Panics
/// If `n` is 0.
///
/// ```
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let (tx, mut a) = tidings::channel::broadcast(16);
/// let mut b = tx.subscribe();
/// tx.send("news").unwrap();
/// assert_eq!(a.recv().await, Ok("news"));
/// assert_eq!(b.recv().await, Ok("news"));
/// # });
/// ```
#[must_use]
#[cfg_attr(debug_assertions, track_caller)]
pub fn broadcast<T: Clone>(n: usize) -> (Sender<T>, Receiver<T>) {
    assert!(n > 0, "a broadcast channel keeps at least 1 value");
    let ring = Ring {
        values: VecDeque::new(),
        capacity: n,
        tail: 0,
    };
    let source = Arc::new(Source::new(Ends::new(ring)));
    let sender = Sender {
        source: Arc::clone(&source),
        value: PhantomData,
    };
    (
        sender,
        Receiver {
            source,
            cursor: 0,
            value: PhantomData,
        },
    )
}

/// A receiver's ticket is the position it waits for.
type State<T> = Ends<Ring<T>>;

#[derive(Debug)]
pub(crate) struct Ring<T> {
    /// Those at the positions `tail - values.len() .. tail`.
    values: VecDeque<Arc<T>>,
    capacity: usize,
    /// The position of the next value.
    tail: u64,
}

impl<T> Ring<T> {
    /// The oldest position that is kept.
    fn head(&self) -> u64 {
        self.tail - self.values.len() as u64
    }
}

impl<T> State<T> {
    /// What a receiver at `cursor` finds; moves it.
    fn next(&self, cursor: &mut u64) -> Result<Arc<T>, TryRecvError> {
        let head = self.kept.head();
        let Some(index) = cursor.checked_sub(head) else {
            let missed = head - *cursor;
            *cursor = head;
            return Err(TryRecvError::Lagged(missed));
        };
        match self.kept.values.get(index as usize) {
            Some(value) => {
                *cursor += 1;
                Ok(Arc::clone(value))
            }
            None if self.senders == 0 => Err(TryRecvError::Closed),
            None => Err(TryRecvError::Empty),
        }
    }
}

/// Why a receive gave no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvError {
    /// The receiver was too slow: so many values were overwritten before it saw them. The next
    /// receive gives the oldest that is kept.
    Lagged(u64),
    /// Every value was seen, and no sender is left.
    Closed,
}

/// Why a receive that does not wait gave no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryRecvError {
    /// Nothing new is there yet.
    Empty,
    /// As [`RecvError::Lagged`].
    Lagged(u64),
    /// As [`RecvError::Closed`].
    Closed,
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lagged(n) => write!(f, "receiving too slowly: missed {n} values"),
            Self::Closed => f.write_str("receiving on a closed channel"),
        }
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("receiving on an empty channel"),
            Self::Lagged(n) => RecvError::Lagged(*n).fmt(f),
            Self::Closed => RecvError::Closed.fmt(f),
        }
    }
}

impl std::error::Error for RecvError {}
impl std::error::Error for TryRecvError {}

fn subscribe<T>(source: &Arc<Source<State<T>>>) -> Receiver<T> {
    Receiver {
        source: Arc::clone(source),
        cursor: source.add_receiver(|ring| ring.tail),
        value: PhantomData,
    }
}
