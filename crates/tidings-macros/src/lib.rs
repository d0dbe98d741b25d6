//! The attribute macros of tidings, re-exported by it; use them from there.

#![forbid(unsafe_code)]

mod actor;
mod argument;
mod entry;
mod interface;
mod method;
mod options;
mod reference;
mod remote;
mod schema;
mod ways;

use proc_macro::TokenStream;

use crate::entry::Kind;

/// Runs an `async fn main` on a runtime of its own.
///
/// - `workers = N`: the number of worker threads; the runtime's own default if it is not given.
/// - `deadlocks = true`: the runtime watches for deadlocks (`Builder::watch_deadlocks`, which says what that
///   costs): who waits for what can be asked for (`Handle::who_waits`), and if nothing can happen any more
///   for five seconds, the function panics and says so.
/// - `crate = path`: where `tidings` is, if it is renamed or re-exported.
///
/// ```
/// #[tidings::main(workers = 4)]
/// async fn main() -> Result<(), tidings::JoinError> {
///     tidings::spawn(async { println!("hello") }).await?;
///     Ok(())
/// }
/// ```
///
/// A program that can say what its tasks wait for:
///
/// ```
/// #[tidings::main(deadlocks = true)]
/// async fn main() {
///     let (open, gate) = tidings::channel::<u32>();
///     tidings::spawn(async move { gate.recv().await });
///     while !tidings::Handle::current().who_waits().contains("waits for Recv<u32>") {
///         tidings::yield_now().await;
///     }
///     open.send(1).await.unwrap();
/// }
/// ```
///
/// # Panics
///
/// The function panics if the runtime cannot be built, which is when a thread cannot be started.
#[proc_macro_attribute]
pub fn main(options: TokenStream, item: TokenStream) -> TokenStream {
    entry::expand(Kind::Main, options.into(), item.into()).into()
}

/// Runs an `async fn` as a test, on a runtime of its own.
///
/// It takes the options of `main`; `workers` is 2 if it is not given. Other attributes, such as
/// `#[should_panic(expected = "..")]`, are kept.
///
/// - `deadlocks = false`: does not watch for deadlocks. Otherwise a test in which nothing can happen
///   any more for five seconds fails, and says who waits for what (`Builder::watch_deadlocks`).
/// - `panics = false`: lets tasks and actors panic of which nobody hears. Otherwise such a panic fails the test
///   when it has ended, and is told with its task or actor (`Builder::watch_panics`, which says who hears of what). One
///   that is heard of, as by who awaits the task, is the program's own affair.
/// - `sim`: runs in a simulation instead, under 100 seeds, or `seeds = N`; `with = |sim| sim.settles()`
///   changes the `Sim`. Needs the crate `tidings-sim`, and a future that may be sent. A run that fails
///   is made short and shown, with the line that runs it again.
///
/// ```
/// #[tidings::test]
/// async fn a_sum_arrives() {
///     assert_eq!(tidings::spawn(async { 1 + 1 }).await.unwrap(), 2);
/// }
///
/// #[tidings::test(sim, seeds = 1000)]
/// async fn a_sum_arrives_in_every_order() {
///     assert_eq!(tidings::spawn(async { 1 + 1 }).await.unwrap(), 2);
/// }
/// ```
///
/// A task whose panic nobody hears fails the test:
///
/// ```
/// #[tidings::test]
/// #[should_panic(expected = "panicked: boom")]
/// async fn a_task_is_forgotten() {
///     let (tx, gone) = tidings::oneshot::<()>();
///     tidings::spawn(async move {
///         let _tx = tx;
///         panic!("boom")
///     });
///     assert!(gone.await.is_err());
/// }
/// ```
#[proc_macro_attribute]
pub fn test(options: TokenStream, item: TokenStream) -> TokenStream {
    entry::expand(Kind::Test, options.into(), item.into()).into()
}

