//! [`Sim`]: which runs are made of a program, and what becomes of one that fails.

use std::fmt::{Debug, Write as _};
use std::future::Future;
use std::time::Duration;

use crate::chart::Chart;
use crate::decisions::{Decisions, next_within};
use crate::failure::{Failure, Kind, Trouble};
use crate::place::{self, Origin};
use crate::run::{Body, Program, Ran, Rules, run};
use crate::shrink::shrink;
use crate::strategy::{Chooser, Strategy};

/// Runs of a program under seeds, each of them deterministic.
///
/// The program is tidings code as it is: whatever it does with tasks, channels, actors, time
/// ([`tidings::time`]) and chance ([`tidings::sched::random`]) is decided by the seed. It must not use
/// threads, the system's clock or other sources of chance (a `HashMap`'s order is one). Each seed is
/// run twice, and the two runs must ask for the same decisions and end alike: where they do not, the program is told so.
///
/// ```
/// use tidings_sim::Sim;
/// let summary = Sim::new(0).seeds(100).run(|| async {
///     let (tx, rx) = tidings::bounded(1);
///     tidings::spawn(async move { tx.send(6 * 7).await });
///     assert_eq!(rx.recv().await, Ok(42));
/// });
/// assert_eq!(summary.runs, 100);
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing runs before `run` or `check`"]
pub struct Sim {
    first: u64,
    /// How many runs, if anybody has said.
    seeds: Option<u64>,
    strategy: Strategy,
    rules: Rules,
    twice: bool,
    shrinks: usize,
    origin: Origin,
}

/// So many polls the runs may take that look for a shorter one: not all runs are short.
const SHRINKING: usize = 10_000_000;

/// So many runs an exhaustive search makes, if nobody has said otherwise.
const SEARCHED: u64 = 100_000;

/// What a simulated program may give: `()`, nothing ever, or a `Result` whose error is a failure.
pub trait Outcome {
    /// The error, in words.
    #[doc(hidden)]
    fn into_failure(self) -> Result<(), String>;
}

impl Outcome for () {
    fn into_failure(self) -> Result<(), String> {
        Ok(())
    }
}

/// The type `!` of what never ends, such as a server's loop: it can only be named as what a function gives.
type Never = <fn() -> ! as Gives>::Given;

#[doc(hidden)]
pub trait Gives {
    type Given;
}

impl<T> Gives for fn() -> T {
    type Given = T;
}

impl Outcome for Never {
    fn into_failure(self) -> Result<(), String> {
        self
    }
}

impl<T: Outcome, E: Debug> Outcome for Result<T, E> {
    fn into_failure(self) -> Result<(), String> {
        match self {
            Ok(outcome) => outcome.into_failure(),
            Err(error) => Err(format!("{error:?}")),
        }
    }
}

/// Runs that did not fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// How many schedules were run (each of them twice, if they were).
    pub runs: u64,
    /// Polls, over all schedules.
    pub polls: u64,
    /// Decisions, over all schedules, those with one alternative included.
    pub decisions: u64,
    /// Virtual time, over all schedules.
    pub time: Duration,
    /// Values that went into channels, over all schedules.
    pub sent: u64,
    /// Those of them that no receiver was left for.
    pub dead: u64,
    /// [`Strategy::Exhaustive`] has seen every run within its bound.
    pub complete: bool,
}

