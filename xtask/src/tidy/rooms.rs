//! Checks of what may stand where: `unsafe`, and the doors to threads, atomics, cells and clocks.

use super::allowed::{DOORS, Door, RUNTIME, THROUGH_THE_WALL, UNSAFE, listed};
use super::code::{code_only, lines_with, used_paths, without_tests};
use super::{File, Tree};

const LIST: &str = "xtask/src/tidy/allowed.rs";

/// `unsafe` is in few files, each on the list.
pub(super) fn unsafe_code(tree: &Tree, problems: &mut Vec<String>) {
    for file in tree.with(".rs") {
        let first = lines_with(&code_only(&file.text), "unsafe").next();
        let is_listed = listed(UNSAFE).any(|path| path == file.path);
        match first {
            Some(line) if !is_listed => problems.push(format!(
                "{}:{line}: `unsafe` in a file that is not on the list in {LIST}",
                file.path
            )),
            None if is_listed => problems.push(format!(
                "{}: has no `unsafe`; take it off the list in {LIST}",
                file.path
            )),
            _ => {}
        }
    }
    for path in listed(UNSAFE).filter(|path| !is_test() && tree.file(path).is_none()) {
        problems.push(format!(
            "{path}: is on the list of `unsafe` files and does not exist"
        ));
    }
}

/// The unit tests look at trees without the files of the real lists.
const fn is_test() -> bool {
    cfg!(test)
}

/// Threads, atomics, cells and clocks are named only in their rooms. Tests may name them.
pub(super) fn doors(tree: &Tree, problems: &mut Vec<String>) {
    let mut needed = Vec::new();
    for file in tree.with(".rs") {
        let Some(below) = file.path.strip_prefix(RUNTIME) else {
            continue;
        };
        if below.ends_with("tests.rs") {
            continue;
        }
        for door in DOORS
            .iter()
            .filter(|door| !door.inside.iter().any(|p| below.starts_with(p)))
        {
            for (line, name) in through(file, door) {
                let place = format!("{} {name}", file.path);
                if listed(THROUGH_THE_WALL).any(|listed| listed == place) {
                    needed.push(place);
                } else {
                    problems.push(format!("{}:{line}: `{name}`; {}", file.path, door.why));
                }
            }
        }
    }
    for place in listed(THROUGH_THE_WALL) {
        if !is_test() && !needed.iter().any(|needed| needed == place) {
            problems.push(format!("{place}: no longer there; take it off the list"));
        }
    }
}

/// Where `file` names what is behind `door`.
fn through<'d>(file: &File, door: &'d Door) -> Vec<(usize, &'d str)> {
    let code = code_only(&file.text);
    let code = without_tests(&code);
    let used = used_paths(code);
    let mut found = Vec::new();
    for &name in door.names {
        found.extend(lines_with(code, name).map(|line| (line, name)));
        let by_tree = used
            .iter()
            .filter(|(_, path)| lines_with(path, name).next().is_some());
        found.extend(by_tree.map(|&(line, _)| (line, name)));
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::{Tree, doors, unsafe_code};

    #[test]
    fn unsafe_in_an_unlisted_file_is_named() {
        let files = [
            ("a.rs", "//! unsafe in words\n#![forbid(unsafe_code)]\n"),
            ("b.rs", "//! B.\nfn b() { unsafe { c() } }"),
        ];
        assert_eq!(
            Tree::problems(unsafe_code, &files),
            ["b.rs:2: `unsafe` in a file that is not on the list in xtask/src/tidy/allowed.rs"]
        );
    }

    #[test]
    fn what_is_behind_a_door_is_named_however_it_is_imported() {
        let files = [
            (
                "crates/tidings/src/task.rs",
                "use std::{cell::UnsafeCell, sync::Arc};\nstd::thread::spawn(f);",
            ),
            ("crates/tidings/src/primitive/mod.rs", "use std::thread;"),
            (
                "crates/tidings/src/sched.rs",
                "thread_local!();\n#[cfg(test)]\nmod tests { use std::thread; }",
            ),
            ("crates/tidings-cli/src/main.rs", "use std::thread;"),
        ];
        assert_eq!(
            Tree::problems(doors, &files),
            [
                "crates/tidings/src/task.rs:2: `std::thread`; \
                 take threads from `crate::primitive`, so that loom sees them",
                "crates/tidings/src/task.rs:1: `std::cell::UnsafeCell`; \
                 take cells from `crate::primitive`, so that loom sees them",
            ]
        );
    }

    #[test]
    fn a_clock_outside_its_rooms_is_named() {
        let files = [
            (
                "crates/tidings/src/event.rs",
                "use std::time::{Duration, Instant};\nInstant::now();",
            ),
            (
                "crates/tidings/src/actor.rs",
                "use crate::time::Instant;\nInstant::now();",
            ),
            (
                "crates/tidings/src/time/clock.rs",
                "std::time::Instant::now()",
            ),
        ];
        assert_eq!(
            Tree::problems(doors, &files),
            ["crates/tidings/src/event.rs:1: `std::time::Instant`; \
              take the time from `crate::time`, so that a simulation can own it"]
        );
    }
}
