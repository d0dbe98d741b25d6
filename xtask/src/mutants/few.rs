//! Of the program `it`, which has most of the tests and takes longest to build, the files that a few tests need.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Its folder, in which each module of the program is a file, a folder, or both.
const IT: &str = "crates/tidings/tests/it";

/// Empties the other modules of `it` in a tree. A test that names no module may be in any: then all stay.
pub(super) fn keep<'a>(
    tree: &Path,
    tests: impl IntoIterator<Item = &'a str>,
) -> Result<(), String> {
    let folder = tree.join(IT);
    let main = folder.join("main.rs");
    let failed = |error| format!("{}: {error}", main.display());
    let text = fs::read_to_string(&main).map_err(failed)?;
    match needed(&folder, tests) {
        Some(needed) => fs::write(&main, without(&text, &needed)).map_err(failed),
        None => Ok(()),
    }
}

/// The modules of these tests, and those that they use.
fn needed<'a>(folder: &Path, tests: impl IntoIterator<Item = &'a str>) -> Option<BTreeSet<String>> {
    let first = |test: &str| Some(test.split_once("::")?.0.to_owned());
    let mut left: Vec<String> = tests.into_iter().map(first).collect::<Option<_>>()?;
    let mut needed = BTreeSet::new();
    while let Some(module) = left.pop() {
        let mut text = String::new();
        read(&folder.join(format!("{module}.rs")), &mut text);
        read(&folder.join(&module), &mut text);
        if needed.insert(module) {
            left.extend(text.split("crate::").skip(1).map(word));
        }
    }
    Some(needed)
}

/// What a path begins with.
fn word(path: &str) -> String {
    let is_of_it = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    path.chars().take_while(is_of_it).collect()
}

/// The text of a file, or of all below a folder; of what is not there, none.
fn read(at: &Path, text: &mut String) {
    if let Ok(one) = fs::read_to_string(at) {
        text.push_str(&one);
    }
    for file in fs::read_dir(at).into_iter().flatten().flatten() {
        read(&file.path(), text);
    }
}

/// The root file with nothing in the modules that nobody needs: their attributes stay with them.
fn without(main: &str, needed: &BTreeSet<String>) -> String {
    let line = |line: &str| match line.strip_prefix("mod ").and_then(|l| l.strip_suffix(';')) {
        Some(module) if !needed.contains(module) => format!("mod {module} {{}}\n"),
        _ => format!("{line}\n"),
    };
    main.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{IT, needed, without};
    use crate::command::root;

    #[test]
    fn what_is_kept_has_all_that_it_uses() {
        let folder = root().join(IT);
        let tests = ["channel::a_test", "races::supervisors::another"];
        let kept = needed(&folder, tests).unwrap();
        let main = fs::read_to_string(folder.join("main.rs")).unwrap();
        let main = without(&main, &kept);
        for module in ["channel", "races", "both"] {
            assert!(main.contains(&format!("\nmod {module};\n")), "{module}");
        }
        assert!(main.contains("\nmod cycle {}\n"), "{main}");
        assert_eq!(needed(&folder, ["a_test_of_any_module"]), None);
    }
}
