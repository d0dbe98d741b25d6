//! Allocations, counted only while a sample asks for it.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

static COUNTING: AtomicBool = AtomicBool::new(false);
static BYTES: AtomicU64 = AtomicU64::new(0);
static COUNT: AtomicU64 = AtomicU64::new(0);

fn note(size: usize) {
    if COUNTING.load(Relaxed) {
        BYTES.fetch_add(size as u64, Relaxed);
        COUNT.fetch_add(1, Relaxed);
    }
}

/// An allocator that counts.
#[derive(Debug)]
pub struct Counting<A>(pub A);

// SAFETY: every call goes to `A` unchanged.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counting<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promise.
        unsafe { self.0.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promise.
        unsafe { self.0.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: the caller's promise.
        unsafe { self.0.realloc(ptr, layout, size) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { self.0.dealloc(ptr, layout) }
    }
}

/// Starts or stops the counting.
pub fn count(on: bool) {
    COUNTING.store(on, Relaxed);
}

/// Bytes and number of the allocations counted since the process began.
pub fn counted() -> (u64, u64) {
    (BYTES.load(Relaxed), COUNT.load(Relaxed))
}

/// The fields of a sample that say what was counted since `before`.
pub fn since(before: (u64, u64)) -> String {
    let (bytes, count) = counted();
    let (bytes, count) = (bytes - before.0, count - before.1);
    format!(",\"alloc_bytes\":{bytes},\"alloc_count\":{count}")
}

/// Does something. If allocations are asked for, says how many it made, as the end of a sample.
pub(crate) fn during<T>(asked: bool, act: impl FnOnce() -> T) -> (T, String) {
    let before = counted();
    count(asked);
    let done = act();
    count(false);
    let said = asked.then(|| since(before));
    (done, said.unwrap_or_default())
}
