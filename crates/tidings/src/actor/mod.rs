//! Actors: state behind a mailbox, reached through a typed reference.
//!
//! An actor is a task with a mailbox. Most are made of an [`interface`](macro@crate::interface), whose methods are
//! what the actor can be asked: [`start`]. [`spawn`] is below that: it runs a function on the mailbox, a loop over
//! [`Mailbox::recv`] usually (as F#'s MailboxProcessor or Kotlin's `actor`); others send it
//! messages one-way ([`ActorRef::send`]) or call it ([`ActorRef::call`]). All of these are
//! [events](crate::Event).
//!
//! What other systems have methods for is plain Rust in a loop. To *become* another is to go on to
//! another loop, or, for an interface, to hand messages to another state ([`Dispatch::dispatch`]). To
//! *pipe* a result to oneself is to receive it in the same choice as the mailbox, from a
//! [`JoinSet`](crate::JoinSet) that ends with the loop. To *forward* a request is to send it on, with
//! its [`Reply`], whose caller does not know. To answer *later* is to keep the [`Reply`].
//!
//! ```
//! use tidings::{JoinSet, actor::{self, Mailbox, Reply}, select};
//! # tidings::Runtime::new().unwrap().block_on(async {
//! let doubler = actor::spawn(|mut mailbox: Mailbox<(u32, Reply<u32>)>| async move {
//!     let mut work = JoinSet::new();
//!     loop {
//!         select! {
//!             message = mailbox.recv() => {
//!                 let Ok((n, reply)) = message else { return };
//!                 // The loop goes on; the answer comes when it is there.
//!                 work.spawn(async move { (2 * n, reply) });
//!             }
//!             done = work.joined() => {
//!                 let (doubled, reply) = done.unwrap();
//!                 let _ = reply.send(doubled);
//!             }
//!         }
//!     }
//! });
//! assert_eq!(doubler.call(|reply| (21, reply)).await.unwrap(), 42);
//! # });
//! ```
//!
//! Mailboxes are bounded: [`CAPACITY`] messages if nobody says otherwise; what happens beyond is the
//! [`Overflow`] policy. Replies go directly to their caller and wait behind nothing.
//!
//! An actor ends when its function does, when it is asked to stop, or when its last reference is dropped;
//! [`ActorRef::down`] tells why ([`Exit`]). A [`Supervisor`] starts those anew that fail, [`Builder::parent`] and
//! [`ActorRef::link`] tie ends together. Actors are found by name in a [`Registry`], reached together as a [`Group`], and
//! share work as a [`Pool`].

// | file | what |
// |---|---|
// | `builder.rs` | how an actor is started |
// | `actor_ref.rs` | references: strong, weak, narrowed |
// | `address.rs` | the counted pointer behind a narrowed reference |
// | `mailbox.rs`, `flow.rs` | receiving: messages and the control lane |
// | `selective.rs` | selective receive and the stash |
// | `parcel.rs` | a message as it lies in a mailbox |
// | `tell.rs`, `call.rs`, `reply.rs` | sending one-way; calling; answering |
// | `streaming.rs` | answers of many parts |
// | `interface.rs` | actors whose messages are the methods of a trait |
// | `cycle.rs` | calls that would wait for each other for ever |
// | `any.rs` | references to actors of any messages |
// | `shared.rs`, `crowd.rs` | handlers that run beside each other; interceptors |
// | `timers.rs` | messages to oneself, later |
// | `blocking.rs` | an actor on a thread of its own |
// | `driver.rs` | an actor that another executor runs |
// | `life.rs`, `hand.rs`, `down.rs` | id, name, control lane, end; monitors |
// | `ties.rs`, `link.rs` | what binds actors: supervisors, children, links, the count of lives |
// | `child.rs` | actors that can be started anew |
// | `supervisor/` | who starts them anew |
// | `exit.rs` | why an actor ended, and who is told |
// | `registry.rs`, `group.rs`, `pool.rs`, `members.rs` | names, groups, pools with routing; the list of members that the last two are made of |
// | `remote.rs` | what links need of actors |
// | `roll.rs`, `inspect.rs` | all live actors, and how they look from outside |
// | `run.rs`, `end.rs` | the task of an actor's life, and what it leaves behind |

mod actor_ref;
mod address;
mod any;
mod blocking;
mod builder;
mod call;
mod child;
pub(crate) mod crowd;
mod cycle;
mod down;
mod driver;
mod end;
mod exit;
mod flow;
mod group;
mod hand;
mod inspect;
mod interface;
mod life;
mod link;
mod mailbox;
mod members;
mod parcel;
mod pool;
mod registry;
#[cfg(feature = "remote")]
pub(crate) mod remote;
mod reply;
mod roll;
mod run;
mod selective;
mod shared;
mod streaming;
mod supervisor;
mod tell;
mod ties;
mod timers;

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};

