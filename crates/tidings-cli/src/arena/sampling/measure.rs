//! The run plan of one group: launches, rounds in random order, the stop rule, the passes after them.
//!
//! A fresh process per cell and launch: what an earlier variant left in a heap must not be part of the next one's figure.

use std::time::{Duration, Instant};

use crate::arena::cells::plan::Group;
use crate::arena::cells::wire::{self, Tcp};
use crate::arena::exit::Stop;
use crate::arena::machine::interrupt::Interrupt;
use crate::arena::peers::peer::Leave;
use crate::arena::records::record::{Alloc, Store};
use crate::arena::records::state::{Failure, State};
use crate::arena::sampling::noise::Tally;
use crate::arena::sampling::paced::Pace;
use crate::arena::sampling::pilot::{self, Warmth};
use crate::arena::sampling::progress::Progress;
use crate::arena::sampling::track::{Journal, Phase, Track};
use crate::arena::statistics::random::Random;
use crate::arena::statistics::stats::{self, Level, RESAMPLES_ROUGH};
use crate::arena::statistics::verdict;

/// Rests between samples, so that one peer's last writes do not fall into the next one's time.
pub(crate) const SETTLE: Duration = Duration::from_millis(20);
/// The round after which the stop rule is looked at first; then after half as many more each time, and after the minimum.
const FIRST_LOOK: usize = 3;
/// Rounds that are made even when the budget is used.
const LEAST_ROUNDS: u32 = 3;
/// Noisy samples are repeated so often, at the end of their round. The last one counts, whatever its value, and the
/// reference's of that round stays its partner: to repeat that, too, would take it away from all the others.
const REPEATS: usize = 2;

/// How a group is measured.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) sample: Duration,
    pub(crate) target_ci: f64,
    pub(crate) min_rounds: usize,
    pub(crate) max_rounds: usize,
    pub(crate) launches: u32,
    pub(crate) warm_cap: Duration,
    /// What a runtime that compiles while it runs takes at least.
    pub(crate) warm_jit: Duration,
    pub(crate) alloc: bool,
    /// For cells of latency.
    pub(crate) pace: Pace,
    pub(crate) reference: String,
}

/// What a launch may take.
#[derive(Clone, Copy, Debug)]
struct Time {
    end: Instant,
    whole: Duration,
    /// What all its cells were guessed to take.
    guessed: Duration,
}

impl Time {
    /// One cell's part of it: as much more than another's as it was guessed to take.
    fn share(self, track: &Track) -> Duration {
        let part = track.guessed.as_secs_f64() / self.guessed.as_secs_f64();
        self.whole.mul_f64(part)
    }

    /// Whether even the least rounds of a cell take more than its part.
    fn is_short_for(self, track: &Track) -> bool {
        track.sample_time * LEAST_ROUNDS > self.share(track)
    }

    /// Whether two samples more of a cell still fit, by and large.
    fn affords(self, track: &Track) -> bool {
        Instant::now() + track.sample_time * 2 <= self.end + self.share(track) / 4
    }
}

/// What the measurement of all groups shares.
#[derive(Debug)]
pub(crate) struct Bench<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) store: &'a mut Store,
    pub(crate) progress: &'a mut Progress,
    pub(crate) random: Random,
    pub(crate) journal: Journal,
    pub(crate) noise: Tally,
}

