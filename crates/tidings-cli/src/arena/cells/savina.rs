//! savina: the actor benchmarks of the Savina suite as one workload, with a variant for each (`arena/SAVINA.md`). Their sizes
//! and counts are those of the crate `savina`, which the peers' programs are made with.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ::savina::{ALL, Benchmark, Bound, Counts, Sizes};

use crate::arena::cells::size::Profile;
use crate::arena::cells::workload::{CellId, Params, Variant, more};

pub(crate) const ID: &str = "savina";

pub(crate) const VARIANTS: [Variant; ALL.len()] = {
    let mut variants = [const { more("", &[]) }; ALL.len()];
    let mut at = 0;
    while at < ALL.len() {
        variants[at] = more(ALL[at].id, ALL[at].fixed);
        at += 1;
    }
    variants
};

/// The benchmark that a cell is, if it is one.
pub(crate) fn of(cell: &CellId) -> Option<&'static Benchmark> {
    let own = cell.workload == ID;
    own.then(|| ::savina::benchmark(&cell.variant)).flatten()
}

/// `n` of a profile.
pub(crate) fn size(one: &Benchmark, profile: Profile) -> i64 {
    let [smoke, quick, paper] = one.sizes;
    match profile {
        Profile::Smoke => smoke,
        Profile::Quick => quick,
        Profile::Standard => paper,
    }
}

fn sizes(params: &Params) -> Sizes {
    Sizes::of(|key| params.get(key).copied().unwrap_or(0))
}

/// Why it cannot run at these sizes, if it cannot.
pub(crate) fn refusal(one: &Benchmark, params: &Params) -> Option<String> {
    one.check(sizes(params)).err()
}

/// What a correct run counts. Some take as long to count as to run, so each is counted once.
pub(crate) fn expected(one: &Benchmark, params: &Params) -> Counts {
    static KNOWN: Mutex<BTreeMap<(&str, Sizes), Counts>> = Mutex::new(BTreeMap::new());
    let sizes = sizes(params);
    if one.check(sizes).is_err() {
        return Counts::default();
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known
        .entry((one.id, sizes))
        .or_insert_with(|| one.expected(sizes))
}

/// Adds what dominates to a cell's labels.
pub(crate) fn label(cell: &CellId, labels: &mut BTreeMap<String, String>) {
    if let Some(one) = of(cell) {
        labels.insert("bound".to_owned(), one.bound.name().to_owned());
    }
}

/// What one operation costs, by and large.
pub(crate) fn cost(cell: &CellId) -> Duration {
    match of(cell).map(|one| one.bound) {
        Some(Bound::Computation) => Duration::from_nanos(20),
        _ => Duration::from_nanos(200),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::cells::size;
    use crate::arena::cells::workload;

    fn cell(text: &str) -> CellId {
        workload::parse_cell_id(text).expect("known")
    }

    #[test]
    fn the_published_sizes_are_those_of_the_standard_profile() {
        let published = [
            ("savina/pingpong", "n=40000"),
            ("savina/count", "n=1000000"),
            ("savina/fjthrput", "n=10000 A=60"),
            ("savina/threadring", "n=100000 A=100"),
            ("savina/chameneos", "n=200000 A=100"),
            ("savina/big", "n=20000 A=120"),
            ("savina/bndbuffer", "n=1000 N=40 P=40 S=25 w=50"),
            ("savina/banking", "n=50000 A=1000"),
            ("savina/nqueenk", "n=12 P=20 w=4"),
            ("savina/fib", "n=25"),
        ];
        for (name, shown) in published {
            let cell = cell(name);
            let rows = size::sizes(&cell, Profile::Standard, 2, &[]);
            assert_eq!(rows.len(), 1);
            let params = size::params(&cell, &rows[0]);
            assert_eq!(size::show(&cell, &params), shown, "{name}");
        }
    }

    #[test]
    fn counts_come_with_the_sizes_asked_for_and_bad_sizes_are_refused() {
        let fib = cell("savina/fib");
        let at = |n| size::params(&fib, &[("n", n)]);
        let counted = workload::expected(&fib, &at(10));
        assert_eq!((counted.units, counted.check, counted.ops), (109, 55, 217));
        assert!(size::refusal(&fib, &at(36), 4 << 30).is_some_and(|why| why.contains("1 to 35")));
        assert!(size::refusal(&fib, &at(35), 4 << 30).is_none());
        assert_eq!(size::scaled(&fib, &at(10), true).expect("up")["n"], 11);
        let sort = cell("savina/bitonicsort");
        let at = |n| size::params(&sort, &[("n", n)]);
        assert_eq!(size::scaled(&sort, &at(16), false).expect("down")["n"], 8);
        assert!(size::refusal(&sort, &at(17), 4 << 30).is_some());
        let list = cell("savina/concsll");
        assert!(size::scaled(&list, &size::params(&list, &[("n", 97)]), true).is_none());
    }

    #[test]
    fn the_page_has_the_sizes_and_bounds_of_the_table() {
        let page = include_str!("../../../../../arena/SAVINA.md");
        for one in &ALL {
            let begin = format!("| `{}` | ", one.id);
            let row = page.lines().find(|line| line.starts_with(&begin));
            let row = row.unwrap_or_else(|| panic!("{} has no row", one.id));
            let bound = match one.bound {
                Bound::Messages => "| M |",
                Bound::Computation => "| C |",
            };
            let [smoke, quick, paper] = one.sizes;
            assert!(row.contains(bound), "{row}");
            assert!(
                row.contains(&format!(": {smoke}, {quick}, {paper} |")),
                "{row}"
            );
            for (key, value) in one.fixed {
                assert!(row.contains(&format!("{key}={value}")), "{row}: {key}");
            }
        }
    }

    #[test]
    fn a_label_says_what_dominates() {
        let mut labels = BTreeMap::new();
        label(&cell("savina/fib"), &mut labels);
        assert_eq!(labels["bound"], "messages");
        labels.clear();
        label(&cell("fan/struct"), &mut labels);
        assert!(labels.is_empty());
    }
}
