//! What a report is made from: the saved run, its samples read back, and the groups inside which cells are compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::baseline::Against;
use super::words::counted;
use crate::arena::cells::workload::{self, Params};
use crate::arena::exit::Stop;
use crate::arena::records::record::{CellRecord, Run, SampleRecord};
use crate::arena::statistics::stats;

type Key = (String, Params, u32);

/// Where the folders of the peers' sources are, for links.
#[derive(Debug)]
pub(super) enum Sources {
    /// On this machine.
    Here(Option<PathBuf>),
    /// At an address.
    At(String),
}

/// Everything the pages are made from.
#[derive(Debug)]
pub(super) struct Data {
    pub(super) run: Run,
    pub(super) samples: Vec<SampleRecord>,
    /// What could not be read of the samples, in words.
    pub(super) trouble: Vec<String>,
    pub(super) sources: Sources,
    /// The baseline the run is compared with.
    pub(super) baseline: Option<Against>,
    index: BTreeMap<Key, Vec<usize>>,
}

/// Cells that did the same work, fastest first; those without a figure last.
#[derive(Clone, Debug)]
pub(super) struct Group<'a> {
    pub(super) cells: Vec<&'a CellRecord>,
}

impl Data {
    pub(super) fn new(run: Run, samples: Vec<SampleRecord>, trouble: Vec<String>) -> Self {
        let mut index: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
        for (place, sample) in samples.iter().enumerate() {
            let key = (sample.cell.clone(), sample.params.clone(), sample.threads);
            index.entry(key).or_default().push(place);
        }
        Self {
            run,
            samples,
            trouble,
            sources: Sources::Here(None),
            baseline: None,
            index,
        }
    }

    /// The samples of a cell in the order they were taken.
    pub(super) fn of(&self, cell: &CellRecord) -> Vec<&SampleRecord> {
        let key = (cell.name(), cell.params.clone(), cell.threads);
        let places = self.index.get(&key).map_or(&[][..], Vec::as_slice);
        places.iter().map(|place| &self.samples[*place]).collect()
    }

    /// The samples that a cell's figures are made of. Of a sample that was repeated, the last counts.
    pub(super) fn rounds(&self, cell: &CellRecord) -> Vec<&SampleRecord> {
        let mut rounds = BTreeMap::new();
        for sample in self.of(cell).into_iter().filter(|s| s.is_round()) {
            rounds.insert((sample.launch, sample.round), sample);
        }
        rounds.into_values().collect()
    }

    /// The time line of a cell's first process, from its first call, as time per operation.
    pub(super) fn first_launch(&self, cell: &CellRecord) -> Vec<&SampleRecord> {
        let all = self.of(cell);
        let Some(launch) = all.first().map(|s| s.launch) else {
            return Vec::new();
        };
        all.into_iter()
            .filter(|s| s.launch == launch && s.is_timed())
            .collect()
    }

    /// Cells that ran or tried to, by group: in the order of the specification, then as they ran.
    pub(super) fn groups(&self) -> Vec<Group<'_>> {
        let groups = self.run.groups().into_iter();
        let mut groups: Vec<Group<'_>> = groups.map(|cells| Group { cells }).collect();
        for group in &mut groups {
            let cells = &mut group.cells;
            cells.sort_by(|a, b| a.by_speed(b).then(a.system.cmp(&b.system)));
        }
        groups.sort_by_key(|g| order(&g.first().workload, &g.first().variant));
        groups
    }

    /// The groups of one workload.
    pub(super) fn groups_of(&self, workload: &str) -> Vec<Group<'_>> {
        let mut groups = self.groups();
        groups.retain(|g| g.first().workload == workload);
        groups
    }

    /// The workloads of this run, in the order of the specification.
    pub(super) fn workloads(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for cell in &self.run.cells {
            if !names.contains(&cell.workload.as_str()) {
                names.push(&cell.workload);
            }
        }
        names.sort_by_key(|name| order(name, ""));
        names
    }

    /// The systems: the reference first, then as they appear.
    pub(super) fn systems(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for cell in &self.run.cells {
            if !names.contains(&cell.system.as_str()) {
                names.push(&cell.system);
            }
        }
        names.sort_by_key(|name| *name != self.run.plan.reference);
        names
    }

    /// Where the sources of a peer can be seen, if they can.
    pub(super) fn source(&self, peer: &str) -> Option<String> {
        match &self.sources {
            Sources::At(address) => Some(format!("{}/{peer}", address.trim_end_matches('/'))),
            Sources::Here(folder) => {
                let folder = folder.as_ref()?.join(peer);
                folder
                    .is_dir()
                    .then(|| format!("file://{}", folder.display()))
            }
        }
    }

    /// What tells a cell from all others of its name: its sizes, and its threads where the run has several counts.
    pub(super) fn extent(&self, cell: &CellRecord) -> String {
        let sizes = cell.sizes();
        match self.thread_counts().len() {
            0 | 1 => sizes,
            _ => format!("{sizes} · {}", counted(cell.threads as usize, "thread")),
        }
    }

    /// What no other cell of the run is called.
    pub(super) fn title(&self, cell: &CellRecord) -> String {
        format!("{} {}", cell.name(), self.extent(cell))
    }

    /// Thread counts that cells ran with.
    pub(super) fn thread_counts(&self) -> BTreeSet<u32> {
        let cells = self.run.cells.iter().filter(|c| c.ns_per_op.is_some());
        cells.map(|c| c.threads).collect()
    }
}

