//! What an interface's methods take and give travels between threads.

use std::rc::Rc;

#[tidings::interface]
trait Store {
    async fn put(&mut self, value: Rc<u8>);
    async fn get(&self) -> String;
}

fn main() {}
