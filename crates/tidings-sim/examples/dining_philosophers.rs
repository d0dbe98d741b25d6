//! Dining philosophers: everybody takes the left fork first.
//! `cargo run -p tidings-sim --example dining_philosophers`

use std::sync::Arc;

use tidings::sync::Mutex;
use tidings_sim::{Failure, Sim};

const SEATS: usize = 4;

async fn dinner() {
    let forks: Vec<_> = (0..SEATS).map(|_| Arc::new(Mutex::new(()))).collect();
    let philosophers: Vec<_> = (0..SEATS)
        .map(|seat| {
            let left = Arc::clone(&forks[seat]);
            let right = Arc::clone(&forks[(seat + 1) % SEATS]);
            tidings::spawn(async move {
                // The bug: one of them must take the right one first.
                let _left = left.lock().await;
                let _right = right.lock().await;
            })
        })
        .collect();
    for philosopher in philosophers {
        philosopher.await.unwrap();
    }
}

/// The shortest run that has the bug.
pub fn find() -> Box<Failure> {
    let sim = Sim::new(0).seeds(10_000).name("dining_philosophers");
    sim.check(dinner)
        .expect_err("in some seed all wait for their right fork")
}

fn main() {
    println!("{}", find());
}
