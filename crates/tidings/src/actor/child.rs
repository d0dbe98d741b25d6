//! An actor that can live more than once: what a supervisor is given for each child.
//!
//! Its mailbox is there from the beginning to the end and its references are references to that, so
//! they and the messages that wait survive a restart. A life is a task of its own, which runs what
//! the child's function makes of the mailbox.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use super::Builder;
use super::actor_ref::{ActorRef, Reference};
use super::any::{AnyRef, Kin};
use super::driver::Place;
use super::end::finish;
use super::exit::{Exit, IntoExit};
use super::interface::{Dispatch, serve};
use super::life::Life;
use super::mailbox::Mailbox;
use super::parcel::Parcel;
use super::run::Run;
use super::shared::{Shared, serve_with};
use crate::Sender;
use crate::channel::refs::{ReceiverRef, SenderRef};
use crate::primitive::Arc;
use crate::task::quietly;

/// Which ends of a child its supervisor answers with a new life (OTP's restart type).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restart {
    /// Every end, but when the supervisor itself ends it.
    #[default]
    Permanent,
    /// An end that is not orderly ([`Exit::is_orderly`]).
    Transient,
    /// None. Nor is it started anew when the end of a sibling ends it.
    Temporary,
}

/// How a supervisor ends a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// It is killed.
    Kill,
    /// It is asked to end after the message it handles, and killed if it has not after this time.
    Now(Duration),
    /// It is asked to end after the messages that are in its mailbox, and killed if it has not after
    /// this time. To be started anew it ends as with `Now`: its messages wait for the next life.
    Drain(Duration),
}

impl Default for Shutdown {
    /// OTP's for workers: five seconds.
    fn default() -> Self {
        Self::Now(Duration::from_secs(5))
    }
}

/// What a supervisor is to know of a child beside how to start it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policy {
    pub(super) restart: Restart,
    pub(super) shutdown: Shutdown,
    pub(super) significant: bool,
    pub(super) supervises: bool,
}

/// What a child tells its supervisor.
#[derive(Debug)]
pub(super) enum Note {
    /// It has begun to take messages.
    Up(u64),
    /// Its life is over.
    Over(u64, Exit),
}

/// Whom a child tells, and as which.
#[derive(Clone, Debug)]
pub(super) struct Guardian {
    pub(super) notes: Sender<Note>,
    pub(super) key: u64,
}

impl Guardian {
    pub(super) fn is_up(&self) {
        self.tell(Note::Up(self.key));
    }

    pub(super) fn is_over(&self, exit: Exit) {
        self.tell(Note::Over(self.key, exit));
    }

    fn tell(&self, note: Note) {
        // A supervisor whose life is over hears nothing: it has killed its children.
        let _ = self.notes.try_send(note);
    }
}

/// A child as its supervisor sees it. Dropping it ends the actor for good.
pub(super) trait Lives: Send {
    /// Begins a life.
    fn start(&mut self, guardian: Guardian);

    /// A reference that keeps the actor.
    fn kin(&self) -> &dyn Kin;

    /// The same, to be kept.
    fn keep(&self) -> Box<dyn Kin>;

    fn any(&self) -> AnyRef;
}

/// A mailbox, and what is done with it in each life.
struct Seat<M: Send + 'static, F> {
    sender: SenderRef<Parcel<M>, Life>,
    receiver: ReceiverRef<Parcel<M>, Life>,
    /// `None` when it is dropped.
    body: Option<Arc<F>>,
    /// Where each life runs.
    place: Place,
}

