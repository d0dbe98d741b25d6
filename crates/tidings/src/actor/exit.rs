//! Why an actor ended, and what the messages it leaves unanswered say of it.

use std::any::Any;
use std::cell::RefCell;
use std::error::Error;
use std::fmt;

use super::call::CallError;
use crate::primitive::thread::panicking;
use crate::primitive::{Arc, thread_local};
use crate::sched::panics;
use crate::task::{here, quietly};

/// How many links of a chain an exit names.
const NAMED: usize = 16;

/// Why an actor ended: OTP's exit reason.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Exit {
    /// Its function returned, or nobody was left who could send to it.
    Normal,
    /// It was asked to stop, and did.
    Stopped,
    /// It was killed, or its runtime was shut down.
    Killed,
    /// It panicked, with this message.
    Panicked(Arc<str>),
    /// Its function gave this error.
    Failed(Arc<dyn Error + Send + Sync>),
    /// An actor that it was linked to ended, not in order. Of a chain of links, along which each ends because the one
    /// before did, the first sixteen are named.
    Linked {
        /// The name of that actor, or its number.
        actor: Arc<str>,
        /// Why that one ended.
        exit: Arc<Self>,
    },
    /// There is no such actor: a reference from another machine stood for none (OTP's `noproc`).
    NoSuchActor,
    /// The link to its machine has ended, or was never there (OTP's `noconnection`), for this
    /// reason. The actor itself may live.
    Disconnected(Arc<str>),
}

impl Exit {
    /// An end as intended: normal or by a stop.
    ///
    /// ```
    /// use tidings::actor::Exit;
    /// assert!(Exit::Normal.is_orderly() && !Exit::Killed.is_orderly());
    /// ```
    #[must_use]
    pub fn is_orderly(&self) -> bool {
        matches!(self, Self::Normal | Self::Stopped)
    }

    /// Of one that is linked to this actor, which has ended so.
    pub(super) fn of_linked(&self, actor: Arc<str>) -> Self {
        // What is named is dropped, compared and shown from within: that must not go as deep as a chain is long.
        if self.depth() >= NAMED {
            return self.clone();
        }
        let exit = Arc::new(self.clone());
        Self::Linked { actor, exit }
    }

    /// Through how many links it has come.
    fn depth(&self) -> usize {
        let (mut depth, mut exit) = (0, self);
        while let Self::Linked { exit: cause, .. } = exit {
            depth += 1;
            exit = cause;
        }
        depth
    }

    pub(super) fn failed(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed(Arc::from(error.into()))
    }

    pub(super) fn panicked(payload: &(dyn Any + Send)) -> Self {
        Self::Panicked(crate::task::text_of(payload).into())
    }

    /// Somebody hears of it: a panic that is on record as one that nobody has heard of is so no more.
    pub(super) fn heard(&self) {
        if let Self::Panicked(text) = self {
            panics::heard(text);
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Normal => f.write_str("ended"),
            Self::Stopped => f.write_str("was stopped"),
            Self::Killed => f.write_str("was killed"),
            Self::Panicked(message) => write!(f, "panicked: {message}"),
            Self::Failed(error) => write!(f, "failed: {error}"),
            Self::Linked { actor, exit } => write!(f, "was linked to {actor}, which {exit}"),
            Self::NoSuchActor => f.write_str("does not exist"),
            Self::Disconnected(why) => write!(f, "cannot be reached: {why}"),
        }
    }
}

impl Error for Exit {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Failed(error) => Some(&**error),
            Self::Linked { exit, .. } => Some(&**exit),
            _ => None,
        }
    }
}

/// What the function of an actor may return: nothing, or whether it failed.
#[diagnostic::on_unimplemented(
    message = "the function of an actor gives nothing, an `Exit`, or a `Result<(), _>` of an error",
    label = "this one gives a `{Self}`",
    note = "`actor::serve` gives the state back: what the function does not give ends with a `;`"
)]
pub trait IntoExit {
    #[doc(hidden)]
    fn into_exit(self) -> Exit;
}

impl IntoExit for () {
    fn into_exit(self) -> Exit {
        Exit::Normal
    }
}

/// The type `!`, which can only be named in the place of a return type: an actor may loop for ever.
type Never = <fn() -> ! as Returns>::Output;

#[doc(hidden)]
pub trait Returns {
    type Output;
}

impl<R> Returns for fn() -> R {
    type Output = R;
}

impl IntoExit for Never {
    fn into_exit(self) -> Exit {
        self
    }
}

