//! One cell while it is measured: its peer, its samples so far, and how it failed if it did.

use std::time::{Duration, Instant};

use crate::arena::cells::plan::{Cell, Group};
use crate::arena::cells::wire::{self, Tcp, Wire};
use crate::arena::cells::workload::{Expected, expected};
use crate::arena::machine::interrupt::Interrupt;
use crate::arena::peers::peer::{Checked, Launch, Peer};
use crate::arena::peers::proc_tree;
use crate::arena::peers::protocol::Hello;
use crate::arena::records::record::{Alloc, NetRecord, SampleRecord};
use crate::arena::records::state::{Failure, State};
use crate::arena::sampling::noise::{Gate, Surroundings, Tally};
use crate::arena::sampling::paced::{self, Load};
use crate::arena::statistics::verdict::Series;

/// Which part of the measurement a sample belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Pilot,
    Warm,
    Round,
    Paced,
    Elision,
    Alloc,
}

impl Phase {
    fn name(self) -> &'static str {
        match self {
            Self::Pilot => "pilot",
            Self::Warm => "warm",
            Self::Round => "round",
            Self::Paced => "paced",
            Self::Elision => "elision",
            Self::Alloc => "alloc",
        }
    }
}

/// The state of one cell's measurement.
#[derive(Debug)]
pub(crate) struct Track {
    pub(crate) cell: Cell,
    pub(crate) launch: Launch,
    pub(crate) expected: Expected,
    /// How long it was guessed to take (`estimate`).
    pub(crate) guessed: Duration,
    pub(crate) peer: Option<Peer>,
    pub(crate) failure: Option<Failure>,
    /// Standard error of the peer that failed, or of the last one.
    pub(crate) log: Vec<u8>,
    /// Takes part in the next round.
    pub(crate) active: bool,
    pub(crate) inner: u64,
    /// How long a sample of that many repetitions takes, as the pilot saw it.
    pub(crate) sample_time: Duration,
    pub(crate) elision_tested: bool,
    /// What is to be known of its figure, though nothing is wrong with it.
    pub(crate) remark: Option<String>,
    pub(crate) first: Option<f64>,
    pub(crate) series: Series,
    pub(crate) steady: bool,
    pub(crate) hello: Option<Hello>,
    pub(crate) startup_ms: Option<f64>,
    pub(crate) alloc: Option<Alloc>,
    pub(crate) gc: Vec<u64>,
    pub(crate) peak_rss: Option<u64>,
    /// Sums over the samples of rounds.
    pub(crate) cpu_ns: u64,
    pub(crate) timed_ns: u64,
    pub(crate) timed_ops: f64,
    pub(crate) noise: Tally,
    /// Of cells over TCP.
    pub(crate) wire: Wire,
    /// Of paced cells.
    pub(crate) loads: Vec<Load>,
}

/// What a sample is written down with.
#[derive(Debug)]
pub(crate) struct Journal {
    pub(crate) begin: Instant,
    pub(crate) launch: u32,
    pub(crate) pending: Vec<SampleRecord>,
}

impl Track {
    pub(crate) fn new(group: &Group, cell: Cell, launch: Launch, guessed: Duration) -> Self {
        let launch = Launch {
            files: wire::open_files(&group.id, &group.params),
            ..launch
        };
        Self {
            expected: expected(&group.id, &group.params),
            cell,
            launch,
            guessed,
            peer: None,
            failure: None,
            log: Vec::new(),
            active: true,
            inner: 1,
            sample_time: Duration::ZERO,
            elision_tested: false,
            remark: None,
            first: None,
            series: Vec::new(),
            steady: true,
            hello: None,
            startup_ms: None,
            alloc: None,
            gc: Vec::new(),
            peak_rss: None,
            cpu_ns: 0,
            timed_ns: 0,
            timed_ops: 0.0,
            noise: Tally::default(),
            wire: Wire::default(),
            loads: Vec::new(),
        }
    }

    /// Starts the peer and freezes it until its turn.
    pub(crate) fn start(&mut self, group: &Group, interrupt: &Interrupt) {
        match Peer::start(&self.launch, interrupt) {
            Ok(peer) => {
                let listed = peer.hello().cells.contains(&group.id.to_string());
                self.startup_ms
                    .get_or_insert(peer.startup().as_secs_f64() * 1e3);
                self.hello.get_or_insert_with(|| peer.hello().clone());
                peer.freeze();
                self.peer = Some(peer);
                if !listed {
                    let reason = "its manifest lists the cell, its hello does not";
                    self.fail(Failure::new(State::Unsupported, reason));
                }
            }
            Err((failure, log)) => {
                self.fail(failure);
                self.log = log;
            }
        }
    }

    /// Ends the cell. Its peer is killed; its samples so far are kept.
    pub(crate) fn fail(&mut self, failure: Failure) {
        self.active = false;
        if let Some(peer) = self.peer.take() {
            self.log = peer.into_log();
        }
        self.failure.get_or_insert(failure);
    }

    /// Does one thing with the thawed peer; a failure ends the cell.
    pub(crate) fn with<T>(
        &mut self,
        act: impl FnOnce(&mut Peer) -> Result<T, Failure>,
    ) -> Option<T> {
        let peer = self.peer.as_mut()?;
        peer.thaw();
        let result = act(peer);
        peer.freeze();
        match result {
            Ok(value) => Some(value),
            Err(failure) => {
                self.fail(failure);
                None
            }
        }
    }

