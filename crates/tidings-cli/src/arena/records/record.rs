//! What a run leaves on disk: `run.json` (schema `tidings.arena/1`), `samples.ndjson`, `logs/`.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::arena::cells::size;
use crate::arena::cells::workload::{self, CellId};
use crate::arena::exit::Stop;
use crate::arena::machine::environment::Environment;
use crate::arena::plain;
use crate::arena::records::state::State;
use crate::arena::records::whole;
use crate::arena::sampling::noise::Tally;
use crate::arena::statistics::histogram::{Bucket, Percentiles};
use crate::arena::statistics::stats::Outliers;
use crate::arena::statistics::verdict::{Ratio, Verdict};
use crate::arena::units;

/// The file of a run's samples.
const SAMPLES: &str = "samples.ndjson";

/// The name of the format of `run.json`.
pub(crate) const SCHEMA: &str = "tidings.arena/1";

/// The document of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) schema: String,
    pub(crate) id: String,
    pub(crate) started: String,
    pub(crate) seconds: f64,
    /// The run was cut off by Ctrl-C or by an error.
    pub(crate) interrupted: bool,
    /// Of the samples file, up to the end of the last group that was not cut off.
    #[serde(default)]
    pub(crate) sample_bytes: u64,
    pub(crate) command: Vec<String>,
    pub(crate) plan: PlanRecord,
    pub(crate) env: Environment,
    pub(crate) noise: Tally,
    /// When it was gone on with after it had been cut off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) resumed: Vec<String>,
    /// Warnings about the run as a whole.
    pub(crate) notes: Vec<String>,
    pub(crate) cells: Vec<CellRecord>,
}

/// How the run was done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PlanRecord {
    pub(crate) profile: String,
    pub(crate) filters: Vec<String>,
    pub(crate) reference: String,
    pub(crate) threads: Vec<u32>,
    pub(crate) budget_seconds: Option<f64>,
    pub(crate) target_ci: f64,
    pub(crate) min_rounds: usize,
    pub(crate) max_rounds: usize,
    pub(crate) launches: u32,
    pub(crate) order_seed: u64,
    pub(crate) timeout_seconds: f64,
    pub(crate) mem_cap: u64,
    pub(crate) alloc: bool,
    /// The folder of peers, where it was given.
    #[serde(default)]
    pub(crate) peers: Option<PathBuf>,
}

/// One cell: a row of a table. By default it has not run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CellRecord {
    pub(crate) workload: String,
    pub(crate) variant: String,
    pub(crate) system: String,
    pub(crate) peer: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) params: BTreeMap<String, i64>,
    /// Worker threads asked for; 0 for a cell that never ran.
    pub(crate) threads: u32,
    pub(crate) origin: String,
    /// Whether it takes part in ranks and ratios.
    pub(crate) ranked: bool,
    /// Asked for by name or `--require`.
    pub(crate) requested: bool,
    pub(crate) state: State,
    pub(crate) reason: Option<String>,
    pub(crate) fix: Option<String>,
    /// Whether it was shown that the time grows with the work. Not for sizes that cannot be scaled, or without time.
    pub(crate) elision_tested: bool,
    pub(crate) launches: u32,
    pub(crate) n_samples: usize,
    pub(crate) inner: u64,
    /// Operations in one repetition of the scenario: `ns_per_op * ops` is its time.
    pub(crate) ops: i64,
    pub(crate) unit: String,
    pub(crate) ns_per_op: Option<Figure>,
    pub(crate) rate: Option<f64>,
    /// Time of this cell over time of the reference: above 1, the reference is faster.
    pub(crate) ratio: Option<Ratio>,
    /// Systems whose 99 % intervals overlap with the best of their rank share it.
    pub(crate) rank: Option<u32>,
    pub(crate) alloc: Option<Alloc>,
    pub(crate) gc: Vec<u64>,
    pub(crate) cpu_ns_per_op: Option<f64>,
    pub(crate) cores_used: Option<f64>,
    pub(crate) peak_rss: Option<u64>,
    pub(crate) startup_ms: Option<f64>,
    pub(crate) outliers: Outliers,
    pub(crate) noise: Tally,
    pub(crate) version: Option<String>,
    pub(crate) runtime: Option<String>,
    pub(crate) flags: Option<String>,
    pub(crate) peer_threads: Option<u32>,
    pub(crate) clock_ns: Option<u64>,
    pub(crate) build_hash: Option<String>,
    /// Of cells over TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) net: Option<NetRecord>,
    /// Below the run's folder.
    pub(crate) log: Option<String>,
    /// The run was cut off while its group was measured: `--resume` measures it anew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) cut_off: bool,
}

