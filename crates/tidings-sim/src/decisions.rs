//! The stream of decisions of one run: every answer of the simulation to the program comes from
//! here, and is noted as bytes.
//!
//! A decision is one of `n` alternatives. Its place in the trace is as many bytes as `n` needs, and
//! whatever stands there is a valid answer (modulo `n`), and so is nothing: beyond the end of a
//! trace all bytes are 0. So a trace can be cut and changed anywhere and still says a run, as the
//! bytes of Hypothesis do (MacIver, Donaldson 2020), which is what `shrink.rs` lives on. What has
//! one alternative is no decision.

use tidings::sched::Choice;

use crate::strategy::{Chooser, Dice};

/// From so many alternatives on a random number is a name: the program tells things apart by it.
const NAMES: usize = 1 << 16;

/// What a decision is about, as it stands in the notes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum About {
    Task,
    Branch,
    Random,
    Fault,
    Time,
    Network,
    Yield,
}

impl About {
    const ALL: [Self; 7] = [
        Self::Task,
        Self::Branch,
        Self::Random,
        Self::Fault,
        Self::Time,
        Self::Network,
        Self::Yield,
    ];

    fn words(self) -> &'static str {
        match self {
            Self::Task => "which task runs next",
            Self::Branch => "in which order the branches of a choice are tried",
            Self::Random => "a random number",
            Self::Fault => "whether an unlikely thing happens",
            Self::Time => "how long a poll takes",
            Self::Network => "what the network does",
            Self::Yield => "whether the task lets others run first",
        }
    }
}

impl From<Choice> for About {
    fn from(choice: Choice) -> Self {
        match choice {
            Choice::Task => Self::Task,
            Choice::Branch => Self::Branch,
            Choice::Yield => Self::Yield,
            _ => Self::Random,
        }
    }
}

/// A question that was asked: what about, of how many, and of whom. Two runs are the same if
/// their questions are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked(u64);

impl Asked {
    /// Above these bits stands what it is about.
    const ABOUT: u32 = 61;
    /// The most alternatives that are told apart: no search takes as many.
    const MOST: u64 = (1 << Self::ABOUT) - 1;
    /// Below these bits stands after which task, of those that ask which is next: there are fewer of them.
    const WHOM: u32 = 32;

    fn new(about: About, n: usize, whom: u32) -> Self {
        let n = n as u64;
        let what = match about {
            About::Task => n.min(Self::MOST >> Self::WHOM) << Self::WHOM | u64::from(whom),
            _ => n.min(Self::MOST),
        };
        Self((about as u64) << Self::ABOUT | what)
    }

    fn about(self) -> About {
        About::ALL[(self.0 >> Self::ABOUT) as usize]
    }

    /// Of how many alternatives.
    fn alternatives(self) -> usize {
        let what = self.0 & Self::MOST;
        match self.about() {
            About::Task => (what >> Self::WHOM) as usize,
            _ => what as usize,
        }
    }

    /// In words.
    pub(crate) fn words(self) -> String {
        let (about, n) = (self.about().words(), self.alternatives());
        match self.about() {
            About::Task => format!("{about}, of {n}, after task {}", self.0 as u32),
            _ => format!("{about}, of {n}"),
        }
    }
}

/// Where a second run asked something else than the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Diverged(pub(crate) usize);

/// See the module.
pub(crate) struct Decisions {
    given: Vec<u8>,
    read: usize,
    /// Decides beyond what is given.
    chooser: Option<Chooser>,
    trace: Vec<u8>,
    asked: Vec<Asked>,
    /// How many names were drawn.
    names: u64,
    /// The questions that another run of the same trace asked.
    expected: Option<Vec<Asked>>,
    diverged: Option<Diverged>,
}

impl Decisions {
    /// As the trace says; beyond its end as the chooser says, or always the first alternative.
    pub(crate) fn new(given: Vec<u8>, chooser: Option<Chooser>) -> Self {
        Self {
            given,
            read: 0,
            chooser,
            trace: Vec::new(),
            asked: Vec::new(),
            names: 0,
            expected: None,
            diverged: None,
        }
    }

    /// The same run again; it is noted where it is not.
    pub(crate) fn again(trace: Vec<u8>, asked: Vec<Asked>) -> Self {
        Self {
            expected: Some(asked),
            ..Self::new(trace, None)
        }
    }

    /// Is it another run than was expected?
    pub(crate) fn has_diverged(&self) -> bool {
        self.diverged.is_some()
    }

