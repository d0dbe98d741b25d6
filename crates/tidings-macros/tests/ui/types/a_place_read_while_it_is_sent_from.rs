//! Whether the value is still there is known when the event is over.

fn main() {
    let (tx, _rx) = tidings::unbounded();
    let mut place = Some(1);
    let send = tx.send_from(&mut place);
    println!("{place:?}");
    drop(send);
}
