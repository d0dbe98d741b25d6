//! Fitting a quick run into its budget: what is left out when more is ready than there is time for.
//!
//! First go the systems that a manifest calls `spare`, ours before those of others, the last named first. Then single cells, so that every group keeps
//! about as many as the others, every system about as many as the others, and the seeds' own cells longest. Nothing that
//! was asked for goes, nor the reference, nor what it is compared with last. What is then still too much is measured with
//! fewer rounds (`measure`).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::arena::cells::plan::{Absent, Candidate, Cell, Group, Plan, Request};
use crate::arena::records::state::State;
use crate::arena::sampling::estimate;
use crate::arena::sampling::measure::Settings;

/// The reference, and one to compare it with.
const LEAST_CELLS: usize = 2;

/// Takes cells out of the plan until it fits, or none is left to take.
pub(crate) fn fit(
    plan: &mut Plan,
    candidates: &[Candidate],
    request: &Request<'_>,
    settings: &Settings,
    budget: Duration,
) {
    let cost =
        |plan: &Plan| -> Duration { estimate::groups(plan, candidates, settings).iter().sum() };
    let stays = |system: &str| {
        let named = |name: &String| name == system;
        request.required.iter().any(named)
            || request.filters.names_system(system)
            || settings.reference == system
    };
    let mut spare = spare(candidates);
    spare.retain(|system| !stays(system));
    while cost(plan) > budget
        && let Some(system) = spare.pop()
    {
        leave_out(plan, candidates, |_, cell| cell.system == *system);
    }
    while cost(plan) > budget
        && let Some((index, system)) = most_dispensable(&plan.groups, stays)
    {
        leave_out(plan, candidates, |group, cell| {
            group == index && cell.system == system
        });
    }
}

/// The systems that can be spared, in the order from the last: ours go before those of others.
fn spare(candidates: &[Candidate]) -> Vec<&String> {
    let mut entries: Vec<_> = candidates.iter().map(|c| &c.entry).collect();
    entries.sort_by_key(|entry| entry.id() == "tidings");
    let spare = entries.iter().map(|entry| &entry.manifest.peer.spare);
    spare.flatten().collect()
}

/// The cell whose loss shows least: its group by number, and its system.
fn most_dispensable(groups: &[Group], stays: impl Fn(&str) -> bool) -> Option<(usize, String)> {
    let mut cells_of: BTreeMap<&str, usize> = BTreeMap::new();
    for cell in groups.iter().flat_map(|group| &group.cells) {
        *cells_of.entry(&cell.system).or_default() += 1;
    }
    let rank = |group: &Group, cell: &Cell| {
        (
            group.cells.len(),
            !cell.origin.starts_with("seed:"),
            cells_of[cell.system.as_str()],
        )
    };
    let all = groups
        .iter()
        .enumerate()
        .filter(|(_, group)| group.cells.len() > LEAST_CELLS)
        .flat_map(|(index, group)| group.cells.iter().map(move |cell| (index, group, cell)))
        .filter(|(_, _, cell)| !stays(&cell.system));
    // Of equals the first, so that the choice is the same each time.
    all.min_by_key(|(_, group, cell)| Reverse(rank(group, cell)))
        .map(|(index, _, cell)| (index, cell.system.clone()))
}

fn leave_out(plan: &mut Plan, candidates: &[Candidate], goes: impl Fn(usize, &Cell) -> bool) {
    let Plan { groups, absent } = plan;
    for (index, group) in groups.iter_mut().enumerate() {
        let (gone, kept) = std::mem::take(&mut group.cells)
            .into_iter()
            .partition::<Vec<_>, _>(|cell| goes(index, cell));
        group.cells = kept;
        absent.extend(gone.into_iter().map(|cell| {
            Absent {
                id: group.id.clone(),
                peer: candidates[cell.peer].entry.id().to_owned(),
                system: cell.system,
                labels: cell.labels,
                origin: cell.origin,
                state: State::Skipped,
                reason:
                    "left out to stay within the budget: name the system, or run with --budget 0"
                        .to_owned(),
                fix: None,
                requested: false,
            }
        }));
    }
    groups.retain(|group| !group.cells.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::cells::workload::{Params, parse_cell_id};
    use crate::arena::peers::catalog::{self, Readiness};

    /// Groups of systems; an upper-case one has a seed's cell.
    fn groups(systems: &[&[&str]]) -> Vec<Group> {
        let cell = |name: &str| Cell {
            system: name.to_lowercase(),
            peer: 0,
            labels: BTreeMap::new(),
            origin: if name == name.to_lowercase() {
                "ext"
            } else {
                "seed:001"
            }
            .to_owned(),
            max: BTreeMap::new(),
            requested: false,
        };
        let group = |names: &&[&str]| Group {
            id: parse_cell_id("fan/struct").expect("a cell"),
            params: Params::new(),
            threads: 1,
            cells: names.iter().map(|name| cell(name)).collect(),
        };
        systems.iter().map(group).collect()
    }

    #[test]
    fn our_own_spare_systems_go_first() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../arena/peers");
        let entries = catalog::load(Some(folder.as_ref())).expect("the peers of this tree");
        let candidate = |entry| Candidate {
            entry,
            readiness: Readiness::Blocked {
                reason: String::new(),
            },
        };
        let candidates: Vec<_> = entries.into_iter().map(candidate).collect();
        let mut spare = spare(&candidates);
        assert!(spare.len() > 2, "others have some");
        let first = [(); 2].map(|()| spare.pop().map(String::as_str));
        assert_eq!(
            first,
            [Some("tidings-link-slim"), Some("tidings-link-messages")]
        );
    }

    #[test]
    fn cells_go_from_the_fullest_group_and_the_commonest_system_and_those_of_the_seeds_last() {
        let mut groups = groups(&[&["us", "go", "java"], &["us", "GO", "node", "java", "caf"]]);
        let mut gone = Vec::new();
        while let Some((index, system)) = most_dispensable(&groups, |system| system == "us") {
            groups[index].cells.retain(|cell| cell.system != system);
            gone.push((index, system));
        }
        let gone: Vec<(usize, &str)> = gone.iter().map(|(i, s)| (*i, s.as_str())).collect();
        assert_eq!(gone, [(1, "java"), (1, "node"), (0, "go"), (1, "caf")]);
    }
}
