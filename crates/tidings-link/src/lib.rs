//! Typed references to actors on other machines.
//!
//! A [`Link`] joins two nodes over a stream of bytes. What one exports, the other calls by the same
//! references as its own actors: `send`, calls, deadlines, choice, `down` are what they are locally.
//! References, replies and references to one-way interfaces (observers) may stand inside of
//! messages, and keep working.
//!
//! Who tells many observers of something, and awaits each, waits for one that takes nothing when it is owed as much
//! as its window and its reference have room for (some two thousand messages), until its link is given up; who is
//! not to wait gives such a message up ([`try_now`](tidings::Event::try_now),
//! [`timeout`](tidings::Event::timeout)).
//!
//! A reference that came over a link is that of a proxy here: an actor whose messages go there. So
//! `stop` and `kill` end the proxy, and say nothing to the actor: a peer may send it what its
//! interface has, and no more. It is the proxy, too, that is tied to other actors
//! ([`AnyRef::link`](tidings::actor::AnyRef::link)): these hear of the end of the actor there and of that of
//! the link, and their own ends are heard by the proxy. A reference that comes home by the link that it went
//! by is the actor's own; by another it is one to where it has been. Call cycles that cross a link are not seen:
//! give such calls a timeout.
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
//! # Slim client
//!
//! Who only calls needs no runtime of ours: [`link`] puts a link on any stream that has the traits of
//! `futures-io`, and gives the future that moves it, for any executor or for a thread. References are what
//! they are elsewhere: their calls are awaited, stand in a choice, have timeouts, or are waited for by a
//! thread ([`wait`](tidings::Event::wait)). No thread of a scheduler is started; what waits for a time has
//! a small one. Over TLS it is `Tls::connect` that takes the stream.
//!
//! Actors of one's own are run by the same executor, or by a thread
//! ([`Builder::executor`](tidings::actor::Builder::executor)): they are exported ([`Options::exports`]), and
//! lent to the server, which notifies them: observers. What comes as the answer of one call comes as well by
//! [`Streaming`](tidings::actor::Streaming), without an actor.
//!
//! Not there without a runtime: [`Connector`] and [`Listener`], whose sockets are the runtime's. They take back what
//! was written and has not arrived when a link is [closed](Link::close) or its peer is silent; a stream of one's
//! own does so if its drop does (of a TCP socket: `SO_LINGER` of 0 s).
//!
//! Under tokio, with the `compat` of `tokio-util`:
//!
//! ```
//! use tidings_link::{Options, link};
//! use tokio::net::TcpStream;
//! use tokio_util::compat::TokioAsyncReadCompatExt;
//! # use tidings_link::{Exports, Listener};
//! # #[tidings::interface(remote)]
//! # trait Counter {
//! #     async fn add(&mut self, n: u64) -> u64;
//! # }
//! # struct Tally(u64);
//! # impl Counter for Tally {
//! #     async fn add(&mut self, n: u64) -> u64 {
//! #         self.0 += n;
//! #         self.0
//! #     }
//! # }
//! # fn server() -> String {
//! #     let (to, address) = std::sync::mpsc::channel();
//! #     std::thread::spawn(move || {
//! #         tidings::Runtime::new().unwrap().block_on(async {
//! #             let counter: CounterRef = tidings::actor::start(Tally(0));
//! #             let options = Options::new("server").exports(Exports::new().add("counter", &counter));
//! #             let server = Listener::bind("tcp://127.0.0.1:0", options).await.unwrap().serve();
//! #             to.send(server.address().to_string()["tcp://".len()..].to_owned()).unwrap();
//! #             std::future::pending::<()>().await;
//! #         })
//! #     });
//! #     address.recv().unwrap()
//! # }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     # let address = server();
//!     // Such as "127.0.0.1:7000".
//!     let stream = TcpStream::connect(address).await?;
//!     stream.set_nodelay(true)?;
//!     let (link, driver) = link(stream.compat(), Options::new("client"));
//!     tokio::spawn(driver);
//!
//!     let counter: CounterRef = link.get("counter").await?;
//!     assert_eq!(counter.add(7).await?, 7);
//!     Ok(())
//! }
//! ```
//!
//! An observer: an actor on tokio, lent to the server.
//!
//! ```
//! use tidings::actor::Builder;
//! use tidings_link::{Options, link};
//! use tokio::net::TcpStream;
//! use tokio_util::compat::TokioAsyncReadCompatExt;
//! # use tidings_link::{Exports, Listener};
//!
//! #[tidings::interface(remote)]
//! trait Reader {
//!     async fn news(&mut self, line: String); // one-way
//! }
//!
//! #[tidings::interface(remote)]
//! trait Paper {
//!     async fn subscribe(&mut self, reader: ReaderRef);
//! }
//!
//! struct Printer(tidings::Sender<String>);
//! impl Reader for Printer {
//!     async fn news(&mut self, line: String) {
//!         let _ = self.0.send(line).await;
//!     }
//! }
//! # struct Daily;
//! # impl Paper for Daily {
//! #     async fn subscribe(&mut self, reader: ReaderRef) {
//! #         let _ = reader.news("extra".to_owned()).await;
//! #     }
//! # }
//! # fn server() -> String {
//! #     let (to, address) = std::sync::mpsc::channel();
//! #     std::thread::spawn(move || {
//! #         tidings::Runtime::new().unwrap().block_on(async {
//! #             let paper: PaperRef = tidings::actor::start(Daily);
//! #             let options = Options::new("server").exports(Exports::new().add("paper", &paper));
//! #             let server = Listener::bind("tcp://127.0.0.1:0", options).await.unwrap().serve();
//! #             to.send(server.address().to_string()["tcp://".len()..].to_owned()).unwrap();
//! #             std::future::pending::<()>().await;
//! #         })
//! #     });
//! #     address.recv().unwrap()
//! # }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     # let address = server();
//!     let stream = TcpStream::connect(address).await?;
//!     let (link, driver) = link(stream.compat(), Options::new("client"));
//!     tokio::spawn(driver);
//!
//!     let on_tokio = Builder::new().executor(|life| drop(tokio::spawn(life)));
//!     let (to, lines) = tidings::unbounded();
//!     let reader: ReaderRef = on_tokio.start(Printer(to));
//!     let paper: PaperRef = link.get("paper").await?;
//!     paper.subscribe(reader).await?;
//!     assert_eq!(lines.recv().await?, "extra");
//!     Ok(())
//! }
//! ```
//!
//! On plain threads, with a stream of `async-io`; one of std's that blocks cannot be read and written at
//! once. An actor has a thread there, too
//! (`Builder::new().executor(|life| drop(thread::spawn(|| block_on(life))))`):
//!
//! ```
//! use async_io::{Async, block_on};
//! use std::net::TcpStream;
//! use std::thread;
//! use tidings::Event;
//! use tidings_link::{Options, link};
//! # use tidings_link::{Exports, Listener};
//! # #[tidings::interface(remote)]
//! # trait Counter {
//! #     async fn add(&mut self, n: u64) -> u64;
//! # }
//! # struct Tally(u64);
//! # impl Counter for Tally {
//! #     async fn add(&mut self, n: u64) -> u64 {
//! #         self.0 += n;
//! #         self.0
//! #     }
//! # }
//! # let (to, address) = std::sync::mpsc::channel();
//! # thread::spawn(move || {
//! #     tidings::Runtime::new().unwrap().block_on(async {
//! #         let counter: CounterRef = tidings::actor::start(Tally(0));
//! #         let options = Options::new("server").exports(Exports::new().add("counter", &counter));
//! #         let server = Listener::bind("tcp://127.0.0.1:0", options).await.unwrap().serve();
//! #         to.send(server.address().to_string()["tcp://".len()..].parse().unwrap()).unwrap();
//! #         std::future::pending::<()>().await;
//! #     })
//! # });
//! # let address: std::net::SocketAddr = address.recv().unwrap();
//!
//! let stream = block_on(Async::<TcpStream>::connect(address))?;
//! stream.get_ref().set_nodelay(true)?;
//! let (link, driver) = link(stream, Options::new("client"));
//! thread::spawn(move || block_on(driver));
//!
//! let counter: CounterRef = block_on(link.get("counter"))?;
//! assert_eq!(counter.add(7).wait()?, 7);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # When an interface changes
//!
//! A method is known by its name and the types of its arguments and answer, with the names of these types, of
//! their fields and variants; not by its place, nor by the names of its arguments. Two nodes that have an
//! interface in two versions speak with each other by the methods that are the same in both:
//!
//! | one side has | and then |
//! |---|---|
//! | a method that the other does not have | nothing, until it is called: it is refused ([`CallError::Refused`](tidings::actor::CallError::Refused), not executed); a one-way message is dropped and counted there ([`Stats::no_such_method`]) |
//! | a method in another shape | [`Link::get`] gives no reference, and says which method it is ([`Unbound::Schema`]); by a reference that came in a message the rest of the methods can be called, and this one is refused as above |
//!
//! So a method that is to change is added as another one, beside the old, which goes when nobody calls it any
//! more; and who serves is brought to the new version before those who call.
//!
//! # Inside
//!
//! The protocol is a document, PROTOCOL.md beside this crate; [`Session`] is its state machine
//! without sockets and tasks, [`link`] puts it on a stream under any executor.

