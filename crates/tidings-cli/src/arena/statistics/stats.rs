//! The statistics of samples: median, bootstrap intervals, outlier classes, trend.
//!
//! Nothing is removed from a series for its value: the pauses are part of the result. What enters one: `sampling/measure.rs`, where
//! a sample that others disturbed gives way to its repetition.

use crate::arena::statistics::random::Random;

/// Bootstrap resamples for a figure that is printed.
pub(crate) const RESAMPLES: usize = 4000;
/// Resamples for the stop rule, which only needs the width.
pub(crate) const RESAMPLES_ROUGH: usize = 800;
/// Fewer samples than this get their range instead of an interval.
pub(crate) const MIN_FOR_INTERVAL: usize = 6;

/// The median. `values` must not be empty.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    median_in_place(&mut sorted)
}

fn median_in_place(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 {
        values[half]
    } else {
        f64::midpoint(values[half - 1], values[half])
    }
}

/// A value below which the share `q` of the sorted list lies, interpolated.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a few thousand values")]
    let place = q * (sorted.len() - 1) as f64;
    let low = place.floor();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 <= place < len"
    )]
    let index = low as usize;
    let next = (index + 1).min(sorted.len() - 1);
    sorted[index] + (sorted[next] - sorted[index]) * (place - low)
}

/// How sure an interval is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    P95,
    P99,
}

impl Level {
    /// The tail to cut on each side for `n` values. The plain percentile bootstrap is too narrow for few values; the
    /// tail is that of Hesterberg's expanded interval (2015, "What teachers should know about the bootstrap", 5.1):
    /// `Phi(-sqrt(n/(n-1)) * t)` in place of `Phi(-z)`.
    fn tail(self, n: usize) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "sample counts are small")]
        let n_of = n as f64;
        upper_tail((n_of / (n_of - 1.0)).sqrt() * self.approximate_t(n - 1))
    }

    /// The normal deviate.
    fn z(self) -> f64 {
        match self {
            Self::P95 => 1.959_964,
            Self::P99 => 2.575_829,
        }
    }

    /// Student's t from the normal deviate: Cornish and Fisher, two terms. Good from five degrees of freedom on.
    fn approximate_t(self, freedom: usize) -> f64 {
        let z = self.z();
        #[expect(clippy::cast_precision_loss, reason = "sample counts are small")]
        let freedom = freedom as f64;
        z + (z.powi(3) + z) / (4.0 * freedom)
            + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * freedom * freedom)
    }

    /// Student's t, two-sided; for few degrees of freedom from its table.
    fn t(self, freedom: usize) -> f64 {
        let table = match self {
            Self::P95 => [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306],
            Self::P99 => [63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355],
        };
        let known = freedom.checked_sub(1).and_then(|index| table.get(index));
        known.map_or_else(|| self.approximate_t(freedom), |t| *t)
    }
}

/// The standard normal distribution above `x >= 0` (Abramowitz and Stegun 26.2.17, error below 1e-7).
fn upper_tail(x: f64) -> f64 {
    let k = 1.0 / (1.0 + 0.231_641_9 * x);
    let series = [
        0.319_381_530,
        -0.356_563_782,
        1.781_477_937,
        -1.821_255_978,
        1.330_274_429,
    ];
    let sum = series.iter().rev().fold(0.0, |sum, a| (sum + a) * k);
    (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * sum
}

/// A confidence interval of the median by the bootstrap, hierarchical when there are several launches: launches are
/// drawn first, then samples within each. The seed is fixed, so a saved run gives the same interval again.
///
/// The percentile form, not `BCa`: the acceleration of a median comes from a jackknife that is not consistent for it.
///
/// Of three launches the bootstrap draws the same ones again and again: where launches differ more than samples it covers
/// the median in 75 of 100 cases. So the interval is at least that of Student for the medians of the launches, which are
/// what is independent. They are taken by their logarithms, for times are above 0 and differ by factors.
pub(crate) fn interval(launches: &[Vec<f64>], level: Level, resamples: usize) -> Option<[f64; 2]> {
    let sample = Resampled::new(launches)?;
    let drawn = sample.interval(level, resamples);
    let between = Between::of(&sample.medians(f64::ln), level);
    Some(between.join(drawn, f64::exp))
}

/// The same of values that are logarithms already.
pub(crate) fn interval_of_logs(
    launches: &[Vec<f64>],
    level: Level,
    resamples: usize,
) -> Option<[f64; 2]> {
    let sample = Resampled::new(launches)?;
    let drawn = sample.interval(level, resamples);
    let between = Between::of(&sample.medians(|median| median), level);
    Some(between.join(drawn, |value| value))
}

/// A confidence interval of the ratio of two medians whose samples were not taken together: each side is resampled for
/// itself. The tail is that of the shorter one, and the interval at least that of Student for the medians of launches.
pub(crate) fn ratio_interval(
    over: &[Vec<f64>],
    under: &[Vec<f64>],
    level: Level,
    resamples: usize,
) -> Option<[f64; 2]> {
    let (over, under) = (Resampled::new(over)?, Resampled::new(under)?);
    let mut random = Random::new(SEED);
    let ratios = (0..resamples).map(|_| over.median(&mut random) / under.median(&mut random));
    let least = over.total.min(under.total);
    let drawn = percentiles(ratios.collect(), level.tail(least));
    let of = |sample: &Resampled<'_>| Between::of(&sample.medians(f64::ln), level);
    Some(of(&over).less(of(&under)).join(drawn, f64::exp))
}

/// What the medians of launches say: their mean, and how far the true one may be from it.
#[derive(Clone, Copy, Debug)]
struct Between {
    mean: f64,
    /// Nothing is known of it with one launch.
    half: Option<f64>,
}

impl Between {
    fn of(medians: &[f64], level: Level) -> Self {
        let (mean, sd) = mean_sd(medians);
        #[expect(clippy::cast_precision_loss, reason = "few launches")]
        let root = (medians.len() as f64).sqrt();
        let several = medians.len() > 1 && sd.is_finite();
        Self {
            mean,
            half: several.then(|| level.t(medians.len() - 1) * sd / root),
        }
    }

    /// The difference of two means. Each with its own factor of Student: rather too wide than too narrow.
    fn less(self, other: Self) -> Self {
        let of = |half: Option<f64>| half.unwrap_or(0.0);
        let either = self.half.or(other.half);
        Self {
            mean: self.mean - other.mean,
            half: either.map(|_| of(self.half).hypot(of(other.half))),
        }
    }

    /// The least interval that holds this one, on another scale, and the one drawn.
    fn join(self, drawn: [f64; 2], scale: impl Fn(f64) -> f64) -> [f64; 2] {
        let Some(half) = self.half else {
            return drawn;
        };
        let ends = [scale(self.mean - half), scale(self.mean + half)];
        [drawn[0].min(ends[0]), drawn[1].max(ends[1])]
    }
}

/// Of the bootstrap: fixed, so that a saved run gives the same interval again.
const SEED: u64 = 0x7469_6469_6e67_7321;

/// Samples to be drawn from again and again.
struct Resampled<'a> {
    launches: Vec<&'a Vec<f64>>,
    total: usize,
}

