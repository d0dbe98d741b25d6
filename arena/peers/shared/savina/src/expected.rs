//! What one repetition of a benchmark must count: formulas where there are some, else the same work without actors.

use std::collections::{HashMap, HashSet};

use crate::{
    Counts, Graph, Grid, Growth, PseudoRandom, Sizes, Transfers, float, networks, pi, primes,
    quadrant, queens, sort,
};

/// The sum of the numbers below n.
fn below(n: i64) -> i64 {
    n * (n - 1) / 2
}

fn counts(msgs: i64, units: i64, check: i64) -> Counts {
    Counts { msgs, units, check }
}

/// A start, n pings and n pongs, n - 1 words to itself, a stop; each ping and pong has its number.
pub(crate) fn pingpong(s: Sizes) -> Counts {
    counts(3 * s.n + 1, 2, 2 * below(s.n))
}

/// A start, n additions of 1, a question, an answer.
pub(crate) fn count(s: Sizes) -> Counts {
    counts(s.n + 3, 2, s.n)
}

pub(crate) fn fjthrput(s: Sizes) -> Counts {
    counts(s.A * s.n, s.A, s.A * below(s.n))
}

pub(crate) fn fjcreate(s: Sizes) -> Counts {
    counts(s.n, s.n, below(s.n))
}

/// Each hears of the next, then n hops with the number of those left, the 0th, and an end for each.
pub(crate) fn threadring(s: Sizes) -> Counts {
    counts(s.A + s.n + 1 + s.A, s.A, below(s.n + 1))
}

/// A wish to meet from each at first and after each meeting, two words for each meeting, and an end and an answer to it for each.
pub(crate) fn chameneos(s: Sizes) -> Counts {
    counts(4 * s.n + 3 * s.A, s.A + 1, 2 * s.n)
}

/// The neighbours for all and for the sink, a first pong for each, pings and pongs, and an end from and to each; the check
/// is the sum of the numbers of those who were pinged, as they say themselves.
pub(crate) fn big(s: Sizes) -> Counts {
    let targets = |id| {
        let mut random = PseudoRandom::new(id);
        (0..s.n).map(move |_| random.below(s.A)).sum::<i64>()
    };
    let check = (0..s.A).map(targets).sum();
    counts(2 * s.n * s.A + 4 * s.A + 1, s.A + 1, check)
}

/// A start and an end for each worker, requests and answers.
fn workers(s: Sizes) -> i64 {
    2 * s.P + 2 * s.n * s.P
}

pub(crate) fn concdict(s: Sizes) -> Counts {
    let worker = |id: i64| {
        let mut random = PseudoRandom::new(id + s.n + s.w);
        let mut own = HashMap::new();
        let mut sum = 0;
        for _ in 0..s.n {
            let write = random.below(100) < s.w;
            let key = random.next() * s.P + id;
            sum += if write {
                let value = random.next();
                own.insert(key, value);
                value
            } else {
                own.get(&key).copied().unwrap_or(key)
            };
        }
        sum
    };
    counts(workers(s), s.P + 2, (0..s.P).map(worker).sum())
}

/// The check: values added, values found, and the length in the end.
pub(crate) fn concsll(s: Sizes) -> Counts {
    let worker = |id: i64| {
        let mut random = PseudoRandom::new(id + s.n + s.w + s.S);
        let mut own = HashSet::new();
        let mut sum = 0;
        for _ in 0..s.n {
            let kind = random.below(100);
            if kind < s.S {
                continue;
            }
            let value = random.next() * s.P + id;
            sum += if kind < s.S + s.w {
                own.insert(value);
                value + 1
            } else {
                i64::from(own.contains(&value))
            };
        }
        sum
    };
    counts(workers(s), s.P + 2, (0..s.P).map(worker).sum())
}

/// n + 1 orders to each producer, each item to the manager and to a consumer, which says that it is free again; an end from
/// each producer and to each consumer.
pub(crate) fn bndbuffer(s: Sizes) -> Counts {
    counts(
        s.P * (s.n + 1) + 3 * s.P * s.n + s.P + s.N,
        1 + s.P + s.N,
        s.P * below(s.n),
    )
}

pub(crate) fn philosopher(s: Sizes) -> Counts {
    counts(s.A * s.n, s.A + 1, s.A * below(s.n))
}

pub(crate) fn barber(s: Sizes) -> Counts {
    counts(s.n, s.n + 3, below(s.n))
}

