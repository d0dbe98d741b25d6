//! `tidings arena merge`: runs of several machines side by side. Absolute figures stand in panels of their own and are never
//! ranked together; systems that both machines have, the anchors, relate the panels.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::arena::cells::workload;
use crate::arena::exit::{Exit, Stop};
use crate::arena::machine::environment::Environment;
use crate::arena::machine::fingerprint;
use crate::arena::plain;
use crate::arena::records::record::CellRecord;
use crate::arena::records::saved::{self, Saved};
use crate::arena::records::state::State;
use crate::arena::records::whole;
use crate::arena::statistics::figures;
use crate::arena::statistics::stats;
use crate::arena::terminal::{self, Style};
use crate::arena::verbs::merge_text;
use crate::cli::MergeArgs;

/// Systems that machines of both kinds can have, the first ones preferred.
const ANCHORS: [&str; 6] = ["tidings", "go", "erlang", "haskell", "node", "crystal"];

/// Anchors that disagree by more relate the machines only loosely.
const LOOSE: f64 = 1.25;
const SCHEMA: &str = "tidings.arena.merge/1";

/// The document: what `--json` prints, and what a report of several machines is made from.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Merged {
    pub(crate) schema: String,
    pub(crate) machines: Vec<Machine>,
    /// Systems with figures on every machine.
    pub(crate) anchors: Vec<String>,
    pub(crate) groups: Vec<Panels>,
}

/// One machine and the runs made on it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) name: String,
    pub(crate) runs: Vec<String>,
    pub(crate) env: Environment,
    /// In the order of the runs; of equal ones the last counts.
    #[serde(skip)]
    cells: Vec<CellRecord>,
}

/// One group of cells on all machines.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Panels {
    pub(crate) workload: String,
    pub(crate) variant: String,
    pub(crate) params: BTreeMap<String, i64>,
    pub(crate) sizes: String,
    pub(crate) threads: u32,
    pub(crate) unit: String,
    /// The anchor that the ratios of this group are to.
    pub(crate) anchor: Option<String>,
    /// Time on the second machine over time on the first, of each anchor of this group.
    pub(crate) machine_ratios: BTreeMap<String, f64>,
    /// One list of rows per machine.
    pub(crate) panels: Vec<Vec<Row>>,
}

/// One system on one machine.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) system: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) state: State,
    pub(crate) reason: Option<String>,
    /// Among the systems of this machine only.
    pub(crate) rank: Option<u32>,
    pub(crate) ns_per_op: Option<f64>,
    pub(crate) ci95: Option<[f64; 2]>,
    /// Time over the anchor's on the same machine: the only figure to be set against another machine's.
    pub(crate) to_anchor: Option<f64>,
    pub(crate) to_anchor_ci95: Option<[f64; 2]>,
}

pub(crate) fn merge(args: &MergeArgs) -> Result<Exit, Stop> {
    let runs = args
        .runs
        .iter()
        .map(|name| saved::open(Some(name)))
        .collect::<Result<Vec<_>, _>>()?;
    let machines = machines(&runs);
    if machines.len() < 2 {
        return Err(Stop::usage(
            "all these runs were made on one machine: `tidings arena compare` sets them side by side",
        ));
    }
    let merged = of(machines);
    if merged.groups.is_empty() {
        return Err(Stop::nothing(
            "no cell has figures on any of these machines",
        ));
    }
    let json = whole::json(&merged)?;
    if let Some(path) = &args.output {
        let written = whole::write(path, &json);
        written.map_err(|e| Stop::file("write", path, &e))?;
    }
    if args.json {
        terminal::print(&json)?;
    } else {
        let style = Style::of_stdout();
        terminal::print(&merge_text::text(&merged, style))?;
    }
    Ok(Exit::Ok)
}

/// The runs by machine, named A, B, ... in the order they were given.
fn machines(runs: &[Saved]) -> Vec<Machine> {
    let mut machines: Vec<Machine> = Vec::new();
    for saved in runs {
        let run = &saved.run;
        let same = |m: &&mut Machine| fingerprint::differences(&m.env, &run.env).is_empty();
        match machines.iter_mut().find(same) {
            Some(machine) => {
                machine.runs.push(run.id.clone());
                machine.cells.extend(run.cells.iter().cloned());
            }
            None => {
                let letter = u8::try_from(machines.len()).unwrap_or(0).min(25) + b'A';
                machines.push(Machine {
                    name: char::from(letter).to_string(),
                    runs: vec![run.id.clone()],
                    env: run.env.clone(),
                    cells: run.cells.clone(),
                });
            }
        }
    }
    machines
}

fn of(machines: Vec<Machine>) -> Merged {
    let mut groups: Vec<Panels> = Vec::new();
    for machine in &machines {
        let measured = machine.cells.iter().filter(|c| c.ns_per_op.is_some());
        for cell in measured {
            let is_known = groups.iter().any(|group| {
                (
                    &*group.workload,
                    &*group.variant,
                    &group.params,
                    group.threads,
                ) == cell.group()
            });
            if !is_known {
                groups.push(panels(cell, &machines));
            }
        }
    }
    groups.sort_by_key(|group| {
        let id = format!("{}/{}", group.workload, group.variant);
        let order = workload::parse_cell_id(&id).map_or((usize::MAX, 0), |id| id.order());
        (order, group.params.clone(), group.threads)
    });
    let has = |machine: &Machine, system: &str| {
        let mut cells = machine.cells.iter();
        cells.any(|c| c.system == system && c.ns_per_op.is_some())
    };
    let anchors = ANCHORS
        .into_iter()
        .filter(|system| machines.iter().all(|machine| has(machine, system)))
        .map(str::to_owned)
        .collect();
    Merged {
        schema: SCHEMA.to_owned(),
        machines,
        anchors,
        groups,
    }
}

