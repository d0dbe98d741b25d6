//! `setup` with an apt that the test made: what is planned, what is installed, what is named when it fails.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::stage::{Called, Stage, fake_peer};

/// Knows `alpha` and `beta`, and `gamma` after an update; `beta` does not install. Installing makes the tool.
const APT_GET: &str = r#"#!/bin/sh
echo "apt-get $*" >> "$STAGE/apt.log"
for word; do package=$word; done
case " $* " in
*" update "*) : > "$STAGE/updated"; exit 0;;
*" -s "*)
  if [ "$package" = gamma ] && [ ! -e "$STAGE/updated" ]; then
    echo "E: Unable to locate package gamma" >&2; exit 100
  fi
  echo "Inst lib$package (1.0 Debian [amd64])"; echo "Inst $package (1.0 Debian [amd64])"; exit 0;;
*" beta "*) echo "E: beta is broken" >&2; exit 100;;
esac
printf '#!/bin/sh\nexit 0\n' > "$STAGE/bin/tool-$package"
chmod +x "$STAGE/bin/tool-$package"
"#;

const APT_CACHE: &str = "#!/bin/sh\nfor name; do printf 'Package: %s\\nInstalled-Size: 2048\\nSize: 1048576\\n\\n' $name; done\n";

fn script(path: &Path, text: &str) {
    fs::write(path, text).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("made executable");
}

fn stage(name: &str) -> Stage {
    let stage = Stage::new(name);
    let bin = stage.root.join("bin");
    fs::create_dir_all(&bin).expect("made");
    script(&bin.join("apt-get"), APT_GET);
    script(&bin.join("apt-cache"), APT_CACHE);
    stage
}

/// A peer that needs the tool of a package, and makes something of its own.
fn needy(stage: &Stage, package: &str) {
    let fake = fake_peer();
    stage.manifest(
        package,
        &format!(
            "[peer]\nid = \"{package}\"\nsystems = [\"{package}\"]\nlang = \"Pony\"\nauto_build = true\n\
             [[needs]]\ncmd = [\"tool-{package}\"]\napt = [\"{package}\"]\n\
             [[build]]\ncmd = [\"cp\", \"peer.toml\", \"{{out}}/copy\"]\noutputs = [\"copy\"]\n\
             [run]\ncmd = [{fake:?}]\n[[cell]]\nid = \"pingpong/tell\"\n"
        ),
    );
}

fn call(stage: &Stage, args: &[&str]) -> Called {
    let path = std::env::var("PATH").expect("a path");
    let peers = stage.root.join("peers");
    let mut command = stage.command(args);
    command
        .args(["--peers", peers.to_str().expect("UTF-8")])
        .env(
            "PATH",
            format!("{}:{path}", stage.root.join("bin").display()),
        )
        .env("STAGE", &stage.root);
    Called::from(command.output().expect("started"))
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().expect("id exists");
    id.stdout == b"0\n"
}

#[test]
fn the_plan_tells_packages_with_sizes_and_changes_nothing() {
    let stage = stage("setup-plan");
    needy(&stage, "alpha");
    needy(&stage, "gamma");
    let called = call(&stage, &["setup", "--all", "--dry-run"]);
    for text in [
        "install  alpha: tool-alpha is not installed",
        "apt-get install alpha: 2 packages, 2.00 MiB to download, 4.00 MiB on disk (libalpha alpha)",
        "apt does not know gamma, so `apt-get update` comes first",
    ] {
        assert!(called.stdout.contains(text), "{}", called.stdout);
    }
    assert_eq!(called.code, if is_root() { 0 } else { 3 });
    let log = fs::read_to_string(stage.root.join("apt.log")).expect("asked");
    assert!(log.lines().all(|line| line.contains(" -s ")), "{log}");
    // Without --yes nothing is installed, and nobody is asked what cannot be done.
    let called = call(&stage, &["setup", "alpha"]);
    assert_eq!(called.code, 3, "{}", called.stdout);
    let offline = call(&stage, &["setup", "--all", "--offline", "--yes"]);
    assert_eq!(offline.code, 3);
    assert!(
        offline.stdout.contains("left out alpha"),
        "{}",
        offline.stdout
    );
    let log = fs::read_to_string(stage.root.join("apt.log")).expect("asked");
    assert!(log.lines().all(|line| line.contains(" -s ")), "{log}");
}

#[test]
fn packages_are_installed_by_root_and_the_build_goes_on() {
    let stage = stage("setup-install");
    for package in ["alpha", "beta", "gamma"] {
        needy(&stage, package);
    }
    stage.manifest(
        "elsewhere",
        "[peer]\nid = \"elsewhere\"\nsystems = [\"elsewhere\"]\nlang = \"Pony\"\n\
         [[needs]]\ncmd = [\"tool-elsewhere\"]\nfix = \"get it yourself\"\n\
         [run]\ncmd = [\"true\"]\n[[cell]]\nid = \"pingpong/tell\"\n",
    );
    let called = call(&stage, &["setup", "--all", "--yes"]);
    assert_eq!(called.code, 3, "beta is broken: {}", called.stdout);
    assert!(
        called.stdout.contains("fix: get it yourself"),
        "{}",
        called.stdout
    );
    if !is_root() {
        assert!(
            called.stdout.contains("needs root: sudo"),
            "{}",
            called.stdout
        );
        return;
    }
    for text in [
        "built    alpha in",
        "failed   beta: ",
        "beta is broken",
        "built    gamma in",
    ] {
        assert!(called.stdout.contains(text), "{}", called.stdout);
    }
    let last = called.stdout.lines().last();
    let summary = "2 of 3 built; failed: beta; left out: elsewhere";
    assert_eq!(last, Some(summary), "{}", called.stdout);
    for text in [
        "1 of 3, peer alpha: apt-get install alpha",
        "peer alpha: cp peer.toml",
    ] {
        assert!(called.stderr.contains(text), "{}", called.stderr);
    }
    let log = fs::read_to_string(stage.root.join("apt.log")).expect("asked");
    let count = |word: &str| log.lines().filter(|line| line.contains(word)).count();
    assert_eq!(count(" update"), 1, "only when a package is unknown: {log}");
    assert_eq!(
        count(" -y --no-install-recommends install alpha"),
        1,
        "{log}"
    );
    let again = call(&stage, &["setup", "alpha", "--yes"]);
    assert_eq!((again.code, again.stdout.as_str()), (0, "ready    alpha\n"));
}

#[test]
fn builds_that_may_download_are_left_out_offline() {
    let stage = stage("setup-offline");
    stage.peer("honest", "honest", &["pingpong/tell"]);
    let path = stage.root.join("peers/honest/peer.toml");
    let text = fs::read_to_string(&path).expect("there");
    let build = "[[build]]\ncmd = [\"true\"]\n[run]";
    stage.manifest("honest", &text.replacen("[run]", build, 1));
    let called = call(&stage, &["setup", "honest", "--offline", "--yes"]);
    assert_eq!(called.code, 3);
    let told = "left out honest: its build may download";
    assert!(called.stdout.contains(told), "{}", called.stdout);
    let called = call(&stage, &["setup", "honest", "--yes"]);
    assert_eq!(called.code, 0, "{}", called.stdout);
}