impl<'a> Resampled<'a> {
    /// `None` if there are too few.
    fn new(launches: &'a [Vec<f64>]) -> Option<Self> {
        let launches: Vec<&Vec<f64>> = launches.iter().filter(|l| !l.is_empty()).collect();
        let total = launches.iter().map(|l| l.len()).sum();
        (total >= MIN_FOR_INTERVAL).then_some(Self { launches, total })
    }

    fn interval(&self, level: Level, resamples: usize) -> [f64; 2] {
        let mut random = Random::new(SEED);
        let medians = (0..resamples).map(|_| self.median(&mut random));
        percentiles(medians.collect(), level.tail(self.total))
    }

    /// The median of each launch, on some scale.
    fn medians(&self, scale: impl Fn(f64) -> f64) -> Vec<f64> {
        let launches = self.launches.iter();
        launches.map(|launch| scale(median(launch))).collect()
    }

    /// The median of one resample: of launches first, then of samples within each.
    fn median(&self, random: &mut Random) -> f64 {
        let mut drawn = Vec::with_capacity(self.total);
        for launch in &self.launches {
            let launch = if self.launches.len() == 1 {
                launch
            } else {
                self.launches[random.below(self.launches.len())]
            };
            drawn.extend((0..launch.len()).map(|_| launch[random.below(launch.len())]));
        }
        median_in_place(&mut drawn)
    }
}

fn percentiles(mut values: Vec<f64>, tail: f64) -> [f64; 2] {
    values.sort_unstable_by(f64::total_cmp);
    [quantile(&values, tail), quantile(&values, 1.0 - tail)]
}

/// Half the width of an interval, relative to its median.
pub(crate) fn half_width(median: f64, interval: [f64; 2]) -> f64 {
    (interval[1] - interval[0]) / 2.0 / median
}

/// Arithmetic mean and standard deviation of the sample.
pub(crate) fn mean_sd(values: &[f64]) -> (f64, f64) {
    #[expect(clippy::cast_precision_loss, reason = "sample counts are small")]
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (
        mean,
        if values.len() > 1 {
            (squares / (n - 1.0)).sqrt()
        } else {
            0.0
        },
    )
}

/// Tukey's classes, and how much of the variance the outliers carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Outliers {
    pub(crate) mild: usize,
    pub(crate) severe: usize,
    /// Share of the variance that goes when they are left out, 0 to 1.
    pub(crate) variance_share: f64,
}

