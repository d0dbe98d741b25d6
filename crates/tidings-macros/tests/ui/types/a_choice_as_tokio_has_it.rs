//! What `select!` of tokio has and ours has not is refused by name, and a pattern that may not match on its own line.

use tidings::{Receiver, select};

async fn conditions(rx: Receiver<u8>, open: bool) -> u8 {
    select! {
        n = rx.recv(), if open => n.unwrap(),
    }
}

async fn otherwise(rx: Receiver<u8>) -> u8 {
    select! {
        n = rx.recv() => n.unwrap(),
        else => 0,
    }
}

async fn refutable(rx: Receiver<u8>, other: Receiver<u8>) -> u8 {
    select! {
        Ok(n) = rx.recv() => n,
        m = other.recv() => m.unwrap(),
    }
}

fn main() {}
