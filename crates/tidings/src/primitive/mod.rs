//! The one door to threads, atomics and cells: std, loom or shuttle when they explore, and std as
//! ThreadSanitizer can see it.
//!
//! Nothing else in the crate names `std::sync::atomic`, `std::thread` or `UnsafeCell`, so a model
//! explores the code that ships; but for a few statics that count and order nothing, which an atomic
//! of loom cannot be (`cargo x tidy` checks it, and lists them).
//!
//! | file | what |
//! |---|---|
//! | `lock.rs` | the byte lock |
//! | `leaning.rs`, `biased.rs` | locks that cost nothing, or little, to the worker that uses them most |
//! | `barrier.rs`, `section.rs` | what those are made of: a pair of barriers; where a thread is |
//! | `parker.rs`, `alarm.rs` | stopping a thread; a timer of the system's |
//! | `slab.rs`, `chunk.rs` | memory for tasks and channels: slots by size class |
//! | `small_box.rs` | a trait object that lies in place if it is small |
//! | `cell.rs` | `UnsafeCell`, as loom sees it |
//! | `padded.rs`, `prefetch.rs` | where values lie, and when they are asked for |
//! | `tsan.rs` | std's locks, as ThreadSanitizer sees them |

mod alarm;
mod barrier;
mod biased;
mod cell;
mod chunk;
mod leaning;
mod lock;
mod padded;
mod parker;
#[cfg(any(
    feature = "remote",
    all(feature = "net", any(unix, windows), not(any(loom, shuttle)))
))]
pub(crate) mod prefetch;
mod section;
pub(crate) mod slab;
#[cfg(feature = "remote")]
pub(crate) mod small_box;
#[cfg(tidings_tsan)]
mod tsan;

pub(crate) use alarm::Alarm;
pub(crate) use biased::Biased;
pub(crate) use cell::UnsafeCell;
#[cfg(loom)]
pub(crate) use cell::freed;
#[cfg(any(test, not(loom)))]
pub(crate) use leaning::LeaningLock;
pub(crate) use leaning::{Me, Met, Seat};
#[cfg(all(test, loom))]
pub(crate) use lock::Spin;
pub(crate) use lock::{ANYBODY, RawLock, SpinLock};
pub(crate) use padded::CachePadded;
#[cfg(all(test, loom))]
pub(crate) use parker::Sleeper;
pub(crate) use parker::{Heard, Parker};
pub(crate) use section::Section;

#[cfg(not(any(loom, shuttle)))]
mod imp {
    #[cfg(tidings_tsan)]
    pub(crate) use super::tsan::{Condvar, Mutex, MutexGuard, OnceLock};
    pub(crate) use std::sync::{Arc, PoisonError, Weak};
    #[cfg(not(tidings_tsan))]
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, OnceLock};
    pub(crate) use std::thread;
    pub(crate) mod atomic {
        #[cfg(tidings_tsan)]
        pub(crate) use crate::primitive::tsan::fence;
        #[cfg(not(tidings_tsan))]
        pub(crate) use std::sync::atomic::fence;
        pub(crate) use std::sync::atomic::{
            AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering,
        };
    }
}

#[cfg(loom)]
mod imp {
    pub(crate) mod thread {
        pub(crate) use loom::thread::ThreadId;
        pub(crate) use loom::thread::{Builder, JoinHandle, Thread, current, park, yield_now};
        pub(crate) use std::thread::available_parallelism;
        pub(crate) use std::thread::panicking;

        /// A model has no time: any wait may be over at once.
        pub(crate) fn park_timeout(_: std::time::Duration) {
            yield_now();
        }
    }
    // Types that no model explores stay std's: `Arc` and `Mutex` are not ours to prove.
    pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
    pub(crate) mod atomic {
        pub(crate) use loom::sync::atomic::{
            AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
        };
    }
}

#[cfg(shuttle)]
mod imp {
    pub(crate) mod thread {
        pub(crate) use shuttle::thread::ThreadId;
        pub(crate) use shuttle::thread::{
            Builder, JoinHandle, Thread, current, park, park_timeout, yield_now,
        };
        pub(crate) use std::thread::{available_parallelism, panicking};
    }
    // Its own locks: a thread that holds one may be stopped at an atomic, and others come to the lock.
    pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};
    pub(crate) use std::sync::{Arc, OnceLock, PoisonError, Weak};
    pub(crate) mod atomic {
        pub(crate) use shuttle::sync::atomic::{
            AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
        };
    }
}

pub(crate) use imp::{
    Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak, atomic, thread,
};

/// Thread-locals of the threads that are explored: shuttle's share one thread of the system.
#[cfg(shuttle)]
pub(crate) use shuttle::thread_local;
#[cfg(not(shuttle))]
pub(crate) use std::thread_local;

/// The mutex of protocols that a model explores; `Mutex` above stays std's under loom.
pub(crate) mod explored {
    #[cfg(not(loom))]
    pub(crate) use super::{Mutex, MutexGuard};
    #[cfg(loom)]
    pub(crate) use loom::sync::{Mutex, MutexGuard};

    /// As [`super::lock`].
    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(super::PoisonError::into_inner)
    }
}

/// The mutex of what is kept from one exploration to the next: shuttle's own is of one schedule.
pub(crate) mod lasting {
    #[cfg(shuttle)]
    pub(crate) use std::sync::Mutex;

    #[cfg(not(shuttle))]
    pub(crate) use super::{Mutex, lock};

    #[cfg(shuttle)]
    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
        mutex.lock().expect("nothing panics under this lock")
    }
}

/// What an exploration draws in the place of chance: a number below `n`. loom has no chance.
#[inline(always)]
pub(crate) fn drawn(n: usize) -> Option<usize> {
    #[cfg(loom)]
    return (n > 0).then_some(0);
    #[cfg(shuttle)]
    return Some(shuttle::rand::Rng::gen_range(
        &mut shuttle::rand::thread_rng(),
        0..n,
    ));
    #[cfg(not(any(loom, shuttle)))]
    {
        let _ = n;
        None
    }
}

// Also in a model, none of which gets to it: loom has no time.
pub(crate) use std::thread::sleep;

/// Locks a mutex whose holder may have panicked: our critical sections leave no torn state.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One step of waiting for a lock or a peer that is about to be done.
///
/// Spins first; then gives the core away, because the holder may be preempted (more threads
/// than cores).
pub(crate) fn relax(step: &mut u32) {
    #[cfg(any(loom, shuttle))]
    {
        let _ = step;
        thread::yield_now();
    }
    #[cfg(not(any(loom, shuttle)))]
    {
        if *step < 6 {
            for _ in 0..1u32 << *step {
                std::hint::spin_loop();
            }
        } else {
            thread::yield_now();
        }
        *step += 1;
    }
}
