//! What comes before and after the rounds of a cell: how long a sample is, whether it is warm, whether work was elided.

use std::time::{Duration, Instant};

use crate::arena::cells::plan::{self, Group};
use crate::arena::cells::size;
use crate::arena::cells::workload::{Params, expected};
use crate::arena::peers::protocol::INNER_LIMIT;
use crate::arena::records::state::{Failure, State};
use crate::arena::sampling::track::{Journal, Phase, Track};
use crate::arena::statistics::stats;

/// A repetition shorter than this says too little about elided work.
const TELLING: Duration = Duration::from_millis(5);
/// How often both sizes are timed: at least, and at most. The fastest of each is compared, because whatever disturbs a
/// sample makes it longer.
const ATTEMPTS: (usize, usize) = (3, 6);
/// A repetition longer than this is disturbed little, and repeating it costs too much.
const LONG: Duration = Duration::from_secs(1);
/// The second look compares sizes whose work differs by such a factor, and takes none that takes longer, by and large.
const FAR: f64 = 32.0;
const FAR_TIME: Duration = Duration::from_secs(2);
/// How often a size is stepped up to get to one that tells.
const STEPS: u32 = 14;

/// Raises `inner` until a sample lasts as long as `target`.
pub(crate) fn calibrate(
    track: &mut Track,
    group: &Group,
    journal: &mut Journal,
    target: Duration,
) -> Option<()> {
    let target = target.as_nanos();
    let limit = most(track);
    let mut inner = 1_u64;
    loop {
        let (checked, _) = track.sample(group, journal, Phase::Pilot, 0, inner)?;
        let ns = u128::from(checked.sample.ns);
        track.inner = inner;
        track.sample_time = Duration::from_nanos(checked.sample.ns);
        if ns * 10 >= target * 8 {
            return Some(());
        }
        if inner >= limit {
            let reason = format!("{inner} repetitions take only {ns} ns");
            track.fail(Failure::new(State::Elided, reason));
            return None;
        }
        let wanted = u128::from(inner) * target * 11 / (ns * 10);
        let wanted = u64::try_from(wanted).unwrap_or(limit);
        inner = wanted
            .clamp(inner + 1, inner.saturating_mul(100))
            .min(limit);
    }
}

/// When a cell counts as warm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Warmth {
    /// Times that differ by less have settled.
    pub(crate) tolerance: f64,
    /// A runtime that compiles while it runs takes at least so long: between two compilations its times look settled.
    pub(crate) least: Duration,
    /// The warm-up ends then in any case.
    pub(crate) cap: Duration,
    /// What a sample is to last.
    pub(crate) sample: Duration,
}

/// Runs shorter samples until their times settle or the time is over; notes whether they did. The pilot may have seen a
/// runtime that was cold: when a sample of a round would be too short now, it gets more repetitions.
pub(crate) fn warm_up(
    track: &mut Track,
    group: &Group,
    journal: &mut Journal,
    warmth: Warmth,
) -> Option<()> {
    let least = if track.launch.is_jit {
        warmth.least
    } else {
        Duration::ZERO
    };
    let begin = Instant::now();
    let mut series = Vec::new();
    while begin.elapsed() < warmth.cap {
        let inner = (track.inner / 4).max(1);
        let (checked, _) = track.sample(group, journal, Phase::Warm, series.len(), inner)?;
        let ns = checked.sample.ns;
        series.push(track.per_op(ns, inner));
        let whole = Duration::from_nanos(ns / inner).saturating_mul(narrow(track.inner));
        if whole * 2 < warmth.sample && track.inner <= most(track) / 2 {
            track.inner *= 2;
            track.sample_time = whole * 2;
        }
        if begin.elapsed() >= least && stats::is_steady(&series, warmth.tolerance) {
            return Some(());
        }
    }
    // Too few samples to tell: the rounds will.
    track.steady &= series.len() < 8;
    Some(())
}