pub use actor_ref::{ActorRef, Recipient, Reference, WeakActorRef, WeakOf, WeakRecipient};
pub use address::Carries;
pub use any::AnyRef;
pub use builder::Builder;
pub use call::{Call, CallError};
pub use child::{Child, Restart, Shutdown};
pub use cycle::Cycle;
pub use down::Down;
pub use driver::Driver;
#[cfg(all(test, loom))]
pub(crate) use driver::driver;
pub use exit::{Exit, IntoExit, refuse};
pub use group::{Changes, Group};
pub(crate) use inspect::{names_of_tasks, views};
pub use interface::{Answering, Dispatch, OneOf, Way, serve, start, start_with};
pub use life::Overflow;
pub use link::LinkExit;
pub use mailbox::{Ended, Mailbox, Recv};
pub use pool::{Pool, Routing};
pub use registry::{NoSuchName, RegisterError, Registry, Via};
pub use reply::Reply;
pub use shared::{Shared, serve_with};
pub use streaming::{Replies, Streaming, streaming};
pub use supervisor::{
    AutoShutdown, Backoff, ChildCount, ChildInfo, Strategy, Supervisor, SupervisorError,
    SupervisorMessage, SupervisorRef,
};
pub use tell::{SendError, Tell};
pub use ties::Restarted;
pub use timers::Timers;

#[cfg(all(test, loom))]
use crate::channel::{chan::Chan, refs::ReceiverRef};
#[cfg(all(test, loom))]
use life::Life;
#[cfg(all(test, loom))]
use parcel::Parcel;
#[cfg(feature = "remote")]
pub(crate) use parcel::Part;
pub(crate) use parcel::message_name;

/// How many messages a mailbox holds if nobody says otherwise.
pub const CAPACITY: usize = 256;

/// The number that is given next. No model looks at it.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// A number for an actor.
pub(crate) fn next_id() -> u64 {
    // RELAXED: only its being unique counts.
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

/// Actors of this number, and of higher ones, are yet to be made.
pub(crate) fn coming_id() -> u64 {
    // RELAXED: for people.
    NEXT_ID.load(Ordering::Relaxed)
}

/// A model's: a reference and the mailbox, with nobody who runs the actor.
#[cfg(all(test, loom))]
pub(crate) fn lane<M: Send + 'static>(capacity: usize) -> (ActorRef<M>, Mailbox<M>) {
    let (sender, receiver) = Chan::alloc(capacity, Life::new(Overflow::Wait, None));
    (ActorRef::new(sender), Mailbox::new(receiver))
}

/// A model's: an actor whose only wait is a call, as `cycle.rs` sees it.
#[cfg(all(test, loom))]
pub(crate) struct Waiting<'a, M: Send + 'static>(&'a ReceiverRef<Parcel<M>, Life>);

#[cfg(all(test, loom))]
impl<'a, M: Send + 'static> Waiting<'a, M> {
    pub(crate) fn of(mailbox: &'a Mailbox<M>) -> Self {
        Self(mailbox.receiver())
    }

    /// The request was the first that came to `callee`. `true`: it is refused.
    pub(crate) fn for_answer_of(&self, callee: &ActorRef<M>) -> bool {
        let wait = cycle::Wait {
            callee: callee.id(),
            ticket: Some(0),
        };
        let entry = || roll::Entry::new(self.0.downgrade());
        cycle::settle(&**self.0, &entry, wait, false).is_some()
    }

    /// Its life is over but for the end of `child`. `true`: the call of that is looked at again.
    pub(crate) fn for_end_of(&self, child: &ActorRef<M>) -> bool {
        let entry = || roll::Entry::new(self.0.downgrade());
        cycle::waits_for_end(&**self.0, &entry, child.id())
    }

    /// The actor runs again.
    pub(crate) fn is_over(&self) {
        cycle::begin(self.0.beside());
    }

    /// Its life is over.
    pub(crate) fn end(&self) {
        cycle::life_over(self.0.beside());
    }
}

/// The actor of this mailbox lives for a supervisor, which does not listen.
#[cfg(all(test, loom))]
pub(crate) fn is_supervised<M: Send + 'static>(mailbox: &Mailbox<M>) {
    let (notes, _) = crate::unbounded();
    let life = mailbox.receiver().beside();
    life.unborn();
    life.begin(child::Guardian { notes, key: 1 });
}

/// A life of the actor of this mailbox is over: it was killed.
#[cfg(all(test, loom))]
pub(crate) fn ends<M: Send + 'static>(mailbox: &Mailbox<M>) {
    end::finish(mailbox.receiver(), &Exit::Killed);
}

#[cfg(all(test, loom))]
pub(crate) fn has_link(one: &AnyRef, other: &AnyRef) -> bool {
    one.life().has_link(other)
}

/// Starts an actor that runs `f` with its mailbox.
///
/// It ends when `f`'s future is ready, panics, or is killed; [`ActorRef::down`] tells why.
///
/// # Panics
/// Outside of a runtime; there [`Builder::executor`] says who runs it.
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
#[track_caller]
pub fn spawn<M, F, Fut>(f: F) -> ActorRef<M>
where
    M: Send + 'static,
    F: FnOnce(Mailbox<M>) -> Fut,
    Fut: Future<Output: IntoExit> + Send + 'static,
{
    Builder::new().spawn(f)
}
