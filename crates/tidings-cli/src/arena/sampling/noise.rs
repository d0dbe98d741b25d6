//! The noise gate: how much of the machine others used while a sample ran.

use std::fs;

use crate::arena::cells::wire;
use crate::arena::peers::proc_tree;

/// Above this share of a sample's CPU capacity the sample is noisy.
const LIMIT: f64 = 0.03;
/// Clock ticks are coarse: each of the readings compared may be off by one.
const SLACK_TICKS: f64 = 3.0;
/// Above this share of noisy samples the run's verdicts need twice the margin.
pub(crate) const NOISY_RUN: f64 = 0.2;
/// The same above this share of the CPUs: what is spread evenly is within the slack of each short sample.
pub(crate) const FOREIGN_RUN: f64 = 0.1;
/// Of fewer ticks the share is mostly rounding.
const TELLING_TICKS: u64 = 50;

/// The machine's clocks at one moment, in ticks but where it says otherwise.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    busy: u64,
    softirq: u64,
    steal: u64,
    total: u64,
    peer: u64,
    /// In nanoseconds.
    peer_cpu: u64,
    own: u64,
}

/// `peer`: all its processes. What one of them took that has ended since is in its parent's, if that waited for it.
fn read(peer: &[u32]) -> Reading {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    let ticks: Vec<u64> = line
        .split_ascii_whitespace()
        .skip(1)
        .filter_map(|t| t.parse().ok())
        .collect();
    let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
    // user, nice, system, idle, iowait, irq, softirq, steal; guest times are inside user.
    let busy = at(0) + at(1) + at(2) + at(5) + at(6);
    Reading {
        busy,
        softirq: at(6),
        steal: at(7),
        total: busy + at(3) + at(4) + at(7),
        peer: peer.iter().map(|pid| proc_tree::cpu_ticks(*pid)).sum(),
        peer_cpu: peer.iter().map(|pid| proc_tree::cpu_ns(*pid)).sum(),
        own: proc_tree::cpu_ticks(std::process::id()),
    }
}

/// A measurement that has begun.
#[derive(Debug)]
pub(crate) struct Gate {
    peer: Vec<u32>,
    /// Bytes sent over the loopback device, where the cell uses it.
    wire: Option<u64>,
    over_tcp: bool,
    begin: Reading,
}

/// What a sample's surroundings were.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Surroundings {
    /// CPU ticks of others, and those the hypervisor took. By rounding it may be less than none: a sum is true.
    pub(crate) foreign_ticks: i64,
    /// Ticks that all CPUs had.
    pub(crate) capacity_ticks: u64,
    /// CPU time of the peer.
    pub(crate) peer_cpu_ns: u64,
    /// Bytes sent over the loopback device, by anybody.
    pub(crate) wire_bytes: Option<u64>,
}

impl Gate {
    /// `over_tcp`: the peer's processes talk over the loopback device.
    pub(crate) fn open(peer: Vec<u32>, over_tcp: bool) -> Self {
        Self {
            wire: over_tcp.then(wire::loopback_bytes).flatten(),
            over_tcp,
            begin: read(&peer),
            peer,
        }
    }

    pub(crate) fn close(self) -> Surroundings {
        let end = read(&self.peer);
        let wire_end = self.wire.and_then(|_| wire::loopback_bytes());
        let grown = |of: fn(&Reading) -> u64| of(&end).saturating_sub(of(&self.begin));
        let peer = grown(|r| r.peer);
        // What the kernel does for a packet is the peer's work, but some kernels count it apart and for nobody.
        let softirq = if self.over_tcp {
            grown(|r| r.softirq)
        } else {
            0
        };
        let known = peer + grown(|r| r.own);
        let unknown = grown(|r| r.busy).cast_signed() - known.cast_signed();
        // It explains what nobody else is known to have taken, and no more: where it was counted for the peer, nothing.
        let explained = softirq.cast_signed().min(unknown.max(0));
        Surroundings {
            foreign_ticks: unknown - explained + grown(|r| r.steal).cast_signed(),
            capacity_ticks: grown(|r| r.total),
            peer_cpu_ns: grown(|r| r.peer_cpu),
            wire_bytes: self.wire.zip(wire_end).map(|(a, b)| b.saturating_sub(a)),
        }
    }
}

impl Surroundings {
    #[expect(clippy::cast_precision_loss, reason = "ticks of one run")]
    pub(crate) fn is_noisy(&self) -> bool {
        self.foreign_ticks as f64 > SLACK_TICKS + LIMIT * self.capacity_ticks as f64
    }
}

/// Counts of a whole run or cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Tally {
    pub(crate) samples: u64,
    pub(crate) noisy: u64,
    pub(crate) repeated: u64,
    pub(crate) foreign_ticks: i64,
    pub(crate) capacity_ticks: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, around: &Surroundings) {
        self.samples += 1;
        self.noisy += u64::from(around.is_noisy());
        self.foreign_ticks += around.foreign_ticks;
        self.capacity_ticks += around.capacity_ticks;
    }

    /// Did others disturb it: many of its samples, or all of them a little?
    pub(crate) fn is_noisy(&self) -> bool {
        let is_told = self.capacity_ticks >= TELLING_TICKS;
        self.noisy_share() > NOISY_RUN || is_told && self.foreign_share() > FOREIGN_RUN
    }

    /// Share of the samples that were noisy.
    pub(crate) fn noisy_share(&self) -> f64 {
        share(self.noisy, self.samples)
    }

    /// Share of the machine's CPU time that others took.
    pub(crate) fn foreign_share(&self) -> f64 {
        share(
            self.foreign_ticks.max(0).cast_unsigned(),
            self.capacity_ticks,
        )
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of one run")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gate_fires_on_foreign_work_and_not_on_rounding() {
        let around = |foreign_ticks, capacity_ticks| Surroundings {
            foreign_ticks,
            capacity_ticks,
            peer_cpu_ns: 0,
            wire_bytes: None,
        };
        assert!(!around(0, 10).is_noisy());
        assert!(
            !around(3, 10).is_noisy(),
            "within the rounding of four readings"
        );
        assert!(around(5, 10).is_noisy());
        assert!(around(20, 400).is_noisy());
        let mut tally = Tally::default();
        tally.add(&around(5, 10));
        tally.add(&around(0, 10));
        assert!((tally.noisy_share() - 0.5).abs() < 1e-9);
        assert!((tally.foreign_share() - 0.25).abs() < 1e-9);
    }

    #[test]
    fn a_little_of_each_sample_is_noise_too_and_rounding_evens_out() {
        let tally = |ticks: [i64; 2]| {
            let mut tally = Tally::default();
            for foreign_ticks in ticks.repeat(10) {
                tally.add(&Surroundings {
                    foreign_ticks,
                    capacity_ticks: 10,
                    ..Surroundings::default()
                });
            }
            tally
        };
        assert!(tally([3, 3]).noisy_share() < 1e-9);
        assert!(tally([3, 3]).is_noisy());
        assert!(!tally([2, -2]).is_noisy());
    }

    #[test]
    fn a_gate_around_this_process_reads_something() {
        let gate = Gate::open(vec![std::process::id()], false);
        let around = gate.close();
        assert!(around.capacity_ticks < 1000);
    }
}
