//! Numbers of workers that are none.

#[tidings_macros::main(workers = 0)]
async fn main() {}

#[tidings_macros::test(workers = "two")]
async fn answers() {}

#[tidings_macros::test(workers)]
async fn answers_again() {}
