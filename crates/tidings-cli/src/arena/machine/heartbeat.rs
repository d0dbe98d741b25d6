//! A line every few seconds while something long runs, so that nobody takes it for dead.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use crate::arena::terminal;
use crate::arena::units;

/// How often it says so.
const EVERY: Duration = Duration::from_secs(15);

/// Speaks until it is dropped.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    _end: Sender<()>,
}

impl Heartbeat {
    /// `doing` is what goes on, as in "building peer rust".
    pub(crate) fn start(doing: &str) -> Self {
        let (end, ended) = mpsc::channel::<()>();
        let doing = doing.to_owned();
        let begin = Instant::now();
        // The thread ends when the sender is gone, at once: nobody has to wait for it.
        std::thread::spawn(move || {
            while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                terminal::say(&format!("... {doing}, {}", units::clock(begin.elapsed())));
            }
        });
        Self { _end: end }
    }
}