/// Time per operation, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figure {
    pub(crate) median: f64,
    /// Absent with fewer than six samples; then look at min and max.
    pub(crate) ci95: Option<[f64; 2]>,
    pub(crate) ci99: Option<[f64; 2]>,
    pub(crate) mean: f64,
    pub(crate) sd: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// The first sample of the process: the cold start.
    pub(crate) first: f64,
    /// The interval is as narrow as the run aimed for.
    pub(crate) precise: bool,
}

impl Figure {
    /// Where the median is: its interval, or all samples where they are too few for one.
    pub(crate) fn range(&self) -> [f64; 2] {
        self.ci95.unwrap_or([self.min, self.max])
    }

    /// Half the interval in percent, `~` where it is wider than the run aimed for.
    pub(crate) fn spread(&self) -> Option<String> {
        let spread = units::spread(self.median, self.ci95?);
        Some(format!("{}{spread}", if self.precise { "" } else { "~" }))
    }
}

/// Allocation per operation, from a sample of its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Alloc {
    pub(crate) bytes_per_op: f64,
    pub(crate) count_per_op: f64,
}

/// What cells over TCP have beside their time per request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NetRecord {
    /// To connect all clients and have one verified echo each, as the client timed it; median of the launches.
    pub(crate) ready_ms: Option<f64>,
    /// Bytes on the loopback device per request, both directions, headers included; median of the samples.
    /// Absent where the device is not seen or others used it.
    pub(crate) wire_bytes_per_op: Option<f64>,
    /// Of paced cells, by load.
    pub(crate) latency: Vec<Latency>,
}

/// Latencies of requests on a fixed schedule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Latency {
    /// In percent of the closed-loop rate of the same connections.
    pub(crate) load_percent: u32,
    /// Requests per second asked for, and had.
    pub(crate) rate: u64,
    pub(crate) achieved: f64,
    /// At least 95 % of the rate asked for was had. If not, the latencies are those of a growing queue.
    pub(crate) kept_up: bool,
    pub(crate) samples: usize,
    /// Requests in the histograms.
    pub(crate) count: u64,
    /// From the time at which a request was due.
    pub(crate) latency_ns: Percentiles,
    /// From the time at which it was sent.
    pub(crate) service_ns: Percentiles,
}

impl Run {
    /// Cells that ran or tried to, by group, in the order of the document.
    pub(crate) fn groups(&self) -> Vec<Vec<&CellRecord>> {
        let mut groups: Vec<Vec<&CellRecord>> = Vec::new();
        for cell in self.cells.iter().filter(|c| c.threads > 0) {
            match groups.iter_mut().find(|g| g[0].group() == cell.group()) {
                Some(group) => group.push(cell),
                None => groups.push(vec![cell]),
            }
        }
        groups
    }
}

impl CellRecord {
    /// Its id, if this version knows it: a record may come from a newer one.
    pub(crate) fn id(&self) -> Option<CellId> {
        workload::parse_cell_id(&format!("{}/{}", self.workload, self.variant)).ok()
    }

    /// Its sizes, in the order of its workload.
    pub(crate) fn sizes(&self) -> String {
        let all = || self.params.iter().map(|(k, v)| format!("{k}={v}"));
        self.id().map_or_else(
            || all().collect::<Vec<_>>().join(" "),
            |id| size::show(&id, &self.params),
        )
    }

