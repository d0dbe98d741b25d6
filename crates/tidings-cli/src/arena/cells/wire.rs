//! What the cells over TCP have of their own: processes, connections, open files, bytes on the loopback device.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::arena::cells::workload::{CellId, Params};
use crate::arena::statistics::stats;

/// Open files a process may need beside its sockets.
const OTHER_FILES: i64 = 100;
/// Above this share of a sample's bytes others used the device too, and its bytes are not counted.
const FOREIGN: f64 = 0.1;

/// How the clients of a cell reach their servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tcp {
    pub(crate) processes: u32,
    pub(crate) connections: &'static str,
}

impl Tcp {
    /// `None` for cells without a socket.
    pub(crate) fn of(cell: &CellId) -> Option<Self> {
        let (processes, connections) = match (cell.workload, cell.variant.as_str()) {
            ("net", "echo" | "paced") => (2, "per-client"),
            ("net", "echo-mux" | "cluster") => (2, "1"),
            ("net", "echo-oneproc") => (1, "per-client"),
            _ => return None,
        };
        Some(Self {
            processes,
            connections,
        })
    }
}

/// Whether one process is the whole cell, so that what it allocates is the cell's.
pub(crate) fn is_one_process(cell: &CellId) -> bool {
    Tcp::of(cell).is_none_or(|tcp| tcp.processes == 1)
}

/// Adds what the variant itself says to a cell's labels.
pub(crate) fn label(cell: &CellId, labels: &mut BTreeMap<String, String>) {
    if let Some(tcp) = Tcp::of(cell) {
        labels.insert("processes".to_owned(), tcp.processes.to_string());
        labels.insert("connections".to_owned(), tcp.connections.to_owned());
    }
}

/// Files that each process of a cell must be able to open, 0 for what every process may.
pub(crate) fn open_files(cell: &CellId, params: &Params) -> u64 {
    let sockets = Tcp::of(cell).map_or(0, |_| 2 * params.get("N").copied().unwrap_or(0));
    match sockets {
        0 => 0,
        sockets => u64::try_from(sockets.saturating_add(OTHER_FILES)).unwrap_or(u64::MAX),
    }
}

/// A higher limit of open files, for the processes started while this lives.
#[derive(Debug)]
pub(crate) struct Files {
    before: Rlimit,
}

impl Files {
    /// Raises the limit if it must be. The error says what is missing.
    pub(crate) fn allow(count: u64) -> Result<Option<Self>, String> {
        let before = getrlimit(Resource::Nofile);
        if before.current.is_none_or(|limit| limit >= count) {
            return Ok(None);
        }
        let raised = Rlimit {
            current: Some(count),
            maximum: before.maximum,
        };
        match before.maximum {
            Some(hard) if hard < count => Err(format!(
                "needs {count} open files and may have {hard} (ulimit -Hn)"
            )),
            _ => setrlimit(Resource::Nofile, raised)
                .map(|()| Some(Self { before }))
                .map_err(|e| format!("cannot raise the limit of open files to {count}: {e}")),
        }
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = setrlimit(Resource::Nofile, self.before);
    }
}

/// Bytes sent over the loopback device so far, both directions of every connection. `None` where the kernel does not say.
pub(crate) fn loopback_bytes() -> Option<u64> {
    sent(&fs::read_to_string("/proc/net/dev").ok()?)
}

fn sent(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("lo:"))?;
    // Eight fields of what was received, then the bytes sent. Every packet is both.
    line.split_ascii_whitespace().nth(8)?.parse().ok()
}

/// Rests, and tells how many bytes a nanosecond went over the loopback device meanwhile.
pub(crate) fn rest(time: Duration) -> f64 {
    let (begin, before) = (Instant::now(), loopback_bytes());
    std::thread::sleep(time);
    let bytes = before.zip(loopback_bytes()).map_or(0, |(a, b)| b - a);
    #[expect(
        clippy::cast_precision_loss,
        reason = "a share that is compared with a tenth"
    )]
    let bytes = bytes as f64;
    bytes / begin.elapsed().as_secs_f64() / 1e9
}

/// What was seen of a cell's connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wire {
    /// The device counted the bytes of the clients' first echoes, so it counts all.
    pub(crate) visible: bool,
    /// Connecting and one verified echo per client: one value for each launch.
    ready_ns: Vec<f64>,
    bytes_per_op: Vec<f64>,
}

impl Wire {
    pub(crate) fn ready(&mut self, ns: u64) {
        #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
        self.ready_ns.push(ns as f64);
    }

    /// Notes the bytes of a sample, unless others were using the device before it.
    pub(crate) fn sample(&mut self, bytes: u64, ops: f64, wall_ns: u64, idle: f64) {
        #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
        let (bytes, wall_ns) = (bytes as f64, wall_ns as f64);
        if self.visible && idle * wall_ns <= FOREIGN * bytes {
            self.bytes_per_op.push(bytes / ops);
        }
    }

    pub(crate) fn ready_ms(&self) -> Option<f64> {
        median(&self.ready_ns).map(|ns| ns / 1e6)
    }

    pub(crate) fn bytes_per_op(&self) -> Option<f64> {
        median(&self.bytes_per_op)
    }
}

fn median(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| stats::median(values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::cells::workload::parse_cell_id;

    #[test]
    fn the_loopback_line_is_read() {
        let text = "Inter-|   Receive  |  Transmit\n face |bytes\n    lo:    3193      29    0    0    0     \
                    0          0         0     3201      29    0    0    0     0       0          0\n  eth0: 5\n";
        assert_eq!(sent(text), Some(3201));
        assert_eq!(sent("  eth0: 1 2 3 4 5 6 7 8 9\n"), None);
        assert_eq!(sent("lo: 1 2\n"), None);
    }

    #[test]
    fn variants_have_their_processes_and_files() {
        let at = |id: &str| {
            let cell = parse_cell_id(id).expect("known");
            let params = Params::from([("N".to_owned(), 1000), ("M".to_owned(), 5)]);
            (
                Tcp::of(&cell).map(|tcp| tcp.processes),
                open_files(&cell, &params),
            )
        };
        assert_eq!(at("net/echo"), (Some(2), 2100));
        assert_eq!(at("net/echo-mux"), (Some(2), 2100));
        assert_eq!(at("net/cluster"), (Some(2), 2100));
        assert_eq!(at("net/echo-oneproc"), (Some(1), 2100));
        assert_eq!(at("net/paced"), (Some(2), 2100));
        assert_eq!(at("net/local"), (None, 0));
        assert_eq!(at("pingpong/tell"), (None, 0));
    }

    #[test]
    fn files_are_allowed_and_taken_back() {
        let before = getrlimit(Resource::Nofile);
        assert!(matches!(Files::allow(10), Ok(None)));
        if let Some(hard) = before.maximum {
            let error = Files::allow(hard + 1).expect_err("above the hard limit");
            assert!(error.contains("open files"), "{error}");
        }
        assert_eq!(getrlimit(Resource::Nofile).current, before.current);
    }

    #[test]
    fn bytes_count_only_when_the_device_is_ours() {
        let mut wire = Wire::default();
        wire.sample(1000, 10.0, 1_000_000, 0.0);
        assert_eq!(wire.bytes_per_op(), None, "the device counts nothing");
        wire.visible = true;
        wire.sample(1000, 10.0, 1_000_000, 0.0);
        wire.sample(9000, 10.0, 1_000_000, 0.005);
        assert_eq!(wire.bytes_per_op(), Some(100.0));
        wire.ready(2_500_000);
        assert_eq!(wire.ready_ms(), Some(2.5));
    }
}
