//! Ctrl-C: an event that hears what comes after it was made.

use std::process::{Command, Stdio};
use tidings::{Event, ctrl_c};

/// What the child process of the test below runs: prints when it is ready, then when it heard.
const CHILD: &str = "TIDINGS_TEST_CTRL_C";

#[test]
fn ctrl_c_reaches_everyone_who_waits() {
    if std::env::var_os(CHILD).is_some() {
        let (first, second) = (ctrl_c().unwrap(), ctrl_c().unwrap());
        println!("ready");
        let rt = tidings::Runtime::new().unwrap();
        rt.block_on(first.into_future());
        second.wait();
        println!("heard");
        return;
    }
    let name = std::thread::current().name().unwrap().to_owned();
    // As a script starts it in the background: with the signal ignored.
    let mut child = Command::new("sh")
        .args(["-c", "trap '' INT; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &name, "--nocapture"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = {
        use std::io::BufRead as _;
        std::io::BufReader::new(child.stdout.take().unwrap()).lines()
    };
    assert!(lines.any(|line| line.unwrap().contains("ready")));
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    assert!(lines.any(|line| line.unwrap().contains("heard")));
    assert!(child.wait().unwrap().success());
}
