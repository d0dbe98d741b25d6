//! Methods and interfaces that would clash with what the macros add.

#[tidings_macros::interface]
pub trait Clashes {
    async fn downgrade(&self) -> u8;
    async fn fork(&self) -> Self;
    async fn join(&self, other: Option<Box<Self>>);
    async fn here(&self, #[cfg(unix)] fd: u32);
    async extern "C" fn foreign(&self);
    #[cfg(unix)]
    async fn one(&self);
    async fn one(&self, n: u8);
    async fn borrows(&self, f: Box<dyn Fn(&str) -> &str + Send>, text: &str);
    async fn lends(&self, f: Vec<fn(&str) -> &str>) -> &'static [&u8];
    async fn from(&self) -> u8;
}

#[tidings_macros::actor(Store<u8>, Admin, Store<u8>)]
struct Both;

fn main() {}
