//! Somebody is awake while a worker works: the alarm behind `rescue`.
//!
//! What waits privately behind a long poll is rescued by a neighbour that sleeps with a timeout
//! (search.rs). But workers that fell asleep when all was quiet sleep without one, and waking a
//! second worker for every task that comes costs 12 us. So the worker that breaks the quiet sets
//! an alarm: a kernel timer, one system call of half a microsecond, which nobody takes back. One
//! thread of the process waits for it, and wakes a sleeper of each runtime that is still busy;
//! that one keeps watch from then on. A runtime that is idle sets no alarm.

use std::time::Duration;

use super::Shared;
use crate::primitive::atomic::{AtomicBool, Ordering};
use crate::primitive::{Alarm, Arc, Mutex, OnceLock, Weak, lock, sleep, thread};

/// From the alarm's setting to the look.
const DELAY: Duration = Duration::from_millis(2);

/// One runtime's part of it.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// An alarm is set and has not rung.
    set: AtomicBool,
}

struct Watcher {
    runtimes: Mutex<Vec<Weak<Shared>>>,
    alarm: Alarm,
}

static WATCHER: OnceLock<Option<&'static Watcher>> = OnceLock::new();

/// Starts the process's watcher, if it is not there, and has it watch this runtime too.
pub(super) fn register(shared: &Arc<Shared>) {
    let watcher = WATCHER.get_or_init(|| {
        let alarm = Alarm::new().ok()?;
        let runtimes = Mutex::new(Vec::new());
        let watcher: &'static Watcher = Box::leak(Box::new(Watcher { runtimes, alarm }));
        let name = "tidings-watch".into();
        thread::Builder::new()
            .name(name)
            .spawn(|| watcher.run())
            .ok()?;
        Some(watcher)
    });
    if let Some(watcher) = watcher {
        lock(&watcher.runtimes).push(Arc::downgrade(shared));
    }
}

impl Watcher {
    fn run(&self) {
        loop {
            if self.alarm.wait().is_err() {
                // Not seen to happen; if it does, a look every second is better than none.
                sleep(Duration::from_secs(1));
            }
            let mut busy = Vec::new();
            lock(&self.runtimes).retain(|runtime| match runtime.upgrade() {
                Some(shared) => {
                    busy.push(shared);
                    true
                }
                None => false,
            });
            busy.iter().for_each(|shared| shared.ring());
        }
    }
}

impl Shared {
    /// A worker leaves the quiet, and may leave others asleep that keep no watch.
    #[inline]
    pub(super) fn set_alarm(&self) {
        // RELAXED: a race sets the alarm twice.
        if self.idle.has_sleepers() && !self.watch.set.load(Ordering::Relaxed) {
            self.watch.set.store(true, Ordering::Relaxed);
            match WATCHER.get() {
                Some(Some(watcher)) => watcher.alarm.set(DELAY),
                // Without an alarm the price is a wake-up.
                _ => self.ring(),
            }
        }
    }

    /// The alarm: if somebody is still busy, one sleeper gets up to keep watch.
    fn ring(&self) {
        if self.watch.set.swap(false, Ordering::Relaxed)
            && let Some(sleeper) = self.idle.any_sleeper()
        {
            self.unpark(sleeper);
        }
    }
}
