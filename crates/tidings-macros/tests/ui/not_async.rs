//! A function that is not async.

#[tidings_macros::main]
fn main() {}

#[tidings_macros::test]
fn answers() {}
