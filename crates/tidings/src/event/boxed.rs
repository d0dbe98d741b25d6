//! Events of one type whatever they are made of.

use std::fmt;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::Waker;

use super::waits::Waits;
use super::{Attempt, Enrol, Event, Lock, Locks, Protocol, event};

/// An event behind a pointer, from [`Event::boxed`]: to store events of different types in one
/// place. It gives nothing back when it loses.
///
/// ```
/// use tidings::{Event, always, choose, never};
/// let events = vec![never().boxed(), always(2).map(|n| n + 1).boxed()];
/// assert_eq!(choose(events).wait(), 3);
/// ```
#[must_use = "events do nothing unless awaited"]
pub struct Boxed<'a, T> {
    // Dropped before what it borrows from.
    event: Pin<Box<dyn Erased<T> + Send + 'a>>,
    owner: Option<Owner<'a>>,
}

/// What an event borrows from, in an allocation of its own, where it stays when the event is moved.
struct Owner<'a>(NonNull<dyn Send + 'a>);

// SAFETY: it owns what it points to, and that may be sent.
unsafe impl Send for Owner<'_> {}

impl Drop for Owner<'_> {
    fn drop(&mut self) {
        // SAFETY: `owning` has leaked it for us, and the event that borrows from it is gone.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// `Erased<T>`, the object-safe part of [`Protocol`]; every event has it, and so a `Boxed` has `Protocol` by it.
macro_rules! erased {
    (
        looks { $(fn $look:ident(&self $(, $seen:ident: $sight:ty)*) $(-> $found:ty)?;)* }
        acts { $(fn $act:ident(self: Pin<&mut Self> $(, $arg:ident: $type:ty)*) $(-> $ret:ty)?;)* }
    ) => {
        trait Erased<T> {
            $(fn $look(&self $(, $seen: $sight)*) $(-> $found)?;)*
            $(fn $act(self: Pin<&mut Self> $(, $arg: $type)*) $(-> $ret)?;)*
            fn lock<'l>(&'l self, locks: &mut Locks<'l>);
        }

        impl<T, E: Event<Output = T>> Erased<T> for E {
            $(fn $look(&self $(, $seen: $sight)*) $(-> $found)? {
                Protocol::$look(self $(, $seen)*)
            })*
            $(fn $act(self: Pin<&mut Self> $(, $arg: $type)*) $(-> $ret)? {
                Protocol::$act(self $(, $arg)*)
            })*
            fn lock<'l>(&'l self, locks: &mut Locks<'l>) {
                Protocol::lock(self, locks);
            }
        }

        impl<T> Protocol for Boxed<'_, T> {
            $(fn $look(&self $(, $seen: $sight)*) $(-> $found)? {
                self.event.$look($($seen),*)
            })*
            $(fn $act(mut self: Pin<&mut Self> $(, $arg: $type)*) $(-> $ret)? {
                self.event.as_mut().$act($($arg),*)
            })*
            fn lock<'l>(&'l self, locks: &mut Locks<'l>) {
                self.event.lock(locks);
            }
        }
    };
}

erased! {
    looks {
        fn leaves(&self) -> u32;
        fn waiters(&self) -> u32;
        fn turns(&self) -> u32;
        fn single(&self) -> Option<&Lock>;
        fn waits_for(&self, waits: &mut Waits);
    }
    acts {
        fn prepare(self: Pin<&mut Self>);
        fn attempt(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32>;
        fn attempt_turn(self: Pin<&mut Self>, turn: u32, attempt: &mut Attempt) -> Option<u32>;
        fn enrol(self: Pin<&mut Self>, enrol: &mut Enrol<'_>);
        fn due(self: Pin<&mut Self>, waker: &Waker) -> Option<u32>;
        fn rewake(self: Pin<&mut Self>, waker: &Waker);
        fn withdraw(self: Pin<&mut Self>, winner: Option<u32>, locked: bool);
        fn finish(self: Pin<&mut Self>, branch: u32) -> T;
        fn abandon(self: Pin<&mut Self>, branch: u32);
    }
}

impl<'a, T> Boxed<'a, T> {
    pub(super) fn new<E: Event<Output = T> + Send + 'a>(event: E) -> Self {
        Self {
            event: Box::pin(event),
            owner: None,
        }
    }

    /// An event that takes along what it borrows from: a function can return it, a task be given it, a channel carry
    /// it. Most events borrow a handle, and so end before it does.
    ///
    /// `make` is called once, here. The handle is dropped with the event, so clone it if you want to keep one. Two
    /// allocations, beside that of [`boxed`](Event::boxed).
    ///
    /// ```
    /// use tidings::event::{Boxed, Event};
    /// use tidings::{Receiver, RecvError, choose, unbounded};
    ///
    /// fn next<T: Send + 'static>(rx: &Receiver<T>) -> Boxed<'static, Result<T, RecvError>> {
    ///     Boxed::owning(rx.clone(), |rx| rx.recv().boxed())
    /// }
    ///
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = unbounded();
    /// let (other_tx, other_rx) = unbounded();
    /// // The channel carries communications.
    /// let (todo, events) = unbounded();
    /// todo.send(choose([next(&rx), next(&other_rx)]).boxed()).await.unwrap();
    /// let who = tidings::spawn(async move { events.recv().await.unwrap().await });
    /// other_tx.send(7).await.unwrap();
    /// assert_eq!(who.await.unwrap(), Ok(7));
    /// # drop((tx, rx, other_rx));
    /// # });
    /// ```
    pub fn owning<H: Send + 'a>(
        owner: H,
        make: impl for<'h> FnOnce(&'h mut H) -> Boxed<'h, T>,
    ) -> Self
    where
        T: 'a,
    {
        let place = NonNull::from(Box::leak(Box::new(owner)));
        // From here on it is dropped, also where `make` panics.
        let owner = Owner(place);
        // SAFETY: the place is valid until `owner` is dropped, which nothing else refers to. The event is dropped before
        // that: it is the field before it. Nothing else can hold the reference: `make` does not know how long it lives.
        let made = make(unsafe { &mut *place.as_ptr() });
        let event: Pin<Box<dyn Erased<T> + Send + 'a>> = match made.owner {
            None => made.event,
            Some(_) => Box::pin(made),
        };
        Self {
            event,
            owner: Some(owner),
        }
    }
}

event!(impl['a, T] Boxed<'a, T> => T);

impl<T> fmt::Debug for Boxed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Boxed").finish_non_exhaustive()
    }
}
