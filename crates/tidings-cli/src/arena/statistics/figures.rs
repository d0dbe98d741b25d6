//! From samples to the figures of a group: one record per cell.

use std::collections::{BTreeMap, BTreeSet};

use crate::arena::cells::plan::{Absent, Group};
use crate::arena::cells::savina;
use crate::arena::cells::wire;
use crate::arena::records::record::{CellRecord, Figure};
use crate::arena::records::state::{Failure, State};
use crate::arena::sampling::measure::Settings;
use crate::arena::sampling::track::Track;
use crate::arena::statistics::stats::{self, Level, RESAMPLES};
use crate::arena::statistics::verdict::{self, Ratio, Verdict};

/// The peer that serves a system, and what it was built from.
#[derive(Clone, Debug)]
pub(crate) struct Build {
    pub(crate) peer: String,
    pub(crate) hash: String,
}

/// Builds by system.
pub(crate) type Builds = BTreeMap<String, Build>;

/// The records of a measured group. `noisy`: the run so far was, so verdicts need twice the margin.
pub(crate) fn group(
    group: &Group,
    tracks: &[Track],
    settings: &Settings,
    builds: &Builds,
    noisy: bool,
) -> Vec<CellRecord> {
    let mut records: Vec<CellRecord> = tracks
        .iter()
        .map(|track| one(group, track, settings, builds))
        .collect();
    let reference = tracks.iter().zip(&records).find(|(track, record)| {
        track.cell.system == settings.reference && record.ns_per_op.is_some()
    });
    let reference = reference.map(|(track, _)| track);
    for (track, record) in tracks.iter().zip(&mut records) {
        if let (Some(reference), Some(figure)) = (reference, record.ns_per_op) {
            record.ratio = if track.cell.system == reference.cell.system {
                Some(Ratio {
                    reference: settings.reference.clone(),
                    median: 1.0,
                    ci95: Some([1.0, 1.0]),
                    verdict: Verdict::Reference,
                    pairs: track.samples(),
                })
            } else {
                let reference_series = &reference.series;
                verdict::ratio(&settings.reference, &track.series, reference_series, noisy)
                    .filter(|_| figure.median > 0.0)
            };
        }
    }
    rank(&mut records);
    records
}

/// Ranks among those that make units of the same class: a thread, a task and a call are unlike.
pub(crate) fn rank(records: &mut [CellRecord]) {
    let class = |record: &CellRecord| record.labels.get("class").cloned();
    let classes: BTreeSet<_> = records.iter().map(class).collect();
    for of in classes {
        let figure = |record: &CellRecord| {
            let figure = record
                .ns_per_op
                .filter(|_| record.ranked && class(record) == of)?;
            Some((figure.median, figure.ci99?))
        };
        let figures: Vec<_> = records.iter().map(figure).collect();
        for (record, rank) in records.iter_mut().zip(verdict::ranks(&figures)) {
            record.rank = rank.or(record.rank);
        }
    }
}

fn one(group: &Group, track: &Track, settings: &Settings, builds: &Builds) -> CellRecord {
    let build = builds.get(&track.cell.system);
    let values = verdict::values(&track.series);
    let all: Vec<f64> = values.concat();
    let (state, reason) = remarked(state(track, &all, settings), track.remark.as_ref());
    let figure =
        (state.has_figures() && !all.is_empty()).then(|| figure(track, &values, &all, settings));
    let mut labels = track.cell.labels.clone();
    if let Some(window) = group
        .params
        .get("w")
        .filter(|_| group.id.workload != savina::ID)
    {
        labels
            .entry("window".to_owned())
            .or_insert_with(|| window.to_string());
    }
    wire::label(&group.id, &mut labels);
    savina::label(&group.id, &mut labels);
    let timed = figure.is_some() && track.timed_ns > 0;
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let cpu = track.cpu_ns as f64;
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let timed_ns = track.timed_ns as f64;
    CellRecord {
        workload: group.id.workload.to_owned(),
        variant: group.id.variant.clone(),
        system: track.cell.system.clone(),
        peer: build.map_or_else(String::new, |b| b.peer.clone()),
        labels,
        params: group.params.clone(),
        threads: group.threads,
        origin: track.cell.origin.clone(),
        ranked: group.id.is_ranked(),
        requested: track.cell.requested,
        state,
        reason,
        elision_tested: track.elision_tested,
        launches: u32::try_from(values.iter().filter(|v| !v.is_empty()).count()).unwrap_or(0),
        n_samples: all.len(),
        inner: track.inner,
        ops: i64::try_from(track.expected.ops).unwrap_or(i64::MAX),
        unit: group.id.definition().unit.to_owned(),
        ns_per_op: figure,
        rate: figure.map(|f| 1e9 / f.median),
        alloc: track.alloc.filter(|_| figure.is_some()),
        gc: track.gc.clone(),
        cpu_ns_per_op: timed.then(|| cpu / track.timed_ops),
        cores_used: timed.then(|| cpu / timed_ns),
        peak_rss: track.peak_rss,
        startup_ms: track.startup_ms,
        outliers: stats::outliers(&all),
        noise: track.noise,
        version: track.hello.as_ref().map(|h| h.version.clone()),
        runtime: track.hello.as_ref().map(|h| h.runtime.clone()),
        flags: track.hello.as_ref().map(|h| h.flags.clone()),
        peer_threads: track.hello.as_ref().map(|h| h.threads),
        clock_ns: track.hello.as_ref().map(|h| h.clock_ns),
        build_hash: build.map(|b| b.hash.clone()),
        net: track.net(group),
        ..CellRecord::default()
    }
}

