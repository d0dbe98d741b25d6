//! Options that do not exist, and one that is no assignment.

#[tidings_macros::interface(local)]
pub trait Counter {
    async fn add(&mut self, n: i64);
}

#[tidings_macros::interface(remote = true)]
pub trait Door {
    async fn knock(&self);
}

#[tidings_macros::interface(crate = tidings, remot)]
pub trait Bell {
    async fn ring(&self);
}

fn main() {}
