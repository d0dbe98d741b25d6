//! The chunks of a size class: memory divided into slots, and which of them are free.
//!
//! That is noted in bits, not in the slots, so slots come out in the order of their addresses, however long ago
//! and in whatever order they were given back. Lists through free slots, which we had, are shuffled as time goes
//! by, and then each slot taken is a miss of every cache, found only when the one before has come
//! (docs/decisions/05-task-memory.md has what that cost). The bits lie outside of the chunk, so all of it is slots.
//! Source: bits as in jemalloc's slabs (Evans 2006); what is begun is used up first, as mimalloc's pages.

use std::alloc::{Layout, handle_alloc_error};
use std::ptr::NonNull;

/// A chunk of small slots; large enough that a new one is rare.
pub(super) const CHUNK: usize = 256 * 1024;
const PAGE: usize = 4096;
/// Slots that share a word of bits.
const WORD: usize = 64;

/// How the chunks of a size class are divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Of a slot.
    size: usize,
    slots: usize,
    bytes: usize,
    /// 2^32 over `size`, rounded up: a division is the larger part of what it takes to give a slot back.
    inverse: u64,
}

impl Shape {
    /// For slots of so many bytes, a multiple of 64; one that is larger than a chunk has its own.
    pub(super) const fn of(size: usize) -> Self {
        let bytes = if size > CHUNK { size } else { CHUNK };
        Self {
            size,
            slots: bytes / size,
            bytes,
            inverse: (1_u64 << 32).div_ceil(size as u64),
        }
    }

    /// Which slot begins so far from the start. Exact: by as much as the inverse is too large, less than one, the
    /// product is larger, less than `CHUNK`.
    fn index(self, offset: usize) -> usize {
        ((offset as u64 * self.inverse) >> 32) as usize
    }
}

/// Memory for slots, page-aligned, zeroed when made, never unmapped. Pages come when they are touched.
#[derive(Debug)]
struct Chunk {
    start: NonNull<u8>,
    free: usize,
    /// Slots from here on have not been taken since the system had the pages.
    fresh: usize,
    /// Bit `n`: of `words[n]` some bit is set.
    filled: u64,
    /// A bit is set for each free slot.
    words: Box<[u64]>,
}

impl Chunk {
    fn map(shape: Shape) -> Self {
        let mut words = vec![0; shape.slots.div_ceil(WORD)].into_boxed_slice();
        let mut filled = 0;
        for slot in 0..shape.slots {
            words[slot / WORD] |= 1 << (slot % WORD);
            filled |= 1 << (slot / WORD);
        }
        Self {
            start: map(shape.bytes),
            free: shape.slots,
            fresh: 0,
            filled,
            words,
        }
    }

    /// Takes up to so many free slots, by their addresses.
    fn take(&mut self, shape: Shape, most: usize, mut each: impl FnMut(NonNull<u8>)) {
        let mut left = self.free.min(most);
        self.free -= left;
        while left > 0 {
            let number = self.filled.trailing_zeros() as usize;
            let word = &mut self.words[number];
            let here = left.min(word.count_ones() as usize);
            let mut slot = 0;
            for _ in 0..here {
                slot = number * WORD + word.trailing_zeros() as usize;
                *word &= *word - 1;
                // SAFETY: inside the chunk.
                each(unsafe { self.start.add(slot * shape.size) });
            }
            self.fresh = self.fresh.max(slot + 1);
            if *word == 0 {
                self.filled &= self.filled - 1;
            }
            left -= here;
        }
    }

    /// A slot of it is free.
    fn put(&mut self, slot: usize) {
        debug_assert_eq!(
            self.words[slot / WORD] >> (slot % WORD) & 1,
            0,
            "free twice"
        );
        self.words[slot / WORD] |= 1 << (slot % WORD);
        self.filled |= 1 << (slot / WORD);
        self.free += 1;
    }

    /// If it is free from end to end the system has its pages, and it reads as zero from here on. Bytes of those that were used.
    fn give_back(&mut self, shape: Shape) -> usize {
        // SAFETY: the pages are of the chunk, and hold free slots alone.
        if self.free < shape.slots || !unsafe { drop_pages(self.start, shape.bytes) } {
            return 0;
        }
        (std::mem::take(&mut self.fresh) * shape.size).next_multiple_of(PAGE)
    }
}

/// All chunks of a size class.
pub(super) struct Chunks {
    all: Vec<Chunk>,
    /// Where each starts, and which it is, in order.
    starts: Vec<(usize, usize)>,
    /// Those with free slots, each once. The last is used up first.
    open: Vec<usize>,
    /// The one that got a slot back last.
    last: usize,
}

// SAFETY: chunks are plain memory, and nobody looks at what is in free slots.
unsafe impl Send for Chunks {}

impl Chunks {
    pub(super) const fn new() -> Self {
        Self {
            all: Vec::new(),
            starts: Vec::new(),
            open: Vec::new(),
            last: 0,
        }
    }