    /// What all cells of its group are called.
    pub(crate) fn title(&self) -> String {
        size::title(&self.workload, &self.variant, &self.sizes(), self.threads)
    }

    /// Nanoseconds per operation, if it has a figure.
    pub(crate) fn median(&self) -> Option<f64> {
        self.ns_per_op.map(|figure| figure.median)
    }

    /// The fastest first; those without a figure last.
    pub(crate) fn by_speed(&self, other: &Self) -> Ordering {
        let time = |cell: &Self| cell.median().unwrap_or(f64::INFINITY);
        time(self).total_cmp(&time(other))
    }

    /// Cells are compared only if this is equal.
    pub(crate) fn group(&self) -> (&str, &str, &BTreeMap<String, i64>, u32) {
        (&self.workload, &self.variant, &self.params, self.threads)
    }

    /// Tells a cell from every other of its run, and finds the same one in another run.
    pub(crate) fn key(&self) -> String {
        key(&self.name(), &self.params, self.threads)
    }

    pub(crate) fn name(&self) -> String {
        format!("{}/{}@{}", self.workload, self.variant, self.system)
    }

    /// What comparing it with the reference showed, if it is ranked, was compared, and is not the reference.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        let ratio = self.ratio.as_ref().filter(|_| self.ranked)?;
        Some(ratio.verdict).filter(|verdict| *verdict != Verdict::Reference)
    }
}

/// The key of a cell: its name, sizes and threads.
pub(crate) fn key(name: &str, params: &BTreeMap<String, i64>, threads: u32) -> String {
    let sizes: String = params.iter().map(|(k, v)| format!(" {k}={v}")).collect();
    format!("{name}{sizes} threads={threads}")
}

/// One line of `samples.ndjson`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SampleRecord {
    pub(crate) cell: String,
    pub(crate) params: BTreeMap<String, i64>,
    pub(crate) threads: u32,
    pub(crate) launch: u32,
    pub(crate) phase: Cow<'static, str>,
    pub(crate) round: usize,
    pub(crate) inner: u64,
    pub(crate) ns: u64,
    pub(crate) wall_ns: u64,
    pub(crate) msgs: u64,
    pub(crate) units: u64,
    pub(crate) check: i64,
    pub(crate) cpu_ns: u64,
    pub(crate) foreign_ticks: i64,
    pub(crate) noisy: bool,
    /// Milliseconds since the run began.
    pub(crate) at_ms: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) gc: Vec<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) alloc_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) alloc_count: Option<u64>,
    /// Bytes sent over the loopback device meanwhile, by anybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wire_bytes: Option<u64>,
    /// Of a paced sample: requests per second, and latencies from the intended and from the actual start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) hist: Vec<Bucket>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) hist_service: Vec<Bucket>,
}

impl SampleRecord {
    /// One of the samples that the figures are made of.
    pub(crate) fn is_round(&self) -> bool {
        self.phase == "round"
    }

    /// Part of the time line of a process: not a check made with another size, not an allocation pass.
    pub(crate) fn is_timed(&self) -> bool {
        matches!(&*self.phase, "pilot" | "warm" | "round")
    }

    /// Nanoseconds per operation, where one repetition has so many.
    pub(crate) fn per_op(&self, ops: i64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
        let (ns, ops) = (self.ns as f64, ops as f64 * self.inner as f64);
        ns / ops
    }
}

/// The samples of a run, held by the process that writes them until it ends, however it ends: nobody else resumes or
/// removes the run.
#[derive(Debug)]
pub(crate) struct Held(File);

/// Takes hold of a saved run; `None` if another process has it.
pub(crate) fn hold(folder: &Path) -> Result<Option<Held>, Stop> {
    let path = folder.join(SAMPLES);
    let file = OpenOptions::new().append(true).open(&path);
    let file = file.map_err(|e| Stop::file("write", &path, &e))?;
    // Where a file system has no locks there is no way to know.
    let is_held = matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock));
    Ok((!is_held).then_some(Held(file)))
}

