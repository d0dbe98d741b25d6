//! What every channel and cell is made of: a lock, a state with waiters' lists, and slots, in
//! which a waiter and its value wait together.

use std::marker::PhantomPinned;
#[cfg(loom)]
use std::mem;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::ptr::{self, NonNull};

use crate::event::offer::{Claimed, Waiter, Waiters};
use crate::event::{Attempt, Enrol, Lock};
use crate::primitive::UnsafeCell;

/// The sides of a channel: who refers to it, and who waits in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Sender,
    Receiver,
    /// Weak handles, and each side as a whole; those who wait for the close.
    Other,
}

/// A state that has waiters.
pub(crate) trait Lists {
    /// Those who wait on this side.
    fn waiters(&mut self, side: Side) -> &mut Waiters;
}

/// A state behind the lock that choices know.
#[derive(Debug)]
pub(crate) struct Source<S> {
    pub(crate) lock: Lock,
    state: UnsafeCell<S>,
}

// SAFETY: the state is touched under the lock only, by one thread at a time. What its waiters
// point to is guarded by the same lock.
unsafe impl<S> Send for Source<S> {}
// SAFETY: as above. The handles of each source ask that its values may be sent.
unsafe impl<S> Sync for Source<S> {}
// No user's code runs under the lock, so a panic of one leaves the state whole.
impl<S> RefUnwindSafe for Source<S> {}
impl<S> UnwindSafe for Source<S> {}

impl<S> Source<S> {
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn new(state: S) -> Self {
        Self {
            lock: Lock::new(),
            state: UnsafeCell::new(state),
        }
    }

    /// Makes one in its place. `fill` writes the state there, field by field: moved there as a whole, a state with parts
    /// that nothing is written to yet is copied in pieces that overlap what was just written, which stalls.
    ///
    /// # Safety
    /// The place may be written, and `fill` writes all that its state consists of.
    #[inline(always)]
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) unsafe fn make(place: NonNull<Self>, fill: impl FnOnce(*mut S)) {
        let source = place.as_ptr();
        // SAFETY: the caller's promise.
        unsafe {
            ptr::addr_of_mut!((*source).lock).write(Lock::new());
            #[cfg(not(loom))]
            fill(UnsafeCell::raw_get(ptr::addr_of!((*source).state)));
            // A cell of loom's does not begin with what it holds.
            #[cfg(loom)]
            {
                let mut state = mem::MaybeUninit::uninit();
                fill(state.as_mut_ptr());
                ptr::addr_of_mut!((*source).state).write(UnsafeCell::new(state.assume_init()));
            }
        }
    }

    /// # Safety
    /// The lock is held, and no other reference from here is alive.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
    pub(crate) unsafe fn state(&self) -> &mut S {
        // SAFETY: the caller's promise.
        self.state.with_mut(|state| unsafe { &mut *state })
    }

    /// Locks, runs `f` (which runs no user code), unlocks.
    #[inline(always)]
    pub(crate) fn locked<R>(&self, f: impl FnOnce(&mut S) -> R) -> R {
        self.lock.lock();
        // SAFETY: the lock is held until after `f`.
        let result = f(unsafe { self.state() });
        self.lock.unlock();
        result
    }

    /// Its number in reports: it stays where it is.
    pub(crate) fn number(&self) -> usize {
        ptr::from_ref(&self.lock).addr()
    }

    /// That of the source around a state.
    pub(crate) fn number_around(state: &S) -> usize {
        let source = ptr::from_ref(state).addr() - std::mem::offset_of!(Self, state);
        source + std::mem::offset_of!(Self, lock)
    }

    /// As `attempt`, for `Protocol::quick`, which is called with the lock of the event held.
    #[inline(always)]
    pub(crate) fn quick<R>(&self, f: impl FnOnce(&mut S) -> R) -> R {
        // SAFETY: the lock is held.
        f(unsafe { self.state() })
    }

    /// Runs `f` (which runs no user code and does not come back here) for the attempt of an
    /// event that waits on this source.
    #[inline(always)]
    pub(crate) fn attempt<R>(
        &self,
        attempt: &mut Attempt,
        f: impl FnOnce(&mut S, &mut Attempt) -> R,
    ) -> R {
        // SAFETY: `Protocol::attempt` is handed its `Attempt` with all locks of the event held, this
        // one among them (`slot_methods!`), and lends it to us for as long as `f` runs.
        f(unsafe { self.state() }, attempt)
    }
}

#[cfg(loom)]
impl<S> Drop for Source<S> {
    fn drop(&mut self) {
        crate::primitive::freed(&self.state);
    }
}

