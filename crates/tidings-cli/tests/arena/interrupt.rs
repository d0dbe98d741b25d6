//! Ctrl-C and full disks: what was measured is kept, and the exit code says what happened.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::stage::{Called, Stage};

#[test]
fn ctrl_c_keeps_the_rounds_so_far() {
    crate::once(|| {
        let stage = Stage::new("interrupt");
        stage.peer("honest", "honest", &["pingpong/tell", "counter/send"]);
        let peers = stage.root.join("peers");
        let child = stage
            .command(&[
                "run",
                "@honest",
                "--vs",
                "honest",
                "--size",
                "pingpong=1000",
                "--min-rounds",
                "100000",
                "--max-rounds",
                "100000",
                "--budget",
                "0",
                "--threads",
                "2",
                "--peers",
            ])
            .arg(&peers)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("started");
        let runs = stage.root.join("data/tidings/arena/runs");
        let deadline = Instant::now() + Duration::from_secs(30);
        let has_round = || {
            let folder = fs::read_dir(&runs).ok()?.flatten().next()?.path();
            let text = fs::read_to_string(folder.join("samples.ndjson")).ok()?;
            text.contains("\"phase\":\"round\"").then_some(())
        };
        while has_round().is_none() {
            assert!(Instant::now() < deadline, "no round was made");
            std::thread::sleep(Duration::from_millis(20));
        }
        let killed = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status();
        assert!(killed.expect("kill").success());
        let called = Called::from(child.wait_with_output().expect("ends"));
        assert_eq!(called.code, 130, "{}", called.stderr);
        let text = fs::read_to_string(stage.saved().join("run.json")).expect("saved");
        let run: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(run["interrupted"], true);
        let cells = run["cells"].as_array().expect("cells");
        let measured = cells.iter().filter(|c| !c["ns_per_op"].is_null()).count();
        assert_eq!((measured, cells.len()), (1, 2), "{cells:?}");
        assert!(called.stdout.contains("interrupted"), "{}", called.stdout);
        // And it can be shown.
        let shown = Called::from(stage.command(&["show"]).output().expect("started"));
        assert_eq!(shown.code, 0);
        assert!(shown.stdout.contains("pingpong/tell"), "{}", shown.stdout);
    });
}

/// Processes that were started with an argument.
fn started_with(argument: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").expect("proc").flatten();
    let has_it = |entry: &fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .any(|word| word == argument.as_bytes())
    };
    let names = entries.filter(has_it).map(|entry| entry.file_name());
    names.filter_map(|name| name.into_string().ok()).collect()
}

fn kill(signal: &str, pid: &str) {
    let killed = Command::new("kill").args([signal, pid]).status();
    assert!(killed.is_ok(), "{killed:?}");
}

#[test]
fn who_is_asked_to_end_while_a_peer_is_built_leaves_no_build_behind() {
    crate::once(|| {
        let stage = Stage::new("interrupt-build");
        let mark = stage.root.join("mark").to_str().expect("UTF-8").to_owned();
        // A step with a child of its own, both of which are known by the mark.
        let inner = "sh -c 'while :; do sleep 1; done' \"$0\"; true";
        stage.manifest(
            "slow",
            &format!(
                "[peer]\nid = \"slow\"\nsystems = [\"slow\"]\nlang = \"Pony\"\nauto_build = true\n\
                 [[build]]\ncmd = [\"sh\", \"-c\", {inner:?}, {mark:?}]\noutputs = [\"x\"]\n\
                 [run]\ncmd = [\"true\"]\n[[cell]]\nid = \"pingpong/tell\"\n"
            ),
        );
        let wait_until = |is_so: &dyn Fn() -> bool| {
            let deadline = Instant::now() + Duration::from_secs(30);
            while !is_so() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(20));
            }
        };
        let peers = stage.root.join("peers").to_str().expect("UTF-8").to_owned();
        let folder = stage.root.join("peers/slow");
        let all: [&[&str]; 4] = [
            &["run", "@slow", "--vs", "slow", "--peers", &peers],
            &["smoke", "@slow", "--peers", &peers],
            &["setup", "slow", "--yes", "--peers", &peers],
            &["peer", "test", folder.to_str().expect("UTF-8")],
        ];
        for (args, signal) in all.iter().zip(["-TERM", "-INT", "-TERM", "-HUP"]) {
            let mut child = stage
                .command(args)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("started");
            wait_until(&|| started_with(&mark).len() == 2);
            kill(signal, &child.id().to_string());
            let code = child.wait().expect("ours").code();
            wait_until(&|| started_with(&mark).is_empty());
            let left = started_with(&mark);
            for pid in &left {
                kill("-KILL", pid);
            }
            assert_eq!((code, left), (Some(130), Vec::new()), "{args:?}");
        }
        assert!(stage.runs().is_empty(), "nothing was measured");
    });
}

