//! The workloads: their variants, parameters, and what a correct run must count (`arena/WORKLOADS.md`).

use std::collections::BTreeMap;
use std::fmt;

use crate::arena::cells::savina;

/// The sizes of one cell, by key (`p`, `n`, `S`, ...). Ordered, so that equal sizes print equally.
pub(crate) type Params = BTreeMap<String, i64>;

/// One of the workload ids.
#[derive(Debug)]
pub(crate) struct Workload {
    pub(crate) id: &'static str,
    /// One line for `list`.
    pub(crate) about: &'static str,
    /// Sizes that a user can set with `--size`, in the order shown, the main one last.
    pub(crate) keys: &'static [&'static str],
    /// What one operation is called in the tables.
    pub(crate) unit: &'static str,
    pub(crate) variants: &'static [Variant],
}

/// One variant of a workload.
#[derive(Debug)]
pub(crate) struct Variant {
    pub(crate) id: &'static str,
    /// Runs in the quick profile without being asked for.
    pub(crate) headline: bool,
    /// Takes part in rankings. A floor (no messages) and a cell of latency do not.
    pub(crate) ranked: bool,
    /// Sizes that belong to the variant itself, sent with `prep`.
    pub(crate) fixed: &'static [(&'static str, i64)],
}

/// Ranked, and no headline.
pub(crate) const fn more(id: &'static str, fixed: &'static [(&'static str, i64)]) -> Variant {
    Variant {
        id,
        headline: false,
        ranked: true,
        fixed,
    }
}

const fn headline(id: &'static str, fixed: &'static [(&'static str, i64)]) -> Variant {
    Variant {
        headline: true,
        ..more(id, fixed)
    }
}

/// Shown, not ranked.
const fn unranked(id: &'static str) -> Variant {
    Variant {
        ranked: false,
        ..more(id, &[])
    }
}

/// All workloads, in the order of runs and tables.
pub(crate) const WORKLOADS: &[Workload] = &[
    Workload {
        id: "pingpong",
        about: "p pairs exchange n round trips each, w requests in flight",
        keys: &["p", "n"],
        unit: "msg",
        variants: &[
            headline("tell", &[("w", 1)]),
            more("tell-w100", &[("w", 100)]),
            headline("tell-w1000", &[("w", 1000)]),
            headline("give", &[("w", 1)]),
            more("send", &[("w", 1)]),
            more("give-send", &[("w", 1)]),
            more("send-give", &[("w", 1)]),
            headline("call", &[("w", 1)]),
            more("call-send", &[("w", 1)]),
            more("call-nack", &[("w", 1)]),
            more("tell-fixed", &[("w", 1)]),
            more("give-fixed", &[("w", 1)]),
            more("tell-bounded", &[("w", 1)]),
            more("choice", &[("w", 1)]),
            more("batch-1", &[("w", 1000), ("batch", 1)]),
            more("batch-5", &[("w", 1000), ("batch", 5)]),
            more("batch-20", &[("w", 1000), ("batch", 20)]),
            more("batch-100", &[("w", 1000), ("batch", 100)]),
        ],
    },
    Workload {
        id: "chain",
        about: "A actors made one by another, a message down and one back up",
        keys: &["A"],
        unit: "msg",
        variants: &[
            headline("struct", &[]),
            more("obj", &[]),
            more("cold-system", &[]),
        ],
    },
    Workload {
        id: "fan",
        about: "a parent sends N messages at once, a child answers each",
        keys: &["N"],
        unit: "msg",
        variants: &[
            headline("struct", &[]),
            more("obj", &[]),
            more("cold-system", &[]),
        ],
    },
    Workload {
        id: "counter",
        about: "P producers send n additions each to one counter (contention, not scaling)",
        keys: &["P", "n"],
        unit: "msg",
        variants: &[
            headline("send", &[]),
            headline("give", &[]),
            headline("bounded-1024", &[]),
            more("ask-each", &[]),
            headline("select", &[]),
            more("select-no-timer", &[]),
            more("select-buffered", &[]),
            more("select-buffered-no-timer", &[]),
            more("threads", &[]),
            unranked("mutex"),
        ],
    },
    Workload {
        id: "skynet",
        about: "a tree with S leaves, ten children a node, sums sent upwards",
        keys: &["S"],
        unit: "node",
        variants: &[
            headline("tree", &[]),
            headline("tree-ch", &[]),
            headline("tasks", &[]),
            more("alive", &[]),
            unranked("floor"),
        ],
    },
    Workload {
        id: "net",
        about: "N clients make M requests each to servers of their own",
        keys: &["N", "M"],
        unit: "req",
        variants: &[
            headline("local", &[]),
            headline("echo", &[]),
            more("echo-mux", &[]),
            more("echo-oneproc", &[]),
            more("cluster", &[]),
            unranked("paced"),
        ],
    },
    Workload {
        id: "spawn",
        about: "n tasks started, each adds one (ours, not of the seeds)",
        keys: &["n"],
        unit: "task",
        variants: &[headline("detached", &[]), more("joined", &[])],
    },
    Workload {
        id: "growth",
        about: "n operations where k things are there: tasks, waiters, branches, timers, bytes (by name only)",
        keys: &["k", "n"],
        unit: "op",
        variants: &[
            more("tasks", &[]),
            more("waiters", &[]),
            more("branches", &[]),
            more("timers", &[]),
            more("payload", &[]),
        ],
    },
    Workload {
        id: "quality",
        about: "how late a task is beside one that computes, how fair pairs are served, what idling takes (by name only)",
        keys: &["n"],
        unit: "op",
        variants: &[
            more("hog-spawn", &[("p", 2)]),
            more("hog-wake", &[("p", 2)]),
            more("hog-timer", &[("p", 2)]),
            more("pairs", &[("p", 32)]),
            more("idle", &[("p", 100)]),
        ],
    },
    Workload {
        id: "floor",
        about: "what the machine itself takes: atomics, a cache line, malloc, a system call, a wake, loopback (by name only)",
        keys: &["n"],
        unit: "op",
        variants: &[
            unranked("atomic"),
            unranked("clock"),
            unranked("malloc"),
            unranked("syscall"),
            unranked("line"),
            unranked("park"),
            unranked("loopback"),
        ],
    },
    Workload {
        id: savina::ID,
        about: "the thirty actor benchmarks of the Savina suite (by name only)",
        keys: &["n"],
        unit: "op",
        variants: &savina::VARIANTS,
    },
];

fn ids<'a>(of: impl Iterator<Item = &'a str>) -> String {
    of.collect::<Vec<_>>().join(", ")
}

/// Finds a workload by its id.
pub(crate) fn workload(id: &str) -> Option<&'static Workload> {
    WORKLOADS.iter().find(|w| w.id == id)
}

/// The ids of all workloads, for messages.
pub(crate) fn names() -> String {
    ids(WORKLOADS.iter().map(|w| w.id))
}

impl Workload {
    /// The size that `--size WORKLOAD=VALUE` means, and which the elision test scales.
    pub(crate) fn main_key(&self) -> &'static str {
        self.keys[self.keys.len() - 1]
    }

    /// Without a headline it runs only when a filter names it, and in the smoke test.
    pub(crate) fn is_by_name(&self) -> bool {
        self.variants.iter().all(|variant| !variant.headline)
    }

    pub(crate) fn variant(&self, id: &str) -> Option<&'static Variant> {
        self.variants.iter().find(|v| v.id == id)
    }

    /// The ids of all variants, for messages.
    pub(crate) fn variant_names(&self) -> String {
        ids(self.variants.iter().map(|v| v.id))
    }

    /// The position in the order of runs and tables.
    pub(crate) fn rank(&self) -> usize {
        WORKLOADS
            .iter()
            .position(|w| w.id == self.id)
            .unwrap_or(usize::MAX)
    }
}

