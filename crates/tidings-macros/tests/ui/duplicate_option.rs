//! An option that is given twice.

#[tidings_macros::main(workers = 2, crate = ::tidings, workers = 3)]
async fn main() {}