    /// Does the one who decides on tasks want to know which they are?
    pub(crate) fn wants_tasks(&self) -> bool {
        self.read >= self.given.len() && self.chooser.as_ref().is_some_and(Chooser::wants_tasks)
    }

    /// One of `n` alternatives.
    pub(crate) fn choose(&mut self, about: About, n: usize) -> usize {
        self.decide(about, n, 0, &[])
    }

    /// A number for the program. Of so many that it may be a name, two that are drawn differ also where both are the
    /// first alternative: a run that is made short is not to fail because all its names are 0.
    pub(crate) fn random(&mut self, n: usize) -> usize {
        let drawn = self.choose(About::Random, n);
        if n < NAMES {
            return drawn;
        }
        self.names += 1;
        let sum = drawn as u64 + Dice::new(self.names).below(n) as u64;
        (sum % n as u64) as usize
    }

    /// Which task is next; `last` ran before. `tasks` are theirs, if they are wanted.
    pub(crate) fn choose_task(&mut self, n: usize, last: u32, tasks: &[u64]) -> usize {
        self.decide(About::Task, n, last, tasks)
    }

    fn decide(&mut self, about: About, n: usize, whom: u32, tasks: &[u64]) -> usize {
        let asked = Asked::new(about, n, whom);
        if let Some(expected) = &self.expected
            && self.diverged.is_none()
            && expected.get(self.asked.len()) != Some(&asked)
        {
            self.diverged = Some(Diverged(self.asked.len()));
        }
        self.asked.push(asked);
        if n <= 1 {
            return 0;
        }
        let width = width(n);
        let answer = if self.read < self.given.len() {
            let end = (self.read + width).min(self.given.len());
            let number = number(&self.given[self.read..end]) << (8 * (self.read + width - end));
            self.read = end;
            number % n
        } else {
            match &mut self.chooser {
                Some(chooser) if about == About::Task => chooser.task(n, tasks),
                Some(chooser) if about == About::Yield => usize::from(chooser.yields()),
                Some(chooser) => chooser.other(n),
                None => 0,
            }
        };
        let bytes = (answer as u64).to_be_bytes();
        self.trace.extend_from_slice(&bytes[8 - width..]);
        answer
    }

    /// What was decided, what was asked, and where that was not what was expected.
    pub(crate) fn end(mut self) -> (Vec<u8>, Vec<Asked>, Option<Diverged>) {
        if let Some(expected) = &self.expected
            && self.diverged.is_none()
            && expected.len() != self.asked.len()
        {
            self.diverged = Some(Diverged(self.asked.len().min(expected.len())));
        }
        (self.trace, self.asked, self.diverged)
    }
}

/// The number that bytes of a trace say.
fn number(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .fold(0, |number, &byte| number << 8 | usize::from(byte))
}

/// The bytes of a decision among `n`.
fn width(n: usize) -> usize {
    match n {
        0..=0x100 => 1,
        0x101..=0x1_0000 => 2,
        0x1_0001..=0x100_0000 => 3,
        _ if n as u64 <= 1 << 32 => 4,
        _ => 8,
    }
}

/// A trace without what it says anyway: the first alternative is the answer beyond its end.
pub(crate) fn trimmed(mut trace: Vec<u8>) -> Vec<u8> {
    let end = trace.iter().rposition(|&byte| byte != 0);
    trace.truncate(end.map_or(0, |end| end + 1));
    trace
}

