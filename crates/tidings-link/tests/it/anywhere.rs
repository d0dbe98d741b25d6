//! A client without our scheduler: another executor, or plain threads.

use std::sync::mpsc;
use std::thread;

use futures::executor::{LocalPool, block_on};
use futures::task::SpawnExt;
use tidings::{Event, actor};
use tidings_link::{Broken, Exports, Link, Options, link, memory};

use crate::nodes::{CounterRef, Tally};

/// A server on a runtime of its own, until the sender is dropped; and the other end of its stream.
fn server() -> (memory::Pipe, mpsc::Sender<()>, thread::JoinHandle<()>) {
    let (ours, theirs) = memory::pipe();
    let (stop, stopped) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        tidings::Runtime::new().unwrap().block_on(async {
            let counter: CounterRef = actor::start(Tally::default());
            let exports = Exports::new().add("counter", &counter);
            let (_link, driver) = link(ours, Options::new("server").exports(exports));
            drop(tidings::spawn(driver));
            tidings::spawn_blocking(move || stopped.recv())
                .await
                .unwrap()
                .unwrap_err();
        });
    });
    (theirs, stop, thread)
}

fn connect(stream: memory::Pipe) -> (Link, impl Future<Output = Broken> + Send) {
    link(stream, Options::new("client"))
}

#[test]
fn a_plain_thread_calls_by_waiting_and_another_moves_the_link() {
    let (stream, stop, server) = server();
    let (link, driver) = connect(stream);
    let driver = thread::spawn(move || block_on(driver));
    let counter: CounterRef = block_on(link.get("counter")).unwrap();
    for n in 0..100 {
        counter.add(n).wait().unwrap();
    }
    assert_eq!(counter.get().wait().unwrap(), 4950);
    drop(stop);
    assert!(
        counter
            .any()
            .down()
            .wait()
            .to_string()
            .contains("cannot be reached")
    );
    assert!(matches!(
        driver.join().unwrap(),
        Broken::Closed | Broken::Drained
    ));
    server.join().unwrap();
}

#[test]
fn another_executor_moves_the_link_and_calls_on_one_thread() {
    let (stream, stop, server) = server();
    let (link, driver) = connect(stream);
    let mut pool = LocalPool::new();
    let driver = pool.spawner().spawn_with_handle(driver).unwrap();
    let sum = pool.run_until(async {
        let counter: CounterRef = link.get("counter").await.unwrap();
        let calls = (1..=100).map(|n| {
            let counter = &counter;
            async move { counter.add(n).await.unwrap() }
        });
        futures::future::join_all(calls).await;
        let sum = counter.get().await.unwrap();
        link.drain();
        drop(counter);
        sum
    });
    assert_eq!(sum, 5050);
    assert_eq!(pool.run_until(driver), Broken::Drained);
    drop(stop);
    server.join().unwrap();
}
