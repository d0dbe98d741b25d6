//! Actors: state behind a mailbox, reached through a typed reference.
//!
//! An actor is a task with a mailbox. [`spawn`] runs a function on it, a loop over
//! [`Mailbox::recv`] usually (as F#'s MailboxProcessor or Kotlin's `actor`); others send it
//! messages one-way ([`ActorRef::send`]) or call it ([`ActorRef::call`]). All of these are
//! [events](crate::Event).
//!
//! | file | what |
//! |---|---|
//! | `actor_ref.rs` | references: strong, weak, narrowed |
//! | `address.rs` | the counted pointer behind a narrowed reference |
//! | `mailbox.rs` | receiving: messages and the control lane |
//! | `tell.rs`, `call.rs`, `reply.rs` | sending one-way; calling; answering |
//! | `interface.rs` | actors whose messages are the methods of a trait |
//! | `cycle.rs` | calls that would wait for each other for ever |
//! | `life.rs` | id, name, control lane, end, monitors |
//! | `exit.rs` | why an actor ended, and who is told |
//! | `registry.rs`, `group.rs`, `pool.rs` | names, groups, pools with routing |
//! | `inspect.rs` | how they look from outside |
//! | `roll.rs` | all live actors |
//! | `run.rs` | the actor's task, and what it leaves behind |
//!
//! Mailboxes are bounded: [`CAPACITY`] messages if nobody says otherwise; what happens beyond is the
//! [`Overflow`] policy. Replies go directly to their caller and wait behind nothing.

mod actor_ref;
mod address;
mod call;
mod cycle;
mod exit;
mod group;
mod inspect;
mod interface;
mod life;
mod mailbox;
mod pool;
mod registry;
mod reply;
mod roll;
mod run;
mod tell;

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};

pub use actor_ref::{ActorRef, Recipient, WeakActorRef, WeakRecipient};
pub use address::Carries;
pub use call::{Call, CallError};
pub use cycle::Cycle;
pub use exit::{Exit, IntoExit};
pub use group::{Changes, Group};
pub(crate) use inspect::{names_of_tasks, views};
pub use interface::{Dispatch, Reference, start};
pub use life::{Down, Overflow, Stop};
pub use mailbox::{Ended, Mailbox, Recv};
pub use pool::{Pool, Routing};
pub use registry::{NoSuchName, RegisterError, Registry, Via};
pub use reply::Reply;
pub use tell::{SendError, Tell};

use crate::channel::chan::Chan;
use crate::primitive::Arc;
use life::Life;
use run::Run;

/// How many messages a mailbox holds if nobody says otherwise.
pub const CAPACITY: usize = 256;

/// A number for an actor. No model looks at it.
fn next_id() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    // RELAXED: only its being unique counts.
    1 + LAST.fetch_add(1, Ordering::Relaxed)
}

/// Starts an actor that runs `f` with its mailbox.
///
/// It ends when `f`'s future is ready, panics, or is killed; [`ActorRef::down`] tells why.
///
/// # Panics
/// Outside of a runtime.
///
/// ```
/// use tidings::{actor, actor::Reply};
///
/// enum Count {
///     Add(i64),
///     GetAndReset(Reply<i64>),
/// }
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let counter = actor::spawn(|mut mailbox| async move {
///     let mut sum = 0;
///     while let Ok(message) = mailbox.recv().await {
///         match message {
///             Count::Add(n) => sum += n,
///             Count::GetAndReset(reply) => {
///                 let _ = reply.send(std::mem::take(&mut sum));
///             }
///         }
///     }
/// });
/// counter.send(Count::Add(100)).await.unwrap();
/// assert_eq!(counter.call(Count::GetAndReset).await.unwrap(), 100);
/// # });
/// ```
pub fn spawn<M, F, Fut>(f: F) -> ActorRef<M>
where
    M: Send + 'static,
    F: FnOnce(Mailbox<M>) -> Fut,
    Fut: Future<Output: IntoExit> + Send + 'static,
{
    Builder::new().spawn(f)
}

/// How an actor is started: its name and its mailbox.
///
/// ```
/// use tidings::actor::{Builder, Overflow};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let latest = Builder::new()
///     .name("latest")
///     .capacity(1)
///     .overflow(Overflow::DropOldest)
///     .spawn(|mut mailbox| async move {
///         while let Ok(n) = mailbox.recv().await {
///             let _: u32 = n;
///         }
///     });
/// assert_eq!(latest.name().as_deref(), Some("latest"));
/// # });
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it spawns"]
pub struct Builder {
    name: Option<Arc<str>>,
    capacity: usize,
    overflow: Overflow,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// No name, a mailbox for [`CAPACITY`] messages whose senders wait when it is full.
    pub fn new() -> Self {
        Self {
            name: None,
            capacity: CAPACITY,
            overflow: Overflow::Wait,
        }
    }

    /// A name for people: in errors, dumps and logs. Need not be unique.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// How many messages the mailbox holds.
    ///
    /// # Panics
    /// If it is 0.
    pub fn capacity(mut self, capacity: usize) -> Self {
        assert!(capacity > 0, "a mailbox holds at least 1 message");
        self.capacity = capacity;
        self
    }

    /// A mailbox that holds any number of messages: sends never wait. If senders are faster than the
    /// actor for long, memory runs out.
    pub fn unbounded(mut self) -> Self {
        self.capacity = usize::MAX;
        self
    }

    /// What a send does when the mailbox is full.
    pub fn overflow(mut self, overflow: Overflow) -> Self {
        self.overflow = overflow;
        self
    }

    /// As [`start`].
    ///
    /// # Panics
    /// Outside of a runtime.
    pub fn start<A, R>(self, actor: A) -> R
    where
        A: Send + 'static,
        R: Reference<Message: Dispatch<A>>,
    {
        R::of(self.spawn(|mailbox| interface::serve(actor, mailbox)))
    }

    /// As [`spawn`].
    ///
    /// # Panics
    /// Outside of a runtime.
    pub fn spawn<M, F, Fut>(self, f: F) -> ActorRef<M>
    where
        M: Send + 'static,
        F: FnOnce(Mailbox<M>) -> Fut,
        Fut: Future<Output: IntoExit> + Send + 'static,
    {
        let life = Life::new(self.overflow, self.name);
        let (sender, receiver) = Chan::alloc(self.capacity, life);
        sender.beside().stands_at(roll::enter(sender.downgrade()));
        let run = Run::new(f(Mailbox::new(receiver.clone())), receiver);
        let task = crate::spawn(run);
        sender.beside().runs_as(task.abort_handle());
        ActorRef::new(sender)
    }
}
