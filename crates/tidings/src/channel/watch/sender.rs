//! The sending side of a watch cell.

use std::fmt;
use std::marker::PhantomData;

use super::super::SendError;
use super::super::ends::sender;
use super::super::source::Source;
use super::{Receiver, State};
use crate::primitive::Arc;
use crate::task::here;

/// Sends values into a [`watch`](super::watch()) cell; clones send into the same one.
///
/// When the last sender is dropped, receivers that wait for a change hear of it; the value
/// stays to be looked at.
pub struct Sender<T> {
    pub(super) source: Arc<Source<State<T>>>,
    /// Many threads look at one `T`: the handles are `Send` and `Sync` if this is.
    pub(super) value: PhantomData<Arc<T>>,
}

impl<T> Sender<T> {
    /// Replaces the value and wakes every receiver that waits for a change. Never waits.
    ///
    /// # Errors
    /// Gives the value back if there is no receiver; [`send_replace`](Self::send_replace) sends
    /// all the same.
    ///
    /// ```
    /// let (tx, rx) = tidings::channel::watch(1);
    /// tx.send(2).unwrap();
    /// assert_eq!(*rx.get(), 2);
    /// drop(rx);
    /// assert_eq!(tx.send(3).unwrap_err().into_inner(), 3);
    /// ```
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        match self.replace(Arc::new(value), |state| state.receivers > 0) {
            Ok(_old) => Ok(()),
            Err(unsent) => Err(SendError(
                Arc::into_inner(unsent).expect("nobody has seen an unsent value"),
            )),
        }
    }

    /// Replaces the value, also if there is no receiver, and gives the one before.
    ///
    /// ```
    /// let (tx, _) = tidings::channel::watch(1);
    /// assert_eq!(*tx.send_replace(2), 1);
    /// assert_eq!(*tx.get(), 2);
    /// ```
    pub fn send_replace(&self, value: T) -> Arc<T> {
        match self.replace(Arc::new(value), |_| true) {
            Ok(old) | Err(old) => old,
        }
    }

    /// Replaces the value if `may` (which runs under the lock); gives the old one, or the new
    /// one back.
    fn replace(
        &self,
        value: Arc<T>,
        may: impl FnOnce(&State<T>) -> bool,
    ) -> Result<Arc<T>, Arc<T>> {
        here::gave::<T>();
        let (mut value, mut may, mut sent) = (value, Some(may), false);
        self.source.commit_each(false, |state| {
            if may.take().is_some_and(|may| may(state)) {
                // The old value is dropped by the caller, without the lock.
                std::mem::swap(&mut state.kept.value, &mut value);
                state.kept.version += 1;
                sent = true;
            }
            state.waiting.claim_before(state.kept.version)
        });
        if sent { Ok(value) } else { Err(value) }
    }

    /// Changes the value by `f` and wakes every receiver that waits for a change, also if there
    /// is none.
    ///
    /// `f` changes a clone, without any lock, which then replaces the value. If another sender
    /// was faster, `f` runs again, on a clone of its value: `f` should do nothing else.
    ///
    /// ```
    /// let (tx, rx) = tidings::channel::watch(vec![1]);
    /// tx.send_modify(|list| list.push(2));
    /// assert_eq!(*rx.get(), [1, 2]);
    /// ```
    pub fn send_modify(&self, mut f: impl FnMut(&mut T))
    where
        T: Clone,
    {
        self.send_if_modified(|value| {
            f(value);
            true
        });
    }

    /// As [`send_modify`](Self::send_modify), if `f` says that it has changed something; gives
    /// what it says. What `f` did to the clone is forgotten if it says `false` or panics.
    ///
    /// ```
    /// let (tx, mut rx) = tidings::channel::watch(1);
    /// assert!(!tx.send_if_modified(|n| *n < 0));
    /// assert!(!rx.has_changed().unwrap());
    /// ```
    pub fn send_if_modified(&self, mut f: impl FnMut(&mut T) -> bool) -> bool
    where
        T: Clone,
    {
        loop {
            let old = self.get();
            let mut new = T::clone(&old);
            if !f(&mut new) {
                return false;
            }
            // `old` is alive, so its address means the same value.
            if self
                .replace(Arc::new(new), |state| Arc::ptr_eq(&state.kept.value, &old))
                .is_ok()
            {
                return true;
            }
        }
    }

    /// The value, as it is now: a snapshot.
    #[doc(alias = "borrow")]
    #[must_use]
    pub fn get(&self) -> Arc<T> {
        self.source.locked(|state| Arc::clone(&state.kept.value))
    }

    /// A new receiver, which has seen the value that is there now.
    #[must_use]
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver {
            source: Arc::clone(&self.source),
            seen: self.source.add_receiver(|last| last.version),
            value: PhantomData,
        }
    }

    /// Is there no receiver?
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.receiver_count() == 0
    }

    /// How many values were sent so far.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.source.locked(|state| state.kept.version)
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (version, senders, receivers, waiting) = self.source.locked(|state| {
            (
                state.kept.version,
                state.senders,
                state.receivers,
                state.waiting.len(),
            )
        });
        f.debug_struct("watch::Sender")
            .field("version", &version)
            .field("senders", &senders)
            .field("receivers", &receivers)
            .field("receivers_waiting", &waiting)
            .finish()
    }
}

sender!("watch(0)", "cell");
