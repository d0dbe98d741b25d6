//! Deterministic simulation of tidings programs: the same seed is the same run.
//!
//! A program runs on one thread, and one stream of decisions says which task runs next, which ready
//! branch of a choice is taken, what is random, and what goes wrong. Time is virtual and jumps. So a
//! run is a function of its seed: a bug that one schedule in a thousand has is found, run again,
//! made short, and shown.
//!
//! ```
//! #[tidings::test(sim, seeds = 100)]
//! async fn everything_arrives() {
//!     let (tx, rx) = tidings::bounded(2);
//!     for n in 0..3 {
//!         let tx = tx.clone();
//!         tidings::spawn(async move { tx.send(n).await });
//!     }
//!     drop(tx);
//!     let mut sum = 0;
//!     while let Ok(n) = rx.recv().await {
//!         sum += n;
//!     }
//!     assert_eq!(sum, 3);
//! }
//! # fn main() {}
//! ```
//!
//! To use it: `tidings-sim` beside `tidings`, in `[dev-dependencies]`.
//!
//! | start here | for |
//! |---|---|
//! | `#[tidings::test(sim)]`, [`Sim`] | running a program under seeds |
//! | [`Strategy`] | how schedules are chosen |
//! | [`world`], [`World`] | what must hold in a run |
//! | [`World::node`], [`Node`] | machines that are joined by a network, and what happens to both |
//! | [`linear`] | is a history of calls linearizable? |
//! | [`Failure`] | what a failing run says |
//! | [`Chart`] | a run as a picture, also of an ordinary runtime's flight record |
//! | [`tidings::sched::buggify`] | unlikely things, in the program itself |

#![forbid(unsafe_code)]

mod chart;
mod decisions;
mod failure;
pub mod linear;
mod net;
mod nodes;
mod panics;
mod place;
mod run;
mod shrink;
mod sim;
mod socket;
mod strategy;
mod svg;
mod world;

pub use chart::Chart;
pub use failure::{Failure, Kind};
pub use nodes::Node;
pub use sim::{Outcome, Sim, Summary};
pub use strategy::Strategy;
pub use world::{World, try_world, world};
