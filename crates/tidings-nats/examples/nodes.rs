//! Three nodes on one nats-server, each a process: `cargo x nats` once, and then
//! `cargo run -p tidings-nats --example nodes`.
//!
//! Each node has a worker, and asks one of all workers every second. Kill one (`kill -9`, or `kill -STOP`
//! and `-CONT`; the numbers are printed) and see what the others say; start a fourth in another terminal
//! by `cargo run -p tidings-nats --example nodes -- four`. With `NATS_URL` set, no server is started.
//! Ctrl-C, or SIGTERM to the first process, ends them in order.

use std::error::Error;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::time::Duration;

use tidings::Event;
use tidings::actor::{self, Routing};
use tidings::signal::{SignalKind, signal};
use tidings_nats::{Change, Cluster, Ended, EngineError, Name, NameError, Options};

const URL: &str = "nats://127.0.0.1:4333";

#[tidings::interface(remote)]
trait Worker {
    async fn greet(&mut self, who: String) -> String;
}

struct Greeter {
    node: String,
    greeted: u32,
}

impl Worker for Greeter {
    async fn greet(&mut self, who: String) -> String {
        self.greeted += 1;
        format!(
            "hello {who}, from {} for the {}. time",
            self.node, self.greeted
        )
    }
}

fn url() -> String {
    std::env::var("NATS_URL").unwrap_or_else(|_| URL.to_owned())
}

/// One node, until ctrl-C or SIGTERM; in one life after the other, if it has to be.
async fn node(name: &str) -> Result<(), Box<dyn Error>> {
    let mut pressed = signal(SignalKind::interrupt())?;
    let mut told = signal(SignalKind::terminate())?;
    loop {
        let options = Options::new("example", name)
            .listen("tcp://127.0.0.1:0")
            .lease(Duration::from_secs(3))
            .patience(Duration::from_secs(30));
        let cluster = Cluster::join(&url(), options).await?;
        println!("{name}: joined, as process {}", std::process::id());
        let worker: WorkerRef = actor::start(Greeter {
            node: name.to_owned(),
            greeted: 0,
        });
        let _name = place(&cluster, &worker).await?;
        let telling = tidings::spawn(tell(name.to_owned(), cluster.clone()));
        let asking = tidings::spawn(ask(name.to_owned(), cluster.clone()));
        let ends = pressed.recv().or(told.recv()).map(|()| None);
        let why = cluster.ended().map(Some).or(ends).await;
        telling.abort();
        asking.abort();
        match why {
            Some(why @ (Ended::Replaced | Ended::Left)) => return Err(why.to_string().into()),
            Some(why) => println!("{name}: {why}; joining anew"),
            None => {
                cluster.leave(Duration::from_secs(5)).await;
                println!("{name}: has left");
                return Ok(());
            }
        }
    }
}

/// A place among the workers, as soon as NATS gives one.
async fn place(cluster: &Cluster, worker: &WorkerRef) -> Result<Name, NameError> {
    loop {
        match cluster.join_group("workers", worker).await {
            Err(NameError::Engine {
                why: EngineError::Timeout | EngineError::Unreachable(_),
                ..
            }) => {
                tidings::time::sleep(Duration::from_millis(200)).await;
            }
            name => return name,
        }
    }
}

/// Says who comes and goes.
async fn tell(name: String, cluster: Cluster) {
    let changes = cluster.changes();
    while let Ok(change) = changes.recv().await {
        match change {
            Change::Up(member) => println!("{name}: {} is here", member.node()),
            Change::Down(member, why) => println!("{name}: {} is gone: {why}", member.node()),
        }
    }
}

/// Asks one of the workers every second.
async fn ask(name: String, cluster: Cluster) {
    let workers = cluster.pool::<WorkerRef>("workers", Routing::RoundRobin);
    loop {
        let answer = match workers.pick().await {
            Ok(worker) => {
                let call = worker
                    .greet(name.clone())
                    .timeout(Duration::from_secs(2))
                    .await;
                match call {
                    Ok(answer) => answer,
                    Err(error) => error.to_string(),
                }
            }
            Err(error) => format!("there is no worker: {error}"),
        };
        println!("{name}: {answer}");
        tidings::time::sleep(Duration::from_secs(1)).await;
    }
}

/// What is started here ends with this.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn nats() -> Result<Option<Process>, Box<dyn Error>> {
    if std::env::var_os("NATS_URL").is_some() {
        return Ok(None);
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
        PathBuf::from,
    );
    let program = target.join("tools/nats/nats-server");
    if !program.exists() {
        return Err("there is no nats-server: `cargo x nats` installs it".into());
    }
    let folder = std::env::temp_dir().join("tidings-example-nats");
    let server = Command::new(program)
        .args([
            "-a",
            "127.0.0.1",
            "-p",
            "4333",
            "-js",
            "-l",
            "/dev/null",
            "-sd",
        ])
        .arg(folder)
        // It is not for ctrl-C: the nodes leave first.
        .process_group(0)
        .spawn()?;
    Ok(Some(Process(server)))
}

/// The server and three nodes, until they have ended.
fn all() -> Result<(), Box<dyn Error>> {
    let mut pressed = signal(SignalKind::interrupt())?;
    let mut told = signal(SignalKind::terminate())?;
    let _server = nats()?;
    let program = std::env::current_exe()?;
    let start = |name| Command::new(&program).arg(name).spawn();
    let nodes: Result<Vec<Child>, _> = ["one", "two", "three"].into_iter().map(start).collect();
    let nodes: Vec<Process> = nodes?.into_iter().map(Process).collect();
    let is_told = pressed
        .recv()
        .map(|()| false)
        .or(told.recv().map(|()| true));
    // They hear ctrl-C as well.
    if is_told.wait() {
        let numbers = nodes.iter().map(|node| node.0.id().to_string());
        Command::new("kill").args(numbers).status()?;
    }
    for mut node in nodes {
        node.0.wait()?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let name = std::env::args().nth(1);
    let ended = match &name {
        Some(name) => tidings::Runtime::new()
            .map_err(Into::into)
            .and_then(|runtime| runtime.block_on(node(name))),
        None => all(),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", name.as_deref().unwrap_or("nodes"));
            ExitCode::FAILURE
        }
    }
}