impl<M, F, Fut> Lives for Seat<M, F>
where
    M: Send + 'static,
    F: Fn(Mailbox<M>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoExit> + Send + 'static,
{
    fn start(&mut self, guardian: Guardian) {
        let life = self.receiver.beside();
        // First: who hears that the life has begun may send at once.
        self.receiver.reopen();
        life.begin(guardian);
        let mailbox = Mailbox::of_child(self.receiver.clone());
        let body = self.body.clone().expect("it is not dropped");
        // In the child's task: a panic of the function is the child's.
        let future = async move { body(mailbox).await.into_exit() };
        let run = Run::new(future, self.receiver.clone());
        run.start(self.place.clone(), life);
    }

    fn kin(&self) -> &dyn Kin {
        &self.sender
    }

    fn keep(&self) -> Box<dyn Kin> {
        Box::new(self.sender.clone())
    }

    fn any(&self) -> AnyRef {
        AnyRef::new(self.sender.downgrade())
    }
}

impl<M: Send + 'static, F> Drop for Seat<M, F> {
    fn drop(&mut self) {
        // A supervisor's mostly, whose other children these panics are no concern of: of what is done
        // with messages, of what the function holds, of foreign wakers.
        // The children of a supervisor are in its function, and end before it does.
        let body = self.body.take();
        quietly(|| drop(body));
        quietly(|| {
            if let Some(exit) = self.receiver.beside().abandon() {
                finish(&self.receiver, &exit);
            }
        });
    }
}

/// An actor for a supervisor to start, and to start anew with fresh state.
///
/// Its reference is there before it is started; messages wait. It and they survive restarts: only
/// the message that was being handled is not handled again, and its caller hears at once. Dropped
/// without having been given to a supervisor, the actor has ended as if killed.
///
/// ```
/// use tidings::actor::{Child, Restart, Strategy, Supervisor};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let greeter = Child::new(|mut mailbox| async move {
///     while let Ok((name, reply)) = mailbox.recv().await {
///         let reply: tidings::actor::Reply<String> = reply;
///         let name: &str = name;
///         assert!(!name.is_empty(), "nobody is there");
///         let _ = reply.send(format!("hello {name}"));
///     }
/// });
/// let greet = greeter.actor_ref();
/// let _supervisor = Supervisor::new(Strategy::OneForOne).child(greeter).start();
/// assert!(greet.call(|reply| ("", reply)).await.is_err());
/// assert_eq!(greet.call(|reply| ("you", reply)).await.unwrap(), "hello you");
/// assert_eq!(greet.incarnation(), 2);
/// # });
/// ```
#[must_use = "a child does nothing until a supervisor starts it"]
pub struct Child<M> {
    actor: ActorRef<M>,
    pub(super) lives: Box<dyn Lives>,
    pub(super) policy: Policy,
}

