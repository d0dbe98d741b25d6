//! A counted pointer to the mailbox of an actor that shows only what can be put in: what all typed
//! references are made of. The mailbox carries messages of one type `M`; whoever has an
//! `Address<I>` knows only that an `I` can be wrapped into one.
//!
//! Cost beside a channel's sender: one indirect call per send.

use std::fmt;
use std::pin::Pin;
use std::ptr::NonNull;

use super::call::CallError;
use super::exit::leaving;
use super::life::{Life, Overflow};
use super::parcel::Parcel;
use super::tell::SendError;
use crate::channel::chan::{Chan, Sent, State};
use crate::channel::refs::{Ref, SenderRef};
use crate::channel::source::{Side, Slot};
use crate::event::{Attempt, Enrol, Lock};
use crate::task::here;

/// A message type that can carry an `I`: itself, or an `I` among others. `#[tidings::actor]`
/// implements it for interfaces.
pub trait Carries<I>: Sized {
    /// The message with this in it. It runs under the mailbox's lock: it must only wrap.
    fn wrap(inner: I) -> Self;
}

impl<M> Carries<M> for M {
    #[inline(always)]
    fn wrap(inner: M) -> M {
        inner
    }
}

/// A mailbox as those see it who put an `I` in.
pub(super) trait Inlet<I>: Send + Sync {
    fn lock(&self) -> &Lock;
    fn life(&self) -> &Life;
    fn len(&self) -> usize;
    /// How much it has to do: less if it waits for a message and handles none, and of two that are busy, who has
    /// fewer of them.
    fn load(&self) -> (bool, usize);
    /// Locked. How many messages have come.
    fn come(&self) -> u64;
    /// Locked. Takes the message out of its place if it goes in.
    fn put(&self, place: &mut Option<I>, attempt: &mut Attempt) -> Sent;
    /// As `put`, with the lock and the wake: the whole of a send that need not wait, in one call.
    fn put_now(&self, place: &mut Option<I>) -> Sent;
    /// It was full: does what its policy says. If the message goes in its ticket is `Here::placed`.
    fn overflow(&self, message: I) -> Result<(), SendError<I>>;
    /// Puts a message into the place that a waiter was given; without a message gives the place up.
    /// Gives the message back if the mailbox was closed meanwhile. Its ticket is `Here::placed`.
    fn put_reserved(&self, message: Option<I>) -> Option<I>;
    /// # Safety
    /// As `Source::enrol`.
    unsafe fn enrol(&self, slot: Pin<&mut Slot<Sent>>, enrol: &mut Enrol<'_>);
    /// # Safety
    /// As `Source::withdraw`.
    unsafe fn withdraw(&self, slot: Pin<&mut Slot<Sent>>, locked: bool);
    /// Wakes the actor if it waits for a message: there is a signal.
    fn nudge(&self);
    fn retain(&self, side: Side);
    fn try_retain(&self, side: Side) -> bool;
    /// What gives up a reference: apart, because it may end the mailbox that a `&self` borrows.
    fn release(&self) -> unsafe fn(NonNull<()>, Side);
}

impl<I> dyn Inlet<I> + '_ {
    /// Do senders wait when it is full?
    pub(super) fn waits(&self) -> bool {
        self.life().overflow == Overflow::Wait
    }
}

impl<I: Send + 'static, M: Carries<I> + Send + 'static> Inlet<I> for Chan<Parcel<M>, Life> {
    fn lock(&self) -> &Lock {
        &self.lock
    }

    fn life(&self) -> &Life {
        self.beside()
    }

    fn len(&self) -> usize {
        self.beside().kept() + self.locked(|state| state.len())
    }

    fn load(&self) -> (bool, usize) {
        let (awaited, len) = self.locked(|state| (state.is_awaited(), state.len()));
        let handlers = self.beside().handlers();
        let busy = !awaited || handlers > 0;
        (busy, len + self.beside().kept() + handlers)
    }

    fn come(&self) -> u64 {
        let locked = &mut Attempt::default();
        self.attempt(locked, |state, _| state.come())
    }

    #[inline(always)]
    fn put(&self, place: &mut Option<I>, attempt: &mut Attempt) -> Sent {
        self.attempt(attempt, |state, attempt| {
            state.try_send_as(place, Parcel::wrap, attempt)
        })
    }

