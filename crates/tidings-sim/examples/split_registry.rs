//! A split registry: two registries ask each other before they give a name away, and take no answer
//! for consent; while the network is parted both give it.
//! `cargo run -p tidings-sim --example split_registry`

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::{AsyncReadExt, AsyncWriteExt};
use tidings::net::{TcpListener, TcpStream};
use tidings::time::{sleep, timeout};
use tidings_sim::{Failure, Sim, world};

/// Sends a byte, gets a byte.
async fn ask(to: SocketAddr, byte: u8) -> io::Result<u8> {
    let mut stream = TcpStream::connect(to).await?;
    let mut buffer = [byte];
    stream.write_all(&buffer).await?;
    stream.read_exact(&mut buffer).await?;
    Ok(buffer[0])
}

/// Gives its one name to whoever claims it first (`c`), unless the other has (`?`).
async fn registry(other: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(([0, 0, 0, 0], 1))?;
    let given = Arc::new(AtomicU32::new(0));
    loop {
        let (mut stream, _) = listener.accept().await?;
        let given = Arc::clone(&given);
        drop(tidings::spawn(async move {
            let mut byte = [0];
            stream.read_exact(&mut byte).await?;
            let taken = given.load(Ordering::SeqCst) > 0;
            let answer = if byte[0] == b'?' {
                u8::from(taken)
            } else {
                let asked = timeout(Duration::from_secs(1), ask(other, b'?')).await;
                // The bug: no answer is no consent.
                let elsewhere = matches!(asked, Ok(Ok(1)));
                let free = !taken && !elsewhere;
                given.fetch_add(u32::from(free), Ordering::SeqCst);
                u8::from(free)
            };
            stream.write_all(&[answer]).await
        }));
    }
}

async fn two_claims() {
    let world = world();
    // Their addresses are known before they are: the program's is the first.
    let address = |host| SocketAddr::from(([10, 0, 0, host], 1));
    let nodes = [("north", 3), ("south", 2)]
        .map(|(name, other)| world.node(name, move || registry(address(other))));
    sleep(Duration::from_millis(1)).await;
    if tidings::sched::buggify() {
        nodes[0].partition(&nodes[1]);
    }
    let mut owners = 0;
    for node in &nodes {
        let claimed = ask(node.address(1), b'c').await;
        owners += u32::from(claimed.unwrap_or(0));
    }
    assert!(owners <= 1, "{owners} own the name");
}

/// The shortest run that has the bug.
pub fn find() -> Box<Failure> {
    let sim = Sim::new(0).seeds(10_000).name("split_registry");
    sim.check(two_claims)
        .expect_err("some seed gives the name twice")
}

fn main() {
    println!("{}", find());
}