impl IntoExit for Exit {
    fn into_exit(self) -> Exit {
        self
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> IntoExit for Result<(), E> {
    fn into_exit(self) -> Exit {
        match self {
            Ok(()) => Exit::Normal,
            Err(error) => Exit::failed(error),
        }
    }
}

/// Drops a message that is not handled: whoever waits for a reply in it hears
/// [`CallError::Refused`], with `why`.
///
/// ```
/// use tidings::actor::{self, CallError, Reply};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let even = actor::spawn(|mut mailbox| async move {
///     while let Ok((n, reply)) = mailbox.recv().await {
///         let (n, reply): (u32, Reply<u32>) = (n, reply);
///         if n % 2 == 1 {
///             actor::refuse(reply, "odd");
///         } else {
///             let _ = reply.send(n / 2);
///         }
///     }
/// });
/// assert_eq!(even.call(|reply| (4, reply)).await.unwrap(), 2);
/// let refused = even.call(|reply| (5, reply)).await.unwrap_err();
/// assert!(matches!(refused, CallError::Refused(why) if why.to_string() == "odd"));
/// # });
/// ```
pub fn refuse<M>(message: M, why: impl Into<Box<dyn Error + Send + Sync>>) {
    leaving(CallError::Refused(Arc::from(why.into())), || drop(message));
}

thread_local! {
    /// What to tell the callers whose requests this thread drops at this moment.
    static WHY: RefCell<Option<CallError>> = const { RefCell::new(None) };
    /// Replies that the poll of an actor dropped in a panic, or after its mailbox had said that it is to end. They are
    /// answered once the poll has ended, which says whether the actor has.
    static UNANSWERED: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// Answers a reply that was dropped.
type Kept = Box<dyn FnOnce(CallError)>;

/// What can be told why it has no value.
pub(super) trait Answer {
    fn answer(self, why: CallError);
}

/// A reply without an answer. If it is dropped it hears why.
///
/// It is made of types that borrow nothing, and does not say so in its own bounds: with `'static`
/// there, the compiler cannot see that a future with an `Unanswered<&'static str>` may be sent.
pub(super) struct Unanswered<A: Answer>(Option<A>);

impl<A: Answer + 'static> Unanswered<A> {
    pub(super) fn new(reply: A) -> Self {
        Self(Some(reply))
    }
}

impl<A: Answer> Unanswered<A> {
    pub(super) fn get(&self) -> &A {
        self.0.as_ref().expect("it is not taken yet")
    }

    /// To answer it.
    #[inline(always)]
    pub(super) fn take(mut self) -> A {
        // Whose it is, nobody knows.
        here::note(here::GAVE);
        self.take_noted()
    }

    /// As `take`, noted already.
    #[inline(always)]
    pub(super) fn take_noted(&mut self) -> A {
        self.0.take().expect("it is taken once")
    }
}

impl<A: Answer> Drop for Unanswered<A> {
    #[inline]
    fn drop(&mut self) {
        if let Some(reply) = self.0.take() {
            here::note(here::GAVE);
            unanswered(reply);
        }
    }
}

#[cold]
fn unanswered<A: Answer>(reply: A) {
    match current() {
        Some(why) => reply.answer(why),
        // Once it is known whether the actor has ended.
        None if here::actor() != 0 && (panicking() || here::ends()) => {
            keep(Box::new(move |why| reply.answer(why)));
        }
        None => drop(reply),
    }
}

/// Keeps a reply that is dropped, until the poll of its actor has ended.
#[expect(
    clippy::disallowed_methods,
    reason = "no cast changes a trait object's lifetime"
)]
fn keep(reply: Box<dyn FnOnce(CallError) + '_>) {
    // SAFETY: it is made of the reply of an `Unanswered`, which `new` makes of `'static` types only.
    let reply = unsafe { std::mem::transmute::<Box<dyn FnOnce(CallError) + '_>, Kept>(reply) };
    let kept = UNANSWERED.try_with(|kept| kept.borrow_mut().push(reply));
    here::here(|here| here.kept.set(kept.is_ok()));
}

/// Runs `f`, which drops what an actor leaves behind: whoever waits for a reply of it hears `why`.
pub(super) fn leaving<R>(why: CallError, f: impl FnOnce() -> R) -> R {
    let _restore = Restore::after(why);
    f()
}

/// What was known before a `leaving`.
struct Restore(Option<CallError>);

impl Restore {
    fn after(why: CallError) -> Self {
        Self(WHY.with(|known| known.borrow_mut().replace(why)))
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        // It may hold a user's error, whose drop may ask why, too: not while it is borrowed.
        drop(WHY.with(|why| why.replace(self.0.take())));
    }
}

/// Runs `f`: whoever waits for a reply that it drops hears that it was dropped, also where somebody else's
/// replies are dropped around it.
#[cfg(feature = "remote")]
pub(crate) fn apart<R>(f: impl FnOnce() -> R) -> R {
    match WHY.with(|why| why.borrow().is_some()) {
        true => leaving(CallError::NoReply, f),
        false => f(),
    }
}

/// What to tell the caller whose reply is dropped now; `None` outside of `leaving`.
fn current() -> Option<CallError> {
    // A thread that ends has no values of its own any more.
    WHY.try_with(|why| why.borrow().clone()).unwrap_or(None)
}

/// The function of an actor has returned or panicked: the requests that it left unanswered hear of this exit.
pub(super) fn tell_unanswered(exit: &Exit) {
    if is_kept() {
        answer_kept(&CallError::Ended(exit.clone()));
    }
}

/// A poll of an actor has ended, and the actor goes on: what was dropped in it has no answer.
#[inline(always)]
pub(super) fn tell_dropped() {
    if is_kept() {
        answer_kept(&CallError::NoReply);
    }
}

#[inline(always)]
fn is_kept() -> bool {
    here::here(|here| here.kept.get())
}

#[cold]
fn answer_kept(why: &CallError) {
    here::here(|here| here.kept.set(false));
    // Not under the borrow: an answer wakes whoever waits for it.
    for reply in UNANSWERED.with(RefCell::take) {
        // A waker that panics must not hinder the rest.
        quietly(|| reply(why.clone()));
    }
}
