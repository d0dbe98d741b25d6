//! An actor runs on any worker: what a handler keeps across an await travels with it.

use std::rc::Rc;

#[tidings::interface]
trait Store {
    async fn put(&mut self, value: u8);
}

struct Shelf;

impl Store for Shelf {
    async fn put(&mut self, value: u8) {
        let kept = Rc::new(value);
        tidings::yield_now().await;
        println!("{kept}");
    }
}

fn main() {
    let _store: StoreRef = tidings::actor::start(Shelf);
}
