//! Comparisons: paired ratios against the reference with a verdict, and ranks that ties share.

use serde::{Deserialize, Serialize};

use crate::arena::statistics::stats::{self, Level, RESAMPLES};

/// Differences below this share do not matter.
pub(crate) const MARGIN: f64 = 0.03;

/// What the ratio's interval shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Verdict {
    /// This cell is faster than the reference.
    #[serde(rename = "faster")]
    Faster,
    #[serde(rename = "slower")]
    Slower,
    /// The difference is shown to be below the margin.
    #[serde(rename = "same")]
    Same,
    /// The interval allows more than one of the others.
    #[serde(rename = "not shown")]
    NotShown,
    /// It is the reference.
    #[serde(rename = "reference")]
    Reference,
}

/// Time of a cell over time of the reference, paired by round so that drift of the machine cancels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ratio {
    pub(crate) reference: String,
    pub(crate) median: f64,
    pub(crate) ci95: Option<[f64; 2]>,
    pub(crate) verdict: Verdict,
    /// Rounds in which both gave a sample.
    pub(crate) pairs: usize,
}

/// Samples of one cell: by launch, then by round; `None` where a round has none.
pub(crate) type Series = Vec<Vec<Option<f64>>>;

/// The values of a series without the gaps, by launch.
pub(crate) fn values(series: &Series) -> Vec<Vec<f64>> {
    series
        .iter()
        .map(|launch| launch.iter().flatten().copied().collect())
        .collect()
}

/// Compares a cell with the reference. `noisy`: the machine was, so the margin is doubled.
pub(crate) fn ratio(name: &str, cell: &Series, reference: &Series, noisy: bool) -> Option<Ratio> {
    ratio_drawn(name, cell, reference, noisy, RESAMPLES)
}

/// The same with another number of resamples.
pub(crate) fn ratio_drawn(
    name: &str,
    cell: &Series,
    reference: &Series,
    noisy: bool,
    resamples: usize,
) -> Option<Ratio> {
    let logs: Vec<Vec<f64>> = cell
        .iter()
        .zip(reference)
        .map(|(a, b)| {
            a.iter()
                .zip(b)
                .filter_map(|(a, b)| Some(((*a)? / (*b)?).ln()))
                .collect()
        })
        .collect();
    let all: Vec<f64> = logs.concat();
    if all.is_empty() {
        return None;
    }
    let ci95 = stats::interval_of_logs(&logs, Level::P95, resamples).map(|i| i.map(f64::exp));
    let margin = if noisy { 2.0 * MARGIN } else { MARGIN };
    Some(Ratio {
        reference: name.to_owned(),
        median: stats::median(&all).exp(),
        ci95,
        verdict: ci95.map_or(Verdict::NotShown, |ci| judge(ci, margin, MARGIN)),
        pairs: all.len(),
    })
}

/// What an interval of a ratio shows: wholly beyond `apart` is a difference, wholly within `same` is none.
pub(crate) fn judge([low, high]: [f64; 2], apart: f64, same: f64) -> Verdict {
    if low > 1.0 + apart {
        Verdict::Slower
    } else if high < 1.0 / (1.0 + apart) {
        Verdict::Faster
    } else if low >= 1.0 / (1.0 + same) && high <= 1.0 + same {
        Verdict::Same
    } else {
        Verdict::NotShown
    }
}

