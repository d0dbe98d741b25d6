//! An actor is started by the reference of an interface that it implements.

#[tidings::interface]
trait Store {
    async fn get(&self) -> String;
}

struct Empty;

fn main() {
    let _store: StoreRef = tidings::actor::start(Empty);
}
