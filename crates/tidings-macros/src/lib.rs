//! The attribute macros of tidings, re-exported by it; use them from there.

#![forbid(unsafe_code)]

mod entry;

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