fn state(track: &Track, all: &[f64], settings: &Settings) -> (State, Option<String>) {
    if let Some(Failure { state, reason }) = &track.failure {
        // An interrupted cell keeps what it has.
        if *state != State::Skipped || all.is_empty() {
            return (*state, Some(reason.clone()));
        }
    }
    if all.is_empty() {
        return (State::Skipped, Some("no sample was taken".to_owned()));
    }
    let rounds = all.len() / track.series.iter().filter(|l| !l.is_empty()).count().max(1);
    if rounds < settings.min_rounds.min(3) {
        return (
            State::Slow,
            Some(format!("time for {} samples only", all.len())),
        );
    }
    if track.noise.is_noisy() {
        let share = 100.0 * track.noise.foreign_share();
        let reason = format!(
            "{} of {} samples noisy, others took {share:.0} % of the CPUs",
            track.noise.noisy, track.noise.samples
        );
        return (State::Noisy, Some(reason));
    }
    let settled = track.steady
        || track.series.iter().flatten().flatten().count() >= 8
            && stats::is_steady(all, settings.target_ci);
    if settled {
        (State::Ok, None)
    } else {
        (
            State::Unsteady,
            Some("its times had not settled when the warm-up ended".to_owned()),
        )
    }
}

/// Adds the remark on a figure to what else is doubtful of it.
fn remarked(
    (state, reason): (State, Option<String>),
    remark: Option<&String>,
) -> (State, Option<String>) {
    let Some(remark) = remark.filter(|_| state.has_figures()) else {
        return (state, reason);
    };
    match reason {
        Some(reason) => (state, Some(format!("{reason}; {remark}"))),
        None => (State::Superlinear, Some(remark.clone())),
    }
}

fn figure(track: &Track, values: &[Vec<f64>], all: &[f64], settings: &Settings) -> Figure {
    let median = stats::median(all);
    let (mean, sd) = stats::mean_sd(all);
    let ci95 = stats::interval(values, Level::P95, RESAMPLES);
    Figure {
        median,
        ci95,
        ci99: stats::interval(values, Level::P99, RESAMPLES),
        mean,
        sd,
        min: all.iter().copied().fold(f64::INFINITY, f64::min),
        max: all.iter().copied().fold(0.0, f64::max),
        first: track.first.unwrap_or(median),
        precise: ci95.is_some_and(|i| stats::half_width(median, i) <= settings.target_ci),
    }
}

/// The record of a cell that did not run.
pub(crate) fn absent(absent: &Absent) -> CellRecord {
    let ranked = absent.id.is_ranked();
    CellRecord {
        workload: absent.id.workload.to_owned(),
        variant: absent.id.variant.clone(),
        system: absent.system.clone(),
        peer: absent.peer.clone(),
        labels: absent.labels.clone(),
        origin: absent.origin.clone(),
        ranked,
        requested: absent.requested,
        state: absent.state,
        reason: Some(absent.reason.clone()),
        fix: absent.fix.clone(),
        unit: absent.id.definition().unit.to_owned(),
        ..CellRecord::default()
    }
}

#[cfg(test)]
mod tests {
    use super::rank;
    use crate::arena::records::record::{CellRecord, Run};

    #[test]
    fn ranks_are_within_a_class_of_units() {
        let text = include_str!("../../../tests/arena/report/run/run.json");
        let run: Run = serde_json::from_str(text).expect("the invented run");
        let any = run.cells.into_iter().find(|cell| cell.rank.is_some());
        let any = any.expect("one has a rank");
        let cell = |class: Option<&str>, median: f64| {
            let mut cell = any.clone();
            cell.rank = None;
            let class = class.map(|class| ("class".to_owned(), class.to_owned()));
            cell.labels = class.into_iter().collect();
            let figure = cell.ns_per_op.as_mut().expect("it has a rank");
            figure.median = median;
            figure.ci99 = Some([0.9 * median, 1.1 * median]);
            cell
        };
        let mut cells = [
            cell(Some("task"), 10.0),
            cell(Some("thread"), 5.0),
            cell(Some("task"), 10.5),
            cell(None, 1.0),
            cell(Some("thread"), 100.0),
            cell(Some("task"), 20.0),
        ];
        rank(&mut cells);
        let ranks = cells.map(|cell: CellRecord| cell.rank.expect("it has a figure"));
        assert_eq!(ranks, [1, 1, 1, 1, 2, 3]);
    }
}
