//! The data behind the page, embedded in it, and the buttons that save it.

use std::collections::BTreeMap;

use maud::{Markup, PreEscaped, html};
use serde_json::{Value, json};

use super::data::Data;
use super::words::counted;
use crate::arena::exit::Stop;

/// What is kept of a sample, after the index of its cell.
const COLUMNS: &[&str] = &[
    "cell",
    "launch",
    "phase",
    "round",
    "inner",
    "ns",
    "wall_ns",
    "cpu_ns",
    "msgs",
    "units",
    "check",
    "foreign_ticks",
    "noisy",
    "at_ms",
    "gc",
    "alloc_bytes",
    "alloc_count",
];

pub(super) fn page(data: &Data) -> Markup {
    html! {
        p { "This page holds the record of the run (" (counted(data.run.cells.len(), "cell")) ") and of every sample ("
            (counted(data.samples.len(), "sample")) "). Buttons to save them as JSON or CSV appear where scripts run; without scripts, the same data is in "
            code { "run.json" } " and " code { "samples.ndjson" } " in the folder of the run, and as text in this file, in the elements "
            code { "run-data" } " and " code { "sample-data" } "." }
        div class="downloads" data-run=(data.run.id) {}
        p { "Schema of the record: " code { (data.run.schema) } ". Times are in nanoseconds, memory is in bytes, ratios are time over time of the reference. "
            "A sample's time per operation is ns / (inner × ops of its cell)." }
    }
}

/// The data as JSON inside the document.
pub(super) fn embedded(data: &Data) -> Result<Markup, Stop> {
    let run = serde_json::to_value(&data.run)
        .map_err(|e| Stop::internal(format!("cannot write the record: {e}")))?;
    let samples = samples(data);
    Ok(html! {
        script type="application/json" id="run-data" { (PreEscaped(inside(&run))) }
        script type="application/json" id="sample-data" { (PreEscaped(inside(&samples))) }
    })
}

/// JSON that cannot end the element it stands in.
fn inside(value: &Value) -> String {
    value
        .to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

fn samples(data: &Data) -> Value {
    let mut places: BTreeMap<_, usize> = BTreeMap::new();
    let mut cells = Vec::new();
    let mut rows = Vec::new();
    for sample in &data.samples {
        let s = sample;
        let key = (&s.cell, &s.params, s.threads);
        let place = *places.entry(key).or_insert_with(|| {
            cells.push(json!({ "cell": s.cell, "params": s.params, "threads": s.threads }));
            cells.len() - 1
        });
        rows.push(json!([
            place,
            s.launch,
            s.phase,
            s.round,
            s.inner,
            s.ns,
            s.wall_ns,
            s.cpu_ns,
            s.msgs,
            s.units,
            s.check,
            s.foreign_ticks,
            s.noisy,
            s.at_ms,
            s.gc,
            s.alloc_bytes,
            s.alloc_count
        ]));
    }
    json!({ "columns": COLUMNS, "cells": cells, "rows": rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_json_cannot_end_its_element() {
        let hostile = json!({ "log": "</script><script>alert(1)</script><!-- &amp;" });
        let text = inside(&hostile);
        assert!(
            !text.contains('<') && !text.contains('>') && !text.contains('&'),
            "{text}"
        );
        let back: Value = serde_json::from_str(&text).expect("still JSON");
        assert_eq!(back, hostile);
    }
}
