//! A peer as an operating system process: lines in and out with deadlines, freeze, and an end that leaves nothing behind.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::arena::machine::interrupt::Interrupt;
use crate::arena::peers::peer::Leave;
use crate::arena::peers::proc_tree::{self, Member};
use crate::arena::peers::protocol::LINE_LIMIT;

/// How much of a peer's standard error is kept.
const LOG_LIMIT: usize = 64 * 1024;
/// How often memory is looked at while a sample runs. Most samples end before the first look.
const WATCH: Duration = Duration::from_millis(250);
/// How long a peer may take to leave after `quit`.
const QUIT: Duration = Duration::from_secs(5);

/// Why no line came.
#[derive(Debug)]
pub(crate) enum Silence {
    /// The deadline passed.
    Timeout,
    /// Standard output ended: the process is gone or going.
    Closed,
    /// The tree's memory passed the cap; the bytes seen.
    Memory(u64),
    /// The process beside it, without which it cannot answer, is gone.
    Forsaken,
    /// A line without an end.
    LongLine,
    /// Ctrl-C.
    Interrupted,
    /// The pipe broke in another way.
    Broken(io::Error),
}

/// Waits until something can be read, or the end; `false`: not in this time, or a signal came.
pub(crate) fn wait_readable(from: &impl AsFd, time: Duration) -> io::Result<bool> {
    let time = Timespec::try_from(time).map_err(io::Error::other)?;
    let mut fds = [PollFd::from_borrowed_fd(from.as_fd(), PollFlags::IN)];
    match poll(&mut fds, Some(&time)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

/// A running peer. Dropping it kills its whole process group.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    buffer: Vec<u8>,
    log: Arc<Mutex<VecDeque<u8>>>,
    reader: JoinHandle<()>,
    group: Pid,
    mem_cap: u64,
    interrupt: Interrupt,
    ended: bool,
}

impl Process {
    /// Starts a command in a process group of its own.
    pub(crate) fn start(
        command: &[String],
        env: impl IntoIterator<Item = (String, String)>,
        mem_cap: u64,
        interrupt: &Interrupt,
    ) -> io::Result<Self> {
        use std::os::unix::process::CommandExt as _;
        let mut builder = Command::new(&command[0]);
        builder.args(&command[1..]).envs(env).process_group(0);
        builder
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = builder.spawn()?;
        let gone = || io::Error::other("the process has no pipes");
        let group = Pid::from_child(&child);
        let stdin = child.stdin.take().ok_or_else(gone)?;
        let stdout = child.stdout.take().ok_or_else(gone)?;
        let stderr = child.stderr.take().ok_or_else(gone)?;
        let log = Arc::new(Mutex::new(VecDeque::new()));
        let reader = keep_tail(stderr, Arc::clone(&log));
        Ok(Self {
            child,
            stdin: Some(stdin),
            stdout,
            buffer: Vec::new(),
            log,
            reader,
            group,
            mem_cap,
            interrupt: interrupt.clone(),
            ended: false,
        })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes one line. A broken pipe is not reported here: the next read finds the end and tells why.
    pub(crate) fn write_line(&mut self, line: &str) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(format!("{line}\n").as_bytes());
        }
    }

    /// Waits for one line until the deadline, asleep in `poll` but for a look at memory every quarter second, and at the
    /// process `beside` it, whose memory counts too.
    pub(crate) fn read_line(
        &mut self,
        deadline: Instant,
        mut beside: Option<&mut Self>,
    ) -> Result<Vec<u8>, Silence> {
        let mut next_watch = Instant::now() + WATCH;
        let mut searched = 0;
        loop {
            if let Some(end) = self.buffer[searched..].iter().position(|b| *b == b'\n') {
                let rest = self.buffer.split_off(searched + end + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                line.pop();
                return Ok(line);
            }
            searched = self.buffer.len();
            if searched > LINE_LIMIT {
                return Err(Silence::LongLine);
            }
            if self.interrupt.is_asked() {
                return Err(Silence::Interrupted);
            }
            let now = Instant::now();
            if now >= deadline {
                return Err(Silence::Timeout);
            }
            if now >= next_watch {
                let mut resident = proc_tree::resident(self.pid());
                if let Some(beside) = &mut beside {
                    resident += proc_tree::resident(beside.pid());
                    if beside.has_ended() {
                        return Err(Silence::Forsaken);
                    }
                }
                if resident > self.mem_cap {
                    return Err(Silence::Memory(resident));
                }
                next_watch = now + WATCH;
            }
            let time = deadline.min(next_watch) - now;
            if wait_readable(&self.stdout, time).map_err(Silence::Broken)? {
                let mut chunk = [0; 8192];
                match self.stdout.read(&mut chunk) {
                    Ok(0) => return Err(Silence::Closed),
                    Ok(n) => self.buffer.extend_from_slice(&chunk[..n]),
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) => return Err(Silence::Broken(e)),
                }
            }
        }
    }

    /// Whether the peer wrote something nobody asked for.
    pub(crate) fn unasked(&mut self) -> Option<Vec<u8>> {
        if self.buffer.is_empty() && wait_readable(&self.stdout, Duration::ZERO).unwrap_or(false) {
            let mut chunk = [0; 256];
            let count = self.stdout.read(&mut chunk).unwrap_or(0);
            self.buffer.extend_from_slice(&chunk[..count]);
        }
        (!self.buffer.is_empty()).then(|| std::mem::take(&mut self.buffer))
    }

    /// Stops the group where it stands: a peer that is not in turn must not take CPU from the one that is.
    pub(crate) fn freeze(&self) {
        let _ = kill_process_group(self.group, Signal::STOP);
    }

    /// Lets the group go on.
    pub(crate) fn thaw(&self) {
        let _ = kill_process_group(self.group, Signal::CONT);
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// How the process ended, if it has; waits a little, for the end of output comes before the end of the process.
    pub(crate) fn ending(&mut self) -> Option<String> {
        let deadline = Instant::now() + Duration::from_millis(500);
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(describe(status)),
                Ok(None) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                _ => return None,
            }
        }
    }

    /// Tells the peer to leave in one of the two ways; true if it did so in time and with exit code 0.
    pub(crate) fn leave(&mut self, how: Leave) -> bool {
        let family = proc_tree::descendants(self.pid());
        self.thaw();
        match how {
            Leave::Quit => self.write_line("quit"),
            Leave::EndOfInput => self.stdin = None,
        }
        let deadline = Instant::now() + QUIT;
        let mut pause = Duration::from_micros(200);
        let clean = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status.success(),
                Ok(None) if Instant::now() < deadline => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(20));
                }
                _ => break false,
            }
        };
        self.end(&family);
        clean
    }

    /// Kills the group and every descendant that can be found, and reaps the leader.
    pub(crate) fn kill(&mut self) {
        // Children that made a group of their own are found by descent, which must be read before the leader dies.
        let family = proc_tree::descendants(self.pid());
        self.end(&family);
    }

    fn end(&mut self, family: &[Member]) {
        if self.ended {
            return;
        }
        self.ended = true;
        let _ = kill_process_group(self.group, Signal::KILL);
        let _ = self.child.wait();
        proc_tree::kill(family);
    }

    /// The last 64 KiB of standard error. Of a process that ended, all of it: what it wrote last is on its way. A child
    /// that escaped can hold the pipe open, so the wait is short.
    pub(crate) fn log(&self) -> Vec<u8> {
        let deadline = Instant::now() + Duration::from_millis(200);
        while self.ended && !self.reader.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.log
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .copied()
            .collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn describe(status: std::process::ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        _ => "ended".to_owned(),
    }
}

/// Drains standard error on a thread that sleeps until there is some, and keeps the end of it. The thread ends with
/// the last holder of the pipe; a child that escaped may keep it, so nobody waits for the thread.
fn keep_tail(
    mut stderr: impl Read + Send + 'static,
    log: Arc<Mutex<VecDeque<u8>>>,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut chunk = [0; 4096];
        while let Ok(count) = stderr.read(&mut chunk) {
            if count == 0 {
                break;
            }
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            log.extend(&chunk[..count]);
            let excess = log.len().saturating_sub(LOG_LIMIT);
            log.drain(..excess);
        }
    })
}
