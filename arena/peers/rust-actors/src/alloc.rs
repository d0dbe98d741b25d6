//! Allocations, counted only while a sample asks for it.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

static COUNTING: AtomicBool = AtomicBool::new(false);
static BYTES: AtomicU64 = AtomicU64::new(0);
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Starts or stops the counting.
pub fn count(on: bool) {
    COUNTING.store(on, Relaxed);
}

/// Bytes and number of allocations counted so far.
pub fn counted() -> (u64, u64) {
    (BYTES.load(Relaxed), COUNT.load(Relaxed))
}

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
