//! Channels and choice are linearizable: every history of a random program is one that the
//! model allows in some order, with the order of calls that did not overlap kept.
//!
//! Weak handles are left out: between the drop of the last sender and the close that follows in
//! the same call, an upgrade already fails while a receive still finds the channel open.

use tidings::Runtime;

use super::dice::Dice;
use super::race::{Engine, Program, check, seeds};

fn run(capacities: impl Fn(&mut Dice) -> Vec<usize>, branches: usize) {
    let pool = Runtime::builder().workers(2).build().unwrap();
    let (mut programs, mut overlaps) = (0, 0);
    for (seed, on_threads) in seeds() {
        let capacities = capacities(&mut Dice(seed ^ 0x5eed));
        let program = Program::random(seed, capacities, branches);
        check(&program, Engine::Seeded(seed), None);
        if on_threads {
            overlaps += check(&program, Engine::Threads, Some(&pool));
        }
        programs += 1;
    }
    println!("{programs} programs; {overlaps} calls overlapped another");
}

#[test]
fn a_rendezvous_channel_is_linearizable() {
    run(|_| vec![0], 1);
}

#[test]
fn a_bounded_channel_is_linearizable() {
    run(|dice| vec![1 + dice.one_of(2)], 1);
}

#[test]
fn an_unbounded_channel_is_linearizable() {
    run(|_| vec![usize::MAX], 1);
}

#[test]
fn choices_over_channels_of_all_kinds_are_linearizable() {
    let any = |dice: &mut Dice| [0, 0, 1, 2, usize::MAX][dice.one_of(5)];
    run(|dice| (0..2).map(|_| any(dice)).collect(), 3);
}

#[test]
fn choices_that_face_each_other_are_linearizable() {
    run(|_| vec![0, 0], 2);
}
