//! What the tables say of cells over TCP beside their rate: ready time, bytes on the wire, latencies.

use std::fmt::Write as _;

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use crate::arena::records::record::{CellRecord, Latency, NetRecord};
use crate::arena::units;

/// Below this width only the percentiles that most readers ask for are shown.
const WIDE: u16 = 100;

/// The lines below a group's table; nothing for cells without a socket.
pub(crate) fn lines(text: &mut String, rows: &[&CellRecord], width: u16) {
    let seen: Vec<(&str, &NetRecord)> = rows
        .iter()
        .filter_map(|cell| Some((cell.system.as_str(), cell.net.as_ref()?)))
        .filter(|(_, net)| net.ready_ms.is_some())
        .collect();
    if seen.is_empty() {
        return;
    }
    let mut table = plain(width);
    table.set_header(["", "ready", "bytes/req"]);
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    for (system, net) in &seen {
        table.add_row([
            Cell::new(system),
            Cell::new(or_dash(
                net.ready_ms.map(|ms| format!("{} ms", units::digits(ms))),
            )),
            Cell::new(or_dash(net.wire_bytes_per_op.map(units::digits))),
        ]);
    }
    write(text, &mut table, 1);
    if seen.iter().any(|(_, net)| !net.latency.is_empty()) {
        latencies(text, &seen, width);
    }
}

fn latencies(text: &mut String, seen: &[(&str, &NetRecord)], width: u16) {
    let mut table = plain(width);
    let mut head = vec!["", "load", "req/s", "p50", "p99", "p99.9", "max"];
    if width >= WIDE {
        head.insert(4, "p90");
        head.push("requests");
    }
    table.set_header(head);
    for (system, net) in seen {
        for latency in &net.latency {
            table.add_row(row(system, latency, width >= WIDE));
        }
    }
    text.push_str("  µs from the time a request was due (and from the time it was sent)\n");
    write(text, &mut table, 1);
}

fn row(system: &str, latency: &Latency, wide: bool) -> Vec<String> {
    let (from_due, from_sent) = (&latency.latency_ns, &latency.service_ns);
    let both = |a: u64, b: u64| format!("{} ({})", micros(a), micros(b));
    let got = if latency.kept_up {
        String::new()
    } else {
        format!(", had {}", units::rate(latency.achieved))
    };
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let asked = latency.rate as f64;
    let mut row = vec![
        system.to_owned(),
        format!("{} %", latency.load_percent),
        format!("{}{got}", units::rate(asked)),
        both(from_due.p50, from_sent.p50),
        both(from_due.p99, from_sent.p99),
        both(from_due.p999, from_sent.p999),
        both(from_due.max, from_sent.max),
    ];
    if wide {
        row.insert(4, both(from_due.p90, from_sent.p90));
        row.push(latency.count.to_string());
    }
    row
}

fn micros(ns: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let micros = ns as f64 / 1e3;
    units::digits(micros)
}

pub(crate) fn plain(width: u16) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width);
    table
}

/// Writes a table whose columns from `first` on hold numbers.
pub(crate) fn write(text: &mut String, table: &mut Table, first: usize) {
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if index >= first {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in table.lines() {
        let _ = writeln!(text, "  {}", line.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::statistics::histogram::Percentiles;

    #[test]
    fn a_load_is_one_row_and_says_if_it_was_too_much() {
        let at = |p50: u64| Percentiles {
            p50,
            p90: 2 * p50,
            p99: 3 * p50,
            p999: 4 * p50,
            max: 5 * p50,
        };
        let mut latency = Latency {
            load_percent: 80,
            rate: 120_000,
            achieved: 119_500.0,
            kept_up: true,
            samples: 3,
            count: 360_000,
            latency_ns: at(90_000),
            service_ns: at(40_000),
        };
        let shown = row("go", &latency, true).join("|");
        assert_eq!(
            shown,
            "go|80 %|120 k|90.0 (40.0)|180 (80.0)|270 (120)|360 (160)|450 (200)|360000"
        );
        latency.kept_up = false;
        latency.achieved = 80_000.0;
        assert!(row("go", &latency, false)[2].contains("had 80.0 k"));
    }
}
