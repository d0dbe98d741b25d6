//! A permit is one place.

async fn send(tx: tidings::Sender<u8>) {
    let permit = tx.reserve().await.unwrap();
    permit.send(1).unwrap();
    permit.send(2).unwrap();
}

fn main() {
    let (tx, _rx) = tidings::bounded(1);
    drop(send(tx));
}
