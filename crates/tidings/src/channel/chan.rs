//! The channel core: one queue, two waiters' lists, one lock. All kinds are capacities of it:
//! 0 is the rendezvous, `n` bounded, `usize::MAX` unbounded.
//!
//! Invariants, whenever the lock is free.
//! I1. `queue` holds values that were sent and not received; more than `capacity` only through `post`
//!     and through values that came back.
//! I2. A receiver waits only if the queue is empty and no sender waits that could be claimed.
//! I3. A sender waits only if `queue.len() >= capacity` and no receiver waits that could be claimed.
//! I4. `closed` is set once: no more sends. Receivers take what is left, then hear of it.
//! I5. While places of the queue are granted (`quick.rs`), the channel is open, nothing is noted, the queue is not
//!     empty (so that nobody waits for a value), and as many more fit under `capacity`.
//!
//! Budget: a send or a receive is one lock (one read-modify-write; none, where one worker uses the
//! channel: `primitive/leaning.rs`); with a waiting partner that chooses, one CAS more; waking it is
//! the task's `compare_exchange` (none: `task/lean.rs`). Cloning or dropping a handle is one read-modify-write.
//! Order: values of one handle leave in the order they came in: the queue first, then waiting senders
//! in their order, whose values enter the queue at its end.

use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::task::Waker;

use super::queue::Queue;
use super::refs::{ReceiverRef, Ref, SenderRef};
use super::source::{Lists, Side, Source, hand_over, value_of};
use crate::event::offer::Waiters;
use crate::event::{Attempt, waits};
use crate::primitive::atomic::{AtomicU64, Ordering};
use crate::primitive::slab;
use crate::task::{go_on, here};

/// Senders, receivers and others that keep the memory, in one word.
///
/// All in one, because "the last sender goes" and "the memory is freed" are decisions that two
/// counters take at different moments: the last sender would close a channel that the last
/// receiver has freed. Here each side as a whole owns one `OTHER`, which its last handle gives
/// up only after it has closed: a handle that goes costs one subtraction, and the very last a look.
#[derive(Debug)]
struct Refs(AtomicU64);

// Sixteen million senders; a million receivers, as many as may wait at once (`growth/waiters`); a million weak
// handles, one in each actor of a large program.
const SENDER: u64 = 1;
const RECEIVER: u64 = 1 << 24;
const OTHER: u64 = 1 << 44;

impl Side {
    const fn unit(self) -> u64 {
        match self {
            Self::Sender => SENDER,
            Self::Receiver => RECEIVER,
            Self::Other => OTHER,
        }
    }

    const fn count(self, refs: u64) -> u64 {
        (refs / self.unit()) & self.mask()
    }

    const fn mask(self) -> u64 {
        match self {
            Self::Sender => RECEIVER / SENDER - 1,
            Self::Receiver => OTHER / RECEIVER - 1,
            Self::Other => u64::MAX / OTHER,
        }
    }

    /// So many handles are the end: as many more as there may be threads fit the word, each of which may have made
    /// one before it looks.
    const fn most(self) -> u64 {
        self.mask() - 0x3fff
    }
}

/// What all handles of one channel share. `X` lies beside the channel and lives as long as it: an
/// actor's life, or nothing.
#[derive(Debug)]
pub(crate) struct Chan<T, X = ()> {
    refs: Refs,
    source: Source<State<T>>,
    beside: X,
}

#[cfg(not(any(loom, shuttle, debug_assertions)))]
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Chan<u64>>() <= 128);

impl<T, X> Deref for Chan<T, X> {
    type Target = Source<State<T>>;
    #[inline(always)]
    fn deref(&self) -> &Self::Target {
        &self.source
    }
}

