//! `cargo x mutants --short N`: a few seeded bugs, drawn anew whenever the code changes, each
//! against the one test that the table says finds it.
//!
//! One engine finds them all, so that one program is to be built. Once it is, that takes seconds.
//! One that its test does not find meets those that its entry names, and if these do not find it either, all of all
//! engines, which takes minutes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use super::engine::Verdict;
use super::entry::Entry;
use super::{SWITCH, Session, expected, few, in_parallel, table};

/// So often a test is asked: some find by chance what needs threads to meet.
const TRIES: u32 = 5;

/// The engine and the test of a row, in which a program that hung or ended names the test it was at.
pub(super) fn known(cells: &[String]) -> Option<(&str, &str)> {
    let [.., engine, test, _] = cells else {
        return None;
    };
    let engine = engine.strip_prefix("killed by ").unwrap_or(engine);
    let test = test.trim_matches('`');
    let test = match test.strip_prefix("abort (") {
        Some(ended) => ended.split_once("): ")?.1,
        None => test.strip_prefix("hang: ").unwrap_or(test),
    };
    let test = test.split(" or ").next()?;
    (!test.is_empty() && !test.contains(' ')).then_some((engine, test))
}

/// The engine of each entry; of one that no test has found yet, none.
pub(super) fn engines<'a>(entries: &[Entry], rows: &'a table::Rows) -> Vec<&'a str> {
    let of = |entry: &Entry| Some(known(rows.get(&entry.name)?)?.0);
    entries
        .iter()
        .map(|entry| of(entry).unwrap_or(""))
        .collect()
}

/// `n` numbers of entries, in their order, by a seed: the first is any, the others are of its engine.
pub(super) fn some(engines: &[&str], n: usize, seed: u64) -> Vec<usize> {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut left: Vec<usize> = (0..engines.len()).collect();
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < n && !left.is_empty() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let below = u64::try_from(left.len()).unwrap_or(u64::MAX);
        let next = left.swap_remove(usize::try_from(random % below).unwrap_or(0));
        if chosen.is_empty() {
            left.retain(|&other| engines[other] == engines[next]);
        }
        chosen.push(next);
    }
    chosen.sort_unstable();
    chosen
}

/// Those of `numbers` that the tests of the table have not found.
pub(super) fn left(
    session: &mut Session,
    entries: &[Entry],
    numbers: &[usize],
    rows: &table::Rows,
) -> Result<Vec<usize>, String> {
    let mut tests: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut meant: Vec<(usize, &str, &str)> = Vec::new();
    let mut left = Vec::new();
    for &n in numbers {
        match rows.get(&entries[n].name).and_then(|cells| known(cells)) {
            Some((engine, test)) => {
                tests.entry(engine).or_default().insert(test);
                meant.push((n, engine, test));
            }
            None => left.push(n),
        }
    }
    let mut asked: Vec<String> = tests
        .get("it")
        .into_iter()
        .flatten()
        .map(|&test| test.to_owned())
        .collect();
    for (engine, named) in numbers.iter().filter_map(|&n| expected(&entries[n])) {
        if engine == "it" {
            // An entry that names none asks all: the empty name is in each.
            asked.extend(named.unwrap_or_else(|| vec![String::new()]));
        }
    }
    few::keep(&session.tree.root, asked.iter().map(String::as_str))?;
    // Without a mutant they are green: else their failure would say nothing.
    for (engine, tests) in tests {
        let filter: Vec<String> = std::iter::once("--exact")
            .chain(tests.iter().copied())
            .map(str::to_owned)
            .collect();
        let program = session.built(engine)?;
        match program.run(Some(&filter), &[])? {
            Verdict::Killed(test) => {
                return Err(format!("{engine} is not green without a mutant: {test}"));
            }
            // Which test there is no more is not known: the long way finds out.
            Verdict::Green(n, _) if n < tests.len() => {
                left.extend(meant.iter().filter(|of| of.1 == engine).map(|of| of.0));
                meant.retain(|of| of.1 != engine);
            }
            Verdict::Green(_, silence) => program.expect(silence),
        }
    }
    let missed = Mutex::new(left);
    let programs = &session.programs;
    in_parallel(&meant, |&(n, engine, test)| {
        let filter = ["--exact".to_owned(), test.to_owned()];
        let switch = (n + 1).to_string();
        let program = &programs[engine];
        let mut killed = None;
        for _ in 0..TRIES {
            if let Verdict::Killed(how) = program.run(Some(&filter), &[(SWITCH, &switch)])? {
                killed = Some(how);
                break;
            }
        }
        let name = &entries[n].name;
        if let Some(how) = killed {
            println!("{name:<34} {engine:<8} {how}");
        } else {
            println!("{name:<34} {engine:<8} {test} does not find it");
            missed.lock().map_err(|e| e.to_string())?.push(n);
        }
        Ok(())
    })?;
    let mut left = missed.into_inner().map_err(|error| error.to_string())?;
    left.sort_unstable();
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::{known, some};

    #[test]
    fn a_seed_chooses_the_same_again_and_each_once() {
        let one = ["it"; 50];
        assert_eq!(some(&one, 8, 3), some(&one, 8, 3));
        assert_ne!(some(&one, 8, 3), some(&one, 8, 4));
        assert_eq!(some(&one[..5], 9, 1), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn all_that_are_chosen_are_of_one_engine() {
        let mut firsts = [false; 2];
        for seed in 0..20 {
            let chosen = some(&["it", "loom", "it", "it", "loom"], 3, seed);
            let expected: &[usize] = if chosen[0] == 1 { &[1, 4] } else { &[0, 2, 3] };
            assert_eq!(chosen, expected);
            firsts[chosen[0]] = true;
        }
        assert_eq!(firsts, [true; 2], "either engine is drawn");
    }

    #[test]
    fn the_test_of_a_row_is_read_however_it_ended() {
        let row = |test: &str| {
            vec![
                "bug".to_owned(),
                "killed by it".to_owned(),
                test.to_owned(),
                "id".to_owned(),
            ]
        };
        let read = |test| known(&row(test)).map(|(engine, test)| format!("{engine} {test}"));
        assert_eq!(read("`a::b`").as_deref(), Some("it a::b"));
        assert_eq!(
            read("`hang: a::b or 2 after it`").as_deref(),
            Some("it a::b")
        );
        let aborted = "`abort (signal: 6 (SIGABRT)): a::b`";
        assert_eq!(read(aborted).as_deref(), Some("it a::b"));
        assert_eq!(read("`abort (signal: 6 (SIGABRT)): after all tests`"), None);
    }
}
