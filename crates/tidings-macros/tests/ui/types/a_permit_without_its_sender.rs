//! A permit keeps a place of a channel that it does not keep open itself.

use tidings::channel::Permit;

async fn reserve<'a>(tx: tidings::Sender<u8>) -> Permit<&'a tidings::Sender<u8>> {
    tx.reserve().await.unwrap()
}

fn main() {
    let (tx, _rx) = tidings::bounded(1);
    drop(reserve(tx));
}
