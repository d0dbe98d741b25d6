//! `tidings arena peer test`: does a peer keep the protocol, count what it does and time it honestly? One line a check.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::arena::cells::plan::{Cell, Group};
use crate::arena::cells::size::{self, Profile};
use crate::arena::cells::workload::{self, CellId};
use crate::arena::exit::{Exit, Stop};
use crate::arena::machine::interrupt::Interrupt;
use crate::arena::peers::build;
use crate::arena::peers::catalog::{self, Readiness};
use crate::arena::peers::manifest::Manifest;
use crate::arena::peers::peer::{Launch, Leave, Peer};
use crate::arena::peers::protocol::{Hello, Line, RefusalKind};
use crate::arena::peers::ready;
use crate::arena::records::state::{Failure, State};
use crate::arena::sampling::options;
use crate::arena::sampling::pilot;
use crate::arena::sampling::track::{Journal, Phase, Track};
use crate::arena::terminal::{self, Style};
use crate::arena::verbs::smoke;
use crate::cli::PeerTestArgs;

/// Samples for the look at the clock are raised to this.
const SAMPLE: Duration = Duration::from_millis(20);
/// A clock with coarser steps cannot time a sample.
const COARSEST_CLOCK: u64 = 10_000_000;

/// The test of one system.
struct Trial<'a> {
    launch: Launch,
    manifest: Option<&'a Manifest>,
    interrupt: &'a Interrupt,
    style: Style,
    timing: bool,
    /// Between checks it stands idle; a failed check ends it, and the next starts another.
    peer: Option<Peer>,
    passed: u32,
    failed: u32,
}

pub(crate) fn test(args: &PeerTestArgs) -> Result<Exit, Stop> {
    let style = Style::of_stdout();
    let limits = options::limits(Profile::Smoke, args.timeout, None)?;
    let threads = ready::threads(&args.threads)?[0];
    let interrupt = Interrupt::install()?;
    let folder = Path::new(&args.command[0]);
    let is_folder = folder.is_dir();
    if is_folder && args.command.len() > 1 {
        return Err(Stop::usage("options stand before the folder"));
    }
    let mut launches = Vec::new();
    let mut manifest = None;
    if is_folder {
        let entry = catalog::one(folder)?;
        let built = match entry.readiness()? {
            Readiness::Ready(built) => built,
            Readiness::Unbuilt(built) => {
                let begins = |step: &[String]| terminal::say(&step.join(" "));
                let made = build::make(&entry, &built, &interrupt, begins);
                if interrupt.is_asked() {
                    return Ok(Exit::Interrupted);
                }
                made.map_err(|why| Stop::nothing(format!("it does not build: {why}")))?;
                built
            }
            Readiness::Missing { reason, fix, .. } => {
                return Err(Stop::nothing(format!("{reason}; fix: {fix}")));
            }
            Readiness::Blocked { reason } => return Err(Stop::nothing(reason)),
        };
        for system in &entry.manifest.peer.systems {
            if args.system.as_ref().is_none_or(|wanted| wanted == system) {
                launches.push(entry.launch(system, &built, threads, limits)?);
            }
        }
        manifest = Some(entry.manifest);
        if launches.is_empty() {
            return Err(Stop::usage("its manifest has no such system"));
        }
    } else {
        let system = args.system.clone().ok_or_else(|| {
            let word = &args.command[0];
            Stop::usage(format!(
                "{word} is no folder with a peer.toml: for a command say which system, --system NAME"
            ))
        })?;
        let mut command = args.command.clone();
        command.extend(["--arena", "1", "--system", &system].map(str::to_owned));
        launches.push(Launch {
            system,
            command,
            env: Vec::new(),
            threads,
            limits,
            is_jit: false,
            files: 0,
        });
    }
    let (mut passed, mut failed) = (0, 0);
    for launch in launches {
        let mut trial = Trial {
            launch,
            manifest: manifest.as_ref(),
            interrupt: &interrupt,
            style,
            timing: !args.no_timing,
            peer: None,
            passed: 0,
            failed: 0,
        };
        trial.all()?;
        passed += trial.passed;
        failed += trial.failed;
        if interrupt.is_asked() {
            return Ok(Exit::Interrupted);
        }
    }
    terminal::print(&format!("{passed} checks passed, {failed} failed\n"))?;
    Ok(if failed == 0 {
        Exit::Ok
    } else {
        Exit::CellFailed
    })
}

