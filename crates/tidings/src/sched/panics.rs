//! Panics that nobody has heard of: a runtime that watches for them says at its end which there are. For tests:
//! `#[tidings::test]` watches.
//!
//! A panic goes on record where it is caught, by the task or the actor that it ends, and comes off where somebody hears
//! of it: who joins the task, its set or scope; the supervisor of the actor, an actor that is linked to it, who waits for
//! its end or asks for it, a caller. Nobody else comes by here: without a panic this costs nothing.
//!
//! A panic is known by its text, which the record keeps where it is.

use std::cell::Cell;
use std::fmt;

use super::{Runtime, current};
use crate::primitive::{Arc, Mutex, lock, thread_local};
use crate::task;

static RECORD: Mutex<Record> = Mutex::new(Record {
    runtimes: 0,
    panics: Vec::new(),
});

thread_local! {
    /// What is dropped on this thread is dropped because a runtime ends its tasks.
    static ENDS: Cell<bool> = const { Cell::new(false) };
}

#[derive(Debug)]
struct Record {
    /// So many have watched.
    runtimes: u64,
    panics: Vec<Panic>,
}

#[derive(Debug)]
struct Panic {
    /// The number of its runtime.
    runtime: u64,
    who: String,
    text: Arc<str>,
}

/// A runtime that watches, by its number.
#[derive(Debug)]
pub(super) struct WatchingPanics(u64);

impl WatchingPanics {
    pub(super) fn start() -> Self {
        let mut record = lock(&RECORD);
        record.runtimes += 1;
        Self(record.runtimes)
    }

    fn take(&self) -> Vec<Panic> {
        let mut record = lock(&RECORD);
        let mine = record.panics.extract_if(.., |it| it.runtime == self.0);
        mine.collect()
    }
}

impl Drop for WatchingPanics {
    fn drop(&mut self) {
        let left = self.take();
        drop(left);
    }
}

/// `who` has panicked, if this thread's runtime watches; gives the text.
#[cold]
pub(crate) fn note(
    who: impl FnOnce() -> String,
    text: impl FnOnce() -> Arc<str>,
) -> Option<Arc<str>> {
    let shared = current::shared()?;
    let WatchingPanics(runtime) = shared.panics.as_ref()?;
    let (who, text) = (who(), text());
    let mut record = lock(&RECORD);
    record.panics.push(Panic {
        runtime: *runtime,
        who,
        text: Arc::clone(&text),
    });
    Some(text)
}

/// Somebody hears of the panic with this text.
#[cold]
pub(crate) fn heard(text: &Arc<str>) {
    let mut record = lock(&RECORD);
    let mut panics = record.panics.iter();
    let found = panics.position(|panic| Arc::ptr_eq(&panic.text, text));
    let panic = found.map(|index| record.panics.remove(index));
    drop(record);
    drop(panic);
}

/// Who waited to hear of it is dropped, and has not looked. If his runtime ends him, he would have.
#[cold]
pub(crate) fn left(text: &Arc<str>) {
    if ENDS.with(Cell::get) {
        heard(text);
    }
}

/// Ends the tasks of a runtime, or local ones.
pub(super) fn ending<R>(end: impl FnOnce() -> R) -> R {
    let before = ENDS.with(|ends| ends.replace(true));
    task::finally(end, || ENDS.with(|ends| ends.set(before)))
}

impl super::Builder {
    /// Watches for panics that nobody hears of, as `#[tidings::test]` does; [`Runtime::end`] gives them.
    ///
    /// A panic ends a task or an actor, and it is up to the program what that means, if it hears of it:
    /// - of a task, who gets the [`JoinError`](crate::JoinError) from its [`JoinHandle`](crate::JoinHandle) or its
    ///   [`JoinSet`](crate::JoinSet); a [`scope`](crate::scope) hears of its tasks;
    /// - of an actor, its supervisor, an actor that is [linked](crate::actor::ActorRef::link) to it, who waits for its
    ///   end ([`down`](crate::actor::ActorRef::down)) or asks for its [`exit`](crate::actor::ActorRef::exit), and who
    ///   gets that exit from a call or a send.
    ///
    /// Of any other panic nobody hears: of a task whose handle is dropped or kept and not looked at, of blocking work
    /// alike, of an actor that is left to itself; and where a future panics as it is dropped because its task was
    /// aborted, or because the runtime ends. Who still waits to hear of one when the runtime ends counts as one who has.
    ///
    /// Only a panic costs something: a lock, and so does hearing of it.
    ///
    /// ```
    /// let rt = tidings::Runtime::builder().watch_panics().build().unwrap();
    /// let task = rt.spawn(async { panic!("boom") });
    /// assert!(rt.block_on(task).unwrap_err().is_panic());
    /// assert!(rt.end().is_ok(), "who awaited the task has heard of it");
    /// ```
    #[must_use]
    pub fn watch_panics(mut self) -> Self {
        self.panics = true;
        self
    }
}

impl Runtime {
    /// Ends the runtime as dropping it does.
    ///
    /// # Errors
    /// If it [watches for panics](super::Builder::watch_panics), and tasks or actors have panicked of which nobody has heard.
    ///
    /// ```
    /// let runtime = tidings::Runtime::builder().workers(1).watch_panics().build().unwrap();
    /// runtime.block_on(async {
    ///     let heard = tidings::spawn(async { panic!("heard") });
    ///     assert!(heard.await.unwrap_err().is_panic());
    ///
    ///     let (tx, gone) = tidings::oneshot::<()>();
    ///     tidings::spawn(async move {
    ///         let _tx = tx;
    ///         panic!("boom")
    ///     });
    ///     assert!(gone.await.is_err());
    /// });
    /// let unheard = runtime.end().unwrap_err();
    /// let (task, message) = unheard.iter().next().unwrap();
    /// assert!(task.starts_with("the task started at "));
    /// assert_eq!(message, "boom");
    /// ```
    pub fn end(self) -> Result<(), UnheardPanics> {
        let shared = Arc::clone(&self.shared);
        drop(self);
        let watching = shared.panics.as_ref();
        let panics = watching.map_or(Vec::new(), WatchingPanics::take);
        match panics.is_empty() {
            true => Ok(()),
            false => Err(UnheardPanics(panics)),
        }
    }
}

/// The panics of a runtime that nobody has heard of, from [`Runtime::end`].
pub struct UnheardPanics(Vec<Panic>);

impl UnheardPanics {
    /// Who has panicked, in words, and the message, in the order in which they have; there is at least one.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let panics = self.0.iter();
        panics.map(|panic| (panic.who.as_str(), &*panic.text))
    }
}

impl fmt::Display for UnheardPanics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("panics that nobody has heard of:")?;
        for (who, message) in self.iter() {
            write!(f, "\n  {who} panicked: {message}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for UnheardPanics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for UnheardPanics {}
