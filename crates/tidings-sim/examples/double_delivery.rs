//! Double delivery after a reconnect: a client whose connection breaks before the answer sends its
//! request again, and the server has done it twice.
//! `cargo run -p tidings-sim --example double_delivery`

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::{AsyncReadExt, AsyncWriteExt};
use tidings::net::{TcpListener, TcpStream};
use tidings::time::sleep;
use tidings_sim::{Failure, Sim, world};

/// Pays for each byte that comes, and says so.
async fn bank(paid: Arc<AtomicU32>) -> io::Result<()> {
    let listener = TcpListener::bind(([0, 0, 0, 0], 1))?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        let mut order = [0];
        if stream.read_exact(&mut order).await.is_ok() {
            // The bug: an order needs a number, by which the bank knows it again.
            paid.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(&order).await;
        }
    }
}

async fn pay(bank: SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect(bank).await?;
    let mut order = [1];
    stream.write_all(&order).await?;
    stream.read_exact(&mut order).await
}

async fn one_order() {
    let (world, paid) = (world(), Arc::new(AtomicU32::new(0)));
    let account = Arc::clone(&paid);
    let node = world.node("bank", move || bank(Arc::clone(&account)));
    sleep(Duration::from_millis(1)).await;

    // The network: at some time the connection breaks.
    let (here, there) = (world.program(), node.clone());
    drop(tidings::spawn(async move {
        let millis = tidings::sched::random(10) as u64;
        sleep(Duration::from_millis(millis)).await;
        there.sever(&here);
    }));

    while pay(node.address(1)).await.is_err() {}
    assert_eq!(
        paid.load(Ordering::SeqCst),
        1,
        "one order, paid so many times"
    );
}

/// The shortest run that has the bug.
pub fn find() -> Box<Failure> {
    let sim = Sim::new(0).seeds(10_000).name("double_delivery");
    sim.check(one_order).expect_err("some seed pays twice")
}

fn main() {
    println!("{}", find());
}