/// What the lock guards.
#[derive(Debug)]
pub(crate) struct State<T> {
    pub(super) queue: Queue<T>,
    capacity: usize,
    pub(super) receivers: Waiters,
    pub(super) senders: Waiters,
    /// Waits for the close.
    pub(super) observers: Waiters,
    /// Places that permits hold.
    pub(super) reserved: usize,
    /// Values that have left: handed to receivers, or taken out.
    pub(super) left: u64,
    pub(super) closed: bool,
    /// Somebody records communications or keeps books (`notes.rs`).
    pub(super) noted: bool,
}

impl<T> Drop for State<T> {
    fn drop(&mut self) {
        super::count_dead(self.queue.len());
    }
}

impl<T, X> Chan<T, X> {
    const CLASS: slab::Class = slab::Class::of::<Self>(slab::Kind::Channel);

    /// A channel with one sender and one receiver.
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn alloc(capacity: usize, beside: X) -> (SenderRef<T, X>, ReceiverRef<T, X>) {
        let chan = slab::alloc(Self::CLASS).cast::<Self>();
        // SAFETY: the slot is ours, large enough and aligned.
        unsafe { chan.write(Self::new(capacity, beside)) };
        // SAFETY: it was made with one reference of each side.
        unsafe { (Ref::from_raw(chan), Ref::from_raw(chan)) }
    }

    /// # Safety
    /// The caller holds the last reference and gives it up.
    unsafe fn free(chan: *const Self) {
        // SAFETY: it came from `alloc`, and nobody refers to it any more.
        unsafe {
            (*chan).source.state().note_end();
            chan.cast_mut().drop_in_place();
            slab::free(NonNull::new_unchecked(chan.cast_mut()).cast(), Self::CLASS);
        }
    }

    #[cfg_attr(debug_assertions, track_caller)]
    fn new(capacity: usize, beside: X) -> Self {
        Self {
            refs: Refs(AtomicU64::new(SENDER + RECEIVER + 2 * OTHER)),
            source: Source::new(State {
                queue: Queue::new(),
                capacity,
                receivers: Waiters::new(),
                senders: Waiters::new(),
                observers: Waiters::new(),
                reserved: 0,
                left: 0,
                closed: false,
                noted: waits::noted(),
            }),
            beside,
        }
    }

    /// What lies beside a channel, by a pointer that may go back to it ([`around`](Self::around)).
    pub(crate) fn beside_of(chan: NonNull<Self>) -> NonNull<X> {
        let offset = std::mem::offset_of!(Self, beside);
        // SAFETY: it is within the channel.
        unsafe { chan.byte_add(offset).cast() }
    }

    /// The channel that this lies beside.
    ///
    /// # Safety
    /// The pointer came from [`beside_of`](Self::beside_of).
    pub(crate) unsafe fn around(beside: NonNull<X>) -> NonNull<Self> {
        let offset = std::mem::offset_of!(Self, beside);
        // SAFETY: the caller's promise.
        unsafe { beside.byte_sub(offset).cast() }
    }

    /// What lies beside the channel.
    pub(crate) fn beside(&self) -> &X {
        &self.beside
    }

    pub(crate) fn count(&self, side: Side) -> usize {
        side.count(self.refs.0.load(Ordering::Relaxed)) as usize
    }

    /// Makes another reference. The caller holds one of `side`.
    #[inline(always)]
    pub(crate) fn add_ref(&self, side: Side) {
        // RELAXED: the caller's own reference keeps everything alive.
        let before = self.refs.0.fetch_add(side.unit(), Ordering::Relaxed);
        if side.count(before) >= side.most() {
            too_many(side);
        }
    }