fn narrow(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The most repetitions one sample can count.
fn most(track: &Track) -> u64 {
    let once = track.expected.msgs.max(track.expected.check).max(1);
    let limit = u64::try_from(i128::from(i64::MAX) / 2 / once).unwrap_or(INNER_LIMIT);
    limit.clamp(1, INNER_LIMIT)
}

/// Whether time grows with the size at least as work does: else work was elided, and the cell fails. That it grows much
/// faster is remarked. Comes after the rounds, so that the larger size cannot disturb them.
pub(crate) fn elision(track: &mut Track, group: &Group, journal: &mut Journal) -> Option<()> {
    let all: Vec<f64> = track.series.iter().flatten().flatten().copied().collect();
    if all.is_empty() {
        return None;
    }
    let mut big = group.params.clone();
    let mut time = Duration::from_secs_f64(stats::median(&all) * track.ops(1) / 1e9);
    let mut steps = 0;
    while time < TELLING {
        let grown = grow(track, group, &big, time, STEPS - steps)?;
        steps += grown.1;
        big = grown.0;
        time = time_at(track, group, journal, &big, 1)?;
    }
    let small = size::scaled(&group.id, &big, false)?;
    let factor = work(group, &big) / work(group, &small);
    // 1.3 to 3 times as long for twice the work, 4 to 30 for ten times.
    let (low, high) = if factor > 5.0 {
        (0.4 * factor, 3.0 * factor)
    } else {
        (0.65 * factor, 1.5 * factor)
    };
    let (mut best_big, mut best_small, mut ratio) = (Duration::MAX, Duration::MAX, 0.0);
    let (least, most) = if time > LONG { (1, 2) } else { ATTEMPTS };
    for attempt in 1..=most {
        best_big = best_big.min(time_at(track, group, journal, &big, 1)?);
        best_small = best_small.min(time_at(track, group, journal, &small, 2)?);
        ratio = best_big.as_secs_f64() / best_small.as_secs_f64();
        if attempt >= least && (low..=high).contains(&ratio) {
            return Some(());
        }
    }
    let (larger, smaller) = (size::show(&group.id, &big), size::show(&group.id, &small));
    let told = format!("{factor:.1} times the work took {ratio:.2} times as long");
    if ratio > high {
        let remark =
            format!("its time grows faster than the work: {told} ({larger} against {smaller})");
        track.remark = Some(remark);
        return Some(());
    }
    let seen = Seen(vec![
        (work(group, &small), best_small),
        (work(group, &big), best_big),
    ]);
    if grows_in_the_end(track, group, journal, seen, big, small)? {
        return Some(());
    }
    let reason = format!("{told}, must be at least {low:.1} ({larger} against {smaller})");
    track.fail(Failure::new(State::Elided, reason));
    None
}

/// Sizes whose times were taken: their work, and how long it took.
#[derive(Debug)]
struct Seen(Vec<(f64, Duration)>);

impl Seen {
    /// Whether the time of so much work is at least a quarter of what that of one far smaller lets expect.
    fn grow_to(&self, work: f64, time: Duration) -> bool {
        let is_told_by = |(less, shorter): &(f64, Duration)| {
            work >= FAR * less && grows(*less, *shorter, work, time)
        };
        self.0.iter().any(is_told_by)
    }
}

fn grows(less: f64, shorter: Duration, work: f64, time: Duration) -> bool {
    time.as_secs_f64() / shorter.as_secs_f64() >= work / less / 4.0
}

/// A second look at a cell whose times grow too little. Two kinds are honest: runtimes with two speeds (a lock that is
/// contended or not), and repetitions with a cost that is always the same, such as the start of a system, in which the
/// work of small sizes is lost. So the size is raised until the times of two that are far apart differ at least by a
/// quarter of their work. Those of elided work never do.
fn grows_in_the_end(
    track: &mut Track,
    group: &Group,
    journal: &mut Journal,
    mut seen: Seen,
    mut high: Params,
    mut low: Params,
) -> Option<bool> {
    let mut most = work(group, &high);
    let mut longest = seen.0.last().map_or(Duration::ZERO, |(_, time)| *time);
    for _step in 0..STEPS {
        let larger = size::scaled(&group.id, &high, true);
        let Some(larger) = larger.filter(|larger| may_be_asked(track, group, larger)) else {
            break;
        };
        let more = work(group, &larger);
        if longest.mul_f64(more / most) > FAR_TIME {
            break;
        }
        longest = time_at(track, group, journal, &larger, 1)?;
        (high, most) = (larger, more);
        if seen.grow_to(most, longest) {
            // Not by a disturbance, which makes a time longer.
            longest = longest.min(time_at(track, group, journal, &high, 1)?);
            if seen.grow_to(most, longest) {
                return Some(true);
            }
        }
        seen.0.push((most, longest));
    }
    while most < FAR * work(group, &low) {
        let Some(smaller) = size::scaled(&group.id, &low, false) else {
            break;
        };
        low = smaller;
    }
    let shortest = time_at(track, group, journal, &low, 2)?;
    Some(grows(work(group, &low), shortest, most, longest))
}

/// Operations of one repetition.
#[expect(clippy::cast_precision_loss, reason = "for ratios of sizes")]
fn work(group: &Group, params: &Params) -> f64 {
    expected(&group.id, params).ops as f64
}

fn may_be_asked(track: &Track, group: &Group, params: &Params) -> bool {
    plan::over(params, &track.cell.max).is_none()
        && size::refusal(&group.id, params, track.launch.limits.mem_cap / 4).is_none()
}

/// The size with which a repetition should last long enough, and the steps it took; `None` when none may be asked for.
fn grow(
    track: &Track,
    group: &Group,
    from: &Params,
    time: Duration,
    most: u32,
) -> Option<(Params, u32)> {
    let (mut params, mut steps, mut guess) = (from.clone(), 0, time.as_secs_f64());
    while steps == 0 || (guess < TELLING.as_secs_f64() && steps < most) {
        let next = size::scaled(&group.id, &params, true)?;
        let fits = may_be_asked(track, group, &next);
        if !fits || steps >= most {
            return None;
        }
        guess *= work(group, &next) / work(group, &params);
        (params, steps) = (next, steps + 1);
    }
    Some((params, steps))
}

fn time_at(
    track: &mut Track,
    group: &Group,
    journal: &mut Journal,
    params: &Params,
    inner: u64,
) -> Option<Duration> {
    let at = Group {
        params: params.clone(),
        ..group.clone()
    };
    track.with(|peer| {
        peer.release()?;
        peer.prepare(&at.id, &at.params, 1)
    })?;
    let (checked, _) = track.sample(&at, journal, Phase::Elision, 0, inner)?;
    Some(Duration::from_nanos(checked.sample.ns / inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether sizes doubled from 1 on, as often as the second look may, show that time grows; `time` in ms.
    fn is_seen(time: impl Fn(f64) -> f64) -> bool {
        let at = |work: f64| Duration::from_secs_f64(time(work) / 1e3);
        let mut seen = Seen(vec![(1.0, at(1.0))]);
        (1..=STEPS).any(|step| {
            let work = 2_f64.powi(i32::try_from(step).expect("few"));
            let grows = seen.grow_to(work, at(work));
            seen.0.push((work, at(work)));
            grows
        })
    }

    #[test]
    fn a_fixed_cost_hides_the_work_of_small_sizes_only() {
        assert!(is_seen(|work| work));
        for fixed in [1.0, 30.0, 200.0] {
            assert!(is_seen(|work| fixed + work / 4.0), "{fixed}");
        }
        // Two speeds: that of the smallest size is the slow one.
        assert!(is_seen(|work| if work < 2.0 { 9.0 * work } else { work }));
    }

    #[test]
    fn elided_work_is_not_taken_for_a_fixed_cost() {
        assert!(!is_seen(|_| 30.0));
        assert!(!is_seen(|work| 30.0 + work.log2()));
        assert!(!is_seen(|work| 10.0 * work.sqrt()));
        // Disturbed now and then by as much as it takes.
        assert!(!is_seen(|work| if work.log2() % 3.0 == 0.0 {
            60.0
        } else {
            30.0
        }));
    }
}
