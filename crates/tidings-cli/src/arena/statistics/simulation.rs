//! Whole runs without a machine: seeded noise in place of samples, the stop rule and the verdicts as they are. What the
//! statistics promise must hold over many of them. Only tests.

use crate::arena::statistics::random::Random;
use crate::arena::statistics::stats::{self, Level};
use crate::arena::statistics::verdict::{self, Series, Verdict};

/// The quick profile's rule.
const LOOKS: [usize; 3] = [6, 8, 12];
const TARGET: f64 = 0.10;
/// Resamples: few, for there are many runs.
const DRAWN: usize = 200;
/// The kinds of noise: spread around the median, in the logarithm, and the share of samples that a pause makes longer.
const NOISE: [(f64, f64); 3] = [(0.02, 0.0), (0.10, 0.0), (0.05, 0.10)];

fn uniform(random: &mut Random) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a uniform deviate")]
    let value = (random.next() >> 11) as f64 / (1_u64 << 53) as f64;
    value
}

/// A factor whose median is 1 without pauses: a hump, a tail to the slow side, and now and then a pause.
fn jitter(random: &mut Random, (spread, pauses): (f64, f64)) -> f64 {
    let normal: f64 = (0..12).map(|_| uniform(random)).sum::<f64>() - 6.0;
    let pause = if uniform(random) < pauses { 1.5 } else { 1.0 };
    (spread * normal).exp() * pause
}

/// One cell's samples, stopped when they are precise enough, as `measure` does.
fn measured(random: &mut Random, noise: (f64, f64), base: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut samples = Vec::new();
    for round in 0..LOOKS[2] {
        samples.push(base(round) * jitter(random, noise));
        if LOOKS.contains(&samples.len()) {
            let one = [samples.clone()];
            let interval = stats::interval(&one, Level::P95, DRAWN);
            let median = stats::median(&samples);
            if interval.is_some_and(|i| stats::half_width(median, i) <= TARGET) {
                break;
            }
        }
    }
    samples
}

fn series(samples: Vec<f64>) -> Series {
    vec![samples.into_iter().map(Some).collect()]
}

/// Counts how often something holds, in a thousand.
fn per_mille(runs: u32, mut holds: impl FnMut() -> bool) -> u32 {
    (0..runs).map(|_| u32::from(holds())).sum::<u32>() * 1000 / runs
}

#[test]
fn a_stop_rule_that_looks_at_precision_keeps_the_coverage() {
    // Stopping early must not make the intervals lie: a cell that stops by luck is too sure of itself. The rule costs a
    // little; it may not cost more.
    for noise in NOISE.into_iter().take(2) {
        let mut random = Random::new(1);
        let covered = per_mille(500, || {
            let samples = measured(&mut random, noise, |_| 1.0);
            let interval = stats::interval(&[samples], Level::P95, DRAWN);
            interval.is_some_and(|[low, high]| low <= 1.0 && 1.0 <= high)
        });
        assert!(
            (930..=970).contains(&covered),
            "{noise:?}: {covered} of 1000"
        );
    }
}

#[test]
fn a_system_against_itself_is_told_apart_in_less_than_one_of_twenty_runs() {
    for noise in NOISE {
        let mut random = Random::new(2);
        let tied = per_mille(80, || {
            let mut draw = || series(measured(&mut random, noise, |_| 10.0));
            let (a, b) = (draw(), draw());
            let ratio = verdict::ratio_drawn("a", &b, &a, false, DRAWN).expect("pairs");
            matches!(ratio.verdict, Verdict::Same | Verdict::NotShown)
        });
        assert!(tied >= 950, "{noise:?}: {tied} of 1000");
    }
}