    /// Takes up to so many free slots, at least one; those of each chunk by their addresses.
    pub(super) fn take(&mut self, shape: Shape, most: usize, mut each: impl FnMut(NonNull<u8>)) {
        let mut left = most;
        while left > 0 {
            let index = match self.open.last() {
                Some(&index) => index,
                None if left < most => return,
                None => self.map(shape),
            };
            let chunk = &mut self.all[index];
            chunk.take(shape, left, |slot| {
                left -= 1;
                each(slot);
            });
            if chunk.free == 0 {
                self.open.pop();
            }
        }
    }

    #[cold]
    fn map(&mut self, shape: Shape) -> usize {
        let (chunk, index) = (Chunk::map(shape), self.all.len());
        let start = chunk.start.addr().get();
        let place = self.starts.partition_point(|&(other, _)| other < start);
        self.starts.insert(place, (start, index));
        self.all.push(chunk);
        self.open.push(index);
        index
    }

    /// A slot is free, which was taken from here.
    pub(super) fn put(&mut self, shape: Shape, slot: NonNull<u8>) {
        let address = slot.addr().get();
        let offset = |chunk: &Chunk| address.wrapping_sub(chunk.start.addr().get());
        if offset(&self.all[self.last]) >= shape.bytes {
            let after = self.starts.partition_point(|&(start, _)| start <= address);
            self.last = self.starts[after - 1].1;
        }
        let chunk = &mut self.all[self.last];
        if chunk.free == 0 {
            self.open.push(self.last);
        }
        chunk.put(shape.index(offset(chunk)));
    }

    /// Every slot that is not free now.
    pub(super) fn taken(&self, shape: Shape) -> impl Iterator<Item = NonNull<u8>> + use<> {
        let used = self.all.iter().filter(|chunk| chunk.free < shape.slots);
        // A copy of the bits: who looks at the slots may take some, and give some back.
        let used: Vec<_> = used
            .map(|chunk| (chunk.start, chunk.words.clone()))
            .collect();
        used.into_iter().flat_map(move |(start, words)| {
            let slots =
                (0..shape.slots).filter(move |slot| words[slot / WORD] >> (slot % WORD) & 1 == 0);
            // SAFETY: inside the chunk.
            slots.map(move |slot| unsafe { start.add(slot * shape.size) })
        })
    }

