//! All receivers of a watch cell look at one value, from many threads.

use std::cell::Cell;

fn main() {
    let (tx, _rx) = tidings::channel::watch(Cell::new(1));
    std::thread::spawn(move || tx.get());
}
