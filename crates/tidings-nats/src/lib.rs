//! A cluster of tidings nodes on an engine that operators already run: NATS.
//!
//! When one process is not enough, nodes join a [`Cluster`]: they see each other come and go, give
//! actors names, and find them by name as the same typed references as in one process. Messages go over
//! links of `tidings-link`: direct where the two can reach each other, else through NATS.
//!
//! ```no_run
//! use std::time::Duration;
//! use tidings::actor;
//! use tidings_nats::{Change, Cluster, Options};
//!
//! #[tidings::interface(remote)]
//! trait Counter {
//!     async fn add(&mut self, n: u64) -> u64;
//! }
//! # #[derive(Default)]
//! # struct Tally(u64);
//! # impl Counter for Tally {
//! #     async fn add(&mut self, n: u64) -> u64 {
//! #         self.0 += n;
//! #         self.0
//! #     }
//! # }
//!
//! #[tidings::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let options = Options::new("shop", "till-1").listen("tcp://127.0.0.1:0");
//!     let cluster = Cluster::join("nats://127.0.0.1:4222", options).await?;
//!
//!     let counter: CounterRef = actor::start(Tally::default());
//!     let _name = cluster.register("counter", &counter).await?;
//!
//!     let changes = cluster.changes();
//!     while let Ok(change) = changes.recv().await {
//!         match change {
//!             Change::Up(member) => println!("{} is here", member.node()),
//!             Change::Down(member, why) => println!("{} is gone: {why}", member.node()),
//!         }
//!     }
//!     cluster.leave(Duration::from_secs(5)).await;
//!     Ok(())
//! }
//! ```
//!
//! # What it is not
//!
//! It is no consensus, and a name is no lock: see [`Cluster::register`]. It stores nothing but leases, names,
//! and what is put into a [`Queue`], where it is done at least once. Any other message is delivered at most
//! once, as on any link; one that goes through NATS is not more durable than one that does not. A request that
//! timed out may still be done, unless its deadline has passed when it is read: time in which a network or a
//! process on the way stood still does not count. But through NATS nothing is done that was held up for a lease.
//!
//! A cluster's nodes trust each other: each can call every name. Who may connect is decided by NATS'
//! credentials, and by mutual TLS on direct links; a link through NATS is as safe as NATS is.
//!
//! # What happens when
//!
//! | | |
//! |---|---|
//! | a process ends, stands still, or cannot reach NATS | it is [`Down`] for all after a lease, once; its names are free; it hears of it when it is back, and joins as another life |
//! | NATS cannot be reached by anybody | nobody is declared down; direct links and what was found work on; links through NATS end if messages were lost |
//! | NATS chooses a leader for its keys, or does not take the writes of some nodes | who answers the others' messages is not declared down, however long that takes; names cannot be claimed meanwhile |
//! | NATS lost its keys | they are written anew within a lease or two |
//! | an actor that has a name, or a place in a group, ends | nobody finds it there any more, and others may have the name |
//! | a process joins under the name of another | the one before has [`Ended`]: so a restarted node need not wait for its lease |

// | file | what |
// |---|---|
// | `engine.rs` | what is asked of an engine |
// | `memory/`, `nats/` | the engine in memory, which fails on demand; NATS |
// | `record.rs`, `view.rs`, `member.rs` | what stands under its keys; what a node sees of its cluster; its members |
// | `options.rs`, `join.rs`, `tries.rs` | how a node joins; how it reaches NATS; for how long that is tried |
// | `cluster.rs`, `lease.rs`, `names.rs`, `lookup.rs`, `groups.rs` | the membership and its lease; names, and why they are not found; groups |
// | `pool.rs` | pools: who calls chooses among the members of a group |
// | `queue.rs`, `feed.rs`, `handled.rs`, `aside.rs` | durable queues, actors that are fed from them, what their handlers say, and what is set aside |
// | `links.rs`, `route.rs` | links to other nodes; links through the engine |
// | `health.rs` | for operators: health over HTTP, leaving by a signal |
// | `lock.rs` | how a lock is taken |
// | `stats.rs`, `shown.rs`, `metrics.rs`, `opentelemetry.rs` | what is counted, and where that goes |

#![forbid(unsafe_code)]

/// The program of the page on deployment compiles.
#[cfg(all(doctest, unix, feature = "nats", feature = "metrics"))]
#[doc = include_str!("../../../docs/deploy.md")]
struct Deployed;

mod aside;
mod cluster;
mod engine;
mod feed;
mod groups;
mod handled;
#[cfg(unix)]
mod health;
#[cfg(feature = "nats")]
mod join;
mod lease;
mod links;
mod lock;
mod lookup;
mod member;
pub mod memory;
#[cfg(feature = "metrics")]
pub mod metrics;
mod names;
#[cfg(feature = "nats")]
pub mod nats;
#[cfg(feature = "opentelemetry")]
pub mod opentelemetry;
mod options;
mod pool;
mod queue;
mod record;
mod route;
#[cfg(any(feature = "metrics", feature = "opentelemetry"))]
mod shown;
mod stats;
mod tries;
mod view;

pub use aside::{Aside, Body};
pub use cluster::Cluster;
pub use engine::{
    Answer, Arrivals, DUPLICATES, Delivery, Engine, EngineError, Entry, Expect, Message, Settle,
    Subscription, Watch,
};
pub use feed::{Feed, FeedEnd, FeedOptions, FeedStats};
pub use handled::Handled;
#[cfg(unix)]
pub use health::Health;
pub use lookup::LookupError;
pub use member::{Change, Down, Ended, Member};
pub use names::{Name, NameError};
pub use options::{JoinError, Options};
pub use pool::{Picked, Pool, PoolError};
pub use queue::Queue;
pub use stats::Stats;