#[test]
fn drift_of_the_machine_neither_makes_nor_hides_a_difference() {
    // The machine becomes half as fast in the middle of the run.
    let speed = |round: usize| if round < 4 { 1.0 } else { 2.0 };
    let mut random = Random::new(3);
    let mut compared = |factor: f64| {
        let mut draw = |base: f64| {
            let samples = (0..LOOKS[2]).map(|r| base * speed(r) * jitter(&mut random, NOISE[0]));
            series(samples.collect())
        };
        let (reference, cell) = (draw(10.0), draw(10.0 * factor));
        verdict::ratio_drawn("reference", &cell, &reference, false, DRAWN).expect("pairs")
    };
    let same = per_mille(100, || {
        !matches!(compared(1.0).verdict, Verdict::Slower | Verdict::Faster)
    });
    assert!(same >= 950, "{same} of 1000");
    let seen = per_mille(100, || compared(1.2).verdict == Verdict::Slower);
    assert!(seen >= 950, "{seen} of 1000");
}

#[test]
fn two_runs_of_one_program_are_rarely_told_apart_by_compare() {
    let mut random = Random::new(4);
    let tied = per_mille(150, || {
        let mut draw = || measured(&mut random, NOISE[1], |_| 1.0);
        let (a, b) = ([draw()], [draw()]);
        let interval = stats::ratio_interval(&b, &a, Level::P95, DRAWN).expect("enough");
        let verdict = verdict::judge(interval, 0.05, 0.05);
        matches!(verdict, Verdict::Same | Verdict::NotShown)
    });
    assert!(tied >= 950, "{tied} of 1000");
    let (a, b) = ([vec![1.0; 6]], [vec![1.5; 6]]);
    let interval = stats::ratio_interval(&b, &a, Level::P95, 100).expect("enough");
    assert!((interval[0] - 1.5).abs() < 1e-9, "{interval:?}");
    assert!(stats::ratio_interval(&b, &[vec![1.0; 5]], Level::P95, 100).is_none());
}

/// A launch's samples: what the process happens to be (its addresses, its threads' places) moves all of them by `between`,
/// and each has jitter of its own.
fn launches(random: &mut Random, count: usize, between: f64, within: f64) -> Vec<Vec<f64>> {
    let launch = |random: &mut Random| {
        let level = jitter(random, (between, 0.0));
        (0..10)
            .map(|_| level * jitter(random, (within, 0.0)))
            .collect()
    };
    (0..count).map(|_| launch(random)).collect()
}

#[test]
fn intervals_cover_the_true_median_when_launches_differ_more_than_samples() {
    for (count, between, within) in [
        (3, 0.1, 0.01),
        (3, 0.02, 0.02),
        (2, 0.1, 0.01),
        (5, 0.1, 0.01),
    ] {
        let mut random = Random::new(5);
        let covered = per_mille(500, || {
            let series = launches(&mut random, count, between, within);
            let interval = stats::interval(&series, Level::P95, DRAWN);
            interval.is_some_and(|[low, high]| low <= 1.0 && 1.0 <= high)
        });
        assert!(covered >= 930, "{count} launches: {covered} of 1000");
    }
}

#[test]
fn two_runs_of_several_launches_are_rarely_told_apart_when_launches_differ() {
    let mut random = Random::new(6);
    let mut draw = || launches(&mut random, 3, 0.05, 0.01);
    let covers = |[low, high]: [f64; 2]| low <= 1.0 && 1.0 <= high;
    let compared = per_mille(300, || {
        let interval = stats::ratio_interval(&draw(), &draw(), Level::P95, DRAWN);
        interval.is_some_and(covers)
    });
    assert!(compared >= 930, "{compared} of 1000 by compare");
    let paired = per_mille(300, || {
        let series = |launches: Vec<Vec<f64>>| -> Series {
            let of = |launch: Vec<f64>| launch.into_iter().map(Some).collect();
            launches.into_iter().map(of).collect()
        };
        let (a, b) = (series(draw()), series(draw()));
        let ratio = verdict::ratio_drawn("a", &b, &a, false, DRAWN).expect("pairs");
        ratio.ci95.is_some_and(covers)
    });
    assert!(paired >= 930, "{paired} of 1000 within a run");
}
