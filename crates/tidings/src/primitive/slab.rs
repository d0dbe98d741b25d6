//! Memory for tasks and channels: slots by size class, kept for reuse, cached per thread.
//!
//! Why of our own: both are made and freed by the million, often on different threads and not in
//! the order in which a general allocator is quick, and a page that is given back too early costs
//! a fault of over a microsecond when it is wanted again.
//!
//! Tasks' slots are type-stable: a waker that outlives its task may still touch the task's state word. Here that word
//! stays a state word for ever, so such a wake is harmless (a no-op, or a spurious wake of the
//! slot's next tenant), and wakers need no reference count: cloning, dropping and storing one
//! costs no read-modify-write.
//!
//! Invariants.
//! I1. Word 0 of a task's slot is an atomic state word; 0 means free. It is only ever accessed as
//!     one. Hence channels have pools of their own.
//! I2. A free slot is on the list of one thread's cache, linked through word 1, or free in its chunk (`chunk.rs`).
//! I3. Chunks are zeroed when made and never unmapped.
//!
//! What is kept: the peak number of slots per size class, until [`trim`] gives whole free
//! chunks back to the system (their addresses stay mapped, and read as zero).
//! Source: SLAB_TYPESAFE_BY_RCU of Linux; magazines (Bonwick and Adams 2001).

use std::cell::UnsafeCell;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use super::chunk::{Chunks, Shape};
// Caches end with a thread of the system, when no schedule is drawn any more.
use super::lasting::{Mutex, lock};

/// Slots are multiples of a cache line, aligned to one: two tasks never share a line.
const UNIT: usize = 64;
/// Classes of small slots: 64, 128, .. 1024 bytes.
const SMALL: usize = 16;
/// All classes of a kind: above the small ones the powers of two from 2 KiB to 64 MiB.
const CLASSES: usize = SMALL + 16;
/// The classes of all kinds.
const ALL: usize = (Kind::Channel as usize + 1) * CLASSES;
/// The largest slot; a larger task panics at its spawn.
const SLOT_MAX: usize = class_size(CLASSES - 1);
/// The smallest size whose slots are aligned to their size (up to a page).
const ALIGNED: usize = 2048;
const fn class_size(class: usize) -> usize {
    if class < SMALL {
        (class + 1) * UNIT
    } else {
        ALIGNED << (class - SMALL)
    }
}

/// How the chunks of each class are divided.
static SHAPES: [Shape; CLASSES] = {
    let mut shapes = [Shape::of(UNIT); CLASSES];
    let mut class = 1;
    while class < CLASSES {
        shapes[class] = Shape::of(class_size(class));
        class += 1;
    }
    shapes
};

/// Slots moved between a thread's cache and the pool at once: at most 64, at most 32 KiB.
const fn batch_len(class: usize) -> usize {
    let by_size = 32 * 1024 / class_size(class);
    if by_size == 0 {
        1
    } else if by_size > 64 {
        64
    } else {
        by_size
    }
}

/// A list of free slots, linked through word 1.
struct List {
    head: *mut u64,
    len: usize,
}

impl List {
    const fn new() -> Self {
        Self {
            head: ptr::null_mut(),
            len: 0,
        }
    }

    /// # Safety
    /// `slot` is a free slot on no list (I2).
    #[inline(always)]
    unsafe fn push(&mut self, slot: *mut u64) {
        // SAFETY: the slot is ours (the caller's promise); word 1 is the link of a free slot.
        unsafe { slot.add(1).cast::<*mut u64>().write(self.head) };
        self.head = slot;
        self.len += 1;
    }
}

/// Takes them off.
impl Iterator for List {
    type Item = *mut u64;

    #[inline(always)]
    fn next(&mut self) -> Option<*mut u64> {
        if self.head.is_null() {
            return None;
        }
        let slot = self.head;
        // SAFETY: I2 - the slot is on our list, so word 1 holds the link.
        self.head = unsafe { slot.add(1).cast::<*mut u64>().read() };
        self.len -= 1;
        Some(slot)
    }
}

/// What a slot is for, for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Type-stable, see I1.
    Task,
    /// As `Task`, of tasks that stay on their thread: a late wake must not find another kind of task in
    /// the place of one of these (sched/local_tasks.rs).
    LocalTask,
    /// Anything goes.
    Channel,
}

/// Slots of one kind and size class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class {
    index: u16,
    /// So many slots go from and to the pool at once: a class is often not known when it is compiled.
    batch: u16,
}

