//! One value from one sender to one receiver: the reply cell.
//!
//! Budget: the send is one lock (it ends the sender too); the receive is one lock, and its end
//! takes none once it has received. One allocation for both.

use std::fmt;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr::NonNull;

use pin_project_lite::pin_project;

use super::bell::Bell;
#[cfg(feature = "remote")]
use super::bell::{Door, Rings};
use super::error::RecvError;
use super::source::{Lists, Side, Slot, Source, slot_methods, value_of};
use crate::event::offer::Waiters;
use crate::event::{Attempt, Event, Protocol, Sync, event, waits};
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
    halves(State::new())
}

/// One whose receiver wants the value so, with what is rung when the sender has sent or goes.
#[cfg(feature = "remote")]
#[cfg_attr(debug_assertions, track_caller)]
pub(crate) fn wanted<T>(wanted: Wanted, rings: Option<Rings>) -> (Sender<T>, Receiver<T>) {
    let mut state = State::new();
    state.deadline = wanted.deadline;
    #[cfg(feature = "tracing")]
    {
        state.trace = wanted.trace;
    }
    if let Some(rings) = rings {
        state.bell.hang(rings);
    }
    halves(state)
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
    pub trace: Option<Trace>,
}

#[inline(always)]
#[cfg_attr(debug_assertions, track_caller)]
fn halves<T>(state: State<T>) -> (Sender<T>, Receiver<T>) {
    let cell = slab::alloc(const { class::<T>() }).cast::<Cell<T>>();
    // SAFETY: the slot is ours, large enough and aligned.
    unsafe { cell.write(Source::new(state)) };
    let over = false;
    (Sender { cell }, Receiver { cell, over })
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

impl<T> State<T> {
    fn new() -> Self {
        Self {
            value: None,
            receiver: Waiters::new(),
            observer: Waiters::new(),
            deadline: None,
            #[cfg(feature = "tracing")]
            trace: None,
            bell: Bell::new(),
            sender_gone: false,
            receiver_gone: false,
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
unsafe impl<T: Send> std::marker::Sync for Sender<T> {}

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
        // SAFETY: the cell lives until both halves are gone.
        let (waker, receiver_gone, bell) = unsafe { cell.as_ref() }.locked(|state| {
            if state.bell.take_twin() {
                return (None, false, None);
            }
            state.sender_gone = true;
            if state.receiver_gone {
                return (None, true, None);
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
            (waker, false, state.bell.take(true))
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
    pub(crate) fn twin(&self) -> Option<Self> {
        let before = self.chan().locked(|state| state.bell.set_twin());
        (!before).then_some(Self { cell: self.cell })
    }

    /// Rings the door when the receiver goes; at once if it has gone. Nothing waits. Gives by when the receiver
    /// wants the value.
    #[cfg(feature = "remote")]
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

/// Receives the one value: `rx.await`, or the event [`recv`](Self::recv).
///
/// Fails if the sender is dropped without sending. Dropping the receiver drops the value, which
/// counts as a dead letter.
pub struct Receiver<T> {
    cell: NonNull<Cell<T>>,
    /// The sender was seen to have gone, and there is no value any more.
    over: bool,
}

// SAFETY: as for the sender.
unsafe impl<T: Send> Send for Receiver<T> {}
// SAFETY: a shared receiver only looks.
unsafe impl<T: Send> std::marker::Sync for Receiver<T> {}

impl<T> Receiver<T> {
    fn chan(&self) -> &Cell<T> {
        // SAFETY: the cell lives until both halves are gone.
        unsafe { self.cell.as_ref() }
    }

    /// The value: an event that borrows the receiver. A wait that is dropped, or loses a
    /// choice, leaves the value for the next.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidings::Event;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = tidings::oneshot();
    /// assert!(rx.recv().timeout(Duration::from_millis(2)).await.is_err());
    /// tx.send(1).unwrap();
    /// assert_eq!(rx.recv().await, Ok(1));
    /// # });
    /// ```
    pub fn recv(&mut self) -> Recv<&mut Self, T> {
        Recv {
            receiver: self,
            slot: Slot::new(None),
        }
    }

    /// As `recv`, an event that owns the receiver.
    pub fn into_recv(self) -> Recv<Self, T> {
        Recv {
            receiver: self,
            slot: Slot::new(None),
        }
    }

    /// The value, if it is there.
    ///
    /// # Errors
    /// [`TryRecvError::Empty`](super::TryRecvError::Empty) if it is not there yet, `Closed` if
    /// it will not come.
    pub fn try_recv(&mut self) -> Result<T, super::TryRecvError> {
        let (value, sender_gone) = self.chan().locked(|state| {
            let value = state.value.take();
            if value.is_some() {
                record::received::<T>(Source::number_around(state), 1, None);
            }
            (value, state.sender_gone)
        });
        // Who has sent has gone.
        self.over = sender_gone;
        match value {
            Some(value) => Ok(value),
            None if sender_gone => Err(super::TryRecvError::Closed),
            None => Err(super::TryRecvError::Empty),
        }
    }

    /// Lets the sender know by when the value is wanted.
    pub(crate) fn set_deadline(&self, deadline: Instant) {
        self.chan().locked(|state| state.deadline = Some(deadline));
    }

    /// Lets the sender know what the value is asked for as a part of.
    #[cfg(feature = "tracing")]
    pub(crate) fn set_trace(&self, trace: Trace) {
        self.chan().locked(|state| state.trace = Some(trace));
    }

    /// As awaiting it, on a plain thread, which waits.
    ///
    /// # Errors
    /// If the sender was dropped without sending.
    pub fn recv_blocking(self) -> Result<T, RecvError> {
        self.into_recv().wait()
    }
}

impl<T> IntoFuture for Receiver<T> {
    type Output = Result<T, RecvError>;
    type IntoFuture = Sync<Recv<Self, T>>;
    #[track_caller]
    fn into_future(self) -> Self::IntoFuture {
        self.into_recv().into_future()
    }
}

impl<T> Drop for Receiver<T> {
    #[inline]
    fn drop(&mut self) {
        if self.over {
            // It may be about to unlock.
            self.chan().lock.see_out();
            // SAFETY: both halves are gone.
            unsafe { free(self.cell) };
        } else {
            self.goes();
        }
    }
}

impl<T> Receiver<T> {
    /// It is dropped before the value came, or with it.
    #[inline(never)]
    fn goes(&self) {
        // More than one may wait for the end: the sender can be shared.
        let mut wakers = Vec::new();
        let (value, sender_gone, bell) = self.chan().locked(|state| {
            state.receiver_gone = true;
            while let Some(claimed) = state.observer.claim() {
                wakers.push(claimed.commit(true));
            }
            let value = state.value.take();
            books::died(Source::number_around(state), usize::from(value.is_some()));
            (value, state.sender_gone, state.bell.take(false))
        });
        if sender_gone {
            // SAFETY: both halves are gone.
            unsafe { free(self.cell) };
        } else if let Some(bell) = bell {
            bell.ring();
        }
        super::count_dead(usize::from(value.is_some()));
        if !wakers.is_empty() {
            crate::task::wake_all(wakers);
        }
        drop(value);
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sent = self.chan().locked(|state| state.value.is_some());
        f.debug_struct("oneshot::Receiver")
            .field("sent", &sent)
            .finish()
    }
}

/// What a [`Recv`] holds: the receiver, or a reference to it.
trait Half<T> {
    fn chan(&self) -> &Cell<T>;
    /// The sender has gone, and the value was taken, if there was one.
    fn is_over(&mut self);
}

impl<T> Half<T> for Receiver<T> {
    fn chan(&self) -> &Cell<T> {
        Self::chan(self)
    }
    fn is_over(&mut self) {
        self.over = true;
    }
}

impl<T> Half<T> for &mut Receiver<T> {
    fn chan(&self) -> &Cell<T> {
        Receiver::chan(self)
    }
    fn is_over(&mut self) {
        self.over = true;
    }
}

pin_project! {
    /// The event of [`Receiver::recv`].
    #[derive(Debug)]
    #[must_use = "events do nothing unless awaited"]
    pub struct Recv<H, T> {
        receiver: H,
        #[pin]
        slot: Slot<T>,
    }
}

impl<H: Half<T>, T> Protocol for Recv<H, T> {
    slot_methods!(Side::Receiver, receiver);

    #[inline(always)]
    fn attempt(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32> {
        let this = self.project();
        let place = this.slot.place();
        let happened = this.receiver.chan().attempt(attempt, |state, _| {
            if state.value.is_some() {
                *place = state.value.take();
                return true;
            }
            state.sender_gone
        });
        if place.is_some() {
            record::received::<T>(this.receiver.chan().number(), 1, None);
        }
        happened.then_some(0)
    }
    #[inline(always)]
    fn finish(self: Pin<&mut Self>, _: u32) -> Self::Output {
        let this = self.project();
        this.receiver.is_over();
        this.slot.place().take().ok_or(RecvError)
    }
    fn abandon(self: Pin<&mut Self>, _: u32) {
        // Back into the cell, for the next wait of the same receiver.
        let this = self.project();
        let value = this.slot.place().take();
        if value.is_some() {
            books::returned(this.receiver.chan().number());
        }
        this.receiver.chan().locked(|state| state.value = value);
    }
}

impl<T> Recv<Receiver<T>, T> {
    /// Lets the sender know by when the value is wanted.
    pub(crate) fn set_deadline(self: Pin<&mut Self>, deadline: Instant) {
        self.project().receiver.set_deadline(deadline);
    }

    /// Lets the sender know what the value is asked for as a part of.
    #[cfg(feature = "tracing")]
    pub(crate) fn set_trace(self: Pin<&mut Self>, trace: Trace) {
        self.project().receiver.set_trace(trace);
    }
}

event!(impl[H: Half<T>, T] Recv<H, T> => Result<T, RecvError>);

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