impl Trial<'_> {
    fn all(&mut self) -> Result<(), Stop> {
        let head = format!("{} · {}", self.launch.system, self.launch.command.join(" "));
        terminal::print(&format!("{}\n", self.style.bold(&head)))?;
        let mut said = None;
        let manifest = self.manifest;
        self.check("says hello", |peer| {
            said = Some(peer.hello().clone());
            hello(peer)
        })?;
        let Some(said) = said else {
            return Ok(());
        };
        self.check("lists its cells", |_| cells(&said, manifest))?;
        self.check("answers ping", |peer| ok(peer, "ping", ""))?;
        self.check("ignores keys it does not know", |peer| {
            ok(peer, "ping", " colour=red")
        })?;
        self.check("refuses a command it does not know", |peer| {
            refused(peer, "frobnicate", "", None)
        })?;
        self.check("refuses a cell it does not have", |peer| {
            let words = " cell=counter/no-such-variant threads=2 seed=1 P=1 n=1";
            refused(peer, "prep", words, Some(RefusalKind::Unsupported))
        })?;
        self.check("refuses to run without prep", |peer| {
            refused(peer, "run", " inner=1", None)
        })?;
        let groups = groups(&said, self.launch.threads, manifest, &self.launch.system);
        for group in &groups {
            let name = format!(
                "counts {} at {}",
                group.id,
                size::show(&group.id, &group.params)
            );
            self.check(&name, |peer| smoke::check(peer, group))?;
        }
        if let Some(group) = groups.first() {
            self.check("replaces what an earlier prep made", |peer| {
                peer.prepare(&group.id, &group.params, 1)?;
                peer.prepare(&group.id, &group.params, 2)?;
                peer.run(1, false)?;
                peer.release()
            })?;
            self.check("refuses to run after drop", |peer| {
                peer.prepare(&group.id, &group.params, 1)?;
                peer.release()?;
                refused(peer, "run", " inner=1", None)
            })?;
        }
        let mut seen: Vec<&CellId> = Vec::new();
        for group in groups.iter().filter(|_| self.timing).rev() {
            // One size of each cell, the last and largest.
            if !seen.contains(&&group.id) {
                seen.push(&group.id);
            }
        }
        for id in seen.into_iter().rev() {
            if let Some(group) = groups.iter().rev().find(|group| group.id == *id) {
                self.time(group)?;
            }
        }
        self.check("leaves at quit", |peer| peer.leave(Leave::Quit))?;
        self.peer = None;
        self.check("leaves at the end of its input", |peer| {
            peer.leave(Leave::EndOfInput)
        })?;
        self.peer = None;
        Ok(())
    }

    /// One check: passes or fails, and says so in a line.
    fn check(
        &mut self,
        name: &str,
        test: impl FnOnce(&mut Peer) -> Result<(), Failure>,
    ) -> Result<(), Stop> {
        if self.interrupt.is_asked() {
            return Ok(());
        }
        let outcome = match self.peer.take() {
            Some(peer) => Ok(peer),
            None => Peer::start(&self.launch, self.interrupt),
        };
        let outcome = outcome.and_then(|mut peer| match test(&mut peer) {
            Ok(()) => Ok(peer),
            Err(failure) => Err((failure, peer.into_log())),
        });
        match outcome {
            Ok(peer) => {
                self.peer = Some(peer);
                self.pass(name)
            }
            Err((failure, log)) => self.fail(name, &failure, &log),
        }
    }

    /// The look at the clock and at elided work that a run makes.
    fn time(&mut self, group: &Group) -> Result<(), Stop> {
        if self.interrupt.is_asked() {
            return Ok(());
        }
        let name = format!("times {} honestly", group.id);
        let mut journal = Journal {
            begin: Instant::now(),
            launch: 0,
            pending: Vec::new(),
        };
        let mut track = Track::new(
            group,
            group.cells[0].clone(),
            self.launch.clone(),
            Duration::ZERO,
        );
        track.start(group, self.interrupt);
        track.prepare(group, 1);
        let _ = timed(&mut track, group, &mut journal);
        match track.failure.take() {
            None => self.pass(&name),
            Some(failure) => self.fail(&name, &failure, &track.log),
        }
    }

    fn pass(&mut self, name: &str) -> Result<(), Stop> {
        self.passed += 1;
        terminal::print(&format!("{} {name}\n", self.style.green("ok    ")))
    }

    fn fail(&mut self, name: &str, failure: &Failure, log: &[u8]) -> Result<(), Stop> {
        self.failed += 1;
        let word = self.style.red("failed");
        let state = failure.state.name();
        let text = format!("{word} {name}: {state}, {}\n", failure.reason);
        terminal::print(&(text + &smoke::end_of(log)))
    }
}

