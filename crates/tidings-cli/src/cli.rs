//! The arguments of `tidings`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::arena::cells::size::Profile;
use crate::arena::exit;
use crate::arena::units::{parse_bytes, parse_duration, parse_fraction, parse_share};

/// Message passing for Rust: tasks, channels, actors, and choice as a value.
#[derive(Debug, Parser)]
#[command(name = "tidings", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Benchmarks: the same workloads for tidings and others, side by side on this machine
    Arena(Arena),
    /// Speak the peer protocol as tidings
    #[command(hide = true)]
    ArenaPeer(PeerArgs),
}

/// What the harness appends. clap checks it: tidings' own peer serves one version.
#[derive(Debug, Args)]
pub(crate) struct PeerArgs {
    #[arg(long = "arena", value_name = "VERSION", value_parser = ["1"])]
    _version: String,
    #[arg(long = "system", value_name = "SYSTEM", value_parser = tidings_peer::SYSTEMS, default_value = "tidings")]
    pub(crate) system: String,
}

#[derive(Debug, Args)]
#[command(after_help = exit::HELP)]
pub(crate) struct Arena {
    /// No colour
    #[arg(long, global = true, display_order = 100)]
    pub(crate) no_color: bool,
    #[command(subcommand)]
    pub(crate) command: Option<ArenaCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ArenaCommand {
    /// Every workload, variant and system, and whether it can run
    List(ListArgs),
    /// Check toolchains, limits and noise of this machine; changes nothing
    Doctor(DoctorArgs),
    /// Install toolchains (apt, with --yes as root) and build peers into the cache; shows its plan first
    Setup(SetupArgs),
    /// Correctness only: every ready cell at small odd sizes
    Smoke(SmokeArgs),
    /// Measure
    Run(Box<RunArgs>),
    /// The tables of a saved run
    Show(ShowArgs),
    /// A saved run as one HTML page with plots, and as Markdown
    Report(ReportArgs),
    /// Two runs or baselines, cell by cell
    Compare(CompareArgs),
    /// Runs kept under a name, to be compared with
    Baseline(BaselineArgs),
    /// One line per cell over all saved runs of this machine
    History(HistoryArgs),
    /// Remove built peers or saved runs
    Clean(CleanArgs),
    /// Runs of several machines side by side
    Merge(MergeArgs),
    /// Binary, peers and their crates in one tar file, for a machine that cannot get them
    Bundle(BundleArgs),
    /// For those who add a system: a scaffold, and a test of the protocol
    Peer(PeerCommands),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct PeersArg {
    /// Folder of peers, one folder with a peer.toml each [default: arena/peers of the source tree]
    #[arg(long, value_name = "DIR")]
    pub(crate) peers: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// A JSON document on standard output
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) peers: PeersArg,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Systems or peers to look at closely: every need, the build, and what they say when started
    #[arg(value_name = "SYSTEM")]
    pub(crate) systems: Vec<String>,
    /// A JSON document on standard output
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) peers: PeersArg,
}

#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    /// Systems or peers to build [default: those that need no download]
    #[arg(value_name = "SYSTEM")]
    pub(crate) systems: Vec<String>,
    /// Every peer
    #[arg(long, conflicts_with = "systems")]
    pub(crate) all: bool,
    /// Do not ask; as root, also install Debian packages
    #[arg(long)]
    pub(crate) yes: bool,
    /// Show the plan and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Only what downloads nothing
    #[arg(long)]
    pub(crate) offline: bool,
    #[command(flatten)]
    pub(crate) peers: PeersArg,
}

#[derive(Debug, Args)]
pub(crate) struct SmokeArgs {
    /// workload[/variant][@system], with globs and commas
    pub(crate) filter: Vec<String>,
    /// Worker threads: numbers and `all`
    #[arg(long, value_name = "LIST", default_value = "all")]
    pub(crate) threads: String,
    /// Time for one answer of a peer
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) timeout: Option<Duration>,
    /// Memory a peer may have
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) mem_cap: Option<u64>,
    #[command(flatten)]
    pub(crate) peers: PeersArg,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A run's name, the beginning of it, or its folder [default: the last]
    pub(crate) run: Option<String>,
    /// A line for each cell, in Markdown: beside the best other system, and beside `floor/*` where the run has it
    #[arg(long, conflicts_with = "json")]
    pub(crate) best: bool,
    /// The saved document on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// A run's name, the beginning of it, its folder, or a document of `merge -o` [default: the last]
    pub(crate) run: Option<String>,
    /// The page to write [default: report.html in the run's folder; beside a document of `merge`]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Compare the run with a saved baseline of the same machine
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// Also write report.md beside it, in the layouts of the seed documents
    #[arg(long)]
    pub(crate) md: bool,
    /// Open the page in the browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Where links to the sources of peers lead [default: the folder of peers that the run had, on this machine]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) sources: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The earlier run or baseline [default: the last run but one]
    pub(crate) a: Option<String>,
    /// The later one [default: the last run]
    pub(crate) b: Option<String>,
    /// Smaller differences do not matter: 300% is four times the time [default: 5%]
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub(crate) threshold: Option<f64>,
    /// Exit with 4 if a cell is slower, fails, or has a figure in the earlier run alone
    #[arg(long, value_name = "WHAT", value_parser = ["regress"])]
    pub(crate) fail_on: Option<String>,
    /// Runs of different machines, too: compares the ratios to the reference
    #[arg(long)]
    pub(crate) force: bool,
    /// The later run was of fewer cells on purpose: those that it was not asked for do not fail
    #[arg(long)]
    pub(crate) fewer: bool,
    /// The same in units of this cell's time, which both runs have
    #[arg(long, value_name = "CELL", conflicts_with = "force")]
    pub(crate) to: Option<String>,
    /// A JSON document on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BaselineArgs {
    #[command(subcommand)]
    pub(crate) command: BaselineCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BaselineCommand {
    /// Keep a run under a name
    Save {
        name: String,
        /// A run [default: the last]
        run: Option<String>,
    },
    /// What is kept
    List,
    /// Remove one
    Rm { name: String },
}

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Runs, as folders or names
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// Also write the JSON document to a file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The JSON document on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BundleArgs {
    /// The tar file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// A tidings binary to take [default: this one if it is static, else one is built]
    #[arg(long, value_name = "FILE")]
    pub(crate) binary: Option<PathBuf>,
    /// Leave out the crates of the Rust peers
    #[arg(long)]
    pub(crate) no_vendor: bool,
    #[command(flatten)]
    pub(crate) peers: PeersArg,
}