impl Class {
    /// The class for a type; a slot is aligned for it.
    pub(crate) const fn of<T>(kind: Kind) -> Self {
        Self::of_bytes(size_of::<T>(), align_of::<T>(), kind)
    }

    /// The class for so many bytes, aligned like this.
    pub(crate) const fn of_bytes(size: usize, align: usize, kind: Kind) -> Self {
        assert!(align <= 4096, "the alignment is at most a page");
        let mut size = if size < 16 { 16 } else { size };
        if align > UNIT {
            // Slots from here on are aligned to their size.
            size = max(max(size, ALIGNED), align);
        }
        assert!(
            size <= SLOT_MAX,
            "a future of a task, and what a channel carries, is at most 64 MiB: box it, or its large parts"
        );
        let class = class_of(size);
        Self {
            index: (kind as usize * CLASSES + class) as u16,
            batch: batch_len(class) as u16,
        }
    }

    #[inline(always)]
    const fn index(self) -> usize {
        self.index as usize
    }

    #[inline(always)]
    const fn batch(self) -> usize {
        self.batch as usize
    }
}

const fn max(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}

/// What all threads share, by size class.
static POOLS: [Mutex<Chunks>; ALL] = [const { Mutex::new(Chunks::new()) }; ALL];

/// So many free slots of a class, at least one; linked by their addresses.
fn take(class: usize) -> List {
    let mut list = List::new();
    let mut last = ptr::null_mut::<u64>();
    let append = |slot: NonNull<u8>| {
        let slot = slot.as_ptr().cast::<u64>();
        if last.is_null() {
            list.head = slot;
        } else {
            // SAFETY: the slots are free and ours; word 1 is the link of one.
            unsafe { last.add(1).cast::<*mut u64>().write(slot) };
        }
        last = slot;
        list.len += 1;
    };
    let (shape, n) = (SHAPES[class % CLASSES], batch_len(class % CLASSES));
    lock(&POOLS[class]).take(shape, n, append);
    // SAFETY: as above; there is at least one.
    unsafe { last.add(1).cast::<*mut u64>().write(ptr::null_mut()) };
    list
}

/// Gives free slots of a class back.
fn put(class: usize, slots: impl Iterator<Item = *mut u64>) {
    let mut chunks = lock(&POOLS[class]);
    for slot in slots {
        // SAFETY: slots are in non-null chunks.
        let slot = unsafe { NonNull::new_unchecked(slot.cast()) };
        chunks.put(SHAPES[class % CLASSES], slot);
    }
}

/// One thread's free slots of all classes.
struct Cache(UnsafeCell<[List; ALL]>);

impl Drop for Cache {
    fn drop(&mut self) {
        for (class, list) in self.0.get_mut().iter_mut().enumerate() {
            if list.len > 0 {
                put(class, list);
            }
        }
    }
}

thread_local! {
    static CACHE: Cache = const { Cache(UnsafeCell::new([const { List::new() }; ALL])) };
}

const fn class_of(size: usize) -> usize {
    if size <= UNIT * SMALL {
        size.div_ceil(UNIT) - 1
    } else {
        SMALL + (size.next_power_of_two() / ALIGNED).trailing_zeros() as usize
    }
}

/// A slot; a task's has the state free. Its words other than the first hold anything.
#[inline(always)]
pub(crate) fn alloc(class: Class) -> NonNull<u8> {
    let cached = CACHE.try_with(|cache| {
        // SAFETY: the cache is this thread's, and nothing below calls back into it.
        unsafe { &mut (*cache.0.get())[class.index()] }.next()
    });
    match cached {
        // SAFETY: slots come from non-null chunks.
        Ok(Some(slot)) => unsafe { NonNull::new_unchecked(slot.cast()) },
        _ => alloc_slow(class),
    }
}

#[cold]
fn alloc_slow(class: Class) -> NonNull<u8> {
    let mut list = take(class.index());
    let slot = list.next().expect("a pool gives at least one");
    // Where the thread is ending and its cache is gone, the rest goes back.
    let mut rest = Some(list);
    let _ = CACHE.try_with(|cache| {
        // SAFETY: the cache is this thread's; its list of this class is empty.
        unsafe { (*cache.0.get())[class.index()] = rest.take().expect("taken once") };
    });
    if let Some(list) = rest {
        put(class.index(), list);
    }
    // SAFETY: slots come from non-null chunks.
    unsafe { NonNull::new_unchecked(slot.cast()) }
}

