//! Finds every explicit memory ordering of the library, and says how it can be weakened.

use std::collections::BTreeMap;
use std::fs;

use crate::command::{read, root};
use crate::tidy::code_only;

/// Where to look, and what is no part of what ships.
pub(super) const SOURCES: &str = "crates/tidings/src";
const MODELS: &str = "models";
/// Stands for std's locks in one sanitizer's build.
const STAND_IN: &str = "primitive/tsan.rs";
/// What follows is a test.
const TESTS: &str = "#[cfg(test)]\nmod tests";
/// Scaffolding of the models.
const SCAFFOLDING: &[&str] = &["#[cfg(loom)]\nimpl", "#[cfg(loom)]\nmod"];

/// One `Ordering::..` in an atomic operation or a fence.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Site {
    /// Below the library's `src`.
    pub(super) file: String,
    /// The function it stands in, the operation, the ordering, and which of those that are alike
    /// there: what a reader knows it by.
    pub(super) name: String,
    pub(super) ordering: &'static str,
    /// Weaker by one step.
    pub(super) weaker: &'static [&'static str],
    /// Where the ordering begins in the file.
    at: usize,
}

/// What an operation does with memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Load,
    Store,
    Both,
    Fence,
}

/// All sites that can be weaker, file by file.
pub(super) fn all() -> Result<Vec<Site>, String> {
    let base = root().join(SOURCES);
    let mut folders = vec![base.clone()];
    let mut paths = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
            if path.is_dir() && !path.ends_with(MODELS) {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && !path.ends_with(STAND_IN)
            {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let mut sites = Vec::new();
    for path in paths {
        let below = path.strip_prefix(&base).unwrap_or(&path);
        let file = below.to_string_lossy().replace('\\', "/");
        sites.extend(of(&file, &read(&path)?));
    }
    Ok(sites)
}

/// The text without comments and strings, blanked byte for byte, so that places in the two agree.
pub(super) fn blanked(text: &str) -> String {
    code_only(text)
        .chars()
        .zip(text.chars())
        .map(|(code, old)| {
            if code == old {
                old.to_string()
            } else {
                " ".repeat(old.len_utf8())
            }
        })
        .collect()
}

/// The sites of one file.
fn of(file: &str, text: &str) -> Vec<Site> {
    let code = blanked(text);
    let end = code.find(TESTS).unwrap_or(code.len());
    let mut alike: BTreeMap<String, usize> = BTreeMap::new();
    let mut sites = Vec::new();
    for (at, _) in code[..end].match_indices("Ordering::") {
        let word = &code[at + "Ordering::".len()..];
        let Some(ordering) = ["Acquire", "Release", "AcqRel", "SeqCst"]
            .into_iter()
            .find(|ordering| word.starts_with(ordering))
        else {
            continue;
        };
        let Some((called, argument)) = call_around(&code, at) else {
            continue;
        };
        let operation = match (called, argument) {
            ("load", _) | ("compare_exchange" | "compare_exchange_weak", 3) => Operation::Load,
            ("fetch_update", 1) => Operation::Load,
            ("store", _) => Operation::Store,
            ("fence", _) => Operation::Fence,
            // For the compiler alone: there is nothing between this and none at all.
            ("compiler_fence", _) => continue,
            _ => Operation::Both,
        };
        if is_scaffolding(&code, at) {
            continue;
        }
        let function = code[..at].rsplit("fn ").next().unwrap_or_default();
        let function = function.split(['(', '<']).next().unwrap_or_default();
        let mut name = format!("{function} {called} {ordering}");
        let n = alike.entry(name.clone()).or_default();
        *n += 1;
        if *n > 1 {
            name += &format!(" {n}");
        }
        sites.push(Site {
            file: file.to_owned(),
            name,
            ordering,
            weaker: weaker(operation, ordering),
            at,
        });
    }
    sites
}

fn weaker(operation: Operation, ordering: &str) -> &'static [&'static str] {
    match (ordering, operation) {
        ("SeqCst", Operation::Load) => &["Acquire"],
        ("SeqCst", Operation::Store) => &["Release"],
        ("SeqCst", _) => &["AcqRel"],
        ("AcqRel", _) => &["Acquire", "Release"],
        // A fence that orders nothing is none.
        _ => &["Relaxed"],
    }
}

/// The name of what is called around `at`, and which of its arguments that is.
fn call_around(code: &str, at: usize) -> Option<(&str, usize)> {
    let (mut depth, mut argument) = (0, 0);
    for (place, c) in code[..at].char_indices().rev() {
        match c {
            ')' | ']' | '}' => depth += 1,
            '(' if depth == 0 => {
                let before = &code[..place];
                let start = before.rfind(|c: char| !c.is_alphanumeric() && c != '_');
                return Some((&before[start.map_or(0, |start| start + 1)..], argument));
            }
            '{' | ';' if depth == 0 => return None,
            '(' | '[' | '{' => depth -= 1,
            ',' if depth == 0 => argument += 1,
            _ => {}
        }
    }
    None
}

/// Within an item that only models have?
fn is_scaffolding(code: &str, at: usize) -> bool {
    SCAFFOLDING.iter().any(|item| {
        code[..at]
            .rmatch_indices(item)
            .any(|(start, _)| block_end(code, start).is_none_or(|end| at < end))
    })
}

/// Where the block that begins behind `start` ends.
pub(super) fn block_end(code: &str, start: usize) -> Option<usize> {
    let mut depth = 0;
    for (place, c) in code[start..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return Some(start + place),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The files in which every site asks `crate::weakened` for its ordering.
pub(super) fn switched(sites: &[Site]) -> Result<BTreeMap<String, String>, String> {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    // From the end, so that the places of those before stay.
    for (number, site) in sites.iter().enumerate().rev() {
        let path = format!("{SOURCES}/{}", site.file);
        if !texts.contains_key(&path) {
            texts.insert(path.clone(), read(&path)?);
        }
        let text = texts.entry(path).or_default();
        let old = format!("Ordering::{}", site.ordering);
        let mut new = format!("crate::weakened({number}, {old})");
        let mut end = site.at + old.len();
        let mut start = site.at;
        if text[..start].ends_with("fence(") {
            // A fence can be told to be none.
            start -= "fence(".len();
            end += 1;
            new = format!("crate::weakened_fence({number}, fence)");
        }
        text.replace_range(start..end, &new);
    }
    super::append_to_root(super::ROOT, &mut texts, CODE)?;
    Ok(texts)
}

/// The variables: `3 Acquire` for the site and its ordering, and a file to tell which were used.
pub(super) const SWITCH: &str = "TIDINGS_WEAKEN";
pub(super) const USED: &str = "TIDINGS_USED";

const CODE: &str = r#"
pub(crate) fn weakened(site: usize, ordering: std::sync::atomic::Ordering) -> std::sync::atomic::Ordering {
    use std::sync::atomic::Ordering;
    static WEAK: std::sync::OnceLock<Option<(usize, Ordering)>> = std::sync::OnceLock::new();
    static USED: std::sync::Mutex<std::collections::BTreeSet<(usize, String)>> =
        std::sync::Mutex::new(std::collections::BTreeSet::new());
    static TELL: std::sync::OnceLock<Option<std::ffi::OsString>> = std::sync::OnceLock::new();
    if let Some(path) = TELL.get_or_init(|| std::env::var_os("TIDINGS_USED")) {
        let test = std::thread::current().name().unwrap_or("?").to_owned();
        let mut used = USED.lock().unwrap();
        if used.insert((site, test.clone())) {
            use std::io::Write;
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
            writeln!(file, "{site} {test}").unwrap();
        }
    }
    let weak = WEAK.get_or_init(|| {
        let text = std::env::var("TIDINGS_WEAKEN").ok()?;
        let (site, ordering) = text.split_once(' ')?;
        let ordering = match ordering {
            "AcqRel" => Ordering::AcqRel,
            "Acquire" => Ordering::Acquire,
            "Release" => Ordering::Release,
            _ => Ordering::Relaxed,
        };
        Some((site.parse().ok()?, ordering))
    });
    match weak {
        Some((weak, weaker)) if *weak == site => *weaker,
        _ => ordering,
    }
}

pub(crate) fn weakened_fence(site: usize, fence: fn(std::sync::atomic::Ordering)) {
    use std::sync::atomic::Ordering;
    match weakened(site, Ordering::SeqCst) {
        Ordering::Relaxed => {}
        ordering => fence(ordering),
    }
}
"#;

#[cfg(test)]
mod tests {
    use super::of;

    fn named(text: &str) -> Vec<String> {
        of("a.rs", text)
            .iter()
            .map(|site| format!("{} -> {}", site.name, site.weaker.join(", ")))
            .collect()
    }

    #[test]
    fn an_ordering_is_weakened_as_its_operation_allows() {
        let text = "fn f<T>() { a.load(Ordering::SeqCst); a.store(g(1, 2), Ordering::Release);\n\
            a.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire);\n\
            fence(Ordering::SeqCst); a.load(Ordering::Relaxed); // Ordering::SeqCst\n}";
        assert_eq!(
            named(text),
            [
                "f load SeqCst -> Acquire",
                "f store Release -> Relaxed",
                "f compare_exchange AcqRel -> Acquire, Release",
                "f compare_exchange Acquire -> Relaxed",
                "f fence SeqCst -> AcqRel",
            ]
        );
    }

    #[test]
    fn sites_that_look_alike_are_numbered_and_scaffolding_is_left_out() {
        let text = "fn f() { a.load(Ordering::Acquire); b.load(Ordering::Acquire); }\n\
            #[cfg(loom)]\nimpl A { fn g() { a.load(Ordering::SeqCst); } }\n\
            fn h() { a.swap(1, Ordering::Acquire); }\n\
            #[cfg(test)]\nmod tests { fn i() { a.load(Ordering::Acquire); } }";
        assert_eq!(
            named(text),
            [
                "f load Acquire -> Relaxed",
                "f load Acquire 2 -> Relaxed",
                "h swap Acquire -> Relaxed",
            ]
        );
    }
}
