//! What is neither yes nor no.

#[tidings_macros::main(deadlocks = 5)]
async fn main() {}

#[tidings_macros::main(deadlocks)]
async fn watches() {}

#[tidings_macros::test(deadlocks = "no")]
async fn answers() {}
