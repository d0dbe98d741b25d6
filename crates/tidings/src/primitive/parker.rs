//! Stops one thread until another says go.

use std::task::Wake;
use std::time::Duration;

use super::Arc;
use super::atomic::{AtomicU8, Ordering};
use super::thread::{self, Thread};

/// Nothing was said to the thread.
const QUIET: u8 = 0;
/// It was unparked, and has not heard it: the token.
const TOLD: u8 = 1;
/// As `QUIET`, and it waits in another place than `park`.
const AWAY: u8 = 2;
/// Beside `QUIET` or `TOLD`: it was nudged, and has not heard it.
const NUDGED: u8 = 4;

/// What has been said to a thread since it last heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Nothing,
    /// It is to look at what is beside that for which it is unparked.
    Nudge,
    /// Both of it, perhaps.
    Unpark,
}

/// Parks the thread that made it; any thread may unpark it.
///
/// Holds a token of its own, so an unpark before the park is not lost, and neither is one that
/// foreign code on this thread swallows with a `thread::park` of its own.
///
/// A thread that waits for sockets waits in the system's poller. It says so here, and whoever
/// unparks it is told to wake the poller: the token and the place are one word, so that neither
/// is seen without the other.
///
/// One who waits for two things is unparked for the one and nudged for the other, so that a nudge
/// does not have it look at the first; after an unpark it looks at both.
#[derive(Debug)]
pub(crate) struct Parker {
    token: AtomicU8,
    sleeper: Sleeper,
}

impl Parker {
    pub(crate) fn current() -> Self {
        Self {
            token: AtomicU8::new(QUIET),
            sleeper: Sleeper::current(),
        }
    }

    /// `true`: the thread has gone away, and the caller must wake it where it is.
    pub(crate) fn unpark(&self) -> bool {
        // ORD parker.token: acquire and release; pairs with park, and with leave.
        match self.token.swap(TOLD, Ordering::AcqRel) {
            QUIET => self.sleeper.unpark(),
            AWAY => return true,
            _ => {}
        }
        false
    }

    /// Was it unparked, and has not heard it?
    pub(crate) fn is_told(&self) -> bool {
        // RELAXED: a look now and then.
        self.token.load(Ordering::Relaxed) & TOLD != 0
    }

    /// Waits for the token and takes it. Only the thread that made the parker may call it.
    pub(crate) fn park(&self) {
        // ORD parker.token: acquire; pairs with unpark.
        while self.token.swap(QUIET, Ordering::Acquire) != TOLD {
            self.sleeper.park();
        }
    }

    /// As `park`, but gives up after `duration`, or earlier for no reason.
    pub(crate) fn park_timeout(&self, duration: Duration) {
        if self.token.swap(QUIET, Ordering::Acquire) != TOLD {
            thread::park_timeout(duration);
            self.token.swap(QUIET, Ordering::Acquire);
        }
    }

    /// As `unpark`, for what is beside that for which others unpark it. It is not `park` that it waits in, but
    /// [`listen`](Self::listen).
    pub(crate) fn nudge(&self) {
        // ORD parker.nudge: release; pairs with hear, also before an unpark, and after one that was not heard yet.
        if self.token.fetch_or(NUDGED, Ordering::Release) == QUIET {
            self.sleeper.unpark();
        }
    }

    /// Takes the token. Only the thread that made the parker may call it.
    pub(crate) fn hear(&self) -> Heard {
        // ORD parker.token: acquire; pairs with unpark, and with nudge.
        match self.token.swap(QUIET, Ordering::Acquire) {
            QUIET => Heard::Nothing,
            NUDGED => Heard::Nudge,
            _ => Heard::Unpark,
        }
    }

    /// As `park`, and a nudge ends it, too; so does the end of `timeout`, or, if one is given, no reason.
    pub(crate) fn listen(&self, timeout: Option<Duration>) -> Heard {
        let mut heard = self.hear();
        while heard == Heard::Nothing {
            match timeout {
                None => self.sleeper.park(),
                Some(timeout) => thread::park_timeout(timeout),
            }
            heard = self.hear();
            if timeout.is_some() {
                break;
            }
        }
        heard
    }

    /// From here to [`come_back`](Self::come_back) the thread waits in another place, where
    /// whoever unparks it must be able to wake it. `false`: it was unparked before, the token is
    /// taken, and it must not go.
    #[cfg(any(
        all(feature = "net", any(unix, windows), not(any(loom, shuttle))),
        all(test, not(shuttle))
    ))]
    pub(crate) fn leave(&self) -> bool {
        // ORD parker.leave: release; pairs with unpark, which sees the place that we wait in.
        let left = self
            .token
            .compare_exchange(QUIET, AWAY, Ordering::Release, Ordering::Relaxed);
        if left.is_err() {
            self.come_back();
        }
        left.is_ok()
    }

    /// Takes the token, if it is there.
    #[cfg(any(
        all(feature = "net", any(unix, windows), not(any(loom, shuttle))),
        all(test, not(shuttle))
    ))]
    pub(crate) fn come_back(&self) {
        // ORD parker.come_back: acquire; pairs with unpark.
        self.token.swap(QUIET, Ordering::Acquire);
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
        self.wake_by_ref();
    }
    fn wake_by_ref(self: &Arc<Self>) {
        let away = self.unpark();
        debug_assert!(!away, "a parker that is a waker is only parked");
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::*;
    use crate::primitive::atomic::AtomicBool;

    #[test]
    fn a_park_with_a_timeout_takes_the_token_so_that_the_next_wait_is_one() {
        let parker = Parker::current();
        assert!(!parker.unpark());
        parker.park_timeout(Duration::from_secs(3600));
        assert!(parker.leave());
        assert!(parker.unpark(), "it is away");
    }

    #[test]
    fn a_thread_hears_what_was_said_to_it_once() {
        let parker = Parker::current();
        assert_eq!(parker.listen(Some(Duration::ZERO)), Heard::Nothing);
        parker.nudge();
        parker.nudge();
        assert_eq!(parker.listen(None), Heard::Nudge);
        assert_eq!(parker.hear(), Heard::Nothing);
        for nudged in [false, true] {
            parker.unpark();
            if nudged {
                parker.nudge();
            }
            assert_eq!(parker.hear(), Heard::Unpark, "it looks at both");
            assert_eq!(parker.hear(), Heard::Nothing);
        }
        // A nudge that it has not heard does not keep an unpark from it.
        parker.nudge();
        parker.unpark();
        parker.park();
        assert_eq!(parker.hear(), Heard::Nothing);
    }

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
