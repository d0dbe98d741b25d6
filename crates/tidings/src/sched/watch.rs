//! Somebody is awake while a worker works: the alarm behind `rescue`.
//!
//! What waits privately behind a long poll is rescued by a neighbour that sleeps with a timeout
//! (search.rs): of all sleepers that which has slept longest. But workers that fell asleep when all was quiet, or while
//! another kept watch, sleep without one, and waking a second worker for every task that comes costs 12 us. So the
//! worker that breaks the quiet, or kept watch and has something to do now, sets an alarm: a kernel timer, one system
//! call of half a microsecond, which nobody takes back. One thread of the process waits for it, and wakes a sleeper of
//! each runtime that has not been quiet since; that one keeps watch from then on. Where all slept meanwhile nobody is in a long poll: the
//! alarm is set anew for who left the quiet last. A runtime that is idle sets no alarm, nor does one whose sleeper keeps watch
//! already: two threads woken each 2 ms cost two busy processes on two cores a seventh of what they did (links).

use std::time::Duration;

use super::Shared;
use super::living::Living;
use crate::primitive::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::primitive::{Alarm, Arc, OnceLock, sleep, thread};
use crate::time::{self, Instant};

/// From the alarm's setting to the look.
const DELAY: Duration = Duration::from_millis(2);

/// One runtime's part of it.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// An alarm is set and has not rung.
    set: AtomicBool,
    /// When a worker left the quiet last, ns.
    left: AtomicU64,
}

struct Watcher {
    runtimes: Living<Shared>,
    alarm: Alarm,
}

static WATCHER: OnceLock<Option<&'static Watcher>> = OnceLock::new();

/// Starts the process's watcher, if it is not there, and has it watch this runtime too.
pub(super) fn register(shared: &Arc<Shared>) {
    let watcher = WATCHER.get_or_init(|| {
        let alarm = Alarm::new().ok()?;
        let runtimes = Living::default();
        let watcher: &'static Watcher = Box::leak(Box::new(Watcher { runtimes, alarm }));
        let name = "tidings-watch".into();
        thread::Builder::new()
            .name(name)
            .spawn(|| watcher.run())
            .ok()?;
        Some(watcher)
    });
    if let Some(watcher) = watcher {
        watcher.runtimes.add(shared);
    }
}

impl Watcher {
    fn run(&self) {
        loop {
            if self.alarm.wait().is_err() {
                // Not seen to happen; if it does, a look every second is better than none.
                sleep(Duration::from_secs(1));
            }
            let runtimes = self.runtimes.all();
            if let Some(again) = runtimes.iter().filter_map(|shared| shared.ring()).min() {
                self.alarm.set(again);
            }
        }
    }
}

impl Shared {
    /// A worker has something to do, and may leave others asleep that keep no watch. `left`: the time, if
    /// nobody had anything to do before.
    #[inline]
    pub(super) fn set_alarm(&self, left: Option<Instant>) {
        if !self.idle.has_sleepers() || self.idle.is_watched() {
            return;
        }
        if let Some(left) = left {
            // RELAXED: of the clock.
            self.watch.left.store(left.as_nanos(), Ordering::Relaxed);
        }
        // RELAXED: a race sets the alarm twice.
        if !self.watch.set.load(Ordering::Relaxed) {
            match WATCHER.get() {
                Some(Some(watcher)) => {
                    self.watch.set.store(true, Ordering::Relaxed);
                    watcher.alarm.set(DELAY);
                }
                // Without an alarm the price is a wake-up.
                _ => self.have_watched(),
            }
        }
    }

    /// The alarm: if nobody has left the quiet since, one sleeper gets up to keep watch. Else gives when
    /// to ring again.
    fn ring(&self) -> Option<Duration> {
        // RELAXED: whoever sees that an alarm is set is heeded: it rings again, or somebody watches.
        if !self.watch.set.swap(false, Ordering::Relaxed) {
            return None;
        }
        let left = Instant::from_nanos(self.watch.left.load(Ordering::Relaxed));
        let again = DELAY.saturating_sub(time::system().saturating_since(left));
        if again.is_zero() {
            self.have_watched();
            return None;
        }
        self.watch.set.store(true, Ordering::Relaxed);
        Some(again)
    }

    /// A sleeper keeps watch from here on.
    fn have_watched(&self) {
        if let Some(keeper) = self.idle.keeper() {
            self.unpark(keeper);
        }
    }
}
