//! What went wrong in a run, and the report of it.

use std::fmt;
use std::path::PathBuf;

use crate::chart::Chart;
use crate::place;

/// What kind of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The program panicked.
    Panic,
    /// It returned an error.
    Error,
    /// It waits, and nothing can happen any more.
    Deadlock,
    /// It goes on and on.
    Endless,
    /// What must hold always did not ([`World::always`](crate::World::always)).
    Invariant,
    /// What must come did not, or what must not last did.
    Liveness,
    /// It ended, and left something behind.
    Left,
    /// A channel has lost or doubled a value: a bug of tidings.
    Lost,
    /// The same decisions made another run.
    Nondeterminism,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Panic => "panic",
            Self::Error => "error",
            Self::Deadlock => "deadlock",
            Self::Endless => "endless",
            Self::Invariant => "invariant broken",
            Self::Liveness => "liveness broken",
            Self::Left => "left behind",
            Self::Lost => "lost or doubled",
            Self::Nondeterminism => "not deterministic",
        })
    }
}

/// What went wrong in one run.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    pub(crate) kind: Kind,
    pub(crate) text: String,
    /// The line of a panic.
    pub(crate) at: Option<String>,
    /// What another run that fails in the same way says, too.
    gist: String,
}

impl Trouble {
    pub(crate) fn new(kind: Kind, text: String) -> Self {
        let gist = match kind {
            Kind::Invariant | Kind::Liveness => text.clone(),
            // Words tell errors apart.
            Kind::Error | Kind::Left => before_numbers(&text).to_owned(),
            // A panic has its line. Deadlocks are not told apart: a shorter run gets to one sooner, where
            // others wait than in the longer.
            _ => String::new(),
        };
        let at = None;
        Self {
            kind,
            text,
            at,
            gist,
        }
    }

    /// It is of this node, or life of one.
    pub(crate) fn of_node(mut self, name: &str) -> Self {
        self.text = format!("node {name}: {}", self.text);
        // The second life of `a` is called `a'2`.
        let node = before_numbers(name).trim_end_matches('\'');
        self.gist = format!("{node}: {}", self.gist);
        self
    }

    pub(crate) fn at(self, at: Option<String>) -> Self {
        Self { at, ..self }
    }

    /// Is it the same trouble in another run? Its words may differ.
    pub(crate) fn is_as(&self, other: &Self) -> bool {
        self.kind == other.kind && self.at == other.at && self.gist == other.gist
    }
}

/// A run's numbers are its own, and so may be how much comes with them, and what stands on lines of its own. Of
/// nodes that are numbered one is as another, and so are the lives of each.
fn before_numbers(text: &str) -> &str {
    let end = text.find(|c: char| c.is_ascii_digit() || c == '\n');
    &text[..end.unwrap_or(text.len())]
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, text, at, .. } = self;
        write!(f, "{kind}: {text}")?;
        match at {
            Some(at) => write!(f, ", at {at}"),
            None => Ok(()),
        }
    }
}

/// A run that failed: [`Sim::check`](crate::Sim::check) gives it, and [`Sim::run`](crate::Sim::run)
/// panics with what it displays.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// The program's name.
    pub name: String,
    /// The seed that found it.
    pub seed: u64,
    /// What kind of thing went wrong.
    pub kind: Kind,
    /// What went wrong, in the shortest run.
    pub message: String,
    /// The decisions of the run that found it.
    pub found: Vec<u8>,
    /// Those of the shortest run that fails in the same way.
    pub trace: Vec<u8>,
    /// How many polls the two runs take.
    pub polls: (usize, usize),
    /// How many runs the shortest took to find.
    pub shrunk_in: usize,
    /// The line that runs the program again: of one seed, or of one trace, with that in its environment.
    pub command: String,
    /// It was found by a search of all runs, which the line makes again as it is.
    pub(crate) searched: bool,
    /// The shortest run.
    pub chart: Chart,
    /// Where the shortest run's trace was saved, and its chart as a picture, if they could be.
    pub saved: Option<(PathBuf, PathBuf)>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            seed,
            kind,
            message,
            ..
        } = self;
        writeln!(f, "{name}: seed {seed}: {kind}: {message}")?;
        let with = match self.searched {
            true => String::new(),
            false => format!("TIDINGS_SEED={seed} "),
        };
        writeln!(f, "  again:     {with}{}", self.command)?;
        if self.kind == Kind::Nondeterminism {
            return Ok(());
        }
        let decided = |trace: &[u8]| trace.iter().filter(|&&byte| byte != 0).count();
        writeln!(
            f,
            "  shortest:  {} polls, {} decisions that are not the first alternative (found with {} and {}; {} runs)",
            self.polls.1,
            decided(&self.trace),
            self.polls.0,
            decided(&self.found),
            self.shrunk_in
        )?;
        if let Some((trace, picture)) = &self.saved {
            let trace = trace.display().to_string();
            let trace = place::word(&trace);
            writeln!(f, "             TIDINGS_TRACE={trace} {}", self.command)?;
            writeln!(f, "  picture:   {}", picture.display())?;
        }
        if self.chart.is_empty() {
            return Ok(());
        }
        write!(f, "\n{}", self.chart)
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::{Kind, Trouble};

    #[test]
    fn an_error_is_as_another_with_the_same_words_before_its_numbers() {
        let error = |text: &str| Trouble::new(Kind::Error, text.to_owned());
        let are_alike = |one, other| error(one).is_as(&error(other));
        assert!(are_alike("Lost([1, 2])", "Lost([7])") && are_alike("3", "17"));
        assert!(!are_alike("Lost(1)", "Late(1)") && !are_alike("Lost(1)", "Lost"));
        let named = |name| error("full").of_node(name);
        assert!(named("store").is_as(&named("store'2")) && named("n1").is_as(&named("n3'2")));
        assert!(!named("store").is_as(&named("cache")) && !named("n1").is_as(&error("full")));
    }
}
