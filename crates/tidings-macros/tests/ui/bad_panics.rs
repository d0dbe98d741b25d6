//! What is neither yes nor no, and what is for tests only.

#[tidings_macros::test(panics = "no")]
async fn answers() {}

#[tidings_macros::test(panics)]
async fn watches() {}

#[tidings_macros::test(sim, panics = 3)]
async fn simulated() {}

#[tidings_macros::test(panics = false, panics = true)]
async fn twice() {}

#[tidings_macros::main(panics = true)]
async fn main() {}
