//! The attribute macros of tidings, re-exported by it; use them from there.

#![forbid(unsafe_code)]

mod entry;
mod interface;

use proc_macro::TokenStream;

use crate::entry::Kind;

/// Runs an `async fn main` on a runtime of its own.
///
/// - `workers = N`: the number of worker threads; the runtime's own default if it is not given.
/// - `crate = path`: where `tidings` is, if it is renamed or re-exported.
///
/// ```text
/// #[tidings::main(workers = 4)]
/// async fn main() -> std::io::Result<()> {
///     tidings::spawn(async { println!("hello") }).await;
///     Ok(())
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
///
/// ```text
/// #[tidings::test]
/// async fn a_sum_arrives() {
///     assert_eq!(tidings::spawn(async { 1 + 1 }).await.unwrap(), 2);
/// }
/// ```
#[proc_macro_attribute]
pub fn test(options: TokenStream, item: TokenStream) -> TokenStream {
    entry::expand(Kind::Test, options.into(), item.into()).into()
}

/// Makes an actor's interface of a trait of `async fn`s.
///
/// A method without a return type is one-way; one with a return type, `-> ()` too, is a call. For
/// `trait Counter` the macro gives the trait itself, whose methods give futures that may be sent
/// (an `impl` writes `async fn`), `CounterMessage`, the messages that stand for the methods, and
/// `CounterRef`, the reference: its methods are events.
///
/// - `crate = path`: where `tidings` is, if it is renamed or re-exported.
///
/// ```text
/// #[tidings::interface]
/// pub trait Counter {
///     async fn add(&mut self, n: i64);
///     async fn get_and_reset(&mut self) -> i64;
/// }
/// ```
#[proc_macro_attribute]
pub fn interface(options: TokenStream, item: TokenStream) -> TokenStream {
    interface::expand(options.into(), item.into()).into()
}

/// Declares the interfaces of an actor that has more than one, on the type of its state.
///
/// For `struct Tally` it gives `TallyMessage`, one type for the messages of all interfaces, and
/// `TallyRef`; a reference to one interface is made from it.
///
/// ```text
/// #[tidings::actor(Counter, Admin)]
/// struct Tally(i64);
/// ```
#[proc_macro_attribute]
pub fn actor(options: TokenStream, item: TokenStream) -> TokenStream {
    interface::expand_actor(options.into(), item.into()).into()
}
