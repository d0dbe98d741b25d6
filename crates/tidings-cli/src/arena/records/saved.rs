//! A saved run with its samples: what `compare`, `history` and `merge` read.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::arena::exit::Stop;
use crate::arena::paths;
use crate::arena::records::record::{self, CellRecord, Run};
use crate::arena::verbs::baseline;

/// A run and where it lies.
#[derive(Clone, Debug)]
pub(crate) struct Saved {
    pub(crate) folder: PathBuf,
    pub(crate) run: Run,
}

/// Samples of rounds by cell: one list per launch, in nanoseconds per operation.
pub(crate) type Samples = BTreeMap<String, Vec<Vec<f64>>>;

/// The fields of a line of `samples.ndjson` that figures are made from.
#[derive(Debug, Deserialize)]
struct Line {
    cell: String,
    params: BTreeMap<String, i64>,
    threads: u32,
    launch: usize,
    phase: String,
    round: usize,
    inner: u64,
    ns: u64,
}

/// Finds a baseline or a run: by the baseline's name, the run's name or its beginning, a folder, or a `run.json`.
/// Without a name: the last run.
pub(crate) fn open(name: Option<&str>) -> Result<Saved, Stop> {
    if let Some(name) = name {
        if let Some(found) = baseline::find(name)? {
            return Ok(found);
        }
        let path = Path::new(name);
        if path.file_name().is_some_and(|file| file == "run.json") && path.is_file() {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new("."));
            return at(folder);
        }
    }
    let (folder, run) = record::load(&paths::runs()?, name)?;
    Ok(Saved { folder, run })
}

/// The run in a folder.
pub(crate) fn at(folder: &Path) -> Result<Saved, Stop> {
    let run = record::read(folder)?;
    let folder = folder.to_owned();
    Ok(Saved { folder, run })
}

/// The last two runs that have figures, the older first. One that was cut off before its first figure is none of them.
pub(crate) fn last_two() -> Result<(Saved, Saved), Stop> {
    let runs = paths::runs()?;
    let has_figures = |saved: &Saved| saved.run.cells.iter().any(|cell| cell.ns_per_op.is_some());
    let mut told = record::saved(&runs)
        .into_iter()
        .rev()
        .filter_map(|name| at(&runs.join(name)).ok())
        .filter(has_figures);
    let none = || Stop::nothing("there are no two runs with figures to compare");
    let last = told.next().ok_or_else(none)?;
    let before = told.next().ok_or_else(none)?;
    Ok((before, last))
}

impl Saved {
    /// The samples behind the figures. Empty where the file is gone: the intervals of `run.json` have to do then.
    pub(crate) fn samples(&self) -> Samples {
        let text = fs::read_to_string(self.folder.join("samples.ndjson")).unwrap_or_default();
        samples(&text, &self.run.cells)
    }
}

fn samples(text: &str, cells: &[CellRecord]) -> Samples {
    let operations: BTreeMap<String, i64> = cells.iter().map(|c| (c.key(), c.ops)).collect();
    let mut rounds: BTreeMap<String, BTreeMap<(usize, usize), f64>> = BTreeMap::new();
    let lines = text
        .lines()
        .filter_map(|l| serde_json::from_str::<Line>(l).ok());
    for line in lines.filter(|line| line.phase == "round") {
        let key = record::key(&line.cell, &line.params, line.threads);
        let Some(ops) = operations.get(&key).filter(|ops| **ops > 0) else {
            continue;
        };
        #[expect(clippy::cast_precision_loss, reason = "as the figures are made")]
        let value = line.ns as f64 / (*ops as f64 * line.inner as f64);
        // A noisy sample was repeated in its round; the last one counts.
        let of_cell = rounds.entry(key).or_default();
        of_cell.insert((line.launch, line.round), value);
    }
    let by_launch = |rounds: BTreeMap<(usize, usize), f64>| {
        let mut launches: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for ((launch, _), value) in rounds {
            launches.entry(launch).or_default().push(value);
        }
        launches.into_values().collect()
    };
    rounds.into_iter().map(|(k, r)| (k, by_launch(r))).collect()
}