/// Whether a process has hold of a run.
pub(crate) fn is_going_on(folder: &Path) -> bool {
    matches!(hold(folder), Ok(None))
}

/// The folder of a run being written.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) folder: PathBuf,
    samples: Held,
    copy: Option<(PathBuf, File)>,
}

impl Store {
    /// Makes the folder of a new run; `copy` is where `--ndjson` wants the samples too.
    pub(crate) fn create(runs: &Path, id: &str, copy: Option<&Path>) -> Result<Self, Stop> {
        // Before the folder, so that no run is left where the copy cannot be made.
        let copy = copy.map(open_copy).transpose()?;
        let folder = runs.join(id);
        fs::create_dir_all(&folder).map_err(|e| Stop::file("make", &folder, &e))?;
        let path = folder.join(SAMPLES);
        let samples = File::create(&path).map_err(|e| Stop::file("write", &path, &e))?;
        // Nobody else knows of it yet, and who only looks whether it is held lets go at once.
        let _ = samples.lock();
        Ok(Self {
            folder,
            samples: Held(samples),
            copy,
        })
    }

    /// Goes on with a run that was cut off: its first `bytes` of samples stay as they are, what was half measured goes.
    pub(crate) fn reopen(
        folder: PathBuf,
        samples: Held,
        bytes: u64,
        copy: Option<&Path>,
    ) -> Result<Self, Stop> {
        let path = folder.join(SAMPLES);
        let length = samples.0.metadata().map_or(0, |data| data.len());
        if length < bytes {
            return Err(Stop::usage(format!(
                "{}: samples of finished cells are gone, the run cannot be gone on with",
                path.display()
            )));
        }
        let half_measured = tail(&path, bytes).map_err(|e| Stop::file("read", &path, &e))?;
        let cut = samples.0.set_len(bytes).and_then(|()| samples.0.sync_all());
        cut.map_err(|e| Stop::file("write", &path, &e))?;
        if let Some(copy) = copy.filter(|copy| copy.is_file()) {
            cut_off(copy, &half_measured).map_err(|e| Stop::file("write", copy, &e))?;
        }
        let copy = copy.map(open_copy).transpose()?;
        Ok(Self {
            folder,
            samples,
            copy,
        })
    }

    /// Bytes of samples so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.samples.0.metadata().map_or(0, |data| data.len())
    }

    /// Appends samples; what was appended is on disk when this returns, so a killed run keeps its rounds.
    pub(crate) fn append(&mut self, samples: &[SampleRecord]) -> Result<(), Stop> {
        let mut text = Vec::new();
        for sample in samples {
            serde_json::to_writer(&mut text, sample)
                .map_err(|e| Stop::internal(format!("cannot write a sample: {e}")))?;
            text.push(b'\n');
        }
        let file = &mut self.samples.0;
        let written = file.write_all(&text).and_then(|()| file.sync_data());
        let path = || self.folder.join(SAMPLES);
        written.map_err(|e| Stop::file("write", &path(), &e))?;
        if let Some((path, file)) = &mut self.copy {
            file.write_all(&text)
                .map_err(|e| Stop::file("write", path, &e))?;
        }
        Ok(())
    }

    /// Writes `run.json` whole: a reader sees the old one or the new one.
    pub(crate) fn save(&self, run: &Run) -> Result<(), Stop> {
        let path = self.folder.join("run.json");
        let text = whole::json(run)?;
        let written =
            whole::write(&path, &text).and_then(|()| File::open(&self.folder)?.sync_all());
        written.map_err(|e| Stop::file("write", &path, &e))
    }

    /// Keeps a peer's standard error; the name below the run's folder.
    pub(crate) fn keep_log(&self, name: &str, log: &[u8]) -> Result<String, Stop> {
        let name = format!("logs/{}.stderr", name.replace(['/', ':', ' '], "_"));
        let path = self.folder.join(&name);
        let write = || {
            fs::create_dir_all(self.folder.join("logs"))?;
            let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
            file.write_all(log)
        };
        write().map_err(|e| Stop::file("write", &path, &e))?;
        Ok(name)
    }
}

