//! The receiving half of a oneshot.

use std::fmt;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr::NonNull;

use pin_project_lite::pin_project;

use super::{Cell, Half, free};
use crate::channel::count_dead;
use crate::channel::error::{RecvError, TryRecvError};
use crate::channel::source::{Side, Slot, Source, slot_methods};
use crate::event::{Attempt, Event, EventFuture, Protocol, event};
use crate::sched::{books, record};
use crate::task::{Woken, go_on, wake_each};
use crate::time::Instant;
#[cfg(feature = "tracing")]
use crate::trace::Trace;

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
unsafe impl<T: Send> Sync for Receiver<T> {}

impl<T> Receiver<T> {
    pub(super) fn new(cell: NonNull<Cell<T>>) -> Self {
        Self { cell, over: false }
    }

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
    /// [`TryRecvError::Empty`] if it is not there yet, `Closed` if it will not come.
    #[inline]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
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
            None if sender_gone => Err(TryRecvError::Closed),
            None => Err(TryRecvError::Empty),
        }
    }

    /// Ends the wait for good: the value, if it has come. One that has not can be sent no more, and its
    /// sender hears of that, so none comes too late and is lost.
    ///
    /// ```
    /// let (tx, rx) = tidings::oneshot();
    /// tx.send("in time").unwrap();
    /// assert_eq!(rx.close(), Some("in time"));
    ///
    /// let (tx, rx) = tidings::oneshot();
    /// assert_eq!(rx.close(), None);
    /// assert_eq!(tx.send("too late"), Err("too late"));
    /// ```
    pub fn close(self) -> Option<T> {
        let this = ManuallyDrop::new(self);
        if this.over {
            this.is_last();
            return None;
        }
        let (value, woken) = this.goes(true);
        if woken.is_err() {
            // Nobody gets it.
            count_dead(usize::from(value.is_some()));
        }
        go_on(woken);
        value
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
    #[track_caller]
    pub fn recv_blocking(self) -> Result<T, RecvError> {
        self.into_recv().wait()
    }
}

impl<T> IntoFuture for Receiver<T> {
    type Output = Result<T, RecvError>;
    type IntoFuture = EventFuture<Recv<Self, T>>;
    #[track_caller]
    fn into_future(self) -> Self::IntoFuture {
        self.into_recv().into_future()
    }
}

/// `(&mut rx).await` is `rx.recv().await`: a wait that is dropped leaves the value for the next.
impl<T> IntoFuture for &mut Receiver<T> {
    type Output = Result<T, RecvError>;
    type IntoFuture = EventFuture<Recv<Self, T>>;
    #[track_caller]
    fn into_future(self) -> Self::IntoFuture {
        self.recv().into_future()
    }
}

impl<T> Drop for Receiver<T> {
    #[inline]
    fn drop(&mut self) {
        if self.over {
            self.is_last();
        } else {
            self.is_dropped();
        }
    }
}

impl<T> Receiver<T> {
    /// The sender has gone.
    #[inline]
    fn is_last(&self) {
        // It may be about to unlock.
        self.chan().lock.see_out();
        // SAFETY: both halves are gone.
        unsafe { free(self.cell) };
    }

    /// It is dropped before the value came, or with it.
    #[inline(never)]
    fn is_dropped(&self) {
        let (value, woken) = self.goes(false);
        count_dead(usize::from(value.is_some()));
        go_on(woken);
        drop(value);
    }

    /// It goes, perhaps before its sender: gives the value, if it has come, which is received or dies.
    #[inline]
    fn goes(&self, receives: bool) -> (Option<T>, Woken) {
        // More than one may wait for the end: the sender can be shared.
        let mut wakers = Vec::new();
        let mut bell = None;
        let (value, sender_gone) = self.chan().locked(|state| {
            state.receiver_gone = true;
            while let Some(claimed) = state.observer.claim() {
                wakers.push(claimed.commit(true));
            }
            let value = state.value.take();
            let (number, n) = (Source::number_around(state), u64::from(value.is_some()));
            if receives && n > 0 {
                record::received::<T>(number, n, None);
            } else {
                books::died(number, n as usize);
            }
            if state.bell.is_hung() {
                bell = state.bell.take(false);
            }
            (value, state.sender_gone)
        });
        if sender_gone {
            // SAFETY: both halves are gone.
            unsafe { free(self.cell) };
        } else if let Some(bell) = bell {
            bell.ring();
        }
        let woken = match wakers.is_empty() {
            true => Ok(()),
            false => wake_each(wakers),
        };
        (value, woken)
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