    /// Makes a reference of `side` if there is one already (an upgrade).
    pub(crate) fn try_add_ref(&self, side: Side) -> bool {
        self.refs
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |refs| {
                if side.count(refs) >= side.most() {
                    too_many(side);
                }
                (side.count(refs) > 0).then(|| refs + side.unit())
            })
            .is_ok()
    }

    /// Gives up a reference; the last of its side closes that side; the last of all frees.
    ///
    /// # Safety
    /// The caller holds a reference of `side` and does not use `chan` afterwards.
    #[inline]
    pub(crate) unsafe fn release(chan: *const Self, side: Side) {
        // SAFETY: the caller's reference keeps it alive.
        let refs = unsafe { &(*chan).refs.0 };
        // The only reference goes without a read-modify-write: nobody else can make one.
        // ORD chan.refs: acquire (everybody else's use of the channel).
        if side != Side::Other && refs.load(Ordering::Acquire) == side.unit() + OTHER {
            // SAFETY: it is ours, and the side's own is, too.
            return unsafe { Self::free(chan) };
        }
        // ORD chan.refs: release (our use of the channel), acquire (everybody else's).
        let before = refs.fetch_sub(side.unit(), Ordering::AcqRel);
        let left = before - side.unit();
        if side == Side::Other {
            if left == 0 {
                // SAFETY: that was the last reference.
                unsafe { Self::free(chan) };
            }
        } else if side.count(left) == 0 {
            // SAFETY: the side's own reference is ours now.
            unsafe { Self::end_side(chan, side) };
        }
    }

    /// The last handle of a side has gone: closes it, and gives up the side's reference.
    ///
    /// # Safety
    /// The caller owns the side's `Other` reference.
    #[inline(never)]
    unsafe fn end_side(chan: *const Self, side: Side) {
        // SAFETY: the side's reference keeps it alive.
        let close = AssertUnwindSafe(|| unsafe { (*chan).close_side(side) });
        // Wakers and the drops of values may panic.
        let closed = catch_unwind(close);
        // SAFETY: as above, and this gives it up.
        unsafe { Self::release(chan, Side::Other) };
        go_on(closed);
    }

    /// Puts back a value whose receive was dropped before it looked: to the next who waits, or
    /// to the front of the queue. The receive has borrowed a receiver, so one is left.
    pub(crate) fn give_back(&self, value: T) {
        let waker = self.locked(|state| match state.receivers.claim() {
            Some(claimed) => {
                // SAFETY: the receivers' waiters are slots of this channel, locked.
                *unsafe { value_of(&claimed) } = Some(value);
                Some(claimed.commit(false))
            }
            None => {
                state.left -= 1;
                state.note_returned();
                state.queue.push_front(value);
                None
            }
        });
        if let Some(waker) = waker {
            crate::task::wake_now(waker);
        }
    }
}

/// As `Arc` does: a count that overflows would free memory in use.
#[cold]
#[inline(never)]
fn too_many(side: Side) -> ! {
    let most = side.most();
    let what = match side {
        Side::Sender => "senders or references to an actor",
        Side::Receiver => "receivers",
        Side::Other => "weak handles",
    };
    eprintln!("tidings: more than {most} {what} of one channel: the process ends here");
    std::process::abort();
}

impl<T> State<T> {
    /// Sends `value` if it can go without waiting; takes it out of the option then.
    #[inline(always)]
    pub(crate) fn try_send(&mut self, value: &mut Option<T>, attempt: &mut Attempt) -> Sent {
        self.try_send_as(value, |value| value, attempt)
    }

    /// As `try_send`, of what `wrap` makes of the value; it runs with the lock held.
    #[inline(always)]
    pub(crate) fn try_send_as<I>(
        &mut self,
        value: &mut Option<I>,
        wrap: impl FnOnce(I) -> T,
        attempt: &mut Attempt,
    ) -> Sent {
        if self.closed {
            return Sent::Closed;
        }
        if let Some(claimed) = self.receivers.claim() {
            here::gave::<T>();
            self.left += 1;
            // SAFETY: the receivers' waiters are slots of this channel, locked.
            hand_over(value, unsafe { value_of(&claimed) }, wrap);
            attempt.waker = Some(claimed.commit(false));
            self.note_sent(attempt.waker.as_ref());
            return Sent::Done;
        }
        if self.is_full() {
            return Sent::Full;
        }
        if let Some(value) = value.take() {
            here::gave::<T>();
            self.queue.push_back(wrap(value));
            self.note_sent(None);
        }
        Sent::Done
    }