impl Sim {
    /// One run, of this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            first: seed,
            seeds: None,
            strategy: Strategy::default(),
            rules: Rules {
                seed,
                steps: 1_000_000,
                busy: Duration::ZERO,
                interrupts: true,
                settles: false,
                panics: true,
            },
            twice: true,
            shrinks: 2_000,
            origin: Origin::here(),
        }
    }

    /// What `#[tidings::test(sim)]` calls: the test's path and package.
    #[doc(hidden)]
    pub fn of_test(path: &'static str, package: &'static str) -> Self {
        Self {
            origin: Origin::test(path, package),
            ..Self::new(0)
        }
    }

    /// This many seeds, from the first one on: one, if nobody says. For [`Strategy::Exhaustive`] the most
    /// runs: 100,000, if nobody says; [`Summary::complete`] tells whether these were all.
    ///
    /// # Panics
    /// If `n` is 0: a test that runs nothing would pass.
    #[track_caller]
    pub fn seeds(mut self, n: u64) -> Self {
        assert!(n > 0, "a simulation of no seeds would run nothing");
        self.seeds = Some(n);
        self
    }

    /// How schedules are chosen.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// The name in reports; by default the test's.
    pub fn name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.origin.name);
        self
    }

    /// A run that has not ended after so many polls fails; 1,000,000 by default.
    pub fn polls(mut self, most: usize) -> Self {
        self.rules.steps = most;
        self
    }

    /// Each poll takes up to so long, as the seed decides; by default no time at all, so that time
    /// passes only when nothing can run. With this, deadlines race with work.
    pub fn busy(mut self, longest: Duration) -> Self {
        self.rules.busy = longest;
        self
    }

    /// A task runs on until it waits, as tasks on one thread do. By default it may let others run before
    /// each communication, as those on several threads do.
    pub fn cooperative(mut self) -> Self {
        self.rules.interrupts = false;
        self
    }

    /// When the program has ended, all its tasks must end by themselves: a task, a timer, or a wait (its
    /// future is kept, and nobody polls it any more) that is left fails the run. Such runs are slower: each
    /// wait is noted.
    /// By default they are cancelled, as at the end of any runtime.
    pub fn settles(mut self) -> Self {
        self.rules.settles = true;
        self
    }

    /// Tasks and actors may panic of which nobody hears
    /// ([`Builder::watch_panics`](tidings::sched::Builder::watch_panics) says who hears of what). By default
    /// such a panic fails the run, when it has ended: `#[tidings::test(sim, panics = false)]`.
    pub fn ignores_panics(mut self) -> Self {
        self.rules.panics = false;
        self
    }

    /// Each seed once: not compared with a second run of it. Twice as fast.
    pub fn once(mut self) -> Self {
        self.twice = false;
        self
    }

    /// The most runs that are made to find a shorter one that fails; 2,000 by default, 0: none.
    pub fn shrinks(mut self, most: usize) -> Self {
        self.shrinks = most;
        self
    }

    /// Runs them all.
    ///
    /// `TIDINGS_SEED` in the environment runs that seed only, `TIDINGS_TRACE` the trace in that file,
    /// `TIDINGS_SEEDS` so many seeds. [`Strategy::Exhaustive`] has no seeds: it heeds the last two, which is
    /// so many runs.
    ///
    /// # Panics
    /// With the report of the first run that fails.
    #[track_caller]
    pub fn run<F, Fut>(&self, program: F) -> Summary
    where
        F: Fn() -> Fut,
        Fut: Future<Output: Outcome> + Send + 'static,
    {
        match self.check(program) {
            Ok(summary) => summary,
            Err(failure) => panic!("{failure}"),
        }
    }

    /// As [`run`](Self::run), giving the failure.
    ///
    /// # Errors
    /// The first run that fails, made short.
    ///
    /// # Panics
    /// If the environment says something that is no seed or trace.
    pub fn check<F, Fut>(&self, program: F) -> Result<Summary, Box<Failure>>
    where
        F: Fn() -> Fut,
        Fut: Future<Output: Outcome> + Send + 'static,
    {
        let body = || -> Body {
            let future = program();
            Box::pin(async move { future.await.into_failure() })
        };
        self.check_body(&body)
    }

    fn check_body(&self, program: &Program<'_>) -> Result<Summary, Box<Failure>> {
        let mut summary = Summary::default();
        if let Some((seed, trace)) = place::given_trace() {
            self.try_one(program, seed, Decisions::new(trace, None), &mut summary)?;
            return Ok(summary);
        }
        let seed = place::given_number("TIDINGS_SEED");
        let seeds = place::given_number("TIDINGS_SEEDS");
        assert!(
            seeds != Some(0),
            "TIDINGS_SEEDS is 0, which would run nothing"
        );
        let seeds = seeds.or(self.seeds);
        if let Strategy::Exhaustive { delays } = self.strategy {
            // Its runs are no seeds'.
            return self.exhaust(program, delays, seeds.unwrap_or(SEARCHED));
        }
        if let Some(seed) = seed {
            self.try_seed(program, seed, &mut summary)?;
            return Ok(summary);
        }
        for n in 0..seeds.unwrap_or(1) {
            // After the last seed comes the first.
            self.try_seed(program, self.first.wrapping_add(n), &mut summary)?;
        }
        Ok(summary)
    }

    fn try_seed(
        &self,
        program: &Program<'_>,
        seed: u64,
        summary: &mut Summary,
    ) -> Result<(), Box<Failure>> {
        let chooser = Chooser::new(self.strategy, seed);
        let decisions = Decisions::new(Vec::new(), Some(chooser));
        self.try_one(program, seed, decisions, summary)?;
        Ok(())
    }

    /// One schedule, and once more to compare.
    fn try_one(
        &self,
        program: &Program<'_>,
        seed: u64,
        decisions: Decisions,
        summary: &mut Summary,
    ) -> Result<Ran, Box<Failure>> {
        let rules = Rules {
            seed,
            ..self.rules.clone()
        };
        let mut ran = run(program, &rules, decisions, false);
        summary.runs += 1;
        summary.polls += ran.steps as u64;
        summary.decisions += ran.asked.len() as u64;
        summary.time = summary.time.saturating_add(ran.time);
        summary.sent += ran.messages.sent;
        summary.dead += ran.messages.dead;
        if self.twice || ran.trouble.is_some() {
            let decisions = Decisions::again(ran.trace.clone(), ran.asked.clone());
            let again = run(program, &rules, decisions, false);
            if let Some(trouble) = difference(&ran, &again) {
                ran.trouble = Some(trouble);
            }
        }
        match ran.trouble.take() {
            None => Ok(ran),
            Some(trouble) => Err(Box::new(self.failure(program, &rules, ran, trouble))),
        }
    }

    /// Makes the run short, and tells of it.
    fn failure(
        &self,
        program: &Program<'_>,
        rules: &Rules,
        found: Ran,
        trouble: Trouble,
    ) -> Failure {
        let mut failure = Failure {
            name: self.origin.name.clone(),
            seed: rules.seed,
            kind: trouble.kind,
            message: trouble.text.clone(),
            trace: found.trace.clone(),
            found: found.trace,
            polls: (found.steps, found.steps),
            shrunk_in: 0,
            command: self.origin.command(),
            searched: matches!(self.strategy, Strategy::Exhaustive { .. }),
            chart: Chart::default(),
            saved: None,
        };
        if trouble.kind == Kind::Nondeterminism {
            return failure;
        }
        let mut polls = 0;
        let fails = |trace: &[u8]| {
            if polls > SHRINKING {
                return None;
            }
            let ran = run(program, rules, Decisions::new(trace.to_vec(), None), false);
            polls += ran.steps;
            let same = ran.trouble.is_some_and(|other| other.is_as(&trouble));
            same.then_some(ran.trace)
        };
        (failure.trace, failure.shrunk_in) = shrink(failure.trace, self.shrinks, fails);
        let decisions = Decisions::new(failure.trace.clone(), None);
        let last = run(program, rules, decisions, true);
        failure.polls.1 = last.steps;
        failure.chart = last.chart;
        if let Some(trouble) = last.trouble {
            failure.message = match &trouble.at {
                Some(at) => format!("{}, at {at}", trouble.text),
                None => trouble.text.clone(),
            };
            let earlier = last
                .panics
                .iter()
                .filter(|panic| trouble.at.as_ref() != Some(&panic.at));
            for panic in earlier {
                let _ = write!(
                    failure.message,
                    "\n  before, a panic at {}: {}",
                    panic.at, panic.message
                );
            }
        }
        failure.saved = place::save(&failure);
        failure
    }

    /// Every run within the bound, depth first.
    fn exhaust(
        &self,
        program: &Program<'_>,
        delays: usize,
        most: u64,
    ) -> Result<Summary, Box<Failure>> {
        let mut summary = Summary::default();
        let mut given = Some(Vec::new());
        while let Some(trace) = given {
            if summary.runs == most {
                return Ok(summary);
            }
            let decisions = Decisions::new(trace, None);
            let ran = self.try_one(program, self.first, decisions, &mut summary)?;
            given = next_within(&ran.trace, &ran.asked, delays);
        }
        summary.complete = true;
        Ok(summary)
    }
}

