//! The cancelled receive of other libraries: a receive that has taken its message out of the queue
//! waits once more, and whoever gives it up in that moment has lost the message.
//! `cargo run -p tidings-sim --example cancelled_receive`

use std::time::Duration;

use tidings::time::timeout;
use tidings::{Receiver, yield_now};
use tidings_sim::{Failure, Sim};

/// A channel as some libraries have it: not safe to cancel.
struct Lossy(Receiver<u32>);

impl Lossy {
    async fn recv(&self) -> Option<u32> {
        let message = self.0.recv().await.ok()?;
        // The bug: the message is in this future now, and is dropped with it.
        yield_now().await;
        Some(message)
    }
}

async fn three_messages() {
    let (tx, rx) = tidings::unbounded();
    drop(tidings::spawn(async move {
        for n in 0..3 {
            tidings::time::sleep(Duration::from_millis(2)).await;
            tx.send(n).await.unwrap();
        }
    }));
    let (lossy, mut got) = (Lossy(rx), Vec::new());
    loop {
        match timeout(Duration::from_millis(3), lossy.recv()).await {
            Ok(Some(n)) => got.push(n),
            Ok(None) => break,
            // Not yet: something else could be done here.
            Err(_) => {}
        }
    }
    assert_eq!(got, [0, 1, 2], "a message is lost");
}

/// The shortest run that has the bug.
pub fn find() -> Box<Failure> {
    let sim = Sim::new(0).seeds(10_000).name("cancelled_receive");
    // A deadline that races with work: polls take time.
    let sim = sim.busy(Duration::from_millis(1));
    sim.check(three_messages)
        .expect_err("some seed loses a message")
}

fn main() {
    println!("{}", find());
}
