//! The roll: every live actor of the process, for those who look at all of them (`inspect`).
//!
//! An actor enters when it is made and leaves at its end: an uncontended lock of one of many shards
//! each time, nothing in between. A shard is a list whose links lie in the actors ([`Place`]), so
//! that the roll takes nothing beside them; each is counted as a weak reference, and looked at under
//! the shard's lock.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

use super::end;
use super::life::Life;
use super::parcel::Parcel;
use crate::channel::chan::Chan;
use crate::channel::refs::{Ref, WeakRef};
use crate::channel::source::Side;
use crate::primitive::{Mutex, UnsafeCell, lock};

const SHARDS: usize = 64;

/// What everybody may see of an actor.
pub(super) trait Peer: Send + Sync {
    fn life(&self) -> &Life;
    fn counts(&self) -> Counts;
    /// As `end::forsake`.
    fn forsake(&self);
    fn retain(&self);
    /// What gives up an entry's reference: apart, because it may end what a `&self` borrows.
    fn release(&self) -> unsafe fn(NonNull<()>);
}

/// The state of a mailbox.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub(super) queued: usize,
    /// How many of these have left the channel, and lie beside it.
    pub(super) kept: usize,
    pub(super) capacity: usize,
    /// Messages that have left its channel: received, kept beside it, or dropped.
    pub(super) left: u64,
    /// The actor waits for a message.
    pub(super) awaited: bool,
}

impl<M: Send + 'static> Peer for Chan<Parcel<M>, Life> {
    fn life(&self) -> &Life {
        self.beside()
    }

    fn counts(&self) -> Counts {
        let kept = self.beside().kept();
        self.locked(|state| Counts {
            queued: kept + state.len(),
            kept,
            capacity: state.capacity(),
            left: state.left(),
            awaited: state.is_awaited(),
        })
    }

    fn forsake(&self) {
        end::forsake(self);
    }

    fn retain(&self) {
        self.add_ref(Side::Other);
    }

    fn release(&self) -> unsafe fn(NonNull<()>) {
        |chan| {
            // SAFETY: the caller's promise (`Entry`), and it is such a channel.
            unsafe { Self::release(chan.cast().as_ptr(), Side::Other) }
        }
    }
}

/// A counted weak reference whose message type is not known any more: one of the side `Other`.
pub(super) struct Entry(NonNull<dyn Peer>);

// SAFETY: what it refers to is `Send` and `Sync`.
unsafe impl Send for Entry {}

impl Entry {
    pub(super) fn new<M: Send + 'static>(actor: WeakRef<Parcel<M>, Life>) -> Self {
        Self(Ref::into_raw(actor))
    }

    pub(super) fn peer(&self) -> &dyn Peer {
        // SAFETY: the reference is counted, which keeps the mailbox.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for Entry {
    fn clone(&self) -> Self {
        self.peer().retain();
        Self(self.0)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let release = self.peer().release();
        // SAFETY: this is one reference, and its end; the function is the mailbox's own.
        unsafe { release(self.0.cast()) };
    }
}

/// What an actor has for the roll. Guarded by its shard's lock.
pub(super) struct Place(UnsafeCell<Links>);

struct Links {
    before: *const Life,
    after: *const Life,
    /// Makes the entry of the actor with this life; `None` while it is not in the roll.
    entry: Option<unsafe fn(NonNull<Life>) -> Entry>,
}

// SAFETY: it is touched under the shard's lock only.
unsafe impl Send for Place {}
// SAFETY: as above.
unsafe impl Sync for Place {}

impl Place {
    pub(super) fn new() -> Self {
        Self(UnsafeCell::new(Links {
            before: ptr::null(),
            after: ptr::null(),
            entry: None,
        }))
    }

    /// # Safety
    /// The shard of the place is locked, and no other reference from here is alive.
    #[expect(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
    unsafe fn links(&self) -> &mut Links {
        // SAFETY: the caller's promise.
        self.0.with_mut(|links| unsafe { &mut *links })
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Place")
    }
}

/// The first of a shard's list.
struct First(*const Life);

// SAFETY: those in the list are kept by the list.
unsafe impl Send for First {}

static ROLL: [Mutex<First>; SHARDS] = [const { Mutex::new(First(ptr::null())) }; SHARDS];

fn shard(id: u64) -> &'static Mutex<First> {
    // The remainder is below 64.
    &ROLL[(id % SHARDS as u64) as usize]
}

/// The entry of an actor in the roll, whose reference the list has.
///
/// # Safety
/// It is the life of a `Chan<Parcel<M>, Life>`, by a pointer that may go back to it.
unsafe fn entry_of<M: Send + 'static>(life: NonNull<Life>) -> Entry {
    // SAFETY: the caller's promise.
    Entry(unsafe { Chan::<Parcel<M>, Life>::around(life) })
}

/// Enters an actor.
pub(super) fn enter<M: Send + 'static>(actor: WeakRef<Parcel<M>, Life>) {
    let id = actor.beside().id;
    let life = Chan::beside_of(Ref::into_raw(actor));
    let mut first = lock(shard(id));
    // SAFETY: the list has a reference from here on; the lock of this shard is held, in which are
    // both lives.
    unsafe {
        *life.as_ref().roll.links() = Links {
            before: ptr::null(),
            after: first.0,
            entry: Some(entry_of::<M>),
        };
        if let Some(next) = first.0.as_ref() {
            next.roll.links().before = life.as_ptr();
        }
    }
    first.0 = life.as_ptr();
}

/// Takes an actor out; not for the first time perhaps.
pub(super) fn leave(life: &Life) {
    let entry = {
        let mut first = lock(shard(life.id));
        // SAFETY: the lock is held, and its list keeps those next to it; one at a time.
        unsafe {
            let Links {
                before,
                after,
                entry,
            } = *life.roll.links();
            let Some(entry) = entry else {
                return;
            };
            life.roll.links().entry = None;
            // As the list knows it: by a pointer that may go back to its mailbox.
            let this = match before.as_ref() {
                None => std::mem::replace(&mut first.0, after),
                Some(before) => std::mem::replace(&mut before.roll.links().after, after),
            };
            if let Some(after) = after.as_ref() {
                after.roll.links().before = before;
            }
            entry(NonNull::new_unchecked(this.cast_mut()))
        }
    };
    // Not under the lock: it may free the mailbox.
    drop(entry);
}

/// The actor with this life, whatever its messages are, unless it has ended.
pub(super) fn find(life: &Life) -> Option<Entry> {
    let first = lock(shard(life.id));
    // SAFETY: the lock is held, and its list keeps those next to it and this one; the entry of the list is another.
    unsafe {
        let Links { before, entry, .. } = *life.roll.links();
        let entry = entry?;
        let this = match before.as_ref() {
            None => first.0,
            Some(before) => before.roll.links().after,
        };
        let of_the_list = ManuallyDrop::new(entry(NonNull::new_unchecked(this.cast_mut())));
        Some(Entry::clone(&of_the_list))
    }
}

/// Looks at every actor, a shard at a time. `f` runs under a lock: it looks, and no more.
pub(super) fn each(mut f: impl FnMut(&dyn Peer)) {
    for shard in &ROLL {
        let first = lock(shard);
        let mut next = NonNull::new(first.0.cast_mut());
        while let Some(life) = next {
            // SAFETY: the list, whose lock is held, keeps it; the entry is the list's.
            unsafe {
                let Links { after, entry, .. } = *life.as_ref().roll.links();
                if let Some(entry) = entry {
                    f(ManuallyDrop::new(entry(life)).peer());
                }
                next = NonNull::new(after.cast_mut());
            }
        }
    }
}
