//! What `smoke` builds before it begins, and what `run` says of its time.

use std::fs;

use crate::stage::{Stage, fake_peer};

/// A peer that builds by itself.
fn buildable(stage: &Stage, name: &str) {
    let fake = fake_peer();
    stage.manifest(
        name,
        &format!(
            "[peer]\nid = \"{name}\"\nsystems = [\"{name}\"]\nlang = \"Rust\"\nauto_build = true\n\
             [[build]]\ncmd = [\"cp\", \"peer.toml\", \"{{out}}/copy\"]\noutputs = [\"copy\"]\n\
             [run]\ncmd = [{fake:?}, \"--mode\", \"exact\"]\n[[cell]]\nid = \"counter/send\"\n"
        ),
    );
}

/// The peers that were built.
fn built(stage: &Stage) -> Vec<String> {
    let folder = stage.root.join("cache/tidings/arena/peers");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some(name.rsplit_once('-')?.0.to_owned())
        })
        .collect();
    names.sort();
    names
}

#[test]
fn smoke_builds_only_what_its_filter_names() {
    crate::steady(|| {
        let stage = Stage::new("smoke-filter");
        for name in ["a", "b"] {
            buildable(&stage, name);
        }
        let called = stage.call(&["smoke", "@a"]);
        assert_eq!(called.code, 0, "{}{}", called.stdout, called.stderr);
        assert!(
            called.stdout.contains("1 cell correct"),
            "{}",
            called.stdout
        );
        assert_eq!(built(&stage), ["a"]);
        // Neither has a cell of this workload.
        let called = stage.call(&["smoke", "fan@a,b"]);
        assert_eq!(called.code, 5, "{}{}", called.stdout, called.stderr);
        assert_eq!(built(&stage), ["a"]);
        let called = stage.call(&["smoke", "counter"]);
        assert_eq!(called.code, 0, "{}{}", called.stdout, called.stderr);
        assert_eq!(built(&stage), ["a", "b"]);
    });
}

#[test]
fn a_run_says_how_long_it_takes_before_it_begins() {
    crate::steady(|| {
        let stage = Stage::new("estimate");
        // It refuses the cell, so that each run is over at once.
        stage.peer("a", "refuse", &["counter/send"]);
        let short = ["--vs", "a", "--max-rounds", "3", "--size", "counter=1000"];
        let head = |args: &[&str]| {
            let called = stage.call(&[&["run", "@a"], args, &short].concat());
            assert_eq!(called.code, 3, "{}", called.stderr);
            let lines: Vec<&str> = called.stderr.lines().collect();
            (lines[0].to_owned(), called.stderr.clone())
        };
        let (quick, all) = head(&[]);
        assert!(quick.contains("1 cell in 1 group · about 0:0"), "{quick}");
        assert!(quick.contains(", at most 2:00 · run "), "{quick}");
        assert!(!all.contains("the whole plan"), "{all}");
        let one = ["--launches", "1", "--profile", "standard"];
        let (standard, _) = head(&one);
        assert!(standard.contains("at most 8:00:00"), "{standard}");
        let (without, _) = head(&[&one[..], &["--budget", "0"]].concat());
        assert!(without.contains(", no budget · run "), "{without}");
        let (tight, all) = head(&[&one[..], &["--budget", "900ms"]].concat());
        assert!(tight.contains("about 0:00, at most 0:00"), "{tight}");
        assert!(all.contains("! the whole plan takes about 0:0"), "{all}");
    });
}

#[test]
fn what_is_required_and_left_out_is_told_before_anything_is_built() {
    let stage = Stage::new("require-first");
    for name in ["a", "b"] {
        buildable(&stage, name);
    }
    let called = stage.call(&["run", "counter@a", "--vs", "a", "--require", "b"]);
    assert_eq!(called.code, 2, "{}", called.stderr);
    let why = "--require b: the filter leaves out all of its cells";
    assert!(called.stderr.contains(why), "{}", called.stderr);
    assert_eq!(built(&stage), [""; 0]);
}

#[test]
fn a_peer_that_does_not_leave_when_it_is_told_fails() {
    crate::steady(|| {
        let stage = Stage::new("smoke-quit");
        let systems = [("a", "exact"), ("b", "sulker"), ("c", "lingerer")];
        for (name, mode) in systems {
            stage.peer(name, mode, &["counter/send"]);
        }
        let called = stage.call(&["smoke", "@a,b,c", "--threads", "2"]);
        assert_eq!(called.code, 3, "{}{}", called.stdout, called.stderr);
        for system in ["b", "c"] {
            let line = format!(
                "protocol @{system} · threads=2: does not exit with 0 within 5 s after quit\n"
            );
            assert!(called.stdout.contains(&line), "{}", called.stdout);
        }
        let sums = "3 cells correct, 2 failed";
        assert!(called.stdout.contains(sums), "{}", called.stdout);
    });
}
