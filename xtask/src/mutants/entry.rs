//! The hand-made list: what an entry is, and how all of them go into one tree.
//!
//! The files in `list/` read like this:
//!
//! ```text
//! == name-of-the-mutant
//! in: channel/chan.rs          below crates/tidings/src; or tidings-link/hub.rs: below that crate's,
//!                             and so of tidings-nats, tidings-sim and tidings-macros
//! bug: what is wrong with it
//! like: the bug of another library that it resembles        (optional)
//! try: it cancel::        the engine expected to kill it, and which of its tests   (optional)
//! -    lines of the file, whole; spaces at their ends do not count
//! +    what stands there instead
//! ```
//! Building a tree per mutant would take hours. So one tree holds them all, each behind a
//! switch: the new lines become `if MUTANT { new } else { old }`, which fits statements and
//! final expressions. Elsewhere the new lines say themselves what `MUTANT`, a `bool`, changes.

use std::collections::BTreeMap;
use std::fs;

use super::engine::ENGINES;
use super::tree::Fingerprint;
use crate::command::{read, root};

/// Where the list is.
const LIST: &str = "xtask/src/mutants/list";
/// What entries name their files below.
const SOURCES: &str = "crates/tidings/src";
/// The other crates that have some.
const OTHERS: &[&str] = &[
    "tidings-link",
    "tidings-macros",
    "tidings-nats",
    "tidings-sim",
];

/// One seeded bug.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) file: String,
    pub(super) bug: String,
    pub(super) like: Option<String>,
    /// An engine, and some of its tests.
    pub(super) first: Option<(String, Option<String>)>,
    old: Vec<String>,
    new: Vec<String>,
}

impl Entry {
    /// Is it among those that a filter means?
    pub(super) fn is_meant(&self, filter: &str) -> bool {
        self.name.contains(filter) || self.file.contains(filter)
    }

    /// Is it in the second list, of bugs in actors and in links?
    pub(super) fn is_of_actors_or_links(&self) -> bool {
        let folders = ["actor/", "remote/", "tidings-link/"];
        folders.iter().any(|folder| self.file.starts_with(folder))
    }

    /// The file in the tree.
    fn path(&self) -> String {
        match self.file.split_once('/') {
            Some((of, file)) if OTHERS.contains(&of) => {
                format!("crates/{of}/src/{file}")
            }
            _ => format!("{SOURCES}/{}", self.file),
        }
    }

    /// Changes when the mutant does: what was seen of the old one says nothing of the new.
    pub(super) fn id(&self) -> String {
        let mut print = Fingerprint::default();
        for text in [&self.file].into_iter().chain(&self.old) {
            print.add(text.as_bytes());
        }
        self.new.iter().for_each(|text| print.add(text.as_bytes()));
        print.text()[12..].to_owned()
    }

    /// The lines of `text` that it replaces, if there is exactly one such place.
    fn place(&self, text: &[&str]) -> Result<usize, String> {
        let matches = |window: &[&str]| {
            let pairs = window.iter().zip(&self.old);
            pairs.into_iter().all(|(line, old)| line.trim() == old)
        };
        let mut places = text.windows(self.old.len());
        let first = places.position(matches);
        match first {
            Some(_) if places.any(matches) => Err("its old lines occur twice"),
            Some(first) => Ok(first),
            None => Err("its old lines do not occur"),
        }
        .map_err(|what| format!("{}: {what} in {}", self.name, self.file))
    }

    /// What stands in the tree for its old lines.
    fn switched(&self, number: usize) -> String {
        let on = format!("crate::mutant({number})");
        let (old, new) = (self.old.join("\n"), self.new.join("\n"));
        if new.contains("MUTANT") {
            new.replace("MUTANT", &on)
        } else if new.is_empty() {
            format!("if !{on} {{\n{old}\n}}")
        } else {
            format!("if {on} {{\n{new}\n}} else {{\n{old}\n}}")
        }
    }
}

/// All entries, in the order of their files' names.
pub(super) fn all() -> Result<Vec<Entry>, String> {
    let folder = root().join(LIST);
    let mut paths: Vec<_> = fs::read_dir(&folder)
        .map_err(|error| format!("{LIST}: {error}"))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .collect();
    paths.sort();
    let mut entries: Vec<Entry> = Vec::new();
    for path in paths {
        for entry in parse(&read(path)?)? {
            if entries.iter().any(|known| known.name == entry.name) {
                return Err(format!("{}: there are two of this name", entry.name));
            }
            if let Some((engine, Some(tests))) = &entry.first
                && let Some(engine) = ENGINES.iter().find(|known| known.name == engine)
                && !engine.runs(tests)
            {
                // They were never seen green without a mutant: their failure would say nothing.
                return Err(format!(
                    "{}: {} does not run {tests}",
                    entry.name, engine.name
                ));
            }
            entries.push(entry);
        }
    }
    Ok(entries)
}

