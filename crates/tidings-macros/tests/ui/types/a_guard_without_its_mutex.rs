//! The guard of a mutex borrows it.

use tidings::sync::{Mutex, MutexGuard};

fn lock<'a>() -> Option<MutexGuard<'a, u8>> {
    let mutex = Mutex::new(1);
    mutex.try_lock()
}

fn main() {
    drop(lock());
}
