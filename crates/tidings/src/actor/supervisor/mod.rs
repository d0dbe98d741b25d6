//! Supervisors: actors that start others, watch them and start them anew, as OTP defines it.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | how a supervisor is described, and the reference to one |
//! | `table.rs` | its children: what is to be done with each, and in which order |
//! | `entry.rs` | one child |
//! | `backoff.rs` | how often and how late children are started anew |

mod backoff;
mod entry;
mod table;

use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::time::Duration;

pub use backoff::Backoff;
use backoff::Intensity;
use entry::{Slot, Spec};
use table::supervise;

use super::Builder;
use super::actor_ref::{ActorRef, Recipient, Reference, WeakActorRef};
use super::any::AnyRef;
use super::call::Call;
use super::child::{Child, Restart, Shutdown};
use super::exit::Exit;
use super::reply::Reply;
use crate::primitive::Arc;

/// Whom the end of a child concerns (OTP's restart strategies).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Only the child itself. Its supervisor looks at all children when something happens to one, since they start and
    /// end in order: for more than some thousands, [`Dynamic`](Self::Dynamic).
    OneForOne,
    /// All: the others are ended, the last first, and all are started anew in their order.
    OneForAll,
    /// The child, and those that were started after it.
    RestForOne,
    /// As `OneForOne`, for many children that are alike and do not know each other (OTP's
    /// `simple_one_for_one`, Elixir's `DynamicSupervisor`): they are started without waiting for one
    /// another and are ended all at once.
    Dynamic,
}

/// Whether a supervisor ends when children have done their work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AutoShutdown {
    /// It does not.
    #[default]
    Never,
    /// When a significant child has ended, and is not started anew: neither by this supervisor nor where that is
    /// [another's child](Supervisor::into_child), which starts it anew.
    AnySignificant,
    /// When the last significant child has.
    AllSignificant,
}

#[derive(Clone, Debug)]
struct Rules {
    strategy: Strategy,
    /// If it was said.
    intensity: Option<Intensity>,
    backoff: Backoff,
    auto_shutdown: AutoShutdown,
}

impl Rules {
    fn intensity(&self) -> Intensity {
        let restarts = if self.backoff.waits() { usize::MAX } else { 3 };
        let period = Duration::from_secs(5);
        self.intensity.unwrap_or(Intensity { restarts, period })
    }
}

/// A supervisor to be started: an actor that starts its children in their order, starts them anew
/// when they end, and ends them in the reverse order when it ends.
///
/// A child counts as started when it first asks for a message, or says that it is
/// [ready](super::Mailbox::ready); only then the next one is started. If a child fails before that in
/// its first life, the supervisor does. If children fail more often than its intensity allows, it ends
/// them all and fails ([`SupervisorError`]), which its own supervisor answers: the failure escalates.
/// References to its children survive that too.
///
/// It ends in order when it is stopped, or its last reference is dropped; each child has the time its
/// [`Shutdown`] says. Killed, it kills them. Its end is heard of after theirs.
///
/// With the feature `tracing` the start of each life of a child is an event (target `tidings`), and its end, with the
/// reason: a warning if it failed.
///
/// ```
/// use std::time::Duration;
/// use tidings::actor::{Child, Mailbox, Restart, Strategy, Supervisor};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let worker = |mut mailbox: Mailbox<u32>| async move {
///     while let Ok(n) = mailbox.recv().await {
///         assert_ne!(n, 13);
///     }
/// };
/// let (first, second) = (Child::new(worker), Child::new(worker).restart(Restart::Transient));
/// let (unlucky, other) = (first.actor_ref(), second.actor_ref());
/// let supervisor = Supervisor::new(Strategy::OneForAll)
///     .intensity(3, Duration::from_secs(5))
///     .child(first)
///     .child(second)
///     .start();
/// unlucky.send(13).await.unwrap();
/// assert_eq!(unlucky.restarted(1).await.unwrap(), 2);
/// assert_eq!(other.restarted(1).await.unwrap(), 2);
/// supervisor.stop();
/// assert!(supervisor.down().await.is_orderly());
/// # });
/// ```
#[must_use = "a supervisor does nothing until it is started"]
#[derive(Debug)]
pub struct Supervisor {
    builder: Builder,
    rules: Rules,
    children: Vec<Spec>,
}

