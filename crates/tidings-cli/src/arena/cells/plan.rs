//! What a command will run: the cells, in the groups inside which they are compared.

use std::collections::BTreeMap;

use crate::arena::cells::filter::Filters;
use crate::arena::cells::size::{self, Override, Profile};
use crate::arena::cells::workload::{self, CellId, Params};
use crate::arena::exit::Stop;
use crate::arena::peers::catalog::{Entry, Readiness};
use crate::arena::peers::manifest;
use crate::arena::peers::peer::{Launch, Limits};
use crate::arena::records::state::State;

/// A peer with what was found out about it.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) entry: Entry,
    pub(crate) readiness: Readiness,
}

impl Candidate {
    /// Whether a user who writes `name` means this peer: by its id or by one of its systems.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        let peer = &self.entry.manifest.peer;
        peer.id == name || peer.systems.iter().any(|system| system == name)
    }

    /// How one of its systems is started, if it can be.
    pub(crate) fn launch(
        &self,
        system: &str,
        threads: u32,
        limits: Limits,
    ) -> Result<Launch, Stop> {
        match &self.readiness {
            Readiness::Ready(built) => self.entry.launch(system, built, threads, limits),
            _ => Err(Stop::internal(format!("{system} is planned and not ready"))),
        }
    }
}

/// One cell at one size: a row of a table.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) system: String,
    /// Index into the candidates.
    pub(crate) peer: usize,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) origin: String,
    /// Largest sizes the peer may be asked for.
    pub(crate) max: BTreeMap<String, i64>,
    /// Asked for by name: that it has no figure is a failure of the run.
    pub(crate) requested: bool,
}

/// Cells that do the same work: same workload, variant, sizes and threads. Figures are compared only inside.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) id: CellId,
    pub(crate) params: Params,
    pub(crate) threads: u32,
    pub(crate) cells: Vec<Cell>,
}

/// A cell that was selected and cannot run.
#[derive(Clone, Debug)]
pub(crate) struct Absent {
    pub(crate) id: CellId,
    pub(crate) system: String,
    pub(crate) peer: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) origin: String,
    pub(crate) state: State,
    pub(crate) reason: String,
    pub(crate) fix: Option<String>,
    /// Asked for by name: its absence is a failure of the run.
    pub(crate) requested: bool,
}

/// The whole plan.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) groups: Vec<Group>,
    pub(crate) absent: Vec<Absent>,
}

impl Plan {
    /// Whether a cell of the system was selected, though it cannot run.
    pub(crate) fn has(&self, system: &str) -> bool {
        let cells = self.groups.iter().flat_map(|group| &group.cells);
        let mut systems = cells.map(|cell| &cell.system);
        systems.any(|one| one == system) || self.absent.iter().any(|a| a.system == system)
    }
}

/// What the plan is made from.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) profile: Profile,
    pub(crate) filters: &'a Filters,
    pub(crate) threads: &'a [u32],
    pub(crate) overrides: &'a [Override],
    pub(crate) originals: bool,
    pub(crate) required: &'a [String],
    pub(crate) mem_cap: u64,
}

/// All systems of all peers.
pub(crate) fn systems(candidates: &[Candidate]) -> Vec<&str> {
    candidates
        .iter()
        .flat_map(|c| &c.entry.manifest.peer.systems)
        .map(String::as_str)
        .collect()
}

/// Refuses names that are neither a system nor a peer.
pub(crate) fn known(candidates: &[Candidate], names: &[String]) -> Result<(), Stop> {
    let is_known = |name: &&String| candidates.iter().any(|c| c.is_named(name));
    let Some(stranger) = names.iter().find(|name| !is_known(name)) else {
        return Ok(());
    };
    let mut all = systems(candidates);
    all.extend(candidates.iter().map(|c| c.entry.id()));
    all.sort_unstable();
    all.dedup();
    let all = all.join(", ");
    Err(Stop::usage(format!(
        "unknown system {stranger:?}; there are {all}"
    )))
}

