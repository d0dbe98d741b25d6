//! The buckets of `PROTOCOL.md`.

use std::fmt::Write as _;
use std::time::Duration;

/// Counts by bucket: 32 for each power of two from 64 on.
#[derive(Debug)]
pub struct Histogram(Vec<u64>);

impl Default for Histogram {
    fn default() -> Self {
        Self(vec![0; 59 * 32])
    }
}

fn bucket(value: u64) -> usize {
    let e = 63 - (value | 63).leading_zeros();
    ((e - 5) * 32) as usize + (value >> (e - 5)) as usize
}

impl Histogram {
    pub fn add(&mut self, latency: Duration) {
        let nanos = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX >> 1);
        self.0[bucket(nanos.min(u64::MAX >> 1))] += 1;
    }

    /// Adds the counts of another one.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(&other.0) {
            *count += more;
        }
    }

    /// `[[bucket,count],..]`, the buckets that hold something.
    pub fn json(&self) -> String {
        let mut text = String::from("[");
        for (bucket, count) in self.0.iter().enumerate().filter(|(_, count)| **count > 0) {
            let comma = if text.len() > 1 { "," } else { "" };
            write!(text, "{comma}[{bucket},{count}]").expect("a string takes all");
        }
        text.push(']');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_those_of_the_page() {
        let values = [0, 63, 64, 65, 127, 128, u64::MAX >> 1];
        assert_eq!(values.map(bucket), [0, 63, 64, 64, 95, 96, 1887]);
        let mut histogram = Histogram::default();
        for value in [5, 5, 100, u64::MAX] {
            histogram.add(Duration::from_nanos(value));
        }
        assert_eq!(histogram.json(), "[[5,2],[82,1],[1887,1]]");
        assert_eq!(Histogram::default().json(), "[]");
    }
}
