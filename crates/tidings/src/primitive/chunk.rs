//! A chunk of slots of one size class, and which of them are free.
//!
//! That is noted in bits, not in the slots, so slots come out in the order of their addresses, however long ago
//! and in whatever order they were given back. Lists through free slots, which we had, are shuffled as time goes
//! by, and then each slot taken is a miss of every cache, found only when the one before has come
//! (docs/decisions/05-task-memory.md has what that cost).
//!
//! The first bytes of a chunk are its [`Chunk`], found from a slot's address. The pool's lock guards it.
//! Source: pages of mimalloc (Leijen, Zorn and de Moura 2019), each with its own free slots; bits as in jemalloc.

use std::alloc::{Layout, handle_alloc_error};
use std::ptr::NonNull;

/// A chunk of small slots, and what it is aligned to; large enough that a new one is rare.
pub(super) const CHUNK: usize = 256 * 1024;
const PAGE: usize = 4096;

/// How the chunks of a size class are divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Of a slot.
    size: usize,
    /// Where the first slot is.
    first: usize,
    slots: usize,
    bytes: usize,
}

impl Shape {
    /// For slots of so many bytes: a multiple of 64, or a power of two.
    pub(super) const fn of(size: usize) -> Self {
        let first = if size < PAGE {
            size_of::<Chunk>().next_multiple_of(size)
        } else {
            PAGE
        };
        // A slot that is larger has a chunk of its own.
        let bytes = if first + size > CHUNK {
            first + size
        } else {
            CHUNK
        };
        Self {
            size,
            first,
            slots: (bytes - first) / size,
            bytes,
        }
    }
}

/// See the module.
#[repr(C)]
pub(super) struct Chunk {
    free: usize,
    /// The system has its pages.
    given_back: bool,
    /// Bit `n`: of `words[n]` some bit is set.
    filled: u64,
    /// A bit is set for each free slot.
    words: [u64; 64],
}

impl Chunk {
    /// New memory, page-aligned and zeroed but for the chunk itself, for ever. Pages come when they are touched.
    pub(super) fn map(shape: Shape) -> NonNull<Self> {
        let chunk = map(shape.bytes).cast::<Self>();
        let mut words = [0; 64];
        let mut filled = 0;
        for slot in 0..shape.slots {
            words[slot / 64] |= 1 << (slot % 64);
            filled |= 1 << (slot / 64);
        }
        // SAFETY: the memory is ours, large enough and aligned.
        unsafe {
            chunk.write(Self {
                free: shape.slots,
                given_back: false,
                filled,
                words,
            });
        }
        chunk
    }

    /// The chunk of a slot.
    ///
    /// # Safety
    /// The slot is of a chunk of this shape.
    pub(super) unsafe fn of(slot: NonNull<u8>, shape: Shape) -> NonNull<Self> {
        let offset = if shape.bytes > CHUNK {
            shape.first
        } else {
            slot.addr().get() % CHUNK
        };
        // SAFETY: a chunk is aligned to its size, or has one slot; so it begins there.
        unsafe { slot.sub(offset).cast() }
    }

    /// Where the slots of a chunk are.
    pub(super) fn slots(chunk: NonNull<Self>, shape: Shape) -> impl Iterator<Item = NonNull<u8>> {
        let slot = move |index| {
            // SAFETY: inside the chunk.
            unsafe { chunk.cast::<u8>().add(shape.first + index * shape.size) }
        };
        (0..shape.slots).map(slot)
    }

    pub(super) fn has_free(&self) -> bool {
        self.free > 0
    }

    #[cfg(test)]
    pub(super) fn in_use(&self, shape: Shape) -> usize {
        shape.slots - self.free
    }

    /// Takes up to so many free slots, by their addresses.
    ///
    /// # Safety
    /// The chunk is of this shape, and nobody else is at it.
    pub(super) unsafe fn take(
        chunk: NonNull<Self>,
        shape: Shape,
        most: usize,
        mut each: impl FnMut(NonNull<u8>),
    ) {
        // SAFETY: the caller's promise.
        let this = unsafe { &mut *chunk.as_ptr() };
        this.given_back = false;
        let n = this.free.min(most);
        this.free -= n;
        for _ in 0..n {
            let word = this.filled.trailing_zeros() as usize;
            let bit = this.words[word].trailing_zeros() as usize;
            this.words[word] &= this.words[word] - 1;
            if this.words[word] == 0 {
                this.filled &= this.filled - 1;
            }
            let offset = shape.first + (word * 64 + bit) * shape.size;
            // SAFETY: inside the chunk.
            each(unsafe { chunk.cast::<u8>().add(offset) });
        }
    }

