//! What the two networks of actors count that are made before a value flows: bitonicsort and filterbank.

use std::collections::BTreeMap;

use crate::filter::{Coefficients, Delay, Fir, simulations};
use crate::{Counts, fingerprint};

/// Actors, and messages that they get, of a piece of the sorting network through which `v` values flow.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    actors: i64,
    messages: i64,
}

impl Piece {
    fn with(self, actors: i64, messages: i64) -> Self {
        Self {
            actors: self.actors + actors,
            messages: self.messages + messages,
        }
    }

    fn and(self, other: Self, times: i64) -> Self {
        self.with(times * other.actors, times * other.messages)
    }

    /// Itself, a splitter, so many comparators, a joiner, and who gives the values their place.
    fn partition(length: i64, v: i64) -> Self {
        let half = length / 2;
        Self::default()
            .with(4, (v + 1) + (v + 1) + (v + half) + (v + 1))
            .with(half, v + half)
    }

    /// Itself, a splitter, the partitions, a joiner; and a forwarder unless it is of the last stage.
    fn step(n: i64, length: i64, partitions: i64, is_last: bool) -> Self {
        let step = Self::default().with(3, (n + 1) + (n + 1) + (n + partitions));
        let step = if is_last { step } else { step.with(1, n + 1) };
        let v = n / partitions;
        if length > 2 {
            step.and(Self::partition(length, v), partitions)
        } else {
            step.with(partitions, partitions * (v + 1))
        }
    }

    /// Itself and its steps: lengths from p down to 2.
    fn stage(n: i64, p: i64) -> Self {
        let lengths = std::iter::successors(Some(p), |l| (*l > 2).then_some(l / 2));
        let steps = lengths.map(|length| Self::step(n, length, n / length, n == p));
        steps.fold(Self::default().with(1, n + 1), |all, step| all.and(step, 1))
    }
}

/// Actors and messages of the sorting network with its source, kernel, adapter and validator.
pub(crate) fn bitonic(n: i64) -> (i64, i64) {
    let ends = Piece::default().with(4, 1 + 3 * (n + 1));
    let stages = std::iter::successors(Some(2), |p| (*p < n).then_some(p * 2));
    let all = stages.fold(ends, |all, p| all.and(Piece::stage(n, p), 1));
    (all.actors, all.messages)
}

/// A channel's results: the first filter is asked only where its sum is not dropped, the second only
/// multiplies what is not 0. Adding 0 changes nothing, so the results are those of the actors.
fn channel(which: i64, channels: i64, columns: i64) -> Vec<f64> {
    let mut delays = [Delay::new(columns), Delay::new(columns)];
    let fir = |of| Fir::new(of, which, channels, columns);
    let (mut first, mut second) = (fir(Coefficients::First), fir(Coefficients::Second));
    let mut loud: BTreeMap<usize, f64> = BTreeMap::new();
    let (mut seen, mut results) = (0, Vec::new());
    for value in 0..simulations(columns) {
        if !first.take(delays[0].push((value % 1000 + 1) as f64)) {
            continue;
        }
        let sum = if seen % columns == 0 {
            first.sum(0..columns as usize)
        } else {
            0.0
        };
        seen += 1;
        let late = delays[1].push(sum);
        let place = second.place();
        loud.remove(&place);
        if late != 0.0 {
            loud.insert(place, late);
        }
        if second.take(late) {
            results.push(second.sum(loud.keys().copied()));
        }
    }
    results
}

/// Multiplications and actors, and the fingerprints of what arrives.
pub(crate) fn bank(columns: i64, channels: i64) -> Counts {
    let all: Vec<Vec<f64>> = (0..channels)
        .map(|c| channel(c, channels, columns))
        .collect();
    let results = all.first().map_or(0, Vec::len);
    let sum = |at: usize| all.iter().fold(0.0, |sum, one| sum + one[at]);
    let first = simulations(columns) - columns + 1;
    Counts {
        msgs: channels * columns * (first + results as i64),
        units: 6 + 7 * channels,
        check: (0..results).map(|at| fingerprint(sum(at))).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_through_a_channel_gives_what_the_long_one_gives() {
        for columns in [8, 64, 100] {
            let mut delays = [Delay::new(columns), Delay::new(columns)];
            let fir = |of| Fir::new(of, 3, 8, columns);
            let (mut first, mut second) = (fir(Coefficients::First), fir(Coefficients::Second));
            let (mut seen, mut results) = (0, Vec::new());
            for value in 0..simulations(columns) {
                let Some(sum) = first.push(delays[0].push((value % 1000 + 1) as f64)) else {
                    continue;
                };
                let sum = if seen % columns == 0 { sum } else { 0.0 };
                seen += 1;
                results.extend(second.push(delays[1].push(sum)));
            }
            assert!(
                results.iter().all(|sum| *sum != 0.0),
                "each tells something"
            );
            assert_eq!(results, channel(3, 8, columns), "{columns}");
        }
    }
}
