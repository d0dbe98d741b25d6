//! `tidings arena smoke`: does every ready cell count and answer as it must? Nothing is timed.

use std::time::Instant;

use crate::arena::cells::filter::Filters;
use crate::arena::cells::plan::{self, Absent, Group, Request};
use crate::arena::cells::size::Profile;
use crate::arena::cells::wire;
use crate::arena::exit::{Exit, Stop};
use crate::arena::machine::interrupt::Interrupt;
use crate::arena::peers::peer::{Leave, Peer};
use crate::arena::peers::ready;
use crate::arena::plain;
use crate::arena::records::state::{Failure, State};
use crate::arena::sampling::hangs::Hangs;
use crate::arena::sampling::options;
use crate::arena::terminal::{self, Style};
use crate::arena::units;
use crate::cli::SmokeArgs;

/// A peer that is up: its system, its threads.
type Running = (String, u32, Peer);

/// Repetitions of the second sample: sums over repetitions must be right too.
const INNER: u64 = 3;

pub(crate) fn smoke(args: &SmokeArgs) -> Result<Exit, Stop> {
    let begin = Instant::now();
    let style = Style::of_stdout();
    let allowed = options::limits(Profile::Smoke, args.timeout, args.mem_cap)?;
    let mut candidates = ready::look(args.peers.peers.as_deref())?;
    let filters = Filters::parse(&args.filter, &plan::systems(&candidates))?;
    let request = Request {
        profile: Profile::Smoke,
        filters: &filters,
        threads: &ready::threads(&args.threads)?,
        overrides: &[],
        originals: false,
        required: &[],
        mem_cap: allowed.mem_cap,
    };
    let interrupt = Interrupt::install()?;
    let plan = ready::plan(&mut candidates, &request, &interrupt, terminal::say)?;
    if interrupt.is_asked() {
        return Ok(Exit::Interrupted);
    }
    let (mut passed, mut failed) = (0_usize, 0_u32);
    // By system and threads: one process serves all its cells, so that drop and a second prep are tested too.
    let mut jobs: Vec<(usize, String, &Group)> = plan
        .groups
        .iter()
        .flat_map(|g| g.cells.iter().map(move |c| (c.peer, c.system.clone(), g)))
        .collect();
    jobs.sort_by_key(|(peer, system, group)| (*peer, system.clone(), group.threads));
    let mut peer: Option<Running> = None;
    let mut hangs = Hangs::default();
    for (index, system, group) in &jobs {
        if interrupt.is_asked() {
            return Ok(Exit::Interrupted);
        }
        if let Some(why) = hangs.why(system) {
            let failure = Failure::new(State::Skipped, why);
            report(&name(group, system), &failure, &[], style)?;
            continue;
        }
        if peer
            .as_ref()
            .is_some_and(|(s, t, _)| s != system || *t != group.threads)
        {
            failed += leave(peer.take(), style)?;
        }
        let launch = candidates[*index].launch(system, group.threads, allowed)?;
        let (_, _, running) = match &mut peer {
            Some(running) => running,
            none => match Peer::start(&launch, &interrupt) {
                Ok(started) => none.insert((system.clone(), group.threads, started)),
                Err((failure, log)) => {
                    hangs.note(system, failure.state);
                    failed += 1;
                    report(&name(group, system), &failure, &log, style)?;
                    continue;
                }
            },
        };
        match check_unless_stalled(running, group) {
            Ok(()) => {
                passed += 1;
                terminal::print(&format!(
                    "{} {}\n",
                    style.green("ok    "),
                    name(group, system)
                ))?;
            }
            Err(failure) => {
                hangs.note(system, failure.state);
                let log = peer
                    .take()
                    .map(|(_, _, peer)| peer.into_log())
                    .unwrap_or_default();
                failed += u32::from(failure.state != State::Skipped);
                report(&name(group, system), &failure, &log, style)?;
            }
        }
    }
    failed += leave(peer, style)?;
    let mut missing = Vec::new();
    let is_elsewhere = |a: &Absent| a.state == State::Blocked && !a.requested;
    let elsewhere = plan.absent.iter().filter(|a| is_elsewhere(a)).count();
    if elsewhere > 0 {
        let cells = units::counted(elsewhere, "cell");
        let line = format!("{cells} of systems that cannot run on this kind of machine");
        terminal::print(&format!("{} {line}\n", style.yellow("absent")))?;
    }
    for absent in plan.absent.iter().filter(|a| !is_elsewhere(a)) {
        let line = format!(
            "{} {}: {}",
            absent.state.name(),
            absent.system,
            absent.reason
        );
        if !missing.contains(&line) {
            terminal::print(&format!("{} {}\n", style.yellow("absent"), line))?;
            missing.push(line);
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    terminal::print(&format!(
        "{} correct, {failed} failed, {seconds:.1} s\n",
        units::counted(passed, "cell")
    ))?;
    let asked = plan.absent.iter().any(|a| a.requested);
    Ok(match (interrupt.is_asked(), failed > 0 || asked, passed) {
        (true, _, _) => Exit::Interrupted,
        (_, true, _) => Exit::CellFailed,
        (_, _, 0) => Exit::NothingRan,
        _ => Exit::Ok,
    })
}

/// Tells a peer that is done to leave. That it does not is a failure of its own, of no cell.
fn leave(running: Option<Running>, style: Style) -> Result<u32, Stop> {
    let Some((system, threads, mut peer)) = running else {
        return Ok(0);
    };
    let Err(failure) = peer.leave(Leave::Quit) else {
        return Ok(0);
    };
    let name = format!("@{system} · threads={threads}");
    report(&name, &failure, &peer.into_log(), style)?;
    Ok(1)
}

/// The schedule of a paced cell: an odd rate, and the shortest time.
const PACED: (u64, u64) = (997, 1);

/// How often a cell may be stopped by the machine before that counts as its failure.
const STALLS: u32 = 5;

/// As `check`, again if the machine stood still for so long that a cell's own timeout fired, or that an answer came long
/// after its sample: that says nothing about the peer.
fn check_unless_stalled(peer: &mut Peer, group: &Group) -> Result<(), Failure> {
    let mut stalls = 0;
    loop {
        match check(peer, group) {
            Err(failure) if is_stall(&failure) && stalls < STALLS => {
                stalls += 1;
                // What the failed run has prepared goes; the next `prep` says if that is amiss.
                let _ = peer.release();
            }
            outcome => return outcome,
        }
    }
}

fn is_stall(failure: &Failure) -> bool {
    failure.state == State::Clock || failure.reason.contains("100 ms fired")
}

/// Two seeds, one repetition and several, allocations where the peer counts them.
pub(crate) fn check(peer: &mut Peer, group: &Group) -> Result<(), Failure> {
    let id = group.id.to_string();
    if !peer.hello().cells.contains(&id) {
        let reason = "its manifest lists the cell, its hello does not";
        return Err(Failure::new(State::Unsupported, reason));
    }
    for seed in [1, 2] {
        peer.prepare(&group.id, &group.params, seed)?;
        peer.run(1, false)?;
        peer.run(INNER, false)?;
        if seed == 1 && group.id.is_paced() {
            let (rate, secs) = PACED;
            peer.run_paced(rate, secs)?;
        }
        if seed == 1 && peer.has("alloc") && wire::is_one_process(&group.id) {
            let alloc = peer.run(1, true)?;
            if alloc.sample.alloc_bytes.is_none() || alloc.sample.alloc_count.is_none() {
                let reason = "has cap alloc and gives no alloc_bytes and alloc_count";
                return Err(Failure::new(State::Protocol, reason));
            }
        }
        peer.release()?;
    }
    Ok(())
}

fn name(group: &Group, system: &str) -> String {
    let sizes = crate::arena::cells::size::show(&group.id, &group.params);
    format!(
        "{}@{system} · {sizes} · threads={}",
        group.id, group.threads
    )
}

/// Says what failed, and the end of its log.
fn report(what: &str, failure: &Failure, log: &[u8], style: Style) -> Result<(), Stop> {
    let word = format!("{:<6}", failure.state.name());
    let text = format!("{} {what}: {}\n", style.red(&word), failure.reason);
    terminal::print(&(text + &end_of(log)))
}

/// The last lines of a log, below what failed.
pub(crate) fn end_of(log: &[u8]) -> String {
    let lines = plain::lines(log);
    let last = &lines[lines.len().saturating_sub(5)..];
    last.iter()
        .map(|line| format!("         | {line}\n"))
        .collect()
}