impl Supervisor {
    /// Without children yet; three restarts in five seconds are allowed, at once, if nobody says otherwise.
    pub fn new(strategy: Strategy) -> Self {
        Self {
            builder: Builder::new(),
            rules: Rules {
                strategy,
                intensity: None,
                backoff: Backoff::default(),
                auto_shutdown: AutoShutdown::Never,
            },
            children: Vec::new(),
        }
    }

    /// A name for people.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.builder = self.builder.name(name);
        self
    }

    /// As [`Builder::parent`]: of one that is [started](Self::start), and is nobody's child.
    pub fn parent(mut self, parent: &AnyRef) -> Self {
        self.builder = self.builder.parent(parent);
        self
    }

    /// Allows so many restarts within any `period`: one more, and the supervisor fails. `usize::MAX` allows any number.
    pub fn intensity(mut self, restarts: usize, period: Duration) -> Self {
        self.rules.intensity = Some(Intensity { restarts, period });
        self
    }

    /// Waits before restarts; without this a child is started anew at once. It waits and starts them for ever, but
    /// if an [`intensity`](Self::intensity) says when it is to give up. Of the siblings that a strategy starts anew with
    /// the child that failed, those before it do not wait, and those behind it begin when it takes messages.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidings::actor::{Backoff, Child, Mailbox, Strategy, Supervisor};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let worker = Child::new(|mut mailbox: Mailbox<()>| async move { mailbox.recv().await.unwrap() });
    /// let it = worker.actor_ref();
    /// let _supervisor = Supervisor::new(Strategy::OneForOne)
    ///     .backoff(Backoff::new(Duration::from_millis(2), Duration::from_secs(10)))
    ///     .child(worker)
    ///     .start();
    /// it.send(()).await.unwrap();
    /// assert_eq!(it.restarted(1).await.unwrap(), 2);
    /// # });
    /// ```
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.rules.backoff = backoff;
        self
    }

    /// Ends when its significant children have.
    ///
    /// ```
    /// use tidings::actor::{AutoShutdown, Child, Mailbox, Restart, Strategy, Supervisor};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let job = Child::new(|mut mailbox: Mailbox<()>| async move { mailbox.recv().await.unwrap() });
    /// let job = job.restart(Restart::Transient).significant();
    /// let it = job.actor_ref();
    /// let supervisor = Supervisor::new(Strategy::OneForOne)
    ///     .auto_shutdown(AutoShutdown::AnySignificant)
    ///     .child(job)
    ///     .start();
    /// it.send(()).await.unwrap();
    /// assert!(supervisor.down().await.is_orderly());
    /// # });
    /// ```
    pub fn auto_shutdown(mut self, when: AutoShutdown) -> Self {
        self.rules.auto_shutdown = when;
        self
    }

    /// One more child, after those that are there. Another supervisor too, by
    /// [`into_child`](Self::into_child).
    pub fn child<M: Send + 'static>(mut self, child: Child<M>) -> Self {
        self.children.push(Spec::of(child));
        self
    }

    /// Starts it; its children are started after that.
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn start(self) -> SupervisorRef {
        let Self {
            builder,
            rules,
            children,
        } = self;
        SupervisorRef {
            actor: builder
                .spawn(move |mailbox| supervise(mailbox, Arc::new(rules), children, None)),
        }
    }

    /// A child for another supervisor. It has all the time it needs to end, and keeps its children
    /// and their references when it is started anew; those of
    /// [`start_child`](SupervisorRef::start_child) it does not start again, nor those that had ended for good (OTP
    /// does): a [transient](Restart::Transient) one in order, a [temporary](Restart::Temporary) one in any way.
    ///
    /// # Panics
    /// If a [`parent`](Self::parent) was given: that is the other supervisor.
    ///
    /// ```
    /// use tidings::actor::{Child, Mailbox, Strategy, Supervisor, SupervisorRef};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let pool = Supervisor::new(Strategy::Dynamic).into_child();
    /// let workers: SupervisorRef = pool.reference();
    /// let top = Supervisor::new(Strategy::OneForOne).child(pool).start();
    /// let worker = Child::new(|mut mailbox: Mailbox<u32>| async move {
    ///     while mailbox.recv().await.is_ok() {}
    /// });
    /// workers.start_child(worker).await.unwrap().unwrap();
    /// assert_eq!(top.count_children().await.unwrap().supervisors, 1);
    /// # });
    /// ```
    #[track_caller]
    pub fn into_child(self) -> Child<SupervisorMessage> {
        let (rules, slot) = (Arc::new(self.rules), Arc::new(Slot::new(self.children)));
        let mut child = self.builder.child(move |mailbox| {
            let children = slot.take();
            supervise(
                mailbox,
                Arc::clone(&rules),
                children,
                Some(Arc::clone(&slot)),
            )
        });
        child.policy.supervises = true;
        child.shutdown(Shutdown::Now(Duration::MAX))
    }
}