    /// A slot is free.
    ///
    /// # Safety
    /// The chunk is of this shape, nobody else is at it, and the slot is one of it that was taken.
    pub(super) unsafe fn put(chunk: NonNull<Self>, shape: Shape, slot: NonNull<u8>) {
        // SAFETY: the caller's promise.
        let this = unsafe { &mut *chunk.as_ptr() };
        let index = (slot.addr().get() - chunk.addr().get() - shape.first) / shape.size;
        debug_assert_eq!(this.words[index / 64] >> (index % 64) & 1, 0, "free twice");
        this.words[index / 64] |= 1 << (index % 64);
        this.filled |= 1 << (index / 64);
        this.free += 1;
    }

    /// Drops the pages, but the first, of a chunk that is free from end to end. Its slots read as zero afterwards,
    /// or as they were: either way a task's has the state free. Bytes.
    ///
    /// # Safety
    /// As for `take`.
    pub(super) unsafe fn give_back(chunk: NonNull<Self>, shape: Shape) -> usize {
        // SAFETY: the caller's promise.
        let this = unsafe { &mut *chunk.as_ptr() };
        if this.free < shape.slots || this.given_back {
            return 0;
        }
        // SAFETY: the pages are of the chunk, and hold free slots alone.
        this.given_back = unsafe { drop_pages(chunk.cast().add(PAGE), shape.bytes - PAGE) };
        if this.given_back {
            shape.bytes - PAGE
        } else {
            0
        }
    }
}

/// Zeroed memory, aligned to what a chunk of small slots is, or, if it is larger, to a page.
fn map(bytes: usize) -> NonNull<u8> {
    let align = if bytes > CHUNK { PAGE } else { CHUNK };
    let layout = Layout::from_size_align(bytes, align).expect("sizes are small and whole pages");
    #[cfg(unix)]
    let mapped = map_aligned(layout);
    #[cfg(not(unix))]
    // SAFETY: the layout has a size.
    let mapped = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) });
    mapped.unwrap_or_else(|| handle_alloc_error(layout))
}

