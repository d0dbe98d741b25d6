//! Timers for waits that do not run on a worker: one set behind a mutex, one small thread.
//!
//! The thread starts with the first such timer and sleeps while there is none due. A timer that comes due after it would
//! wake anyway does not wake it: most are cancelled before.

use std::ptr::NonNull;
use std::task::Waker;
use std::time::Duration;

use super::timers::{Deadline, Node, Timers};
use super::{Instant, clock};
use crate::primitive::{Condvar, Mutex, MutexGuard, OnceLock, lock, thread};

struct Outside {
    kept: Mutex<Kept>,
    sooner: Condvar,
}

#[derive(Default)]
struct Kept {
    timers: Timers,
    /// The thread sleeps until then, and looks at all timers before it sleeps again; `None`: it does not sleep.
    sleeps: Option<Instant>,
}

impl Kept {
    /// Is the thread to wake for it? Takes back what was cancelled on workers, for which it does not wake either.
    fn arm(&mut self, at: Instant, waker: Waker) -> (NonNull<Node>, bool) {
        self.timers.take_cancelled();
        let node = self.timers.arm(Deadline::At(at), waker);
        (node, self.sleeps.is_some_and(|until| at < until))
    }
}

static OUTSIDE: OnceLock<&'static Outside> = OnceLock::new();

fn outside() -> &'static Outside {
    OUTSIDE.get_or_init(|| {
        let outside: &'static Outside = Box::leak(Box::new(Outside {
            kept: Mutex::default(),
            sooner: Condvar::new(),
        }));
        thread::Builder::new()
            .name("tidings-timer".into())
            .spawn(move || run(outside))
            .expect("the system starts one more thread, for timers");
        outside
    })
}

pub(super) fn arm(deadline: Deadline, waker: Waker) -> NonNull<Node> {
    let outside = outside();
    // Relative deadlines are fixed here: nobody looks at the clock for us soon.
    let at = match deadline {
        Deadline::After(duration) => clock::system().saturating_add(duration),
        Deadline::At(at) => at,
    };
    let (node, is_sooner) = lock(&outside.kept).arm(at, waker);
    if is_sooner {
        outside.sooner.notify_one();
    }
    node
}

/// Cancels a timer that was armed outside: `Some` if it was, with the waker to drop.
pub(super) fn cancel(node: NonNull<Node>) -> Option<Option<Waker>> {
    let outside = OUTSIDE.get()?;
    let timers = &mut lock(&outside.kept).timers;
    // SAFETY: the wait keeps the node.
    let ours = timers.owns(unsafe { node.as_ref() });
    ours.then(|| timers.cancel(node))
}

fn run(outside: &'static Outside) {
    let (mut due, mut dead) = (Vec::new(), Vec::new());
    loop {
        let mut kept = lock(&outside.kept);
        let now = clock::system();
        kept.timers.refresh(now, &mut due, &mut dead);
        if due.is_empty() && dead.is_empty() {
            let next = kept.timers.next();
            // What never comes due wakes nobody.
            kept.sleeps = Some(next.unwrap_or(Instant::from_nanos(u64::MAX)));
            let wait = next.map_or(Duration::MAX, |next| next.saturating_since(now));
            wait_on(outside, kept, wait).sleeps = None;
            continue;
        }
        drop(kept);
        // A foreign waker may panic: the timers must go on.
        crate::task::drop_quietly(dead.drain(..));
        crate::task::wake_quietly(due.drain(..));
    }
}

fn wait_on<'a>(
    outside: &'static Outside,
    kept: MutexGuard<'a, Kept>,
    wait: Duration,
) -> MutexGuard<'a, Kept> {
    if wait == Duration::MAX {
        return outside.sooner.wait(kept).unwrap_or_else(|e| e.into_inner());
    }
    outside
        .sooner
        .wait_timeout(kept, wait)
        .unwrap_or_else(|e| e.into_inner())
        .0
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::task::Waker;

    use super::{Instant, Kept};

    #[test]
    fn a_timer_wakes_the_thread_only_where_it_sleeps_longer_than_that() {
        let mut kept = Kept::default();
        let mut wakes = |sleeps: Option<u64>, at| {
            kept.sleeps = sleeps.map(Instant::from_nanos);
            let at = Instant::from_nanos(at);
            let (node, wakes) = kept.arm(at, Waker::noop().clone());
            assert!(kept.timers.cancel(node).is_some());
            wakes
        };
        assert!(wakes(Some(100), 99));
        assert!(!wakes(Some(100), 100) && !wakes(Some(100), u64::MAX));
        assert!(wakes(Some(u64::MAX), 100) && !wakes(Some(u64::MAX), u64::MAX));
        assert!(!wakes(None, 1), "it looks anyway");
    }
}
