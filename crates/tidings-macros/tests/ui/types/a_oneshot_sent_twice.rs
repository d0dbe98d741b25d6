//! A oneshot is sent once.

fn main() {
    let (tx, _rx) = tidings::oneshot();
    tx.send(1).unwrap();
    tx.send(2).unwrap();
}
