//! The one value goes to one receiver.

fn main() {
    let (_tx, rx) = tidings::oneshot::<u8>();
    let _ = rx.clone();
}