/// What a supervisor is asked ([`SupervisorRef`]).
#[derive(Debug)]
pub struct SupervisorMessage(Command);

#[derive(Debug)]
enum Command {
    Started(Reply<Result<(), Exit>>),
    Start(Spec, Reply<Result<(), Exit>>),
    Terminate(u64, Reply<bool>),
    Restart(u64, Reply<bool>),
    Which(Reply<Vec<ChildInfo>>),
    Count(Reply<ChildCount>),
}

/// A reference to a supervisor, which is an actor: it can be stopped, linked and watched as any.
#[must_use = "a supervisor ends, and ends its children, when its last reference is dropped"]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SupervisorRef {
    actor: ActorRef<SupervisorMessage>,
}

impl SupervisorRef {
    /// Waits until the children that it begins with have started: an event. The inner error is why
    /// it ends instead: [`SupervisorError::Start`] is in it if one of them has failed.
    ///
    /// # Errors
    /// As a call's.
    ///
    /// ```
    /// use tidings::actor::{Child, Mailbox, Strategy, Supervisor};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let broken = Child::new(|_: Mailbox<()>| async { Err::<(), _>("no disk") });
    /// let supervisor = Supervisor::new(Strategy::OneForOne).child(broken).start();
    /// // It may have ended before it was asked.
    /// if let Ok(started) = supervisor.started().await {
    ///     assert!(!started.unwrap_err().is_orderly());
    /// }
    /// let exit = supervisor.down().await.to_string();
    /// assert!(exit.ends_with("did not start: it failed: no disk"));
    /// # });
    /// ```
    pub fn started(&self) -> Call<'_, SupervisorMessage, Result<(), Exit>> {
        self.ask(Command::Started)
    }

    /// Adds a child and starts it: an event. The inner error is the exit of a child that failed, or was ended,
    /// before it took messages; it has ended then.
    ///
    /// Waits until the child takes messages. A child that waits for this itself before it does,
    /// under a strategy other than [`Strategy::Dynamic`], waits for ever.
    ///
    /// # Errors
    /// As a call's.
    ///
    /// ```
    /// use tidings::actor::{Child, Mailbox, Strategy, Supervisor};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let supervisor = Supervisor::new(Strategy::Dynamic).start();
    /// let session = Child::new(|mut mailbox: Mailbox<u32>| async move {
    ///     while mailbox.recv().await.is_ok() {}
    /// });
    /// let it = session.actor_ref();
    /// supervisor.start_child(session).await.unwrap().unwrap();
    /// it.send(1).await.unwrap();
    /// assert_eq!(supervisor.count_children().await.unwrap().active, 1);
    /// # });
    /// ```
    pub fn start_child<M: Send + 'static>(
        &self,
        child: Child<M>,
    ) -> Call<'_, SupervisorMessage, Result<(), Exit>> {
        let spec = Spec::of(child);
        self.ask(|reply| Command::Start(spec, reply))
    }

    /// Ends the child with this [id](AnyRef::id) as its [`Shutdown`] says, and forgets it: an
    /// event. `false`: there is no such child. Waits until it has ended. A child that waits for this itself does so until
    /// it is killed, when the time that its [`Shutdown`] gives it is over.
    ///
    /// # Errors
    /// As a call's.
    ///
    /// ```
    /// use tidings::actor::{Child, Mailbox, Strategy, Supervisor};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let worker = Child::new(|mut mailbox: Mailbox<()>| async move {
    ///     while mailbox.recv().await.is_ok() {}
    /// });
    /// let it = worker.actor_ref();
    /// let supervisor = Supervisor::new(Strategy::OneForOne).child(worker).start();
    /// assert!(supervisor.terminate_child(it.id()).await.unwrap());
    /// assert!(it.exit().is_some());
    /// assert!(!supervisor.terminate_child(it.id()).await.unwrap());
    /// # });
    /// ```
    pub fn terminate_child(&self, id: u64) -> Call<'_, SupervisorMessage, bool> {
        self.ask(|reply| Command::Terminate(id, reply))
    }

    /// Ends the present life of the child with this [id](AnyRef::id) and starts another, which does
    /// not count as a failure: an event. `false`: there is no such child, or it is to end for good. Waits until its
    /// life has ended; [`restarted`](AnyRef::restarted) tells of the next. A child that waits for this itself does so
    /// until it is killed, when the time that its [`Shutdown`] gives it is over.
    ///
    /// # Errors
    /// As a call's.
    ///
    /// ```
    /// use tidings::actor::{Child, Mailbox, Strategy, Supervisor};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let worker = Child::new(|mut mailbox: Mailbox<()>| async move {
    ///     while mailbox.recv().await.is_ok() {}
    /// });
    /// let it = worker.actor_ref();
    /// let supervisor = Supervisor::new(Strategy::OneForOne).child(worker).start();
    /// supervisor.started().await.unwrap().unwrap();
    /// assert!(supervisor.restart_child(it.id()).await.unwrap());
    /// assert_eq!(it.restarted(1).await.unwrap(), 2);
    /// # });
    /// ```
    pub fn restart_child(&self, id: u64) -> Call<'_, SupervisorMessage, bool> {
        self.ask(|reply| Command::Restart(id, reply))
    }

    /// The children, in the order of their start: an event.
    ///
    /// # Errors
    /// As a call's.
    pub fn which_children(&self) -> Call<'_, SupervisorMessage, Vec<ChildInfo>> {
        self.ask(Command::Which)
    }

    /// How many children there are: an event.
    ///
    /// # Errors
    /// As a call's.
    pub fn count_children(&self) -> Call<'_, SupervisorMessage, ChildCount> {
        self.ask(Command::Count)
    }

    fn ask<R: 'static>(
        &self,
        command: impl FnOnce(Reply<R>) -> Command,
    ) -> Call<'_, SupervisorMessage, R> {
        self.actor.call(|reply| SupervisorMessage(command(reply)))
    }
}