/// A start, a cigarette and a word for each round, an end for each smoker; the check is how long they smoked.
pub(crate) fn cigsmok(s: Sizes) -> Counts {
    let mut random = PseudoRandom::new(s.n * s.A);
    let mut smoked = 0;
    for _ in 0..s.n {
        let _smoker = random.next();
        smoked += random.below(1000) + 10;
    }
    counts(2 * s.n + 1 + s.A, s.A + 1, smoked)
}

/// A start; an order, a request and an answer for each term; a question and an answer for each series.
pub(crate) fn logmap(s: Sizes) -> Counts {
    let series = |id| {
        let (rate, first) = float::start_of(id);
        let last = (0..s.n).fold(first, |term, _| float::logistic(rate, term));
        float::fingerprint(last)
    };
    counts(
        3 * s.n * s.A + 1 + 2 * s.A,
        2 * s.A + 1,
        (0..s.A).map(series).sum(),
    )
}

/// A start; an order, a debit and two answers for each transaction. The check is the sum of the balances, each times its
/// place.
pub(crate) fn banking(s: Sizes) -> Counts {
    let moved = |t: crate::Transfer| t.amount * (t.to as i64 - t.from as i64);
    let check = Transfers::new(s.A).take(s.n as usize).map(moved).sum();
    counts(4 * s.n + 1, s.A + 1, check)
}

/// The name of the first stage, and all values to 60 stages and the validator.
pub(crate) fn radixsort(s: Sizes) -> Counts {
    counts(61 * s.n + 1, 62, sort::values(2048, s.n).sum())
}

pub(crate) fn filterbank(s: Sizes) -> Counts {
    networks::bank(s.n, s.P)
}

/// The producer and the filters; the check is the number of primes.
pub(crate) fn sieve(s: Sizes) -> Counts {
    let (primes, divisions) = primes::counted(s.n);
    counts(divisions, 1 + (primes + s.M - 1) / s.M, primes)
}

/// The check is what all nodes but the root compute when the tree is walked.
pub(crate) fn uct(s: Sizes) -> Counts {
    let (nodes, work) = Growth::new(s).grown().unwrap_or_default();
    counts(nodes - 1, nodes, work)
}

pub(crate) fn nqueenk(s: Sizes) -> Counts {
    let (tried, solutions) = queens::counted(s.n);
    counts(tried, s.P + 1, solutions)
}

pub(crate) fn facloc(s: Sizes) -> Counts {
    let splits = quadrant::splits(s.S, s.w, s.n);
    counts(s.n, 2 + 4 * splits, below(s.n))
}

/// The check: the sum of the values, each times its place when they are sorted.
pub(crate) fn quicksort(s: Sizes) -> Counts {
    let mut data: Vec<i64> = sort::values(1024, s.n).collect();
    let actors = sort::actors(&data, s.w);
    data.sort_unstable();
    let check = data
        .iter()
        .zip(0..)
        .map(|(value, place)| value * place)
        .sum();
    counts(s.n, actors, check)
}

/// The check is the area in millionths; the area of more than 100,000 pieces is the same.
pub(crate) fn trapezoid(s: Sizes) -> Counts {
    let n = s.n.min(100_000);
    let area = float::trapezoids(n, 0, n);
    counts(s.n, s.P + 1, (area * 1e6).round() as i64)
}

/// The check: the last 15 of the decimals asked for.
pub(crate) fn piprecision(s: Sizes) -> Counts {
    let words = pi::Fixed::zero(s.n).words();
    counts(
        pi::terms(s.n) * words,
        s.P + 1,
        pi::machin(s.n).decimals(s.n),
    )
}

/// Two boots, the border of each half to the other, a start for each cell, a value from each cell of the first colour to its
/// neighbours in each round and back in each but the last, and a result of each cell and of the second half.
pub(crate) fn sor(s: Sizes) -> Counts {
    let mut random = PseudoRandom::new(10_101_010);
    let mut cells: Vec<f64> = (0..s.n * s.n).map(|_| random.fraction() * 1e-6).collect();
    relax(&mut cells, s.n as usize, s.M);
    let edges = 2 * s.n * (s.n - 1);
    let check = cells.iter().map(|value| float::attos(*value)).sum();
    counts(
        (2 * s.M - 1) * edges + 2 * s.n * s.n + 4,
        s.n * s.n + 2,
        check,
    )
}