/// Makes the plan. Sizes that no machine or this machine cannot hold end it with a usage error.
pub(crate) fn make(candidates: &[Candidate], request: &Request<'_>) -> Result<Plan, Stop> {
    let mut plan = Plan {
        groups: Vec::new(),
        absent: Vec::new(),
    };
    for (peer, candidate) in candidates.iter().enumerate() {
        for listed in &candidate.entry.manifest.cell {
            let id = workload::parse_cell_id(&listed.id).map_err(Stop::internal)?;
            for system in &listed.systems {
                if selected(request, &id, system) {
                    let cell = Cell {
                        system: system.clone(),
                        peer,
                        labels: listed
                            .labels
                            .iter()
                            .map(|(k, v)| (k.clone(), v.text()))
                            .collect(),
                        origin: listed.origin.clone(),
                        max: listed.max.clone(),
                        requested: request.required.contains(system)
                            || request.filters.names_system(system),
                    };
                    place(&mut plan, request, candidate, &id, cell, listed)?;
                }
            }
        }
    }
    plan.groups.sort_by_key(|g| (g.id.order(), g.threads));
    Ok(plan)
}

fn selected(request: &Request<'_>, id: &CellId, system: &str) -> bool {
    let wanted = !id.is_original() || request.originals || request.filters.names_variant(id);
    let everything = match request.profile {
        Profile::Smoke => true,
        Profile::Quick => id.is_original(),
        Profile::Standard => !id.definition().is_by_name(),
    };
    wanted && request.filters.selects(id, system, everything)
}

fn place(
    plan: &mut Plan,
    request: &Request<'_>,
    candidate: &Candidate,
    id: &CellId,
    cell: Cell,
    listed: &manifest::Cell,
) -> Result<(), Stop> {
    let absent = |state, reason: String, fix| Absent {
        id: id.clone(),
        system: cell.system.clone(),
        peer: candidate.entry.id().to_owned(),
        labels: cell.labels.clone(),
        origin: cell.origin.clone(),
        state,
        reason,
        fix,
        requested: cell.requested,
    };
    if let Some(why) = candidate.entry.manifest.why_blocked(listed) {
        plan.absent
            .push(absent(State::Blocked, why.to_owned(), None));
        return Ok(());
    }
    match &candidate.readiness {
        Readiness::Ready(_) => {}
        Readiness::Unbuilt(_) => {
            let fix = Some(candidate.entry.setup_command());
            plan.absent
                .push(absent(State::Missing, "not built".to_owned(), fix));
            return Ok(());
        }
        Readiness::Missing { reason, fix, .. } => {
            plan.absent
                .push(absent(State::Missing, reason.clone(), Some(fix.clone())));
            return Ok(());
        }
        Readiness::Blocked { reason } => {
            plan.absent
                .push(absent(State::Blocked, reason.clone(), None));
            return Ok(());
        }
    }
    for threads in request.threads {
        if let Some(min) = listed.min_threads.filter(|min| threads < min) {
            let reason = format!("needs at least {min} threads");
            plan.absent.push(absent(State::Unsupported, reason, None));
            continue;
        }
        for row in size::sizes(id, request.profile, *threads, request.overrides) {
            let params = size::params(id, &row);
            if let Some(refusal) = size::refusal(id, &params, request.mem_cap) {
                return Err(Stop::usage(refusal));
            }
            if let Some((key, max)) = over(&params, &cell.max) {
                let reason = format!("its manifest allows {key} up to {max}");
                plan.absent.push(absent(State::Unsupported, reason, None));
                continue;
            }
            let same = |g: &&mut Group| g.id == *id && g.params == params && g.threads == *threads;
            match plan.groups.iter_mut().find(same) {
                Some(group) => group.cells.push(cell.clone()),
                None => plan.groups.push(Group {
                    id: id.clone(),
                    params,
                    threads: *threads,
                    cells: vec![cell.clone()],
                }),
            }
        }
    }
    Ok(())
}

/// The first size above its limit.
pub(crate) fn over<'a>(
    params: &Params,
    max: &'a BTreeMap<String, i64>,
) -> Option<(&'a String, &'a i64)> {
    max.iter()
        .find(|(key, max)| params.get(*key).is_some_and(|value| value > *max))
}
