//! Options that do not exist, all reported at once.

#[tidings_macros::main(threads = 4, flavour = "multi")]
async fn main() {}