impl Deref for SupervisorRef {
    type Target = ActorRef<SupervisorMessage>;
    fn deref(&self) -> &Self::Target {
        &self.actor
    }
}

impl fmt::Display for SupervisorRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.actor, f)
    }
}

impl Reference for SupervisorRef {
    type Message = SupervisorMessage;
    type Weak = WeakActorRef<SupervisorMessage>;

    fn of(actor: ActorRef<SupervisorMessage>) -> Self {
        Self { actor }
    }
    fn weak(&self) -> Self::Weak {
        self.actor.downgrade()
    }
    fn strong(weak: &Self::Weak) -> Option<Self> {
        weak.upgrade().map(Self::of)
    }
    fn recipient(&self) -> Recipient<SupervisorMessage> {
        self.actor.narrow()
    }
}

/// A child of a supervisor, as [`SupervisorRef::which_children`] shows it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChildInfo {
    /// The child.
    pub actor: AnyRef,
    /// When it is started anew.
    pub restart: Restart,
    /// Whether a life is being lived; otherwise it waits for its restart.
    pub active: bool,
    /// Whether it is a supervisor.
    pub supervisor: bool,
}

/// How many children a supervisor has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChildCount {
    /// All.
    pub specs: usize,
    /// Those that live now.
    pub active: usize,
    /// Those that are supervisors.
    pub supervisors: usize,
    /// Those that are not.
    pub workers: usize,
}

/// Why a supervisor failed: what its [`Exit::Failed`] holds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SupervisorError {
    /// A child failed before it took messages for the first time.
    Start {
        /// Its name, or its number.
        child: Arc<str>,
        /// Why.
        exit: Exit,
    },
    /// Children failed more often than its intensity allows.
    Intensity {
        /// Name or number of the child that was the last to fail.
        child: Arc<str>,
        /// Why that one failed.
        exit: Exit,
    },
}

impl fmt::Display for SupervisorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start { child, exit } => write!(f, "{child} did not start: it {exit}"),
            Self::Intensity { child, exit } => {
                write!(f, "too many restarts; at last {child} {exit}")
            }
        }
    }
}

impl Error for SupervisorError {}