    fn put_now(&self, place: &mut Option<I>) -> Sent {
        let lock = Inlet::<I>::lock(self);
        if !lock.enter() {
            return put_openly(self, place);
        }
        if self.quick(|state| state.put_behind(place, Parcel::wrap)) {
            lock.leave();
            return Sent::Done;
        }
        if self.quick(|state| state.is_awaited()) {
            return put_and_wake(self, place);
        }
        put_quickly(self, place)
    }

    #[cold]
    fn overflow(&self, message: I) -> Result<(), SendError<I>> {
        match self.beside().overflow {
            Overflow::Wait => return Err(SendError::Full(message)),
            Overflow::Reject => {
                self.beside().overflow();
                return Err(SendError::Full(message));
            }
            Overflow::DropNewest => {
                self.beside().overflow();
                leaving(CallError::Full, || drop(message));
                return Ok(());
            }
            Overflow::DropOldest => {}
        }
        let mut place = Some(message);
        let mut attempt = Attempt::default();
        let (sent, oldest) = self.locked(|state| {
            let mut oldest = None;
            let mut sent = state.try_send_as(&mut place, Parcel::wrap, &mut attempt);
            if sent == Sent::Full {
                oldest = state.pop_oldest();
                // A mailbox that is full of permits has nothing to drop.
                if oldest.is_some() {
                    // There may be more than it holds: what has come back.
                    sent = state.post_as(&mut place, Parcel::wrap, &mut attempt);
                }
            }
            note_place(state);
            (sent, oldest)
        });
        if let Some(waker) = attempt.waker {
            crate::task::wake_now(waker);
        }
        if let Some(oldest) = oldest {
            self.beside().overflow();
            leaving(CallError::Full, || drop(oldest));
        }
        match place {
            None => Ok(()),
            Some(message) if sent == Sent::Full => Err(SendError::Full(message)),
            Some(message) => Err(SendError::ended(self.beside(), message)),
        }
    }

    fn put_reserved(&self, message: Option<I>) -> Option<I> {
        let mut message = message;
        let mut wakers = Vec::new();
        self.locked(|state| {
            let open = !state.is_closed();
            let mut wrapped = message.take_if(|_| open).map(Parcel::wrap);
            state.unreserve(&mut wrapped, &mut wakers);
            note_place(state);
        });
        crate::task::wake_all(wakers);
        message
    }

    unsafe fn enrol(&self, slot: Pin<&mut Slot<Sent>>, enrol: &mut Enrol<'_>) {
        // SAFETY: the caller's promise.
        unsafe { (**self).enrol(Side::Sender, slot, enrol) };
    }

    unsafe fn withdraw(&self, slot: Pin<&mut Slot<Sent>>, locked: bool) {
        // SAFETY: the caller's promise.
        unsafe { (**self).withdraw(Side::Sender, slot, locked) };
    }

    fn nudge(&self) {
        // The actor may have heard it already: then its receive waits for something else.
        let waker = self.locked(|state| {
            let signalled = self.beside().is_signalled();
            signalled.then(|| state.nudge()).flatten()
        });
        // Whatever it does: who signals has others to see to.
        crate::task::wake_quietly(waker);
    }

    fn retain(&self, side: Side) {
        self.add_ref(side);
    }

    fn try_retain(&self, side: Side) -> bool {
        self.try_add_ref(side)
    }

    fn release(&self) -> unsafe fn(NonNull<()>, Side) {
        |chan, side| {
            // SAFETY: the caller's promise (`Drop` below), and it is such a channel.
            unsafe { Self::release(chan.cast().as_ptr(), side) }
        }
    }
}

/// A message has come, of which its sender may ask for the ticket: the last.
fn note_place<T>(state: &State<T>) {
    here::place(state.come().wrapping_sub(1));
}

/// As `put_now`, of a mailbox whose lock does not lean towards this thread.
#[inline(never)]
fn put_openly<I: Send + 'static, M: Carries<I> + Send + 'static>(
    chan: &Chan<Parcel<M>, Life>,
    place: &mut Option<I>,
) -> Sent {
    Inlet::<I>::lock(chan).lock();
    put_and_wake(chan, place)
}

