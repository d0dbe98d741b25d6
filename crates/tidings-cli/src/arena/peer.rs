//! A conversation with one peer about one cell: every answer is checked before anybody sees it.

use std::time::{Duration, Instant};

use super::interrupt::Interrupt;
use super::process::{Process, Silence};
use super::protocol::{self, Hello, Line, RefusalKind, Sample};
use super::state::{Failure, State};
use super::workload::{CellId, Expected, Params, expected};

/// How long a peer may take to say hello.
const HELLO: Duration = Duration::from_secs(30);
/// What a peer may spend outside the timed region before half the wall time must be timed.
const UNTIMED: Duration = Duration::from_millis(5);
/// So many samples in a row must spend more: one alone can be a busy machine that did not let the answer through.
const UNTIMED_SAMPLES: u32 = 3;

/// How a peer is started: command, environment, limits.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) system: String,
    pub(crate) command: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) threads: u32,
    pub(crate) limits: Limits,
}

/// What a peer may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Time for one answer.
    pub(crate) timeout: Duration,
    /// Resident memory of the process tree.
    pub(crate) mem_cap: u64,
}

/// A checked sample, with what the harness itself saw.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    pub(crate) sample: Sample,
    pub(crate) wall_ns: u64,
}

/// What makes a peer leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    Quit,
    EndOfInput,
}

/// A peer that said hello.
#[derive(Debug)]
pub(crate) struct Peer {
    process: Process,
    pub(crate) hello: Hello,
    pub(crate) startup: Duration,
    timeout: Duration,
    threads: u32,
    next_id: u64,
    /// Samples in a row of which less than half was timed.
    untimed: u32,
    /// The cell prepared, and what one repetition of it must count.
    prepared: Option<(CellId, Expected)>,
}

