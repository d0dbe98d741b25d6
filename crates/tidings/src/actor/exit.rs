//! Why an actor ended, and what the messages it leaves unanswered say of it.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::error::Error;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::call::CallError;
use crate::primitive::Arc;
use crate::primitive::thread::panicking;

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

    pub(super) fn panicked(payload: &(dyn Any + Send)) -> Self {
        Self::Panicked(crate::task::text_of(payload).into())
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
        }
    }
}

/// What the function of an actor may return: nothing, or whether it failed.
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
            Err(error) => Exit::Failed(Arc::from(error.into())),
        }
    }
}

thread_local! {
    /// What to tell the callers whose requests this thread drops at this moment.
    static WHY: RefCell<Option<CallError>> = const { RefCell::new(None) };
    /// A handler runs on this thread. Apart from what it may leave, which costs a look at whether
    /// the thread is ending.
    static HANDLING: Cell<bool> = const { Cell::new(false) };
    /// Replies that its panic dropped. They are answered once the panic is known.
    static UNANSWERED: RefCell<Vec<Box<dyn Answer>>> = const { RefCell::new(Vec::new()) };
}

/// A reply that hears why it has no value.
pub(super) trait Answer {
    fn answer(self: Box<Self>, exit: &Exit);
}

/// Runs `f`, which drops what an actor leaves behind: whoever waits for a reply of it hears `why`.
pub(super) fn leaving<R>(why: CallError, f: impl FnOnce() -> R) -> R {
    struct Restore(Option<CallError>);
    impl Drop for Restore {
        fn drop(&mut self) {
            let outer = self.0.take();
            WHY.with(|why| *why.borrow_mut() = outer);
        }
    }
    let _restore = Restore(WHY.with(|known| known.borrow_mut().replace(why)));
    f()
}

/// What to tell the caller whose reply is dropped now; `None` outside of `leaving`.
pub(super) fn current() -> Option<CallError> {
    // A thread that ends has no values of its own any more.
    WHY.try_with(|why| why.borrow().clone()).unwrap_or(None)
}

/// Runs a handler, and gives its panic as an exit, which its unanswered requests hear too.
#[inline]
pub(super) fn handling<R>(f: impl FnOnce() -> R) -> Result<R, Exit> {
    let outer = HANDLING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(f));
    HANDLING.set(outer);
    result.map_err(|payload| tell_unanswered(&*payload))
}

#[cold]
fn tell_unanswered(payload: &(dyn Any + Send)) -> Exit {
    let exit = Exit::panicked(payload);
    // Not under the borrow: an answer wakes whoever waits for it.
    for reply in UNANSWERED.take() {
        reply.answer(&exit);
    }
    exit
}

/// A reply is dropped without an answer: now, or, if a handler's panic does it, when that is known.
pub(super) fn unanswered<A: Answer + 'static>(reply: A) {
    if panicking() && HANDLING.get() {
        let _ = UNANSWERED.try_with(|kept| kept.borrow_mut().push(Box::new(reply)));
    }
}
