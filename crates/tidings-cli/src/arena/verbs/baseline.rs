//! `tidings arena baseline`: runs kept under a name, to be compared with. A copy: removing the run leaves it whole.

use std::fs;
use std::path::PathBuf;

use crate::arena::exit::{Exit, Stop};
use crate::arena::paths;
use crate::arena::records::saved::{self, Saved};
use crate::arena::terminal;
use crate::arena::units;
use crate::cli::BaselineCommand;

pub(crate) fn baseline(command: &BaselineCommand) -> Result<Exit, Stop> {
    match command {
        BaselineCommand::Save { name, run } => save(name, run.as_deref())?,
        BaselineCommand::List => list()?,
        BaselineCommand::Rm { name } => remove(name)?,
    }
    Ok(Exit::Ok)
}

/// The folder of a baseline, whether it is there or not.
fn folder(name: &str) -> Result<PathBuf, Stop> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
        return Err(Stop::usage(format!(
            "{name:?} is no name for a baseline: use letters, digits, '-', '_' and '.'"
        )));
    }
    Ok(paths::baselines()?.join(name))
}

/// A baseline of that name, if there is one, and it is whole.
pub(crate) fn find(name: &str) -> Result<Option<Saved>, Stop> {
    match folder(name) {
        Ok(folder) if folder.is_dir() => saved::at(&folder).map(Some),
        _ => Ok(None),
    }
}

/// A baseline that must be there.
pub(crate) fn load(name: &str) -> Result<Saved, Stop> {
    find(name)?.ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> Stop {
    let names = names().join(", ");
    let names = if names.is_empty() { "none" } else { &names };
    Stop::usage(format!("no baseline {name:?}; there are: {names}"))
}

/// All baselines, also those of which only a part is there.
fn names() -> Vec<String> {
    let all = paths::baselines().ok().map(fs::read_dir);
    let all = all.into_iter().flatten().flatten().flatten();
    let folders = all.filter(|entry| entry.path().is_dir());
    let names = folders.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| folder(name).is_ok()).collect();
    names.sort();
    names
}

fn save(name: &str, run: Option<&str>) -> Result<(), Stop> {
    let target = folder(name)?;
    if target.exists() {
        return Err(Stop::usage(format!(
            "there is a baseline {name} already; `tidings arena baseline rm {name}` removes it"
        )));
    }
    let from = saved::open(run)?;
    if from.run.cells.iter().all(|cell| cell.ns_per_op.is_none()) {
        return Err(Stop::usage(format!("run {} has no figures", from.run.id)));
    }
    // Made beside, then renamed: a name stands for a whole baseline or for none.
    let part = target.with_file_name(format!(".{name}.new"));
    let _ = fs::remove_dir_all(&part);
    fs::create_dir_all(&part).map_err(|e| Stop::file("make", &part, &e))?;
    for file in ["samples.ndjson", "run.json"] {
        let source = from.folder.join(file);
        if source.is_file() {
            fs::copy(&source, part.join(file)).map_err(|e| Stop::file("copy", &source, &e))?;
        }
    }
    fs::rename(&part, &target).map_err(|e| Stop::file("make", &target, &e))?;
    terminal::print(&format!("baseline {name} is run {}\n", from.run.id))
}

fn list() -> Result<(), Stop> {
    let names = names();
    if names.is_empty() {
        return terminal::print("no baselines; save one: tidings arena baseline save NAME [RUN]\n");
    }
    for name in names {
        let run = match load(&name) {
            Ok(saved) => saved.run,
            Err(stop) => {
                terminal::print(&format!("{name:<16} broken: {stop}\n"))?;
                continue;
            }
        };
        let cells = run.cells.iter().filter(|c| c.ns_per_op.is_some()).count();
        terminal::print(&format!(
            "{name:<16} run {} · {} · {} · {}\n",
            run.id,
            run.plan.profile,
            units::counted(cells, "cell"),
            run.env.summary()
        ))?;
    }
    Ok(())
}

fn remove(name: &str) -> Result<(), Stop> {
    let target = folder(name)?;
    if !target.is_dir() {
        return Err(unknown(name));
    }
    fs::remove_dir_all(&target).map_err(|e| Stop::file("remove", &target, &e))?;
    terminal::print(&format!("removed baseline {name}\n"))
}
