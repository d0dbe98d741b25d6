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

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::exit::{Exit, Stop};
use super::{paths, record, terminal};
use crate::cli::ReportArgs;

/// Writes the page of a saved run, and prints where it is.
pub(crate) fn report(args: &ReportArgs) -> Result<Exit, Stop> {
    let (folder, run) = record::load(&paths::runs()?, args.run.as_deref())?;
    let (samples, trouble) = data::samples(&folder)?;
    let mut data = data::Data::new(run, samples, trouble);
    // Here the sources can be opened; a page for others is given an address that they can reach.
    let here = || Some(format!("file://{}", paths::sources()?.display()));
    data.sources = args.sources.clone().or_else(here);
    let output = args
        .output
        .clone()
        .unwrap_or_else(|| folder.join("report.html"));
    let mut written = write(&output, &page::document(&data)?)?;
    if args.md {
        let beside = beside(&output);
        written += &write(&beside, &markdown::document(&data))?;
    }
    terminal::print(&written)?;
    if args.open {
        open(&output);
    }
    Ok(Exit::Ok)
}

/// The Markdown file that belongs to a page.
fn beside(page: &Path) -> PathBuf {
    page.with_extension("md")
}

fn write(path: &Path, text: &str) -> Result<String, Stop> {
    fs::write(path, text).map_err(|e| Stop::file("write", path, &e))?;
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