/// Counts outliers: mild beyond 1.5, severe beyond 3 interquartile ranges from the quartiles.
pub(crate) fn outliers(values: &[f64]) -> Outliers {
    if values.len() < 4 {
        return Outliers::default();
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (q1, q3) = (quantile(&sorted, 0.25), quantile(&sorted, 0.75));
    let range = q3 - q1;
    let beyond = |v: f64, k: f64| v < q1 - k * range || v > q3 + k * range;
    let severe = values.iter().filter(|v| beyond(**v, 3.0)).count();
    let mild = values.iter().filter(|v| beyond(**v, 1.5)).count() - severe;
    let inner: Vec<f64> = values
        .iter()
        .copied()
        .filter(|v| !beyond(*v, 1.5))
        .collect();
    let whole = mean_sd(values).1.powi(2);
    let rest = if inner.is_empty() {
        0.0
    } else {
        mean_sd(&inner).1.powi(2)
    };
    let variance_share = if whole > 0.0 {
        (1.0 - rest / whole).clamp(0.0, 1.0)
    } else {
        0.0
    };
    Outliers {
        mild,
        severe,
        variance_share,
    }
}

/// Whether the last eight of a series still rise or fall: Mann-Kendall, two-sided, 5 %.
fn has_trend(last_eight: &[f64]) -> bool {
    let mut score = 0_i32;
    for (i, earlier) in last_eight.iter().enumerate() {
        for later in &last_eight[i + 1..] {
            score += match later.total_cmp(earlier) {
                std::cmp::Ordering::Less => -1,
                std::cmp::Ordering::Equal => 0,
                std::cmp::Ordering::Greater => 1,
            };
        }
    }
    // Kendall's table for eight values: P(S >= 18) = 0.016, so |S| >= 18 is below 5 %; |S| >= 16 is not.
    score.abs() >= 18
}

/// Whether a series has settled: the medians of its last two windows of four differ by less than `tolerance`, and its
/// last eight show no trend.
pub(crate) fn is_steady(series: &[f64], tolerance: f64) -> bool {
    let Some(start) = series.len().checked_sub(8) else {
        return false;
    };
    let (before, after) = (
        median(&series[start..start + 4]),
        median(&series[start + 4..]),
    );
    (after - before).abs() < tolerance * before && !has_trend(&series[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A normal deviate, by the sum of twelve uniforms.
    fn normal(random: &mut Random) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a uniform deviate")]
        let sum: f64 = (0..12)
            .map(|_| (random.next() >> 11) as f64 / (1_u64 << 53) as f64)
            .sum();
        sum - 6.0
    }

    /// Samples as machines give them: a hump, and a tail to the slow side. The median is 1.
    fn jitter(random: &mut Random) -> f64 {
        (0.1 * normal(random)).exp()
    }

    #[test]
    fn medians_and_quantiles() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-12);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-12);
        assert!((quantile(&[1.0, 2.0, 3.0], 0.25) - 1.5).abs() < 1e-12);
    }

    #[test]
    fn intervals_cover_the_true_median() {
        for samples in [12, 40] {
            let mut random = Random::new(samples);
            let runs = 500;
            let covered = (0..runs)
                .filter(|_| {
                    let series: Vec<f64> = (0..samples).map(|_| jitter(&mut random)).collect();
                    let [low, high] = interval(&[series], Level::P95, 500).expect("enough samples");
                    low <= 1.0 && 1.0 <= high
                })
                .count();
            let share = covered * 1000 / runs;
            assert!(
                (930..=970).contains(&share),
                "{samples} samples: covered {share} of 1000"
            );
        }
    }

    #[test]
    fn several_launches_widen_the_interval() {
        let steady = |level: f64| {
            (0..12)
                .map(|i| level + 0.001 * f64::from(i))
                .collect::<Vec<_>>()
        };
        let apart = [steady(1.0), steady(1.2), steady(1.4)];
        let pooled: Vec<f64> = apart.concat();
        let width = |i: [f64; 2]| i[1] - i[0];
        let hierarchical = width(interval(&apart, Level::P95, 2000).expect("enough"));
        let naive = width(interval(&[pooled], Level::P95, 2000).expect("enough"));
        assert!(hierarchical > naive, "{hierarchical} > {naive}");
        assert!(interval(&[vec![1.0; 5]], Level::P95, 100).is_none());
    }

    #[test]
    fn outliers_are_counted() {
        let mut series: Vec<f64> = (0..20).map(|i| 1.0 + 0.01 * f64::from(i)).collect();
        assert_eq!(outliers(&series), Outliers::default());
        series.push(9.0);
        let found = outliers(&series);
        assert_eq!((found.mild, found.severe), (0, 1));
        assert!(found.variance_share > 0.9);
    }

    #[test]
    fn warm_up_ends_when_the_curve_is_flat() {
        let curve: Vec<f64> = (0..40)
            .map(|i| 1.0 + 4.0 * (-0.3 * f64::from(i)).exp())
            .collect();
        let steady_at = (8..=curve.len()).find(|n| is_steady(&curve[..*n], 0.03));
        assert_eq!(
            steady_at, None,
            "a curve that still falls strictly is a trend"
        );
        let mut random = Random::new(3);
        let noisy: Vec<f64> = curve
            .iter()
            .map(|v| v * (1.0 + 0.005 * normal(&mut random)))
            .collect();
        let steady_at = (8..=noisy.len())
            .find(|n| is_steady(&noisy[..*n], 0.03))
            .expect("settles");
        assert!((12..=30).contains(&steady_at), "{steady_at}");
        assert!(!is_steady(&[1.0; 7], 0.03));
    }
}