/// Ranks by median; whoever's interval overlaps with that of the best of a rank shares it. Without an interval: no rank.
pub(crate) fn ranks(figures: &[Option<(f64, [f64; 2])>]) -> Vec<Option<u32>> {
    let mut order: Vec<(usize, f64, [f64; 2])> = figures
        .iter()
        .enumerate()
        .filter_map(|(index, figure)| figure.map(|(median, interval)| (index, median, interval)))
        .collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut ranks = vec![None; figures.len()];
    let mut leader: Option<[f64; 2]> = None;
    let mut rank = 0;
    for (place, (index, _, interval)) in (1..).zip(order) {
        if leader.is_none_or(|leader| interval[0] > leader[1]) {
            leader = Some(interval);
            rank = place;
        }
        ranks[index] = Some(rank);
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::statistics::random::Random;

    fn uniform(random: &mut Random) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a uniform deviate")]
        let value = (random.next() >> 11) as f64 / (1_u64 << 53) as f64;
        value
    }

    fn series(values: impl IntoIterator<Item = f64>) -> Series {
        vec![values.into_iter().map(Some).collect()]
    }

    #[test]
    fn pairing_keeps_the_ratio_when_the_machine_drifts() {
        // The machine halves its speed half way, and every sample has 5 % jitter: the cell takes twice the reference's time.
        let mut random = Random::new(5);
        let speed = |round: usize| if round < 6 { 1.0 } else { 2.0 };
        let mut draw = |base: f64| {
            let list: Vec<f64> = (0..12)
                .map(|r| base * speed(r) * (1.0 + 0.05 * uniform(&mut random)))
                .collect();
            series(list)
        };
        let (reference, cell) = (draw(10.0), draw(20.0));
        let ratio = ratio("ref", &cell, &reference, false).expect("pairs");
        assert!((ratio.median - 2.0).abs() < 0.06, "{ratio:?}");
        let [low, high] = ratio.ci95.expect("twelve pairs");
        assert!(low > 1.9 && high < 2.1, "{ratio:?}");
        assert_eq!(ratio.verdict, Verdict::Slower);
    }

    #[test]
    fn a_system_against_itself_is_never_told_apart() {
        let mut random = Random::new(11);
        let mut told_apart = 0;
        for _ in 0..50 {
            let mut draw = || {
                let list: Vec<f64> = (0..12)
                    .map(|_| 10.0 * (1.0 + 0.1 * uniform(&mut random)))
                    .collect();
                series(list)
            };
            let (a, b) = (draw(), draw());
            let verdict = ratio("ref", &a, &b, false).expect("pairs").verdict;
            told_apart += u32::from(!matches!(verdict, Verdict::Same | Verdict::NotShown));
        }
        assert!(told_apart <= 2, "{told_apart} of 50");
    }

    #[test]
    fn verdicts_need_the_whole_interval() {
        assert_eq!(judge([1.05, 1.2], MARGIN, MARGIN), Verdict::Slower);
        assert_eq!(judge([1.05, 1.2], 2.0 * MARGIN, MARGIN), Verdict::NotShown);
        assert_eq!(judge([0.5, 0.9], MARGIN, MARGIN), Verdict::Faster);
        assert_eq!(judge([0.99, 1.02], MARGIN, MARGIN), Verdict::Same);
        assert_eq!(judge([0.99, 1.2], MARGIN, MARGIN), Verdict::NotShown);
        let few = series([1.0, 1.0, 1.0]);
        let ratio = ratio("ref", &few, &series([2.0, 2.0, 2.0]), false).expect("pairs");
        assert_eq!(
            (ratio.verdict, ratio.ci95),
            (Verdict::NotShown, None),
            "three pairs show nothing"
        );
    }

    #[test]
    fn gaps_are_not_paired() {
        let a = vec![vec![Some(1.0), None, Some(2.0)]];
        let b = vec![vec![Some(1.0), Some(5.0), None]];
        assert_eq!(ratio("ref", &a, &b, false).expect("one pair").pairs, 1);
        assert!(ratio("ref", &vec![vec![None]], &b, false).is_none());
    }

    #[test]
    fn ties_share_a_rank() {
        let figures = [
            Some((20.0, [19.0, 21.0])),
            Some((10.0, [9.0, 11.0])),
            Some((10.5, [9.5, 11.5])),
            None,
            Some((30.0, [18.0, 40.0])),
        ];
        assert_eq!(ranks(&figures), [Some(3), Some(1), Some(1), None, Some(3)]);
    }
}
