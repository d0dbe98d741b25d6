//! The roll: every live actor of the process, for those who look at all of them (`inspect`) or who
//! know one by its number (`cycle.rs`).
//!
//! An actor enters when it starts and leaves at its end: an uncontended lock of one of many shards
//! each time, nothing in between. An entry is a counted weak reference whose message type is not
//! known any more; it is looked at under the shard's lock, and goes before what it refers to.

use std::ptr::NonNull;

use super::life::Life;
use crate::channel::chan::Chan;
use crate::channel::refs::{Ref, WeakRef};
use crate::channel::source::Side;
use crate::primitive::{Mutex, lock};

const SHARDS: usize = 64;

/// What everybody may see of an actor.
pub(super) trait Peer: Send + Sync {
    fn life(&self) -> &Life;
    fn counts(&self) -> Counts;
    /// What gives up an entry's reference: apart, because it may end what a `&self` borrows.
    fn release(&self) -> unsafe fn(NonNull<()>);
}

/// The state of a mailbox.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub(super) queued: usize,
    pub(super) capacity: usize,
    /// Messages that have left it: received, or dropped as the oldest of a full one.
    pub(super) left: u64,
    /// The actor waits for a message.
    pub(super) awaited: bool,
}

impl<M: Send + 'static> Peer for Chan<M, Life> {
    fn life(&self) -> &Life {
        self.beside()
    }

    fn counts(&self) -> Counts {
        self.locked(|state| Counts {
            queued: state.len(),
            capacity: state.capacity(),
            left: state.left(),
            awaited: state.is_awaited(),
        })
    }

    fn release(&self) -> unsafe fn(NonNull<()>) {
        |chan| {
            // SAFETY: the caller's promise (`Entry`), and it is such a channel.
            unsafe { Self::release(chan.cast().as_ptr(), Side::Other) }
        }
    }
}

/// One reference of the side `Other`.
struct Entry(NonNull<dyn Peer>);

// SAFETY: what it refers to is `Send` and `Sync`.
unsafe impl Send for Entry {}

impl Entry {
    fn peer(&self) -> &dyn Peer {
        // SAFETY: the reference is counted, which keeps the mailbox.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let release = self.peer().release();
        // SAFETY: this is one reference, and its end; the function is the mailbox's own.
        unsafe { release(self.0.cast()) };
    }
}

enum Slot {
    Used(Entry),
    /// With the next free one.
    Free(u32),
}

struct Shard {
    slots: Vec<Slot>,
    free: u32,
}

const NONE: u32 = u32::MAX;

static ROLL: [Mutex<Shard>; SHARDS] = [const {
    Mutex::new(Shard {
        slots: Vec::new(),
        free: NONE,
    })
}; SHARDS];

fn shard(id: u64) -> &'static Mutex<Shard> {
    // The remainder is below 64.
    &ROLL[(id % SHARDS as u64) as usize]
}

/// Enters an actor; gives its place.
pub(super) fn enter<M: Send + 'static>(actor: WeakRef<M, Life>) -> u32 {
    let id = actor.beside().id;
    let entry = Slot::Used(Entry(Ref::into_raw(actor)));
    let mut shard = lock(shard(id));
    let place = shard.free;
    match shard.slots.get_mut(place as usize) {
        Some(slot) => {
            if let Slot::Free(next) = std::mem::replace(slot, entry) {
                shard.free = next;
            }
            place
        }
        None => {
            shard.slots.push(entry);
            u32::try_from(shard.slots.len() - 1).expect("fewer than 2^38 actors at once")
        }
    }
}

/// Takes an actor out.
pub(super) fn leave(id: u64, place: u32) {
    let entry = {
        let mut shard = lock(shard(id));
        let free = Slot::Free(shard.free);
        shard.free = place;
        std::mem::replace(&mut shard.slots[place as usize], free)
    };
    // Not under the lock: it may free the mailbox.
    drop(entry);
}

/// Looks at an actor, if it is there. `f` runs under a lock: it looks, and no more.
pub(super) fn look<R>(id: u64, place: u32, f: impl FnOnce(&dyn Peer) -> R) -> Option<R> {
    let shard = lock(shard(id));
    match shard.slots.get(place as usize)? {
        Slot::Used(entry) if entry.peer().life().id == id => Some(f(entry.peer())),
        _ => None,
    }
}

/// Looks at every actor, a shard at a time. As `look`.
pub(super) fn each(mut f: impl FnMut(&dyn Peer)) {
    for shard in &ROLL {
        for slot in &lock(shard).slots {
            if let Slot::Used(entry) = slot {
                f(entry.peer());
            }
        }
    }
}
