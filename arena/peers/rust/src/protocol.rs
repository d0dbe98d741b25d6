//! This pack behind the peer protocol.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use peer_protocol::{Hello, Sampled, Words, default_threads, serve, version};
use tokio::runtime::{Builder, Runtime};

use crate::cells::{Cells, Fault, LIBRARIES, Sample, cells};

const LOCK: &str = include_str!("../Cargo.lock");

/// The program: `--arena 1 --system NAME`.
pub fn main(mimalloc: bool) -> ExitCode {
    let system = peer_protocol::system();
    let known = system.and_then(|name| Some((cells(&name)?, name)));
    let Some((cells, system)) = known else {
        eprintln!(
            "peer-rust speaks to the arena: --arena 1 --system {LIBRARIES:?}[-mimalloc], no crossbeam-mimalloc"
        );
        return ExitCode::from(2);
    };
    if system.ends_with("-mimalloc") && !mimalloc {
        let sibling = std::env::current_exe().map(|me| me.with_file_name("peer-rust-mimalloc"));
        let args = std::env::args_os().skip(1);
        let error = match sibling {
            Ok(sibling) => Command::new(sibling).args(args).exec(), // returns only to fail
            Err(error) => error,
        };
        eprintln!("peer-rust: cannot start peer-rust-mimalloc: {error}");
        return ExitCode::from(1);
    }
    let names: Vec<&str> = cells.keys().copied().collect();
    let mut peer = Peer {
        cells,
        runtime: None,
        sample: None,
    };
    let library = system.trim_end_matches("-mimalloc");
    let package = match library {
        "crossbeam" => "crossbeam-channel",
        library => library,
    };
    let hello = Hello {
        system: &system,
        peer: "rust",
        version: version(LOCK, package),
        runtime: &runtime(library),
        flags: &if mimalloc {
            format!("allocator=mimalloc {}", version(LOCK, "mimalloc"))
        } else {
            "allocator=system".to_owned()
        },
        threads: default_threads(),
        caps: &["alloc"],
        cells: &names,
    };
    serve(&hello, &mut peer)
}

/// What a library runs on.
fn runtime(library: &str) -> String {
    match (library, default_threads()) {
        ("crossbeam", _) => "OS threads".to_owned(),
        (_, 1) => format!("tokio {} current_thread", version(LOCK, "tokio")),
        _ => format!("tokio {} multi_thread", version(LOCK, "tokio")),
    }
}

struct Peer {
    cells: Cells,
    runtime: Option<(usize, Runtime)>,
    sample: Option<Sample>,
}

impl peer_protocol::Peer for Peer {
    fn prep(&mut self, words: &Words<'_>) -> Result<String, Fault> {
        self.sample = None;
        let name = words.text("cell");
        let make = *self
            .cells
            .get(name)
            .ok_or_else(|| Fault::Unsupported(format!("no cell {name:?}")))?;
        let params = words.params(default_threads())?;
        let threads = params.threads as usize;
        if self.runtime.as_ref().is_none_or(|(has, _)| *has != threads) {
            self.runtime = None;
            let runtime = match threads {
                1 => Builder::new_current_thread().enable_time().build(),
                _ => Builder::new_multi_thread()
                    .worker_threads(threads)
                    .enable_time()
                    .build(),
            };
            let runtime = runtime.map_err(|e| Fault::Limit(e.to_string()))?;
            self.runtime = Some((threads, runtime));
        }
        let (_, runtime) = self.runtime.as_ref().expect("made just now");
        let _inside = runtime.enter();
        self.sample = Some(make(params)?);
        Ok(String::new())
    }

    fn run(&mut self, words: &Words<'_>) -> Result<Sampled, Fault> {
        let (Some(sample), Some((_, runtime))) = (&self.sample, &self.runtime) else {
            return Err(Fault::bug("run without prep"));
        };
        let inner = words.inner()?;
        let (outcome, more) = words.counting(|| match sample {
            Sample::Task(run) => {
                let task = run(inner);
                runtime.block_on(async { tokio::spawn(task).await? })
            }
            Sample::Thread(run) => run(inner),
        })?;
        let (time, counts) = outcome?;
        Ok(Sampled {
            inner,
            time,
            counts,
            more,
        })
    }

    fn end(&mut self) {
        self.sample = None;
        self.runtime = None;
    }
}
