//! What actors compute with floating-point numbers, and how a result becomes a check value.

use std::hint::black_box;

use crate::PseudoRandom;

/// fjthrput, fjcreate: the computation of a message. Positive.
pub fn theta(angle: f64) -> f64 {
    let sine = black_box(angle).sin();
    sine * sine
}

/// bndbuffer: the cost of an item.
pub fn item(before: f64, cost: i64) -> f64 {
    let mut random = PseudoRandom::new(cost);
    (0..cost * 100).fold(before, |sum, _| sum + (random.fraction() + 0.01).ln())
}

/// logmap: the next term of a series.
pub fn logistic(rate: f64, term: f64) -> f64 {
    rate * term * (1.0 - term)
}

/// logmap: the rate and the first term of a series.
pub fn start_of(series: i64) -> (f64, f64) {
    let offset = series as f64 * 0.0025;
    (3.46 + offset, offset)
}

/// sor: a cell's next value.
pub fn relaxed(value: f64, sum_of_neighbours: f64) -> f64 {
    const OMEGA: f64 = 1.25;
    0.25 * OMEGA * sum_of_neighbours + (1.0 - OMEGA) * value
}

/// sor: whether a cell begins.
pub fn colour(row: i64, column: i64) -> bool {
    (row + column) % 2 == 0
}

fn curve(x: f64) -> f64 {
    let a = (x.powi(3) - 1.0).sin() / (x + 1.0);
    let b = (1.0 + (2.0 * x).sqrt().exp()).sqrt();
    a * b
}

/// trapezoid: the area under the curve from 1 to 5, as the sum of pieces `from` to `to` of `n`.
pub fn trapezoids(n: i64, from: i64, to: i64) -> f64 {
    const LEFT: f64 = 1.0;
    let width = 4.0 / n as f64;
    let piece = |i: i64| {
        let x = LEFT + i as f64 * width;
        0.5 * (curve(x) + curve(x + width)) * width
    };
    (from..to).map(piece).sum()
}

/// sor: a result in units of 10^-18. What the order of a sum changes is far below.
pub fn attos(result: f64) -> i64 {
    (result * 1e18).round() as i64
}

/// A small number that another result hardly has.
pub fn fingerprint(result: f64) -> i64 {
    (result.to_bits() % 1_000_003) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_is_the_same_in_pieces() {
        let whole = trapezoids(1000, 0, 1000);
        let parts: f64 = (0..10)
            .map(|i| trapezoids(1000, 100 * i, 100 * i + 100))
            .sum();
        assert!((whole - parts).abs() < 1e-12);
        assert!((whole - trapezoids(100_000, 0, 100_000)).abs() < 1e-3);
    }
}
