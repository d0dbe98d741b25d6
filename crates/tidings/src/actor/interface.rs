//! Actors whose messages are the methods of a trait (`#[tidings::interface]`).

use std::future::{Future, Ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::Builder;
use super::actor_ref::Reference;
use super::mailbox::Mailbox;
use super::reply::Reply;
use super::shared::{Shared, serve_with};

/// Messages that an actor whose state is an `A` handles: those of an interface that it implements.
/// The macros implement it.
pub trait Dispatch<A: Send + 'static>: Send + Sized + 'static {
    /// Are there reentrant methods?
    #[doc(hidden)]
    const REENTRANT: bool = false;

    /// Hands a message to the method of `actor` that it stands for, and waits until that is done.
    ///
    /// [`start`] does this for every message. A loop of one's own can do more: pass messages on,
    /// keep them for later ([`Mailbox::stash`]), look at each before and after, or become another
    /// actor, which is a state of another type.
    ///
    /// # Panics
    /// If the method takes `this: Shared<Self>`: such an actor is started by [`start`], or served by
    /// [`serve`].
    ///
    /// ```
    /// use tidings::actor::{self, Dispatch, Mailbox};
    ///
    /// #[tidings::interface]
    /// trait Door {
    ///     async fn push(&mut self) -> &'static str;
    /// }
    /// struct Closed;
    /// struct Open;
    /// impl Door for Closed {
    ///     async fn push(&mut self) -> &'static str {
    ///         "it opens"
    ///     }
    /// }
    /// impl Door for Open {
    ///     async fn push(&mut self) -> &'static str {
    ///         "it is open"
    ///     }
    /// }
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let actor = actor::spawn(|mut mailbox: Mailbox<DoorMessage>| async move {
    ///     if let Ok(first) = mailbox.recv().await {
    ///         first.dispatch(&mut Closed).await;
    ///     }
    ///     // It becomes another.
    ///     actor::serve(Open, &mut mailbox).await;
    /// });
    /// let door = DoorRef::from(&actor);
    /// assert_eq!(door.push().await.unwrap(), "it opens");
    /// assert_eq!(door.push().await.unwrap(), "it is open");
    /// # });
    /// ```
    fn dispatch(self, actor: &mut A) -> impl Future<Output = ()> + Send;

    /// The names of the interface and the method that a message stands for: an interceptor's. Its `Debug` has them, too.
    ///
    /// ```
    /// use tidings::actor::Dispatch;
    ///
    /// #[tidings::interface]
    /// trait Safe {
    ///     async fn open(&mut self);
    /// }
    /// struct Gold;
    /// impl Safe for Gold {
    ///     async fn open(&mut self) {}
    /// }
    /// let names = Dispatch::<Gold>::stands_for(&SafeMessage::Open());
    /// assert_eq!(names, Some(("Safe", "open")));
    /// ```
    #[inline]
    fn stands_for(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    /// How it is handed over soonest.
    #[doc(hidden)]
    #[inline(always)]
    fn way(&self) -> Way {
        Way::Any
    }

    /// With its way. By value: a future that has lent a message keeps a place for it.
    #[doc(hidden)]
    #[inline(always)]
    fn with_way(self) -> (Way, Self) {
        (self.way(), self)
    }

    /// As `dispatch`, of what goes this way: the future of the method itself.
    #[doc(hidden)]
    fn dispatch_first(self, actor: &mut A) -> impl Future<Output = ()> + Send {
        goes_elsewhere((self, actor))
    }

    /// As `dispatch_first`, of the others.
    #[doc(hidden)]
    fn dispatch_second(self, actor: &mut A) -> impl Future<Output = ()> + Send {
        goes_elsewhere((self, actor))
    }

    /// As `dispatch`, of what goes this way: the future of the method, with its reply.
    #[doc(hidden)]
    fn answer_first(self, actor: &mut A) -> impl Future<Output = ()> + Send {
        goes_elsewhere((self, actor))
    }

    /// As `answer_first`, of the others.
    #[doc(hidden)]
    fn answer_second(self, actor: &mut A) -> impl Future<Output = ()> + Send {
        goes_elsewhere((self, actor))
    }

    /// Does it stand for a reentrant method?
    #[doc(hidden)]
    fn is_reentrant(&self) -> bool {
        false
    }

    /// As `dispatch`, for a reentrant method.
    #[doc(hidden)]
    fn reenter(self, this: Shared<A>) -> impl Future<Output = ()> + Send + 'static {
        async move {
            drop((self, this));
            unreachable!("it is not reentrant");
        }
    }
}

/// How a message is handed to its method: by `dispatch`, or by one of two if it is one-way, by another of two if
/// it is answered by what its method returns. These have no match around the method's future that the compiler
/// could not see through.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Any,
    First,
    Second,
    AnswerFirst,
    AnswerSecond,
}

#[cold]
fn goes_elsewhere<T>(_: T) -> Ready<()> {
    unreachable!("it goes another way");
}

/// Starts an actor with this state, whose interface is that of the reference it gives.
///
/// Its methods run one after the other, but for those that take `this:` [`Shared<Self>`](Shared).
/// It ends when it is stopped, when its last reference is dropped, or when a method panics.
///
/// A method that blocks its thread goes through [`spawn_blocking`](crate::spawn_blocking), or the
/// actor has a thread of its own: [`Builder::blocking`].
///
/// # Panics
/// Outside of a runtime; there [`Builder::executor`] says who runs it.
///
/// ```
/// use std::time::Duration;
/// use tidings::actor;
///
/// #[tidings::interface]
/// pub trait Counter {
///     async fn add(&mut self, n: i64); // one-way: no reply
///     async fn get_and_reset(&mut self) -> i64; // call: a reply
/// }
///
/// #[derive(Default)]
/// struct Tally(i64);
///
/// impl Counter for Tally {
///     async fn add(&mut self, n: i64) {
///         self.0 += n;
///     }
///     async fn get_and_reset(&mut self) -> i64 {
///         std::mem::take(&mut self.0)
///     }
/// }
///
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let counter: CounterRef = actor::start(Tally::default());
/// counter.add(100).await.unwrap();
/// let n = counter.get_and_reset().timeout(Duration::from_secs(1)).await.unwrap();
/// assert_eq!(n, 100);
/// # });
/// ```
#[track_caller]
pub fn start<A, R>(actor: A) -> R
where
    A: Send + 'static,
    R: Reference<Message: Dispatch<A>>,
{
    Builder::new().start(actor)
}

/// As [`start`], with a state that `make` gives, in the actor's own task: it can keep the
/// [`Shared`], and start timers and futures before the first message.
///
/// # Panics
/// Outside of a runtime.
///
/// ```
/// use std::time::Duration;
/// use tidings::actor;
///
/// #[tidings::interface]
/// trait Clock {
///     async fn ticks(&self) -> u32;
/// }
/// struct Ticks(u32);
/// impl Clock for Ticks {
///     async fn ticks(&self) -> u32 {
///         self.0
///     }
/// }
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let clock: ClockRef = actor::start_with(|this| {
///     this.every("tick", Duration::from_millis(1), |ticks: &mut Ticks| ticks.0 += 1);
///     Ticks(0)
/// });
/// while clock.ticks().await.unwrap() < 3 {}
/// # });
/// ```
#[track_caller]
pub fn start_with<A, R>(make: impl FnOnce(&Shared<A>) -> A + Send + 'static) -> R
where
    A: Send + 'static,
    R: Reference<Message: Dispatch<A>>,
{
    Builder::new().start_with(make)
}

/// The future in which the message is handled that a mailbox has given: with the feature `tracing`, within its span, as
/// a part of what it was sent as.
#[cfg(feature = "tracing")]
macro_rules! in_span {
    ($mailbox:expr, $message:ident.$method:ident($to:expr)) => {{
        let (span, $message) = $mailbox.with_span($message);
        // A method that is no `async fn` may do something before it gives its future.
        let handled = async { $message.$method($to).await };
        let handled = tracing::Instrument::instrument(handled, span);
        $mailbox.part().scope(handled)
    }};
}
/// Not by way of a function: that would move the future.
#[cfg(not(feature = "tracing"))]
macro_rules! in_span {
    ($mailbox:expr, $message:ident.$method:ident($to:expr)) => {
        $message.$method($to)
    };
}
pub(super) use in_span;

#[cfg(feature = "tracing")]
impl<M> Mailbox<M> {
    /// A message that was received last, with its span, in which it says what it stands for and whose it is. By value:
    /// a future that has lent a message keeps a place for it.
    ///
    /// The fields have names of ours: those of OpenTelemetry's `rpc.*` are about calls to other processes, and most of
    /// these are none. The macro asks for values only if the span is wanted.
    pub(super) fn with_span<A: Send + 'static>(&self, message: M) -> (tracing::Span, M)
    where
        M: Dispatch<A>,
    {
        let life = self.chan.beside();
        let span = tracing::info_span!(
            "message",
            interface = message.stands_for().map(|(interface, _)| interface),
            method = message.stands_for().map(|(_, method)| method),
            actor.id = life.id,
            actor.name = life.name().as_deref(),
            trace = self.trace().map(tracing::field::display),
        );
        (span, message)
    }
}

/// Handles the messages of a mailbox, until the actor is to end. While messages flow, no future waits for them.
///
/// What was waited for is moved out of its wait in a statement of its own: as the scrutinee of the loop it would lie in
/// the actor's future until its method is done, and be copied there and back.
macro_rules! serve {
    ($actor:expr, $mailbox:expr) => {
        loop {
            let Ok(message) = $mailbox.recv().await else {
                break;
            };
            let (way, message) = message.with_way();
            match way {
                Way::First => {
                    Handled::new(in_span!($mailbox, message.dispatch_first($actor)), false).await
                }
                Way::Second => {
                    Handled::new(in_span!($mailbox, message.dispatch_second($actor)), false).await
                }
                Way::AnswerFirst => {
                    Handled::new(in_span!($mailbox, message.answer_first($actor)), false).await
                }
                Way::AnswerSecond => {
                    Handled::new(in_span!($mailbox, message.answer_second($actor)), false).await
                }
                Way::Any => Handled::new(in_span!($mailbox, message.dispatch($actor)), true).await,
            }
            while $mailbox.flows() {
                let Some(message) = $mailbox.next_now() else {
                    break;
                };
                match message.with_way() {
                    (Way::First, message) => {
                        Handled::new(in_span!($mailbox, message.dispatch_first($actor)), false)
                            .await
                    }
                    (Way::Second, message) => {
                        Handled::new(in_span!($mailbox, message.dispatch_second($actor)), false)
                            .await
                    }
                    (_, message) => {
                        Handled::new(in_span!($mailbox, message.dispatch($actor)), true).await
                    }
                }
            }
        }
    };
}

pin_project! {
    /// A method that is answered by what it returns: its future, with the reply. When the caller hears, an `async fn`
    /// has dropped all that it had; what else a future keeps is dropped right after.
    #[doc(hidden)]
    #[derive(Debug)]
    pub struct Answering<R, F> {
        #[pin]
        future: F,
        reply: Reply<R>,
    }
}

impl<R, F> Answering<R, F> {
    #[inline(always)]
    pub fn new(reply: Reply<R>, method: F) -> Self {
        Self {
            future: method,
            reply,
        }
    }
}

impl<R, F: Future<Output = R>> Future for Answering<R, F> {
    type Output = ();

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        match this.future.poll(cx) {
            Poll::Ready(answer) => {
                this.reply.answer(answer);
                Poll::Ready(())
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

pin_project! {
    /// A message is handled: the first poll, mostly the only one, in the code of who awaits it, where it is known
    /// what the future begins with.
    struct Handled<F> {
        #[pin]
        future: F,
        polled: bool,
    }
}

impl<F: Future<Output = ()>> Handled<F> {
    #[inline(always)]
    fn new(future: F, polled: bool) -> Self {
        Self { future, polled }
    }

    #[inline(never)]
    fn later(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.project().future.poll(cx)
    }
}

impl<F: Future<Output = ()>> Future for Handled<F> {
    type Output = ();

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.polled {
            return self.later(cx);
        }
        let this = self.project();
        let polled = this.future.poll(cx);
        if polled.is_pending() {
            *this.polled = true;
        }
        polled
    }
}

/// Handles one message after the other, until the actor is to end; gives the state back.
///
/// This is all that [`start`] does with a mailbox. What an actor does when it starts, starts anew
/// or stops in order is what stands around it (others call these hooks):
///
/// ```
/// use tidings::actor::{self, Child, Mailbox, Strategy, Supervisor};
///
/// #[tidings::interface]
/// trait Journal {
///     async fn write(&mut self, line: String) -> usize;
/// }
///
/// struct File(Vec<String>);
///
/// impl File {
///     async fn open() -> std::io::Result<Self> {
///         Ok(Self(Vec::new()))
///     }
///     async fn close(self) -> std::io::Result<()> {
///         Ok(())
///     }
/// }
///
/// impl Journal for File {
///     async fn write(&mut self, line: String) -> usize {
///         self.0.push(line);
///         self.0.len()
///     }
/// }
///
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let child = Child::new(|mut mailbox: Mailbox<JournalMessage>| async move {
///     // Started, or started anew: `mailbox.incarnation()` says which. An error is a failed start.
///     let file = File::open().await?;
///     mailbox.on_undelivered(|_message, why| eprintln!("not written: the journal {why}"));
///     let file = actor::serve(file, &mut mailbox).await;
///     // To stop in order. After a panic or a kill only `drop` runs.
///     file.close().await
/// });
/// let journal: JournalRef = child.reference();
/// let supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
/// assert_eq!(journal.write("begun".to_owned()).await.unwrap(), 1);
/// supervisor.stop();
/// assert!(journal.down().await.is_orderly());
/// # });
/// ```
///
/// An actor that knows itself:
///
/// ```
/// use tidings::actor::{self, WeakActorRef};
///
/// #[tidings::interface]
/// trait Me {
///     async fn id(&self) -> u64;
/// }
/// struct Knows(WeakActorRef<MeMessage>);
/// impl Me for Knows {
///     async fn id(&self) -> u64 {
///         self.0.upgrade().unwrap().id()
///     }
/// }
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let actor = actor::spawn(|mut mailbox| async move {
///     let this = mailbox.this();
///     actor::serve(Knows(this), &mut mailbox).await;
/// });
/// assert_eq!(MeRef::from(&actor).id().await.unwrap(), actor.id());
/// # });
/// ```
#[expect(
    clippy::manual_async_fn,
    reason = "the future of one keeps its arguments twice"
)]
pub fn serve<A, M>(mut actor: A, mailbox: &mut Mailbox<M>) -> impl Future<Output = A> + Send
where
    A: Send + 'static,
    M: Dispatch<A>,
{
    async move {
        if M::REENTRANT {
            // In a box: actors without reentrant methods pay nothing for it.
            return Box::pin(serve_with(|_| actor, mailbox, |_| Ok(()))).await;
        }
        serve!(&mut actor, mailbox);
        actor
    }
}

/// As [`serve`], of a mailbox that goes with it, and without reentrant methods: nothing lies in this
/// future twice, and there is one for each actor.
#[expect(
    clippy::manual_async_fn,
    reason = "the future of one keeps its arguments twice"
)]
pub(super) fn own<A, M>(mut actor: A, mut mailbox: Mailbox<M>) -> impl Future<Output = ()> + Send
where
    A: Send + 'static,
    M: Dispatch<A>,
{
    async move {
        serve!(&mut actor, mailbox);
    }
}

pin_project! {
    /// The future of one of several: a message of this interface, or of those after it.
    #[doc(hidden)]
    #[project = OneOfProjection]
    #[derive(Debug)]
    pub enum OneOf<A, B> {
        First { #[pin] future: A },
        Second { #[pin] future: B },
    }
}

impl<A: Future<Output = ()>, B: Future<Output = ()>> Future for OneOf<A, B> {
    type Output = ();

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match self.project() {
            OneOfProjection::First { future } => future.poll(cx),
            OneOfProjection::Second { future } => future.poll(cx),
        }
    }
}
