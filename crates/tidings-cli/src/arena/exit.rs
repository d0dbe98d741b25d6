//! The exit codes of `tidings arena`, and the one error type that carries them to `main`.

use std::fmt;

/// What `tidings arena --help` says of them.
pub(crate) const HELP: &str = "\
Exit codes: 0 every cell that was asked for is right; 2 the command line is wrong; 3 a cell failed, or one that was asked
for could not run, and what was measured is saved; 4 `compare --fail-on` found something; 5 nothing could run;
6 the machine is unfit and `--strict-env` was given; 70 an error of the arena or the disk; 130 interrupted, and what was
measured is saved. A figure with a doubt (slow, unsteady, noisy, superlinear) is no failure.";

/// How the process ends. Scripts rely on the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All requested cells are valid.
    Ok = 0,
    /// The command line is wrong.
    Usage = 2,
    /// Some requested cell failed, timed out or gave a wrong answer; the results are saved.
    CellFailed = 3,
    /// `compare --fail-on regress`: some cell is slower or fails.
    Regressed = 4,
    /// Nothing could run.
    NothingRan = 5,
    /// The environment is unfit and `--strict-env` was given.
    Unfit = 6,
    /// An error of the arena itself, or of the disk under it.
    Internal = 70,
    /// Interrupted; the results are saved.
    Interrupted = 130,
}

/// The end of a command before its time: what to print, and with which code to leave.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) exit: Exit,
    pub(crate) message: String,
}

impl Stop {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            message: message.into(),
        }
    }

    pub(crate) fn nothing(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::NothingRan,
            message: message.into(),
        }
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Internal,
            message: message.into(),
        }
    }

    /// An error of the file system, with the path it happened at.
    pub(crate) fn file(doing: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::internal(format!("cannot {doing} {}: {error}", path.display()))
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
