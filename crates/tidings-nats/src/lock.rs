//! The locks of this crate.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex whose holder may have panicked: what our critical sections leave is whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
