//! An option that does not exist.

#[tidings_macros::interface(local)]
pub trait Counter {
    async fn add(&mut self, n: i64);
}

fn main() {}
