//! Each thing that a method of an interface cannot be is named at its place, all in one build.

#[tidings_macros::interface]
pub trait Wrong<'a> {
    const N: u32;
    fn not_async(&mut self);
    async fn by_value(self);
    async fn generic<T>(&mut self, value: T);
    async fn borrowed(&mut self, text: &str);
    async fn get_it(&mut self);
    async fn getIt(&mut self);
}

fn main() {}
