//! Where text goes: standard output and error, their width, and colour only where somebody sees it.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::arena::exit::Stop;

/// Widths tables are made for when nobody can be asked.
const DEFAULT_WIDTH: u16 = 120;

/// `--no-color` was given.
static PLAIN: AtomicBool = AtomicBool::new(false);

/// From here on nothing has colour.
pub(crate) fn without_colour() {
    PLAIN.store(true, Ordering::Relaxed);
}

/// How text is marked up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Style {
    colour: bool,
}

impl Style {
    /// On standard output.
    pub(crate) fn of_stdout() -> Self {
        Self::choose(io::stdout().is_terminal())
    }

    /// On standard error.
    pub(crate) fn of_stderr() -> Self {
        Self::choose(stderr_is_terminal())
    }

    /// Colour on a terminal, unless `--no-color` or `NO_COLOR` says otherwise.
    fn choose(terminal: bool) -> Self {
        let refused = PLAIN.load(Ordering::Relaxed)
            || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            colour: terminal && !refused,
        }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.mark("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.mark("2", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.mark("31", text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.mark("33", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.mark("32", text)
    }

    fn mark(self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Columns of the terminal at standard output, or a fixed number when it is none. `COLUMNS` goes before.
pub(crate) fn width() -> u16 {
    let told = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    let asked = || {
        rustix::termios::tcgetwinsize(io::stdout())
            .ok()
            .map(|size| size.ws_col)
    };
    told.or_else(asked)
        .filter(|columns| *columns >= 40)
        .unwrap_or(DEFAULT_WIDTH)
}

pub(crate) fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Writes to standard output. A reader that left early (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), Stop> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(Stop::internal(format!(
            "cannot write to standard output: {e}"
        ))),
        _ => Ok(()),
    }
}

/// Writes a line to standard error; there is nowhere left to report a failure to.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}
