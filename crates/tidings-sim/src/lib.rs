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
//! # A bug, found
//!
//! A guest looks whether the door is open, notes what it saw, and waits for the bell. The host opens the door
//! and rings.
//! On real threads it works, nearly always:
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicBool, Ordering};
//! use tidings::sync::Notify;
//! use tidings_sim::{Kind, Sim};
//!
//! async fn guest_and_host() {
//!     let (open, bell) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
//!     let (diary, _pages) = tidings::unbounded();
//!     let (opened, rings) = (Arc::clone(&open), Arc::clone(&bell));
//!     drop(tidings::spawn(async move {
//!         opened.store(true, Ordering::SeqCst);
//!         rings.notify_waiters();
//!     }));
//!     if !open.load(Ordering::SeqCst) {
//!         diary.send("nobody there yet").await.unwrap();
//!         bell.notified().await;
//!     }
//! }
//!
//! let failure = Sim::new(0).seeds(1_000).check(guest_and_host).unwrap_err();
//! assert_eq!(failure.kind, Kind::Deadlock);
//! println!("{failure}");
//! ```
//!
//! What it prints, here of `examples/lost_wakeup.rs`:
//!
//! ```text
//! lost_wakeup: seed 6: deadlock: nothing can run, and no time is waited for
//!   the program waits for Notified of 0x55c1, made at crates/tidings-sim/examples/lost_wakeup.rs:11:68, at crates/tidings-sim/examples/lost_wakeup.rs:23:25
//!   again:     TIDINGS_SEED=6 cargo run -p tidings-sim --example lost_wakeup
//!   shortest:  3 polls, 1 decisions that are not the first alternative (found with 4 and 2; 23 runs)
//!              TIDINGS_TRACE=target/tidings-sim/lost_wakeup/lost_wakeup-6.trace cargo run -p tidings-sim --example lost_wakeup
//!   picture:   target/tidings-sim/lost_wakeup/lost_wakeup-6.svg
//!      0: main             1: lost_wakeup.rs…
//!    0 ●┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈▶│
//!    1 │                   ● runs
//!    2 ● puts &str into c1 │  lost_wakeup.rs:21
//!    x deadlock: nothing can run, and no time is waited for
//! ```
//!
//! The line after `again` runs that seed, the one with `TIDINGS_TRACE` the shortest run: under a debugger,
//! or with more output. The gallery in `examples/` has four more such bugs.
//!
//! # What fails a run
//!
//! A panic of the program, or one in it that nobody hears of ([`Sim::ignores_panics`]), an error, a deadlock,
//! a run without end, an invariant ([`World::always`]), a state that comes too late or stays too long
//! ([`World::eventually`], [`World::not_hot_for`]), tasks, timers and waits that are left ([`Sim::settles`]),
//! a channel that loses or doubles a value, and a program that is not a function of its seed: one that uses
//! threads, the system's clock, the order of a `HashMap`, the numbers of actors, or the chance of another crate, by
//! which tokio's `select!` and `watch` draw, too.
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

// | file | what |
// |---|---|
// | `decisions.rs` | the stream of decisions |
// | `run.rs`, `lives.rs` | one run, and the nodes that are up in it |
// | `sim.rs`, `strategy.rs` | which runs are made, and what becomes of one that fails |
// | `place.rs` | where a simulation was started, what the environment asks of it, and where its files go |
// | `panics.rs` | panics inside of a run are caught, and told in its report |
// | `shrink.rs`, `failure.rs` | a failing run made short, and its report |
// | `chart.rs`, `svg.rs`, `sights.rs` | what is drawn of a run |
// | `world.rs` | what a program may ask |
// | `nodes.rs`, `net/`, `socket.rs` | machines and their network |
// | `linear.rs` | histories |

#![forbid(unsafe_code)]

mod chart;
mod decisions;
mod failure;
pub mod linear;
mod lives;
mod net;
mod nodes;
mod panics;
mod place;
mod run;
mod shrink;
mod sights;
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