impl<S: Lists> Source<S> {
    /// # Safety
    /// The lock is held; the slot is not linked, and is withdrawn or committed before it goes.
    #[inline(always)]
    pub(crate) unsafe fn enrol<T>(
        &self,
        side: Side,
        slot: Pin<&mut Slot<T>>,
        enrol: &mut Enrol<'_>,
    ) {
        // SAFETY: the waiter is not moved.
        let slot = unsafe { slot.get_unchecked_mut() };
        #[cfg(loom)]
        let at = std::ptr::from_mut(slot).cast();
        let waiter = slot.waiter.with_mut(|waiter| waiter);
        #[cfg(loom)]
        // SAFETY: the waiter is the caller's until it is enrolled.
        unsafe {
            (*waiter).slot = at;
        }
        // SAFETY: the caller's promise.
        unsafe { self.state().waiters(side).push(waiter, enrol) };
    }

    /// Unlinks a slot that its partner has not unlinked. `locked`: the caller holds the lock.
    ///
    /// # Safety
    /// The slot waits on this side, or not at all.
    #[inline(always)]
    pub(crate) unsafe fn withdraw<T>(&self, side: Side, slot: Pin<&mut Slot<T>>, locked: bool) {
        // SAFETY: the waiter is not moved.
        let slot = unsafe { slot.get_unchecked_mut() };
        if !slot.is_linked() {
            return;
        }
        let waiter = slot.waiter.with_mut(|waiter| waiter);
        if locked {
            // SAFETY: the caller's promise.
            unsafe { self.state().waiters(side).remove(waiter) };
        } else {
            // SAFETY: the caller's promise; `locked` holds the lock.
            self.locked(|state| unsafe { state.waiters(side).remove(waiter) });
        }
    }
}

/// Hands what `wrap` makes of the value, where there is one, to a waiter that has none. It is moved as it is: what
/// [`Option::take`] gives is both looked at and moved, and so a compiler may move the tag by itself and the rest, 15
/// bytes of an enum of small fields, in pieces that overlap, for which whoever reads them next waits (`cargo x stalls`).
/// A word has no such pieces.
#[inline(always)]
pub(crate) fn hand_over<I, T>(from: &mut Option<I>, to: &mut Option<T>, wrap: impl FnOnce(I) -> T) {
    if size_of::<I>() <= size_of::<usize>() {
        *to = from.take().map(wrap);
        return;
    }
    let Some(value) = from else {
        return;
    };
    // SAFETY: the value is moved out of its place, where there is none from then on. In the other one is nothing to drop.
    unsafe {
        let value = ptr::from_mut(value).read();
        ptr::from_mut(from).write(None);
        ptr::from_mut(to).write(Some(wrap(value)));
    }
}

/// A waiter with the place of its value: what a sender offers, what a receiver gets.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Slot<T> {
    /// First, so that a pointer to the waiter is a pointer to the slot.
    waiter: UnsafeCell<Waiter>,
    value: UnsafeCell<Option<T>>,
    /// While it is linked others write to it: a `&mut` to it, or to an event around it, must not
    /// count as the only way there.
    _pinned: PhantomPinned,
}

// SAFETY: a slot is touched by its owner, or under the lock of its channel by a partner that
// takes or puts a `T`.
unsafe impl<T: Send> Send for Slot<T> {}

impl<T> Slot<T> {
    #[inline(always)]
    pub(crate) fn new(value: Option<T>) -> Self {
        Self {
            waiter: UnsafeCell::new(Waiter::new(false)),
            value: UnsafeCell::new(value),
            _pinned: PhantomPinned,
        }
    }

    /// An empty one, as [`Waiter::whole`].
    #[inline(always)]
    pub(crate) fn whole() -> Self {
        Self {
            waiter: UnsafeCell::new(Waiter::whole()),
            ..Self::new(None)
        }
    }

    /// The owner's, while the slot is not linked.
    #[inline(always)]
    pub(crate) fn value(&mut self) -> &mut Option<T> {
        // SAFETY: `&mut self`, and no partner knows of an unlinked slot.
        self.value.with_mut(|value| unsafe { &mut *value })
    }

    /// The value, seen by a partner that does not claim it.
    ///
    /// # Safety
    /// The slot is linked and the lock of its source is held.
    #[inline(always)]
    pub(crate) unsafe fn peek(&self) -> Option<T>
    where
        T: Copy,
    {
        // SAFETY: the owner writes it only while it is not linked, partners under the lock.
        self.value.with(|value| unsafe { *value })
    }

    /// The owner's, once its branch has committed: did the partner close the channel?
    #[inline(always)]
    pub(crate) fn is_closed(&self) -> bool {
        // SAFETY: the commit handed the waiter back to its owner.
        self.waiter.with(|waiter| unsafe { (*waiter).closed })
    }

    /// The owner's, by offer.rs rule 4.
    #[inline(always)]
    pub(crate) fn is_linked(&self) -> bool {
        // SAFETY: only the owner or the partner that commits this branch writes it.
        self.waiter.with(|waiter| unsafe { (*waiter).is_linked() })
    }