/// What a file has from a place on.
fn tail(path: &Path, from: u64) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    Ok(tail)
}

/// Cuts the longest beginning of `lines` off the end of a file: it was written there after `lines` were, and perhaps not
/// all of it.
fn cut_off(path: &Path, lines: &[u8]) -> std::io::Result<()> {
    let text = fs::read(path)?;
    let is_start = |at: &usize| at.checked_sub(1).is_none_or(|last| text[last] == b'\n');
    let mut starts = (text.len().saturating_sub(lines.len())..text.len()).filter(is_start);
    match starts.find(|start| lines.starts_with(&text[*start..])) {
        Some(start) => OpenOptions::new()
            .write(true)
            .open(path)?
            .set_len(start as u64),
        None => Ok(()),
    }
}

/// The runs saved in a folder, by name: oldest first, where the names begin with the time.
pub(crate) fn saved(runs: &Path) -> Vec<String> {
    let Ok(list) = fs::read_dir(runs) else {
        return Vec::new();
    };
    let mut names: Vec<String> = list
        .flatten()
        .filter(|entry| entry.path().join("run.json").is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// Where the samples go, too.
fn open_copy(path: &Path) -> Result<(PathBuf, File), Stop> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    let file = file.map_err(|e| Stop::file("write", path, &e))?;
    Ok((path.to_owned(), file))
}

/// The folder of a saved run: by path, by name, or by the beginning of a name; without any, the last.
pub(crate) fn find(runs: &Path, name: Option<&str>) -> Result<PathBuf, Stop> {
    let names = saved(runs);
    Ok(match name {
        None => {
            let last = names.last();
            let none =
                || Stop::nothing("there is no saved run yet; make one with `tidings arena run`");
            runs.join(last.ok_or_else(none)?)
        }
        Some(name) if Path::new(name).join("run.json").is_file() => PathBuf::from(name),
        Some(name) => {
            let matching: Vec<_> = names.iter().filter(|n| n.starts_with(name)).collect();
            match matching.as_slice() {
                [one] => runs.join(one),
                [] => {
                    let known: Vec<&str> = names.iter().rev().take(5).map(String::as_str).collect();
                    return Err(Stop::usage(format!(
                        "no saved run {name:?}; the last ones are: {}",
                        if known.is_empty() {
                            "none".to_owned()
                        } else {
                            known.join(", ")
                        }
                    )));
                }
                many => {
                    return Err(Stop::usage(format!(
                        "{name:?} is the beginning of {} runs",
                        many.len()
                    )));
                }
            }
        }
    })
}

/// Finds a saved run and reads it.
pub(crate) fn load(runs: &Path, name: Option<&str>) -> Result<(PathBuf, Run), Stop> {
    let folder = find(runs, name)?;
    let run = read(&folder)?;
    Ok((folder, run))
}

/// Reads the run in a folder.
pub(crate) fn read(folder: &Path) -> Result<Run, Stop> {
    let path = folder.join("run.json");
    let text = fs::read_to_string(&path).map_err(|e| Stop::file("read", &path, &e))?;
    let broken = |e| Stop::internal(format!("{}: {e}", path.display()));
    let value = plain::document(serde_json::from_str(&text).map_err(broken)?);
    // First: what is of another format need not have our fields.
    if let Some(schema) = value["schema"].as_str().filter(|schema| *schema != SCHEMA) {
        return Err(Stop::usage(format!(
            "{} is of format {schema:?}, not {SCHEMA:?}",
            path.display()
        )));
    }
    serde_json::from_value(value).map_err(broken)
}
