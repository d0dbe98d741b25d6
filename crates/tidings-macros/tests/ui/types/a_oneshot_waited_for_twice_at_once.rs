//! Two waits cannot both get the one value.

fn main() {
    let (_tx, mut rx) = tidings::oneshot::<u8>();
    let (first, second) = (rx.recv(), rx.recv());
    drop((first, second));
}