#[cfg(unix)]
fn map_aligned(layout: Layout) -> Option<NonNull<u8>> {
    let (protection, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANON,
    );
    // The system aligns to pages; the rest is cut off.
    let spare = layout.align() - PAGE;
    let all = layout.size() + spare;
    // SAFETY: asks for new pages, and touches no others.
    let mapped = unsafe { libc::mmap(std::ptr::null_mut(), all, protection, flags, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return None;
    }
    let before = mapped.addr().next_multiple_of(layout.align()) - mapped.addr();
    let chunk = mapped.wrapping_byte_add(before);
    // SAFETY: what is cut off are whole pages that were just mapped, and nobody has them.
    unsafe {
        cut(mapped, before);
        cut(chunk.wrapping_byte_add(layout.size()), spare - before);
    }
    NonNull::new(chunk.cast())
}

/// # Safety
/// The pages are ours, and nobody uses them.
#[cfg(unix)]
unsafe fn cut(from: *mut libc::c_void, bytes: usize) {
    if bytes > 0 {
        // SAFETY: the caller's promise. If it fails, they are kept: nothing is wrong.
        unsafe { libc::munmap(from, bytes) };
    }
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
    use super::{CHUNK, Chunk, NonNull, PAGE, Shape};

    /// All shapes there are: multiples of 64 up to 1 KiB, powers of two from there.
    fn shapes() -> impl Iterator<Item = Shape> {
        let small = (1..=16).map(|lines| lines * 64);
        small.chain((11..20).map(|bits| 1 << bits)).map(Shape::of)
    }

    fn take(chunk: NonNull<Chunk>, shape: Shape, most: usize) -> Vec<NonNull<u8>> {
        let mut taken = Vec::new();
        // SAFETY: the test's own chunk, of this shape.
        unsafe { Chunk::take(chunk, shape, most, |slot| taken.push(slot)) };
        taken
    }

    fn put(chunk: NonNull<Chunk>, shape: Shape, slot: NonNull<u8>) {
        // SAFETY: as above; the tests put each slot that they took, once.
        unsafe { Chunk::put(chunk, shape, slot) };
    }

    #[test]
    fn slots_lie_apart_aligned_inside_their_chunk_and_behind_its_head() {
        for shape in shapes() {
            let chunk = Chunk::map(shape);
            let start = chunk.addr().get();
            let mut free_from = start + size_of::<Chunk>();
            let slots: Vec<_> = Chunk::slots(chunk, shape).collect();
            assert!(!slots.is_empty());
            for &slot in &slots {
                let at = slot.addr().get();
                let aligned_to = if shape.size > 1024 { shape.size } else { 64 };
                assert_eq!(at % aligned_to.min(PAGE), 0, "{shape:?}");
                assert!(at >= free_from, "{shape:?}");
                free_from = at + shape.size;
                // SAFETY: a slot of this shape.
                assert_eq!(unsafe { Chunk::of(slot, shape) }, chunk, "{shape:?}");
            }
            assert!(free_from <= start + shape.bytes, "{shape:?}");
            assert!(start + shape.bytes - free_from < shape.size, "{shape:?}");
            assert_eq!(take(chunk, shape, usize::MAX), slots, "{shape:?}");
        }
    }

    #[test]
    fn what_was_given_back_comes_out_by_its_address_whatever_the_order() {
        let shape = Shape::of(128);
        let chunk = Chunk::map(shape);
        let all = take(chunk, shape, usize::MAX);
        // SAFETY: nobody else is at it.
        let has_free = || unsafe { chunk.as_ref() }.has_free();
        assert!(!has_free());
        assert_eq!(take(chunk, shape, 1), []);
        // Steps of a size that has no divisor with theirs: each slot once, shuffled.
        let shuffled: Vec<_> = (0..all.len()).map(|n| all[n * 1_009 % all.len()]).collect();
        shuffled.iter().for_each(|&slot| put(chunk, shape, slot));
        assert!(has_free());
        assert_eq!(take(chunk, shape, 70), all[..70]);
        put(chunk, shape, all[65]);
        put(chunk, shape, all[3]);
        assert_eq!(take(chunk, shape, 3), [all[3], all[65], all[70]]);
        assert_eq!(take(chunk, shape, usize::MAX), all[71..]);
        assert!(!has_free());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_pages_of_a_free_chunk_go_back_once_and_come_again_as_zeros() {
        for size in [1024, 2 * CHUNK] {
            let shape = Shape::of(size);
            let chunk = Chunk::map(shape);
            // SAFETY: the test's own chunk, of this shape.
            let give_back = || unsafe { Chunk::give_back(chunk, shape) };
            let slots = take(chunk, shape, usize::MAX);
            let last = *slots.last().unwrap();
            // SAFETY: the slot is ours.
            let word = unsafe { last.cast::<u64>().add(3) };
            // SAFETY: inside the slot.
            unsafe { word.write(7) };
            slots[1..].iter().for_each(|&slot| put(chunk, shape, slot));
            assert_eq!(give_back(), 0);
            put(chunk, shape, slots[0]);
            assert_eq!(give_back(), shape.bytes - PAGE);
            assert_eq!(give_back(), 0);
            assert_eq!(take(chunk, shape, usize::MAX), slots);
            // SAFETY: as above.
            assert_eq!(unsafe { word.read() }, 0);
            slots.iter().for_each(|&slot| put(chunk, shape, slot));
            assert_eq!(give_back(), shape.bytes - PAGE);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_chunk_that_the_system_does_not_take_is_asked_for_again() {
        let shape = Shape::of(2 * CHUNK);
        let chunk = Chunk::map(shape);
        // SAFETY: the chunk is ours and stays mapped.
        if unsafe { libc::mlock(chunk.as_ptr().cast(), shape.bytes) } != 0 {
            println!("not tried: no memory may be locked here");
            return;
        }
        // SAFETY: the test's own chunk, of this shape.
        let give_back = || unsafe { Chunk::give_back(chunk, shape) };
        assert_eq!(give_back(), 0);
        // SAFETY: as above.
        unsafe { libc::munlock(chunk.as_ptr().cast(), shape.bytes) };
        assert_eq!(give_back(), shape.bytes - PAGE);
    }
}
