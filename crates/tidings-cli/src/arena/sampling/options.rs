//! What a profile and the flags of `run` come to.

use std::time::Duration;

use crate::arena::cells::size::Profile;
use crate::arena::exit::Stop;
use crate::arena::machine::environment;
use crate::arena::peers::peer::Limits;
use crate::arena::peers::ready;
use crate::arena::sampling::measure::Settings;
use crate::arena::sampling::paced::Pace;
use crate::cli::RunArgs;

/// What the profile and the flags come to.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) settings: Settings,
    pub(crate) budget: Option<Duration>,
    pub(crate) limits: Limits,
    pub(crate) threads: Vec<u32>,
    pub(crate) seed: u64,
}

/// The answer time and memory of a profile, where the flags say nothing.
pub(crate) fn limits(
    profile: Profile,
    timeout: Option<Duration>,
    mem_cap: Option<u64>,
) -> Result<Limits, Stop> {
    let standard = profile == Profile::Standard;
    let timeout = timeout.unwrap_or(Duration::from_secs(if standard { 120 } else { 20 }));
    if timeout.is_zero() {
        return Err(Stop::usage("--timeout 0: no peer can answer in no time"));
    }
    let memory = environment::memory();
    let default = if standard {
        (12 << 30).min(memory / 2)
    } else {
        (4 << 30).min(memory / 4)
    };
    Ok(Limits {
        timeout,
        mem_cap: mem_cap.unwrap_or(default),
    })
}

/// Reads the flags of `run`.
pub(crate) fn options(args: &RunArgs) -> Result<Options, Stop> {
    let standard = args.profile == Profile::Standard;
    let by = |quick: usize, standard_value: usize, smoke: usize| match args.profile {
        Profile::Quick => quick,
        Profile::Standard => standard_value,
        Profile::Smoke => smoke,
    };
    let limits = limits(args.profile, args.timeout, args.mem_cap)?;
    let rounds = |given: Option<u32>| given.and_then(|n| usize::try_from(n).ok());
    let max_rounds = rounds(args.max_rounds);
    let min_rounds = rounds(args.min_rounds)
        .unwrap_or_else(|| by(6, 8, 3).min(max_rounds.unwrap_or(usize::MAX)));
    let max_rounds = max_rounds.unwrap_or_else(|| by(12, 40, 3).max(min_rounds));
    if min_rounds > max_rounds {
        return Err(Stop::usage(format!(
            "--min-rounds {min_rounds} is above --max-rounds {max_rounds}"
        )));
    }
    let budget = match args.budget {
        Some(budget) if budget.is_zero() => None,
        Some(budget) => Some(budget),
        None => match args.profile {
            Profile::Quick => Some(Duration::from_secs(120)),
            // A night: every run ends, whatever is ready.
            Profile::Standard => Some(Duration::from_secs(8 * 3600)),
            Profile::Smoke => None,
        },
    };
    let seed = match args.order.as_deref() {
        None => 1,
        Some(order) => order
            .strip_prefix("random:")
            .and_then(|seed| seed.parse().ok())
            .ok_or_else(|| {
                Stop::usage(format!(
                    "--order {order:?}: write random:SEED with a number"
                ))
            })?,
    };
    Ok(Options {
        settings: Settings {
            // Nobody looks at the figures of smoke: its samples need only be there.
            sample: Duration::from_millis(match args.profile {
                Profile::Smoke => 5,
                Profile::Quick => 50,
                Profile::Standard => 200,
            }),
            target_ci: args.target_ci.unwrap_or(if standard { 0.03 } else { 0.10 }),
            min_rounds,
            max_rounds,
            launches: args.launches.unwrap_or(if standard { 3 } else { 1 }),
            warm_cap: Duration::from_millis(if standard { 10_000 } else { 1500 }),
            warm_jit: Duration::from_millis(if standard { 4000 } else { 1500 }),
            alloc: !args.no_alloc,
            pace: Pace {
                secs: if standard { 2 } else { 1 },
                rounds: by(3, 5, 1).min(max_rounds),
            },
            reference: args.vs.clone(),
        },
        budget,
        limits,
        threads: ready::threads(&args.threads)?,
        seed,
    })
}
