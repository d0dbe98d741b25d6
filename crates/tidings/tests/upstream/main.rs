//! What the suites of other systems hold, said anew about tidings: a file per system and theme.
//!
//! `docs/trust/upstream/` maps every test of those suites to one of ours. A comment names the
//! upstream tests that a test of ours stands for.

#![allow(
    dropping_copy_types,
    reason = "what a call gives is thrown away, whatever it is"
)]

#[expect(dead_code, reason = "none of these lets tasks panic")]
#[path = "../it/both.rs"]
mod both;
#[path = "../laws/dice.rs"]
mod dice;
#[path = "../it/hands.rs"]
mod hands;
#[path = "../it/letter.rs"]
mod letter;

mod async_channel;
mod cml;
mod crossbeam_channels;
mod crossbeam_select;
mod crossbeam_time;
mod go_channels;
mod go_programs;
mod hopac;
mod kotlin_channels;
mod kotlin_select;
mod otp_restart;
mod otp_server;
mod otp_supervisor;
mod std_mpsc;
mod tokio_cells;
mod tokio_local;
mod tokio_locks;
mod tokio_mpsc;
mod tokio_sync;
mod tokio_tasks;
mod tokio_time;
mod tokio_wakers;

use tidings::{Receiver, Sender, bounded, channel, unbounded, yield_now};

/// Every kind of channel.
pub(crate) fn kinds<T>() -> [(Sender<T>, Receiver<T>); 4] {
    [channel(), bounded(1), bounded(7), unbounded()]
}

/// Lets the others run so many times.
pub(crate) async fn turns(n: usize) {
    for _ in 0..n {
        yield_now().await;
    }
}
