//! Cells of latency (`net/paced`): requests on a fixed schedule, at shares of the rate that the same connections reach
//! when every client asks as fast as it is answered.
//!
//! A few closed-loop rounds come first; their median is the rate, once for all launches, so that histograms can be merged.
//! Then every round takes one sample of fixed length at each load. Figures are shown and never ranked: which load and which
//! percentile matters is the reader's to say.

use std::time::Instant;

use crate::arena::cells::plan::Group;
use crate::arena::exit::Stop;
use crate::arena::records::record::{Latency, SampleRecord};
use crate::arena::sampling::measure::Bench;
use crate::arena::sampling::track::{Phase, Track};
use crate::arena::statistics::histogram::Histogram;
use crate::arena::statistics::stats;
use crate::arena::statistics::verdict;

/// Loads, in percent of the closed-loop rate.
pub(crate) const LOADS: [u32; 3] = [10, 50, 80];
/// Closed-loop rounds of a launch.
const CLOSED: usize = 3;
/// A schedule was kept up when so much of the asked rate was reached.
const KEPT_UP: f64 = 0.95;

/// How long and how often paced samples are taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) secs: u64,
    pub(crate) rounds: usize,
}

/// One load of one cell: what its samples came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Load {
    percent: u32,
    rate: u64,
    samples: usize,
    requests: u64,
    ns: u64,
    latency: Histogram,
    service: Histogram,
}

impl Load {
    /// For the result; `None` without a sample.
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    fn record(&self) -> Option<Latency> {
        let achieved = self.requests as f64 * 1e9 / self.ns.max(1) as f64;
        Some(Latency {
            load_percent: self.percent,
            rate: self.rate,
            achieved,
            kept_up: achieved >= KEPT_UP * self.rate as f64,
            samples: self.samples,
            count: self.latency.count(),
            latency_ns: self.latency.percentiles()?,
            service_ns: self.service.percentiles()?,
        })
    }
}

/// The latencies of a cell, by load.
pub(crate) fn records(loads: &[Load]) -> Vec<Latency> {
    loads.iter().filter_map(Load::record).collect()
}

impl Bench<'_> {
    /// The rounds of a paced group in one launch.
    pub(crate) fn paced(
        &mut self,
        group: &Group,
        tracks: &mut [Track],
        end: Option<Instant>,
    ) -> Result<(), Stop> {
        let is_over = || end.is_some_and(|end| Instant::now() > end);
        for round in 0..CLOSED {
            let order = self.order(tracks);
            let _ = self.round(group, tracks, round, &order, 0);
            self.flush()?;
            if self.interrupt.is_asked() {
                return Ok(());
            }
        }
        for track in tracks.iter_mut().filter(|t| t.active) {
            schedule(track);
        }
        for round in 0..self.settings.pace.rounds {
            if round > 0 && is_over() {
                break;
            }
            for (load, percent) in LOADS.iter().enumerate() {
                for index in self.order(tracks) {
                    if self.interrupt.is_asked() {
                        return self.flush();
                    }
                    self.progress
                        .between(|| format!("{} round {} at {} %", group.id, round + 1, percent));
                    std::thread::sleep(crate::arena::sampling::measure::SETTLE);
                    self.paced_sample(group, &mut tracks[index], round, load);
                }
                self.flush()?;
            }
        }
        Ok(())
    }

    fn order(&mut self, tracks: &[Track]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..tracks.len()).filter(|i| tracks[*i].active).collect();
        self.random.shuffle(&mut order);
        order
    }

    fn paced_sample(&mut self, group: &Group, track: &mut Track, round: usize, load: usize) {
        let (secs, journal) = (self.settings.pace.secs, &mut self.journal);
        let Some(rate) = track.loads.get(load).map(|l| l.rate) else {
            return;
        };
        let Some((paced, around)) = track.gated(group, |peer| peer.run_paced(rate, secs)) else {
            return;
        };
        let sample = &paced.checked.sample;
        journal.pending.push(SampleRecord {
            rate: Some(rate),
            hist: sample.hist.clone(),
            hist_service: sample.hist_service.clone(),
            ..track.line(group, journal, Phase::Paced, round, &paced.checked, &around)
        });
        track.noise.add(&around);
        self.noise.add(&around);
        if track.carried(sample.msgs, &around).is_none() {
            return;
        }
        let load = &mut track.loads[load];
        load.samples += 1;
        load.requests += rate * secs;
        load.ns += sample.ns;
        load.latency.merge(&paced.latency);
        load.service.merge(&paced.service);
    }
}

/// Sets the rates of a cell from its closed-loop rounds, if it has none yet.
fn schedule(track: &mut Track) {
    let times = verdict::values(&track.series).concat();
    if !track.loads.is_empty() || times.is_empty() {
        return;
    }
    let per_second = 1e9 / stats::median(&times);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate of requests is positive and far below 2^63"
    )]
    let rate = |percent: u32| (per_second * f64::from(percent) / 100.0).max(1.0) as u64;
    track.loads = LOADS
        .iter()
        .map(|percent| Load {
            percent: *percent,
            rate: rate(*percent),
            ..Load::default()
        })
        .collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_says_whether_its_schedule_was_kept_up() {
        let one = Histogram::read(&[[100, 2000]]).expect("valid");
        let mut load = Load {
            percent: 50,
            rate: 1000,
            samples: 2,
            requests: 2000,
            ns: 2_010_000_000,
            latency: one.clone(),
            service: one,
        };
        let record = load.record().expect("has samples");
        assert!(record.kept_up && record.count == 2000, "{record:?}");
        load.ns = 2_200_000_000;
        assert!(load.record().is_some_and(|r| !r.kept_up));
        assert!(Load::default().record().is_none());
    }
}
