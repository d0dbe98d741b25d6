//! One value from one sender to one receiver: the reply cell.
//!
//! Budget: the send is one lock (it ends the sender too); the receive is one lock, and its end
//! takes none once it has received. One allocation for both.

use std::fmt;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr::{self, NonNull};

use crate::channel::bell::Bell;
#[cfg(feature = "remote")]
use crate::channel::bell::{Door, Rings};
use crate::channel::source::{Lists, Side, Slot, Source, slot_methods, value_of};
use crate::event::offer::Waiters;
use crate::event::{Attempt, Protocol, event, waits};
#[cfg(feature = "remote")]
use crate::primitive::Arc;
#[cfg(feature = "remote")]
use crate::primitive::prefetch::prefetch;
use crate::primitive::slab;
use crate::sched::{books, record};
use crate::task::here;
use crate::time::Instant;
#[cfg(any(feature = "tracing", feature = "remote"))]
use crate::trace::Trace;

mod receiver;

pub use receiver::{Receiver, Recv};

/// A channel for one value.
///
/// ```
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = tidings::oneshot();
/// tx.send(7).unwrap();
/// assert_eq!(rx.await, Ok(7));
/// # });
/// ```
#[must_use]
#[cfg_attr(debug_assertions, track_caller)]
pub fn oneshot<T>() -> (Sender<T>, Receiver<T>) {
    // SAFETY: it is the place of a new one.
    halves(|place| unsafe { State::fill(place) })
}

/// One whose receiver wants the value so, with what is rung when the sender has sent or goes.
#[cfg(feature = "remote")]
#[cfg_attr(debug_assertions, track_caller)]
#[inline]
pub(crate) fn wanted<T>(wanted: Wanted, rings: Option<Rings>) -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = oneshot();
    // SAFETY: nobody else refers to it yet. With the lock it would be the same, and what hangs there would be put
    // together on the stack to be moved there.
    let state = unsafe { sender.chan().state() };
    state.deadline = wanted.deadline;
    #[cfg(feature = "tracing")]
    {
        state.trace = wanted.trace;
    }
    if let Some(rings) = rings {
        state.bell.hang(rings);
    }
    (sender, receiver)
}

/// The receiver has gone.
#[cfg(feature = "remote")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

/// How the receiver wants the value.
#[cfg(feature = "remote")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// By when, if it said so.
    pub deadline: Option<Instant>,
    /// As a part of what, if that is known.
    #[cfg(feature = "tracing")]
    trace: Option<Trace>,
}

#[cfg(feature = "remote")]
impl Wanted {
    /// By then, and as a part of that.
    #[inline]
    #[must_use]
    #[cfg_attr(
        not(feature = "tracing"),
        expect(unused_variables, reason = "it is not kept")
    )]
    pub fn new(deadline: Option<Instant>, trace: Option<Trace>) -> Self {
        Self {
            deadline,
            #[cfg(feature = "tracing")]
            trace,
        }
    }
}

#[inline(always)]
#[cfg_attr(debug_assertions, track_caller)]
fn halves<T>(fill: impl FnOnce(*mut State<T>)) -> (Sender<T>, Receiver<T>) {
    let cell = slab::alloc(const { class::<T>() }).cast::<Cell<T>>();
    // SAFETY: the slot is ours, large enough and aligned; both of ours fill it.
    unsafe { Source::make(cell, fill) };
    (Sender { cell }, Receiver::new(cell))
}

type Cell<T> = Source<State<T>>;

const fn class<T>() -> slab::Class {
    slab::Class::of::<Cell<T>>(slab::Kind::Channel)
}

/// # Safety
/// Both halves are gone.
#[inline]
unsafe fn free<T>(cell: NonNull<Cell<T>>) {
    // SAFETY: it came from `oneshot`, and nobody refers to it any more.
    unsafe {
        if waits::booked() {
            ended(cell.as_ref());
        }
        cell.drop_in_place();
        slab::free(cell.cast(), const { class::<T>() });
    }
}

