//! What a run shows while it goes on. Drawn only between samples, so that no sample pays for it.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::arena::cells::plan::Group;
use crate::arena::sampling::estimate::{self, Seen};
use crate::arena::sampling::track::Track;
use crate::arena::statistics::stats::{self, Level, RESAMPLES_ROUGH};
use crate::arena::statistics::verdict;
use crate::arena::terminal::{self, Style};
use crate::arena::units;

/// How often a run that writes to a file says that it lives.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// The bar is not redrawn more often.
const REDRAW: Duration = Duration::from_millis(100);

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    Quiet,
    Normal,
    Verbose,
}

/// The progress of a run.
#[derive(Debug)]
pub(crate) struct Progress {
    detail: Detail,
    bar: Option<ProgressBar>,
    style: Style,
    begin: Instant,
    budget: Option<Duration>,
    drawn: Instant,
    /// How long each group takes, as guessed.
    guessed: Vec<Duration>,
    seen: Seen,
    done: usize,
    /// When the group began that goes on now.
    current: Instant,
    standings: String,
}

impl Progress {
    pub(crate) fn new(
        detail: Detail,
        style: Style,
        budget: Option<Duration>,
        guessed: Vec<Duration>,
    ) -> Self {
        let bar = (detail != Detail::Quiet && terminal::stderr_is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(
                u64::try_from(guessed.len()).ok(),
                ProgressDrawTarget::stderr(),
            );
            // The template is ours; if it were wrong the default one would do.
            if let Ok(template) = ProgressStyle::with_template("[{bar:24}] {percent:>3} %  {msg}") {
                bar.set_style(template.progress_chars("#>-"));
            }
            bar
        });
        let now = Instant::now();
        Self {
            detail,
            bar,
            style,
            begin: now,
            budget,
            drawn: now,
            guessed,
            seen: Seen::default(),
            done: 0,
            current: now,
            standings: String::new(),
        }
    }

    /// A line that stays.
    pub(crate) fn line(&self, text: &str) {
        if self.detail == Detail::Quiet {
            return;
        }
        match &self.bar {
            Some(bar) => bar.suspend(|| terminal::say(text)),
            None => terminal::say(text),
        }
    }

    /// A line for `-v`.
    pub(crate) fn note(&self, text: impl FnOnce() -> String) {
        if self.detail == Detail::Verbose {
            self.line(&self.style.dim(&text()));
        }
    }

    /// Called between samples: redraws the bar, or lets a log file know that the run lives.
    pub(crate) fn between(&mut self, doing: impl FnOnce() -> String) {
        let wait = if self.bar.is_some() {
            REDRAW
        } else {
            HEARTBEAT
        };
        if self.detail == Detail::Quiet || self.drawn.elapsed() < wait {
            return;
        }
        self.drawn = Instant::now();
        let gone = self.begin.elapsed();
        let most = self.budget.map_or(String::new(), |budget| {
            format!(" of at most {}", units::clock(budget))
        });
        let text = format!(
            "{}{most}, about {} left  group {}/{}  {}",
            units::clock(gone),
            units::clock(self.left(gone)),
            self.done + 1,
            self.guessed.len(),
            doing()
        );
        match &self.bar {
            Some(bar) => {
                bar.set_message(format!("{text}{}", self.standings));
                bar.tick();
            }
            None => terminal::say(&format!("... {text}")),
        }
    }

    /// The time that is left, by the pace so far; never more than the budget has.
    fn left(&self, gone: Duration) -> Duration {
        let current = self.current.elapsed();
        let left = estimate::left(&self.guessed, self.done, self.seen, current);
        let most = self.budget.map(|budget| budget.saturating_sub(gone));
        most.map_or(left, |most| left.min(most))
    }

    /// How the cells of the group stand after a round: drawn with the bar.
    pub(crate) fn standings(&mut self, group: &Group, tracks: &[Track], rounds: usize) {
        if self.bar.is_none() {
            return;
        }
        let lines: Vec<String> = tracks.iter().map(|track| row(group, track)).collect();
        self.standings = format!(
            "\n  {} after round {rounds}\n{}",
            group.id,
            lines.join("\n")
        );
    }

    /// A group is over: one line per cell. One that was not measured now tells nothing of the pace.
    pub(crate) fn finished(&mut self, lines: &[String], is_measured: bool) {
        if is_measured && let Some(guessed) = self.guessed.get(self.done) {
            self.seen.guessed += *guessed;
            self.seen.took += self.current.elapsed();
        }
        self.current = Instant::now();
        self.done += 1;
        self.standings.clear();
        for line in lines {
            self.line(line);
        }
        if let Some(bar) = &self.bar {
            bar.set_position(u64::try_from(self.done).unwrap_or(u64::MAX));
        }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn row(group: &Group, track: &Track) -> String {
    let values = verdict::values(&track.series);
    let all = values.concat();
    if let Some(failure) = &track.failure {
        return format!("    {:<18} {}", track.cell.system, failure.state.name());
    }
    if all.is_empty() {
        return format!("    {:<18} -", track.cell.system);
    }
    let median = stats::median(&all);
    let width = stats::interval(&values, Level::P95, RESAMPLES_ROUGH)
        .map_or(String::new(), |i| units::spread(median, i));
    format!(
        "    {:<18} {:>9} {}/s {width:>9}  {} samples{}",
        track.cell.system,
        units::rate(1e9 / median),
        group.id.definition().unit,
        all.len(),
        if track.active { "" } else { "  done" }
    )
}
