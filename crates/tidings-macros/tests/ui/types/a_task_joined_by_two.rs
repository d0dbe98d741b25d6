//! An output goes to one joiner.

fn main() {
    let rt = tidings::Runtime::new().unwrap();
    let task = rt.spawn(async { 1 });
    let _ = task.clone();
}
