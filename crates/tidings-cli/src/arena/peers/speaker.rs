//! A conversation with one process of a peer: a command out, the answer that is due in, or why there is none.

use std::time::{Duration, Instant};

use crate::arena::cells::wire;
use crate::arena::machine::interrupt::Interrupt;
use crate::arena::peers::peer::{Launch, Leave};
use crate::arena::peers::process::{Process, Silence};
use crate::arena::peers::protocol::{self, Done, Hello, Line, RefusalKind};
use crate::arena::records::state::{Failure, State};
use crate::arena::units;

/// How long a peer may take to say hello.
const HELLO: Duration = Duration::from_secs(30);

/// A process that said hello.
#[derive(Debug)]
pub(crate) struct Speaker {
    process: Process,
    pub(crate) hello: Hello,
    pub(crate) startup: Duration,
    next_id: u64,
}

impl Speaker {
    /// Starts a process and waits for its hello. On failure its log comes along.
    pub(crate) fn start(
        launch: &Launch,
        interrupt: &Interrupt,
    ) -> Result<Self, (Failure, Vec<u8>)> {
        let begin = Instant::now();
        let env = launch.env.iter().cloned();
        let files = wire::Files::allow(launch.files)
            .map_err(|reason| (Failure::new(State::Unsupported, reason), Vec::new()))?;
        let mut process = Process::start(&launch.command, env, launch.limits.mem_cap, interrupt)
            .map_err(|e| {
                let reason = format!("cannot start {}: {e}", launch.command[0]);
                (Failure::new(State::Missing, reason), Vec::new())
            })?;
        drop(files);
        match hello(&mut process, launch) {
            Ok(hello) => Ok(Self {
                process,
                hello,
                startup: begin.elapsed(),
                next_id: 1,
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

    pub(crate) fn freeze(&self) {
        self.process.freeze();
    }

    pub(crate) fn thaw(&self) {
        self.process.thaw();
    }

    /// Waits for the process to leave by itself; true if it left as it should.
    pub(crate) fn leave(&mut self, how: Leave) -> bool {
        self.process.leave(how)
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill();
    }

    /// What it wrote to standard error.
    pub(crate) fn log(&self) -> Vec<u8> {
        self.process.log()
    }

    /// How the process ended, if it has.
    pub(crate) fn ending(&mut self) -> Option<String> {
        self.process.ending()
    }

    /// Sends a command; gives the id that its answer must have.
    pub(crate) fn tell(&mut self, command: impl FnOnce(u64) -> String) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.process.write_line(&command(id));
        id
    }

    /// Sends a command that is answered by ok.
    pub(crate) fn order(
        &mut self,
        what: &str,
        command: impl FnOnce(u64) -> String,
        timeout: Duration,
        beside: Option<&mut Self>,
    ) -> Result<Done, Failure> {
        let id = self.tell(command);
        match self.answer(what, timeout, beside)? {
            Line::Ok(done) if done.id == id => Ok(done),
            other => Err(unexpected(&other, &format!("ok to id={id}"))),
        }
    }

    /// The answer to the last command. `beside`: a process without which this one cannot answer.
    pub(crate) fn answer(
        &mut self,
        to: &str,
        timeout: Duration,
        beside: Option<&mut Self>,
    ) -> Result<Line, Failure> {
        match self.line(to, timeout, beside)? {
            Line::Err(refusal) => {
                let state = match refusal.kind {
                    RefusalKind::Unsupported => State::Unsupported,
                    RefusalKind::Limit => State::Limited,
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

    /// The next line, whatever it says, and nothing behind it.
    pub(crate) fn line(
        &mut self,
        to: &str,
        timeout: Duration,
        beside: Option<&mut Self>,
    ) -> Result<Line, Failure> {
        let beside = beside.map(|speaker| &mut speaker.process);
        let line = next_line(&mut self.process, timeout, to, beside)?;
        self.is_quiet()?;
        Ok(line)
    }

    /// Nothing was said that nobody asked for.
    pub(crate) fn is_quiet(&mut self) -> Result<(), Failure> {
        match self.process.unasked() {
            None => Ok(()),
            Some(extra) => {
                let reason = format!("unasked output: {}", protocol::quote(&extra));
                Err(Failure::new(State::Protocol, reason))
            }
        }
    }
}

fn hello(process: &mut Process, launch: &Launch) -> Result<Hello, Failure> {
    let hello = match next_line(process, HELLO, "start", None)? {
        Line::Hello(hello) => hello,
        other => return Err(unexpected(&other, "hello")),
    };
    if hello.system != launch.system {
        let reason = format!("says it is {:?}, not {:?}", hello.system, launch.system);
        return Err(Failure::new(State::Protocol, reason));
    }
    Ok(hello)
}

fn next_line(
    process: &mut Process,
    timeout: Duration,
    to: &str,
    beside: Option<&mut Process>,
) -> Result<Line, Failure> {
    let line = process
        .read_line(Instant::now() + timeout, beside)
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
                format!("{} resident at {to}, above the cap", units::bytes(seen)),
            ),
            Silence::Forsaken => Failure::new(State::Crash, format!("no answer to {to}")),
            Silence::LongLine => Failure::new(State::Protocol, "a line above 64 KiB"),
            Silence::Interrupted => Failure::new(State::Skipped, "interrupted"),
            Silence::Broken(e) => Failure::new(State::Protocol, format!("its output broke: {e}")),
        })?;
    protocol::read(&line).map_err(|e| Failure::new(State::Protocol, e))
}

/// A line that is not the one that was due.
pub(crate) fn unexpected(line: &Line, wanted: &str) -> Failure {
    let got = match line {
        Line::Hello(_) => "a second hello".to_owned(),
        Line::Ok(done) => format!("ok to id={}", done.id),
        Line::Sample(_) => "a sample".to_owned(),
        Line::Err(refusal) => format!("an error: {}", refusal.msg),
    };
    Failure::new(State::Protocol, format!("{got} where {wanted} was due"))
}