#[derive(Debug, Args)]
pub(crate) struct PeerCommands {
    #[command(subcommand)]
    pub(crate) command: PeerCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PeerCommand {
    /// Write a peer to begin with
    New(PeerNewArgs),
    /// Check that a peer keeps the protocol, one line a check
    Test(PeerTestArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PeerNewArgs {
    /// go, python, rust, or sh (for any other)
    pub(crate) lang: String,
    /// A new folder; its name is the peer's
    pub(crate) dir: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct PeerTestArgs {
    /// A folder with a peer.toml, or a command
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
    /// The system to ask for [default: all of the manifest]
    #[arg(long, value_name = "NAME")]
    pub(crate) system: Option<String>,
    /// Worker threads: a number or `all`
    #[arg(long, value_name = "N", default_value = "all")]
    pub(crate) threads: String,
    /// Time for one answer
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) timeout: Option<Duration>,
    /// Leave out the checks of the clock
    #[arg(long)]
    pub(crate) no_timing: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// workload[/variant][@system], with globs and commas
    pub(crate) filter: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// Built peers: `setup` or a run builds them again
    #[arg(long)]
    pub(crate) peers: bool,
    /// Saved runs; baselines stay
    #[arg(long)]
    pub(crate) runs: bool,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
    /// Only tell what would go
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct RunArgs {
    /// workload[/variant][@system], with globs and commas: 'pingpong@go,tokio' 'skynet/*'
    ///
    /// Without a variant the quick profile takes the headline variants; `/*` takes all.
    pub(crate) filter: Vec<String>,
    /// How much is measured
    #[arg(long, value_enum, default_value = "quick")]
    pub(crate) profile: Profile,
    /// Time for the whole run, 0 for none [default: 120s in quick, 8h in standard]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) budget: Option<Duration>,
    /// Worker threads: numbers and `all`, each gives cells of its own
    #[arg(long, value_name = "LIST", default_value = "all")]
    pub(crate) threads: String,
    /// A size: WORKLOAD=VALUE or WORKLOAD.KEY=VALUE; several values with commas, T for one per thread
    #[arg(long = "size", value_name = "SIZE")]
    pub(crate) sizes: Vec<String>,
    /// Stop a cell at this half-width of its interval [default: 10% in quick, 3% in standard]
    #[arg(long, value_name = "SHARE", value_parser = parse_fraction)]
    pub(crate) target_ci: Option<f64>,
    /// Rounds before the stop rule is looked at
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) min_rounds: Option<u32>,
    /// Rounds at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) max_rounds: Option<u32>,
    /// Processes per cell, one after the other [default: 1 in quick, 3 in standard]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) launches: Option<u32>,
    /// Systems that must be ready
    #[arg(long, value_name = "SYSTEM", value_delimiter = ',')]
    pub(crate) require: Vec<String>,
    /// The system that the others are compared with
    #[arg(long, value_name = "SYSTEM", default_value = "tidings")]
    pub(crate) vs: String,
    /// Also run programs as published where they differ from the strict cells
    #[arg(long, value_name = "WHAT", value_parser = ["original"])]
    pub(crate) include: Option<String>,
    /// Time for one answer of a peer [default: 20s, 120s in standard]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) timeout: Option<Duration>,
    /// Memory a peer may have [default: 4G or a quarter of the machine's; 12G or half in standard]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) mem_cap: Option<u64>,
    /// Count allocations in a pass of its own (the default)
    #[arg(long, overrides_with = "no_alloc")]
    pub(crate) alloc: bool,
    /// Do not
    #[arg(long)]
    pub(crate) no_alloc: bool,
    /// The order of rounds: random:SEED
    #[arg(long, value_name = "ORDER")]
    pub(crate) order: Option<String>,
    /// Refuse to run on a machine that is unfit for measuring
    #[arg(long)]
    pub(crate) strict_env: bool,
    #[command(flatten)]
    pub(crate) peers: PeersArg,
    /// The final document on standard output, everything else on standard error
    #[arg(long)]
    pub(crate) json: bool,
    /// Append every sample to a file as it comes, one JSON object a line
    #[arg(long, value_name = "FILE")]
    pub(crate) ndjson: Option<PathBuf>,
    /// Keep the peers' logs of cells that went well, too
    #[arg(long)]
    pub(crate) keep_logs: bool,
    /// Go on with a run that was cut off, with its own settings
    #[arg(long, value_name = "RUN", conflicts_with_all = [
        "filter", "profile", "budget", "threads", "sizes", "target_ci", "min_rounds", "max_rounds",
        "launches", "require", "vs", "include", "timeout", "mem_cap", "alloc", "no_alloc", "order",
    ])]
    pub(crate) resume: Option<String>,
    /// Afterwards compare with a saved baseline
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// Only the result
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Also how each cell was calibrated
    #[arg(short, long)]
    pub(crate) verbose: bool,
}
