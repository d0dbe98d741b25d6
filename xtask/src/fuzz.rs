//! `cargo x fuzz`: random programs for libFuzzer, under AddressSanitizer.
//!
//! What it finds beyond the inputs in the repository stays in the target folder; a program that
//! breaks something is kept in `fuzz/artifacts`, and its name is printed.

use std::fs;

use crate::command::{Tally, root, run_at_root, run_in, target};
use crate::sanitizers::{ADDRESS, HOST, NIGHTLY};
use crate::tools;

/// How long each target runs when nobody says.
pub(crate) const SECS: u32 = 60;

/// Runs each target, or one, for so long.
pub(crate) fn run(secs: u32, only: Option<&str>, tally: &mut Tally) -> Result<(), String> {
    let tool = tools::FUZZ.get()?;
    let toolchain = NIGHTLY.trim_start_matches('+');
    let built = target("fuzz");
    let env: [(&str, &str); 2] = [
        ("RUSTUP_TOOLCHAIN", toolchain),
        ("CARGO_TARGET_DIR", &built),
    ];
    let targets = targets()?;
    if let Some(name) = only
        && !targets.iter().any(|target| target == name)
    {
        return Err(format!(
            "no target `{name}`; there are {}",
            targets.join(", ")
        ));
    }
    for name in targets
        .iter()
        .filter(|name| only.is_none_or(|only| only == *name))
    {
        let found = format!("{built}/corpus/{name}");
        let kept = root().join("fuzz/corpus").join(name);
        for folder in [found.as_ref(), kept.as_path()] {
            fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        let line = format!(
            "{tool} fuzz run {name} {found} corpus/{name} -- \
             -max_total_time={secs} -max_len=512 -print_final_stats=1 -verbosity=0"
        );
        match run_in("fuzz", &env, &line, tally) {
            Ok(()) => tally.passed += 1,
            Err(why) => {
                tally.failed += 1;
                return Err(why);
            }
        }
    }
    Ok(())
}

/// Runs the inputs in the repository once each, built without the tool that seeks new ones, and
/// beside the tests under AddressSanitizer, whose dependencies are the same.
pub(crate) fn replay(tally: &mut Tally) -> Result<(), String> {
    let built = target("asan");
    let env: [(&str, &str); 2] = [("RUSTFLAGS", ADDRESS), ("CARGO_TARGET_DIR", &built)];
    let line = format!("cargo {NIGHTLY} build --target {HOST}");
    run_in("fuzz", &env, &line, tally)?;
    for name in targets()? {
        let inputs = fs::read_dir(root().join("fuzz/corpus").join(&name));
        let inputs = inputs.map_or(0, Iterator::count);
        if inputs == 0 {
            return Err(format!("fuzz/corpus/{name} has no inputs"));
        }
        let program = format!("{built}/{HOST}/debug/{name}");
        run_in(
            "fuzz",
            &[],
            &format!("{program} -runs=0 corpus/{name}"),
            tally,
        )?;
        println!("{name}: {inputs} inputs");
        tally.passed += 1;
    }
    Ok(())
}

/// Exchanges the inputs in the repository for the few that reach as far as all that were found.
pub(crate) fn keep(tally: &mut Tally) -> Result<(), String> {
    let built = target("fuzz");
    for name in targets()? {
        let (found, kept) = (
            format!("{built}/corpus/{name}"),
            format!("fuzz/corpus/{name}"),
        );
        let folder = root().join(&kept);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let program = format!("{built}/{HOST}/release/{name}");
        let line =
            format!("{program} -set_cover_merge=1 -use_counters=0 -max_len=128 {kept} {found}");
        run_at_root(&[], &line, tally)?;
    }
    Ok(())
}

/// The targets are the files.
fn targets() -> Result<Vec<String>, String> {
    let folder = root().join("fuzz/fuzz_targets");
    let files = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut names: Vec<String> = files
        .flatten()
        .filter_map(|file| file.path().file_stem()?.to_str().map(str::to_owned))
        .collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::targets;

    #[test]
    fn every_target_is_in_the_manifest() {
        let manifest = std::fs::read_to_string(crate::command::root().join("fuzz/Cargo.toml"));
        let manifest = manifest.unwrap();
        let names = targets().unwrap();
        assert!(!names.is_empty());
        for name in names {
            assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
        }
    }
}
