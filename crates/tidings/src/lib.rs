//! Message passing for Rust: tasks, channels, actors, and choice as a value.
//!
//! One programming model in one process: a work-stealing scheduler, channels, and Concurrent ML's
//! first-class events, which lose nothing when a wait is abandoned.
//!
//! ```
//! use std::time::Duration;
//! use tidings::{Event, after, channel, select};
//!
//! # tidings::Runtime::new().unwrap().block_on(async {
//! let (tx, rx) = channel();
//! tidings::spawn(async move { tx.send("hello").await });
//! let word = select! {
//!     word = rx.recv() => word.unwrap(),
//!     () = after(Duration::from_secs(5)) => "nobody",
//! };
//! assert_eq!(word, "hello");
//! # });
//! ```
//!
//! | start here | for |
//! |---|---|
//! | [`Runtime`], [`spawn`], [`spawn_local`], [`JoinHandle`] | running tasks |
//! | [`channel()`], [`bounded`], [`unbounded`], [`oneshot()`] | sending values |
//! | [`Event`], [`select!`], [`choose`], [`after`] | waiting for the first of several things |
//! | [`actor`](mod@actor), [`interface`] | state behind a mailbox, reached by a typed reference |
//! | [`scope`], [`JoinSet`], [`CancellationToken`], [`ctrl_c`] | tasks that belong together, and their end |
//! | [`inspect`](fn@inspect), [`Builder::watch_deadlocks`](sched::Builder::watch_deadlocks) | what lives, who waits for what |
//! | `net` (Unix, the feature `net`) | sockets, polled by the workers |
//! | [`task_local!`] | values that belong to a task |
//! | [`sync`] | locks and signals: mutex, reader-writer lock, semaphore, notify, once-cell, barrier |
//! | `trace` (feature `tracing`) | the trace context of messages |
//! | [`channel`](mod@channel), [`time`], [`task`], [`sched`], [`event`] | everything else |
//!
//! Names known from tokio, Go, Erlang or Hopac: [`coming_from`]. What is promised, and the tests that hold it:
//! `SEMANTICS.md`.

pub mod actor;
mod cancel;
pub mod channel;
#[cfg(doc)]
#[doc = include_str!("coming_from.md")]
pub mod coming_from {}
pub mod event;
mod inspect;
#[cfg(all(test, loom))]
mod models;
#[cfg(all(feature = "net", unix, not(any(loom, shuttle))))]
pub mod net;
mod primitive;
#[cfg(feature = "remote")]
pub mod remote;
pub mod sched;
mod scope;
#[cfg(not(any(loom, shuttle)))]
mod signal;
pub mod sync;
pub mod task;
pub mod time;
#[cfg(any(feature = "remote", feature = "tracing"))]
pub mod trace;

pub use cancel::{CancellationToken, Cancelled, DropGuard};
pub use channel::{
    IVar, MVar, Receiver, RecvError, RecvTimeoutError, SendError, SendTimeoutError, Sender,
    TryRecvError, TrySendError, bounded, broadcast, channel, oneshot, unbounded, watch,
};
pub use event::{Either, Event, always, choose, guard, never, with_nack};
pub use inspect::{Activity, ActorView, Inspection, inspect};
pub use sched::{Handle, Runtime, spawn, spawn_blocking, spawn_local};
pub use scope::{Scope, scope, try_scope};
#[cfg(not(any(loom, shuttle)))]
pub use signal::ctrl_c;
pub use task::{AbortHandle, JoinError, JoinHandle, JoinSet, yield_now};
/// [`remote::Remote`], derived: messages that cross links by themselves.
///
#[cfg(feature = "remote")]
pub use tidings_macros::Remote;
/// [`remote::Schema`], derived: what both sides of a link agree on.
///
#[cfg(feature = "remote")]
pub use tidings_macros::Schema;
/// An actor of several [`interface`]s, whose reference is an [`ActorRef`](actor::ActorRef): each
/// interface is one that it [`Carries`](actor::Carries).
///
pub use tidings_macros::actor;
/// What an [`actor`](mod@actor) can be asked, as a trait.
///
/// [`actor::start`] makes an actor of who implements it. Of its reference's methods, one-way ones are
/// [`Tell`](actor::Tell)s and others [`Call`](actor::Call)s; they may take a [`Reply`](actor::Reply), give
/// a [`Streaming`](actor::Streaming), and run beside others, with a [`Shared`](actor::Shared).
///
pub use tidings_macros::interface;
/// The `main` of a program, around which stands [`Runtime::block_on`].
///
pub use tidings_macros::main;
/// A test around which stands [`Runtime::block_on`], with
/// [`watch_deadlocks`](sched::Builder::watch_deadlocks), or a simulation.
///
pub use tidings_macros::test;
pub use time::{after, at, interval};

/// The programs of the README compile.
#[cfg(all(doctest, feature = "net"))]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[doc(hidden)]
pub mod __private {
    //! What the macros need.
    pub use crate::event::select::{Arm, Arms, arms, only_arm};
}