/// Returns a slot. A task's state must already be free (0, or stray wakes without the alive bit).
///
/// # Safety
/// `slot` came from `alloc` of the same class and is not used again, but for a task's word 0.
#[inline(always)]
pub(crate) unsafe fn free(slot: NonNull<u8>, class: Class) {
    // An atomic of shuttle's is larger than word 0: the state word would not outlive its task (I1).
    if cfg!(shuttle) && class.index() < Kind::Channel as usize * CLASSES {
        return;
    }
    let slot = slot.as_ptr().cast::<u64>();
    let full = CACHE.try_with(|cache| {
        // SAFETY: the cache is this thread's, and nothing below calls back into it.
        let list = unsafe { &mut (*cache.0.get())[class.index()] };
        // SAFETY: the caller gives the slot up.
        unsafe { list.push(slot) };
        list.len >= 2 * class.batch()
    });
    if full != Ok(false) {
        // SAFETY: as above; without a cache the slot was not pushed.
        unsafe { free_slow((full != Ok(true)).then_some(slot), class) };
    }
}

/// Gives half of a full cache back; or, where the thread has no cache any more, the one slot.
///
/// # Safety
/// `slot`, if given, is a free slot on no list.
#[cold]
unsafe fn free_slow(slot: Option<*mut u64>, class: Class) {
    if slot.is_some() {
        put(class.index(), slot.into_iter());
    }
    let _ = CACHE.try_with(|cache| {
        // SAFETY: the cache is this thread's, and nothing below calls back into it.
        let list = unsafe { &mut (*cache.0.get())[class.index()] };
        put(class.index(), list.take(class.batch()));
    });
}

/// Calls `visit` with every slot of tasks of this kind whose state word is not 0.
///
/// The caller must know by the state word and by what else it reads atomically whether a slot
/// is its own: others come and go meanwhile.
pub(crate) fn each_used(kind: Kind, mut visit: impl FnMut(NonNull<u8>)) {
    debug_assert!(kind != Kind::Channel, "only tasks have a state word");
    let pools = &POOLS[kind as usize * CLASSES..][..CLASSES];
    for (pool, &shape) in pools.iter().zip(&SHAPES) {
        // What was ever used and is free may be many times as much.
        let taken = lock(pool).taken(shape);
        for slot in taken {
            // SAFETY: I3 - the chunk is mapped; I1 - word 0 is an atomic state word.
            let state = unsafe { slot.cast::<AtomicU64>().as_ref() };
            if state.load(Ordering::Acquire) != 0 {
                visit(slot);
            }
        }
    }
}

