//! A sender of a value that must stay on its thread stays there too.

use std::rc::Rc;

fn main() {
    let (tx, _rx) = tidings::unbounded();
    std::thread::spawn(move || tx.try_send(Rc::new(1)));
}