/// Onto the books.
#[cold]
#[inline(never)]
fn ended<T>(cell: &Cell<T>) {
    cell.locked(|state| {
        books::ended(
            Source::number_around(state),
            usize::from(state.value.is_some()),
        );
    });
}

#[derive(Debug)]
struct State<T> {
    value: Option<T>,
    receiver: Waiters,
    /// Waits for the receiver to go.
    observer: Waiters,
    /// By when the receiver wants the value, if it said so.
    deadline: Option<Instant>,
    /// What the receiver asks for it as a part of.
    #[cfg(feature = "tracing")]
    trace: Option<Trace>,
    bell: Bell,
    sender_gone: bool,
    receiver_gone: bool,
}

/// All that [`State::fill`] writes: who adds a field adds it there.
#[cfg(not(feature = "tracing"))]
const _: fn(State<()>) = |state| {
    let State {
        value: _,
        receiver: _,
        observer: _,
        deadline: _,
        bell: _,
        sender_gone: _,
        receiver_gone: _,
    } = state;
};

impl<T> State<T> {
    /// Writes a new one, as [`Source::make`] wants it.
    ///
    /// # Safety
    /// The place may be written.
    #[inline(always)]
    unsafe fn fill(place: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            ptr::addr_of_mut!((*place).value).write(None);
            ptr::addr_of_mut!((*place).receiver).write(Waiters::new());
            ptr::addr_of_mut!((*place).observer).write(Waiters::new());
            ptr::addr_of_mut!((*place).deadline).write(None);
            #[cfg(feature = "tracing")]
            ptr::addr_of_mut!((*place).trace).write(None);
            ptr::addr_of_mut!((*place).bell).write(Bell::new());
            ptr::addr_of_mut!((*place).sender_gone).write(false);
            ptr::addr_of_mut!((*place).receiver_gone).write(false);
        }
    }
}

impl<T> Lists for State<T> {
    fn waiters(&mut self, side: Side) -> &mut Waiters {
        if side == Side::Receiver {
            &mut self.receiver
        } else {
            &mut self.observer
        }
    }
}

/// Sends the one value.
pub struct Sender<T> {
    cell: NonNull<Cell<T>>,
}

// SAFETY: the halves move one `T` from one thread to another.
unsafe impl<T: Send> Send for Sender<T> {}
// SAFETY: a shared sender only looks.
unsafe impl<T: Send> Sync for Sender<T> {}

impl<T> Sender<T> {
    /// Asks for the memory that a value needs.
    #[cfg(feature = "remote")]
    pub(crate) fn prefetch(&self) {
        prefetch(self.chan());
    }

    fn chan(&self) -> &Cell<T> {
        // SAFETY: the cell lives until both halves are gone.
        unsafe { self.cell.as_ref() }
    }

    /// Sends the value. Never waits.
    ///
    /// # Errors
    /// Gives the value back if the receiver is gone.
    ///
    /// ```
    /// let (tx, rx) = tidings::oneshot();
    /// drop(rx);
    /// assert_eq!(tx.send("unheard"), Err("unheard"));
    /// ```
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn send(self, value: T) -> Result<(), T> {
        here::gave::<T>();
        self.send_noted(value)
    }

    /// As `send`, of who has noted that a value leaves.
    #[inline(always)]
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn send_noted(self, value: T) -> Result<(), T> {
        let _line = record::called();
        let cell = ManuallyDrop::new(self).cell;
        // SAFETY: this ends the only sender.
        unsafe { Self::end(cell, Some(value)) }
    }

