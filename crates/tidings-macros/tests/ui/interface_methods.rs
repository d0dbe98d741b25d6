//! Each thing that a method of an interface cannot be is named at its place, all in one build.

#[tidings_macros::interface]
pub trait Wrong<'a> {
    const N: u32;
    fn not_async(&mut self);
    async fn by_value(self);
    async fn generic<T>(&mut self, value: T);
    async fn borrowed(&mut self, text: &str);
    async fn borrowed_inside(&mut self, texts: Vec<(u8, &'a str)>);
    async fn elided(&mut self, text: std::borrow::Cow<'_, str>);
    async fn unnamed(&mut self, text: impl Into<String>);
    async fn lent(&self) -> Option<&str>;
    async fn stream(&self) -> impl Iterator<Item = u8>;
    async fn twice(&self, reply: tidings::actor::Reply<u8>) -> u8;
    async fn bound(&self) where Self: Sync;
    async fn others(this: Shared<Other>);
    async fn fine(&self, f: for<'b> fn(&'b str) -> u8, g: Box<dyn Fn(&str) + Send>, h: &'static str);
    async fn get_it(&mut self);
    async fn getIt(&mut self);
}

fn main() {}
