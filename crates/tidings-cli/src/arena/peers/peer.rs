//! A peer in a cell: one process, or a server and a client. Every sample is checked before anybody sees it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::arena::cells::wire::Tcp;
use crate::arena::cells::workload::{CellId, Expected, Params, expected};
use crate::arena::machine::interrupt::Interrupt;
use crate::arena::peers::proc_tree;
use crate::arena::peers::protocol::{self, Hello, Line, Role, Sample};
use crate::arena::peers::speaker::{self, Speaker};
use crate::arena::plain;
use crate::arena::records::state::{Failure, State};
use crate::arena::statistics::histogram::Histogram;

/// What a peer may spend outside the timed region before half the wall time must be timed.
const UNTIMED: Duration = Duration::from_millis(5);
/// So many samples in a row must spend more: one alone can be a busy machine that did not let the answer through.
const UNTIMED_SAMPLES: u32 = 3;
/// A schedule that ends earlier than its last request by more than this was not the one asked for.
const EARLY: Duration = Duration::from_millis(1);

/// How a peer is started: command, environment, limits.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) system: String,
    pub(crate) command: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) threads: u32,
    pub(crate) limits: Limits,
    /// Its runtime compiles while it runs.
    pub(crate) is_jit: bool,
    /// Open files each process must be allowed, 0 for what is usual.
    pub(crate) files: u64,
}

/// What a peer may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Time for one answer.
    pub(crate) timeout: Duration,
    /// Resident memory of the process trees.
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

/// A checked sample of requests on a schedule: latencies from the intended and from the actual start.
#[derive(Clone, Debug)]
pub(crate) struct Paced {
    pub(crate) checked: Checked,
    pub(crate) latency: Histogram,
    pub(crate) service: Histogram,
}

/// A peer that said hello.
#[derive(Debug)]
pub(crate) struct Peer {
    /// The process that is timed; of a pair, the client.
    client: Speaker,
    /// Started with the first cell that has two processes.
    server: Option<Speaker>,
    launch: Launch,
    interrupt: Interrupt,
    /// Samples in a row of which less than half was timed.
    untimed: u32,
    /// The cell prepared, its sizes, and what one repetition of it must count.
    prepared: Option<(CellId, Params, Expected)>,
    /// Its processes and all below them, as they were when the cell had been prepared.
    members: Vec<u32>,
}

impl Peer {
    /// Starts a peer and waits for its hello. On failure the peer's log comes along.
    pub(crate) fn start(
        launch: &Launch,
        interrupt: &Interrupt,
    ) -> Result<Self, (Failure, Vec<u8>)> {
        Ok(Self {
            client: Speaker::start(launch, interrupt)?,
            server: None,
            launch: launch.clone(),
            interrupt: interrupt.clone(),
            untimed: 0,
            prepared: None,
            members: Vec::new(),
        })
    }

    pub(crate) fn hello(&self) -> &Hello {
        &self.client.hello
    }

    /// From the start of the process to its hello; of a pair, the client's.
    pub(crate) fn startup(&self) -> Duration {
        self.client.startup
    }

    /// The process that is timed.
    pub(crate) fn pid(&self) -> u32 {
        self.client.pid()
    }

    /// Its processes: what it started for the cell that is prepared, too (a server, a compiler that works beside it).
    pub(crate) fn pids(&self) -> &[u32] {
        &self.members
    }

    fn speakers(&self) -> impl Iterator<Item = &Speaker> {
        [&self.client].into_iter().chain(&self.server)
    }

    pub(crate) fn has(&self, capability: &str) -> bool {
        self.hello().caps.iter().any(|c| c == capability)
    }

    pub(crate) fn freeze(&self) {
        self.speakers().for_each(Speaker::freeze);
    }

    pub(crate) fn thaw(&self) {
        self.speakers().for_each(Speaker::thaw);
    }

    /// Ends the peer and gives what it wrote to standard error, of a pair under two headings.
    pub(crate) fn into_log(mut self) -> Vec<u8> {
        self.client.kill();
        let Some(server) = &mut self.server else {
            return self.client.log();
        };
        server.kill();
        let (client, server) = (self.client.log(), server.log());
        [b"== client ==\n", &client[..], b"== server ==\n", &server].concat()
    }

