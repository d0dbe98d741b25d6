//! Ctrl-C: the first asks the run to end and keep what it has, the second ends the process and its peers at once.

use std::io::{self, Read as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::{self, pipe};

use crate::arena::exit::{Exit, Stop};
use crate::arena::peers::proc_tree;

/// Whether somebody asked the run to end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Takes over SIGINT, SIGTERM and SIGHUP.
    ///
    /// Peers live in process groups of their own, so the terminal's Ctrl-C does not reach them. Each signal writes a byte
    /// for a thread that sleeps until there are two, for it may take locks and read `/proc`, and a handler may not.
    pub(crate) fn install() -> Result<Self, Stop> {
        let asked = Self::default();
        asked
            .register()
            .map_err(|e| Stop::internal(format!("cannot handle signals: {e}")))?;
        Ok(asked)
    }

    fn register(&self) -> io::Result<()> {
        let (mut told, tell) = io::pipe()?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register(signal, Arc::clone(&self.0))?;
            pipe::register(signal, tell.try_clone()?)?;
        }
        std::thread::spawn(move || {
            if told.read_exact(&mut [0; 2]).is_ok() {
                let family = proc_tree::descendants(std::process::id());
                proc_tree::kill(family.get(1..).unwrap_or_default());
                low_level::exit(Exit::Interrupted as i32);
            }
        });
        Ok(())
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
