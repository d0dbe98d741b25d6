//! Which line made a source, for reports of who waits for what; only with debug assertions.
//!
//! A source keeps the line's number, which lies where there is room beside its lock: a reference would
//! make an idle actor larger than it is said to be.

use std::collections::BTreeMap;
use std::panic::Location;

use crate::primitive::lasting::{Mutex, lock};

/// A line of the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Made(u32);

struct Lines {
    all: Vec<&'static Location<'static>>,
    /// By the address of the line.
    numbers: BTreeMap<usize, u32>,
}

static LINES: Mutex<Lines> = Mutex::new(Lines {
    all: Vec::new(),
    numbers: BTreeMap::new(),
});

impl Made {
    /// By the caller.
    #[track_caller]
    pub(super) fn here() -> Self {
        let line = Location::caller();
        let mut lines = lock(&LINES);
        let next = u32::try_from(lines.all.len()).expect("a program has fewer lines");
        let address = std::ptr::from_ref(line).addr();
        let number = *lines.numbers.entry(address).or_insert(next);
        if number == next {
            lines.all.push(line);
        }
        Self(number)
    }

    pub(super) fn line(self) -> &'static Location<'static> {
        lock(&LINES).all[self.0 as usize]
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_one_number_and_is_found_by_it() {
        let mut twice = (0..2).map(|_| Made::here());
        let line = line!() - 1;
        let lines = [twice.next(), twice.next(), Some(Made::here())].map(Option::unwrap);
        assert_eq!(lines[0].0, lines[1].0);
        assert_ne!(lines[0].0, lines[2].0);
        let found = lines.map(|made| (made.line().file(), made.line().line()));
        assert_eq!(found, [line, line, line + 2].map(|line| (file!(), line)));
    }
}
