//! The commit word of a wait, and the waiters' lists.
//!
//! A wait that finds nothing ready enrols one [`Waiter`] in the list of every source (channel,
//! cell) it waits on, all of them pointing to its one [`Offer`]. A partner that comes later
//! finds a waiter under the source's lock, and must *claim* the offer before it commits:
//!
//! ```text
//!            enrol            claim (partner, one CAS)        commit (partner)
//! IDLE ---------> WAITING ----------------------> CLAIMED ---------------> COMMITTED(branch)
//!                    |  withdraw (owner, all locks held): -> IDLE
//!                    |  a branch of our own is due (owner, all locks held): -> COMMITTED(branch)
//! ```
//! 1. A wait enrols with all its locks held (taken in address order; of a choice of two the one
//!    that is tried first, and then the other, if it is free), so nothing of it is visible while it
//!    looks for partners itself. Hence no claim ever has to be taken back, and
//!    two choices that face each other cannot wait for each other.
//! 2. Partners claim under the lock of the source they found the waiter in.
//! 3. A wait with one waiter is *exclusive*: the lock alone decides, and the claim is free.
//! 4. A waiter is unlinked by the partner that claimed it, or by its owner under the lock.
//!    So an owner that sees COMMITTED(b) knows: waiter b is unlinked, all others are linked. They may be out of their
//!    lists all the same: a partner puts out those that have committed elsewhere, and leaves it to their owner to say
//!    so (`linked`). So each is passed over once, however many leave at a time.
//! 5. COMMITTED is stored last; the partner touches nothing of the wait after it. The waker
//!    travels out before, and is woken after the locks are released.
//!
//! Cost: a commit with a waiting partner is one CAS, none if the partner is exclusive.
//! Source: Go's select (lock all, in order) with the claim of Reppy's CML and Hopac's Pick;
//! Reppy, Russo, Xiao 2009 have the claim/retry protocol this avoids.

use std::mem::MaybeUninit;
use std::ptr;
use std::task::Waker;

use crate::primitive::UnsafeCell;
use crate::primitive::atomic::{AtomicU32, Ordering};

const IDLE: u32 = 0;
const WAITING: u32 = 1;
const CLAIMED: u32 = 2;
const COMMITTED: u32 = 3;

/// The commit word of one wait, and whom to wake.
#[derive(Debug)]
pub(crate) struct Offer {
    /// There from the first `open` on: most waits are over before they begin, and need not store that they are idle.
    state: MaybeUninit<AtomicU32>,
    /// There while WAITING or CLAIMED: the owner's (all locks held) while WAITING, the
    /// partner's once CLAIMED.
    waker: UnsafeCell<MaybeUninit<Waker>>,
}

/// What an owner finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Waiting,
    /// A partner is committing at this moment, and will wake the owner.
    Claimed,
    /// This branch happened.
    Committed(u32),
}

