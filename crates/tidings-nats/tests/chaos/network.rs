//! The network: a namespace with an address for each host, all on one bridge. Who is cut off is moved
//! to another bridge, with those that are cut off with it: what it sends to the rest is lost without a
//! word, and so are connections that are there.

use std::process::Command;

pub(crate) type Failure = String;

/// What is where: the last byte of its address.
pub(crate) const HOSTS: [(&str, u8); 7] = [
    ("s1", 11),
    ("s2", 12),
    ("s3", 13),
    ("one", 21),
    ("two", 22),
    ("three", 23),
    ("client", 31),
];

const WHOLE: &str = "whole";
const APART: &str = "apart";

pub(crate) fn address(host: &str) -> String {
    let (_, last) = HOSTS
        .iter()
        .find(|(name, _)| *name == host)
        .expect("a host");
    format!("10.77.0.{last}")
}

pub(crate) fn make() -> Result<(), Failure> {
    // Names of namespaces are files there; these are ours alone.
    std::fs::create_dir_all("/run/netns").map_err(|error| format!("/run/netns: {error}"))?;
    run("mount -t tmpfs tmpfs /run/netns")?;
    run("ip link set lo up")?;
    for bridge in [WHOLE, APART] {
        run(&format!("ip link add {bridge} type bridge"))?;
        run(&format!("ip link set {bridge} up"))?;
    }
    run(&format!("ip addr add 10.77.0.254/24 dev {WHOLE}"))?;
    for (host, _) in HOSTS {
        run(&format!("ip netns add {host}"))?;
        run(&format!(
            "ip link add to-{host} type veth peer name eth0 netns {host}"
        ))?;
        run(&format!("ip link set to-{host} master {WHOLE} up"))?;
        run(&format!(
            "ip -n {host} addr add {}/24 dev eth0",
            address(host)
        ))?;
        run(&format!("ip -n {host} link set eth0 up"))?;
        run(&format!("ip -n {host} link set lo up"))?;
    }
    Ok(())
}

/// Cuts these hosts off from the rest, not from each other.
pub(crate) fn cut(hosts: &[&str]) -> Result<(), Failure> {
    hosts
        .iter()
        .try_for_each(|host| run(&format!("ip link set to-{host} master {APART}")))
}

pub(crate) fn heal() -> Result<(), Failure> {
    HOSTS
        .iter()
        .try_for_each(|(host, _)| run(&format!("ip link set to-{host} master {WHOLE}")))
}

/// A program on one of the hosts. It is the process that `ip` becomes.
pub(crate) fn on(host: &str, program: &std::path::Path) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", host]).arg(program);
    command
}

/// Sends a signal, by its name.
pub(crate) fn signal(name: &str, process: u32) -> Result<(), Failure> {
    run(&format!("kill -{name} {process}"))
}

fn run(line: &str) -> Result<(), Failure> {
    let mut words = line.split(' ');
    let program = words.next().expect("a program");
    let output = Command::new(program).args(words).output();
    let output = output.map_err(|error| format!("{line}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{line}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}
