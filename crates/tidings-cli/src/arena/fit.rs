//! Fitting a quick run into its budget: which systems are left out when more are ready than there is time for.
//!
//! Only those that a manifest calls `spare` go, the last named first, and none that was asked for. What is then still too
//! much is measured with fewer rounds (`measure`).

use std::time::Duration;

use super::estimate;
use super::measure::Settings;
use super::plan::{Absent, Candidate, Plan, Request};
use super::state::State;

/// Takes cells of spare systems out of the plan until it fits, or none is left to take.
pub(crate) fn fit(
    plan: &mut Plan,
    candidates: &[Candidate],
    request: &Request<'_>,
    settings: &Settings,
    budget: Duration,
) {
    let asked =
        |system: &String| request.required.contains(system) || request.filters.names_system(system);
    let mut spare: Vec<&String> = candidates
        .iter()
        .flat_map(|c| &c.entry.manifest.peer.spare)
        .filter(|system| !asked(system))
        .collect();
    let cost =
        |plan: &Plan| -> Duration { estimate::groups(plan, candidates, settings).iter().sum() };
    while cost(plan) > budget
        && let Some(system) = spare.pop()
    {
        leave_out(plan, candidates, system);
    }
}

fn leave_out(plan: &mut Plan, candidates: &[Candidate], system: &str) {
    let Plan { groups, absent } = plan;
    for group in groups.iter_mut() {
        let (gone, kept) = std::mem::take(&mut group.cells)
            .into_iter()
            .partition::<Vec<_>, _>(|cell| cell.system == system);
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
