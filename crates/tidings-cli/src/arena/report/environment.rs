//! The machine, the plan, the peers, and the commands that make the run again.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::data::Data;
use super::words::{self, NOTHING, heads, scroll};
use crate::arena::machine::environment::Environment;
use crate::arena::records::record::CellRecord;
use crate::arena::units;

pub(super) fn page(data: &Data) -> Markup {
    html! {
        h3 { "Machine" }
        (machine(&data.run.env))
        h3 { "Plan" }
        (plan(data))
        h3 { "Systems and peers" }
        p { "Each system was served by a peer: a small program with the same workloads, in the runtime's own language. The source is what was measured; "
            "the build hash covers sources, commands and toolchain." }
        (peers(data))
        h3 { "Reproduction" }
        (commands(data))
    }
}

fn facts(rows: &[(&str, String)]) -> Markup {
    html! { dl class="facts" { @for (name, value) in rows { dt { (name) } dd { (value) } } } }
}

pub(super) fn machine(env: &Environment) -> Markup {
    let or = |value: &Option<String>| value.clone().unwrap_or_else(|| "not known".to_owned());
    let join = |map: &BTreeMap<String, String>| {
        let list: Vec<String> = map.iter().map(|(k, v)| format!("{k}: {v}")).collect();
        if list.is_empty() {
            "none".to_owned()
        } else {
            list.join("; ")
        }
    };
    html! {
        (facts(&[
            ("CPU", env.cpu.clone()),
            ("Cores", format!("{}{}", env.cores, if env.hypervisor { ", in a virtual machine" } else { "" })),
            ("SMT", or(&env.smt)),
            ("Governor", or(&env.governor)),
            ("Memory", format!("{}, {} of swap in use", units::bytes(env.memory), units::bytes(env.swap_used))),
            ("System", format!("{}, Linux {}", env.os, env.kernel)),
            ("Load at start", format!("{:.2}", env.load1)),
            ("CPU pressure", or(&env.pressure_cpu)),
            ("Huge pages", or(&env.transparent_huge_pages)),
            ("Clock", format!("{}, smallest step seen {} ns", or(&env.clock_source), env.clock_resolution_ns)),
            ("tidings", format!("{}, {} build, git {}", env.tidings, if env.debug_build { "debug" } else { "release" }, or(&env.git))),
            ("Variables", join(&env.variables)),
            ("Mitigations", join(&env.mitigations)),
        ]))
        @if let Some(flags) = &env.cpu_flags { details { summary { "CPU flags" } p { code { (flags) } } } }
    }
}

fn plan(data: &Data) -> Markup {
    let plan = &data.run.plan;
    let threads: Vec<String> = plan.threads.iter().map(u32::to_string).collect();
    let filters = if plan.filters.is_empty() {
        "all headline cells".to_owned()
    } else {
        plan.filters.join(" ")
    };
    facts(&[
        ("Profile", plan.profile.clone()),
        ("Filters", filters),
        ("Reference", plan.reference.clone()),
        ("Threads", threads.join(", ")),
        ("Launches", plan.launches.to_string()),
        (
            "Rounds",
            format!("{} to {}", plan.min_rounds, plan.max_rounds),
        ),
        (
            "Precision aimed for",
            format!("±{:.0} % (95 %)", 100.0 * plan.target_ci),
        ),
        (
            "Budget",
            plan.budget_seconds
                .map_or("none".to_owned(), |b| format!("{b:.0} s")),
        ),
        ("Order", format!("random:{}", plan.order_seed)),
        (
            "Limits",
            format!(
                "{:.0} s for an answer, {} of memory",
                plan.timeout_seconds,
                units::bytes(plan.mem_cap)
            ),
        ),
        (
            "Allocation pass",
            if plan.alloc { "yes" } else { "no" }.to_owned(),
        ),
    ])
}

fn peers(data: &Data) -> Markup {
    let mut rows: Vec<&CellRecord> = Vec::new();
    for system in data.systems() {
        let of = |measured: bool| {
            let mut cells = data.run.cells.iter();
            cells.find(|c| c.system == system && c.version.is_some() == measured)
        };
        rows.extend(of(true).or_else(|| of(false)));
    }
    let caption = "Systems, versions, flags and sources";
    let or = |value: &Option<String>| value.clone().unwrap_or_else(|| NOTHING.to_owned());
    let table = html! {
        table class="data" {
            caption { (caption) }
            (heads(&[("system", false), ("version", false), ("runtime", false), ("flags", false), ("threads", true), ("clock", true),
                ("source", false), ("build", false), ("state", false)]))
            tbody { @for cell in rows { tr {
                th scope="row" class="stick" { (cell.system) }
                td class="w" { (or(&cell.version)) }
                td class="long" { (or(&cell.runtime)) }
                td class="long" { (or(&cell.flags)) }
                td class="n" { (cell.peer_threads.map_or(NOTHING.to_owned(), |t| t.to_string())) }
                td class="n" { (cell.clock_ns.map_or(NOTHING.to_owned(), |ns| format!("{ns} ns"))) }
                td class="w" { (words::source(data, &cell.peer)) }
                td class="w" { code { (or(&cell.build_hash)) } }
                td class="long" { @if cell.version.is_none() { (cell.state.name()) ": " (cell.reason.as_deref().unwrap_or_default()) } @else { "ran" } }
            } } }
        }
    };
    scroll(caption, &table)
}

fn commands(data: &Data) -> Markup {
    let run = &data.run;
    let mut command = run.command.clone();
    if let Some(program) = command.first_mut() {
        // Where the binary was built is of no use elsewhere.
        *program = "tidings".to_owned();
    }
    let mut built: Vec<String> = Vec::new();
    for cell in run
        .cells
        .iter()
        .filter(|c| c.threads > 0 && c.system != "tidings")
    {
        if !built.contains(&cell.system) {
            built.push(cell.system.clone());
        }
    }
    let setup: Vec<String> = ["tidings", "arena", "setup"]
        .map(str::to_owned)
        .into_iter()
        .chain(built)
        .collect();
    html! {
        p { "At the revision above, on a machine like the one above:" }
        pre tabindex="0" {
            "tidings arena doctor\n"
            @if setup.len() > 3 { (words::shell(&setup)) "\n" }
            (words::shell(&command)) "\n"
        }
        p { "The order of the rounds is random with the seed above (" code { "--order random:" (run.plan.order_seed) } "). This page again, and the same tables in the terminal:" }
        pre tabindex="0" {
            "tidings arena report " (words::shell(std::slice::from_ref(&run.id))) "\n"
            "tidings arena show " (words::shell(std::slice::from_ref(&run.id))) "\n"
        }
    }
}