#[test]
fn the_second_ctrl_c_leaves_no_peer_behind() {
    crate::once(|| {
        let stage = Stage::new("interrupt-twice");
        let cells = ["pingpong/tell"];
        let peer = |name: &str, mode: &str| {
            let mark = stage.root.join(name).to_str().expect("UTF-8").to_owned();
            stage.peer_with(name, &["--mode", mode, "--ns-file", &mark], &cells);
            mark
        };
        // Its samples are long, so that it is in turn when the first one comes; the other one is told to leave.
        let slow = peer("slow", "slow");
        let stays = peer("stays", "immortal");
        let rounds = ["--min-rounds", "100000", "--max-rounds", "100000"];
        let head = ["run", "@slow,stays", "--vs", "slow", "--profile", "smoke"];
        let mut child = stage
            .command(&[&head[..], &rounds, &["--threads", "2", "--peers"]].concat())
            .arg(stage.root.join("peers"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        stage.wait_for("\"phase\":\"round\"");
        let wait_until = |is_so: &mut dyn FnMut() -> bool| {
            let deadline = Instant::now() + Duration::from_secs(30);
            while !is_so() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(20));
            }
        };
        let pid = child.id().to_string();
        kill("-INT", &pid);
        // Until its turn it is stopped, and would die with the harness.
        let is_told = |pid: &String| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
            stat.is_ok_and(|stat| !stat.contains(") T "))
        };
        wait_until(&mut || {
            started_with(&slow).is_empty() && started_with(&stays).iter().all(is_told)
        });
        kill("-INT", &pid);
        assert_eq!(child.wait().expect("ours").code(), Some(130));
        // The dead take a moment to go.
        wait_until(&mut || started_with(&stays).is_empty());
        let left = started_with(&stays);
        for pid in &left {
            kill("-KILL", pid);
        }
        assert_eq!(left, Vec::<String>::new());
    });
}

#[test]
fn where_samples_cannot_go_no_run_begins() {
    crate::once(|| {
        let stage = Stage::new("nowhere");
        stage.peer("honest", "honest", &["pingpong/tell"]);
        let called = stage.call(&["run", "@honest", "--ndjson", "/nowhere/samples"]);
        assert_eq!(called.code, 70, "{}", called.stderr);
        let told = "cannot write /nowhere/samples: No such file";
        assert!(called.stderr.contains(told), "{}", called.stderr);
        assert!(stage.runs().is_empty());
    });
}

#[test]
fn a_full_disk_is_named() {
    crate::once(|| {
        let stage = Stage::new("full");
        stage.peer("honest", "honest", &["pingpong/tell"]);
        let called = stage.call(&[
            "run",
            "@honest",
            "--size",
            "pingpong=1000",
            "--threads",
            "2",
            "--ndjson",
            "/dev/full",
        ]);
        assert_eq!(called.code, 70, "{}", called.stderr);
        assert!(
            called
                .stderr
                .contains("cannot write /dev/full: No space left on device"),
            "{}",
            called.stderr
        );
    });
}
