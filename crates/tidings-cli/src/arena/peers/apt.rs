//! Debian packages: what an installation would bring, and the installation itself. Used by `setup` only.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::arena::machine::interrupt::Interrupt;
use crate::arena::peers::build;

/// Waits for another apt that is at work, instead of failing beside it.
const WAIT: [&str; 2] = ["-o", "DPkg::Lock::Timeout=600"];

/// One package that an installation would bring.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// Bytes to download.
    pub(crate) download: u64,
    /// Bytes on disk.
    pub(crate) installed: u64,
}

/// What apt says about an installation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Quote {
    /// It would bring these; none if all are there.
    Brings(Vec<Package>),
    /// It knows no such packages. Its lists may be old.
    Unknown(Vec<String>),
}

/// Asks apt; changes nothing, downloads nothing, needs no rights.
pub(crate) fn quote(wanted: &[String]) -> Result<Quote, String> {
    let mut command = Command::new("apt-get");
    command
        .args(["-s", "-q", "-o", "Debug::NoLocking=1"])
        .args(["--no-install-recommends", "install"])
        .args(wanted);
    let (simulated, stdout, stderr) = asked(command)?;
    if !simulated {
        let unknown = unknown(&stderr);
        return if unknown.is_empty() {
            Err(format!("apt-get: {}", last_error(&stderr)))
        } else {
            Ok(Quote::Unknown(unknown))
        };
    }
    let names: Vec<&str> = stdout
        .lines()
        .filter_map(|line| line.strip_prefix("Inst ")?.split(' ').next())
        .collect();
    if names.is_empty() {
        return Ok(Quote::Brings(Vec::new()));
    }
    let mut command = Command::new("apt-cache");
    command.args(["show", "--no-all-versions"]).args(&names);
    // Without sizes the names still tell what comes.
    let text = asked(command).map_or(String::new(), |(_, stdout, _)| stdout);
    let package = |name: &&str| {
        let (download, installed) = sizes(&text, name);
        Package {
            name: (*name).to_owned(),
            download,
            installed,
        }
    };
    Ok(Quote::Brings(names.iter().map(package).collect()))
}

/// Whether it went well, and what it said.
fn asked(mut command: Command) -> Result<(bool, String, String), String> {
    let output = command
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|_| {
            let name = command.get_program().to_string_lossy().into_owned();
            format!("there is no {name} here")
        })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((
        output.status.success(),
        text(&output.stdout),
        text(&output.stderr),
    ))
}

fn unknown(stderr: &str) -> Vec<String> {
    let name = |line: &str| {
        let line = line.strip_prefix("E: ")?;
        let rest = line
            .strip_prefix("Unable to locate package ")
            .or_else(|| line.strip_prefix("Package "))?;
        let known = line.starts_with("Package ") && !line.contains("no installation candidate");
        let name = rest.split(' ').next()?.trim_matches(['\'', '"']);
        (!known).then(|| name.to_owned())
    };
    stderr.lines().filter_map(name).collect()
}

fn last_error(stderr: &str) -> &str {
    stderr
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("E: "))
        .unwrap_or("it failed and does not say why")
}

/// Bytes to download and on disk, from what `apt-cache show` prints.
fn sizes(text: &str, name: &str) -> (u64, u64) {
    let paragraph = text.split("\n\n").find(|paragraph| {
        let package = paragraph
            .lines()
            .find_map(|line| line.strip_prefix("Package: "));
        package.is_some_and(|package| package == name.split(':').next().unwrap_or(name))
    });
    let number = |key: &str| {
        let line = paragraph?.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().parse::<u64>().ok()
    };
    (
        number("Size: ").unwrap_or(0),
        number("Installed-Size: ").unwrap_or(0) * 1024,
    )
}

/// Installs, as root. Fetches the package lists first if a package is unknown, once in the life of a value.
#[derive(Debug, Default)]
pub(crate) struct Installer {
    updated: bool,
}

impl Installer {
    pub(crate) fn install(
        &mut self,
        packages: &[String],
        mut begins: impl FnMut(&str),
    ) -> Result<(), String> {
        if matches!(quote(packages)?, Quote::Unknown(_)) && !self.updated {
            begins("apt-get update");
            self.updated = true;
            run(&["update"])?;
        }
        if let Quote::Unknown(names) = quote(packages)? {
            return Err(format!("apt knows no package {}", names.join(", ")));
        }
        begins(&format!("apt-get install {}", packages.join(" ")));
        let mut words = vec!["-y", "--no-install-recommends", "install"];
        words.extend(packages.iter().map(String::as_str));
        run(&words)
    }
}

fn run(words: &[&str]) -> Result<(), String> {
    // Through env, so that no package asks questions.
    let head = [
        "env",
        "LC_ALL=C",
        "DEBIAN_FRONTEND=noninteractive",
        "apt-get",
        "-q",
    ];
    let step: Vec<String> = head
        .iter()
        .chain(&WAIT)
        .chain(words)
        .map(|word| (*word).to_owned())
        .collect();
    // To its end, whoever asks for another: half an installation is worse.
    build::run_step(&step, Path::new("/"), &Interrupt::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_packages_are_read_from_what_apt_says() {
        let text = "Reading package lists...\nE: Unable to locate package ponyc\n\
            E: Package 'openjdk-21-jdk' has no installation candidate\nE: Package 'x' is broken\n";
        assert_eq!(unknown(text), ["ponyc", "openjdk-21-jdk"]);
        assert_eq!(last_error(text), "Package 'x' is broken");
    }

    #[test]
    fn sizes_are_those_of_the_package() {
        let text = "Package: ghc\nInstalled-Size: 10\nSize: 2048\n\nPackage: ghc-doc\nSize: 1\n";
        assert_eq!(sizes(text, "ghc"), (2048, 10 * 1024));
        assert_eq!(sizes(text, "ghc-doc"), (1, 0));
        assert_eq!(sizes(text, "gcc"), (0, 0));
    }
}