/// As the cells do, one colour after the other. The first has its first values already: the second moves first.
fn relax(cells: &mut [f64], n: usize, rounds: i64) {
    for half in 1..2 * rounds {
        for at in 0..n * n {
            let (row, column) = (at / n, at % n);
            if float::colour(row as i64, column as i64) == (half % 2 == 0) {
                let near = |inside: bool, there: usize| if inside { cells[there] } else { 0.0 };
                let sum = near(column + 1 < n, at + 1)
                    + near(row + 1 < n, at + n)
                    + near(column > 0, at.wrapping_sub(1))
                    + near(row > 0, at.wrapping_sub(n));
                cells[at] = float::relaxed(cells[at], sum);
            }
        }
    }
}

/// The check is the sum of all distances.
pub(crate) fn apsp(s: Sizes) -> Counts {
    let blocks = s.n / s.S;
    counts(
        s.n.pow(3),
        blocks * blocks,
        Graph::new(s.n, s.S, s.w).distances(),
    )
}

/// The check: the sum of the numbers of the nodes visited, and 1 if there is a way to the target.
pub(crate) fn astar(s: Sizes) -> Counts {
    let (nodes, sum, found) = Grid::new(s.n).reachable();
    counts(nodes, s.P + 1, sum + i64::from(found))
}

/// The check is the sum of the product: n times i times j at row i and column j.
pub(crate) fn recmatmul(s: Sizes) -> Counts {
    counts(s.n.pow(3), s.P + 1, s.n * below(s.n) * below(s.n))
}

/// A request to each actor, an answer from each but the first.
pub(crate) fn fib(s: Sizes) -> Counts {
    let (number, _) = (1..s.n).fold((1, 1), |(now, next), _| (next, now + next));
    let actors = 2 * number - 1;
    counts(2 * actors - 1, actors, number)
}

/// The check is the sum of the values, which arrive sorted.
pub(crate) fn bitonicsort(s: Sizes) -> Counts {
    let (actors, messages) = networks::bitonic(s.n);
    counts(messages, actors, sort::values(2048, s.n).sum())
}

#[cfg(test)]
mod tests {
    use crate::{ALL, benchmark};

    fn at(id: &str, n: i64) -> [i64; 3] {
        let one = benchmark(id).expect("known");
        let counts = one.expected(one.at(n));
        [counts.msgs, counts.units, counts.check]
    }

    #[test]
    fn known_results_come_out() {
        assert_eq!(at("fib", 25), [2 * 150_049 - 1, 150_049, 75_025]);
        assert_eq!(at("fib", 1), [1, 1, 1]);
        assert_eq!(at("sieve", 100_000)[1..], [11, 9592]);
        assert_eq!(at("nqueenk", 12)[2], 14_200);
        assert_eq!(at("recmatmul", 64)[2], 64 * 2016 * 2016);
        assert_eq!(at("threadring", 10), [100 + 11 + 100, 100, 55]);
    }

    /// The published sources have a reference value for this matrix, of the time when they drew from Java's generator.
    #[test]
    fn relaxation_gives_the_published_value() {
        let mask = (1_u64 << 48) - 1;
        let mut state = (10_101_010_u64 ^ 0x5_DEEC_E66D) & mask;
        let mut draw = |bits: u32| {
            state = (state.wrapping_mul(0x5_DEEC_E66D) + 0xB) & mask;
            state >> (48 - bits)
        };
        let mut cells: Vec<f64> = (0..400)
            .map(|_| ((draw(26) << 27) + draw(27)) as f64 / (1_u64 << 53) as f64 * 1e-6)
            .collect();
        super::relax(&mut cells, 20, 100);
        let total: f64 = cells.iter().sum();
        assert!(
            (total - 0.000_003_189_420_084_871_275).abs() < 1e-12,
            "{total}"
        );
    }

    #[test]
    fn every_size_of_the_table_can_run_and_the_tree_grows_to_the_end() {
        for one in &ALL {
            for n in one.sizes {
                assert_eq!(one.check(one.at(n)), Ok(()), "{} {n}", one.id);
            }
            for n in [0, -1, 1 << 62] {
                assert!(one.check(one.at(n)).is_err(), "{} {n}", one.id);
            }
            assert!(!one.n.is_empty() && !one.unit.is_empty(), "{}", one.id);
        }
        assert_eq!(at("uct", 200_000)[1], 200_000 - 9);
    }
}
