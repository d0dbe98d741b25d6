//! Tests of a whole process, which run in one of their own.

use std::process::Command;

/// What starts this very test in another process; `None` there.
pub(crate) fn child() -> Option<Command> {
    const CHILD: &str = "TIDINGS_TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        return None;
    }
    let name = std::thread::current().name().unwrap().to_owned();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", &name, "--nocapture", "--test-threads=1"])
        .env(CHILD, "1");
    Some(child)
}
