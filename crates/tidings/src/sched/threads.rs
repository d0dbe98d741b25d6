//! The threads of a runtime: their names, their stacks, and who is told when one starts and stops.

use std::fmt;
use std::io;
use std::time::Duration;

use crate::primitive::{Arc, thread};
use crate::task::quietly;

type Hook = Arc<dyn Fn() + Send + Sync>;

/// As a `Builder` sets it.
#[derive(Clone)]
pub(super) struct Threads {
    pub(super) name: Option<String>,
    /// In bytes; the system's if not set.
    pub(super) stack: Option<usize>,
    /// How long one for blocking work waits for more.
    pub(super) keep_alive: Duration,
    pub(super) on_start: Option<Hook>,
    pub(super) on_stop: Option<Hook>,
}

impl Default for Threads {
    fn default() -> Self {
        Self {
            name: None,
            stack: None,
            keep_alive: Duration::from_secs(10),
            on_start: None,
            on_stop: None,
        }
    }
}

impl Threads {
    /// Starts a worker. It calls [`stops`](Self::stops) at its end.
    pub(super) fn start_worker(
        &self,
        index: usize,
        run: impl FnOnce() + Send + 'static,
    ) -> io::Result<thread::JoinHandle<()>> {
        let name = self.name.as_deref().unwrap_or("tidings-worker");
        self.start(format!("{name}-{index}"), run)
    }

    /// As `start_worker`, one for blocking work.
    pub(super) fn start_blocking(
        &self,
        number: usize,
        run: impl FnOnce() + Send + 'static,
    ) -> io::Result<thread::JoinHandle<()>> {
        let name = self.name.as_deref().unwrap_or("tidings");
        self.start(format!("{name}-blocking-{number}"), run)
    }

    fn start(
        &self,
        name: String,
        run: impl FnOnce() + Send + 'static,
    ) -> io::Result<thread::JoinHandle<()>> {
        let mut thread = thread::Builder::new().name(name);
        if let Some(stack) = self.stack {
            thread = thread.stack_size(stack);
        }
        let on_start = self.on_start.clone();
        thread.spawn(move || {
            call(on_start.as_ref());
            run();
        })
    }

    /// This thread stops.
    pub(super) fn stops(&self) {
        call(self.on_stop.as_ref());
    }
}

fn call(hook: Option<&Hook>) {
    if let Some(hook) = hook {
        quietly(|| hook());
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Threads")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
