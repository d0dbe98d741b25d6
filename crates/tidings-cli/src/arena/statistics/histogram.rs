//! Histograms of latencies: the buckets of `arena/PROTOCOL.md`, merged over samples, read as percentiles.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The bucket of the largest value that fits 63 bits.
const LAST: u64 = 57 * 32 + 63;

/// One bucket as a peer sends it: its number, how many values are in it.
pub(crate) type Bucket = [u64; 2];

/// Counts by bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Histogram {
    counts: BTreeMap<u64, u64>,
    count: u64,
}

/// The percentiles shown, in nanoseconds; each the upper edge of its bucket, at most 3.2 % too high.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Percentiles {
    pub(crate) p50: u64,
    pub(crate) p90: u64,
    pub(crate) p99: u64,
    pub(crate) p999: u64,
    pub(crate) max: u64,
}

/// The largest value of a bucket.
fn upper_edge(bucket: u64) -> u64 {
    if bucket < 64 {
        return bucket;
    }
    let shift = bucket / 32 - 1;
    ((bucket - shift * 32 + 1) << shift) - 1
}

impl Histogram {
    /// Reads what a peer sent. The error says what is wrong with it.
    pub(crate) fn read(buckets: &[Bucket]) -> Result<Self, String> {
        let mut histogram = Self::default();
        let mut last = None;
        for [bucket, count] in buckets.iter().copied() {
            if last.is_some_and(|last| bucket <= last) {
                return Err(format!("bucket {bucket} is not in rising order"));
            }
            if bucket > LAST || count == 0 {
                return Err(format!("bucket [{bucket},{count}] cannot be"));
            }
            last = Some(bucket);
            histogram.counts.insert(bucket, count);
            histogram.count = histogram
                .count
                .checked_add(count)
                .ok_or("its counts do not fit 64 bits")?;
        }
        Ok(histogram)
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (bucket, count) in &other.counts {
            *self.counts.entry(*bucket).or_default() += count;
        }
        self.count += other.count;
    }

    /// Values in it.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The value that so many of a million do not exceed; 0 when it is empty.
    pub(crate) fn quantile(&self, per_million: u32) -> u64 {
        let rank = u128::from(self.count) * u128::from(per_million);
        let mut seen = 0_u128;
        for (bucket, count) in &self.counts {
            seen += u128::from(*count) * 1_000_000;
            if seen >= rank {
                return upper_edge(*bucket);
            }
        }
        0
    }

    /// `None` when it is empty.
    pub(crate) fn percentiles(&self) -> Option<Percentiles> {
        let (last, _) = self.counts.last_key_value()?;
        Some(Percentiles {
            p50: self.quantile(500_000),
            p90: self.quantile(900_000),
            p99: self.quantile(990_000),
            p999: self.quantile(999_000),
            max: upper_edge(*last),
        })
    }

    /// Whether no percentile of this is above the same one of `other`: what begins later ends earlier.
    pub(crate) fn is_below(&self, other: &Self) -> bool {
        self.percentiles()
            .zip(other.percentiles())
            .is_none_or(|(a, b)| {
                a.p50 <= b.p50
                    && a.p90 <= b.p90
                    && a.p99 <= b.p99
                    && a.p999 <= b.p999
                    && a.max <= b.max
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The formula of the page, written out again.
    fn bucket(value: u64) -> u64 {
        let e = 63 - u64::from((value | 63).leading_zeros());
        (e - 5) * 32 + (value >> (e - 5))
    }

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut counts = BTreeMap::new();
        for value in values {
            *counts.entry(bucket(value)).or_insert(0) += 1;
        }
        let list: Vec<Bucket> = counts.into_iter().map(|(b, c)| [b, c]).collect();
        Histogram::read(&list).expect("valid")
    }

    #[test]
    fn buckets_hold_their_values_within_the_error() {
        let mut random = crate::arena::statistics::random::Random::new(3);
        for shift in 0..63 {
            for _ in 0..50 {
                let value = random.next() >> (63 - shift) >> 1;
                let b = bucket(value);
                let (low, high) = (
                    if b == 0 { 0 } else { upper_edge(b - 1) + 1 },
                    upper_edge(b),
                );
                assert!(
                    (low..=high).contains(&value),
                    "{value} in {b}: {low}..{high}"
                );
                assert!(
                    (high - low) * 32 <= low || high == low,
                    "{b}: {low}..{high}"
                );
            }
        }
        assert_eq!((bucket(63), bucket(64), bucket(128)), (63, 64, 96));
        assert_eq!(bucket(u64::MAX >> 1), LAST);
        assert_eq!(upper_edge(LAST), u64::MAX >> 1);
    }

    #[test]
    fn percentiles_are_those_of_the_values() {
        let p = of(1..=1000).percentiles().expect("not empty");
        let near = |got: u64, want: u64| got >= want && (got - want) * 32 <= want;
        assert!(
            near(p.p50, 500) && near(p.p90, 900) && near(p.p99, 990),
            "{p:?}"
        );
        assert!(near(p.p999, 999) && near(p.max, 1000), "{p:?}");
        let one = of([7]).percentiles().expect("not empty");
        assert_eq!((one.p50, one.p999, one.max), (7, 7, 7));
        assert!(Histogram::default().percentiles().is_none());
    }

    #[test]
    fn merging_adds_and_order_shows() {
        let (mut a, b) = (of(1..=100), of(50..=2000));
        assert!(a.is_below(&b) && !b.is_below(&a) && a.is_below(&a));
        a.merge(&b);
        assert_eq!(a.count(), 100 + 1951);
        assert_eq!(a, of((1..=100).chain(50..=2000)));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (list, names) in [
            (&[[5, 1], [5, 1]][..], "rising"),
            (&[[6, 1], [5, 1]], "rising"),
            (&[[5, 0]], "cannot be"),
            (&[[LAST + 1, 1]], "cannot be"),
            (&[[1, u64::MAX], [2, 1]], "64 bits"),
        ] {
            let error = Histogram::read(list).expect_err(names);
            assert!(error.contains(names), "{error}");
        }
    }
}
