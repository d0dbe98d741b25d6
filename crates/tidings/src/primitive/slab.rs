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
//! I2. A free slot is on exactly one list (a thread's cache or its class's pool), linked through
//!     word 1.
//! I3. Chunks are zeroed when made and never unmapped.
//! I4. A batch in a pool has at least one slot: whoever takes one need not look.
//!
//! What is kept: the peak number of slots per size class, until [`trim`] gives whole free
//! chunks back to the system (their addresses stay mapped, and read as zero).
//! Source: SLAB_TYPESAFE_BY_RCU of Linux; magazines (Bonwick and Adams 2001).

use std::alloc::{Layout, handle_alloc_error};
use std::cell::UnsafeCell;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

// Caches end with a thread of the system, when no schedule is drawn any more.
use super::lasting::{Mutex, lock};

/// Slots are multiples of a cache line, aligned to one: two tasks never share a line.
const UNIT: usize = 64;
/// Classes of small slots: 64, 128, .. 1024 bytes.
const SMALL: usize = 16;
/// All classes: above the small ones the powers of two from 2 KiB to 64 MiB.
const CLASSES: usize = SMALL + 16;
/// The largest slot; a larger task panics at its spawn.
const SLOT_MAX: usize = class_size(CLASSES - 1);
/// The smallest size whose slots are aligned to their size (up to a page).
const ALIGNED: usize = 2048;
/// A chunk of small slots; large enough that carving one is rare.
const CHUNK: usize = 256 * 1024;

const fn class_size(class: usize) -> usize {
    if class < SMALL {
        (class + 1) * UNIT
    } else {
        ALIGNED << (class - SMALL)
    }
}

const fn chunk_size(class: usize) -> usize {
    if class_size(class) > CHUNK {
        class_size(class)
    } else {
        CHUNK
    }
}

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

    #[inline(always)]
    fn pop(&mut self) -> Option<*mut u64> {
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

/// What a slot is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Type-stable, see I1.
    Task,
    /// Anything goes.
    Channel,
}

/// Slots of one kind and size class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class(usize);

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
            "a task's future is at most 64 MiB: box its large parts"
        );
        Self(kind as usize * CLASSES + class_of(size))
    }
}

const fn max(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}

/// Lists of free slots, none of them empty (I4).
struct Batches(Vec<List>);

impl Batches {
    /// One that is empty is no batch.
    fn put(&mut self, list: List) {
        if list.len > 0 {
            self.0.push(list);
        }
    }
}

/// What all threads share of one size class.
struct Pool {
    batches: Batches,
    chunks: Vec<NonNull<u8>>,
    /// The part of the newest chunk that was never used: next offset.
    carved: usize,
    /// Chunks whose pages were given back: free from end to end, reused before a new one.
    trimmed: Vec<NonNull<u8>>,
    /// The chunk being carved.
    current: *mut u8,
}

// SAFETY: free slots and chunks are plain memory owned by the pool.
unsafe impl Send for Pool {}

static POOLS: [Mutex<Pool>; 2 * CLASSES] = [const {
    Mutex::new(Pool {
        batches: Batches(Vec::new()),
        chunks: Vec::new(),
        carved: usize::MAX,
        trimmed: Vec::new(),
        current: ptr::null_mut(),
    })
}; 2 * CLASSES];

/// One thread's free slots of all classes.
struct Cache(UnsafeCell<[List; 2 * CLASSES]>);

impl Drop for Cache {
    fn drop(&mut self) {
        for (class, list) in self.0.get_mut().iter_mut().enumerate() {
            if list.len > 0 {
                lock(&POOLS[class])
                    .batches
                    .put(std::mem::replace(list, List::new()));
            }
        }
    }
}

thread_local! {
    static CACHE: Cache = const { Cache(UnsafeCell::new([const { List::new() }; 2 * CLASSES])) };
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
        unsafe { &mut (*cache.0.get())[class.0] }.pop()
    });
    match cached {
        // SAFETY: slots come from non-null chunks.
        Ok(Some(slot)) => unsafe { NonNull::new_unchecked(slot.cast()) },
        _ => alloc_slow(class),
    }
}

