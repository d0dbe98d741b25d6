//! `cargo x chaos`: three nats-servers, three nodes and a client in network namespaces of this machine,
//! disturbed one way after the other, under a load of numbered requests.
//!
//! `cargo test -p tidings-nats --test chaos [-- --short] [-- SCENARIO..]`, as root, with nats-server
//! (`cargo x nats`) and iproute2. Each scenario prints a line, and why it failed if it did; all lines
//! are in `target/chaos/report.txt` afterwards, and what every process said beside it.
//!
//! | file | what |
//! |---|---|
//! | `scenarios.rs` | what is done, in its order |
//! | `judge.rs` | what must hold afterwards |
//! | `world.rs` | the processes, and what they have said |
//! | `network.rs`, `servers.rs` | the namespaces and the bridge; nats-servers and who leads them |
//! | `member.rs`, `node.rs`, `client.rs` | the programs: what both kinds of members do, a node, the load |

mod client;
mod judge;
mod member;
mod network;
mod node;
mod scenarios;
mod servers;
mod world;

use std::error::Error;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest = arguments.get(1..).unwrap_or_default();
    let ended = match arguments.first().map(String::as_str) {
        Some("node") => node::run(rest).map(|()| true),
        Some("client") => client::run(rest).map(|()| true),
        Some("conduct") => scenarios::run(rest),
        _ => apart(&arguments),
    };
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("chaos: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs all of it in namespaces of its own, for the network, mounts and processes: whatever happens,
/// nothing of it is left when this ends.
fn apart(arguments: &[String]) -> Result<bool, Box<dyn Error>> {
    let ours = "--net --mount --pid --fork --kill-child --mount-proc";
    let mut works = Command::new("unshare");
    let why = match works.args(ours.split(' ')).arg("true").output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(format!("unshare: {error}")),
    };
    if let Some(why) = why {
        return Err(format!("it needs namespaces, which root may make: {why}").into());
    }
    let status = Command::new("unshare")
        .args(ours.split(' '))
        .arg(std::env::current_exe()?)
        .arg("conduct")
        .args(arguments)
        .status()?;
    Ok(status.success())
}