// | file | what |
// |---|---|
// | `frame.rs`, `outbox.rs`, `long.rs` | frames; classes; long bodies |
// | `credit.rs`, `numbers.rs` | flow control; numbers of calls |
// | `session/`, `limits.rs` | the state machine; what it allows, counts, and why it ends |
// | `hub.rs`, `inward.rs`, `aside.rs`, `outward.rs`, `imports.rs` | actors and calls behind the numbers |
// | `intercept.rs` | what sees requests before they are delivered |
// | `driver.rs`, `shared.rs`, `draining.rs` | the future that moves a link, what wakes it, and how it ends in order |
// | `link.rs`, `exports.rs`, `failure.rs` | what users have |
// | `memory.rs` | streams in memory |
// | `connect.rs`, `listen.rs`, `server.rs`, `address.rs`, `stream.rs`, `tls.rs`, `unix.rs` (`no_unix.rs`) | TCP, TLS and Unix sockets |
// | `backoff.rs` | when a connector tries again |
// | `arriving.rs` | who has come and has no link yet |
// | `peers.rs` | one link for each peer |
// | `place.rs` | an error, and where it was met |
// | `vectors/` | what PROTOCOL.md's vectors hold (tests) |

#![forbid(unsafe_code)]

mod address;
mod arriving;
mod aside;
mod backoff;
mod connect;
mod credit;
mod draining;
mod driver;
mod exports;
mod failure;
mod frame;
mod hub;
mod imports;
mod intercept;
mod inward;
mod limits;
mod link;
mod listen;
mod long;
pub mod memory;
mod numbers;
mod outbox;
mod outward;
mod peers;
mod place;
mod server;
mod session;
mod shared;
mod stream;
#[cfg(feature = "tls")]
mod tls;
#[cfg(unix)]
mod unix;
#[cfg(not(unix))]
#[path = "no_unix.rs"]
mod unix;
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
