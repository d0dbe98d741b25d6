//! The machine a run was made on, as far as it bears on the figures, and what is unfit about it.

use std::collections::BTreeMap;
use std::fs;

use serde::{Deserialize, Serialize};

/// What is kept in `run.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Environment {
    pub(crate) tidings: String,
    pub(crate) debug_build: bool,
    pub(crate) git: Option<String>,
    /// Stands for the binary itself: a run is only continued by the one that began it.
    #[serde(default)]
    pub(crate) build: Option<String>,
    pub(crate) os: String,
    pub(crate) kernel: String,
    pub(crate) cpu: String,
    pub(crate) cpu_flags: Option<String>,
    pub(crate) cores: u32,
    pub(crate) smt: Option<String>,
    pub(crate) governor: Option<String>,
    pub(crate) hypervisor: bool,
    pub(crate) memory: u64,
    pub(crate) swap_used: u64,
    pub(crate) load1: f64,
    pub(crate) pressure_cpu: Option<String>,
    pub(crate) transparent_huge_pages: Option<String>,
    pub(crate) clock_source: Option<String>,
    pub(crate) clock_resolution_ns: u64,
    pub(crate) mitigations: BTreeMap<String, String>,
    /// Environment variables that change how peers run.
    pub(crate) variables: BTreeMap<String, String>,
    /// What is unfit for measuring, in words.
    pub(crate) warnings: Vec<String>,
}

fn line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines()
        .next()
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
}

/// A value of a `key : value` file such as `/proc/cpuinfo`.
fn field(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

fn meminfo(text: &str, key: &str) -> u64 {
    let number = field(text, key).and_then(|v| {
        v.split_ascii_whitespace()
            .next()
            .and_then(|n| n.parse::<u64>().ok())
    });
    number.unwrap_or(0) * 1024
}

/// Cores this process may use.
pub(crate) fn cores() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(cores).unwrap_or(1)
}

/// Memory of the machine.
pub(crate) fn memory() -> u64 {
    meminfo(
        &fs::read_to_string("/proc/meminfo").unwrap_or_default(),
        "MemTotal",
    )
}

/// The smallest step of the monotonic clock seen in a few readings.
fn clock_resolution() -> u64 {
    let mut smallest = u64::MAX;
    let mut last = std::time::Instant::now();
    for _ in 0..1000 {
        let now = std::time::Instant::now();
        let step = u64::try_from((now - last).as_nanos()).unwrap_or(u64::MAX);
        if step > 0 {
            smallest = smallest.min(step);
        }
        last = now;
    }
    smallest
}

fn git() -> Option<String> {
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        let output = command
            .args(["-C", env!("CARGO_MANIFEST_DIR")])
            .args(args)
            .output()
            .ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let revision = run(&["rev-parse", "--short=12", "HEAD"])?;
    let dirty = run(&["status", "--porcelain"]).is_some_and(|text| !text.is_empty());
    Some(if dirty {
        format!("{revision}-dirty")
    } else {
        revision
    })
}

impl Environment {
    /// Reads everything. Takes some milliseconds; nothing runs beside it.
    pub(crate) fn capture() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let meminfo_text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let os = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let os = os.lines().find_map(|l| l.strip_prefix("PRETTY_NAME="));
        let flags = field(&cpuinfo, "flags");
        let mut mitigations = BTreeMap::new();
        for entry in fs::read_dir("/sys/devices/system/cpu/vulnerabilities")
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(state) = line(&entry.path().to_string_lossy()) {
                mitigations.insert(name, state);
            }
        }
        let variables = [
            "GOMAXPROCS",
            "GOGC",
            "MALLOC_ARENA_MAX",
            "LD_PRELOAD",
            "RUSTFLAGS",
            "JAVA_TOOL_OPTIONS",
        ];
        let load = line("/proc/loadavg").unwrap_or_default();
        let mut environment = Self {
            tidings: env!("CARGO_PKG_VERSION").to_owned(),
            debug_build: cfg!(debug_assertions),
            git: git(),
            build: Some(crate::arena::peers::build::fingerprint_of_self()),
            os: os
                .unwrap_or(std::env::consts::OS)
                .trim_matches('"')
                .to_owned(),
            kernel: line("/proc/sys/kernel/osrelease").unwrap_or_default(),
            cpu: field(&cpuinfo, "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            hypervisor: flags
                .as_ref()
                .is_some_and(|f| f.split(' ').any(|f| f == "hypervisor")),
            cpu_flags: flags,
            cores: cores(),
            smt: line("/sys/devices/system/cpu/smt/control"),
            governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            memory: meminfo(&meminfo_text, "MemTotal"),
            swap_used: meminfo(&meminfo_text, "SwapTotal")
                .saturating_sub(meminfo(&meminfo_text, "SwapFree")),
            load1: load
                .split(' ')
                .next()
                .and_then(|l| l.parse().ok())
                .unwrap_or(0.0),
            pressure_cpu: line("/proc/pressure/cpu"),
            transparent_huge_pages: line("/sys/kernel/mm/transparent_hugepage/enabled"),
            clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            clock_resolution_ns: clock_resolution(),
            mitigations,
            variables: variables
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
                .collect(),
            warnings: Vec::new(),
        };
        environment.warnings = environment.unfit();
        environment
    }

    /// Do others use the cores?
    pub(crate) fn is_busy(&self) -> bool {
        self.load1 > 0.25 * f64::from(self.cores)
    }

    /// Does the governor keep the cores slow?
    pub(crate) fn saves_power(&self) -> bool {
        matches!(self.governor.as_deref(), Some("powersave" | "conservative"))
    }

    fn unfit(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.debug_build {
            warnings.push(
                "tidings is a debug build: its figures mean nothing (cargo run --release)"
                    .to_owned(),
            );
        }
        if self.is_busy() {
            warnings.push(format!(
                "load {:.2} on {} cores: the machine is busy",
                self.load1, self.cores
            ));
        }
        if self.swap_used > 0 {
            warnings.push(format!(
                "{} of swap in use",
                crate::arena::units::bytes(self.swap_used)
            ));
        }
        if let Some(governor) = self.governor.as_ref().filter(|_| self.saves_power()) {
            warnings.push(format!("CPU governor is {governor}"));
        }
        if !self.variables.is_empty() {
            let names: Vec<&str> = self.variables.keys().map(String::as_str).collect();
            warnings.push(format!("{} set: peers may inherit it", names.join(", ")));
        }
        warnings
    }

    /// One line for the head of a run.
    pub(crate) fn summary(&self) -> String {
        format!(
            "{} · {} cores · {} · Linux {} · {}{}",
            self.cpu,
            self.cores,
            crate::arena::units::bytes(self.memory),
            self.kernel,
            self.os,
            if self.hypervisor {
                " · virtual machine"
            } else {
                ""
            }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_described() {
        let environment = Environment::capture();
        assert!(environment.cores >= 1 && environment.memory > 0);
        assert!(environment.clock_resolution_ns < 1_000_000);
        assert!(
            environment
                .warnings
                .iter()
                .any(|w| w.contains("debug build"))
        );
        assert!(environment.summary().contains("cores"));
    }
}
