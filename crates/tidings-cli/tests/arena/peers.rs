//! `peer new`, `peer test` and `doctor SYSTEM`: what somebody who adds a system meets.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::stage::{Called, Stage, fake_peer};

fn call(stage: &Stage, args: &[&str]) -> Called {
    Called::from(stage.command(args).output().expect("started"))
}

fn is_there(program: &str, argument: &str) -> bool {
    let mut command = Command::new(program);
    command
        .arg(argument)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Cells whose times are made up, so that no machine can spoil them.
const CELLS: &str = "pingpong/tell,counter/send,skynet/tree-ch,chain/struct,net/local";

/// What a test of the fake peer in a mode says.
fn test(stage: &Stage, mode: &str, more: &[&str]) -> Called {
    test_cells(stage, mode, more, CELLS)
}

fn test_cells(stage: &Stage, mode: &str, more: &[&str], cells: &str) -> Called {
    let fake = fake_peer();
    let fake = fake.to_str().expect("UTF-8");
    let head = ["peer", "test", "--system", "mine", "--timeout", "500ms"];
    let command = [fake, "--mode", mode, "--cells", cells];
    call(stage, &[&head[..], more, &command].concat())
}

#[test]
fn a_peer_over_tcp_passes_every_check_but_of_its_clock() {
    crate::steady(|| {
        let stage = Stage::new("conformance-tcp");
        let cells = "net/echo,net/echo-oneproc,net/paced";
        let called = test_cells(&stage, "honest", &["--no-timing"], cells);
        assert_eq!(called.code, 0, "{}{}", called.stdout, called.stderr);
        let text = "ok     counts net/paced at N=7 M=31";
        assert!(called.stdout.contains(text), "{}", called.stdout);
    });
}

#[test]
fn a_peer_that_keeps_the_protocol_passes_every_check() {
    crate::steady(|| {
        let stage = Stage::new("conformance");
        let called = test(&stage, "exact", &[]);
        assert_eq!(called.code, 0, "{}{}", called.stdout, called.stderr);
        for text in [
            "ok     says hello",
            "ok     refuses a cell it does not have",
            "ok     counts skynet/tree-ch at S=1000",
            "ok     counts chain/struct at A=103",
            "ok     times counter/send honestly",
            "ok     leaves at the end of its input",
            "checks passed, 0 failed",
        ] {
            assert!(called.stdout.contains(text), "{text}: {}", called.stdout);
        }
    });
}

#[test]
fn what_a_peer_does_wrong_is_the_line_that_fails() {
    crate::steady(|| {
        let stage = Stage::new("nonconformance");
        let cases = [
            ("crash-hello", "failed says hello: crash, exited with 7"),
            ("impostor", "failed says hello: protocol"),
            (
                "liar-count",
                "failed counts counter/send at P=3 n=997: wrong, msgs is 2992",
            ),
            ("refuse", "failed counts pingpong/tell"),
            ("babbler", "unasked output"),
            (
                "ignorant",
                "failed refuses a command it does not know: timeout",
            ),
            ("yes-man", "failed refuses to run without prep: protocol"),
            (
                "lingerer",
                "failed leaves at quit: protocol, does not exit with 0 within 5 s",
            ),
            ("clockless", "failed says hello: clock"),
        ];
        for (mode, line) in cases {
            let called = test(&stage, mode, &["--no-timing"]);
            assert_eq!(called.code, 3, "{mode}: {}", called.stdout);
            assert!(called.stdout.contains(line), "{mode}: {}", called.stdout);
        }
        for (mode, line) in [
            ("elider", "times counter/send honestly: elided"),
            ("dawdler", "honestly: clock"),
        ] {
            let called = test_cells(&stage, mode, &[], "counter/send");
            assert_eq!(called.code, 3, "{mode}: {}", called.stdout);
            assert!(called.stdout.contains(line), "{mode}: {}", called.stdout);
        }
        let called = call(&stage, &["peer", "test", "/tmp", "--no-timing"]);
        assert_eq!(called.code, 2);
        assert!(
            called.stderr.contains("before the folder"),
            "{}",
            called.stderr
        );
        let called = call(&stage, &["peer", "test", "true"]);
        assert_eq!(called.code, 2);
        assert!(called.stderr.contains("--system NAME"), "{}", called.stderr);
    });
}

/// Writes a scaffold and tests it; `false` if the language is not on this machine.
fn scaffold(stage: &Stage, language: &str) {
    let dir = stage.root.join("peers").join(format!("my-{language}"));
    let dir = dir.to_str().expect("UTF-8");
    let called = call(stage, &["peer", "new", language, dir]);
    assert_eq!(called.code, 0, "{}", called.stderr);
    assert!(Path::new(dir).join("README.md").is_file());
    // The clock is looked at in tests of fakes: what a real peer takes depends on the machine.
    let called = call(stage, &["peer", "test", "--no-timing", dir]);
    assert_eq!(called.code, 0, "{}{}", called.stdout, called.stderr);
    assert!(
        called
            .stdout
            .contains("ok     counts counter/send at P=3 n=997"),
        "{}",
        called.stdout
    );
    let smoke = stage.call(&["smoke", &format!("@my-{language}")]);
    assert_eq!(smoke.code, 0, "{}{}", smoke.stdout, smoke.stderr);
    let again = call(stage, &["peer", "new", language, dir]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("is not empty"), "{}", again.stderr);
}

#[test]
fn the_scaffold_of_the_shell_keeps_the_protocol() {
    crate::steady(|| scaffold(&Stage::new("scaffold-sh"), "sh"));
}

#[test]
fn the_scaffold_of_rust_keeps_the_protocol() {
    crate::steady(|| scaffold(&Stage::new("scaffold-rust"), "rust"));
}

#[test]
fn the_scaffold_of_python_keeps_the_protocol() {
    if is_there("python3", "--version") {
        crate::steady(|| scaffold(&Stage::new("scaffold-python"), "python"));
    }
}

#[test]
fn the_scaffold_of_go_keeps_the_protocol() {
    if is_there("go", "version") {
        crate::steady(|| scaffold(&Stage::new("scaffold-go"), "go"));
    }
}

#[test]
fn unknown_languages_and_bad_names_are_told() {
    let stage = Stage::new("scaffold-bad");
    let dir = stage.root.join("mine");
    let called = call(
        &stage,
        &["peer", "new", "cobol", dir.to_str().expect("UTF-8")],
    );
    assert_eq!(called.code, 2);
    assert!(
        called.stderr.contains("there are go, python, rust, sh"),
        "{}",
        called.stderr
    );
    let called = call(&stage, &["peer", "new", "go", "/tmp/My Peer"]);
    assert_eq!(called.code, 2);
    assert!(
        called.stderr.contains("lower-case letters"),
        "{}",
        called.stderr
    );
    assert!(!dir.exists());
}

#[test]
fn doctor_looks_at_one_peer_closely() {
    crate::steady(|| {
        let stage = Stage::new("doctor");
        stage.peer("honest", "honest", &["pingpong/tell", "fan/obj"]);
        let called = stage.call(&["doctor", "honest"]);
        assert_eq!(called.code, 0);
        for text in [
            "honest is built: nothing to build",
            "look honest says hello as honest: version 1.2 on sleep",
            "not in its hello: fan/obj",
            "clock",
        ] {
            assert!(called.stdout.contains(text), "{}", called.stdout);
        }
        assert!(!called.stdout.contains("peer tidings"), "{}", called.stdout);
        let called = stage.call(&["doctor", "akka"]);
        assert_eq!(called.code, 2);
        assert!(
            called.stderr.contains("unknown system"),
            "{}",
            called.stderr
        );
    });
}