    /// `prep`, of the server first. Of a cell over TCP it gives how long connecting took the client.
    pub(crate) fn prepare(
        &mut self,
        cell: &CellId,
        params: &Params,
        seed: u64,
    ) -> Result<Option<u64>, Failure> {
        let (threads, timeout) = (self.launch.threads, self.launch.limits.timeout);
        let line = |id, role| protocol::prep(id, cell, threads, seed, params, role);
        let tcp = Tcp::of(cell);
        let done = if tcp.is_some_and(|tcp| tcp.processes == 2) {
            let addr = self.serve(|id| line(id, Role::Server))?;
            let role = Role::Client { addr: &addr };
            let server = self.server.as_mut();
            let done = self
                .client
                .order("prep", |id| line(id, role), timeout, server);
            done.map_err(|failure| self.blame(failure))?
        } else {
            self.client
                .order("prep", |id| line(id, Role::Alone), timeout, None)?
        };
        if tcp.is_some() && done.ready_ns.is_none() {
            let reason = "its answer to prep of a cell over TCP has no ready_ns";
            return Err(Failure::new(State::Protocol, reason));
        }
        let trees = self.speakers().map(|s| proc_tree::descendants(s.pid()));
        self.members = trees.flatten().map(|member| member.pid).collect();
        let once = expected(cell, params);
        self.prepared = Some((cell.clone(), params.clone(), once));
        Ok(done.ready_ns.filter(|_| tcp.is_some()))
    }

    /// Prepares the server, started if there is none; gives its address.
    fn serve(&mut self, line: impl FnOnce(u64) -> String) -> Result<String, Failure> {
        let whose = |failure| of("server", failure);
        let server = match &mut self.server {
            Some(server) => server,
            none => {
                let started = Speaker::start(&self.launch, &self.interrupt);
                none.insert(started.map_err(|(failure, log)| {
                    let mut failure = whose(failure);
                    if let Some(last) = plain::lines(&log).last() {
                        failure.reason += &format!(" ({last})");
                    }
                    failure
                })?)
            }
        };
        let timeout = self.launch.limits.timeout;
        let done = server.order("prep", line, timeout, None).map_err(whose)?;
        let addr = done.addr.unwrap_or_default();
        match addr.parse::<SocketAddr>() {
            Ok(socket) if socket.ip().is_loopback() && socket.port() != 0 => Ok(addr),
            _ => {
                let reason = format!("{addr:?} is no address on the loopback device");
                Err(whose(Failure::new(State::Protocol, reason)))
            }
        }
    }

    /// `drop`, of the client first.
    pub(crate) fn release(&mut self) -> Result<(), Failure> {
        self.prepared = None;
        let timeout = self.launch.limits.timeout;
        let dropped = self
            .client
            .order("drop", protocol::drop_line, timeout, None);
        dropped.map_err(|failure| self.blame(failure))?;
        if let Some(server) = &mut self.server {
            server
                .order("drop", protocol::drop_line, timeout, None)
                .map_err(|failure| of("server", failure))?;
        }
        Ok(())
    }

    /// Tells the peer to leave in one of the two ways, and waits until it has left as it should.
    pub(crate) fn leave(&mut self, how: Leave) -> Result<(), Failure> {
        // A server that is stopped cannot see its connections end.
        self.thaw();
        let left = self.client.leave(how);
        if self.server.as_mut().is_none_or(|server| server.leave(how)) && left {
            return Ok(());
        }
        let when = match how {
            Leave::Quit => "after quit",
            Leave::EndOfInput => "after the end of its input",
        };
        let reason = format!("does not exit with 0 within 5 s {when}");
        Err(Failure::new(State::Protocol, reason))
    }

    /// Any command, as `peer test` needs it: the id it got, and the answer whatever it is.
    pub(crate) fn ask(&mut self, command: &str, words: &str) -> Result<(u64, Line), Failure> {
        let id = self.client.tell(|id| format!("{command} id={id}{words}"));
        let timeout = self.launch.limits.timeout;
        Ok((id, self.client.line(command, timeout, None)?))
    }

    /// One sample, checked against the formulas and the harness's own clock.
    pub(crate) fn run(&mut self, inner: u64, alloc: bool) -> Result<Checked, Failure> {
        let (cell, _, once) = self.prepared()?;
        let line = |id| protocol::run(id, inner, alloc);
        let (sample, wall) = self.sample(line, inner, Duration::ZERO)?;
        check_counts(&cell, &once, &sample)?;
        self.check_clock(&sample, wall, alloc)
    }

