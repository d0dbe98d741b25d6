//! `primitive/lock.rs`: one at a time, and each sees what the one before did.
//!
//! Tries instead of waiting: a wait is tries until one succeeds. All other models use a lock of
//! loom's in its place.

use std::sync::Arc;

use super::{explore, fork, seen};
use crate::primitive::atomic::{AtomicBool, Ordering};
use crate::primitive::{Spin, UnsafeCell};

#[test]
fn a_lock_excludes_and_publishes() {
    explore("lock", &["free", "held", "second"], || {
        let shared = Arc::new((Spin::new(), UnsafeCell::new(0)));
        let attempt = |shared: &(Spin, UnsafeCell<u32>)| {
            for _ in 0..2 {
                if shared.0.try_lock(1) != 0 {
                    seen("held");
                    continue;
                }
                // SAFETY: loom fails the model if two are here at once, or unordered.
                let n = shared.1.with_mut(|n| unsafe {
                    *n += 1;
                    *n
                });
                seen(if n == 1 { "free" } else { "second" });
                shared.0.unlock();
            }
        };
        let others = [(); 2].map(|()| {
            let shared = Arc::clone(&shared);
            fork(move || attempt(&shared))
        });
        attempt(&shared);
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

#[test]
fn who_finds_a_lock_free_comes_after_its_holder() {
    explore("lock/free", &["held", "free"], || {
        let shared = Arc::new((Spin::new(), AtomicBool::new(false)));
        let holder = Arc::clone(&shared);
        let holder = fork(move || {
            assert_eq!(holder.0.try_lock(1), 0);
            holder.1.store(true, Ordering::Release);
            holder.0.unlock();
        });
        if shared.1.load(Ordering::Acquire) {
            let held = shared.0.is_held();
            assert!(held || shared.0.is_over());
            seen(if held { "held" } else { "free" });
        }
        holder.join().unwrap();
    });
}
