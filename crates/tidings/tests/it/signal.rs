//! Ctrl-C: an event that hears what comes after it was made.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use crate::both::watchdog;
use crate::hands::{Bomb, pinned, poll_with};
use tidings::{Event, Runtime, ctrl_c};

/// What the child process of a test below runs: prints when it is ready, then when it heard.
const CHILD: &str = "TIDINGS_TEST_CTRL_C";

/// Runs this test in a process of its own; `None` there. As a script starts it in the background: with the signal
/// ignored.
fn child() -> Option<(Child, impl Iterator<Item = String>)> {
    if std::env::var_os(CHILD).is_some() {
        return None;
    }
    let name = std::thread::current().name().unwrap().to_owned();
    let mut child = Command::new("sh")
        .args(["-c", "trap '' INT; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &name, "--nocapture"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    Some((child, lines.map(Result::unwrap)))
}

fn press(child: &Child) {
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
}

#[test]
fn ctrl_c_reaches_everyone_who_waits() {
    let _watchdog = watchdog();
    let Some((mut child, mut lines)) = child() else {
        let (first, second) = (ctrl_c().unwrap(), ctrl_c().unwrap());
        println!("ready");
        let rt = Runtime::new().unwrap();
        rt.block_on(first.into_future());
        second.wait();
        println!("heard");
        return;
    };
    assert!(lines.any(|line| line.contains("ready")));
    press(&child);
    assert!(lines.any(|line| line.contains("heard")));
    assert!(child.wait().unwrap().success());
}

#[test]
fn ctrl_c_is_heard_again_after_a_waker_that_panicked() {
    let _watchdog = watchdog();
    let Some((mut child, mut lines)) = child() else {
        let mut panics = pinned(ctrl_c().unwrap());
        let first = ctrl_c().unwrap();
        assert!(poll_with(panics.as_mut(), &Waker::from(Arc::new(Bomb))).is_pending());
        println!("ready");
        first.wait();
        let second = ctrl_c().unwrap();
        println!("heard once");
        second.wait();
        println!("heard twice");
        return;
    };
    for said in ["ready", "heard once"] {
        assert!(lines.any(|line| line.contains(said)));
        press(&child);
    }
    assert!(lines.any(|line| line.contains("heard twice")));
    assert!(child.wait().unwrap().success());
}

#[test]
fn who_waits_for_ctrl_c_is_no_deadlock() {
    const PATIENCE: Duration = Duration::from_millis(50);
    let _watchdog = watchdog();
    let Some((mut child, mut lines)) = child() else {
        let builder = Runtime::builder().workers(1).watch_deadlocks(PATIENCE);
        let runtime = builder.build().unwrap();
        let soon = || {
            std::thread::spawn(|| {
                std::thread::sleep(4 * PATIENCE);
                println!("ready");
            })
        };
        // A task, on which the future of `block_on` waits, and that future itself.
        let task = runtime.spawn(ctrl_c().unwrap().into_future());
        soon();
        runtime.block_on(task).unwrap();
        let again = ctrl_c().unwrap();
        soon();
        runtime.block_on(again.into_future());
        println!("heard both");
        return;
    };
    for _ in 0..2 {
        assert!(lines.any(|line| line.contains("ready")));
        press(&child);
    }
    assert!(lines.any(|line| line.contains("heard both")));
    assert!(child.wait().unwrap().success());
}