impl Bench<'_> {
    /// Measures a group until its precision, its rounds or its time are used up. An error is one of the disk.
    pub(crate) fn measure(
        &mut self,
        group: &Group,
        tracks: &mut [Track],
        deadline: Option<Instant>,
    ) -> Result<(), Stop> {
        let begin = Instant::now();
        let launches = self.settings.launches;
        for launch in 0..launches {
            self.journal.launch = launch;
            let deadline = deadline
                .map(|end| begin + end.saturating_duration_since(begin) * (launch + 1) / launches);
            let last = launch + 1 == launches;
            self.launch(group, tracks, deadline, last)?;
            if self.interrupt.is_asked() {
                break;
            }
        }
        Ok(())
    }

    fn launch(
        &mut self,
        group: &Group,
        tracks: &mut [Track],
        deadline: Option<Instant>,
        last: bool,
    ) -> Result<(), Stop> {
        let begin = Instant::now();
        let mut order: Vec<usize> = (0..tracks.len()).collect();
        self.random.shuffle(&mut order);
        for index in &order {
            let track = &mut tracks[*index];
            track.series.push(Vec::new());
            track.active = track.failure.is_none();
            if track.active {
                track.start(group, self.interrupt);
            }
        }
        let time = deadline.map(|end| Time {
            end,
            whole: end.saturating_duration_since(begin),
            guessed: tracks.iter().map(|track| track.guessed).sum(),
        });
        for index in &order {
            self.prepare(group, &mut tracks[*index], time);
            self.flush()?;
        }
        if group.id.is_paced() {
            self.paced(group, tracks, time.map(|time| time.end))?;
        } else {
            self.rounds(group, tracks, time)?;
        }
        for track in tracks.iter_mut() {
            track.peak_rss = track.peak().max(track.peak_rss);
        }
        if last && !self.interrupt.is_asked() {
            for index in &order {
                self.afterwards(group, &mut tracks[*index], time);
            }
        }
        for track in tracks.iter_mut() {
            if let Some(mut peer) = track.peer.take() {
                let left = peer.leave(Leave::Quit);
                track.log = peer.into_log();
                track.failure = track.failure.take().or(left.err());
            }
        }
        self.flush()
    }

    fn prepare(&mut self, group: &Group, track: &mut Track, time: Option<Time>) {
        let seed = u64::from(self.journal.launch) + 1;
        track.prepare(group, seed);
        if track.failure.is_some() || track.peer.is_none() {
            return;
        }
        self.progress
            .between(|| format!("{}@{}: pilot", group.id, track.cell.system));
        let (journal, settings) = (&mut self.journal, self.settings);
        if pilot::calibrate(track, group, journal, settings.sample).is_none() {
            return;
        }
        if time.is_some_and(|time| time.is_short_for(track)) {
            return;
        }
        let cap = settings.warm_cap;
        let cap = time.map_or(cap, |time| cap.min(time.share(track) * 2 / 5));
        let warmth = Warmth {
            tolerance: settings.target_ci,
            least: settings.warm_jit.min(cap),
            cap,
            sample: settings.sample,
        };
        let _ = pilot::warm_up(track, group, journal, warmth);
        self.progress.note(|| {
            let steady = if track.steady {
                "warm"
            } else {
                "still warming up"
            };
            format!(
                "{}@{}: inner {}, {steady}",
                group.id, track.cell.system, track.inner
            )
        });
    }

    fn rounds(
        &mut self,
        group: &Group,
        tracks: &mut [Track],
        time: Option<Time>,
    ) -> Result<(), Stop> {
        for round in 0..self.settings.max_rounds {
            let mut order: Vec<usize> = (0..tracks.len()).filter(|i| tracks[*i].active).collect();
            if order.is_empty() {
                break;
            }
            self.random.shuffle(&mut order);
            for attempt in 0..=REPEATS {
                let again = self.round(group, tracks, round, &order, attempt);
                // On a machine that is busy all the time, repeating buys nothing.
                if again.is_empty()
                    || self.noise.noisy_share() > 2.0 * crate::arena::sampling::noise::NOISY_RUN
                {
                    break;
                }
                order = again;
            }
            self.flush()?;
            if self.interrupt.is_asked() {
                break;
            }
            self.progress.standings(group, tracks, round + 1);
            // A cell that would use up the others' time too stops after its first sample.
            let slow = |track: &Track| time.is_some_and(|time| time.is_short_for(track));
            for track in tracks.iter_mut().filter(|t| t.active && slow(t)) {
                track.active = track.cell.system == self.settings.reference;
            }
            let over = time.is_some_and(|time| Instant::now() > time.end);
            if over && round + 1 >= LEAST_ROUNDS as usize {
                break;
            }
            if is_look(round + 1, self.settings.min_rounds) {
                self.stop_rule(tracks);
            }
        }
        Ok(())
    }

    /// One sample of each; those that were noisy come back.
    pub(crate) fn round(
        &mut self,
        group: &Group,
        tracks: &mut [Track],
        round: usize,
        order: &[usize],
        attempt: usize,
    ) -> Vec<usize> {
        let mut noisy = Vec::new();
        for index in order {
            if self.interrupt.is_asked() {
                break;
            }
            let over_tcp = Tcp::of(&group.id).is_some();
            let idle = if over_tcp {
                wire::rest(SETTLE)
            } else {
                std::thread::sleep(SETTLE);
                0.0
            };
            let track = &mut tracks[*index];
            self.progress
                .between(|| format!("{} round {}", group.id, round + 1));
            let inner = track.inner;
            let Some((checked, around)) =
                track.sample(group, &mut self.journal, Phase::Round, round, inner)
            else {
                continue;
            };
            let value = track.per_op(checked.sample.ns, inner);
            let Some(launch) = track.series.last_mut() else {
                continue;
            };
            launch.resize(round + 1, None);
            launch[round] = Some(value);
            track.cpu_ns += around.peer_cpu_ns;
            track.timed_ns += checked.sample.ns;
            track.timed_ops += track.ops(inner);
            if let Some(bytes) = around.wire_bytes {
                let ops = track.ops(inner);
                track.wire.sample(bytes, ops, checked.wall_ns, idle);
            }
            track.noise.add(&around);
            track.noise.repeated += u64::from(attempt > 0);
            self.noise.add(&around);
            self.noise.repeated += u64::from(attempt > 0);
            for (index, count) in checked.sample.gc.iter().enumerate() {
                track.gc.resize(track.gc.len().max(index + 1), 0);
                track.gc[index] += u64::from(*count);
            }
            if around.is_noisy() {
                noisy.push(*index);
            }
        }
        noisy
    }

    /// Stops the cells that are precise enough: looked at only at fixed rounds, never at who leads. A launch is looked at by
    /// itself: more rounds of it make known no better how launches differ.
    fn stop_rule(&self, tracks: &mut [Track]) {
        for track in tracks.iter_mut().filter(|t| t.active) {
            let values = verdict::values(&track.series);
            let Some(values) = values.last() else {
                continue;
            };
            let interval =
                stats::interval(std::slice::from_ref(values), Level::P95, RESAMPLES_ROUGH);
            let width = interval.map(|i| stats::half_width(stats::median(values), i));
            track.active = width.is_none_or(|w| w > self.settings.target_ci);
        }
        // The reference goes on while anybody does: every round of theirs needs its partner.
        if tracks.iter().any(|t| t.active) {
            let reference = &self.settings.reference;
            for track in tracks.iter_mut().filter(|t| t.cell.system == *reference) {
                track.active = track.failure.is_none() && track.peer.is_some();
            }
        }
    }

    /// The elision test and the allocation pass: not timed, so they come last.
    fn afterwards(&mut self, group: &Group, track: &mut Track, time: Option<Time>) {
        if track.peer.is_none() || track.failure.is_some() {
            return;
        }
        self.progress
            .between(|| format!("{}@{}: checks", group.id, track.cell.system));
        // Each takes about two samples. Without the time for them the record says that the test was not made.
        if time.is_some_and(|time| !time.affords(track)) {
            return;
        }
        // Of two processes one is asked: half a figure is none.
        let whole = wire::is_one_process(&group.id);
        let counts = track.peer.as_ref().is_some_and(|p| p.has("alloc"));
        if self.settings.alloc && whole && counts {
            let inner = (track.inner / 4).max(1);
            if let Some((checked, _)) =
                track.sample(group, &mut self.journal, Phase::Alloc, 0, inner)
            {
                let per_op = |count: Option<u64>| {
                    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
                    let count = count? as f64;
                    Some(count / track.ops(inner))
                };
                track.alloc = per_op(checked.sample.alloc_bytes)
                    .zip(per_op(checked.sample.alloc_count))
                    .map(|(bytes_per_op, count_per_op)| Alloc {
                        bytes_per_op,
                        count_per_op,
                    });
                if track.alloc.is_none() {
                    let reason = "has cap alloc and gives no alloc_bytes and alloc_count";
                    track.fail(Failure::new(State::Protocol, reason));
                }
            }
        }
        let afforded = time.is_none_or(|time| time.affords(track));
        if afforded && pilot::elision(track, group, &mut self.journal).is_some() {
            track.elision_tested = true;
        }
    }

    pub(crate) fn flush(&mut self) -> Result<(), Stop> {
        self.store
            .append(&std::mem::take(&mut self.journal.pending))
    }
}

/// Whether the stop rule is looked at after so many rounds.
fn is_look(rounds: usize, least: usize) -> bool {
    let mut look = FIRST_LOOK;
    while look < rounds {
        look += look.div_ceil(2);
    }
    rounds == least || (rounds > least && rounds == look)
}

#[cfg(test)]
mod tests {
    use super::is_look;

    #[test]
    fn the_stop_rule_is_looked_at_however_long_a_cell_is_measured() {
        let looks = |least| (1..=1000).filter(move |rounds| is_look(*rounds, least));
        assert_eq!(looks(6).take(4).collect::<Vec<_>>(), [6, 8, 12, 18]);
        assert_eq!(looks(8).next(), Some(8));
        let all: Vec<usize> = looks(3).collect();
        assert_eq!(all[..5], [3, 5, 8, 12, 18]);
        // Few, so that a cell rarely stops by luck, and never far apart.
        assert!(all.len() < 20, "{all:?}");
        let far = |pair: &[usize]| 2 * pair[1] > 3 * pair[0] + 1;
        assert!(!all.windows(2).any(far), "{all:?}");
        assert!(all.last().is_some_and(|last| *last > 660), "{all:?}");
    }
}
