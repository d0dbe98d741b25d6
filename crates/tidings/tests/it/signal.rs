//! Signals: events that hear what comes after they, or their handles, were made.

use std::io::{BufRead, BufReader, ErrorKind};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use crate::both::watchdog;
use crate::hands::{Bomb, pinned, poll_with};
use tidings::signal::{SignalKind, signal};
use tidings::{Event, Runtime, ctrl_c, select, unbounded};

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
    send("-INT", child);
}

fn send(signal: &str, child: &Child) {
    let kill = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
}

/// Has a child end well that says each of these, and is sent the signal when it does.
fn ends_well(mut child: Child, mut lines: impl Iterator<Item = String>, sent: &[(&str, &str)]) {
    for (said, signal) in sent {
        assert!(
            lines.any(|line| line.contains(said)),
            "it never said {said}"
        );
        send(signal, &child);
    }
    assert!(child.wait().unwrap().success());
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
fn a_signal_that_comes_while_another_arm_is_handled_is_heard_in_the_next_turn() {
    let _watchdog = watchdog();
    let Some((child, lines)) = child() else {
        let (tx, rx) = unbounded();
        for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
            let mut stop = signal(kind).unwrap();
            let mut also = signal(kind).unwrap();
            tx.try_send(()).unwrap();
            Runtime::new().unwrap().block_on(async {
                loop {
                    select! {
                        work = rx.recv() => {
                            work.unwrap();
                            println!("busy");
                            also.recv().await;
                        }
                        () = stop.recv() => break,
                    }
                }
            });
        }
        return;
    };
    ends_well(child, lines, &[("busy", "-INT"), ("busy", "-TERM")]);
}

#[test]
fn signals_that_nobody_took_are_one_and_a_wait_that_is_dropped_has_heard_nothing() {
    let _watchdog = watchdog();
    let Some((child, lines)) = child() else {
        let hangup = || signal(SignalKind::hangup()).unwrap();
        let (mut takes, mut also) = (hangup(), hangup());
        assert!(takes.recv().try_now().is_err());
        let mut dropped = pinned(takes.recv());
        assert!(poll_with(dropped.as_mut(), Waker::noop()).is_pending());
        for _ in 0..2 {
            println!("ready");
            also.recv().wait();
        }
        drop(dropped);
        assert!(takes.recv().try_now().is_ok());
        assert!(takes.recv().try_now().is_err());
        assert!(hangup().recv().try_now().is_err());
        return;
    };
    ends_well(child, lines, &[("ready", "-HUP"), ("ready", "-HUP")]);
}

#[test]
fn what_cannot_be_heard_is_an_error_each_time_and_harms_no_other() {
    let _watchdog = watchdog();
    let Some((child, lines)) = child() else {
        // SIGKILL, SIGSEGV, and two numbers that are no signal's.
        for number in [9, 11, 0, 4711] {
            for _ in 0..2 {
                let refused = signal(SignalKind::from_raw(number)).unwrap_err();
                assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{number}");
            }
        }
        // No signal of the system's.
        assert!(signal(SignalKind::from_raw(120)).is_err());
        let mut heard = signal(SignalKind::user_defined1()).unwrap();
        println!("ready");
        heard.recv().wait();
        return;
    };
    ends_well(child, lines, &[("ready", "-USR1")]);
}

#[test]
fn who_waits_for_a_signal_is_no_deadlock() {
    const PATIENCE: Duration = Duration::from_millis(50);
    let _watchdog = watchdog();
    let Some((child, lines)) = child() else {
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
        let mut other = signal(SignalKind::terminate()).unwrap();
        let other = runtime.spawn(async move { other.recv().await });
        soon();
        runtime.block_on(other).unwrap();
        let again = ctrl_c().unwrap();
        soon();
        runtime.block_on(again.into_future());
        return;
    };
    ends_well(
        child,
        lines,
        &[("ready", "-INT"), ("ready", "-TERM"), ("ready", "-INT")],
    );
}