#[cold]
fn alloc_slow(class: Class) -> NonNull<u8> {
    let mut list = refill(class.0);
    let slot = list.pop().expect("a refilled list has slots");
    // Where the thread is ending and its cache is gone, the rest goes back.
    let mut rest = Some(list);
    let _ = CACHE.try_with(|cache| {
        // SAFETY: the cache is this thread's; its list of this class is empty.
        unsafe { (*cache.0.get())[class.0] = rest.take().expect("taken once") };
    });
    if let Some(list) = rest {
        lock(&POOLS[class.0]).batches.put(list);
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
    if cfg!(shuttle) && class.0 < CLASSES {
        return;
    }
    let slot = slot.as_ptr().cast::<u64>();
    let full = CACHE.try_with(|cache| {
        // SAFETY: the cache is this thread's, and nothing below calls back into it.
        let list = unsafe { &mut (*cache.0.get())[class.0] };
        // SAFETY: the caller gives the slot up.
        unsafe { list.push(slot) };
        list.len >= 2 * batch_len(class.0 % CLASSES)
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
    let mut batch = List::new();
    if let Some(slot) = slot {
        // SAFETY: the caller's promise.
        unsafe { batch.push(slot) };
    }
    let _ = CACHE.try_with(|cache| {
        // SAFETY: the cache is this thread's, and nothing below calls back into it.
        let list = unsafe { &mut (*cache.0.get())[class.0] };
        for slot in (0..batch_len(class.0 % CLASSES)).map_while(|_| list.pop()) {
            // SAFETY: just taken off the other list.
            unsafe { batch.push(slot) };
        }
    });
    lock(&POOLS[class.0]).batches.put(batch);
}

#[cold]
fn refill(class: usize) -> List {
    let mut pool = lock(&POOLS[class]);
    let class = class % CLASSES;
    let size = class_size(class);
    if let Some(batch) = pool.batches.0.pop() {
        return batch;
    }
    let mut list = List::new();
    while list.len < batch_len(class) {
        if pool.carved.saturating_add(size) > chunk_size(class) {
            if list.len > 0 {
                break;
            }
            pool.current = match pool.trimmed.pop() {
                Some(chunk) => chunk.as_ptr(),
                None => {
                    let chunk = new_chunk(chunk_size(class));
                    pool.chunks.push(chunk);
                    chunk.as_ptr()
                }
            };
            pool.carved = 0;
        }
        // SAFETY: `carved + size` is inside, and this part of the chunk was handed to nobody.
        unsafe { list.push(pool.current.add(pool.carved).cast()) };
        pool.carved += size;
    }
    list
}

/// Zeroed, page-aligned memory, for ever. Pages come when they are touched.
fn new_chunk(size: usize) -> NonNull<u8> {
    let layout = Layout::from_size_align(size, 4096).expect("sizes are small and whole pages");
    #[cfg(unix)]
    let chunk = {
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANON,
        );
        // SAFETY: asks for new pages, and touches no others.
        let chunk = unsafe { libc::mmap(ptr::null_mut(), size, protection, flags, -1, 0) };
        if chunk == libc::MAP_FAILED {
            ptr::null_mut()
        } else {
            chunk.cast()
        }
    };
    #[cfg(not(unix))]
    // SAFETY: the layout has a size.
    let chunk = unsafe { std::alloc::alloc_zeroed(layout) };
    NonNull::new(chunk).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Calls `visit` with every task's slot whose state word is not 0.
///
/// The caller must know by the state word and by what else it reads atomically whether a slot
/// is its own: others come and go meanwhile.
pub(crate) fn each_used(mut visit: impl FnMut(NonNull<u8>)) {
    // Tasks' pools come first.
    for (class, pool) in POOLS[..CLASSES].iter().enumerate() {
        let size = class_size(class);
        let chunks = lock(pool).chunks.clone();
        for chunk in chunks {
            for offset in (0..=chunk_size(class) - size).step_by(size) {
                // SAFETY: I3 - the chunk is mapped; the offset is inside.
                let slot = unsafe { chunk.add(offset) };
                // SAFETY: I1 - word 0 is an atomic state word.
                let state = unsafe { slot.cast::<AtomicU64>().as_ref() };
                if state.load(Ordering::Acquire) != 0 {
                    visit(slot);
                }
            }
        }
    }
}

/// Gives the pages of chunks that are free from end to end back to the system; returns bytes.
///
/// Slots in other threads' caches (at most 128 per class and thread) pin their chunks.
pub(crate) fn trim() -> usize {
    let trimmed = POOLS.iter().enumerate().map(|(class, pool)| {
        let mut pool = lock(pool);
        let _ = CACHE.try_with(|cache| {
            // SAFETY: the cache is this thread's, and nothing below calls back into it.
            let list = unsafe { &mut (*cache.0.get())[class] };
            pool.batches.put(std::mem::replace(list, List::new()));
        });
        trim_class(class % CLASSES, &mut pool)
    });
    trimmed.sum()
}

fn trim_class(class: usize, pool: &mut Pool) -> usize {
    let size = class_size(class);
    let per_chunk = chunk_size(class) / size;
    let mut bases: Vec<usize> = pool
        .chunks
        .iter()
        .map(|chunk| chunk.as_ptr().addr())
        .collect();
    bases.sort_unstable();
    let chunk_of = |slot: *mut u64| bases.partition_point(|&base| base <= slot.addr()) - 1;
    let mut slots = Vec::new();
    for mut batch in std::mem::take(&mut pool.batches.0) {
        slots.extend(std::iter::from_fn(|| batch.pop()));
    }
    let mut free = vec![0; bases.len()];
    slots.iter().for_each(|&slot| free[chunk_of(slot)] += 1);
    let mut kept = List::new();
    for &slot in &slots {
        if free[chunk_of(slot)] < per_chunk {
            // SAFETY: taken off its list above.
            unsafe { kept.push(slot) };
        }
        if kept.len == batch_len(class) {
            pool.batches.put(std::mem::replace(&mut kept, List::new()));
        }
    }
    pool.batches.put(kept);
    let mut bytes = 0;
    for chunk in &pool.chunks {
        let index = chunk_of(chunk.as_ptr().cast());
        if free[index] == per_chunk && give_back(*chunk, chunk_size(class)) {
            pool.trimmed.push(*chunk);
            bytes += chunk_size(class);
        } else if free[index] == per_chunk {
            for offset in (0..=chunk_size(class) - size).step_by(size) {
                let mut list = List::new();
                // SAFETY: every slot of this chunk was taken off its list above.
                unsafe { list.push(chunk.as_ptr().add(offset).cast()) };
                pool.batches.put(list);
            }
        }
    }
    bytes
}

/// Drops the pages of a free chunk; they read as zero afterwards (state: free).
fn give_back(chunk: NonNull<u8>, size: usize) -> bool {
    #[cfg(target_os = "linux")]
    // SAFETY: the chunk is page-aligned, ours, and free from end to end; a stray wake may still
    // read its state words and finds them 0.
    return unsafe { libc::madvise(chunk.as_ptr().cast(), size, libc::MADV_DONTNEED) == 0 };
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (chunk, size);
        false
    }
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
    fn who_takes_from_a_pool_finds_slots_whatever_was_put_there() {
        const HUGE: Class = Class::of_bytes(1 << 20, 8, Kind::Channel);
        lock(&POOLS[HUGE.0]).batches.put(List::new());
        assert_eq!(refill(HUGE.0).len, 1);
        // The rest of a batch of one is nothing, and goes back where a thread has no cache any more.
        std::thread::spawn(|| {
            struct Last;
            impl Drop for Last {
                fn drop(&mut self) {
                    assert!(CACHE.try_with(|_| ()).is_err());
                    alloc(HUGE);
                }
            }
            thread_local!(static LAST: Last = const { Last });
            LAST.with(|_| ());
            CACHE.with(|_| ());
        })
        .join()
        .unwrap();
        assert!(
            lock(&POOLS[HUGE.0])
                .batches
                .0
                .iter()
                .all(|batch| batch.len > 0)
        );
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
    fn trim_keeps_what_is_free_beside_what_is_used() {
        const OURS: Class = Class::of_bytes(14 * UNIT, 8, Kind::Channel);
        let used = alloc(OURS);
        let mut slots: BTreeSet<_> = (1..batch_len(OURS.0 % CLASSES))
            .map(|_| alloc(OURS))
            .collect();
        free_all(slots.iter().copied(), OURS);
        let carved = lock(&POOLS[OURS.0]).carved;
        trim();
        while !slots.is_empty() {
            assert!(slots.remove(&alloc(OURS)), "a slot that was not free");
        }
        assert_eq!(lock(&POOLS[OURS.0]).carved, carved);
        free_all([used], OURS);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_was_given_back_reads_as_zero() {
        const OURS: Class = Class::of_bytes(4 * ALIGNED, 8, Kind::Channel);
        let slots: BTreeSet<_> = (0..CHUNK / (4 * ALIGNED)).map(|_| alloc(OURS)).collect();
        let word = |slot: NonNull<u8>| slot.as_ptr().cast::<u64>().wrapping_add(3);
        for &slot in &slots {
            // SAFETY: the slot is ours.
            unsafe { word(slot).write(7) };
        }
        free_all(slots.iter().copied(), OURS);
        assert!(trim() >= CHUNK);
        let slot = alloc(OURS);
        assert!(slots.contains(&slot));
        // SAFETY: as above.
        assert_eq!(unsafe { word(slot).read() }, 0);
        free_all([slot], OURS);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_chunk_that_the_system_does_not_take_is_used_again() {
        const OURS: Class = Class::of_bytes(2 * ALIGNED, 8, Kind::Channel);
        let slots: BTreeSet<_> = (0..CHUNK / (2 * ALIGNED)).map(|_| alloc(OURS)).collect();
        let chunk = *slots.first().unwrap();
        free_all(slots.iter().copied(), OURS);
        // SAFETY: the chunk is ours and stays mapped.
        if unsafe { libc::mlock(chunk.as_ptr().cast(), CHUNK) } != 0 {
            println!("not tried: no memory may be locked here");
            return;
        }
        trim();
        let again: BTreeSet<_> = slots.iter().map(|_| alloc(OURS)).collect();
        assert_eq!(again, slots);
        // SAFETY: as above.
        unsafe { libc::munlock(chunk.as_ptr().cast(), CHUNK) };
        free_all(again, OURS);
        assert!(trim() >= CHUNK);
    }

    #[test]
    fn trim_gives_free_chunks_back_and_they_can_be_used_again() {
        let slots: Vec<_> = (0..2 * CHUNK / ALIGNED).map(|_| alloc(LARGE)).collect();
        free_all(slots, LARGE);
        assert!(trim() >= CHUNK);
        // No slot is there twice.
        let again: Vec<_> = (0..4 * CHUNK / ALIGNED).map(|_| alloc(LARGE)).collect();
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
