//! How the figures were made, in words, and who made them.

use maud::{Markup, html};

use super::data::Data;
use crate::arena::sampling::noise::{FOREIGN_RUN, NOISY_RUN};
use crate::arena::statistics::stats;
use crate::arena::statistics::verdict::MARGIN;

pub(super) fn page(data: &Data) -> Markup {
    html! {
        (measurement(data))
        (statistics(data))
        (fairness())
        (bias(data))
    }
}

fn measurement(data: &Data) -> Markup {
    html! {
        h3 { "Measurement" }
        p { "Every system runs as a process of its own and times itself on its monotonic clock; the harness compares that with its own clock. "
            "tidings is such a process too, speaks the same protocol and has no privilege." }
        p { "Every sample is checked: messages, units created and a sum computed from the messages received must equal the formula of the workload, "
            "and the time must grow with the work. A sample that fails ends its cell, which then has a state and no figure." }
        p { "Cells of one group are interleaved: in each round every system takes one sample, in random order, so that drift of the machine meets all alike. "
            "Before that, the size of a sample is found (pilot) and the process is warmed up. Processes that are not in turn are frozen." }
        p { "Around each sample the harness looks at what else used the CPUs. A sample in which others took more than 3 % and three ticks of the kernel's clock, "
            "which is that coarse, is noisy and is repeated at the end of its round, twice at most. The last one counts, whatever its value, for the ratio too, "
            "whose other side is not repeated. Above " (format!("{:.0} %", 100.0 * NOISY_RUN)) " of noisy samples, or where others took more than " (format!("{:.0} %", 100.0 * FOREIGN_RUN)) " of the CPUs, the whole run is called noisy and verdicts need twice the margin." }
        p { "A cell stops when the 95 % interval of its median is within ±" (format!("{:.0} %", 100.0 * data.run.plan.target_ci))
            ", looked at after fixed rounds only, in each launch by itself, and never because of who leads; or when rounds or budget are used up." }
    }
}

fn statistics(data: &Data) -> Markup {
    html! {
        h3 { "Statistics" }
        ul {
            li { strong { "Value" } ": nanoseconds per counted operation. Shown: the median and its 95 % interval; the rate is its reciprocal." }
            li { strong { "Interval" } ": bootstrap of the median with " (stats::RESAMPLES) " resamples and a fixed seed, percentiles widened for few values (Hesterberg). "
                "With several launches launches are drawn first, then samples, and the interval is at least Student's for the medians of the launches (of their logarithms). "
                @if data.run.plan.launches < 2 { "This run has one launch: the variance between processes is not seen. " }
                "With fewer than " (stats::MIN_FOR_INTERVAL) " samples the range is printed instead." }
            li { strong { "Ratio" } ": time of a system over time of the reference in the same round, so that drift cancels; median and bootstrap interval of its logarithm." }
            li { strong { "Verdict" } ": faster or slower if the interval lies wholly beyond ±" (format!("{:.0} %", 100.0 * MARGIN))
                "; the same if wholly inside; otherwise not shown. \"Not shown\" is a result, not a gap." }
            li { strong { "Rank" } ": among systems that make units of one class; those whose 99 % intervals overlap with that of the best of a rank share it. Floors and originals have none. "
                "Mailboxes, replies, codecs and clients that differ are named in the row, and ranked together." }
            li { strong { "Outliers" } ": counted by Tukey's rule with their share of the variance, and never removed: the pauses are part of the result." }
            li { strong { "Warm-up" } ": until the medians of the last two windows of four samples agree and the last eight show no trend; otherwise the cell is called unsteady and drawn hollow. "
                "The first sample of the process is reported as cold start." }
            li { strong { "No single number" } ": figures of unlike workloads are not averaged." }
        }
    }
}

fn fairness() -> Markup {
    html! {
        h3 { "Rules of fairness" }
        ol {
            li { "Same units, same messages, same timed region, same check. Where a runtime cannot, the row says in what it differs; units of another class are a ranking of their own." }
            li { "Divided only by work performed: peers count units and messages, and the harness verifies." }
            li { "Idiomatic code of the system first, tuned settings second and beside it, never instead. Default settings except thread count, heap size, and what a documented production guide says; every flag is printed." }
            li { "The latest stable version obtainable; the seed's version where it still builds; both named." }
            li { "The same payload: strict variants carry a 64-bit sequence number; those without payload say so." }
            li { "No cell knows that it is benchmarked: sizes come with the command, and the smoke test uses odd ones." }
            li { "Ties are ties. No rank without disjoint intervals, no single-run figure, no mean of unlike things." }
            li { "Contention workloads are called so (counter)." }
        }
    }
}

fn bias(data: &Data) -> Markup {
    html! {
        h3 id="bias" { "Bias" }
        p { strong { "The authors of tidings wrote every peer" } ", the harness, and this report, and tidings is one of the systems measured. "
            "The workloads come from five documents chosen by others, two of them by competitors. We know Rust best, so the peers in other languages are the ones most likely to be improvable." }
        p { @if data.run.env.cores <= 2 { "This machine has " (data.run.env.cores) " cores"
                @if data.run.env.hypervisor { " in a virtual machine" }
                ": that favours runtimes that switch contexts cheaply, and hides how systems scale. " }
            "Results of one machine say little about another." }
        p { "What we do about it: the source of every peer is named in every row, with the hash of its build; " code { "tidings arena smoke" } " shows that it does the work; "
            "losses of the reference are listed first; every sample is kept and is in this page. "
            "If a peer can be written better in the idiom of its system, that is a bug of ours: please send the change." }
    }
}
