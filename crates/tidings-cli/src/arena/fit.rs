//! Fitting a quick run into its budget: which systems are left out when more are ready than there is time for.
//!
//! Only those that a manifest calls `spare` go, the last named first, and none that was asked for. What is then still too
//! much is measured with fewer rounds (`measure`).

use std::time::Duration;

use super::plan::{Absent, Candidate, Plan, Request};
use super::state::State;

/// What a cell of the quick profile takes by and large: a compiled one, and one whose runtime compiles as it runs.
const COMPILED: Duration = Duration::from_millis(1000);
const JIT: Duration = Duration::from_millis(2500);
/// Languages whose peers warm up, as manifests write them.
const JIT_LANGUAGES: &[&str] = &["Java", "Kotlin", "Scala", "JavaScript", "C#"];

/// Takes cells of spare systems out of the plan until it fits, or none is left to take.
pub(crate) fn fit(
    plan: &mut Plan,
    candidates: &[Candidate],
    request: &Request<'_>,
    budget: Duration,
) {
    let asked =
        |system: &String| request.required.contains(system) || request.filters.names_system(system);
    let mut spare: Vec<&String> = candidates
        .iter()
        .flat_map(|c| &c.entry.manifest.peer.spare)
        .filter(|system| !asked(system))
        .collect();
    while cost(plan, candidates) > budget
        && let Some(system) = spare.pop()
    {
        leave_out(plan, candidates, system);
    }
}

/// The time that all cells take.
fn cost(plan: &Plan, candidates: &[Candidate]) -> Duration {
    let cells = plan.groups.iter().flat_map(|g| &g.cells);
    cells
        .map(|cell| {
            let lang = &candidates[cell.peer].entry.manifest.peer.lang;
            if JIT_LANGUAGES.contains(&lang.as_str()) {
                JIT
            } else {
                COMPILED
            }
        })
        .sum()
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