    /// `prep` at the group's size, memory counted from here.
    pub(crate) fn prepare(&mut self, group: &Group, seed: u64) {
        let before = Tcp::of(&group.id).and_then(|_| wire::loopback_bytes());
        let ready = self.with(|peer| peer.prepare(&group.id, &group.params, seed));
        if let Some(ns) = ready.flatten() {
            self.wire.ready(ns);
        }
        let counted = before.zip(wire::loopback_bytes());
        let echoes = u64::try_from(self.expected.units).unwrap_or(u64::MAX);
        self.wire.visible = counted.is_some_and(|(before, now)| now - before >= echoes);
        for pid in self.peer.iter().flat_map(Peer::pids) {
            proc_tree::reset_peak(*pid);
        }
    }

    /// Peak memory of the peer's processes since `prepare`, summed; one that has ended since is left out.
    pub(crate) fn peak(&self) -> Option<u64> {
        let pids = self.peer.as_ref()?.pids().iter();
        let peaks = pids.filter_map(|pid| proc_tree::peak(*pid));
        peaks.reduce(|sum, peak| sum + peak)
    }

    /// Does one thing with the thawed peer and looks at the machine around it.
    pub(crate) fn gated<T>(
        &mut self,
        group: &Group,
        act: impl FnOnce(&mut Peer) -> Result<T, Failure>,
    ) -> Option<(T, Surroundings)> {
        let over_tcp = Tcp::of(&group.id).is_some();
        self.with(|peer| {
            let gate = Gate::open(peer.pids().to_vec(), over_tcp);
            let done = act(peer)?;
            Ok((done, gate.close()))
        })
    }

    /// Takes one sample and writes it down.
    pub(crate) fn sample(
        &mut self,
        group: &Group,
        journal: &mut Journal,
        phase: Phase,
        round: usize,
        inner: u64,
    ) -> Option<(Checked, Surroundings)> {
        let (checked, around) = self.gated(group, |peer| peer.run(inner, phase == Phase::Alloc))?;
        journal
            .pending
            .push(self.line(group, journal, phase, round, &checked, &around));
        self.carried(checked.sample.msgs, &around)?;
        let per_op = self.per_op(checked.sample.ns, inner);
        self.first.get_or_insert(per_op);
        Some((checked, around))
    }

    /// Ends a cell whose messages cannot have gone over the loopback device: none is shorter than a byte, and others can
    /// only add to what is seen there.
    pub(crate) fn carried(&mut self, msgs: u64, around: &Surroundings) -> Option<()> {
        let bytes = around.wire_bytes.filter(|_| self.wire.visible);
        let Some(bytes) = bytes.filter(|bytes| *bytes < msgs) else {
            return Some(());
        };
        let reason = format!("{bytes} bytes on the loopback for {msgs} messages");
        self.fail(Failure::new(State::Elided, reason));
        None
    }

    /// What is written down of a sample.
    pub(crate) fn line(
        &self,
        group: &Group,
        journal: &Journal,
        phase: Phase,
        round: usize,
        checked: &Checked,
        around: &Surroundings,
    ) -> SampleRecord {
        let sample = &checked.sample;
        SampleRecord {
            cell: format!("{}@{}", group.id, self.cell.system),
            params: group.params.clone(),
            threads: group.threads,
            launch: journal.launch,
            phase: phase.name().into(),
            round,
            inner: sample.inner,
            ns: sample.ns,
            wall_ns: checked.wall_ns,
            msgs: sample.msgs,
            units: sample.units,
            check: sample.check,
            cpu_ns: around.peer_cpu_ns,
            foreign_ticks: around.foreign_ticks,
            noisy: around.is_noisy(),
            at_ms: u64::try_from(journal.begin.elapsed().as_millis()).unwrap_or(u64::MAX),
            gc: sample.gc.clone(),
            alloc_bytes: sample.alloc_bytes,
            alloc_count: sample.alloc_count,
            wire_bytes: around.wire_bytes,
            rate: None,
            hist: Vec::new(),
            hist_service: Vec::new(),
        }
    }

    /// What the record says of a cell over TCP.
    pub(crate) fn net(&self, group: &Group) -> Option<NetRecord> {
        Tcp::of(&group.id)?;
        Some(NetRecord {
            ready_ms: self.wire.ready_ms(),
            wire_bytes_per_op: self.wire.bytes_per_op(),
            latency: paced::records(&self.loads),
        })
    }

    /// Operations in a sample of `inner` repetitions.
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts far below 2^53 matter only as ratios"
    )]
    pub(crate) fn ops(&self, inner: u64) -> f64 {
        self.expected.ops as f64 * inner as f64
    }

    /// Nanoseconds per operation.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a sample is far shorter than 2^53 ns"
    )]
    pub(crate) fn per_op(&self, ns: u64, inner: u64) -> f64 {
        ns as f64 / self.ops(inner)
    }

    /// Samples of rounds so far.
    pub(crate) fn samples(&self) -> usize {
        self.series.iter().flatten().flatten().count()
    }
}
