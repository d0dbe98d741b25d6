//! How long a plan takes, by and large: said before a run begins, and set right by its pace while it goes on.
//!
//! Without a budget nothing but the figures themselves ends a cell, and how fast a system is shows only when it runs. So this
//! is a guess: from the sizes of the plan, and from what an operation costs on machines of these years.

use std::time::Duration;

use crate::arena::cells::plan::{Candidate, Cell, Group, Plan};
use crate::arena::cells::savina;
use crate::arena::cells::wire::Tcp;
use crate::arena::cells::workload::expected;
use crate::arena::sampling::measure::{SETTLE, Settings};
use crate::arena::sampling::paced::LOADS;

/// From the start of a process to its first sample: a compiled one, and one that loads a runtime.
const START: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(500)];
/// One operation: a message, one where a task or actor is made for it, a request over TCP.
const MESSAGE: Duration = Duration::from_nanos(150);
const CREATION: Duration = Duration::from_nanos(600);
/// Of a task behind one that computes; the 100 ms of a runtime that lets it wait are rare.
const DELAY: Duration = Duration::from_millis(1);
const IDLE: Duration = Duration::from_millis(10);
const REQUEST: Duration = Duration::from_micros(20);
/// Samples of the warm-up, each a quarter of a usual one where that is possible.
const WARM: u32 = 8;
/// What the checks after the rounds come to, in repetitions.
const CHECKS: u32 = 6;
/// A repetition of the checks is made so long at least.
const TELLING: Duration = Duration::from_millis(5);

/// The time of each group, in their order.
pub(crate) fn groups(plan: &Plan, candidates: &[Candidate], settings: &Settings) -> Vec<Duration> {
    let of = |group: &Group| {
        group
            .cells
            .iter()
            .map(|c| cell(group, c, candidates, settings))
            .sum()
    };
    plan.groups.iter().map(of).collect()
}

/// The time of one cell with all its launches.
pub(crate) fn cell(
    group: &Group,
    cell: &Cell,
    candidates: &[Candidate],
    settings: &Settings,
) -> Duration {
    let is_jit = candidates[cell.peer].entry.manifest.peer.is_jit();
    let slower = if is_jit { 2 } else { 1 };
    let once = repetition(group).saturating_mul(slower);
    let sample = once.max(settings.sample);
    let count = |rounds: usize| u32::try_from(rounds).unwrap_or(u32::MAX);
    let measured = if group.id.is_paced() {
        let pace = settings.pace;
        Duration::from_secs(pace.secs) * count(pace.rounds * LOADS.len())
    } else {
        // Most cells are precise enough at the first looks.
        let rounds = settings
            .min_rounds
            .midpoint(settings.max_rounds.min(2 * settings.min_rounds));
        (sample + SETTLE) * count(rounds)
    };
    let least = if is_jit {
        settings.warm_jit
    } else {
        Duration::ZERO
    };
    let warm = (once.max(settings.sample / 4) * WARM * slower).max(least);
    // The pilot ends with a sample of full length; what comes before is shorter.
    let launch =
        START[usize::from(is_jit)] + sample * 3 / 2 + warm.min(settings.warm_cap + once) + measured;
    launch * settings.launches + once.max(TELLING) * CHECKS
}

/// One repetition of a scenario.
fn repetition(group: &Group) -> Duration {
    let operation = match group.id.workload {
        savina::ID => savina::cost(&group.id),
        _ if Tcp::of(&group.id).is_some() => REQUEST,
        "skynet" | "spawn" | "chain" | "growth" => CREATION,
        "quality" if group.id.variant.starts_with("hog-") => DELAY,
        "quality" if group.id.variant == "idle" => IDLE,
        _ => MESSAGE,
    };
    let ops = expected(&group.id, &group.params).ops;
    let nanos = operation.as_nanos().saturating_mul(ops.unsigned_abs());
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX / 1000))
}

/// How long the rest takes, when some of it was seen: `all` as guessed, of which `done` took `took`, and the one that
/// goes on now has taken `current`.
pub(crate) fn left(all: &[Duration], done: usize, seen: Seen, current: Duration) -> Duration {
    let rest: Duration = all.iter().skip(done).sum();
    let pace = if seen.guessed.is_zero() {
        1.0
    } else {
        seen.took.as_secs_f64() / seen.guessed.as_secs_f64()
    };
    rest.mul_f64(pace).saturating_sub(current)
}

/// What was measured so far: how long it took, and what had been guessed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) took: Duration,
    pub(crate) guessed: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_rest_follows_the_pace_of_what_is_done() {
        let all = [secs(10), secs(20), secs(40)];
        assert_eq!(left(&all, 0, Seen::default(), secs(3)), secs(67));
        // The first took three times as long as guessed.
        let seen = Seen {
            took: secs(30),
            guessed: secs(10),
        };
        assert_eq!(left(&all, 1, seen, secs(0)), secs(180));
        assert_eq!(
            left(&all, 1, seen, secs(200)),
            secs(0),
            "never below nothing"
        );
        assert_eq!(left(&all, 3, seen, secs(0)), secs(0));
    }
}
