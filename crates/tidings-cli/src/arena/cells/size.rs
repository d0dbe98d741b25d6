//! Which sizes a cell runs at: the table of profiles, and what `--size` changes in it.

use crate::arena::cells::savina;
use crate::arena::cells::workload::{self, CellId, Params, expected};
use crate::arena::exit::Stop;
use crate::arena::units;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Profile {
    /// Correctness at odd sizes; figures mean nothing.
    Smoke,
    /// The headline cells, within two minutes.
    Quick,
    /// All variants at the seeds' own sizes.
    Standard,
}

impl Profile {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Smoke => "smoke",
            Self::Quick => "quick",
            Self::Standard => "standard",
        }
    }
}

/// A value that may mean "as many as threads".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Number(i64),
    Threads,
}

/// `--size` as given: values for one key of one workload.
#[derive(Clone, Debug)]
pub(crate) struct Override {
    pub(crate) workload: &'static str,
    pub(crate) key: &'static str,
    pub(crate) values: Vec<Value>,
}

/// Reads `WORKLOAD.KEY=VALUE[,VALUE]` or `WORKLOAD=VALUE[,VALUE]`.
pub(crate) fn parse_override(text: &str) -> Result<Override, Stop> {
    let wrong = |why: String| Stop::usage(format!("--size {text}: {why}"));
    let (name, values) = text
        .split_once('=')
        .ok_or_else(|| wrong("expected WORKLOAD=VALUE or WORKLOAD.KEY=VALUE".to_owned()))?;
    let (id, key) = name
        .split_once('.')
        .map_or((name, None), |(id, key)| (id, Some(key)));
    let definition = workload::workload(id).ok_or_else(|| {
        wrong(format!(
            "unknown workload {id:?}; there are {}",
            workload::names()
        ))
    })?;
    let key = match key {
        None => definition.main_key(),
        Some(key) => definition.keys.iter().find(|k| **k == key).ok_or_else(|| {
            wrong(format!(
                "{id} has no size {key:?}; it has {}",
                definition.keys.join(", ")
            ))
        })?,
    };
    let values = values
        .split(',')
        .map(|value| parse_value(value).map_err(&wrong))
        .collect::<Result<Vec<_>, _>>()?;
    if definition.id == "skynet" && values.iter().any(|value| !is_power_of_ten(*value)) {
        return Err(wrong(
            "S must be a power of ten: 1, 10, 100, ...".to_owned(),
        ));
    }
    Ok(Override {
        workload: definition.id,
        key,
        values,
    })
}

fn is_power_of_ten(value: Value) -> bool {
    match value {
        Value::Number(number) => (0..19).any(|k| 10_i64.pow(k) == number),
        Value::Threads => false,
    }
}

fn parse_value(text: &str) -> Result<Value, String> {
    if text == "T" {
        return Ok(Value::Threads);
    }
    let plain = text.replace('_', "");
    let number = match plain.split_once('e') {
        None => plain.parse::<i64>().ok(),
        Some((mantissa, power)) => mantissa.parse::<i64>().ok().and_then(|mantissa| {
            let power = power.parse::<u32>().ok()?;
            mantissa.checked_mul(10_i64.checked_pow(power)?)
        }),
    };
    match number {
        Some(number) if number >= 1 => Ok(Value::Number(number)),
        Some(_) => Err(format!("{text}: a size must be at least 1")),
        None => Err(format!(
            "{text:?} is not a size: write 30000, 30_000, 3e4, or T for one per thread"
        )),
    }
}

