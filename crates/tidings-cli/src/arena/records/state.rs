//! How a cell ended: one state and one reason each.

use serde::{Deserialize, Serialize};

/// The `state` of a cell in `run.json`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// Checked and timed.
    Ok,
    /// Checked and timed, but so slow that fewer rounds than the minimum were possible.
    Slow,
    /// Checked and timed, but still warming up when the warm-up's time was over.
    Unsteady,
    /// Checked and timed, but the machine did other work in too many samples.
    Noisy,
    /// Checked and timed, but its time grows much faster than the work: of another size the figure would be another.
    Superlinear,
    /// A count or check value was not the expected one.
    Wrong,
    /// The time grew too little with the work.
    Elided,
    /// The peer's clock contradicts the harness's.
    Clock,
    /// The peer said something the protocol does not know.
    Protocol,
    /// No answer in time.
    Timeout,
    /// Memory above the cap, or the peer said so.
    Oom,
    /// The process ended by itself.
    Crash,
    /// The peer reported a bug of its own.
    Error,
    /// The peer says that it cannot run this cell, or the manifest limits it.
    Unsupported,
    /// The peer says that a limit of this machine is in the way.
    Limited,
    /// It cannot run yet, by design.
    Blocked,
    /// The peer's toolchain is missing or it is not built.
    Missing,
    /// Not run: the budget was used or the run was interrupted.
    #[default]
    Skipped,
}

impl State {
    /// The figures are those of correct runs.
    pub(crate) fn has_figures(self) -> bool {
        matches!(
            self,
            Self::Ok | Self::Slow | Self::Unsteady | Self::Noisy | Self::Superlinear
        )
    }

    /// The peer did something wrong: exit code 3.
    pub(crate) fn is_failure(self) -> bool {
        matches!(
            self,
            Self::Wrong
                | Self::Elided
                | Self::Clock
                | Self::Protocol
                | Self::Timeout
                | Self::Oom
                | Self::Crash
                | Self::Error
        )
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Slow => "slow",
            Self::Unsteady => "unsteady",
            Self::Noisy => "noisy",
            Self::Superlinear => "superlinear",
            Self::Wrong => "wrong",
            Self::Elided => "elided",
            Self::Clock => "clock",
            Self::Protocol => "protocol",
            Self::Timeout => "timeout",
            Self::Oom => "oom",
            Self::Crash => "crash",
            Self::Error => "error",
            Self::Unsupported => "unsupported",
            Self::Limited => "limited",
            Self::Blocked => "blocked",
            Self::Missing => "missing",
            Self::Skipped => "skipped",
        }
    }
}

/// Why a cell is over before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) state: State,
    pub(crate) reason: String,
}

impl Failure {
    pub(crate) fn new(state: State, reason: impl Into<String>) -> Self {
        Self {
            state,
            reason: reason.into(),
        }
    }
}
