//! Workers that stop: a thread sends a signal to workers picked at random, whose handler sleeps.
//! So a worker stands still wherever it happens to be, also inside a lock, as one that the system
//! has preempted does.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::dice::Dice;

/// How long a worker stands still, at most.
const LONGEST: Duration = Duration::from_millis(20);

/// Stops workers until it is dropped.
pub(super) struct Stalls {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

/// Sleeps for an arbitrary part of `LONGEST`.
extern "C" fn stand_still(_: libc::c_int) {
    // SAFETY: `clock_gettime`, `nanosleep` and the place of `errno` may be used in a handler;
    // `errno` is what the interrupted code may be about to look at.
    unsafe {
        let errno = *libc::__errno_location();
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time);
        time.tv_sec = 0;
        time.tv_nsec %= libc::c_long::from(LONGEST.subsec_nanos());
        libc::nanosleep(&raw const time, std::ptr::null_mut());
        *libc::__errno_location() = errno;
    }
}

/// The threads whose name begins so.
fn threads(name: &str) -> Vec<libc::pid_t> {
    let tasks = fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let named = tasks.filter(|task| {
        let comm = fs::read_to_string(task.path().join("comm"));
        comm.is_ok_and(|comm| comm.starts_with(name))
    });
    named
        .filter_map(|task| task.file_name().to_str()?.parse().ok())
        .collect()
}

impl Stalls {
    pub(super) fn new(mut dice: Dice) -> Self {
        // SAFETY: the handler does only what handlers may; a zeroed `sigaction` is a valid one.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = stand_still as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut());
        }
        let over = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            let mut stopped = 0;
            while !stop.load(Ordering::Relaxed) {
                // The system cuts names to 15 bytes.
                let workers = threads("tidings-worker");
                if !workers.is_empty() {
                    let thread = workers[dice.below(workers.len() as u64) as usize];
                    // SAFETY: a signal to a thread of this process; one that has ended
                    // meanwhile is an error and nothing else.
                    let sent = unsafe {
                        libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, libc::SIGUSR2)
                    };
                    stopped += u64::from(sent == 0);
                }
                std::thread::sleep(Duration::from_micros(200 + dice.below(3000)));
            }
            stopped
        });
        Self {
            over,
            thread: Some(thread),
        }
    }

    /// Ends it; how often a worker was stopped.
    pub(super) fn end(mut self) -> u64 {
        self.over.store(true, Ordering::Relaxed);
        let thread = self.thread.take();
        thread.map_or(0, |thread| thread.join().expect("no panic"))
    }
}

impl Drop for Stalls {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
