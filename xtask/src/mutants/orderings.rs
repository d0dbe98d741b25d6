//! `cargo x orderings`: every explicit memory ordering, weaker by one step, against the models.
//!
//! One build holds all sites, each behind a switch. An unmutated run of all models says which
//! test uses which site; a weakened site is run against those. What survives needs an argument
//! in `arguments.txt`, and an argument needs a survivor.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use super::engine::{LOOM, Verdict};
use super::sites::{self, SWITCH, Site, USED};
use super::table;
use super::tree::Tree;
use crate::command::{Tally, read, target};

const PAGE: &str = "docs/trust/orderings.md";
const ARGUMENTS: &str = "xtask/src/mutants/arguments.txt";

/// What became of one weakening.
enum Outcome {
    Killed(String),
    Survived(usize),
    /// No model comes there.
    Unused,
}

/// The verb. `Err`: a survivor without an argument, or an argument without a survivor.
pub(crate) fn run(options: &[&str], tally: &mut Tally) -> Result<ExitCode, String> {
    let sites = sites::all()?;
    let filter = match options {
        ["--list"] => {
            for site in &sites {
                println!("{} {} -> {}", site.file, site.name, site.weaker.join(", "));
            }
            return Ok(ExitCode::SUCCESS);
        }
        [] => "",
        [filter] if !filter.starts_with('-') => *filter,
        _ => return Err(format!("orderings: what is `{}`?", options.join(" "))),
    };
    let mut arguments = arguments(ARGUMENTS)?;
    let mut rows = table::read(PAGE);
    let tree = Tree::copy("orderings", &sites::switched(&sites)?)?;
    let mut program = LOOM.build(&tree)?;
    program.prove(&tree.fingerprint)?;
    let users = users(&program, &tree.fingerprint)?;
    let (mut known, mut problems, mut run) = (BTreeSet::new(), Vec::new(), 0);
    for (number, site) in sites.iter().enumerate() {
        for weaker in site.weaker {
            let name = format!("{} {} -> {weaker}", site.file, site.name);
            let argument = arguments.remove(&name);
            known.insert(name.clone());
            if !name.contains(filter) {
                continue;
            }
            run += 1;
            let outcome = weaken(&program, site, number, weaker, &users)?;
            let (result, why) = match &outcome {
                Outcome::Killed(test) => ("killed".to_owned(), format!("`{test}`")),
                Outcome::Survived(tests) => (format!("survives {tests} models"), String::new()),
                Outcome::Unused => ("no model comes there".to_owned(), String::new()),
            };
            println!("{name}: {result} {why}");
            let why = match (&outcome, argument) {
                (Outcome::Killed(_), None) => why,
                (Outcome::Killed(_), Some(_)) => {
                    problems.push(format!("{name}: is killed and needs no argument"));
                    why
                }
                (_, Some(argument)) => argument,
                (_, None) => {
                    problems.push(format!("{name}: survives without an argument"));
                    "no argument".to_owned()
                }
            };
            rows.insert(name, vec![result, why]);
        }
    }
    for name in arguments.keys() {
        problems.push(format!("{name}: an argument for a site that is gone"));
    }
    rows.retain(|name, _| known.contains(name));
    table::write(PAGE, &text(&known, &rows))?;
    problems.iter().for_each(|problem| println!("{problem}"));
    tally.count_these(run - problems.len().min(run), problems.len());
    match problems.len() {
        0 => Ok(ExitCode::SUCCESS),
        n => Err(format!("orderings: {n} problems")),
    }
}

/// Which tests use which site, by its number.
type Users = BTreeMap<usize, Vec<String>>;

