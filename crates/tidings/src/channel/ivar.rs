//! A cell that is written once and read by many: CML's and Hopac's `IVar`.

use std::fmt;
use std::pin::Pin;

use super::source::{Lists, Side, Slot, Source, slot_methods};
use crate::event::offer::Waiters;
use crate::event::{Attempt, Protocol, event};
use crate::primitive::{Arc, OnceLock};
use crate::task::here;

/// A write-once cell; clones are the same cell.
///
/// ```
/// use tidings::channel::ivar::IVar;
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let answer = IVar::new();
/// let reader = answer.clone();
/// let task = tidings::spawn(async move { *reader.read().await });
/// answer.fill(42).unwrap();
/// assert_eq!(task.await.unwrap(), 42);
/// # });
/// ```
pub struct IVar<T> {
    inner: Arc<Inner<T>>,
}

struct Inner<T> {
    /// Written under the lock.
    value: OnceLock<T>,
    source: Source<Readers>,
}

#[derive(Debug)]
struct Readers(Waiters);

impl Lists for Readers {
    fn waiters(&mut self, _: Side) -> &mut Waiters {
        &mut self.0
    }
}

impl<T> IVar<T> {
    /// An empty cell.
    #[must_use]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn new() -> Self {
        Self {
            inner: Arc::new(Inner {
                value: OnceLock::new(),
                source: Source::new(Readers(Waiters::new())),
            }),
        }
    }

    fn chan(&self) -> &Source<Readers> {
        &self.inner.source
    }

    /// Writes the value and wakes every reader. Does not wait.
    ///
    /// # Errors
    /// Gives the value back if the cell is full.
    ///
    /// ```
    /// let cell = tidings::IVar::new();
    /// assert_eq!(cell.fill(1), Ok(()));
    /// assert_eq!(cell.fill(2), Err(2));
    /// ```
    pub fn fill(&self, value: T) -> Result<(), T> {
        here::gave::<T>();
        let mut value = Some(value);
        self.chan().commit_each(false, |readers| {
            // Once; in later rounds it is there, and ours.
            value = value
                .take()
                .and_then(|value| self.inner.value.set(value).err());
            match value {
                None => readers.0.claim(),
                Some(_) => None,
            }
        });
        value.map_or(Ok(()), Err)
    }

    /// Waits until the cell is full: an event that gives a reference to the value.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidings::{Event, IVar};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let cell = IVar::new();
    /// assert!(cell.read().timeout(Duration::from_millis(2)).await.is_err());
    /// cell.fill("ready").unwrap();
    /// assert_eq!(*cell.read().await, "ready");
    /// # });
    /// ```
    pub fn read(&self) -> Read<'_, T> {
        Read {
            cell: self,
            slot: Slot::new(None),
        }
    }

    /// The value, if it is there.
    #[must_use]
    pub fn try_read(&self) -> Option<&T> {
        self.inner.value.get()
    }

    /// Is the value there?
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.try_read().is_some()
    }
}

impl<T> Default for IVar<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for IVar<T> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<T> fmt::Debug for IVar<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IVar")
            .field("full", &self.is_full())
            .finish()
    }
}

/// The event of [`IVar::read`].
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Read<'a, T> {
    cell: &'a IVar<T>,
    slot: Slot<()>,
}

impl<'a, T> Protocol for Read<'a, T> {
    slot_methods!(Side::Receiver, cell);

    fn attempt(self: Pin<&mut Self>, _: &mut Attempt) -> Option<u32> {
        // With the lock, so that a value that is not there yet finds us enrolled.
        self.cell.is_full().then_some(0)
    }
    fn finish(self: Pin<&mut Self>, _: u32) -> &'a T {
        self.cell.try_read().expect("the cell was filled")
    }
    fn abandon(self: Pin<&mut Self>, _: u32) {}
}

event!(impl['a, T] Read<'a, T> => &'a T);