impl<M: Send + 'static> Child<M> {
    /// An actor each life of which runs `f` with the mailbox, as [`spawn`](super::spawn) does. A life that does not ask
    /// for messages says when it has started: [`Mailbox::ready`].
    ///
    /// The mailbox is to go with the life: a task of its own that receives from it may outlive that, and then takes
    /// what is sent to the next.
    pub fn new<F, Fut>(f: F) -> Self
    where
        F: Fn(Mailbox<M>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoExit> + Send + 'static,
    {
        Builder::new().child(f)
    }

    /// An actor each life of which has the state that `make` makes, as [`start`](super::start)
    /// has one.
    ///
    /// ```
    /// use tidings::actor::{Child, Strategy, Supervisor};
    /// #[tidings::interface]
    /// trait Door {
    ///     async fn knock(&mut self) -> u32;
    /// }
    /// struct Counting(u32);
    /// impl Door for Counting {
    ///     async fn knock(&mut self) -> u32 {
    ///         self.0 += 1;
    ///         self.0
    ///     }
    /// }
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let child = Child::interface(|| Counting(0));
    /// let door: DoorRef = child.reference();
    /// let _supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
    /// assert_eq!(door.knock().await.unwrap(), 1);
    /// # });
    /// ```
    pub fn interface<A>(make: impl Fn() -> A + Send + Sync + 'static) -> Self
    where
        A: Send + 'static,
        M: Dispatch<A>,
    {
        Builder::new().interface_child(make)
    }

    /// As `interface`; `make` is given what the handlers share: for timers, and for what runs beside them from
    /// the beginning of each life ([`start_with`](super::start_with)).
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidings::actor::{Child, Shared, Strategy, Supervisor};
    /// #[tidings::interface]
    /// trait Clock {
    ///     async fn ticks(&self) -> u64;
    /// }
    /// struct Ticks(u64);
    /// impl Clock for Ticks {
    ///     async fn ticks(&self) -> u64 {
    ///         self.0
    ///     }
    /// }
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let child = Child::interface_with(|this: &Shared<Ticks>| {
    ///     this.every("tick", Duration::from_millis(1), |ticks| ticks.0 += 1);
    ///     Ticks(0)
    /// });
    /// let clock: ClockRef = child.reference();
    /// let _supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
    /// while clock.ticks().await.unwrap() < 3 {}
    /// # });
    /// ```
    pub fn interface_with<A>(make: impl Fn(&Shared<A>) -> A + Send + Sync + 'static) -> Self
    where
        A: Send + 'static,
        M: Dispatch<A>,
    {
        Builder::new().interface_child_with(make)
    }

    /// When it is started anew; [`Restart::Permanent`] if nobody says otherwise.
    pub fn restart(mut self, restart: Restart) -> Self {
        self.policy.restart = restart;
        self
    }

    /// How it is ended; within five seconds if nobody says otherwise.
    pub fn shutdown(mut self, shutdown: Shutdown) -> Self {
        self.policy.shutdown = shutdown;
        self
    }

    /// Its end may be its supervisor's ([`AutoShutdown`](super::AutoShutdown)). Of no effect on a
    /// permanent child.
    pub fn significant(mut self) -> Self {
        self.policy.significant = true;
        self
    }

    /// A reference to the actor.
    pub fn actor_ref(&self) -> ActorRef<M> {
        self.actor.clone()
    }

    /// A typed reference to the actor: what `#[tidings::interface]` makes.
    pub fn reference<R: Reference<Message = M>>(&self) -> R {
        R::of(self.actor_ref())
    }
}

impl<M> fmt::Debug for Child<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child")
            .field("actor", &self.actor)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// As [`Child::new`].
    ///
    /// # Panics
    /// If a [`parent`](Self::parent) was given: a child's lives are its supervisor's.
    #[track_caller]
    pub fn child<M, F, Fut>(self, f: F) -> Child<M>
    where
        M: Send + 'static,
        F: Fn(Mailbox<M>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoExit> + Send + 'static,
    {
        assert!(
            self.parent.is_none(),
            "the parent of a child is its supervisor"
        );
        let place = self.place.clone();
        let (sender, receiver) = self.mailbox();
        sender.beside().unborn();
        let actor = ActorRef::new(sender.clone());
        let body = Some(Arc::new(f));
        let lives = Box::new(Seat {
            sender,
            receiver,
            body,
            place,
        });
        Child {
            actor,
            lives,
            policy: Policy::default(),
        }
    }

    /// As [`Child::interface`].
    ///
    /// # Panics
    /// As [`child`](Self::child).
    #[track_caller]
    pub fn interface_child<A, M>(self, make: impl Fn() -> A + Send + Sync + 'static) -> Child<M>
    where
        A: Send + 'static,
        M: Dispatch<A>,
    {
        self.child(move |mut mailbox| {
            let actor = make();
            async move {
                serve(actor, &mut mailbox).await;
            }
        })
    }

    /// As [`Child::interface_with`].
    ///
    /// # Panics
    /// As [`child`](Self::child).
    #[track_caller]
    pub fn interface_child_with<A, M>(
        self,
        make: impl Fn(&Shared<A>) -> A + Send + Sync + 'static,
    ) -> Child<M>
    where
        A: Send + 'static,
        M: Dispatch<A>,
    {
        let make = Arc::new(make);
        self.child(move |mut mailbox| {
            let make = Arc::clone(&make);
            async move {
                serve_with(|this| make(this), &mut mailbox, |_| Ok(())).await;
            }
        })
    }
}
