//! An event happens once.

async fn receive(rx: tidings::Receiver<u8>) {
    let event = rx.recv();
    event.await.unwrap();
    event.await.unwrap();
}

fn main() {
    let (_tx, rx) = tidings::unbounded();
    drop(receive(rx));
}
