//! Requests by (N, M), with what differs in transport.

use maud::{Markup, html};

use super::super::data::{Data, Group};
use super::super::words::{self, NOTHING, heads, number, scroll};
use super::scenario;
use crate::arena::records::record::CellRecord;
use crate::arena::units;

pub(super) fn extras(data: &Data) -> Markup {
    let groups = data.groups_of("net");
    if !groups.iter().any(Group::has_figures) {
        return Markup::default();
    }
    let caption = "Requests per second by clients and requests";
    let columns = [
        ("system", false),
        ("variant", false),
        ("N", true),
        ("M", true),
        ("threads", true),
        ("req/s", true),
        ("time per request", true),
        ("time of all", true),
        ("ready", true),
        ("bytes on the wire per request", true),
        ("processes", false),
        ("connections", false),
        ("codec", false),
        ("client", false),
    ];
    let table = html! {
        table class="data sorts" {
            caption { b { (caption) } ": N clients with M requests each" }
            (heads(&columns))
            tbody { @for cell in groups.iter().flat_map(Group::figured) { (row(cell)) } }
        }
    };
    html! {
        h3 { "By clients and requests" }
        p { "Processes and connections are part of a cell, not a detail (" a href="#T13" { "T13" } "): cells that differ in them are not compared. "
            "Ready: to connect all clients and have one echo each, which is not part of any other figure." }
        (scroll(caption, &table))
    }
}

fn row(cell: &CellRecord) -> Markup {
    let label = |key: &str| cell.labels.get(key).map_or(NOTHING, String::as_str);
    let net = cell.net.as_ref();
    let size = |key: &str| cell.params.get(key).map(i64::to_string);
    html! {
        tr {
            th scope="row" class="stick" { (cell.system) }
            td class="w" { (cell.variant) }
            td class="n" { (size("N").unwrap_or_default()) }
            td class="n" { (size("M").unwrap_or_default()) }
            td class="n" { (cell.threads) }
            (number(cell.rate, units::rate))
            (number(cell.median(), words::time))
            (number(scenario(cell), words::time))
            (number(net.and_then(|n| n.ready_ms), |ms| words::time(ms * 1e6)))
            (number(net.and_then(|n| n.wire_bytes_per_op), units::digits))
            td { (label("processes")) } td { (label("connections")) } td { (label("codec")) } td { (label("client")) }
        }
    }
}
