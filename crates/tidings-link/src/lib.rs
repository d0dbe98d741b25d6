//! Typed references to actors on other machines.
//!
//! A [`Link`] joins two nodes over a stream of bytes. What one exports, the other calls by the same
//! references as its own actors: `send`, calls, deadlines, choice, `down` are what they are locally.
//! References, replies and references to one-way interfaces (observers) may stand inside of
//! messages, and keep working.
//!
//! A reference that came over a link is that of a proxy here: an actor whose messages go there. So
//! `stop` and `kill` end the proxy, and say nothing to the actor: a peer may send it what its
//! interface has, and no more. Call cycles that cross a link are not seen: give such calls a timeout.
//!
//! ```
//! use tidings::actor;
//! use tidings_link::{Exports, Link, Listener, Options};
//!
//! #[tidings::interface(remote)]
//! trait Greeter {
//!     async fn greet(&self, name: String) -> String;
//! }
//!
//! struct Hello;
//! impl Greeter for Hello {
//!     async fn greet(&self, name: String) -> String {
//!         format!("hello {name}")
//!     }
//! }
//!
//! # tidings::Runtime::new().unwrap().block_on(async {
//! // One node,
//! let greeter: GreeterRef = actor::start(Hello);
//! let options = Options::new("server").exports(Exports::new().add("greeter", &greeter));
//! let server = Listener::bind("tcp://127.0.0.1:0", options).await?.serve();
//!
//! // and another.
//! let link = Link::connect(&server.address().to_string()).await?;
//! let greeter: GreeterRef = link.get("greeter").await?;
//! assert_eq!(greeter.greet("you".to_owned()).await?, "hello you");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! Who serves sees each request of the peer's before its actor does, and may refuse it: by who asks, from
//! where, with which certificate, for which method ([`Options::intercept`]).
//!
//! ```
//! # use tidings_link::{Options, Request};
//! let options = Options::new("server").intercept(|request: &Request<'_>| {
//!     match request.method() {
//!         "shut_down" if request.peer().node != "admin" => Err("for the admin only".into()),
//!         // What is given here is kept until the request is done: a timer, a span, a permit.
//!         _ => Ok(()),
//!     }
//! });
//! # drop(options);
//! ```
//!
//! The protocol is a document, PROTOCOL.md beside this crate; [`Session`] is its state machine
//! without sockets and tasks, [`link`] puts it on a stream under any executor.
//!
//! | file | what |
//! |---|---|
//! | `frame.rs`, `outbox.rs`, `credit.rs`, `numbers.rs` | frames; classes; flow control; numbers of calls |
//! | `session/`, `limits.rs` | the state machine; what it allows, counts, and why it ends |
//! | `hub.rs`, `inward.rs`, `aside.rs`, `outward.rs` | actors and calls behind the numbers |
//! | `intercept.rs` | what sees requests before they are delivered |
//! | `driver.rs`, `shared.rs` | the future that moves a link, and what wakes it |
//! | `link.rs`, `exports.rs`, `failure.rs` | what users have |
//! | `memory.rs` | streams in memory |
//! | `connect.rs`, `listen.rs`, `server.rs`, `address.rs`, `stream.rs`, `tls.rs` | TCP, Unix sockets and TLS |
//! | `peers.rs` | one link for each peer |
//! | `vectors.rs` | what PROTOCOL.md's vectors hold (tests) |

#![forbid(unsafe_code)]

mod address;
mod aside;
mod connect;
mod credit;
mod driver;
mod exports;
mod failure;
mod frame;
mod hub;
mod intercept;
mod inward;
mod limits;
mod link;
mod listen;
pub mod memory;
mod numbers;
mod outbox;
mod outward;
mod peers;
mod server;
mod session;
mod shared;
mod stream;
#[cfg(feature = "tls")]
mod tls;
#[cfg(test)]
mod vectors;

pub use address::{Address, AddressError};
pub use connect::{ConnectError, Connector};
pub use driver::{Driver, link};
pub use exports::Exports;
pub use frame::{End, Failure, Unbound};
pub use intercept::Request;
pub use limits::{Broken, Grant, Limits, Refusal, Stats};
pub use link::{GetError, Link, Options};
pub use listen::Listener;
pub use peers::Peers;
pub use server::{Arrivals, Server};
pub use session::{Bind, Identity, Incoming, Peer, Session};
#[cfg(feature = "tls")]
pub use tls::{Tls, TlsError};
