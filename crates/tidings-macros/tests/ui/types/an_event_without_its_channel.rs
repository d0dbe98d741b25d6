//! A wait borrows the handle it waits with.

fn main() {
    let (_tx, rx) = tidings::unbounded::<u8>();
    let event = rx.recv();
    drop(rx);
    drop(event);
}