/// The cells of one group on one machine, ranked together; of several runs the last in which a cell was run.
fn cells(machine: &Machine, like: &CellRecord) -> Vec<CellRecord> {
    let mut found: Vec<CellRecord> = Vec::new();
    for cell in machine.cells.iter().filter(|c| c.group() == like.group()) {
        let is_same = |other: &CellRecord| other.system == cell.system;
        if cell.state == State::Skipped && found.iter().any(is_same) {
            continue;
        }
        found.retain(|other| !is_same(other));
        found.push(cell.clone());
    }
    figures::rank(&mut found);
    found.sort_by(CellRecord::by_speed);
    found
}

fn panels(like: &CellRecord, machines: &[Machine]) -> Panels {
    let by_machine: Vec<Vec<CellRecord>> = machines.iter().map(|m| cells(m, like)).collect();
    let median = |list: &[CellRecord], system: &str| {
        let cell = list.iter().find(|c| c.system == system && c.ranked)?;
        cell.median()
    };
    let here: Vec<&str> = ANCHORS
        .into_iter()
        .filter(|system| by_machine.iter().all(|list| median(list, system).is_some()))
        .collect();
    let ratio = |system: &&str| {
        let (first, second) = (
            median(&by_machine[0], system)?,
            median(&by_machine[1], system)?,
        );
        Some(((*system).to_owned(), second / first))
    };
    let anchor = here.first().copied();
    Panels {
        workload: like.workload.clone(),
        variant: like.variant.clone(),
        params: like.params.clone(),
        sizes: like.sizes(),
        threads: like.threads,
        unit: like.unit.clone(),
        anchor: anchor.map(str::to_owned),
        machine_ratios: here.iter().filter_map(ratio).collect(),
        panels: by_machine.iter().map(|list| rows(list, anchor)).collect(),
    }
}

fn rows(list: &[CellRecord], anchor: Option<&str>) -> Vec<Row> {
    let anchor = list
        .iter()
        .find(|cell| Some(cell.system.as_str()) == anchor)
        .and_then(|cell| cell.ns_per_op);
    let row = |cell: &CellRecord| {
        let figure = cell.ns_per_op;
        let both = figure.zip(anchor);
        // Paired by round where the run has compared with the anchor itself, else as wide as both intervals allow.
        let paired = cell.ratio.as_ref().filter(|ratio| {
            list.iter()
                .any(|c| c.system == ratio.reference && c.ns_per_op == anchor)
        });
        let widest = both.and_then(|(own, anchor)| {
            let (own, anchor) = (own.ci95?, anchor.ci95?);
            Some([own[0] / anchor[1], own[1] / anchor[0]])
        });
        Row {
            system: cell.system.clone(),
            labels: cell.labels.clone(),
            state: cell.state,
            reason: cell.reason.clone(),
            rank: cell.rank,
            ns_per_op: figure.map(|f| f.median),
            ci95: figure.and_then(|f| f.ci95),
            to_anchor: match paired {
                Some(ratio) => Some(ratio.median),
                None => both.map(|(own, anchor)| own.median / anchor.median),
            },
            to_anchor_ci95: paired.map_or(widest, |ratio| ratio.ci95),
        }
    };
    list.iter().map(row).collect()
}

/// Reads a document that `merge -o` wrote; `None` if the file is something else, or none.
pub(crate) fn read(path: &Path) -> Result<Option<Merged>, Stop> {
    if !path.is_file() {
        return Ok(None);
    }
    let text = fs::read_to_string(path).map_err(|e| Stop::file("read", path, &e))?;
    let broken = |e| Stop::usage(format!("{}: {e}", path.display()));
    let value: serde_json::Value = serde_json::from_str(&text).map_err(broken)?;
    if value["schema"] != SCHEMA {
        return Ok(None);
    }
    let merged = serde_json::from_value(plain::document(value)).map_err(broken)?;
    Ok(Some(merged))
}

/// What the anchors of a group allow to be said across the machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// No anchor ran on all of them.
    None,
    /// One anchor: nothing tells whether the machines differ alike for others.
    Single,
    /// The anchors agree.
    Agreed,
    /// They disagree, so ratios to one of them say little across the machines.
    Loose,
}

impl Panels {
    pub(crate) fn relation(&self) -> Relation {
        match (self.machine_ratios.len(), self.disagreement()) {
            (0, _) => Relation::None,
            (_, Some(most)) if most > LOOSE => Relation::Loose,
            (_, Some(_)) => Relation::Agreed,
            (_, None) => Relation::Single,
        }
    }

    /// How much the anchors disagree about the machines: the largest of their ratios over the smallest.
    fn disagreement(&self) -> Option<f64> {
        let ratios = || self.machine_ratios.values().copied();
        let most = ratios().fold(0.0, f64::max);
        let least = ratios().fold(f64::INFINITY, f64::min);
        (self.machine_ratios.len() > 1).then_some(most / least)
    }

    /// What the anchors say about the machines, in the middle.
    pub(crate) fn machine_ratio(&self) -> Option<f64> {
        let ratios: Vec<f64> = self.machine_ratios.values().copied().collect();
        (!ratios.is_empty()).then(|| stats::median(&ratios))
    }
}