/// `workload/variant`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CellId {
    pub(crate) workload: &'static str,
    pub(crate) variant: String,
}

impl CellId {
    /// The workload; the id was checked when it was made.
    pub(crate) fn definition(&self) -> &'static Workload {
        workload(self.workload).unwrap_or(&WORKLOADS[0])
    }

    /// A program as published in a seed: shown, never ranked, run only on request.
    pub(crate) fn is_original(&self) -> bool {
        self.variant.starts_with("original:")
    }

    /// What is known of it; nothing of an original.
    pub(crate) fn listed(&self) -> Option<&'static Variant> {
        self.definition().variant(&self.variant)
    }

    pub(crate) fn is_headline(&self) -> bool {
        self.listed().is_some_and(|v| v.headline)
    }

    pub(crate) fn is_ranked(&self) -> bool {
        self.listed().is_some_and(|v| v.ranked)
    }

    /// A cell of latency: requests on a fixed schedule, beside its closed loop.
    pub(crate) fn is_paced(&self) -> bool {
        self.workload == "net" && self.variant == "paced"
    }

    /// The place in tables: by workload, then in the order of the specification.
    pub(crate) fn order(&self) -> (usize, usize) {
        let definition = self.definition();
        let variant = definition
            .variants
            .iter()
            .position(|v| v.id == self.variant);
        (definition.rank(), variant.unwrap_or(usize::MAX))
    }
}

impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.workload, self.variant)
    }
}

/// Reads `workload/variant`; the error names the valid ones.
pub(crate) fn parse_cell_id(text: &str) -> Result<CellId, String> {
    let (workload_id, variant) = text
        .split_once('/')
        .ok_or_else(|| "not of the form workload/variant".to_owned())?;
    let definition = workload(workload_id)
        .ok_or_else(|| format!("unknown workload {workload_id:?}; there are {}", names()))?;
    let original = variant
        .strip_prefix("original:")
        .is_some_and(|name| !name.is_empty());
    if !original && definition.variant(variant).is_none() {
        return Err(format!(
            "unknown variant {variant:?} of {workload_id}; there are {}",
            definition.variant_names()
        ));
    }
    Ok(CellId {
        workload: definition.id,
        variant: variant.to_owned(),
    })
}

/// What one repetition must count. 128 bits wide: sums over repetitions are compared before they could wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) msgs: i128,
    pub(crate) units: i128,
    pub(crate) check: i128,
    /// Operations that the figures are divided by: messages, but requests for `net`.
    pub(crate) ops: i128,
}

/// The formulas of WORKLOADS.md.
pub(crate) fn expected(cell: &CellId, params: &Params) -> Expected {
    let get = |key: &str| params.get(key).copied().map_or(0, i128::from);
    let below = |n: i128| n * (n - 1) / 2;
    if let Some(one) = savina::of(cell) {
        let counts = savina::expected(one, params);
        let [msgs, units, check] = [counts.msgs, counts.units, counts.check].map(i128::from);
        return Expected {
            msgs,
            units,
            check,
            ops: msgs,
        };
    }
    let (msgs, units, check) = match cell.workload {
        "pingpong" => {
            let (p, n) = (get("p"), get("n"));
            (2 * p * n, 2 * p, p * below(n))
        }
        "net" => {
            let (clients, requests) = (get("N"), get("M"));
            (
                2 * clients * requests,
                2 * clients,
                clients * below(requests),
            )
        }
        "chain" => (2 * get("A") + 2, get("A") + 1, get("A")),
        "fan" => (2 * get("N") + 3, 2, below(get("N"))),
        "counter" => {
            let (producers, n) = (get("P"), get("n"));
            (producers * n, producers + 1, 100 * producers * n)
        }
        "skynet" => {
            let leaves = get("S");
            let nodes = (10 * leaves - 1) / 9;
            (
                nodes,
                if cell.variant == "floor" { 0 } else { nodes },
                below(leaves),
            )
        }
        "growth" => {
            let n = get("n");
            match cell.variant.as_str() {
                "waiters" => (n, get("k") + 1, below(n)),
                "branches" | "payload" => (n, 2, below(n)),
                _ => (n, n, n),
            }
        }
        "quality" => {
            let (p, n) = (get("p"), get("n"));
            match cell.variant.as_str() {
                "pairs" => (2 * p * n, 2 * p, p * n),
                "idle" => (n, p, p),
                "hog-spawn" => (n, n + 1, n),
                _ => (n, p, n),
            }
        }
        "floor" => (get("n"), 0, get("n")),
        _ => (get("n"), get("n"), get("n")),
    };
    Expected {
        msgs,
        units,
        check,
        ops: msgs / if cell.workload == "net" { 2 } else { 1 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(list: &[(&str, i64)]) -> Params {
        list.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect()
    }

    fn at(cell: &str, list: &[(&str, i64)]) -> Expected {
        expected(&parse_cell_id(cell).expect("known"), &params(list))
    }

    #[test]
    fn pingpong_counts_what_two_loops_count() {
        for p in 1..5 {
            for n in 1..40 {
                let (mut msgs, mut check) = (0, 0);
                for _pair in 0..p {
                    for sequence in 0..n {
                        msgs += 2;
                        check += i128::from(sequence);
                    }
                }
                let e = at("pingpong/tell", &[("p", p), ("n", n)]);
                assert_eq!((e.msgs, e.units, e.check), (msgs, 2 * i128::from(p), check));
                let e = at("net/local", &[("N", p), ("M", n)]);
                assert_eq!((e.msgs, e.check, e.ops), (msgs, check, msgs / 2));
                let e = at("counter/send", &[("P", p), ("n", n)]);
                assert_eq!((e.msgs, e.check), (msgs / 2, 50 * msgs));
            }
        }
    }

    #[test]
    fn chain_and_fan_count_what_a_simulation_counts() {
        for size in 1..60_i64 {
            // The root gets Ping, each of A children gets Ping, the last a Pong from itself, then A Pongs go up.
            let (mut msgs, mut depth) = (1, 0);
            for _child in 0..size {
                msgs += 1;
            }
            msgs += 1;
            for _child in 0..size {
                msgs += 1;
                depth += 1;
            }
            let e = at("chain/struct", &[("A", size)]);
            assert_eq!(
                (e.msgs, e.units, e.check),
                (msgs, i128::from(size) + 1, depth)
            );

            // Start, N Pings, N Pongs, two Stops.
            let sum: i128 = (0..i128::from(size)).sum();
            let e = at("fan/struct", &[("N", size)]);
            assert_eq!(
                (e.msgs, e.units, e.check),
                (3 + 2 * i128::from(size), 2, sum)
            );
        }
    }

    #[test]
    fn skynet_counts_what_the_recursion_counts() {
        fn node(number: i128, size: i128) -> (i128, i128) {
            if size == 1 {
                return (1, number);
            }
            (0..10)
                .map(|i| node(number + i * size / 10, size / 10))
                .fold((1, 0), |sum, child| (sum.0 + child.0, sum.1 + child.1))
        }
        for k in 0..6 {
            let leaves = 10_i64.pow(k);
            let e = at("skynet/tree-ch", &[("S", leaves)]);
            assert_eq!((e.msgs, e.check), node(0, i128::from(leaves)));
            assert_eq!(e.units, e.msgs);
        }
        assert_eq!(at("skynet/floor", &[("S", 100)]).units, 0);
    }

    #[test]
    fn originals_are_known_by_their_name_alone() {
        assert!(parse_cell_id("skynet/original:go").is_ok());
        assert!(parse_cell_id("skynet/original:").is_err());
        assert!(parse_cell_id("skynet").is_err());
    }
}