fn users(program: &super::Program, fingerprint: &str) -> Result<Users, String> {
    // What an earlier session learnt of the same tree is believed.
    let at = PathBuf::from(target("mutants")).join(format!("used-{fingerprint}"));
    if !at.exists() {
        let fresh = at.with_extension("new");
        let _ = fs::remove_file(&fresh);
        let run = program.run(None, &[(USED, &fresh.to_string_lossy())])?;
        if let Verdict::Killed(test) = run {
            return Err(format!("the models are not green: {test}"));
        }
        fs::rename(&fresh, &at).map_err(|error| format!("{}: {error}", at.display()))?;
    }
    let text = read(at)?;
    let mut users = Users::new();
    for (site, test) in text.lines().filter_map(|line| line.split_once(' ')) {
        if let Ok(site) = site.parse() {
            users.entry(site).or_default().push(test.to_owned());
        }
    }
    Ok(users)
}

fn weaken(
    program: &super::Program,
    site: &Site,
    number: usize,
    weaker: &str,
    users: &Users,
) -> Result<Outcome, String> {
    let Some(tests) = users.get(&number) else {
        return Ok(Outcome::Unused);
    };
    // Those of the site's own file first: libtest runs them in the order of their names, so
    // they get a run of their own.
    let stem = site.file.rsplit('/').next().unwrap_or_default();
    let own = format!("models::{}::", stem.trim_end_matches(".rs"));
    let (first, others): (Vec<&String>, Vec<&String>) =
        tests.iter().partition(|test| test.starts_with(&own));
    for tests in [first, others] {
        if tests.is_empty() {
            continue;
        }
        let mut filter: Vec<String> = vec!["--exact".to_owned()];
        filter.extend(tests.into_iter().cloned());
        let weak = format!("{number} {weaker}");
        if let Verdict::Killed(test) = program.run(Some(&filter), &[(SWITCH, &weak)])? {
            return Ok(Outcome::Killed(test));
        }
    }
    Ok(Outcome::Survived(tests.len()))
}

/// Why a survivor is right: lines with the names of survivors, then the argument, indented.
pub(super) fn arguments(file: &str) -> Result<BTreeMap<String, String>, String> {
    let text = read(file)?;
    let mut arguments: BTreeMap<String, String> = BTreeMap::new();
    let mut sites: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if line.trim().is_empty() {
            (sites, open) = (Vec::new(), false);
        } else if line.starts_with(' ') {
            open = true;
            for site in &sites {
                let argument = arguments.entry(site.clone()).or_default();
                if !argument.is_empty() {
                    argument.push(' ');
                }
                argument.push_str(line.trim());
            }
        } else if open {
            return Err(format!("{file}: an empty line is missing before `{line}`"));
        } else {
            sites.push(line.trim().to_owned());
        }
    }
    Ok(arguments)
}

fn text(known: &BTreeSet<String>, rows: &table::Rows) -> String {
    let killed = rows.values().filter(|cells| cells[0] == "killed").count();
    let mut text = format!(
        "# Memory orderings\n\n\
         Every explicit ordering of the library, weakened by one step, against the loom models \
         that use it. Written by\n`cargo x orderings`. What survives is argued, in \
         `{ARGUMENTS}`. Loom treats `SeqCst` operations\nas `AcqRel` ones (not fences), so it \
         cannot tell those two apart.\n\n\
         {} weakenings: {killed} killed, {} argued, {} not yet run.\n\n\
         | site | result | by, or why not |\n|---|---|---|\n",
        known.len(),
        rows.len() - killed,
        known.len() - rows.len(),
    );
    for name in known {
        let unknown = vec!["not yet run".to_owned(), String::new()];
        let cells = rows.get(name).cloned().unwrap_or(unknown);
        text += &table::row(name, &cells);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{PAGE, sites, table};

    #[test]
    fn the_table_has_every_ordering_of_the_library() {
        let rows = table::read(PAGE);
        let mut missing = Vec::new();
        for site in sites::all().unwrap() {
            let weaker = site.weaker.iter();
            let names = weaker.map(|weaker| format!("{} {} -> {weaker}", site.file, site.name));
            missing.extend(names.filter(|name| {
                let result = rows.get(name).and_then(|cells| cells.first());
                result.is_none_or(|result| result == "not yet run")
            }));
        }
        assert!(
            missing.is_empty(),
            "`cargo x orderings` has not run:\n{}",
            missing.join("\n")
        );
    }
}