/// The rest of `put_now`, lock entered: apart, so that what comes before it saves no registers for it.
#[inline(never)]
fn put_quickly<I: Send + 'static, M: Carries<I> + Send + 'static>(
    chan: &Chan<Parcel<M>, Life>,
    place: &mut Option<I>,
) -> Sent {
    if chan.quick(|state| state.put_quickly(place, Parcel::wrap)) {
        Inlet::<I>::lock(chan).leave();
        return Sent::Done;
    }
    put_and_wake(chan, place)
}

/// The rest of both, lock held.
#[inline(never)]
fn put_and_wake<I: Send + 'static, M: Carries<I> + Send + 'static>(
    chan: &Chan<Parcel<M>, Life>,
    place: &mut Option<I>,
) -> Sent {
    let mut attempt = Attempt::default();
    let sent = chan.put(place, &mut attempt);
    Inlet::<I>::lock(chan).unlock();
    if let Some(waker) = attempt.waker {
        crate::task::wake_now(waker);
    }
    sent
}

/// One reference to a mailbox, counted among its senders, or, weak, among those that only keep its
/// memory.
pub(super) struct Address<I, const SIDE: u8> {
    inlet: NonNull<dyn Inlet<I>>,
}

pub(super) type Strong<I> = Address<I, { Side::Sender as u8 }>;
pub(super) type Weak<I> = Address<I, { Side::Other as u8 }>;

// SAFETY: it puts `I`s into a mailbox of `M`s, which may be sent (`Inlet`'s implementation), under
// the mailbox's lock.
unsafe impl<I: Send, const SIDE: u8> Send for Address<I, SIDE> {}
// SAFETY: as above.
unsafe impl<I: Send, const SIDE: u8> Sync for Address<I, SIDE> {}

impl<I, const SIDE: u8> Address<I, SIDE> {
    const SIDE: Side = match SIDE {
        0 => Side::Sender,
        _ => Side::Other,
    };

    #[inline(always)]
    pub(super) fn inlet(&self) -> &dyn Inlet<I> {
        // SAFETY: the reference is counted, which keeps the mailbox.
        unsafe { self.inlet.as_ref() }
    }

    pub(super) fn downgrade(&self) -> Weak<I> {
        self.inlet().retain(Side::Other);
        Address { inlet: self.inlet }
    }
}

impl<I: Send + 'static> Strong<I> {
    /// Takes over a sender of a mailbox.
    pub(super) fn new<M: Carries<I> + Send + 'static>(sender: SenderRef<Parcel<M>, Life>) -> Self {
        Self {
            inlet: Ref::into_raw(sender),
        }
    }
}

impl<I> Weak<I> {
    pub(super) fn upgrade(&self) -> Option<Strong<I>> {
        self.inlet()
            .try_retain(Side::Sender)
            .then(|| Address { inlet: self.inlet })
    }
}

impl<I, const SIDE: u8> Clone for Address<I, SIDE> {
    #[inline]
    fn clone(&self) -> Self {
        self.inlet().retain(Self::SIDE);
        Self { inlet: self.inlet }
    }
}

impl<I, const SIDE: u8> Drop for Address<I, SIDE> {
    #[inline]
    fn drop(&mut self) {
        let release = self.inlet().release();
        // SAFETY: this is one reference of its side, and its end; the function is the mailbox's own.
        unsafe { release(self.inlet.cast(), Self::SIDE) };
    }
}

impl<I, const SIDE: u8> fmt::Debug for Address<I, SIDE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let life = self.inlet().life();
        f.debug_struct("Actor")
            .field("id", &life.id)
            .field("name", &life.name())
            .field("queued", &self.inlet().len())
            .field("exit", &life.exit())
            .finish()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::super::{Builder, Exit, SendError};
    use super::{Inlet, Overflow};

    #[test]
    fn a_mailbox_that_was_full_and_is_closed_meanwhile_says_that_its_actor_ends() {
        let builder = Builder::new().capacity(1).overflow(Overflow::DropOldest);
        let (sender, receiver) = builder.mailbox::<u8>();
        drop(receiver);
        let refused = Inlet::<u8>::overflow(&*sender, 7);
        assert!(matches!(refused, Err(SendError::Ended(7, Exit::Stopped))));
    }
}
