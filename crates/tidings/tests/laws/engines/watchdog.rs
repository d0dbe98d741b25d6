//! Ends the process when a program neither goes on nor ends, and says which.

use std::sync::mpsc;
use std::time::Duration;

use crate::laws::LAWS;
use crate::trial;

/// No program takes a second.
const HANG: Duration = Duration::from_secs(60);

/// Dropped in time.
pub(super) struct Watchdog {
    _alive: mpsc::Sender<()>,
}

pub(super) fn watchdog() -> Watchdog {
    let (alive, gone) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        let mut seen = None;
        while gone.recv_timeout(HANG) == Err(mpsc::RecvTimeoutError::Timeout) {
            let now = trial::now();
            if now.is_some() && now == seen {
                let law = LAWS.iter().find(|law| law.name == "close-wakes");
                let verdict = law.map(|law| (law.check)(&trial::unfinished()));
                eprintln!("the law `close-wakes` is broken: nothing happens: {verdict:?}");
                trial::tell();
                std::process::abort();
            }
            seen = now;
        }
    });
    Watchdog { _alive: alive }
}
