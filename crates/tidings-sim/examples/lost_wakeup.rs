//! A lost wake-up: who waits looks whether the door is open, and then waits for the bell; the bell
//! rings in between, and never again. `cargo run -p tidings-sim --example lost_wakeup`

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tidings::sync::Notify;
use tidings_sim::{Failure, Sim};

async fn guest_and_host() {
    let (open, bell) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
    let (diary, _pages) = tidings::unbounded();

    let (opened, rings) = (Arc::clone(&open), Arc::clone(&bell));
    drop(tidings::spawn(async move {
        opened.store(true, Ordering::SeqCst);
        rings.notify_waiters();
    }));

    if !open.load(Ordering::SeqCst) {
        diary.send("nobody there yet").await.unwrap();
        // The bug: `notified()` must be made before the look at the door.
        bell.notified().await;
    }
}

/// The shortest run that has the bug.
pub fn find() -> Box<Failure> {
    let sim = Sim::new(0).seeds(1_000).name("lost_wakeup");
    sim.check(guest_and_host)
        .expect_err("some seed loses the wake-up")
}

fn main() {
    println!("{}", find());
}
