//! `merge` and `bundle`: results and programs that go from one machine to another.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::invented;
use crate::stage::{Called, Stage, fake_peer};

fn call(stage: &Stage, args: &[&str]) -> Called {
    Called::from(stage.command(args).output().expect("started"))
}

/// The recorded run of the golden tests, as if made on another machine, at `factor` times its times.
fn elsewhere(stage: &Stage, name: &str, factor: f64, rename: &[(&str, &str)]) -> String {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/arena/golden/run.json");
    let text = fs::read_to_string(golden).expect("there");
    let mut run: Value = serde_json::from_str(&text).expect("JSON");
    run["env"]["cpu"] = name.into();
    run["id"] = name.into();
    for cell in run["cells"].as_array_mut().expect("cells") {
        for (from, to) in rename {
            if cell["system"] == *from {
                cell["system"] = (*to).into();
            }
        }
        for key in ["median", "mean", "min", "max", "first"] {
            if let Some(value) = cell["ns_per_op"][key].as_f64() {
                cell["ns_per_op"][key] = (value * factor).into();
            }
        }
    }
    let folder = stage.root.join(name);
    fs::create_dir_all(&folder).expect("made");
    fs::write(folder.join("run.json"), run.to_string()).expect("written");
    folder.to_str().expect("UTF-8").to_owned()
}

#[test]
fn runs_of_two_machines_stand_in_panels_related_by_anchors() {
    let stage = Stage::new("merge");
    let a = elsewhere(&stage, "cpu-a", 1.0, &[]);
    let b = elsewhere(
        &stage,
        "cpu-b",
        2.0,
        &[("tokio", "hopac"), ("flume", "akka-net")],
    );
    let called = call(&stage, &["merge", &a, &b, "--json"]);
    assert_eq!(called.code, 0, "{}", called.stderr);
    let merged = called.json();
    assert_eq!(merged["schema"], "tidings.arena.merge/1");
    assert_eq!(merged["machines"].as_array().map(Vec::len), Some(2));
    assert!(
        merged["anchors"]
            .as_array()
            .is_some_and(|a| a.contains(&"tidings".into())),
        "{merged}"
    );
    let groups = merged["groups"].as_array().expect("groups");
    let group = groups
        .iter()
        .find(|g| g["anchor"] == "tidings")
        .expect("a related group");
    let ratio = group["machine_ratios"]["tidings"]
        .as_f64()
        .expect("a ratio");
    assert!((ratio - 2.0).abs() < 1e-9, "{group}");
    for panel in group["panels"].as_array().expect("panels") {
        for row in panel.as_array().expect("rows") {
            // Both machines are alike but for their speed, so ratios to the anchor are.
            let to_anchor = row["to_anchor"].as_f64();
            if row["system"] == "tidings" {
                assert_eq!(to_anchor, Some(1.0), "{row}");
            }
        }
    }
    let text = call(&stage, &["merge", &a, &b]).stdout;
    assert!(text.contains("time on B over A: x2.00"), "{text}");
    assert!(text.contains("of tidings"), "{text}");
    let saved = stage.root.join("merged.json");
    let called = call(
        &stage,
        &["merge", &a, &b, "-o", saved.to_str().expect("UTF-8")],
    );
    assert_eq!(called.code, 0, "{}", called.stderr);
    let saved: Value =
        serde_json::from_str(&fs::read_to_string(saved).expect("written")).expect("JSON");
    assert_eq!(saved, merged);

    let called = call(&stage, &["merge", &a, &a]);
    assert_eq!(called.code, 2);
    assert!(called.stderr.contains("one machine"), "{}", called.stderr);
    let bare = elsewhere(
        &stage,
        "cpu-c",
        1.0,
        &[("tidings", "hopac"), ("go", "akka-net")],
    );
    let text = call(&stage, &["merge", &a, &bare]).stdout;
    assert!(text.contains("no anchor"), "{text}");
}

