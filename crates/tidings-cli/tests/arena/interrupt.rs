//! Ctrl-C and full disks: what was measured is kept, and the exit code says what happened.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::stage::{Called, Stage};

#[test]
fn ctrl_c_keeps_the_rounds_so_far() {
    crate::steady(|| {
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

#[test]
fn a_full_disk_is_named() {
    crate::steady(|| {
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