    #[cfg(test)]
    pub(super) fn in_use(&self, shape: Shape) -> usize {
        let free: usize = self.all.iter().map(|chunk| chunk.free).sum();
        self.all.len() * shape.slots - free
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The system has the pages of those that are free from end to end, which read as zero from here on. Bytes of
    /// those that were used.
    pub(super) fn give_back(&mut self, shape: Shape) -> usize {
        self.all
            .iter_mut()
            .map(|chunk| chunk.give_back(shape))
            .sum()
    }
}

/// Zeroed memory, page-aligned.
fn map(bytes: usize) -> NonNull<u8> {
    let layout = Layout::from_size_align(bytes, PAGE).expect("sizes are small and whole pages");
    #[cfg(unix)]
    let mapped = {
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANON,
        );
        // SAFETY: asks for new pages, and touches no others.
        let mapped = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if mapped == libc::MAP_FAILED {
            std::ptr::null_mut()
        } else {
            mapped.cast()
        }
    };
    #[cfg(not(unix))]
    // SAFETY: the layout has a size.
    let mapped = unsafe { std::alloc::alloc_zeroed(layout) };
    NonNull::new(mapped).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Whether the system has taken them; they read as zero then.
///
/// # Safety
/// The pages are ours; if anybody reads them, what was there does not matter.
unsafe fn drop_pages(from: NonNull<u8>, bytes: usize) -> bool {
    #[cfg(target_os = "linux")]
    // SAFETY: the caller's promise.
    return unsafe { libc::madvise(from.as_ptr().cast(), bytes, libc::MADV_DONTNEED) == 0 };
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (from, bytes);
        false
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    use super::CHUNK;
    use super::{Chunks, NonNull, PAGE, Shape};

    /// All shapes there are: multiples of 64 up to 1 KiB, powers of two from there.
    fn shapes() -> impl Iterator<Item = Shape> {
        let small = (1..=16).map(|lines| lines * 64);
        small.chain((11..20).map(|bits| 1 << bits)).map(Shape::of)
    }

    fn take(chunks: &mut Chunks, shape: Shape, most: usize) -> Vec<NonNull<u8>> {
        let mut taken = Vec::new();
        chunks.take(shape, most, |slot| taken.push(slot));
        taken
    }

    /// Steps that have no divisor with their number: each once, in no order.
    fn shuffled(slots: &[NonNull<u8>]) -> impl Iterator<Item = NonNull<u8>> {
        (0..slots.len()).map(|n| slots[n * 10_007 % slots.len()])
    }

    #[test]
    fn slots_lie_apart_and_aligned_and_each_is_found_again() {
        for shape in shapes() {
            let mut chunks = Chunks::new();
            // Of three chunks.
            let slots: Vec<_> = (0..3)
                .flat_map(|_| take(&mut chunks, shape, shape.slots))
                .collect();
            assert_eq!((chunks.len(), slots.len()), (3, 3 * shape.slots));
            let mut sorted: Vec<_> = slots.iter().map(|slot| slot.addr().get()).collect();
            sorted.sort_unstable();
            assert!(sorted.windows(2).all(|two| two[1] - two[0] >= shape.size));
            let aligned_to = if shape.size > 1024 { shape.size } else { 64 };
            assert!(
                sorted.iter().all(|at| at % aligned_to.min(PAGE) == 0),
                "{shape:?}"
            );
            let taken = |chunks: &Chunks| {
                let mut taken: Vec<_> = chunks.taken(shape).map(|slot| slot.addr().get()).collect();
                taken.sort_unstable();
                taken
            };
            assert_eq!(taken(&chunks), sorted);
            let (one, others) = slots.split_last().unwrap();
            shuffled(others).for_each(|slot| chunks.put(shape, slot));
            assert_eq!(taken(&chunks), [one.addr().get()]);
            chunks.put(shape, *one);
            assert_eq!((taken(&chunks), chunks.in_use(shape)), (vec![], 0));
            let again: Vec<_> = (0..3)
                .flat_map(|_| take(&mut chunks, shape, shape.slots))
                .collect();
            let mut again: Vec<_> = again.iter().map(|slot| slot.addr().get()).collect();
            again.sort_unstable();
            assert_eq!((chunks.len(), again), (3, sorted), "{shape:?}");
        }
    }

    #[test]
    fn what_was_given_back_comes_out_by_its_address_whatever_the_order() {
        let (shape, mut chunks) = (Shape::of(128), Chunks::new());
        let all = take(&mut chunks, shape, shape.slots);
        shuffled(&all).for_each(|slot| chunks.put(shape, slot));
        assert_eq!(take(&mut chunks, shape, 70), all[..70]);
        chunks.put(shape, all[65]);
        chunks.put(shape, all[3]);
        assert_eq!(take(&mut chunks, shape, 3), [all[3], all[65], all[70]]);
        // What there is, and a new chunk only where there is none.
        assert_eq!(take(&mut chunks, shape, 10_000), all[71..]);
        assert_eq!(chunks.len(), 1);
        assert_eq!(take(&mut chunks, shape, 10_000).len(), shape.slots);
        assert_eq!(chunks.len(), 2);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn pages_that_were_used_go_back_once_and_come_again_as_zeros() {
        for size in [1024, 2 * CHUNK] {
            let (shape, mut chunks) = (Shape::of(size), Chunks::new());
            let slots = take(&mut chunks, shape, shape.slots);
            let last = *slots.last().unwrap();
            // SAFETY: inside the slot, which is ours.
            let word = unsafe { last.cast::<u64>().add(3) };
            // SAFETY: as above.
            unsafe { word.write(7) };
            slots[1..].iter().for_each(|&slot| chunks.put(shape, slot));
            assert_eq!(chunks.give_back(shape), 0, "one is in use");
            chunks.put(shape, slots[0]);
            assert_eq!(chunks.give_back(shape), shape.slots * size);
            assert_eq!(chunks.give_back(shape), 0);
            assert_eq!(take(&mut chunks, shape, shape.slots), slots);
            // SAFETY: as above.
            assert_eq!(unsafe { word.read() }, 0);
            slots.iter().for_each(|&slot| chunks.put(shape, slot));
            assert_eq!(chunks.give_back(shape), shape.slots * size);
            take(&mut chunks, shape, 1);
            chunks.put(shape, slots[0]);
            assert_eq!(chunks.give_back(shape), size.max(PAGE), "no more was used");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_chunk_that_the_system_does_not_take_is_asked_for_again() {
        let (shape, mut chunks) = (Shape::of(1024), Chunks::new());
        let slots = take(&mut chunks, shape, shape.slots);
        slots.iter().for_each(|&slot| chunks.put(shape, slot));
        // By the system's own call: that of the C library does nothing under ASan.
        let lock = |call| {
            // SAFETY: the chunk is ours and stays mapped.
            unsafe { libc::syscall(call, slots[0].as_ptr(), CHUNK) == 0 }
        };
        if !lock(libc::SYS_mlock) {
            println!("not tried: no memory may be locked here");
            return;
        }
        assert_eq!(chunks.give_back(shape), 0);
        assert_eq!(take(&mut chunks, shape, shape.slots), slots);
        slots.iter().for_each(|&slot| chunks.put(shape, slot));
        assert!(lock(libc::SYS_munlock));
        assert_eq!(chunks.give_back(shape), CHUNK);
    }
}