#[test]
fn runs_of_one_machine_are_ranked_together_and_what_was_skipped_hides_no_figure() {
    let stage = Stage::new("merge-ranks");
    let write = |name: &str, run: &Value| invented::write(&stage.root.join(name), run);
    let first = invented::run();
    let mut there = first.clone();
    there["env"]["cpu"] = "Another CPU".into();
    let is = |cell: &Value, system: &str| {
        let size = (&cell["params"]["p"], &cell["threads"]);
        cell["variant"] == "tell" && size == (&2.into(), &2.into()) && cell["system"] == system
    };
    let of = |system: &str| {
        let cells = first["cells"].as_array().expect("cells");
        cells
            .iter()
            .find(|cell| is(cell, system))
            .expect("there")
            .clone()
    };
    // The next run of the same machine: one system that was alone in it, and one that was skipped.
    let (mut alone, mut skipped) = (of("go"), of("tidings"));
    alone["system"] = "alone".into();
    alone["rank"] = 1.into();
    (skipped["state"], skipped["ns_per_op"]) = ("skipped".into(), Value::Null);
    let mut second = first.clone();
    second["cells"] = vec![alone, skipped].into();
    let runs = [("first", &first), ("second", &second), ("there", &there)];
    let runs = runs.map(|(name, run)| write(name, run));
    let called = call(&stage, &["merge", &runs[0], &runs[1], &runs[2], "--json"]);
    assert_eq!(called.code, 0, "{}", called.stderr);
    let merged = called.json();
    let groups = merged["groups"].as_array().expect("groups");
    let rows = groups.iter().map(|group| &group["panels"][0]);
    let mut rows = rows.filter_map(Value::as_array);
    let rows = rows.find(|rows| rows.iter().any(|row| row["system"] == "alone"));
    let row = |system: &str| {
        let mut rows = rows.expect("its group").iter();
        rows.find(|row| row["system"] == system).expect("a row")
    };
    assert_eq!(row("alone")["rank"], row("go")["rank"]);
    assert_eq!(
        (&row("tidings")["rank"], &row("go")["rank"]),
        (&1.into(), &3.into())
    );
    assert_eq!(row("tidings")["state"], "ok");
}

/// Unpacks a bundle in a folder of its own; that, and the bundle's root in it.
fn unpacked(stage: &Stage, tar: &Path) -> (PathBuf, PathBuf) {
    let there = stage.root.join("there");
    fs::create_dir_all(&there).expect("made");
    let mut command = Command::new("tar");
    let unpacked = command.arg("-xf").arg(tar).arg("-C").arg(&there).status();
    assert!(unpacked.expect("tar").success());
    let root = there.join("tidings-arena");
    (there, root)
}

/// A command in namespaces of its own, where it is root and has no network.
fn alone(program: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net"]).arg(program);
    command
}

/// Run by `cargo x bundle`.
#[test]
#[ignore = "takes minutes: a static binary, crates from the registry, peers built; needs cargo, go, a C compiler and unshare"]
fn a_bundle_is_enough_without_a_network() {
    let stage = Stage::new("bundle-offline");
    let tar = stage.root.join("arena.tar");
    let called = call(&stage, &["bundle", "-o", tar.to_str().expect("UTF-8")]);
    assert_eq!(called.code, 0, "{}{}", called.stdout, called.stderr);
    assert!(
        called.stdout.contains(": statically linked"),
        "{}",
        called.stdout
    );
    let (there, root) = unpacked(&stage, &tar);

    // Alone in a file system: no library, no loader, no variable.
    let bare = there.join("bare");
    fs::create_dir_all(&bare).expect("made");
    fs::copy(root.join("tidings"), bare.join("tidings")).expect("copied");
    let mut command = alone(Path::new("/usr/sbin/chroot"));
    let command = command.arg(&bare).args(["/tidings", "arena", "list"]);
    let listed = command.env_clear().env("HOME", "/").output();
    let listed = Called::from(listed.expect("unshare"));
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    assert!(
        listed.stdout.contains("ready    tidings (Rust)"),
        "{}",
        listed.stdout
    );

    // Toolchains are found; their caches and the network are not.
    let rustup = std::env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").expect("a home"));
    let rustup = rustup.unwrap_or_else(|| home().join(".rustup"));
    let toolchain = Command::new("rustup")
        .args(["show", "active-toolchain"])
        .output();
    let toolchain = String::from_utf8(toolchain.expect("rustup").stdout).expect("UTF-8");
    let toolchain = toolchain.split(' ').next().expect("a name").to_owned();
    let empty = there.join("home");
    fs::create_dir_all(&empty).expect("made");
    let offline = |args: &[&str]| {
        let mut command = alone(&root.join("tidings"));
        command
            .arg("arena")
            .args(args)
            .current_dir(&there)
            .env("HOME", &empty)
            .env("CARGO_HOME", empty.join("cargo"))
            .env("RUSTUP_HOME", &rustup)
            .env("RUSTUP_TOOLCHAIN", &toolchain)
            .env("XDG_CACHE_HOME", there.join("cache"));
        Called::from(command.output().expect("unshare"))
    };
    let setup = offline(&["setup", "rust", "go", "--yes"]);
    assert_eq!(setup.code, 0, "{}{}", setup.stdout, setup.stderr);
    assert!(setup.stdout.contains("2 of 2 built"), "{}", setup.stdout);
    let smoke = offline(&[
        "smoke",
        "counter/send@tidings,tokio,go",
        "chain@tokio-mimalloc,go",
    ]);
    assert_eq!(smoke.code, 0, "{}{}", smoke.stdout, smoke.stderr);
    print!("{}{}{}", called.stdout, setup.stdout, smoke.stdout);
    assert!(!smoke.stdout.contains("absent"), "{}", smoke.stdout);
}

