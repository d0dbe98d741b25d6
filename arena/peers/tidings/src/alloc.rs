//! Allocations, counted only while a timed region of a sample with `alloc=1` runs.
//!
//! Off, it costs one relaxed load and a branch that is always predicted. On, two shared counters
//! are in everybody's way: the arena never uses the time of such a sample.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static ON: AtomicBool = AtomicBool::new(false);
static BYTES: AtomicU64 = AtomicU64::new(0);
static COUNT: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, which counts when a sample asks for it.
///
/// A program that links this crate and answers `alloc=1` makes it its global allocator:
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: tidings_peer::Counting = tidings_peer::Counting;
/// # fn main() {}
/// ```
#[derive(Debug)]
pub struct Counting;

/// Starts or stops the counting.
pub(crate) fn count(on: bool) {
    // RELAXED: the threads that must see it are woken by the one that sets it.
    ON.store(on, Ordering::Relaxed);
}

/// Bytes and number of allocations counted since the process began.
pub(crate) fn counted() -> (u64, u64) {
    // RELAXED: statistics.
    (BYTES.load(Ordering::Relaxed), COUNT.load(Ordering::Relaxed))
}

#[inline(always)]
fn note(size: usize) {
    // RELAXED: statistics.
    if ON.load(Ordering::Relaxed) {
        add(size);
    }
}

#[cold]
fn add(size: usize) {
    // RELAXED: statistics.
    BYTES.fetch_add(size as u64, Ordering::Relaxed);
    COUNT.fetch_add(1, Ordering::Relaxed);
}

// SAFETY: every call goes to `System` unchanged, and counting neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(place, layout, size) }
    }

    #[inline]
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }
}