/// The next trace after this one in a depth-first search of all with at most so many decisions that
/// are not the first alternative: the last decision that can takes its next alternative.
pub(crate) fn next_within(trace: &[u8], asked: &[Asked], delays: usize) -> Option<Vec<u8>> {
    // Where each decision stands, what it is, and how many delays there are before it.
    let (mut at, mut before) = (0, 0);
    let mut next = None;
    for n in asked
        .iter()
        .map(|asked| asked.alternatives())
        .filter(|&n| n > 1)
    {
        let end = at + width(n);
        let value = number(&trace[at..end]);
        if value + 1 < n && before < delays {
            next = Some((at, end, value + 1));
        }
        before += usize::from(value > 0);
        at = end;
    }
    let (at, end, value) = next?;
    let mut next = trace[..at].to_vec();
    let bytes = (value as u64).to_be_bytes();
    next.extend_from_slice(&bytes[8 - (end - at)..]);
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::{About, Decisions, next_within, trimmed};
    use crate::strategy::{Chooser, Strategy};

    fn run(mut decisions: Decisions) -> (Vec<usize>, Decisions) {
        let ns = [2, 7, 1, 300, 256, 70_000, 1 << 32];
        let answers = ns.map(|n| decisions.choose(About::Random, n)).to_vec();
        (answers, decisions)
    }

    #[test]
    fn a_trace_gives_the_same_answers_again() {
        for seed in 0..100 {
            let chooser = Chooser::new(Strategy::Random, seed);
            let (answers, decisions) = run(Decisions::new(Vec::new(), Some(chooser)));
            let (trace, asked, diverged) = decisions.end();
            assert_eq!(diverged, None);
            let (again, decisions) = run(Decisions::again(trace.clone(), asked));
            assert_eq!(answers, again);
            assert_eq!(decisions.end().2, None);
            assert_eq!(run(Decisions::new(trimmed(trace), None)).0, answers);
        }
    }

    #[test]
    fn a_trace_without_the_zeros_at_its_end_says_the_same() {
        for n in [300, 70_000, 1 << 24, 1 << 32, usize::MAX] {
            for answer in [1, 255, 256, 0x1_0000, 0x100_0000, 0xff00].map(|answer| answer % n) {
                let bytes = (answer as u64).to_be_bytes();
                let trace = trimmed(bytes[8 - super::width(n)..].to_vec());
                let mut decisions = Decisions::new(trace, None);
                assert_eq!(decisions.choose(About::Random, n), answer, "of {n}");
                assert_eq!(decisions.choose(About::Random, n), 0);
            }
        }
    }

    #[test]
    fn any_bytes_are_a_run() {
        for end in 0..20 {
            let (answers, decisions) = run(Decisions::new(vec![0xff; end], None));
            assert!(answers[0] < 2 && answers[1] < 7 && answers[3] < 300);
            // What is noted says the same run.
            let (trace, ..) = decisions.end();
            assert_eq!(run(Decisions::new(trace, None)).0, answers);
        }
        assert_eq!(run(Decisions::new(Vec::new(), None)).0, [0; 7]);
    }

    #[test]
    fn a_depth_first_search_sees_every_run_once() {
        // Three decisions of 2, 3 and 2, the last only if the first is 1.
        let all = |delays| {
            let (mut seen, mut given) = (Vec::new(), Some(Vec::new()));
            while let Some(trace) = given {
                let mut decisions = Decisions::new(trace, None);
                let mut answers = [2, 3].map(|n| decisions.choose(About::Random, n)).to_vec();
                if answers[0] == 1 {
                    answers.push(decisions.choose(About::Random, 2));
                }
                seen.push(answers);
                let (trace, asked, _) = decisions.end();
                given = next_within(&trace, &asked, delays);
            }
            let total = seen.len();
            seen.sort();
            seen.dedup();
            assert_eq!(seen.len(), total, "none twice");
            total
        };
        assert_eq!([0, 1, 2, 3].map(all), [1, 4, 7, 9]);
    }

    #[test]
    fn a_search_reads_decisions_of_any_size() {
        let one = |given: Option<Vec<u8>>| {
            let mut decisions = Decisions::new(given.unwrap(), None);
            let answers = [2, 1 << 32, 2].map(|n| decisions.choose(About::Random, n));
            let (trace, asked, _) = decisions.end();
            (answers, next_within(&trace, &asked, 2))
        };
        let (mut given, mut seen) = (Some(Vec::new()), Vec::new());
        for _ in 0..6 {
            let (answers, next) = one(given);
            seen.push(answers);
            given = next;
        }
        let first = [0, 1, 2].map(|middle| [[0, middle, 0], [0, middle, 1]]);
        assert_eq!(seen, first.concat());
        // Up to the last alternative, and then on.
        let (last, next) = one(Some(vec![0, 0xff, 0xff, 0xff, 0xfe, 1]));
        assert_eq!(
            (last[1], next.clone()),
            (0xffff_fffe, Some(vec![0, 255, 255, 255, 255]))
        );
        assert_eq!(one(one(next).1).0, [0, u32::MAX as usize, 1]);
        assert_eq!(one(Some(vec![0, 255, 255, 255, 255, 1])).1, Some(vec![1]));
    }

    #[test]
    fn another_question_than_last_time_is_noted() {
        let (_, first) = run(Decisions::new(Vec::new(), None));
        let (trace, asked, _) = first.end();
        let mut second = Decisions::again(trace, asked);
        assert_eq!(second.choose(About::Random, 2), 0);
        assert_eq!(second.choose(About::Branch, 7), 0);
        let (.., diverged) = second.end();
        assert_eq!(diverged.map(|at| at.0), Some(1));
    }
}