#[test]
fn a_bundle_unpacked_elsewhere_lists_and_checks_its_peers() {
    crate::steady(|| {
        let stage = Stage::new("bundle");
        stage.peer("honest", "exact", &["counter/send"]);
        // A peer that comes along as a program beside its manifest.
        let folder = stage.root.join("peers/honest");
        fs::copy(fake_peer(), folder.join("fake")).expect("copied");
        let text = fs::read_to_string(folder.join("peer.toml")).expect("there");
        let fake = format!("{:?}", fake_peer());
        stage.manifest("honest", &text.replace(&fake, "\"{src}/fake\""));
        fs::create_dir_all(folder.join("target")).expect("made");
        fs::write(folder.join("target/rubbish"), "made by a build").expect("written");
        let tar = stage.root.join("arena.tar");
        let called = stage.call(&[
            "bundle",
            "-o",
            tar.to_str().expect("UTF-8"),
            "--binary",
            env!("CARGO_BIN_EXE_tidings"),
        ]);
        assert_eq!(called.code, 0, "{}{}", called.stdout, called.stderr);
        let (there, root) = unpacked(&stage, &tar);
        let readme = fs::read_to_string(root.join("README.md")).expect("there");
        assert!(
            readme.contains("linked") && readme.contains("merge RUN FOLDER"),
            "{readme}"
        );
        assert!(!root.join("arena/peers/honest/target").exists());
        let run = |args: &[&str]| {
            let mut command = Command::new(root.join("tidings"));
            command
                .arg("arena")
                .args(args)
                .env("XDG_CACHE_HOME", there.join("cache"));
            Called::from(command.output().expect("started"))
        };
        let listed = run(&["list"]);
        assert_eq!(listed.code, 0, "{}", listed.stderr);
        assert!(
            listed.stdout.contains("ready    honest"),
            "{}",
            listed.stdout
        );
        assert!(
            !listed.stdout.contains("dotnet"),
            "its own peers only: {}",
            listed.stdout
        );
        let smoke = run(&["smoke", "@honest", "counter/send@tidings"]);
        assert_eq!(smoke.code, 0, "{}{}", smoke.stdout, smoke.stderr);
        assert!(smoke.stdout.contains("2 cells correct"), "{}", smoke.stdout);
        let this = env!("CARGO_BIN_EXE_tidings");
        let nowhere = stage.call(&["bundle", "-o", "/dev/null/x.tar", "--binary", this]);
        assert_eq!(nowhere.code, 70, "{}", nowhere.stderr);
        // Told before anything is built or copied.
        let there = there.to_str().expect("UTF-8");
        let folder = stage.call(&["bundle", "-o", there, "--binary", this]);
        assert_eq!(folder.code, 2, "{}", folder.stderr);
        assert!(folder.stderr.contains("a folder"), "{}", folder.stderr);
        assert_eq!(folder.stdout, "");
    });
}