impl Peer {
    /// Starts a peer and waits for its hello. On failure the peer's log comes along.
    pub(crate) fn start(
        launch: &Launch,
        interrupt: &Interrupt,
    ) -> Result<Self, (Failure, Vec<u8>)> {
        let begin = Instant::now();
        let env = launch.env.iter().cloned();
        let mut process = Process::start(&launch.command, env, launch.limits.mem_cap, interrupt)
            .map_err(|e| {
                let reason = format!("cannot start {}: {e}", launch.command[0]);
                (Failure::new(State::Missing, reason), Vec::new())
            })?;
        match hello(&mut process, launch) {
            Ok(hello) => Ok(Self {
                process,
                hello,
                startup: begin.elapsed(),
                timeout: launch.limits.timeout,
                threads: launch.threads,
                next_id: 1,
                untimed: 0,
                prepared: None,
            }),
            Err(failure) => {
                process.kill();
                Err((failure, process.log()))
            }
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(crate) fn has(&self, capability: &str) -> bool {
        self.hello.caps.iter().any(|c| c == capability)
    }

    pub(crate) fn freeze(&self) {
        self.process.freeze();
    }

    pub(crate) fn thaw(&self) {
        self.process.thaw();
    }

    /// Ends the peer and gives what it wrote to standard error.
    pub(crate) fn into_log(mut self) -> Vec<u8> {
        self.process.kill();
        self.process.log()
    }

    /// `prep`.
    pub(crate) fn prepare(
        &mut self,
        cell: &CellId,
        params: &Params,
        seed: u64,
    ) -> Result<(), Failure> {
        let id = self.id();
        self.process
            .write_line(&protocol::prep(id, cell, self.threads, seed, params));
        self.done(id, "prep")?;
        self.prepared = Some((cell.clone(), expected(cell, params)));
        Ok(())
    }

    /// `drop`.
    pub(crate) fn release(&mut self) -> Result<(), Failure> {
        self.prepared = None;
        let id = self.id();
        self.process.write_line(&protocol::drop_line(id));
        self.done(id, "drop")
    }

    /// `quit`; true if the peer left as it should.
    pub(crate) fn quit(&mut self) -> bool {
        self.process.quit()
    }

    /// Waits for the peer to leave in one of the two ways by itself; true if it left as it should.
    pub(crate) fn leave(&mut self, how: Leave) -> bool {
        let quit = how == Leave::Quit;
        self.process.leave(quit, !quit)
    }

    /// Any command, as `peer test` needs it: the id it got, and the answer whatever it is.
    pub(crate) fn ask(&mut self, command: &str, words: &str) -> Result<(u64, Line), Failure> {
        let id = self.id();
        self.process
            .write_line(&format!("{command} id={id}{words}"));
        Ok((id, self.line(command)?))
    }

    /// One sample, checked against the formulas and the harness's own clock.
    pub(crate) fn run(&mut self, inner: u64, alloc: bool) -> Result<Checked, Failure> {
        let Some((cell, expected)) = self.prepared.clone() else {
            return Err(Failure::new(State::Error, "nothing is prepared"));
        };
        let id = self.id();
        let begin = Instant::now();
        self.process.write_line(&protocol::run(id, inner, alloc));
        let line = self.answer("run")?;
        let wall = begin.elapsed();
        let sample = match line {
            Line::Sample(sample) => sample,
            other => return Err(unexpected(&other, "a sample")),
        };
        if sample.id != id || sample.inner != inner {
            let reason = format!(
                "answered id={} inner={} to id={id} inner={inner}",
                sample.id, sample.inner
            );
            return Err(Failure::new(State::Protocol, reason));
        }
        check_counts(&cell, &expected, &sample)?;
        check_clock(&sample, wall)?;
        let ns = Duration::from_nanos(sample.ns);
        let mostly_untimed = !alloc && ns + UNTIMED < wall / 2;
        self.untimed = if mostly_untimed { self.untimed + 1 } else { 0 };
        if self.untimed >= UNTIMED_SAMPLES {
            let reason =
                format!("timed {ns:.2?} of {wall:.2?}: more than half is outside the clock");
            return Err(Failure::new(State::Clock, reason));
        }
        let wall_ns = u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX);
        Ok(Checked { sample, wall_ns })
    }

    fn id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    fn done(&mut self, id: u64, what: &str) -> Result<(), Failure> {
        match self.answer(what)? {
            Line::Ok(done) if done.id == id => Ok(()),
            other => Err(unexpected(&other, &format!("ok to id={id}"))),
        }
    }

    fn line(&mut self, to: &str) -> Result<Line, Failure> {
        let line = next_line(&mut self.process, self.timeout, to)?;
        if let Some(extra) = self.process.unasked() {
            let reason = format!("unasked output: {}", protocol::quote(&extra));
            return Err(Failure::new(State::Protocol, reason));
        }
        Ok(line)
    }

    fn answer(&mut self, to: &str) -> Result<Line, Failure> {
        match self.line(to)? {
            Line::Err(refusal) => {
                let state = match refusal.kind {
                    RefusalKind::Unsupported | RefusalKind::Limit => State::Unsupported,
                    RefusalKind::Oom => State::Oom,
                    RefusalKind::Bug => State::Error,
                };
                Err(Failure::new(
                    state,
                    format!("the peer says: {}", refusal.msg),
                ))
            }
            line => Ok(line),
        }
    }
}

fn hello(process: &mut Process, launch: &Launch) -> Result<Hello, Failure> {
    let hello = match next_line(process, HELLO, "start")? {
        Line::Hello(hello) => hello,
        other => return Err(unexpected(&other, "hello")),
    };
    if hello.system != launch.system {
        let reason = format!("says it is {:?}, not {:?}", hello.system, launch.system);
        return Err(Failure::new(State::Protocol, reason));
    }
    Ok(hello)
}

fn next_line(process: &mut Process, timeout: Duration, to: &str) -> Result<Line, Failure> {
    let line = process
        .read_line(Instant::now() + timeout)
        .map_err(|silence| match silence {
            Silence::Timeout => Failure::new(
                State::Timeout,
                format!("no answer to {to} within {} s", timeout.as_secs_f64()),
            ),
            Silence::Closed => match process.ending() {
                Some(how) => {
                    Failure::new(State::Crash, format!("{how} instead of an answer to {to}"))
                }
                None => Failure::new(
                    State::Protocol,
                    format!("closed its output at {to}, lives on"),
                ),
            },
            Silence::Memory(seen) => Failure::new(
                State::Oom,
                format!(
                    "{} resident at {to}, above the cap",
                    super::units::bytes(seen)
                ),
            ),
            Silence::LongLine => Failure::new(State::Protocol, "a line above 64 KiB"),
            Silence::Interrupted => Failure::new(State::Skipped, "interrupted"),
            Silence::Broken(e) => Failure::new(State::Protocol, format!("its output broke: {e}")),
        })?;
    protocol::read(&line).map_err(|e| Failure::new(State::Protocol, e))
}

fn unexpected(line: &Line, wanted: &str) -> Failure {
    let got = match line {
        Line::Hello(_) => "a second hello".to_owned(),
        Line::Ok(done) => format!("ok to id={}", done.id),
        Line::Sample(_) => "a sample".to_owned(),
        Line::Err(refusal) => format!("an error: {}", refusal.msg),
    };
    Failure::new(State::Protocol, format!("{got} where {wanted} was due"))
}

fn check_counts(cell: &CellId, expected: &Expected, sample: &Sample) -> Result<(), Failure> {
    let inner = i128::from(sample.inner);
    let counts = [
        ("check", i128::from(sample.check), expected.check),
        ("msgs", i128::from(sample.msgs), expected.msgs),
        ("units", i128::from(sample.units), expected.units),
    ];
    for (name, got, once) in counts {
        // The programs of the seeds count their units each in their own way.
        if name == "units" && cell.is_original() {
            continue;
        }
        let want = once * inner;
        if got != want {
            return Err(Failure::new(
                State::Wrong,
                format!("{name} is {got}, must be {want}"),
            ));
        }
    }
    Ok(())
}

fn check_clock(sample: &Sample, wall: Duration) -> Result<(), Failure> {
    let ns = Duration::from_nanos(sample.ns);
    if ns > wall + Duration::from_micros(1) {
        let reason = format!("says {ns:.2?} passed within {wall:.2?}");
        return Err(Failure::new(State::Clock, reason));
    }
    if sample.ns == 0 {
        return Err(Failure::new(State::Clock, "says no time passed"));
    }
    Ok(())
}
