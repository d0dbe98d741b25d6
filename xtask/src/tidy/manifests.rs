//! Checks of the manifests and the changelog.

use super::{File, Tree};

const CHANGELOG: &str = "CHANGELOG.md";

/// Every member of the workspace has its lints.
pub(super) fn lints(tree: &Tree, problems: &mut Vec<String>) {
    let excluded = tree.file("Cargo.toml").map(excluded).unwrap_or_default();
    for file in tree.with("/Cargo.toml") {
        if excluded
            .iter()
            .any(|folder| file.path.starts_with(&format!("{folder}/")))
        {
            continue;
        }
        let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
        let in_table = lines
            .windows(2)
            .any(|pair| pair == ["[lints]", "workspace = true"]);
        if !in_table && !lines.contains(&"lints.workspace = true") {
            problems.push(format!("{}: has no `lints.workspace = true`", file.path));
        }
    }
}

/// The folders the root manifest keeps out of the workspace.
fn excluded(root: &File) -> Vec<&str> {
    let Some((_, list)) = root.text.split_once("\nexclude = [") else {
        return Vec::new();
    };
    let list = list.split(']').next().unwrap_or(list);
    list.split('"').skip(1).step_by(2).collect()
}

/// The newest version in the changelog is the one in the manifest.
pub(super) fn changelog(tree: &Tree, problems: &mut Vec<String>) {
    let Some(log) = tree.file(CHANGELOG) else {
        return problems.push(format!("{CHANGELOG}: is missing"));
    };
    let version = tree.file("Cargo.toml").and_then(|file| {
        let line = file
            .text
            .lines()
            .find(|line| line.starts_with("version = "))?;
        line.split('"').nth(1)
    });
    let newest = log
        .text
        .lines()
        .filter(|line| line.starts_with("## "))
        .find_map(|line| {
            let words = line.split([' ', '[', ']', ',']);
            words
                .map(|word| word.trim_start_matches('v'))
                .find(|word| is_version(word))
        });
    if newest != version {
        let [newest, version] = [newest, version].map(|v| v.unwrap_or("none"));
        problems.push(format!(
            "{CHANGELOG}: its newest version is {newest}, the manifest's {version}"
        ));
    }
}

/// `1.2.3`, with or without a suffix; a date has no dots.
fn is_version(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) && word.split('.').count() >= 3
}

#[cfg(test)]
mod tests {
    use super::{Tree, changelog, lints};

    const ROOT: &str = "[workspace]\nexclude = [\"arena/peers/rust\", \"fuzz\"]\n\
        [workspace.package]\nversion = \"0.2.0\"\n";

    #[test]
    fn a_manifest_without_lints_is_named() {
        let files = [
            ("Cargo.toml", ROOT),
            ("a/Cargo.toml", "[package]\n[lints]\nworkspace = true\n"),
            ("b/Cargo.toml", "[package]\nversion.workspace = true\n"),
            ("fuzz/Cargo.toml", "[package]\n"),
        ];
        assert_eq!(
            Tree::problems(lints, &files),
            ["b/Cargo.toml: has no `lints.workspace = true`"]
        );
    }

    #[test]
    fn a_changelog_of_another_version_is_named() {
        let check = |log| Tree::problems(changelog, &[("Cargo.toml", ROOT), ("CHANGELOG.md", log)]);
        let old = "# Changelog\n## Unreleased\n## [0.1.0] - 2026-11-20\n";
        let problem = "CHANGELOG.md: its newest version is 0.1.0, the manifest's 0.2.0";
        assert_eq!(check(old), [problem]);
        assert!(check("# Changelog\n## 0.2.0, unreleased\n").is_empty());
        assert_eq!(Tree::problems(changelog, &[]), ["CHANGELOG.md: is missing"]);
    }
}