fn parse(text: &str) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    for block in text.split("\n== ").skip(1) {
        let mut lines = block.lines();
        let name = lines.next().unwrap_or_default().trim().to_owned();
        let mut entry = Entry {
            name,
            file: String::new(),
            bug: String::new(),
            like: None,
            first: None,
            old: Vec::new(),
            new: Vec::new(),
        };
        for line in lines {
            if let Some(old) = line.strip_prefix('-') {
                entry.old.push(old.trim().to_owned());
            } else if let Some(new) = line.strip_prefix('+') {
                entry.new.push(new.trim().to_owned());
            } else if let Some((key, value)) = line.split_once(": ") {
                let value = value.trim().to_owned();
                match key {
                    "in" => entry.file = value,
                    "bug" => entry.bug = value,
                    "like" => entry.like = Some(value),
                    "try" => {
                        entry.first = Some(match value.split_once(' ') {
                            Some((engine, tests)) => (engine.to_owned(), Some(tests.to_owned())),
                            None => (value, None),
                        });
                    }
                    _ => return Err(format!("{}: it knows no `{key}`", entry.name)),
                }
            } else if !line.trim().is_empty() {
                return Err(format!("{}: what is `{line}`?", entry.name));
            }
        }
        if entry.file.is_empty() || entry.bug.is_empty() || entry.old.is_empty() {
            return Err(format!(
                "{}: it needs `in`, `bug` and old lines",
                entry.name
            ));
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// The files with all mutants in them, switched off; the first entry has the number 1.
pub(super) fn switched(entries: &[Entry]) -> Result<BTreeMap<String, String>, String> {
    let mut by_file: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
    let mut texts = BTreeMap::new();
    for (index, entry) in entries.iter().enumerate() {
        let path = entry.path();
        if !texts.contains_key(&path) {
            let text = read(&path).map_err(|error| format!("{}: {error}", entry.name))?;
            texts.insert(path.clone(), text);
        }
        let lines: Vec<&str> = texts[&path].lines().collect();
        let place = entry.place(&lines)?;
        by_file.entry(path).or_default().push((place, index));
    }
    for (path, mut places) in by_file {
        places.sort_unstable();
        let text = &texts[&path];
        let mut lines = text.lines();
        let (mut at, mut new) = (0, String::new());
        for (place, index) in places {
            let entry = &entries[index];
            if place < at {
                return Err(format!("{}: another entry has a line of it", entry.name));
            }
            for line in lines.by_ref().take(place - at) {
                new += &format!("{line}\n");
            }
            new += &format!("{}\n", entry.switched(index + 1));
            lines.by_ref().take(entry.old.len()).for_each(drop);
            at = place + entry.old.len();
        }
        lines.for_each(|line| new += &format!("{line}\n"));
        texts.insert(path, new);
    }
    for of in OTHERS.iter().chain(&["tidings"]) {
        super::append_switch(&format!("crates/{of}/src/lib.rs"), &mut texts)?;
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::{all, parse, switched};

    #[test]
    fn every_entry_finds_its_place_in_the_library() {
        let entries = all().unwrap();
        assert!(entries.len() >= 45, "{} entries", entries.len());
        switched(&entries).map(drop).unwrap();
    }

    fn entry(text: &str) -> super::Entry {
        parse(&format!("\n== x\nin: a.rs\nbug: b\n{text}"))
            .unwrap()
            .remove(0)
    }

    #[test]
    fn old_lines_are_found_once_or_the_entry_is_named() {
        let entry = entry("-  a();\n-b();\n+c();\n");
        assert_eq!(entry.place(&["x", " a();", "  b();"]), Ok(1));
        let error = entry.place(&["a();", "b();", "a();", "b();"]);
        assert_eq!(error.unwrap_err(), "x: its old lines occur twice in a.rs");
        let error = entry.place(&["a();", "c();"]);
        assert_eq!(error.unwrap_err(), "x: its old lines do not occur in a.rs");
    }

    #[test]
    fn new_lines_stand_behind_a_switch() {
        let switched = |text| entry(text).switched(7).replace('\n', " ");
        assert_eq!(switched("-a();\n"), "if !crate::mutant(7) { a(); }");
        assert_eq!(
            switched("-a()\n+b()\n"),
            "if crate::mutant(7) { b() } else { a() }"
        );
        assert_eq!(
            switched("-if a {\n+if a && !MUTANT {\n"),
            "if a && !crate::mutant(7) {"
        );
    }
}
