//! A crate that is no path.

#[tidings_macros::main(crate = 3)]
async fn main() {}
