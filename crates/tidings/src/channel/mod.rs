//! Channels and cells: what carries values between tasks, threads and executors.
//!
//! | made by | holds | who sends, who receives | sends wait |
//! |---|---|---|---|
//! | [`channel`] | nothing: rendezvous | many, one of many | for the receiver ([`post`](Sender::post) never) |
//! | [`bounded`] | `n` values | many, one of many | while it is full |
//! | [`unbounded`] | any number | many, one of many | never |
//! | [`oneshot()`] | one value | one, one | never |
//! | [`broadcast`](broadcast::broadcast()) | the last `n` values | many, every one | never: slow receivers miss values and are told |
//! | [`watch`](watch::watch()) | the last value | many, every one | never |
//! | [`IVar`] | one value, for ever | one, every one | never |
//! | [`MVar`] | one value or none | many, one of many | while it is full |
//!
//! The operations that wait are [events](crate::Event): they stand in choices, take time-outs,
//! and when dropped have had no effect. They work on any executor and on plain threads. Three are
//! futures made of events: [`Sender::send_timeout`] and [`Receiver::recv_timeout`] (the event is that of
//! [`timeout`](crate::Event::timeout)), and [`wait_for`](watch::Receiver::wait_for).
//!
//! Order: values sent through one handle are received in the order sent (SEMANTICS.md S-03).

// | file | what |
// |---|---|
// | `chan.rs`, `queue.rs` | the core of `channel`, `bounded`, `unbounded` and mailboxes; its queue |
// | `sender.rs`, `receiver.rs`, `permit.rs`, `stream.rs`, `closed.rs` | the handles, and their events |
// | `refs.rs`, `counts.rs` | the counts of handles; what a channel has carried |
// | `source.rs` | what every channel and cell is made of: a lock, lists of waiters, slots |
// | `wait.rs` | what cells and locks have in common: waits for a state that moves on |
// | `quick.rs` | a send or a receive that concerns nobody else |
// | `bell.rs` | what a link hangs into a reply cell |
// | `notes.rs` | what the flight recorder and the books hear of a channel |
// | `oneshot/`, `ivar.rs`, `mvar.rs` | cells |
// | `broadcast/`, `watch/`, `ends.rs` | channels whose receivers all see what is sent; who is at their ends |
// | `error.rs` | every error |

pub(crate) mod bell;
pub mod broadcast;
pub(crate) mod chan;
mod closed;
mod counts;
mod ends;
mod error;
pub mod ivar;
pub mod mvar;
mod notes;
pub mod oneshot;
mod permit;
mod queue;
mod quick;
mod receiver;
pub(crate) mod refs;
mod sender;
pub(crate) mod source;
mod stream;
pub(crate) mod wait;
pub mod watch;

use std::sync::atomic::{AtomicU64, Ordering};

pub use broadcast::broadcast;
use chan::Chan;
pub use closed::Closed;
pub use counts::ChannelCounts;
pub use error::{
    RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError,
};
pub use ivar::IVar;
pub use mvar::MVar;
pub use oneshot::oneshot;
pub use permit::{Permit, Reserve};
pub use receiver::{Receiver, Recv, RecvMany, WeakReceiver};
pub use sender::{Send, SendFrom, Sender, WeakSender};
pub use stream::{Sink, Stream};
pub use watch::watch;

/// A rendezvous channel: a send is done when a receiver has taken the value.
///
/// Hopac's `Ch`: [`Sender::send`] is its give, [`Sender::post`] its (unbounded) send.
///
/// ```
/// use tidings::{Event, channel};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = channel();
/// let giver = tidings::spawn(async move { tx.send("taken").await });
/// assert_eq!(rx.recv().await, Ok("taken"));
/// giver.await.unwrap().unwrap();
/// # });
/// ```
#[must_use]
#[cfg_attr(debug_assertions, track_caller)]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    with_capacity(0)
}

/// A channel that holds up to `capacity` values; sends wait while it is full.
///
/// # Panics
/// If `capacity` is 0: that is [`channel`].
///
/// ```
/// let (tx, _rx) = tidings::bounded(1);
/// assert!(tx.try_send(1).is_ok());
/// assert_eq!(tx.try_send(2).unwrap_err().into_inner(), 2);
/// ```
#[must_use]
#[cfg_attr(debug_assertions, track_caller)]
pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(
        capacity > 0,
        "a bounded channel holds at least 1 value: `channel()` holds none"
    );
    with_capacity(capacity)
}

/// A channel that holds any number of values; sends never wait.
///
/// If senders are faster than receivers for long, memory runs out: prefer [`bounded`].
///
/// ```
/// use tidings::Event;
/// let (tx, rx) = tidings::unbounded();
/// tx.send(1).wait().unwrap();
/// assert_eq!(rx.try_recv(), Ok(1));
/// ```
#[must_use]
#[cfg_attr(debug_assertions, track_caller)]
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    with_capacity(usize::MAX)
}

#[cfg_attr(debug_assertions, track_caller)]
fn with_capacity<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = Chan::alloc(capacity, ());
    (Sender::new(sender), Receiver::new(receiver))
}

static DEAD_LETTERS: AtomicU64 = AtomicU64::new(0);

fn count_dead(n: usize) {
    if n > 0 {
        DEAD_LETTERS.fetch_add(n as u64, Ordering::Relaxed);
    }
}

/// How many values of all channels of the process were dropped because no receiver was left:
/// sent = received + returned to the sender + dead letters.
///
/// Not those that a [`broadcast()`] or a [`watch()`] keeps, which are no one receiver's.
///
/// ```
/// let before = tidings::channel::dead_letters();
/// let (tx, rx) = tidings::unbounded();
/// tx.try_send(1).unwrap();
/// drop(rx);
/// assert!(tidings::channel::dead_letters() > before);
/// ```
#[must_use]
pub fn dead_letters() -> u64 {
    DEAD_LETTERS.load(Ordering::Relaxed)
}
