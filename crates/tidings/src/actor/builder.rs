//! How an actor is started, whatever it is made of.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::actor_ref::{ActorRef, Reference};
use super::any::{self, AnyRef};
use super::driver::Place;
use super::exit::{Exit, IntoExit};
use super::interface::{self, Dispatch};
use super::life::{Life, Overflow};
use super::mailbox::Mailbox;
use super::parcel::Parcel;
use super::run::Run;
use super::shared::{Shared, serve_with};
use super::{CAPACITY, end, roll};
use crate::channel::chan::Chan;
use crate::channel::refs::{ReceiverRef, SenderRef};
use crate::primitive::Arc;

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
    pub(super) parent: Option<AnyRef>,
    pub(super) place: Place,
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
    /// [`CallError::NotExecuted`]: super::CallError::NotExecuted
    /// [`CallError::Cycle`]: super::CallError::Cycle
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
    /// ([`Cycle`](super::CallError::Cycle)): if the runtime watches for deadlocks, it is reported.
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

    /// As [`start`](super::start).
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

    /// As [`start_with`](super::start_with).
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

    /// As [`spawn`](super::spawn).
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
    pub(super) fn mailbox<M: Send + 'static>(
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