/// Some samples, each against the harness's own clock, then sizes apart.
fn timed(track: &mut Track, group: &Group, journal: &mut Journal) -> Option<()> {
    pilot::calibrate(track, group, journal, SAMPLE)?;
    let mut values = Vec::new();
    for round in 0..4 {
        let inner = track.inner;
        let (checked, _) = track.sample(group, journal, Phase::Round, round, inner)?;
        values.push(Some(track.per_op(checked.sample.ns, inner)));
    }
    track.series.push(values);
    pilot::elision(track, group, journal)
}

fn protocol(reason: impl Into<String>) -> Failure {
    Failure::new(State::Protocol, reason)
}

fn hello(peer: &Peer) -> Result<(), Failure> {
    let hello = peer.hello();
    let pid = peer.pid();
    if hello.pid != pid {
        let reason = format!("says pid {}, it is {pid}", hello.pid);
        return Err(protocol(reason));
    }
    if hello.threads == 0 {
        return Err(protocol("says it has no threads"));
    }
    if hello.version.is_empty() || hello.runtime.is_empty() {
        return Err(protocol("does not say its version and runtime"));
    }
    if !(1..=COARSEST_CLOCK).contains(&hello.clock_ns) {
        let reason = format!("says its clock has steps of {} ns", hello.clock_ns);
        return Err(Failure::new(State::Clock, reason));
    }
    Ok(())
}

/// Whether the cells are of WORKLOADS.md, stand once each, and are those of the manifest.
fn cells(hello: &Hello, manifest: Option<&Manifest>) -> Result<(), Failure> {
    let mut seen = std::collections::BTreeSet::new();
    for cell in &hello.cells {
        workload::parse_cell_id(cell).map_err(|e| protocol(format!("{cell}: {e}")))?;
        if !seen.insert(cell) {
            return Err(protocol(format!("{cell} stands twice")));
        }
    }
    if seen.is_empty() {
        return Err(protocol("it has none"));
    }
    let listed = manifest.iter().flat_map(|manifest| &manifest.cell);
    for cell in listed.filter(|c| c.systems.contains(&hello.system) && c.blocked.is_none()) {
        if !seen.contains(&cell.id) {
            let id = &cell.id;
            return Err(protocol(format!(
                "{id} is in its manifest, not in its hello"
            )));
        }
    }
    Ok(())
}

/// The cells at odd sizes, as large as the manifest allows.
fn groups(hello: &Hello, threads: u32, manifest: Option<&Manifest>, system: &str) -> Vec<Group> {
    let mut groups = Vec::new();
    for name in &hello.cells {
        let Ok(id) = workload::parse_cell_id(name) else {
            continue;
        };
        let mut all = manifest.iter().flat_map(|manifest| &manifest.cell);
        let listed = all.find(|cell| cell.id == *name && cell.systems.iter().any(|s| s == system));
        if manifest.is_some() && listed.is_none_or(|cell| cell.blocked.is_some()) {
            continue;
        }
        let cell = Cell {
            system: system.to_owned(),
            peer: 0,
            labels: std::collections::BTreeMap::new(),
            origin: String::new(),
            max: listed.map(|cell| cell.max.clone()).unwrap_or_default(),
            requested: true,
        };
        for row in size::sizes(&id, Profile::Smoke, threads, &[]) {
            let params = size::params(&id, &row);
            if crate::arena::cells::plan::over(&params, &cell.max).is_none() {
                groups.push(Group {
                    id: id.clone(),
                    params,
                    threads,
                    cells: vec![cell.clone()],
                });
            }
        }
    }
    groups
}

fn ok(peer: &mut Peer, command: &str, words: &str) -> Result<(), Failure> {
    match peer.ask(command, words)? {
        (id, Line::Ok(done)) if done.id == id => Ok(()),
        (id, other) => Err(protocol(format!("{other:?} where ok to id={id} was due"))),
    }
}

fn refused(
    peer: &mut Peer,
    command: &str,
    words: &str,
    kind: Option<RefusalKind>,
) -> Result<(), Failure> {
    match peer.ask(command, words)? {
        (id, Line::Err(refusal)) if refusal.id == id => match kind {
            Some(kind) if refusal.kind != kind => {
                let got = refusal.kind;
                Err(protocol(format!("refuses it as {got:?}, not as {kind:?}")))
            }
            _ => Ok(()),
        },
        (id, other) => Err(protocol(format!("{other:?} where err to id={id} was due"))),
    }
}
