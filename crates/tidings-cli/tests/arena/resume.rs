//! `run --resume`: a run that was killed goes on where it was, and only there.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::stage::{Called, Stage, fake_peer};

const CELLS: &[&str] = &["pingpong/tell", "counter/send"];

fn begin(stage: &Stage) -> std::process::Child {
    let peers = stage.root.join("peers");
    stage
        .command(&[
            "run",
            "@a,b",
            "--vs",
            "a",
            "--profile",
            "smoke",
            "--max-rounds",
            "3",
            "--threads",
            "2",
            "--ndjson",
        ])
        .arg(copy(stage))
        .arg("--peers")
        .arg(&peers)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("started")
}

/// Where `--ndjson` writes.
fn copy(stage: &Stage) -> PathBuf {
    stage.root.join("copy.ndjson")
}

fn kill(signal: &str, child: &std::process::Child) {
    let killed = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(killed.expect("kill").success());
}

fn call(stage: &Stage, args: &[&str]) -> Called {
    Called::from(stage.command(args).output().expect("started"))
}

fn document(stage: &Stage) -> Value {
    let text = fs::read_to_string(stage.saved().join("run.json")).expect("saved");
    serde_json::from_str(&text).expect("JSON")
}

/// The lines of the samples file that are about a workload.
fn samples(stage: &Stage, workload: &str) -> Vec<String> {
    let text = fs::read_to_string(stage.saved().join("samples.ndjson")).expect("saved");
    let of = format!("\"cell\":\"{workload}/");
    text.lines()
        .filter(|l| l.contains(&of))
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_killed_run_is_gone_on_with_and_its_finished_cells_stay() {
    crate::once(|| {
        let stage = Stage::new("resume");
        stage.peer_with("a", &["--mode", "exact"], CELLS);
        stage.peer_with("b", &["--mode", "exact", "--ns", "100"], CELLS);
        let mut child = begin(&stage);
        // The first group is done when the second has samples. Stopped, it is still going on.
        stage.wait_for("\"cell\":\"counter/send@");
        kill("-STOP", &child);
        let busy = stage.saved();
        let busy = call(&stage, &["run", "--resume", busy.to_str().expect("UTF-8")]);
        assert_eq!(busy.code, 2);
        assert!(busy.stderr.contains("still going on"), "{}", busy.stderr);
        kill("-KILL", &child);
        child.wait().expect("dies");
        let before = document(&stage);
        assert_eq!(before["interrupted"], true);
        assert_eq!(
            before["cells"].as_array().map(Vec::len),
            Some(2),
            "{before}"
        );
        let kept = samples(&stage, "pingpong");
        assert!(!samples(&stage, "counter").is_empty());
        // Killed in the middle of a line.
        let path = stage.saved().join("samples.ndjson");
        let text = fs::read_to_string(&path).expect("saved") + "{\"cell\":\"counter/se";
        fs::write(&path, text).expect("written");

        let id = before["id"].as_str().expect("an id").to_owned();
        let copied = copy(&stage);
        let again = ["run", "--resume", &id, "--json", "--ndjson"];
        let again = [&again[..], &[copied.to_str().expect("UTF-8")]].concat();
        let called = call(&stage, &again);
        assert_eq!(called.code, 0, "{}", called.stderr);
        assert_eq!(
            fs::read_to_string(&copied).expect("a copy"),
            fs::read_to_string(&path).expect("saved")
        );
        let run = document(&stage);
        assert_eq!(run, called.json());
        assert_eq!(
            (&run["interrupted"], &run["id"]),
            (&false.into(), &id.as_str().into())
        );
        assert_eq!(run["resumed"].as_array().map(Vec::len), Some(1));
        let cells = run["cells"].as_array().expect("cells");
        let measured: Vec<&Value> = cells.iter().filter(|c| !c["ns_per_op"].is_null()).collect();
        assert_eq!(measured.len(), 4, "two workloads, two systems");
        assert!(measured.iter().all(|c| c["n_samples"] == 3), "{measured:?}");
        assert_eq!(
            cells[..2],
            before["cells"].as_array().expect("cells")[..],
            "kept as they were"
        );
        assert_eq!(samples(&stage, "pingpong"), kept, "byte by byte");
        // What was half measured is measured anew, once.
        let rounds = |workload: &str, system: &str| {
            let lines = samples(&stage, workload).into_iter();
            let of = format!("{system}\"");
            lines
                .filter(|l| {
                    l.contains(&of)
                        && l.contains("\"phase\":\"round\"")
                        && l.contains("\"round\":2")
                })
                .count()
        };
        assert!(rounds("counter", "send@a") >= 1 && rounds("counter", "send@b") >= 1);
        let first = samples(&stage, "counter").len();
        let pilots = samples(&stage, "counter")
            .into_iter()
            .filter(|l| l.contains("\"inner\":1,") && l.contains("pilot"));
        assert_eq!(
            pilots.count(),
            2,
            "one pilot begins for each system, of {first} samples"
        );
        // And then there is nothing left to do.
        let called = call(&stage, &["run", "--resume", &id]);
        assert_eq!(called.code, 2);
        assert!(
            called.stderr.contains("nothing to resume"),
            "{}",
            called.stderr
        );
    });
}

#[test]
fn a_run_ended_by_ctrl_c_is_gone_on_with_too() {
    crate::once(|| {
        let stage = Stage::new("resume-int");
        stage.peer_with("a", &["--mode", "exact"], CELLS);
        stage.peer_with("b", &["--mode", "exact", "--ns", "100"], CELLS);
        let mut child = begin(&stage);
        stage.wait_for("\"cell\":\"counter/send@");
        kill("-INT", &child);
        assert_eq!(child.wait().expect("ends").code(), Some(130));
        let before = document(&stage);
        let id = before["id"].as_str().expect("an id").to_owned();
        let notes = before["notes"].to_string();
        assert!(notes.contains(&format!("--resume {id}")), "{notes}");
        let called = call(&stage, &["run", "--resume", &id, "--json"]);
        assert_eq!(called.code, 0, "{}", called.stderr);
        let run = called.json();
        let cells = run["cells"].as_array().expect("cells");
        let measured = cells.iter().filter(|c| c["n_samples"] == 3).count();
        assert_eq!(measured, 4, "{cells:?}");
        assert!(cells.iter().all(|c| c["cut_off"].is_null()), "{cells:?}");
    });
}

#[test]
fn of_two_that_go_on_with_a_run_at_once_the_second_is_refused() {
    crate::once(|| {
        let stage = Stage::new("resume-twice");
        let (fake, root) = (fake_peer(), stage.root.display());
        // To look at its needs takes as long as there is a file `hold`.
        let probe =
            format!("echo >> {root}/looked; while test -e {root}/hold; do sleep 0.05; done");
        stage.manifest(
            "a",
            &format!(
                "[peer]\nid = \"a\"\nsystems = [\"a\"]\nlang = \"Rust\"\n\
                 [[needs]]\ncmd = [\"sh\", \"-c\", {probe:?}]\nfix = \"none\"\n\
                 [run]\ncmd = [{fake:?}, \"--mode\", \"exact\"]\n\
                 [[cell]]\nid = \"pingpong/tell\"\n[[cell]]\nid = \"counter/send\"\n"
            ),
        );
        stage.peer_with("b", &["--mode", "exact"], CELLS);
        let mut child = begin(&stage);
        stage.wait_for("\"cell\":\"counter/send@");
        kill("-KILL", &child);
        child.wait().expect("dies");
        let id = document(&stage)["id"].as_str().expect("an id").to_owned();
        let (hold, looked) = (stage.root.join("hold"), stage.root.join("looked"));
        fs::write(&hold, "").expect("written");
        fs::remove_file(&looked).expect("removed");
        let looks = || fs::read_to_string(&looked).map_or(0, |text| text.lines().count());
        let deadline = Instant::now() + Duration::from_secs(30);
        let wait_until = |is_so: &mut dyn FnMut() -> bool| {
            while !is_so() {
                assert!(Instant::now() < deadline, "nothing happens");
                std::thread::sleep(Duration::from_millis(20));
            }
        };
        let go_on = || {
            let mut command = stage.command(&["run", "--resume", &id]);
            let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().expect("started")
        };
        let first = go_on();
        wait_until(&mut || looks() == 1);
        let mut second = go_on();
        wait_until(&mut || looks() == 2 || second.try_wait().expect("ours").is_some());
        fs::remove_file(&hold).expect("removed");
        let first = Called::from(first.wait_with_output().expect("ends"));
        let second = Called::from(second.wait_with_output().expect("ends"));
        assert_eq!(first.code, 0, "{}", first.stderr);
        assert_eq!(second.code, 2, "{}", second.stderr);
        let why = format!("run {id} is still going on");
        assert!(second.stderr.contains(&why), "{}", second.stderr);
    });
}

#[test]
fn other_settings_machines_builds_and_peers_are_refused() {
    crate::once(|| {
        let stage = Stage::new("resume-refuse");
        stage.peer_with("a", &["--mode", "exact"], CELLS);
        stage.peer_with("b", &["--mode", "exact"], CELLS);
        let mut child = begin(&stage);
        stage.wait_for("\"cell\":\"counter/send@");
        kill("-KILL", &child);
        child.wait().expect("dies");
        let path = stage.saved().join("run.json");
        let text = fs::read_to_string(&path).expect("saved");
        let id = document(&stage)["id"].as_str().expect("an id").to_owned();
        let refused = |args: &[&str], why: &str| {
            let called = call(&stage, &[&["run", "--resume", &id], args].concat());
            assert_eq!(called.code, 2, "{why}: {}", called.stderr);
            assert!(called.stderr.contains(why), "{why}: {}", called.stderr);
        };
        refused(&["--max-rounds", "3"], "cannot be used with '--max-rounds");
        refused(&["pingpong"], "cannot be used with");
        let changed = |from: &str, to: String| {
            let mut run: Value = serde_json::from_str(&text).expect("JSON");
            run["env"][from] = to.into();
            fs::write(&path, run.to_string()).expect("written");
        };
        changed("cpu", "Another CPU".to_owned());
        refused(&[], "another machine: CPU Another CPU");
        changed("build", "1-2".to_owned());
        refused(&[], "tidings was built anew since");
        fs::write(&path, &text).expect("written");
        let manifest = stage.root.join("peers/a/peer.toml");
        let old = fs::read_to_string(&manifest).expect("there");
        stage.manifest("a", &(old + "# changed\n"));
        refused(&[], "peer a changed since");
        let called = call(&stage, &["run", "--resume", "1999"]);
        assert_eq!(called.code, 2);
    });
}