/// Makes an actor's interface of a trait of `async fn`s.
///
/// For `trait Counter` the macro gives the trait itself, whose methods give futures that may be sent
/// (an `impl` writes `async fn`), `CounterMessage`, the messages that stand for the methods, and
/// `CounterRef`, the reference: its methods are events. The `Debug` of a message is the name of its method,
/// `Counter::add`.
///
/// ```
/// use tidings::actor;
///
/// #[tidings::interface]
/// pub trait Counter {
///     async fn add(&mut self, n: i64);
///     async fn get_and_reset(&mut self) -> i64;
/// }
///
/// struct Tally(i64);
/// impl Counter for Tally {
///     async fn add(&mut self, n: i64) {
///         self.0 += n;
///     }
///     async fn get_and_reset(&mut self) -> i64 {
///         std::mem::take(&mut self.0)
///     }
/// }
///
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let counter: CounterRef = actor::start(Tally(0));
/// counter.add(2).await?;
/// counter.add(3).await?;
/// assert_eq!(counter.get_and_reset().await?, 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
///
/// | a method | is |
/// |---|---|
/// | `async fn add(&mut self, n: u32);` | one-way: done when the message is in the mailbox |
/// | `async fn get(&self) -> u32;`, `-> ()` too | a call: done when the answer is there |
/// | `async fn check(&self) -> Result<u32, E>;` | a call whose handler may fail: `check().await??` has first the error of the call, then the handler's |
/// | `async fn next(&mut self, reply: Reply<u32>);` | a call whose handler answers when it likes, or passes the `Reply` on, knows the caller's deadline, and when the caller has gone |
/// | `async fn watch(&mut self) -> Streaming<u32>;` | a call with an answer of many parts |
/// | `async fn load(this: Shared<Self>) -> u32;` | reentrant: others run while it waits |
///
/// The types are those of `tidings::actor`, known to the macro by their names.
///
/// - Arguments and replies are of any type that may be sent and owns what it holds. `Self` is none: the
///   messages do not know whose they are.
/// - The trait may be generic, and its methods may have bodies; one with a body and `&self` needs
///   `trait Name: Sync`. As of any function, what its arguments hold is dropped when it ends.
/// - `#[cfg(..)]` may stand on methods, also on two of one name. What lints a method or the trait allows, or expects, is
///   allowed of what is made of it.
/// - No method is called `downgrade` or `from`: references have those.
/// - A handler that is to be refused, logged or timed from outside: `tidings::actor::serve_with`.
///
/// Options:
///
/// - `remote`: its references can cross a link (feature `remote`, crate `tidings-link`). Arguments and
///   answers are then of types that serde reads and writes and that have a `tidings::Schema`.
/// - `crate = path`: where `tidings` is, if it is renamed or re-exported.
#[proc_macro_attribute]
pub fn interface(options: TokenStream, item: TokenStream) -> TokenStream {
    interface::expand(options.into(), item.into()).into()
}

/// Declares the interfaces of an actor that has more than one, on the type of its state.
///
/// For `struct Tally` it gives `TallyMessage`, one type for the messages of all interfaces, and
/// `TallyRef`; a reference to one interface is made from it: `CounterRef::from(&tally)`. The type may
/// be generic; bounds that its interfaces need stand on the type itself. One interface may be there with
/// several types, as `Store<u8>` and `Store<u16>`. `crate = path` among them says where `tidings` is, if
/// it is renamed or re-exported.
///
/// ```
/// use tidings::actor;
///
/// #[tidings::interface]
/// trait Counter {
///     async fn add(&mut self, n: i64);
/// }
/// #[tidings::interface]
/// trait Admin {
///     async fn reset(&mut self) -> i64;
/// }
///
/// #[tidings::actor(Counter, Admin)]
/// struct Tally(i64);
///
/// impl Counter for Tally {
///     async fn add(&mut self, n: i64) {
///         self.0 += n;
///     }
/// }
/// impl Admin for Tally {
///     async fn reset(&mut self) -> i64 {
///         std::mem::take(&mut self.0)
///     }
/// }
///
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let tally: TallyRef = actor::start(Tally(0));
/// CounterRef::from(&tally).add(7).await?;
/// assert_eq!(AdminRef::from(&tally).reset().await?, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[proc_macro_attribute]
pub fn actor(options: TokenStream, item: TokenStream) -> TokenStream {
    actor::expand(options.into(), item.into()).into()
}

/// The shape of a type, for links: `tidings::remote::Schema`.
///
/// It is the shape of what serde derives by itself: a type with attributes of serde's is refused, and has
/// its `Schema` written by hand.
///
/// - `#[schema(crate = path)]`: where `tidings` is, if it is renamed or re-exported.
///
/// ```
/// use tidings::remote::Describe;
///
/// #[derive(tidings::Schema, serde::Serialize, serde::Deserialize)]
/// struct Point {
///     x: i32,
///     y: i32,
/// }
/// assert_eq!(Describe::text::<Vec<Point>>(), "[Point{x:i32,y:i32}]");
/// ```
#[proc_macro_derive(Schema, attributes(schema))]
pub fn schema(item: TokenStream) -> TokenStream {
    schema::expand(item.into()).into()
}

/// Messages of one type that can cross a link, for actors without an interface:
/// `tidings::remote::Remote`, for a type that serde knows and that has a `Schema`.
///
/// - `#[schema(crate = path)]`: where `tidings` is, if it is renamed or re-exported.
///
/// ```
/// use tidings::actor::Reply;
/// use tidings::remote::interface;
///
/// #[derive(tidings::Remote, tidings::Schema, serde::Serialize, serde::Deserialize)]
/// enum Count {
///     Add(i64),
///     GetAndReset(Reply<i64>),
/// }
/// let shape = interface::<Count>().methods()[0].shape();
/// assert_eq!(shape, "Count.send(Count<Add(i64)|GetAndReset(!i64)>)");
/// ```
#[proc_macro_derive(Remote, attributes(schema))]
pub fn remote(item: TokenStream) -> TokenStream {
    remote::expand(item.into()).into()
}