/// Gives the pages of chunks that are free from end to end back to the system; returns bytes.
///
/// Slots in other threads' caches (at most 128 per class and thread) pin their chunks.
pub(crate) fn trim() -> usize {
    let trimmed = POOLS.iter().enumerate().map(|(class, pool)| {
        let _ = CACHE.try_with(|cache| {
            // SAFETY: the cache is this thread's, and nothing below calls back into it.
            put(class, unsafe { &mut (*cache.0.get())[class] });
        });
        lock(pool).give_back(SHAPES[class % CLASSES])
    });
    trimmed.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const HUNDRED: Class = Class::of::<[u8; 100]>(Kind::Task);
    const LARGE: Class = Class::of::<[u8; ALIGNED]>(Kind::Task);

    #[test]
    fn a_slot_is_aligned_and_reused() {
        let slot = alloc(HUNDRED);
        assert_eq!(slot.as_ptr().addr() % UNIT, 0);
        free_all([slot], HUNDRED);
        let again = alloc(HUNDRED);
        assert_eq!(slot, again, "the cache is last in, first out");
        free_all([again], HUNDRED);
    }

    #[test]
    fn a_slot_stays_with_its_kind() {
        const LOCAL: Class = Class::of::<[u8; 100]>(Kind::LocalTask);
        let slots: BTreeSet<_> = (0..300).map(|_| alloc(LOCAL)).collect();
        free_all(slots.iter().copied(), LOCAL);
        trim();
        let others: Vec<_> = (0..300).map(|_| alloc(HUNDRED)).collect();
        assert!(others.iter().all(|slot| !slots.contains(slot)));
        free_all(others, HUNDRED);
    }

    // On Windows, as Wine has it, no thread-local goes after the cache.
    #[cfg(not(windows))]
    #[test]
    fn a_thread_that_has_no_cache_any_more_gives_back_what_it_does_not_need() {
        const OURS: Class = Class::of_bytes(4 * ALIGNED, 8, Kind::Channel);
        // This test alone has slots of this class.
        let in_use = || lock(&POOLS[OURS.index()]).in_use(SHAPES[OURS.index() % CLASSES]);
        std::thread::spawn(|| {
            struct Last;
            impl Drop for Last {
                fn drop(&mut self) {
                    assert!(CACHE.try_with(|_| ()).is_err());
                    free_all([alloc(OURS)], OURS);
                    alloc(OURS);
                }
            }
            thread_local!(static LAST: Last = const { Last });
            LAST.with(|_| ());
            CACHE.with(|_| ());
        })
        .join()
        .unwrap();
        assert_eq!(in_use(), 1);
        // They are there for others, each once.
        let slots: BTreeSet<_> = (0..100).map(|_| alloc(OURS)).collect();
        assert_eq!(slots.len(), 100);
        free_all(slots, OURS);
        trim();
        assert_eq!(in_use(), 1);
    }

    #[test]
    fn what_a_thread_leaves_is_there_for_others() {
        const OURS: Class = Class::of_bytes(15 * UNIT, 8, Kind::Channel);
        let left = std::thread::spawn(|| {
            let slots: BTreeSet<_> = (0..8).map(|_| alloc(OURS)).collect();
            free_all(slots.iter().copied(), OURS);
            slots
                .into_iter()
                .map(NonNull::addr)
                .collect::<BTreeSet<_>>()
        });
        let left = left.join().unwrap();
        let slot = alloc(OURS);
        assert!(left.contains(&slot.addr()));
        free_all([slot], OURS);
    }

    /// Gives slots back.
    fn free_all(slots: impl IntoIterator<Item = NonNull<u8>>, class: Class) {
        for slot in slots {
            // SAFETY: the tests give each slot once, and use it no more.
            unsafe { free(slot, class) };
        }
    }

    #[test]
    fn what_many_gave_back_in_any_order_comes_out_by_its_address() {
        const OURS: Class = Class::of_bytes(14 * UNIT, 8, Kind::Channel);
        let many = |n| (0..n).map(|_| alloc(OURS)).collect::<Vec<_>>();
        let (first, batch) = (many(1_000), OURS.batch());
        let shuffled = (0..first.len()).map(|n| first[n * 701 % first.len()]);
        free_all(shuffled, OURS);
        // What the cache still has comes first, as it was.
        let again = &many(1_000)[2 * batch..];
        let ascending = again.windows(2).filter(|two| two[0] < two[1]).count();
        // But from one chunk to the next.
        assert!(ascending + 1_000 / 250 >= again.len() - 1, "{ascending}");
    }

    #[test]
    fn a_slot_in_use_keeps_its_chunk_and_all_others_come_again() {
        const OURS: Class = Class::of_bytes(13 * UNIT, 8, Kind::Channel);
        let used = alloc(OURS);
        let mut slots: BTreeSet<_> = (1..OURS.batch()).map(|_| alloc(OURS)).collect();
        free_all(slots.iter().copied(), OURS);
        trim();
        while !slots.is_empty() {
            assert!(slots.remove(&alloc(OURS)), "a slot that was not free");
        }
        assert_eq!(lock(&POOLS[OURS.index()]).len(), 1);
        free_all([used], OURS);
    }

    #[test]
    fn trim_gives_free_chunks_back_and_they_can_be_used_again() {
        let slots: Vec<_> = (0..300).map(|_| alloc(LARGE)).collect();
        free_all(slots, LARGE);
        // Elsewhere no page goes back.
        let least = if cfg!(target_os = "linux") {
            200 * ALIGNED
        } else {
            0
        };
        assert!(trim() >= least);
        // No slot is there twice.
        let again: Vec<_> = (0..600).map(|_| alloc(LARGE)).collect();
        let distinct: BTreeSet<_> = again.iter().copied().collect();
        assert_eq!(distinct.len(), again.len());
        free_all(again, LARGE);
        let slot = alloc(LARGE);
        // SAFETY: I1 - word 0 is an atomic state word.
        let word = unsafe { slot.cast::<AtomicU64>().as_ref() };
        assert_eq!(word.load(Ordering::Relaxed), 0);
        free_all([slot], LARGE);
    }
}
