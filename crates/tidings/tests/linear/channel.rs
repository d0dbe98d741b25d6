//! Channels and choice are linearizable: every history of a random program is one that the
//! model allows in some order, with the order of calls that did not overlap kept.
//!
//! Weak handles are left out: between the drop of the last sender and the close that follows in
//! the same call, an upgrade already fails while a receive still finds the channel open.

use std::time::{Duration, Instant};

use tidings::Runtime;

use super::race::{Dice, Engine, Program, check};

/// Programs of each kind on threads, and on the seeded scheduler.
const ON_THREADS: u64 = 150;
const ON_SEEDED: u64 = 600;

fn run(capacities: impl Fn(&mut Dice) -> Vec<usize>, branches: usize) {
    let pool = Runtime::builder().workers(2).build().unwrap();
    // `TIDINGS_LINEAR_SECS`: longer than the fixed number of programs, for a soak.
    let secs = std::env::var("TIDINGS_LINEAR_SECS").ok();
    let secs = secs.and_then(|secs| secs.parse().ok());
    let end = secs.map(|secs| Instant::now() + Duration::from_secs(secs));
    let goes_on = || end.is_some_and(|end| Instant::now() < end);
    let program = |seed| {
        let capacities = capacities(&mut Dice(seed ^ 0x5eed));
        Program::random(seed, capacities, branches)
    };
    let (mut seed, mut overlaps) = (0, 0);
    while seed < ON_SEEDED || goes_on() {
        check(&program(seed), Engine::Seeded(seed), None);
        if seed < ON_THREADS || goes_on() {
            overlaps += check(&program(seed), Engine::Threads, Some(&pool));
        }
        seed += 1;
    }
    println!("{seed} programs; {overlaps} calls overlapped another");
}

#[test]
fn a_rendezvous_channel_is_linearizable() {
    run(|_| vec![0], 1);
}

#[test]
fn a_bounded_channel_is_linearizable() {
    run(|dice| vec![1 + dice.below(2)], 1);
}

#[test]
fn an_unbounded_channel_is_linearizable() {
    run(|_| vec![usize::MAX], 1);
}

#[test]
fn choices_over_channels_of_all_kinds_are_linearizable() {
    let any = |dice: &mut Dice| [0, 0, 1, 2, usize::MAX][dice.below(5)];
    run(|dice| (0..2).map(|_| any(dice)).collect(), 3);
}

#[test]
fn choices_that_face_each_other_are_linearizable() {
    run(|_| vec![0, 0], 2);
}