    /// Its number in reports.
    #[inline(always)]
    pub(super) fn address(&self) -> usize {
        Source::number_around(self)
    }

    /// Has it no place for another value?
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.capacity == 0 || self.queue.len() + self.reserved >= self.capacity
    }

    /// Takes a place for a permit. A rendezvous channel has none to take: its permits post.
    pub(super) fn try_reserve(&mut self) -> Sent {
        if self.closed {
            return Sent::Closed;
        }
        if self.capacity > 0 {
            if self.is_full() {
                return Sent::Full;
            }
            self.reserved += 1;
            self.queue.revoke();
        }
        Sent::Done
    }

    /// Gives a permit's place up, for its value or for nothing.
    ///
    /// While it was kept, senders may have come to wait for a place and receivers for a value:
    /// now they meet, so there may be many to wake.
    pub(crate) fn unreserve(&mut self, value: &mut Option<T>, wakers: &mut Vec<Waker>) -> Sent {
        self.reserved -= usize::from(self.capacity > 0);
        if self.closed {
            return Sent::Closed;
        }
        if let Some(value) = value.take() {
            here::gave::<T>();
            self.queue.push_back(value);
            self.note_sent(None);
        }
        loop {
            let mut attempt = Attempt::default();
            if !self.queue.is_empty()
                && let Some(claimed) = self.receivers.claim()
            {
                self.left += 1;
                // SAFETY: the receivers' waiters are slots of this channel, locked.
                *unsafe { value_of(&claimed) } = self.queue.pop_front();
                attempt.waker = Some(claimed.commit(false));
                self.note_passed(attempt.waker.as_ref());
            } else {
                self.refill(&mut attempt);
            }
            match attempt.waker {
                Some(waker) => wakers.push(waker),
                None => return Sent::Done,
            }
        }
    }

    /// As `try_send`, whatever the capacity.
    #[inline]
    pub(super) fn post(&mut self, value: &mut Option<T>, attempt: &mut Attempt) -> Sent {
        self.post_as(value, |value| value, attempt)
    }

    /// As `try_send_as`, whatever the capacity.
    #[inline]
    pub(crate) fn post_as<I>(
        &mut self,
        value: &mut Option<I>,
        wrap: impl FnOnce(I) -> T,
        attempt: &mut Attempt,
    ) -> Sent {
        let capacity = std::mem::replace(&mut self.capacity, usize::MAX);
        let sent = self.try_send_as(value, wrap, attempt);
        self.capacity = capacity;
        sent
    }

    /// Receives a value if one is there.
    #[inline(always)]
    pub(crate) fn try_recv(&mut self, attempt: &mut Attempt) -> Received<T> {
        if let Some(value) = self.queue.pop_front() {
            self.left += 1;
            self.note_received(None);
            if !self.senders.is_empty() {
                self.refill(attempt);
            }
            return Received::Value(value);
        }
        // With a capacity, senders wait for places only, and their values enter by the queue.
        if self.capacity == 0
            && let Some(claimed) = self.senders.claim()
        {
            // SAFETY: the senders' waiters are slots of this channel, locked.
            let value = unsafe { value_of::<T>(&claimed) }.take();
            self.left += 1;
            attempt.waker = Some(claimed.commit(false));
            self.note_received(attempt.waker.as_ref());
            return Received::Value(value.expect("a sender waits with a value"));
        }
        if self.closed {
            Received::Closed
        } else {
            Received::Empty
        }
    }

    /// The receiver keeps so many values, which it may give back: those that it has made itself count as received.
    pub(crate) fn is_kept(&mut self, kept: usize) {
        self.left = self.left.max(kept as u64);
    }

    /// Receives up to `limit` values that are there into `into`. Gives the limit for the rest, for which `into` has no
    /// room, there is no place for another sender to wake, or which are too many for one lock; 0: that was all. What
    /// comes after nobody waited to send is not of the rest, which so has an end while others send.
    pub(super) fn take_many(
        &mut self,
        into: &mut Vec<T>,
        limit: usize,
        wakers: &mut [Option<Waker>],
    ) -> usize {
        if self.senders.is_empty() {
            let limit = limit.min(self.queue.len());
            let taken = self.queue.take(into, limit.min(Queue::<T>::AT_ONCE));
            let first = self.left + 1;
            self.left += taken as u64;
            self.note_received_each(first..=self.left);
            return limit - taken;
        }
        let room = into.capacity() - into.len();
        let most = limit.min(Queue::<T>::AT_ONCE).min(room);
        let mut places = wakers.iter_mut();
        let Some(mut place) = places.next() else {
            return limit;
        };
        for taken in 1..=most {
            let mut attempt = Attempt::default();
            let Received::Value(value) = self.try_recv(&mut attempt) else {
                return 0;
            };
            into.push(value);
            if attempt.waker.is_some() {
                *place = attempt.waker;
                match places.next() {
                    Some(next) => place = next,
                    None => return limit - taken,
                }
            }
        }
        limit - most
    }

    /// A place has become free: the first waiting sender takes it.
    #[cold]
    fn refill(&mut self, attempt: &mut Attempt) {
        if self.is_full() {
            return;
        }
        if let Some(claimed) = self.senders.claim() {
            if claimed.is_bare() {
                // It waits for a place, not with a value.
                self.reserved += 1;
                self.queue.revoke();
            } else {
                // SAFETY: the senders' waiters with values are slots of this channel, locked.
                let value = unsafe { value_of::<T>(&claimed) }.take();
                let value = value.expect("a sender waits with a value");
                self.queue.push_back(value);
                attempt.waker = Some(claimed.commit(false));
                self.note_entered(attempt.waker.as_ref());
                return;
            }
            attempt.waker = Some(claimed.commit(false));
        }
    }

    /// Takes the oldest value out of a full queue, whose place the caller fills at once.
    pub(crate) fn pop_oldest(&mut self) -> Option<T> {
        let oldest = self.queue.pop_front();
        self.left += u64::from(oldest.is_some());
        self.note_dead(usize::from(oldest.is_some()));
        oldest
    }

    /// How many values have left: received (those that came back do not count), or taken out.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// How many values have come.
    #[inline(always)]
    pub(crate) fn come(&self) -> u64 {
        self.left + self.queue.len() as u64
    }

    /// Does somebody wait for a value?
    #[inline(always)]
    pub(crate) fn is_awaited(&self) -> bool {
        !self.receivers.is_empty()
    }

    /// How many values can be taken at once, as far as it can be seen: of those who wait to send at least one.
    pub(super) fn there(&self) -> usize {
        self.queue.len() + usize::from(!self.senders.is_empty())
    }

    /// Does somebody wait to send one?
    pub(crate) fn is_offered(&self) -> bool {
        !self.senders.is_empty()
    }

    /// Ends a receiver's wait without a value.
    pub(crate) fn nudge(&mut self) -> Option<Waker> {
        let claimed = self.receivers.claim()?;
        Some(claimed.commit(true))
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// How many wait: for tests and for `Debug`.
    pub(super) fn n_waiting(&self, side: Side) -> usize {
        match side {
            Side::Sender => self.senders.len(),
            Side::Receiver => self.receivers.len(),
            Side::Other => self.observers.len(),
        }
    }
}

impl<T> Lists for State<T> {
    #[inline(always)]
    fn waiters(&mut self, side: Side) -> &mut Waiters {
        match side {
            Side::Sender => &mut self.senders,
            Side::Receiver => &mut self.receivers,
            Side::Other => &mut self.observers,
        }
    }
}

/// How a send went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Done,
    Full,
    Closed,
}

/// How a receive went.
#[derive(Debug)]
pub(crate) enum Received<T> {
    Value(T),
    Empty,
    Closed,
}
