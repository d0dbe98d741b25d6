//! What `/proc` says of a peer and all processes below it: memory, CPU time, threads of descent.

use std::collections::BTreeMap;
use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// One line of `/proc/<pid>/stat`, the fields used here.
#[derive(Clone, Copy, Debug)]
struct Stat {
    parent: u32,
    /// Clock ticks after boot at which it started: with the id it names a process for good.
    started: u64,
    /// Own user and system time, in clock ticks.
    own: u64,
    /// That of children that were waited for.
    children: u64,
}

fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command's name may hold spaces and brackets: the fields start after the last one.
    let fields: Vec<&str> = text
        .get(text.rfind(')')? + 2..)?
        .split_ascii_whitespace()
        .collect();
    let ticks = |of: std::ops::Range<usize>| {
        let fields = fields.get(of)?.iter();
        Some(fields.filter_map(|f| f.parse::<u64>().ok()).sum())
    };
    Some(Stat {
        parent: fields.get(1)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
        own: ticks(11..13)?,
        children: ticks(13..15)?,
    })
}

/// A process that cannot be taken for another one that got its id later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) pid: u32,
    started: u64,
}

impl Member {
    pub(crate) fn is_alive(self) -> bool {
        stat(self.pid).is_some_and(|s| s.started == self.started)
    }
}

/// The processes below and including `root`.
pub(crate) fn descendants(root: u32) -> Vec<Member> {
    let mut children: BTreeMap<u32, Vec<Member>> = BTreeMap::new();
    let mut found = Vec::new();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in entries.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok()) {
        if let Some(stat) = stat(pid) {
            let member = Member {
                pid,
                started: stat.started,
            };
            if pid == root {
                found.push(member);
            } else {
                children.entry(stat.parent).or_default().push(member);
            }
        }
    }
    let mut next = 0;
    while let Some(member) = found.get(next).copied() {
        found.extend(children.remove(&member.pid).unwrap_or_default());
        next += 1;
    }
    found
}

/// Kills those that are still there.
pub(crate) fn kill(members: &[Member]) {
    for member in members.iter().filter(|member| member.is_alive()) {
        if let Some(pid) = i32::try_from(member.pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// A value in KiB of `/proc/<pid>/status`, in bytes.
fn status_bytes(pid: u32, key: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    Some(line.split_ascii_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// Resident memory now, summed over the tree.
pub(crate) fn resident(root: u32) -> u64 {
    descendants(root)
        .iter()
        .filter_map(|m| status_bytes(m.pid, "VmRSS"))
        .sum()
}

/// Peak resident memory of the process itself since it started or since [`reset_peak`].
pub(crate) fn peak(root: u32) -> Option<u64> {
    status_bytes(root, "VmHWM")
}

/// Starts the peak anew. Where the kernel does not allow it the peak is that of the whole life.
pub(crate) fn reset_peak(root: u32) {
    let _ = fs::write(format!("/proc/{root}/clear_refs"), "5");
}

/// CPU time of the process and its children that ended, in clock ticks. Those that live are processes of their own.
pub(crate) fn cpu_ticks(pid: u32) -> u64 {
    stat(pid).map_or(0, |s| s.own + s.children)
}

/// The same in nanoseconds: of the process by its own clock, where there is one, of its children as the
/// kernel has them, in ticks.
pub(crate) fn cpu_ns(pid: u32) -> u64 {
    let tick = 1_000_000_000 / ticks_per_second();
    stat(pid).map_or(0, |s| {
        clock_ns(pid).unwrap_or(s.own * tick) + s.children * tick
    })
}

/// The CPU clock of a process: all its threads, those that ended, too.
#[cfg(target_os = "linux")]
fn clock_ns(pid: u32) -> Option<u64> {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).ok()?);
    let clock = nix::time::clock_getcpuclockid(pid).ok()?;
    let time = nix::time::clock_gettime(clock).ok()?;
    u64::try_from(std::time::Duration::from(time).as_nanos()).ok()
}

#[cfg(not(target_os = "linux"))]
fn clock_ns(_pid: u32) -> Option<u64> {
    None
}

/// Clock ticks per second.
pub(crate) fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_seen() {
        let me = std::process::id();
        assert!(descendants(me)[0].pid == me && descendants(me)[0].is_alive());
        assert!(resident(me) > 100_000);
        assert!(peak(me).is_some_and(|p| p > 100_000));
        assert!(ticks_per_second() >= 1);
        assert_eq!(cpu_ticks(u32::MAX), 0);
        assert_eq!(cpu_ns(u32::MAX), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn cpu_time_is_counted_finer_than_in_ticks() {
        let (me, tick) = (std::process::id(), 1_000_000_000 / ticks_per_second());
        assert!((0..1_000).any(|_| !cpu_ns(me).is_multiple_of(tick)));
        // As much as the ticks say, but for what they round off.
        let before = cpu_ticks(me);
        let fine = cpu_ns(me) / tick;
        let after = cpu_ticks(me);
        assert!(
            before <= fine + 3 && fine <= after + 3,
            "{before} {fine} {after}"
        );
    }
}
