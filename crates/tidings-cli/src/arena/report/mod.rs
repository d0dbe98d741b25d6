//! `tidings arena report`: a saved run as one HTML file that needs nothing else, and as Markdown.
//!
//! `data` reads the run and its samples; `page` puts the pages together, one file each; `plot` draws; `markdown` writes
//! the tables in the layouts of the seed documents. Everything that comes from a record is escaped by maud.

mod about;
mod baseline;
mod data;
mod environment;
mod extras;
mod heat;
mod latency;
mod machines;
mod markdown;
mod method;
mod overview;
mod page;
mod plot;
mod problems;
mod raw;
mod resources;
mod scaling;
mod seed_page;
mod seeds;
mod table;
mod warmup;
mod words;
mod workload;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::arena::exit::{Exit, Stop};
use crate::arena::paths;
use crate::arena::records::record::{self, Run};
use crate::arena::records::saved::Saved;
use crate::arena::records::whole;
use crate::arena::terminal;
use crate::arena::verbs::compare::{self, Scope};
use crate::arena::verbs::merge::{self, Merged};
use crate::cli::ReportArgs;

/// Writes the page of a saved run, and prints where it is.
pub(crate) fn report(args: &ReportArgs) -> Result<Exit, Stop> {
    if let Some(path) = args.run.as_deref().map(Path::new)
        && let Some(merged) = merge::read(path)?
    {
        return of_machines(args, path, &merged);
    }
    let (folder, run) = record::load(&paths::runs()?, args.run.as_deref())?;
    let (samples, trouble) = data::samples(&folder)?;
    let against = match &args.baseline {
        Some(name) => Some(against(name, &folder, &run)?),
        None => None,
    };
    let mut data = data::Data::new(run, samples, trouble);
    data.baseline = against;
    // Here the sources can be opened; a page for others is given an address that they can reach.
    data.sources = match &args.sources {
        Some(address) => data::Sources::At(address.clone()),
        None => data::Sources::Here(data.run.plan.peers.clone().or_else(paths::sources)),
    };
    let output = args
        .output
        .clone()
        .unwrap_or_else(|| folder.join("report.html"));
    finish(args, &output, &page::document(&data)?, || {
        markdown::document(&data)
    })
}

/// The page of runs of several machines.
fn of_machines(args: &ReportArgs, document: &Path, merged: &Merged) -> Result<Exit, Stop> {
    if args.baseline.is_some() {
        return Err(Stop::usage(
            "--baseline is of one machine; a document of `merge` has several",
        ));
    }
    let output = args.output.clone();
    let output = output.unwrap_or_else(|| document.with_extension("html"));
    let text = || markdown::of_machines(merged);
    finish(args, &output, &machines::document(merged), text)
}

/// Writes the page, and its Markdown if that is asked for; prints where they are.
fn finish(
    args: &ReportArgs,
    output: &Path,
    page: &str,
    markdown: impl FnOnce() -> String,
) -> Result<Exit, Stop> {
    let beside = beside(output);
    if args.md && beside == output {
        return Err(Stop::usage(format!(
            "-o {} is where --md writes: give the page another name",
            output.display()
        )));
    }
    let mut written = write(output, page)?;
    if args.md {
        written += &write(&beside, &markdown())?;
    }
    terminal::print(&written)?;
    if args.open {
        open(output);
    }
    Ok(Exit::Ok)
}

/// The run against a baseline of the same machine.
fn against(name: &str, folder: &Path, run: &Run) -> Result<baseline::Against, Stop> {
    let kept = crate::arena::verbs::baseline::load(name)?;
    compare::comparable(&kept.run.env, &run.env)?;
    let this = Saved {
        folder: folder.to_owned(),
        run: run.clone(),
    };
    Ok(baseline::Against {
        name: name.to_owned(),
        comparison: compare::of(&kept, &this, compare::THRESHOLD, Scope::Fewer),
    })
}

/// The Markdown file that belongs to a page.
fn beside(page: &Path) -> PathBuf {
    page.with_extension("md")
}

fn write(path: &Path, text: &str) -> Result<String, Stop> {
    whole::write(path, text).map_err(|e| Stop::file("write", path, &e))?;
    Ok(format!("{}\n", path.display()))
}

/// Opens the page where somebody can see it. That nobody can is no failure of the report.
fn open(page: &Path) {
    let page = page.canonicalize().unwrap_or_else(|_| page.to_owned());
    let started = Command::new("xdg-open")
        .arg(&page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match started {
        Ok(status) if status.success() => {}
        Ok(status) => terminal::say(&format!("xdg-open: {status}; open the file yourself")),
        Err(e) => terminal::say(&format!(
            "xdg-open cannot be started ({e}); open the file yourself"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_markdown_file_stands_beside_the_page() {
        assert_eq!(
            beside(Path::new("/a/report.html")),
            Path::new("/a/report.md")
        );
        assert_eq!(beside(Path::new("page")), Path::new("page.md"));
    }
}
