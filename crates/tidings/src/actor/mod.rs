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
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

pub use actor_ref::{ActorRef, Recipient, Reference, WeakActorRef, WeakOf, WeakRecipient};
pub use address::Carries;
pub use any::AnyRef;
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

use crate::channel::chan::Chan;
use crate::channel::refs::{ReceiverRef, SenderRef};
use crate::primitive::Arc;
use driver::Place;
use life::Life;
use parcel::Parcel;
#[cfg(feature = "remote")]
pub(crate) use parcel::Part;
pub(crate) use parcel::message_name;
use run::Run;

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

/// How an actor is started: its name, its mailbox, and where it runs.
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
    parent: Option<AnyRef>,
    place: Place,
}

fn in_one_line(name: &str) -> String {
    let mut line = String::new();
    for c in name.chars() {
        match c.is_control() {
            true => line.extend(c.escape_default()),
            false => line.push(c),
        }
    }
    line
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
            parent: None,
            place: Place::Task,
        }
    }

    /// A name for people: in errors, dumps and logs, where it is in one line: control characters in it are
    /// escaped. Need not be unique.
    ///
    /// ```
    /// use tidings::actor::{Builder, Mailbox};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let actor = Builder::new().name("two\nlines").spawn(|_: Mailbox<u8>| async {});
    /// assert_eq!(actor.name().as_deref(), Some(r"two\nlines"));
    /// # });
    /// ```
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        let name = name.into();
        self.name = Some(match name.contains(char::is_control) {
            true => in_one_line(&name).into(),
            false => name,
        });
        self
    }

    /// How many messages the mailbox holds.
    ///
    /// # Panics
    /// If it is 0.
    #[track_caller]
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
    ///
    /// ```
    /// use tidings::actor::{Builder, Mailbox, Overflow};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (goes_on, waits) = tidings::oneshot::<()>();
    /// let (done, seen) = tidings::unbounded();
    /// let latest = Builder::new().capacity(2).overflow(Overflow::DropOldest);
    /// let latest = latest.spawn(|mut mailbox: Mailbox<u32>| async move {
    ///     let _ = waits.await;
    ///     while let Ok(n) = mailbox.recv().await {
    ///         done.send(n).await.unwrap();
    ///     }
    /// });
    /// for n in 1..=5 {
    ///     latest.send(n).await.unwrap();
    /// }
    /// assert_eq!(latest.overflowed(), 3);
    /// goes_on.send(()).unwrap();
    /// assert_eq!((seen.recv().await, seen.recv().await), (Ok(4), Ok(5)));
    /// # });
    /// ```
    pub fn overflow(mut self, overflow: Overflow) -> Self {
        self.overflow = overflow;
        self
    }

    /// The actor is a child of `parent`: it is asked to stop when the parent's life ends, or is
    /// killed if the parent was (or is while it waits), and the parent's end is heard of after its
    /// own. The last child ends first. Its parent keeps it alive. If the parent's life is over, it is
    /// stopped at once.
    ///
    /// An actor that does not heed a stop keeps its parent from ending: a supervisor as the child,
    /// with actors of its own, has deadlines. One that calls its parent does not: the call gets
    /// [`CallError::NotExecuted`] where the parent's life was its last, and [`CallError::Cycle`] where another may
    /// follow, for which the mailbox stays open. (A child that waits for a place in such a mailbox, that gives its call
    /// a deadline, or that runs [elsewhere](Self::executor) than in a task, is waited for.)
    ///
    /// ```
    /// use tidings::actor::{Builder, Mailbox};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let idle = |mut mailbox: Mailbox<()>| async move { while mailbox.recv().await.is_ok() {} };
    /// let parent = Builder::new().spawn(idle);
    /// let child = Builder::new().parent(&parent.any()).spawn(idle);
    /// parent.stop();
    /// parent.down().await;
    /// assert!(child.exit().is_some());
    /// # });
    /// ```
    pub fn parent(mut self, parent: &AnyRef) -> Self {
        self.parent = Some(parent.clone());
        self
    }

    /// Runs the actor on a thread of its own, of those for blocking work of the runtime: its code may
    /// block. (Without a runtime: [`executor`](Self::executor).)
    ///
    /// It waits for a thread if all are busy. A kill, and the end of its runtime, wait until its code
    /// comes to an await; the runtime's end waits for it. A cycle of calls through it is not refused
    /// ([`CallError::Cycle`]): if the runtime watches for deadlocks, it is reported.
    ///
    /// ```
    /// use tidings::actor::{Builder, Reply};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let files = Builder::new().blocking().spawn(|mut mailbox| async move {
    ///     while let Ok((path, reply)) = mailbox.recv().await {
    ///         let (path, reply): (&str, Reply<String>) = (path, reply);
    ///         let _ = reply.send(std::fs::read_to_string(path).unwrap());
    ///     }
    /// });
    /// assert_eq!(files.call(|reply| ("/dev/null", reply)).await.unwrap(), "");
    /// # });
    /// ```
    pub fn blocking(mut self) -> Self {
        self.place = Place::Thread;
        self
    }

    /// As [`start`].
    ///
    /// # Panics
    /// Outside of a runtime, but for one with an [`executor`](Self::executor).
    #[track_caller]
    pub fn start<A, R>(self, actor: A) -> R
    where
        A: Send + 'static,
        R: Reference<Message: Dispatch<A>>,
    {
        if R::Message::REENTRANT {
            return self.start_with(|_| actor);
        }
        R::of(self.spawn(|mailbox| interface::own(actor, mailbox)))
    }

    /// As [`start_with`].
    ///
    /// # Panics
    /// Outside of a runtime, but for one with an [`executor`](Self::executor).
    #[track_caller]
    pub fn start_with<A, R>(self, make: impl FnOnce(&Shared<A>) -> A + Send + 'static) -> R
    where
        A: Send + 'static,
        R: Reference<Message: Dispatch<A>>,
    {
        R::of(self.spawn(|mut mailbox| async move {
            serve_with(make, &mut mailbox, |_| Ok(())).await;
        }))
    }

    /// As [`spawn`].
    ///
    /// # Panics
    /// Outside of a runtime, but for one with an [`executor`](Self::executor).
    #[track_caller]
    pub fn spawn<M, F, Fut>(self, f: F) -> ActorRef<M>
    where
        M: Send + 'static,
        F: FnOnce(Mailbox<M>) -> Fut,
        Fut: Future<Output: IntoExit> + Send + 'static,
    {
        let (parent, place) = (self.parent.clone(), self.place.clone());
        let (sender, receiver) = self.unlisted();
        let mailbox = Mailbox::new(receiver.clone());
        let future = match catch_unwind(AssertUnwindSafe(|| f(mailbox))) {
            Ok(future) => future,
            Err(panic) => {
                // The caller's; but the actor, of which others may know by now, ends, and its children before.
                end::conclude(&receiver, Exit::panicked(&*panic));
                resume_unwind(panic);
            }
        };
        roll::enter(sender.downgrade());
        Run::new(future, receiver).start(place, sender.beside());
        if let Some(parent) = parent {
            any::join_family(&sender, parent);
        }
        ActorRef::new(sender)
    }

    /// The mailbox of a new actor, which is on the roll from here on: `end.rs` must end it.
    fn mailbox<M: Send + 'static>(
        self,
    ) -> (SenderRef<Parcel<M>, Life>, ReceiverRef<Parcel<M>, Life>) {
        let (sender, receiver) = self.unlisted();
        roll::enter(sender.downgrade());
        (sender, receiver)
    }

    /// The mailbox of an actor that is not on the roll yet.
    fn unlisted<M: Send + 'static>(
        self,
    ) -> (SenderRef<Parcel<M>, Life>, ReceiverRef<Parcel<M>, Life>) {
        let life = Life::new(self.overflow, self.name);
        Chan::alloc(self.capacity, life)
    }
}
