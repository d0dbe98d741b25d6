//! Requests by (N, M), with what differs in transport.

use maud::{Markup, html};

use super::super::super::units;
use super::super::data::Data;
use super::super::words::{self, NOTHING, heads, number, scroll};
use super::scenario;

pub(super) fn extras(data: &Data) -> Markup {
    let groups = data.groups_of("net");
    if !groups.iter().any(super::super::data::Group::has_figures) {
        return Markup::default();
    }
    let caption = "Requests per second by clients and requests";
    let label = |cell: &super::super::super::record::CellRecord, key: &str| {
        cell.labels
            .get(key)
            .cloned()
            .unwrap_or_else(|| NOTHING.to_owned())
    };
    let size = |cell: &super::super::super::record::CellRecord, key: &str| {
        cell.params
            .get(key)
            .map_or(NOTHING.to_owned(), i64::to_string)
    };
    let table = html! {
        table class="data sorts" {
            caption { b { (caption) } ": N clients with M requests each" }
            (heads(&[("system", false), ("variant", false), ("N", true), ("M", true), ("req/s", true), ("time per request", true),
                ("time of all", true), ("processes", false), ("connections", false), ("codec", false), ("labels", false)]))
            tbody { @for group in &groups { @for cell in group.figured() { tr {
                th scope="row" class="stick" { (cell.system) }
                td class="w" { (cell.variant) }
                td class="n" { (size(cell, "N")) }
                td class="n" { (size(cell, "M")) }
                (number(cell.rate, units::rate))
                (number(cell.ns_per_op.map(|f| f.median), words::time))
                (number(scenario(cell), words::time))
                td { (label(cell, "processes")) } td { (label(cell, "connections")) } td { (label(cell, "codec")) }
                td class="w" { (words::labels(cell)) }
            } } } }
        }
    };
    html! {
        h3 { "By clients and requests" }
        p { "Processes and connections are part of a cell, not a detail (" a href="#T13" { "T13" } "): cells that differ in them are not compared." }
        (scroll(caption, &table))
    }
}
