//! `tidings arena list`: every workload, variant and system, and whether it can run.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::arena::cells::plan::Candidate;
use crate::arena::cells::workload::{self, CellId, WORKLOADS};
use crate::arena::exit::{Exit, Stop};
use crate::arena::peers::catalog::Readiness;
use crate::arena::peers::ready;
use crate::arena::records::state::State;
use crate::arena::records::whole;
use crate::arena::terminal::{self, Style};
use crate::cli::ListArgs;

/// A cell as `list --json` gives it.
#[derive(Debug, Serialize)]
struct Listed {
    workload: &'static str,
    variant: String,
    system: String,
    peer: String,
    /// `ready`, `missing` or `blocked`.
    state: &'static str,
    reason: Option<String>,
    fix: Option<String>,
    headline: bool,
    ranked: bool,
    labels: BTreeMap<String, String>,
    origin: String,
    /// Its reason is not that of its whole peer.
    #[serde(skip)]
    by_itself: bool,
}

/// The document of `list --json`.
#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    cells: Vec<Listed>,
}

/// Whether a candidate can run: state, reason, fix.
pub(crate) fn standing(candidate: &Candidate) -> (&'static str, Option<String>, Option<String>) {
    match &candidate.readiness {
        Readiness::Ready(_) => ("ready", None, None),
        Readiness::Unbuilt(_) => {
            let by_itself = candidate.entry.manifest.peer.auto_build;
            let reason = if by_itself {
                "not built: the first run does"
            } else {
                "not built"
            };
            (
                "missing",
                Some(reason.to_owned()),
                Some(candidate.entry.setup_command()),
            )
        }
        Readiness::Missing { reason, fix, .. } => {
            ("missing", Some(reason.clone()), Some(fix.clone()))
        }
        Readiness::Blocked { reason } => (State::Blocked.name(), Some(reason.clone()), None),
    }
}

fn cells(candidates: &[Candidate]) -> Result<Vec<(CellId, Listed)>, Stop> {
    let mut list = Vec::new();
    for candidate in candidates {
        let (state, reason, fix) = standing(candidate);
        for cell in &candidate.entry.manifest.cell {
            let id = workload::parse_cell_id(&cell.id).map_err(Stop::internal)?;
            let (state, reason, fix) = match &cell.blocked {
                Some(why) => (State::Blocked.name(), Some(why.clone()), None),
                None => (state, reason.clone(), fix.clone()),
            };
            for system in &cell.systems {
                let listed = Listed {
                    workload: id.workload,
                    variant: id.variant.clone(),
                    system: system.clone(),
                    peer: candidate.entry.id().to_owned(),
                    state,
                    reason: reason.clone(),
                    fix: fix.clone(),
                    headline: id.is_headline(),
                    ranked: id.is_ranked(),
                    labels: cell
                        .labels
                        .iter()
                        .map(|(k, v)| (k.clone(), v.text()))
                        .collect(),
                    origin: cell.origin.clone(),
                    by_itself: cell.blocked.is_some(),
                };
                list.push((id.clone(), listed));
            }
        }
    }
    list.sort_by_key(|(id, _)| id.order());
    Ok(list)
}

pub(crate) fn list(args: &ListArgs) -> Result<Exit, Stop> {
    let candidates = ready::look(args.peers.peers.as_deref())?;
    let cells = cells(&candidates)?;
    if args.json {
        let cells = cells.into_iter().map(|(_, listed)| listed).collect();
        let document = Document {
            schema: "tidings.arena.list/1",
            cells,
        };
        terminal::print(&whole::json(&document)?)?;
        return Ok(Exit::Ok);
    }
    let style = Style::of_stdout();
    terminal::print(&text(&candidates, &cells, style))?;
    Ok(Exit::Ok)
}

fn text(candidates: &[Candidate], cells: &[(CellId, Listed)], style: Style) -> String {
    let mut text = format!("{}\n", style.bold("Systems"));
    for candidate in candidates {
        let (state, reason, fix) = standing(candidate);
        let peer = &candidate.entry.manifest.peer;
        let state = if state == "ready" {
            style.green(state)
        } else {
            style.yellow(state)
        };
        let _ = write!(
            text,
            "  {state:<8} {} ({})",
            peer.systems.join(", "),
            peer.lang
        );
        if let Some(reason) = reason {
            let _ = write!(text, ": {reason}");
        }
        text.push('\n');
        if let Some(fix) = fix {
            let _ = writeln!(text, "           fix: {fix}");
        }
    }
    for definition in WORKLOADS {
        let _ = writeln!(
            text,
            "\n{}  {}",
            style.bold(definition.id),
            definition.about
        );
        let mut done: Vec<&str> = Vec::new();
        for (id, first) in cells.iter().filter(|(id, _)| id.workload == definition.id) {
            if done.contains(&id.variant.as_str()) {
                continue;
            }
            done.push(&id.variant);
            // Who can run stands first, who has a reason of its own last.
            let mut rows: Vec<&Listed> = cells
                .iter()
                .filter(|(other, _)| other == id)
                .map(|(_, listed)| listed)
                .collect();
            rows.sort_by_key(|l| (l.state == "blocked" && l.by_itself, l.state != "ready"));
            let systems: Vec<String> = rows
                .into_iter()
                .map(|l| match l.state {
                    "ready" => l.system.clone(),
                    "blocked" if l.by_itself => style.dim(&format!(
                        "{} blocked, {}",
                        l.system,
                        l.reason.as_deref().unwrap_or_default()
                    )),
                    "blocked" => style.dim(&format!("[{}]", l.system)),
                    _ => style.dim(&format!("({})", l.system)),
                })
                .collect();
            let mark = if first.headline { "*" } else { " " };
            let _ = writeln!(text, " {mark} {:<26} {}", id.variant, systems.join(" "));
        }
    }
    text + "\n* runs in the quick profile · (system): not ready · [system]: blocked\n"
}