    /// # Safety
    /// The caller is the sender and does not use it any more.
    #[inline]
    unsafe fn end(cell: NonNull<Cell<T>>, mut value: Option<T>) -> Result<(), T> {
        // Not given by the closure: as a part of what that gives it was copied three times, in pieces that overlap, which
        // stalls, and was nothing: half the time of a send.
        let mut bell = None;
        // SAFETY: the cell lives until both halves are gone.
        let (waker, receiver_gone) = unsafe { cell.as_ref() }.locked(|state| {
            if state.bell.take_twin() {
                return (None, false);
            }
            state.sender_gone = true;
            if state.receiver_gone {
                return (None, true);
            }
            if state.bell.is_hung() {
                bell = state.bell.take(true);
            }
            let waker = match state.receiver.claim() {
                Some(claimed) => {
                    let closed = value.is_none();
                    // SAFETY: the receiver's waiter is a slot of this cell, locked.
                    *unsafe { value_of(&claimed) } = value.take();
                    let waker = Some(claimed.commit(closed));
                    if !closed {
                        record::sent::<T>(Source::number_around(state), 1, waker.as_ref());
                    }
                    waker
                }
                None => {
                    state.value = value.take();
                    if state.value.is_some() {
                        record::sent::<T>(Source::number_around(state), 1, None);
                    }
                    None
                }
            };
            (waker, false)
        });
        if receiver_gone {
            // SAFETY: both halves are gone.
            unsafe { free(cell) };
            return value.map_or(Ok(()), Err);
        }
        if let Some(waker) = waker {
            crate::task::wake_now(waker);
        }
        if let Some(bell) = bell {
            bell.ring();
        }
        Ok(())
    }

    /// A second sender of the same value. Of the two, the first that sends or is dropped does
    /// nothing: the value it sends is dropped.
    ///
    /// `None`: there are two already.
    #[cfg(feature = "remote")]
    #[inline]
    pub(crate) fn twin(&self) -> Option<Self> {
        let before = self.chan().locked(|state| state.bell.set_twin());
        (!before).then_some(Self { cell: self.cell })
    }

    /// Rings the door when the receiver goes; at once if it has gone. Nothing waits. Gives by when the receiver
    /// wants the value.
    #[cfg(feature = "remote")]
    #[inline]
    pub(crate) fn hang_bell(&self, door: Arc<dyn Door>, key: u32) -> Result<Option<Instant>, Gone> {
        let rings = Rings::new(door, key, false);
        let hung = self.chan().locked(|state| {
            if state.receiver_gone {
                return Err(rings);
            }
            state.bell.hang(rings);
            Ok(state.deadline)
        });
        hung.map_err(|rings| {
            rings.ring();
            Gone
        })
    }

    /// Waits until the receiver is gone: an event.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = tidings::oneshot::<u8>();
    /// drop(rx);
    /// tx.closed().await;
    /// # });
    /// ```
    pub fn closed(&self) -> Closed<'_, T> {
        Closed {
            sender: self,
            slot: Slot::new(None),
        }
    }

    /// Is the receiver gone?
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.chan().locked(|state| state.receiver_gone)
    }
}

impl<T> Sender<T> {
    /// By when the receiver wants the value.
    #[inline]
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.chan().locked(|state| state.deadline)
    }

    /// What the value is asked for as a part of.
    #[cfg(feature = "tracing")]
    pub(crate) fn trace(&self) -> Option<Trace> {
        self.chan().locked(|state| state.trace)
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        // SAFETY: this ends the only sender.
        let _ = unsafe { Self::end(self.cell, None) };
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("oneshot::Sender")
            .field("closed", &self.is_closed())
            .finish()
    }
}

/// What a [`Recv`] holds: the receiver, or a reference to it.
trait Half<T> {
    fn chan(&self) -> &Cell<T>;
    /// The sender has gone, and the value was taken, if there was one.
    fn is_over(&mut self);
}

/// The event of [`Sender::closed`].
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Closed<'a, T> {
    sender: &'a Sender<T>,
    slot: Slot<()>,
}

impl<T> Protocol for Closed<'_, T> {
    slot_methods!(Side::Other, sender);

    fn attempt(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32> {
        let cell = self.sender.chan();
        cell.attempt(attempt, |state, _| state.receiver_gone)
            .then_some(0)
    }
    fn finish(self: Pin<&mut Self>, _: u32) {}
    fn abandon(self: Pin<&mut Self>, _: u32) {}
}

event!(impl['a, T] Closed<'a, T> => ());
