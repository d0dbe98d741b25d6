//! Timers for waits that do not run on a worker: one set behind a mutex, one small thread.
//!
//! The thread starts with the first such timer and sleeps while there is none due.

use std::ptr::NonNull;
use std::task::Waker;
use std::time::Duration;

use super::clock;
use super::timers::{Deadline, Node, Timers};
use crate::primitive::{Condvar, Mutex, OnceLock, lock, thread};

struct Outside {
    timers: Mutex<Timers>,
    changed: Condvar,
}

static OUTSIDE: OnceLock<&'static Outside> = OnceLock::new();

fn outside() -> &'static Outside {
    OUTSIDE.get_or_init(|| {
        let outside: &'static Outside = Box::leak(Box::new(Outside {
            timers: Mutex::new(Timers::default()),
            changed: Condvar::new(),
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
    let deadline = match deadline {
        Deadline::After(duration) => Deadline::At(clock::system().saturating_add(duration)),
        at @ Deadline::At(_) => at,
    };
    let node = lock(&outside.timers).arm(deadline, waker);
    outside.changed.notify_one();
    node
}

/// Cancels a timer that was armed outside: `Some` if it was, with the waker to drop.
pub(super) fn cancel(node: NonNull<Node>) -> Option<Option<Waker>> {
    let outside = OUTSIDE.get()?;
    let mut timers = lock(&outside.timers);
    // SAFETY: the wait keeps the node.
    let ours = timers.owns(unsafe { node.as_ref() });
    ours.then(|| timers.cancel(node))
}

fn run(outside: &'static Outside) {
    let (mut due, mut dead) = (Vec::new(), Vec::new());
    loop {
        let mut timers = lock(&outside.timers);
        let now = clock::system();
        timers.refresh(now, &mut due, &mut dead);
        if due.is_empty() && dead.is_empty() {
            let wait = timers
                .next()
                .map_or(Duration::MAX, |next| next.saturating_since(now));
            drop(wait_on(outside, timers, wait));
            continue;
        }
        drop(timers);
        // A foreign waker may panic: the timers must go on.
        crate::task::drop_quietly(dead.drain(..));
        crate::task::wake_quietly(due.drain(..));
    }
}

fn wait_on<'a>(
    outside: &'static Outside,
    timers: crate::primitive::MutexGuard<'a, Timers>,
    wait: Duration,
) -> crate::primitive::MutexGuard<'a, Timers> {
    if wait == Duration::MAX {
        return outside
            .changed
            .wait(timers)
            .unwrap_or_else(|e| e.into_inner());
    }
    outside
        .changed
        .wait_timeout(timers, wait)
        .unwrap_or_else(|e| e.into_inner())
        .0
}