    /// One sample of so many requests a second on a schedule.
    pub(crate) fn run_paced(&mut self, rate: u64, secs: u64) -> Result<Paced, Failure> {
        if !self.has("hist") {
            let reason = "a paced cell needs the cap hist";
            return Err(Failure::new(State::Unsupported, reason));
        }
        let (cell, params, _) = self.prepared()?;
        let line = |id| protocol::paced(id, rate, secs);
        let (sample, wall) = self.sample(line, 1, Duration::from_secs(secs))?;
        let requests = i128::from(rate) * i128::from(secs);
        let once = Expected {
            msgs: 2 * requests,
            units: expected(&cell, &params).units,
            check: requests * (requests - 1) / 2,
            ops: requests,
        };
        check_counts(&cell, &once, &sample)?;
        let read = |name: &str, buckets: &[_]| {
            let histogram = Histogram::read(buckets)
                .map_err(|e| Failure::new(State::Protocol, format!("{name}: {e}")))?;
            if i128::from(histogram.count()) == requests {
                return Ok(histogram);
            }
            let count = histogram.count();
            let reason = format!("{name} counts {count} requests, must be {requests}");
            Err(Failure::new(State::Wrong, reason))
        };
        let latency = read("hist", &sample.hist)?;
        let service = read("hist_service", &sample.hist_service)?;
        if !service.is_below(&latency) {
            let reason = "hist_service is above hist: requests began before their time";
            return Err(Failure::new(State::Clock, reason));
        }
        let due = Duration::from_secs_f64(last_start(requests, rate));
        if Duration::from_nanos(sample.ns) + EARLY < due {
            let reason = format!(
                "{:.2?} passed, the last request was due at {due:.2?}",
                Duration::from_nanos(sample.ns)
            );
            return Err(Failure::new(State::Clock, reason));
        }
        let checked = self.check_clock(&sample, wall, false)?;
        Ok(Paced {
            checked,
            latency,
            service,
        })
    }

    fn prepared(&self) -> Result<(CellId, Params, Expected), Failure> {
        self.prepared
            .clone()
            .ok_or_else(|| Failure::new(State::Error, "nothing is prepared"))
    }

    /// The answer to `run` and how long it took to come.
    fn sample(
        &mut self,
        line: impl FnOnce(u64) -> String,
        inner: u64,
        lasts: Duration,
    ) -> Result<(Sample, Duration), Failure> {
        let begin = Instant::now();
        let id = self.client.tell(line);
        let timeout = self.launch.limits.timeout + lasts;
        let answer = self.client.answer("run", timeout, self.server.as_mut());
        let wall = begin.elapsed();
        let sample = match answer.map_err(|failure| self.blame(failure))? {
            Line::Sample(sample) => sample,
            other => return Err(speaker::unexpected(&other, "a sample")),
        };
        if sample.id != id || sample.inner != inner {
            let reason = format!(
                "answered id={} inner={} to id={id} inner={inner}",
                sample.id, sample.inner
            );
            return Err(Failure::new(State::Protocol, reason));
        }
        if let Some(server) = &mut self.server {
            server.is_quiet().map_err(|failure| of("server", failure))?;
        }
        Ok((sample, wall))
    }

    /// Whose failure it was: a server that is gone explains what the client says.
    fn blame(&mut self, failure: Failure) -> Failure {
        let Some(server) = &mut self.server else {
            return failure;
        };
        match server.ending() {
            Some(how) if failure.state != State::Skipped => {
                let reason = format!("server: {how}; client: {}", failure.reason);
                Failure::new(State::Crash, reason)
            }
            _ => of("client", failure),
        }
    }

    fn check_clock(
        &mut self,
        sample: &Sample,
        wall: Duration,
        alloc: bool,
    ) -> Result<Checked, Failure> {
        let ns = Duration::from_nanos(sample.ns);
        if ns > wall + Duration::from_micros(1) {
            let reason = format!("says {ns:.2?} passed within {wall:.2?}");
            return Err(Failure::new(State::Clock, reason));
        }
        if sample.ns == 0 {
            return Err(Failure::new(State::Clock, "says no time passed"));
        }
        let mostly_untimed = !alloc && ns + UNTIMED < wall / 2;
        self.untimed = if mostly_untimed { self.untimed + 1 } else { 0 };
        if self.untimed >= UNTIMED_SAMPLES {
            let reason =
                format!("timed {ns:.2?} of {wall:.2?}: more than half is outside the clock");
            return Err(Failure::new(State::Clock, reason));
        }
        Ok(Checked {
            sample: sample.clone(),
            wall_ns: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
        })
    }
}

/// A failure of one of two processes.
fn of(role: &str, failure: Failure) -> Failure {
    if failure.state == State::Skipped {
        return failure;
    }
    Failure::new(failure.state, format!("{role}: {}", failure.reason))
}

/// Seconds after which the last of so many requests is due.
#[expect(
    clippy::cast_precision_loss,
    reason = "compared with a millisecond to spare"
)]
fn last_start(requests: i128, rate: u64) -> f64 {
    (requests - 1).max(0) as f64 / rate.max(1) as f64
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