/// What the second run of a trace did otherwise.
fn difference(one: &Ran, two: &Ran) -> Option<Trouble> {
    const ASK: &str =
        "is there a HashMap, a thread, another's chance, or a clock that is not tidings'?";
    // What ended one of them early is the first thing to look at.
    let ended = |ran: &Ran| {
        let trouble = ran.trouble.as_ref();
        trouble.map_or(String::new(), |trouble| {
            format!(", and ended: {}", trouble.text)
        })
    };
    let words = match (&two.diverged, &one.trouble, &two.trouble) {
        (Some((at, who)), ..) => {
            let asked = |ran: &Ran| {
                let asked = ran.asked.get(*at);
                asked.map_or("nothing more".to_owned(), |asked| asked.words())
            };
            format!(
                "the second run of the same decisions diverges at question {at}, while or after {who} \
                 ran: the first run asked {}{}; the second {}{}; {ASK}",
                asked(one),
                ended(one),
                asked(two),
                ended(two)
            )
        }
        (None, one_ended, two_ended) if are_alike(one_ended.as_ref(), two_ended.as_ref()) => {
            let measures = |ran: &Ran| (ran.steps, ran.time, ran.messages);
            if measures(one) == measures(two) {
                return None;
            }
            let took = |ran: &Ran| {
                let (polls, time, sent, dead) =
                    (ran.steps, ran.time, ran.messages.sent, ran.messages.dead);
                let ended = ended(ran);
                format!(
                    "took {polls} polls and {time:?}, with {sent} messages, {dead} of them dead{ended}"
                )
            };
            format!(
                "two runs of the same decisions are not alike: the first {}; the second {}; {ASK}",
                took(one),
                took(two)
            )
        }
        (None, one, two) => {
            let end = |trouble: &Option<Trouble>| {
                let text = trouble.as_ref().map(|trouble| trouble.text.clone());
                text.unwrap_or("well".to_owned())
            };
            format!(
                "two runs of the same decisions end otherwise: {}; and {}",
                end(one),
                end(two)
            )
        }
    };
    Some(Trouble::new(Kind::Nondeterminism, words))
}

fn are_alike(one: Option<&Trouble>, two: Option<&Trouble>) -> bool {
    match (one, two) {
        (Some(one), Some(two)) => one.is_as(two),
        (one, two) => one.is_none() && two.is_none(),
    }
}