impl<'a> Group<'a> {
    /// Any of its cells; a group is never empty.
    pub(super) fn first(&self) -> &'a CellRecord {
        self.cells[0]
    }

    pub(super) fn figured(&self) -> impl Iterator<Item = &'a CellRecord> + '_ {
        self.cells.iter().copied().filter(|c| c.ns_per_op.is_some())
    }

    pub(super) fn has_figures(&self) -> bool {
        self.figured().next().is_some()
    }

    pub(super) fn of(&self, system: &str) -> Option<&'a CellRecord> {
        self.cells.iter().copied().find(|c| c.system == system)
    }

    pub(super) fn title(&self) -> String {
        self.first().title()
    }

    /// A name for anchors: letters, digits and hyphens.
    pub(super) fn anchor(&self) -> String {
        let cell = self.first();
        let text = format!(
            "g-{}-{}-{}-t{}",
            cell.workload,
            cell.variant,
            cell.sizes(),
            cell.threads
        );
        slug(&text)
    }

    /// The labels that say of which kind a cell is, as far as all cells with figures have them.
    fn kind_keys(&self) -> Vec<&'static str> {
        KINDS
            .iter()
            .copied()
            .filter(|key| self.figured().all(|c| c.labels.contains_key(*key)))
            .collect()
    }

    /// The kind of one cell, in words; empty when the group knows no kinds.
    pub(super) fn kind(&self, cell: &CellRecord) -> String {
        let keys = self.kind_keys();
        let words = keys.iter().filter_map(|key| {
            let value = cell.labels.get(*key)?;
            Some(match *key {
                "mailbox" | "class" => value.clone(),
                key => format!("{key} {value}"),
            })
        });
        words.collect::<Vec<_>>().join(", ")
    }

    /// Whether a cell is known to be of another kind than the reference.
    pub(super) fn differs(&self, cell: &CellRecord, reference: &str) -> bool {
        let Some(reference) = self.of(reference) else {
            return false;
        };
        KINDS.iter().any(
            |key| match (cell.labels.get(*key), reference.labels.get(*key)) {
                (Some(a), Some(b)) => a != b,
                _ => false,
            },
        )
    }
}

/// Labels that make figures unlike: cells that differ in one are told apart wherever they meet.
const KINDS: &[&str] = &[
    "mailbox",
    "reply",
    "message",
    "class",
    "processes",
    "connections",
    "codec",
    "client",
    "timer",
];

/// The place of a variant in tables; what is unknown comes last.
fn order(workload: &str, variant: &str) -> (usize, usize) {
    let Some(definition) = workload::workload(workload) else {
        return (usize::MAX, usize::MAX);
    };
    let place = definition.variants.iter().position(|v| v.id == variant);
    (definition.rank(), place.unwrap_or(usize::MAX))
}

/// Only letters, digits and single hyphens.
pub(super) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

/// Where a series of values is steady for the first time, by the rule of the warm-up.
pub(super) fn steady_at(values: &[f64], tolerance: f64) -> Option<usize> {
    (8..=values.len()).find(|n| stats::is_steady(&values[..*n], tolerance))
}

/// Reads `samples.ndjson` beside `run.json`. A line that is broken, as the last one of a killed run, is told, not fatal.
pub(super) fn samples(folder: &Path) -> Result<(Vec<SampleRecord>, Vec<String>), Stop> {
    let path = folder.join("samples.ndjson");
    let text = match fs::read(&path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let missing = "samples.ndjson is not beside run.json: no plots of single samples";
            return Ok((Vec::new(), vec![missing.to_owned()]));
        }
        Err(e) => return Err(Stop::file("read", &path, &e)),
    };
    let mut samples = Vec::new();
    let mut broken = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Ok(sample) => samples.push(sample),
            Err(_) => broken += 1,
        }
    }
    let mut trouble = Vec::new();
    if broken > 0 {
        let lines = counted(broken, "line");
        trouble.push(format!(
            "{lines} of samples.ndjson could not be read and left out"
        ));
    }
    Ok((samples, trouble))
}