/// All sizes at which a cell runs, for a thread count, with the user's overrides.
pub(crate) fn sizes(
    cell: &CellId,
    profile: Profile,
    threads: u32,
    overrides: &[Override],
) -> Vec<Vec<(&'static str, i64)>> {
    let mut rows = match savina::of(cell) {
        Some(one) => vec![vec![("n", Value::Number(savina::size(one, profile)))]],
        None if cell.workload == "growth" => growth(&cell.variant, profile),
        None if cell.workload == "quality" => quality(&cell.variant, profile),
        None => defaults(cell.workload, profile),
    };
    for change in overrides
        .iter()
        .filter(|change| change.workload == cell.workload)
    {
        rows = rows
            .iter()
            .flat_map(|row| {
                change.values.iter().map(|value| {
                    let mut row = row.clone();
                    for entry in row.iter_mut().filter(|entry| entry.0 == change.key) {
                        entry.1 = *value;
                    }
                    row
                })
            })
            .collect();
    }
    let mut resolved: Vec<Vec<(&'static str, i64)>> = Vec::new();
    for row in rows {
        let row = row
            .into_iter()
            .map(|(key, value)| match value {
                Value::Number(number) => (key, number),
                Value::Threads => (key, i64::from(threads)),
            })
            .collect();
        if !resolved.contains(&row) {
            resolved.push(row);
        }
    }
    resolved
}

fn defaults(id: &str, profile: Profile) -> Vec<Vec<(&'static str, Value)>> {
    use Value::{Number, Threads};
    let one = |key: &'static str, values: &[i64]| {
        values
            .iter()
            .map(|v| vec![(key, Number(*v))])
            .collect::<Vec<_>>()
    };
    let two = |a: &'static str, b: &'static str, pairs: &[(Value, i64)]| {
        pairs
            .iter()
            .map(|(x, y)| vec![(a, *x), (b, Number(*y))])
            .collect::<Vec<_>>()
    };
    match (id, profile) {
        ("pingpong", Profile::Smoke) => two("p", "n", &[(Number(3), 997)]),
        ("pingpong", Profile::Quick) => two("p", "n", &[(Threads, 100_000)]),
        ("pingpong", Profile::Standard) => two(
            "p",
            "n",
            &[
                (Number(1), 1_000_000),
                (Threads, 1_000_000),
                (Number(100), 20_000),
            ],
        ),
        ("net", Profile::Smoke) => two("N", "M", &[(Number(7), 31)]),
        ("net", Profile::Quick) => two("N", "M", &[(Number(100), 100)]),
        ("net", Profile::Standard) => two(
            "N",
            "M",
            &[
                (Number(100), 100),
                (Number(1000), 100),
                (Number(1000), 1000),
            ],
        ),
        ("chain", Profile::Smoke) => one("A", &[1, 7, 103]),
        ("chain", Profile::Quick) => one("A", &[10]),
        ("chain", Profile::Standard) => one("A", &[1, 10, 1000, 100_000]),
        ("fan", Profile::Smoke) => one("N", &[1, 997]),
        ("fan", Profile::Quick) => one("N", &[1000]),
        ("fan", Profile::Standard) => one("N", &[1, 10, 1000, 10_000, 1_000_000]),
        ("counter", Profile::Smoke) => two("P", "n", &[(Number(3), 997)]),
        ("counter", Profile::Quick) => two("P", "n", &[(Threads, 30_000)]),
        ("counter", Profile::Standard) => {
            let ladder = [300, 3000, 30_000, 300_000, 3_000_000];
            let pairs: Vec<_> = [Threads, Number(8)]
                .into_iter()
                .flat_map(|p| ladder.map(|n| (p, n)))
                .collect();
            two("P", "n", &pairs)
        }
        ("skynet", Profile::Smoke) => one("S", &[1000]),
        ("skynet", Profile::Quick) => one("S", &[100_000]),
        ("skynet", Profile::Standard) => one("S", &[1_000_000]),
        (_, Profile::Smoke) => one("n", &[997]),
        (_, Profile::Quick) => one("n", &[100_000]),
        (_, Profile::Standard) => one("n", &[1_000_000]),
    }
}

/// The sizes `k` at which a variant of `growth` is looked at, and the operations.
fn growth(variant: &str, profile: Profile) -> Vec<Vec<(&'static str, Value)>> {
    const TIMES: [i64; 5] = [1000, 10_000, 100_000, 1_000_000, 10_000_000];
    // `each`: operations for each of the k, at least. Making a waiter costs more than one.
    let (ladder, each, quick, standard): (&[i64], _, _, _) = match variant {
        "tasks" => (&TIMES, 1, 100_000, 1_000_000),
        "waiters" => (
            &[1, 100, 10_000, 100_000, 1_000_000],
            20,
            200_000,
            2_000_000,
        ),
        "branches" => (&[2, 10, 100, 1000], 1, 1000, 20_000),
        "payload" => (&[8, 64, 512, 4096], 1, 30_000, 300_000),
        // Most are armed while k others are.
        _ => (&TIMES[..4], 10, 100_000, 1_000_000),
    };
    let (looked, n) = match profile {
        Profile::Smoke => (&ladder[..2], 997),
        // More would be there than there are operations.
        Profile::Quick => (&ladder[..3], quick),
        Profile::Standard => (ladder, standard),
    };
    let n = |k| {
        if profile == Profile::Smoke {
            n
        } else {
            n.max(k * each)
        }
    };
    looked
        .iter()
        .map(|&k| vec![("k", Value::Number(k)), ("n", Value::Number(n(k)))])
        .collect()
}

