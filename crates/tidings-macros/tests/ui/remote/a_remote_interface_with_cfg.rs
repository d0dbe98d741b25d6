//! Both sides of a link have the same methods, whatever they were built for.

#[tidings::interface(remote)]
trait Counter {
    async fn add(&mut self, n: i64);
    #[cfg(unix)]
    async fn pid(&self) -> u32;
}

fn main() {}