impl Offer {
    pub(crate) fn new() -> Self {
        Self {
            state: MaybeUninit::uninit(),
            waker: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Owner, all locks held.
    #[inline]
    pub(crate) fn open(&mut self, waker: Waker) {
        // SAFETY: nobody else knows of an idle offer.
        self.waker.with_mut(|slot| unsafe { (*slot).write(waker) });
        // Partners find the offer through a lock that we hold.
        self.state.write(AtomicU32::new(WAITING));
    }

    #[inline(always)]
    fn state(&self) -> &AtomicU32 {
        // SAFETY: an offer is asked for it by who has opened it, and by partners, who find it open.
        unsafe { self.state.assume_init_ref() }
    }

    /// Owner, at any time: as `look`, of the most usual outcome.
    #[inline(always)]
    pub(crate) fn committed(&self) -> Option<u32> {
        // ORD offer.state: acquire; pairs with commit.
        self.state().load(Ordering::Acquire).checked_sub(COMMITTED)
    }

    /// Owner, at any time.
    #[inline]
    pub(crate) fn look(&self) -> Outcome {
        // ORD offer.state: acquire; pairs with commit.
        match self.state().load(Ordering::Acquire) {
            WAITING => Outcome::Waiting,
            CLAIMED => Outcome::Claimed,
            IDLE => unreachable!("an idle offer is not looked at"),
            committed => Outcome::Committed(committed - COMMITTED),
        }
    }

    /// Owner, at any time after `open`: is `waker` the one that will be, or was, woken?
    pub(crate) fn has_waker(&self, waker: &Waker) -> bool {
        self.waker.with(|slot| {
            // SAFETY: `open` wrote it, and only the owner writes it again; a partner that takes
            // the waker away leaves the bits, of which nothing but the address is looked at.
            let known = unsafe { (*slot).assume_init_ref() };
            known.data() == waker.data() && ptr::eq(known.vtable(), waker.vtable())
        })
    }

    /// Owner, all locks held, while WAITING: exchanges the waker.
    pub(crate) fn rewake(&self, waker: Waker) -> Waker {
        self.waker.with_mut(|slot| {
            // SAFETY: WAITING, so the waker is there; claims happen under one of the locks we
            // hold, so it is ours.
            let slot = unsafe { (*slot).assume_init_mut() };
            std::mem::replace(slot, waker)
        })
    }

    /// Owner, all locks held, while WAITING: a branch of its own has come due, or the wait is
    /// over (`None`). Gives the waker back, to be dropped without locks.
    pub(crate) fn close(&self, branch: Option<u32>) -> Waker {
        let state = branch.map_or(IDLE, |branch| COMMITTED + branch);
        // RELAXED: the owner alone reads it from now on.
        self.state().store(state, Ordering::Relaxed);
        // SAFETY: it was WAITING, so the waker is there; claims happen under one of the locks we
        // hold, so it is ours. Nobody reads it again in the state just stored.
        self.waker
            .with_mut(|slot| unsafe { (*slot).assume_init_read() })
    }

    /// Partner, with the lock of the source in which it found the waiter.
    #[inline]
    fn claim(&self) -> bool {
        // ORD offer.state: acquire; the wait was published by the lock.
        self.state()
            .compare_exchange(WAITING, CLAIMED, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Partner, after the claim and after the value has been moved. Gives the waker.
    #[inline]
    fn commit(&self, branch: u32) -> Waker {
        // SAFETY: it was WAITING, so the waker is there; the claim gave it to us (or, exclusive,
        // the lock did). Nobody reads it again in the state stored below.
        let waker = self
            .waker
            .with(|slot| unsafe { (*slot).assume_init_read() });
        // ORD offer.state: release (value and outcome); pairs with look.
        self.state().store(COMMITTED + branch, Ordering::Release);
        waker
    }
}

/// One branch of a wait, in the list of the source it waits on.
///
/// Every field is guarded by the source's lock, but for what rule 4 gives the owner.
#[derive(Debug)]
pub(crate) struct Waiter {
    /// Written when it is linked.
    links: MaybeUninit<Links>,
    branch: u32,
    exclusive: bool,
    linked: bool,
    /// It waits for a place, and has no value beside it.
    bare: bool,
    /// The partner closed the source instead of completing the operation.
    pub(crate) closed: bool,
    /// The slot: a cell of loom's does not begin with what it holds.
    #[cfg(loom)]
    pub(crate) slot: *mut (),
}

#[derive(Clone, Copy, Debug)]
struct Links {
    prev: *mut Waiter,
    next: *mut Waiter,
    offer: *const Offer,
}

impl Waiter {
    /// `bare`: a waiter for a place.
    #[inline(always)]
    pub(crate) fn new(bare: bool) -> Self {
        let mut waiter = MaybeUninit::<Self>::uninit();
        let at = waiter.as_mut_ptr();
        // SAFETY: all fields are written, but for `links`, which need not be. Written as one value they
        // would be, too, with zeros: every wait would pay for it, and most are over before they begin.
        unsafe {
            ptr::addr_of_mut!((*at).branch).write(0);
            ptr::addr_of_mut!((*at).exclusive).write(false);
            ptr::addr_of_mut!((*at).linked).write(false);
            ptr::addr_of_mut!((*at).bare).write(bare);
            ptr::addr_of_mut!((*at).closed).write(false);
            #[cfg(loom)]
            ptr::addr_of_mut!((*at).slot).write(ptr::null_mut());
            waiter.assume_init()
        }
    }

    /// With zeros for its links, for events that a `choose` has many of: where the links are left open the compiler puts
    /// each event together on the stack and copies it over the bounds of what it has just written, which stalls (4 ns).
    #[inline(always)]
    pub(crate) fn whole() -> Self {
        Self {
            links: MaybeUninit::zeroed(),
            branch: 0,
            exclusive: false,
            linked: false,
            bare: false,
            closed: false,
            #[cfg(loom)]
            slot: ptr::null_mut(),
        }
    }

    /// # Safety
    /// The waiter is linked, or has been.
    #[inline(always)]
    unsafe fn links(&mut self) -> &mut Links {
        // SAFETY: the caller's promise: push wrote them.
        unsafe { self.links.assume_init_mut() }
    }

    /// Rule 4: the owner may read it without the lock once it has seen COMMITTED.
    #[inline]
    pub(crate) fn is_linked(&self) -> bool {
        self.linked
    }
}

/// The waiters of one side of a source, first come first served. Guarded by the source's lock.
///
/// One word, so that a channel, which has three of these, lies in two cache lines. The last waiter has no
/// `next`; where `prev` would be, the first has the last.
#[derive(Debug)]
pub(crate) struct Waiters {
    head: *mut Waiter,
}

impl Waiters {
    pub(crate) const fn new() -> Self {
        Self {
            head: ptr::null_mut(),
        }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.head.is_null()
    }

    /// Enrols a waiter at the end.
    ///
    /// # Safety
    /// The source's lock is held. `waiter` and the enrolment's offer stay where they are until
    /// the waiter is unlinked. `waiter` is not linked.
    #[inline]
    pub(crate) unsafe fn push(&mut self, waiter: *mut Waiter, enrol: &mut super::Enrol<'_>) {
        // SAFETY: the waiter is the caller's (its promise); the others are linked, hence alive.
        unsafe {
            let prev = if self.head.is_null() {
                self.head = waiter;
                waiter
            } else {
                let last = std::mem::replace(&mut (*self.head).links().prev, waiter);
                (*last).links().next = waiter;
                last
            };
            (*waiter).links.write(Links {
                prev,
                next: ptr::null_mut(),
                offer: enrol.offer,
            });
            (*waiter).branch = enrol.next_branch();
            (*waiter).exclusive = enrol.exclusive;
            (*waiter).linked = true;
            (*waiter).closed = false;
        }
    }

    /// Unlinks a waiter, if it is linked; `true` if it was.
    ///
    /// # Safety
    /// The source's lock is held, and the waiter belongs to this list.
    #[inline]
    pub(crate) unsafe fn remove(&mut self, waiter: *mut Waiter) -> bool {
        // SAFETY: linked waiters are alive (the promise of push), and the lock guards them.
        unsafe {
            if !(*waiter).linked {
                return false;
            }
            (*waiter).linked = false;
            if (*waiter).links().next != waiter {
                self.take_out(waiter);
            }
        }
        true
    }

    /// Puts out a waiter that has committed elsewhere, so that nobody passes over it again. It stays linked for its owner.
    ///
    /// # Safety
    /// The waiter is in this list.
    unsafe fn put_out(&mut self, waiter: *mut Waiter) {
        // SAFETY: the caller's promise; `next` leads to itself from now on, which no waiter's in a list does.
        unsafe {
            self.take_out(waiter);
            (*waiter).links().next = waiter;
        }
    }

    /// # Safety
    /// The waiter is in this list.
    #[inline]
    unsafe fn take_out(&mut self, waiter: *mut Waiter) {
        // SAFETY: linked waiters are alive (the promise of push), and the lock guards them.
        unsafe {
            let Links { prev, next, .. } = *(*waiter).links();
            if self.head == waiter {
                self.head = next;
            } else {
                (*prev).links().next = next;
            }
            let behind = if next.is_null() { self.head } else { next };
            if !behind.is_null() {
                (*behind).links().prev = prev;
            }
        }
    }

    /// Claims the first waiter that can be claimed, and unlinks it. Others are passed over and put out: they have
    /// committed elsewhere.
    #[inline(always)]
    pub(crate) fn claim(&mut self) -> Option<Claimed> {
        if self.head.is_null() {
            None
        } else {
            self.claim_some()
        }
    }

    #[inline]
    fn claim_some(&mut self) -> Option<Claimed> {
        let mut at = self.head;
        while !at.is_null() {
            // SAFETY: linked waiters are alive, and the lock guards them.
            let (exclusive, links) = unsafe { ((*at).exclusive, *(*at).links()) };
            // SAFETY: so are their offers.
            if exclusive || unsafe { &*links.offer }.claim() {
                // SAFETY: it is in this list, whose lock is held.
                unsafe { self.remove(at) };
                return Some(Claimed { waiter: at });
            }
            // SAFETY: as above.
            unsafe { self.put_out(at) };
            at = links.next;
        }
        None
    }

    /// As [`claim`](Self::claim), of those that `judge` takes. It does not get to see those that
    /// have committed elsewhere: they hold nobody up.
    #[inline]
    pub(crate) fn claim_if(
        &mut self,
        mut judge: impl FnMut(*mut Waiter) -> Judge,
    ) -> Option<Claimed> {
        let mut at = self.head;
        while !at.is_null() {
            // SAFETY: linked waiters are alive, and the lock guards them.
            let (exclusive, links) = unsafe { ((*at).exclusive, *(*at).links()) };
            // SAFETY: so are their offers.
            let offer = unsafe { &*links.offer };
            if exclusive || offer.look() == Outcome::Waiting {
                match judge(at) {
                    Judge::Stop => return None,
                    Judge::Skip => {}
                    Judge::Take if exclusive || offer.claim() => {
                        // SAFETY: it is in this list, whose lock is held.
                        unsafe { self.remove(at) };
                        return Some(Claimed { waiter: at });
                    }
                    Judge::Take => {}
                }
            } else {
                // SAFETY: it is in this list, whose lock is held.
                unsafe { self.put_out(at) };
            }
            at = links.next;
        }
        None
    }

    /// How many wait, or have committed elsewhere and were not passed over yet.
    pub(crate) fn len(&self) -> usize {
        let mut n = 0;
        let mut at = self.head;
        while !at.is_null() {
            n += 1;
            // SAFETY: linked waiters are alive, and the lock guards them.
            at = unsafe { (*at).links().next };
        }
        n
    }
}

/// What to do with a waiter that is found in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judge {
    /// Claim it, if it has not committed elsewhere.
    Take,
    /// Leave it where it is and look at the next.
    Skip,
    /// Leave it and all behind it.
    Stop,
}

/// A waiter whose offer the holder has claimed; it must commit it before it unlocks.
#[derive(Debug)]
#[must_use]
pub(crate) struct Claimed {
    waiter: *mut Waiter,
}

impl Claimed {
    /// The claimed waiter, to reach the value beside it.
    #[inline(always)]
    pub(crate) fn waiter(&self) -> *mut Waiter {
        self.waiter
    }

    /// Does it wait for a place, without a value?
    #[inline(always)]
    pub(crate) fn is_bare(&self) -> bool {
        // SAFETY: a claimed waiter is alive, and nobody writes this field.
        unsafe { (*self.waiter).bare }
    }

    /// Commits, as completed or as closed. Gives the waker, to be woken without locks.
    #[inline]
    pub(crate) fn commit(self, closed: bool) -> Waker {
        // SAFETY: a claimed waiter and its offer stay alive until the offer is committed.
        unsafe {
            (*self.waiter).closed = closed;
            let offer = &*(*self.waiter).links().offer;
            offer.commit((*self.waiter).branch)
        }
    }
}
