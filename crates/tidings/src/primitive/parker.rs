//! Stops one thread until another says go.

use std::task::Wake;
use std::time::Duration;

use super::Arc;
use super::atomic::{AtomicBool, Ordering};
use super::thread::{self, Thread};

/// Parks the thread that made it; any thread may unpark it.
///
/// Holds a token of its own, so an unpark before the park is not lost, and neither is one that
/// foreign code on this thread swallows with a `thread::park` of its own.
#[derive(Debug)]
pub(crate) struct Parker {
    token: AtomicBool,
    sleeper: Sleeper,
}

impl Parker {
    pub(crate) fn current() -> Self {
        Self {
            token: AtomicBool::new(false),
            sleeper: Sleeper::current(),
        }
    }

    pub(crate) fn unpark(&self) {
        // ORD parker.token: release; pairs with park.
        if !self.token.swap(true, Ordering::Release) {
            self.sleeper.unpark();
        }
    }

    /// Waits for the token and takes it. Only the thread that made the parker may call it.
    pub(crate) fn park(&self) {
        // ORD parker.token: acquire; pairs with unpark.
        while !self.token.swap(false, Ordering::Acquire) {
            self.sleeper.park();
        }
    }

    /// As `park`, but gives up after `duration`, or earlier for no reason.
    pub(crate) fn park_timeout(&self, duration: Duration) {
        if !self.token.swap(false, Ordering::Acquire) {
            thread::park_timeout(duration);
            self.token.swap(false, Ordering::Acquire);
        }
    }
}

/// A thread that parks; an unpark before the park ends it, as the standard library's does.
#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) struct Sleeper(Thread);

#[cfg(not(loom))]
impl Sleeper {
    pub(crate) fn current() -> Self {
        Self(thread::current())
    }
    #[inline(always)]
    pub(crate) fn unpark(&self) {
        self.0.unpark();
    }
    #[inline(always)]
    pub(crate) fn park(&self) {
        thread::park();
    }
}

/// As above. loom's `unpark` would end waits of the thread for a lock or a join too, so it is
/// only called while the thread is parked here; between a look at a token and the park loom
/// runs no other thread.
#[cfg(loom)]
#[derive(Debug)]
pub(crate) struct Sleeper(Thread, std::sync::atomic::AtomicBool);

#[cfg(loom)]
impl Sleeper {
    pub(crate) fn current() -> Self {
        Self(thread::current(), Default::default())
    }
    pub(crate) fn unpark(&self) {
        if self.1.load(Ordering::SeqCst) {
            self.0.unpark();
        }
    }
    pub(crate) fn park(&self) {
        self.1.store(true, Ordering::SeqCst);
        thread::park();
        self.1.store(false, Ordering::SeqCst);
    }
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.unpark();
    }
    fn wake_by_ref(self: &Arc<Self>) {
        self.unpark();
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::*;

    #[test]
    fn a_park_goes_on_when_its_thread_is_woken_for_no_reason() {
        let parker = Arc::new(Parker::current());
        let told = Arc::new(AtomicBool::new(false));
        thread::current().unpark();
        let (other, tell) = (Arc::clone(&parker), Arc::clone(&told));
        let unparker = thread::spawn(move || {
            tell.store(true, Ordering::Relaxed);
            other.unpark();
        });
        parker.park();
        assert!(told.load(Ordering::Relaxed));
        unparker.join().unwrap();
    }
}
