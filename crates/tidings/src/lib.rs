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
//! | [`scope`], [`JoinSet`], [`CancellationToken`] | tasks that belong together, and their end |
//! | [`ctrl_c`], [`signal`](mod@signal) | ctrl-C, SIGTERM and other signals |
//! | [`inspect`](fn@inspect), [`Builder::watch_deadlocks`](sched::Builder::watch_deadlocks) | what lives, who waits for what |
//! | `net` (the feature `net`) | sockets, polled by the workers |
//! | [`task_local!`] | values that belong to a task |
//! | [`sync`] | locks and signals: mutex, reader-writer lock, semaphore, notify, once-cell, barrier |
//! | `trace` (feature `tracing`) | the trace context of messages |
//! | `remote` (feature `remote`) | messages that can cross a link |
//! | [`channel`](mod@channel), [`time`], [`task`], [`sched`], [`event`] | everything else |
//!
//! Names known from tokio, Go, Erlang, Akka or Hopac: [`coming_from`]. What is promised, and the tests that hold it:
//! `SEMANTICS.md`. Whole programs: `examples/`.
//!
//! | feature | gives |
//! |---|---|
//! | `net` (on by default) | `net`: sockets, polled by the workers; Unix and Windows |
//! | `tokio` | `Builder::tokio_handle`: what needs tokio works in tasks |
//! | `remote` | `remote`, `#[tidings::interface(remote)]`, `#[derive(Schema, Remote)]` |
//! | `tracing` | `trace`, and spans for actors and messages |
//! | `serde` | what [`inspect`](fn@inspect) finds can be serialised |
//!
//! | crate | is for |
//! |---|---|
//! | `tidings-link` | references to actors on other machines: links over TCP, TLS and Unix sockets |
//! | `tidings-nats` | clusters on NATS: names, membership, pools, durable queues |
//! | `tidings-sim` | tests in a simulation, whose seeds decide schedule, time, network and faults |

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
#[cfg(all(feature = "net", any(unix, windows), not(any(loom, shuttle))))]
pub mod net;
mod primitive;
#[cfg(feature = "remote")]
pub mod remote;
pub mod sched;
mod scope;
#[cfg(not(any(loom, shuttle)))]
pub mod signal;
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
/// Derives [`remote::Remote`]: messages of this type can cross a link to an actor that has no interface.
///
#[cfg(feature = "remote")]
pub use tidings_macros::Remote;
/// Derives [`remote::Schema`]: the shape of the type, on which both sides of a link agree.
///
#[cfg(feature = "remote")]
pub use tidings_macros::Schema;
/// Makes an actor of several [`interface`]s: one type of messages that [`Carries`](actor::Carries) those of each,
/// and one reference, from which a reference to each interface can be made.
///
pub use tidings_macros::actor;
/// What an [`actor`](mod@actor) can be asked, as a trait.
///
/// A type that implements the trait is the state of an actor, which [`actor::start`] starts. The reference has the same
/// methods: a one-way one is a [`Tell`](actor::Tell), any other a [`Call`](actor::Call). A method may take a
/// [`Reply`](actor::Reply) to answer later, give a [`Streaming`](actor::Streaming) answer, or run beside others,
/// with a [`Shared`](actor::Shared).
///
pub use tidings_macros::interface;
/// Runs the `async fn main` of a program in [`Runtime::block_on`].
///
pub use tidings_macros::main;
/// Runs an `async fn` as a test in [`Runtime::block_on`], with
/// [`watch_deadlocks`](sched::Builder::watch_deadlocks), or in a simulation.
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
