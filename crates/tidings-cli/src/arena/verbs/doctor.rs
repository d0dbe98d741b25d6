//! `tidings arena doctor`: one line per requirement, with the command that fixes a failing one. Changes nothing.

use std::fmt::Write as _;

use rustix::process::{Resource, getrlimit};
use serde::Serialize;

use crate::arena::cells::plan::{self, Candidate};
use crate::arena::cells::size::Profile;
use crate::arena::exit::{Exit, Stop};
use crate::arena::machine::environment::Environment;
use crate::arena::peers::ready;
use crate::arena::records::whole;
use crate::arena::sampling::options;
use crate::arena::terminal::{self, Style};
use crate::arena::units;
use crate::arena::verbs::doctor_peer;
use crate::arena::verbs::list;
use crate::cli::DoctorArgs;

/// One requirement.
#[derive(Debug, Serialize)]
pub(crate) struct Check {
    name: String,
    ok: bool,
    /// Nothing to be done about it here.
    pub(crate) blocked: bool,
    found: String,
    fix: Option<String>,
}

impl Check {
    pub(crate) fn new(name: String, ok: bool, found: String, fix: Option<String>) -> Self {
        Self {
            name,
            ok,
            blocked: false,
            found,
            fix: fix.filter(|fix| !ok && !fix.is_empty()),
        }
    }
}

/// The document of `doctor --json`.
#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    checks: Vec<Check>,
    env: Environment,
}

pub(crate) fn doctor(args: &DoctorArgs) -> Result<Exit, Stop> {
    let candidates = ready::look(args.peers.peers.as_deref())?;
    let env = Environment::capture();
    plan::known(&candidates, &args.systems)?;
    let mut checks = Vec::new();
    if args.systems.is_empty() {
        checks.extend(candidates.iter().map(overview));
    }
    let limits = options::limits(Profile::Smoke, None, None)?;
    for candidate in &candidates {
        if args.systems.iter().any(|name| candidate.is_named(name)) {
            checks.extend(doctor_peer::checks(candidate, limits)?);
        }
    }
    checks.extend(machine(&env));
    if args.json {
        let document = Document {
            schema: "tidings.arena.doctor/1",
            checks,
            env,
        };
        terminal::print(&whole::json(&document)?)?;
        return Ok(Exit::Ok);
    }
    let style = Style::of_stdout();
    let mut text = format!("{}\n", env.summary());
    for check in &checks {
        let mark = if check.ok {
            style.green("ok  ")
        } else if check.blocked {
            style.dim("off ")
        } else {
            style.yellow("look")
        };
        let _ = writeln!(text, "{mark} {}: {}", check.name, check.found);
        if let Some(fix) = check.fix.as_ref().filter(|_| !check.ok) {
            let _ = writeln!(text, "       fix: {fix}");
        }
    }
    terminal::print(&text)?;
    Ok(Exit::Ok)
}

/// One line for a peer.
fn overview(candidate: &Candidate) -> Check {
    let (state, reason, fix) = list::standing(candidate);
    let systems = candidate.entry.manifest.peer.systems.join(", ");
    let name = format!("peer {} ({systems})", candidate.entry.id());
    let found = reason.unwrap_or_else(|| "ready".to_owned());
    Check {
        blocked: state == "blocked",
        ..Check::new(name, state == "ready", found, fix)
    }
}

fn machine(env: &Environment) -> Vec<Check> {
    let check = |name: &str, ok: bool, found: String, fix: &str| {
        Check::new(name.to_owned(), ok, found, Some(fix.to_owned()))
    };
    let read = |path: &str| {
        let text = std::fs::read_to_string(path).ok();
        text.map(|text| text.trim().to_owned())
    };
    let files = getrlimit(Resource::Nofile).current;
    let maps = read("/proc/sys/vm/max_map_count")
        .and_then(|t| t.parse::<u64>().ok())
        .unwrap_or(0);
    let steal = steal_share();
    let unknown = || "unknown".to_owned();
    vec![
        check(
            "build",
            !env.debug_build,
            if env.debug_build { "debug" } else { "release" }.to_owned(),
            "cargo run --release -- arena ...",
        ),
        check(
            "load",
            !env.is_busy(),
            format!("{:.2} on {} cores", env.load1, env.cores),
            "end other programs: uptime; top",
        ),
        check(
            "pressure",
            true,
            env.pressure_cpu.clone().unwrap_or_else(unknown),
            "",
        ),
        check(
            "steal",
            steal < 0.02,
            format!("{:.1} % since boot", 100.0 * steal),
            "another host, or dedicated cores",
        ),
        check(
            "swap",
            env.swap_used == 0,
            format!("{} in use", units::bytes(env.swap_used)),
            "swapoff -a",
        ),
        check(
            "governor",
            !env.saves_power(),
            env.governor
                .clone()
                .unwrap_or_else(|| "none to see".to_owned()),
            "cpupower frequency-set -g performance",
        ),
        check("SMT", true, env.smt.clone().unwrap_or_else(unknown), ""),
        check(
            "huge pages",
            true,
            env.transparent_huge_pages.clone().unwrap_or_else(unknown),
            "",
        ),
        check(
            "clock",
            env.clock_resolution_ns < 1000,
            format!(
                "{}, steps of {} ns",
                env.clock_source.clone().unwrap_or_else(unknown),
                env.clock_resolution_ns
            ),
            "a kernel with the tsc or kvm-clock source",
        ),
        check(
            "open files",
            files.is_none_or(|n| n >= 2100),
            files.map_or("no limit".to_owned(), |n| n.to_string()),
            "ulimit -n 4096",
        ),
        check(
            "max_map_count",
            maps >= 65_530,
            maps.to_string(),
            "sysctl vm.max_map_count=65530",
        ),
        check(
            "memory",
            env.memory >= 2 << 30,
            units::bytes(env.memory),
            "",
        ),
    ]
}

/// Share of the CPU time since boot that the hypervisor gave to others.
fn steal_share() -> f64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks: Vec<f64> = text
        .lines()
        .next()
        .unwrap_or_default()
        .split_ascii_whitespace()
        .skip(1)
        .take(8)
        .filter_map(|t| t.parse().ok())
        .collect();
    let total: f64 = ticks.iter().sum();
    if total > 0.0 {
        ticks.get(7).copied().unwrap_or(0.0) / total
    } else {
        0.0
    }
}
