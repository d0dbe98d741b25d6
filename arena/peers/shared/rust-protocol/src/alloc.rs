//! The timed part of a sample, and allocations, counted only in timed parts of samples that ask for it.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A sample that wants its allocations counted is under way.
static ASKED: AtomicBool = AtomicBool::new(false);
/// Timed parts that count.
static COUNTING: AtomicU32 = AtomicU32::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
static COUNT: AtomicU64 = AtomicU64::new(0);

fn note(size: usize) {
    if COUNTING.load(Relaxed) > 0 {
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

/// The clock of a sample, from `start` to `stop` or where it is dropped: what is done meanwhile is timed, and has its
/// allocations counted if the sample wants that.
#[derive(Debug)]
pub struct Stopwatch {
    counting: bool,
    at: Instant,
}

impl Stopwatch {
    #[must_use]
    pub fn start() -> Self {
        let counting = ASKED.load(Relaxed);
        if counting {
            COUNTING.fetch_add(1, Relaxed);
        }
        Self {
            counting,
            at: Instant::now(),
        }
    }

    /// How long it took.
    #[must_use]
    pub fn stop(self) -> Duration {
        self.at.elapsed()
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        if self.counting {
            COUNTING.fetch_sub(1, Relaxed);
        }
    }
}

/// Bytes and number of the allocations counted since the process began.
fn counted() -> (u64, u64) {
    (BYTES.load(Relaxed), COUNT.load(Relaxed))
}

/// Does something. If allocations are asked for, says how many its timed parts made, as the end of a sample.
pub(crate) fn during<T>(asked: bool, act: impl FnOnce() -> T) -> (T, String) {
    if !asked {
        return (act(), String::new());
    }
    let before = counted();
    ASKED.store(true, Relaxed);
    let done = act();
    ASKED.store(false, Relaxed);
    let after = counted();
    let (bytes, count) = (after.0 - before.0, after.1 - before.1);
    let said = format!(",\"alloc_bytes\":{bytes},\"alloc_count\":{count}");
    (done, said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: Counting<std::alloc::System> = Counting(std::alloc::System);

    #[test]
    fn what_is_not_timed_is_not_counted() {
        let large = || drop(std::hint::black_box(vec![0_u8; 1 << 20]));
        let sample = || {
            large();
            let watch = Stopwatch::start();
            drop(std::hint::black_box(vec![0_u8; 1 << 10]));
            let time = watch.stop();
            large();
            // A sample that fails half way ends its timed part, too.
            drop(Stopwatch::start());
            large();
            time
        };
        // Others in this process may allocate meanwhile, but not so much.
        let within = |bytes: u64| (1 << 10..1 << 20).contains(&bytes);
        let before = counted().0;
        let (_, said) = during(true, sample);
        let after = counted().0;
        assert!(within(after - before), "{said}");
        assert!(said.starts_with(",\"alloc_bytes\":"), "{said}");
        let (_, said) = during(false, sample);
        assert_eq!((said.as_str(), counted().0), ("", after));
    }
}