/// How many are late one after the other; how many round trips a pair makes; how often 10 ms are idled away.
fn quality(variant: &str, profile: Profile) -> Vec<Vec<(&'static str, Value)>> {
    let n = match (variant, profile) {
        ("pairs", Profile::Smoke) => 97,
        ("pairs", Profile::Quick) => 3000,
        ("pairs", Profile::Standard) => 30_000,
        (_, Profile::Smoke) => 3,
        (_, Profile::Quick) => 10,
        (_, Profile::Standard) => 100,
    };
    vec![vec![("n", Value::Number(n))]]
}

/// The sizes of one cell: those of the workload and those of its variant.
pub(crate) fn params(cell: &CellId, row: &[(&'static str, i64)]) -> Params {
    let fixed = cell.listed().map_or(&[][..], |v| v.fixed);
    row.iter()
        .chain(fixed)
        .map(|(key, value)| ((*key).to_owned(), *value))
        .collect()
}

/// The size doubled (skynet: ten times the leaves; savina: as its table says), for the elision test, or halved.
pub(crate) fn scaled(cell: &CellId, params: &Params, up: bool) -> Option<Params> {
    let definition = cell.definition();
    let step = if definition.id == "skynet" { 10 } else { 2 };
    let mut params = params.clone();
    let size = params.get_mut(definition.main_key())?;
    if let Some(one) = savina::of(cell) {
        *size = one.next(*size, up)?;
        return Some(params);
    }
    if up {
        *size = size.checked_mul(step)?;
    } else if *size < step {
        return None;
    } else {
        *size /= step;
    }
    Some(params)
}

/// Why a size cannot run on a machine with so much memory for a peer, if it cannot.
pub(crate) fn refusal(cell: &CellId, params: &Params, memory: u64) -> Option<String> {
    if let Some(why) = savina::of(cell).and_then(|one| savina::refusal(one, params)) {
        return Some(why);
    }
    let expected = expected(cell, params);
    let sizes = show(cell, params);
    if [expected.msgs, expected.units, expected.check]
        .iter()
        .any(|v| *v > i128::from(i64::MAX))
    {
        return Some(format!("{cell} at {sizes}: its counts do not fit 63 bits"));
    }
    // A lower bound that no system can go below: a word of state per unit alive, eight bytes per message that may wait.
    let get = |key: &str| params.get(key).copied().map_or(0, i128::from);
    let waiting = match (cell.workload, cell.variant.as_str()) {
        ("fan", _) => get("N"),
        ("pingpong", _) => get("p") * get("w"),
        ("growth", "payload") => get("k") / 8,
        _ => 0,
    };
    let alive = match (cell.workload, cell.variant.as_str()) {
        ("skynet", "floor") | ("spawn", "joined") | (savina::ID, _) => 0,
        ("spawn", _) => get("n") / 16,
        ("growth", "tasks" | "timers") => get("k").min(get("n")),
        ("quality", "hog-spawn") => 2,
        _ => expected.units,
    };
    let least = alive * 64 + waiting * 8;
    (least > i128::from(memory)).then(|| {
        format!(
            "{cell} at {sizes} needs at least {} of memory and a peer may have {}: choose a smaller size or raise --mem-cap",
            units::bytes(u64::try_from(least).unwrap_or(u64::MAX)),
            units::bytes(memory),
        )
    })
}

/// `pingpong/tell · p=2 n=100000 w=1 · 2 threads`.
pub(crate) fn title(workload: &str, variant: &str, sizes: &str, threads: u32) -> String {
    let threads = units::counted(threads as usize, "thread");
    format!("{workload}/{variant} · {sizes} · {threads}")
}

/// `p=2 n=100000 w=1`, in the order of the workload's definition.
pub(crate) fn show(cell: &CellId, params: &Params) -> String {
    let keys = cell.definition().keys;
    let own = keys.iter().filter_map(|key| params.get_key_value(*key));
    let rest = params
        .iter()
        .filter(|(key, _)| !keys.contains(&key.as_str()));
    own.chain(rest)
        .map(|(key, value)| format!("{key}={value}"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(text: &str) -> CellId {
        workload::parse_cell_id(text).expect("known")
    }

    #[test]
    fn sizes_follow_threads_and_overrides() {
        let pingpong = cell("pingpong/tell");
        assert_eq!(
            sizes(&pingpong, Profile::Quick, 4, &[]),
            [[("p", 4), ("n", 100_000)]]
        );
        // p in {1, T} is one size on one thread.
        assert_eq!(sizes(&pingpong, Profile::Standard, 1, &[]).len(), 2);
        let change = parse_override("pingpong=1e3,2_000").expect("valid");
        let p = parse_override("pingpong.p=T").expect("valid");
        assert_eq!(
            sizes(&pingpong, Profile::Quick, 2, &[change, p]),
            [[("p", 2), ("n", 1000)], [("p", 2), ("n", 2000)]]
        );
    }

    #[test]
    fn growth_has_a_ladder_of_its_own_for_each_variant() {
        let looked = |id: &str, profile| {
            let rows = sizes(&cell(id), profile, 2, &[]);
            rows.iter().map(|row| row[0].1).collect::<Vec<_>>()
        };
        assert_eq!(
            looked("growth/branches", Profile::Standard),
            [2, 10, 100, 1000]
        );
        assert_eq!(looked("growth/payload", Profile::Smoke), [8, 64]);
        // Of each there are enough operations.
        for (id, k, n) in [
            ("growth/tasks", 10_000_000, 10_000_000),
            ("growth/waiters", 1_000_000, 20_000_000),
            ("growth/timers", 1_000_000, 10_000_000),
        ] {
            let rows = sizes(&cell(id), Profile::Standard, 2, &[]);
            assert_eq!(rows.last().unwrap(), &[("k", k), ("n", n)]);
        }
        let change = parse_override("growth.k=4096").expect("valid");
        let rows = sizes(&cell("growth/payload"), Profile::Smoke, 2, &[change]);
        assert_eq!(rows, [[("k", 4096), ("n", 997)]]);
    }

    #[test]
    fn bad_sizes_are_named() {
        let cases = [
            ("pingpong", "expected WORKLOAD=VALUE"),
            ("pong=1", "unknown workload"),
            ("pingpong.S=1", "it has p, n"),
            ("pingpong=0", "at least 1"),
            ("pingpong=-5", "at least 1"),
            ("pingpong=many", "is not a size"),
            ("pingpong=1e30", "is not a size"),
            ("skynet=12", "power of ten"),
        ];
        for (text, names) in cases {
            let stop = parse_override(text).expect_err(text);
            assert!(stop.message.contains(names), "{text}: {}", stop.message);
        }
    }

    #[test]
    fn sizes_beyond_memory_or_arithmetic_are_refused() {
        let at = |id: &str, row: &[(&'static str, i64)]| {
            let cell = cell(id);
            let params = params(&cell, row);
            refusal(&cell, &params, 4 << 30)
        };
        assert!(at("skynet/alive", &[("S", 1_000_000)]).is_none());
        assert!(
            at("skynet/tree-ch", &[("S", 1_000_000_000)]).is_some_and(|w| w.contains("memory"))
        );
        assert!(at("fan/struct", &[("N", 1_000_000_000)]).is_some_and(|w| w.contains("memory")));
        assert!(
            at("net/local", &[("N", 4_000_000), ("M", 4_000_000_000)])
                .is_some_and(|w| w.contains("63 bits"))
        );
    }

    #[test]
    fn scaling_doubles_or_multiplies_by_ten() {
        let skynet = cell("skynet/tree-ch");
        let at = params(&skynet, &[("S", 100)]);
        assert_eq!(scaled(&skynet, &at, true).expect("up")["S"], 1000);
        assert_eq!(scaled(&skynet, &at, false).expect("down")["S"], 10);
        let tell = cell("pingpong/tell");
        let at = params(&tell, &[("p", 2), ("n", 1)]);
        assert_eq!(scaled(&tell, &at, true).expect("up")["n"], 2);
        assert!(scaled(&tell, &at, false).is_none());
        assert_eq!(show(&tell, &at), "p=2 n=1 w=1");
    }
}