    /// Marks a branch that its owner found closed by itself.
    #[inline(always)]
    pub(crate) fn set_closed(&mut self, closed: bool) {
        // SAFETY: `&mut self`, and no partner knows of an unlinked slot.
        self.waiter
            .with_mut(|waiter| unsafe { (*waiter).closed = closed });
    }

    /// As [`value`](Self::value), of a slot in a pinned event.
    #[inline(always)]
    pub(crate) fn place(self: Pin<&mut Self>) -> &mut Option<T> {
        // SAFETY: the waiter is not moved, and the value is not structurally pinned.
        unsafe { self.get_unchecked_mut() }.value()
    }

    /// As [`set_closed`](Self::set_closed), of a slot in a pinned event.
    #[inline(always)]
    pub(crate) fn found_closed(self: Pin<&mut Self>, closed: bool) {
        // SAFETY: the waiter is not moved.
        unsafe { self.get_unchecked_mut() }.set_closed(closed);
    }
}

impl<T> Slot<T> {
    /// A slot that waits for a place in a channel of whatever values: what it has beside is its owner's alone.
    #[inline(always)]
    pub(crate) fn bare() -> Self {
        Self {
            waiter: UnsafeCell::new(Waiter::new(true)),
            ..Self::new(None)
        }
    }
}

/// The value of a claimed waiter.
///
/// # Safety
/// The claim is of a waiter in a `Slot<T>`, and the lock of its channel is held.
#[inline(always)]
pub(crate) unsafe fn value_of<'a, T>(claimed: &Claimed) -> &'a mut Option<T> {
    // SAFETY: a claimed waiter is alive.
    let slot = unsafe { slot_of::<T>(claimed.waiter()) };
    // SAFETY: the caller's promise; a claimed slot is the claimer's until it commits.
    unsafe { (*slot).value.with_mut(|value| &mut *value) }
}

/// The slot around a waiter.
///
/// # Safety
/// The waiter is in a `Slot<T>`, and alive.
#[inline(always)]
pub(crate) unsafe fn slot_of<T>(waiter: *mut Waiter) -> *mut Slot<T> {
    #[cfg(not(loom))]
    return waiter.cast();
    #[cfg(loom)]
    // SAFETY: the caller's promise.
    unsafe {
        (*waiter).slot.cast()
    }
}

/// The methods of `Protocol` that all operations on a source share: one leaf, which waits in the
/// list of its side with its `slot`. The event's field `$handle` has a method `chan`, the source.
macro_rules! slot_methods {
    ($side:expr, $($handle:tt)+) => {
        const SHORT: bool = true;
        const TRACELESS: bool = true;
        #[inline(always)]
        fn single(&self) -> Option<&crate::event::Lock> {
            Some(&self.$($handle)+.chan().lock)
        }
        #[inline(always)]
        fn enrol(self: Pin<&mut Self>, enrol: &mut crate::event::Enrol<'_>) {
            // SAFETY: the slot stays pinned with the event.
            let this = unsafe { self.get_unchecked_mut() };
            // SAFETY: as above.
            let slot = unsafe { Pin::new_unchecked(&mut this.slot) };
            // SAFETY: the caller holds the lock; the slot was not linked, and is withdrawn or
            // committed before the event ends.
            unsafe { this.$($handle)+.chan().enrol($side, slot, enrol) };
        }
        #[inline(always)]
        fn withdraw(self: Pin<&mut Self>, winner: Option<u32>, locked: bool) {
            if winner.is_some() {
                return;
            }
            // SAFETY: the slot stays pinned with the event.
            let this = unsafe { self.get_unchecked_mut() };
            // SAFETY: as above.
            let slot = unsafe { Pin::new_unchecked(&mut this.slot) };
            // SAFETY: the slot waits on this side, or not at all.
            unsafe { this.$($handle)+.chan().withdraw($side, slot, locked) };
        }
    };
}
pub(crate) use slot_methods;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::hand_over;
    use crate::primitive::Arc;

    /// Of a word, and of more.
    fn goes_over_once<T>(make: impl Fn(Arc<()>) -> T) {
        let alive = Arc::new(());
        let (mut from, mut to) = (Some(make(alive.clone())), None);
        hand_over(&mut from, &mut to, |value| (7_u8, value));
        assert!(from.is_none() && to.as_ref().is_some_and(|(wrapped, _)| *wrapped == 7));
        assert_eq!(Arc::strong_count(&alive), 2);
        drop(to);
        assert_eq!(Arc::strong_count(&alive), 1);
        let mut nothing = None;
        hand_over(&mut None, &mut nothing, |value: T| value);
        assert!(nothing.is_none());
    }

    #[test]
    fn what_is_handed_to_a_waiter_is_there_once_and_what_is_not_there_is_not() {
        goes_over_once(|alive| alive);
        goes_over_once(|alive| (1_u64, alive));
        goes_over_once(|alive| Ok::<_, u8>((1_u8, alive)));
    }
}
