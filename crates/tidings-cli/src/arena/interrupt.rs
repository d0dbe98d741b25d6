//! Ctrl-C: the first asks the run to end and keep what it has, the second ends the process at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use super::exit::Stop;

/// Whether somebody asked the run to end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Takes over SIGINT, SIGTERM and SIGHUP.
    ///
    /// Peers live in process groups of their own, so the terminal's Ctrl-C does not reach them. When the harness dies at
    /// the second one, the kernel wakes frozen peers (their group is orphaned) and end of file tells them to leave.
    pub(crate) fn install() -> Result<Self, Stop> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register_conditional_shutdown(signal, 130, Arc::clone(&asked))
                .and_then(|_| flag::register(signal, Arc::clone(&asked)))
                .map_err(|e| Stop::internal(format!("cannot handle signals: {e}")))?;
        }
        Ok(Self(asked))
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
