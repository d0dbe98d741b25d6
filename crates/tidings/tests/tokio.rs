//! What needs tokio works in our tasks: the feature `tokio`.
//! `cargo test -p tidings --features tokio --test tokio`; a stage of CI runs it.
//! `sqlx` and `reqwest` have a package of their own: `ecosystem/`.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

fn tokio_with(threads: usize) -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder
        .worker_threads(threads)
        .enable_all()
        .build()
        .unwrap()
}

/// In a task, on 1 and on 4 workers.
fn inside<F>(body: impl Fn() -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let tokio = tokio_with(1);
    for workers in [1, 4] {
        let builder = tidings::Runtime::builder().workers(workers);
        let rt = builder
            .tokio_handle(tokio.handle().clone())
            .build()
            .unwrap();
        rt.block_on(async { tidings::spawn(body()).await.unwrap() });
    }
}

#[test]
fn sockets_of_tokio_work_in_our_tasks() {
    inside(|| async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let server = tidings::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).await.unwrap();
            stream
                .write_all(text.to_uppercase().as_bytes())
                .await
                .unwrap();
        });
        let mut stream = TcpStream::connect(at).await.unwrap();
        stream.write_all(b"over tokio").await.unwrap();
        stream.shutdown().await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "OVER TOKIO");
        server.await.unwrap();
    });
}

#[test]
fn time_tasks_and_blocking_work_of_tokio_work_in_our_tasks() {
    inside(|| async {
        tokio::time::sleep(Duration::from_millis(2)).await;
        let late = tokio::time::timeout(Duration::from_millis(2), std::future::pending::<()>());
        assert!(late.await.is_err());
        let there = tokio::spawn(async { std::thread::current().name().map(str::to_owned) });
        assert!(!there.await.unwrap().unwrap().starts_with("tidings"));
        assert_eq!(tokio::task::spawn_blocking(|| 7).await.unwrap(), 7);
    });
}

#[test]
fn the_future_of_block_on_and_blocking_work_are_inside_too() {
    let tokio = tokio_with(1);
    let builder = tidings::Runtime::builder().workers(1);
    let rt = builder
        .tokio_handle(tokio.handle().clone())
        .build()
        .unwrap();
    rt.block_on(async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let inside = tidings::spawn_blocking(|| tokio::runtime::Handle::try_current().is_ok());
        assert!(inside.await.unwrap());
    });
    assert!(tokio::runtime::Handle::try_current().is_err());
}

#[test]
fn a_guard_enters_no_runtime_of_tokios_and_may_be_dropped_in_any_order() {
    let tokios = [(); 2].map(|()| tokio_with(1));
    let runtimes = tokios.each_ref().map(|tokio| {
        let builder = tidings::Runtime::builder().workers(1);
        let builder = builder.tokio_handle(tokio.handle().clone());
        builder.build().unwrap()
    });
    let [one, other] = runtimes.each_ref().map(tidings::Runtime::handle);
    let here = || Some(tokio::runtime::Handle::try_current().ok()?.id());
    let [first, second] = [one.enter(), other.enter()];
    assert_eq!(here(), None);
    drop(first);
    let there = tidings::spawn(async move { here() });
    assert_eq!(
        other.block_on(there).unwrap(),
        Some(tokios[1].handle().id())
    );
    drop(second);
    // One that its block_on does not see the end of.
    let mut kept = None;
    one.block_on(async { kept = Some(other.enter()) });
    drop(kept);
    let task = one.spawn(async move {
        let before = here();
        let _guard = other.enter();
        (before, here())
    });
    let its = Some(tokios[0].handle().id());
    assert_eq!(one.block_on(task).unwrap(), (its, its));
}

#[test]
fn a_runtime_ends_while_its_tasks_wait_for_tokio() {
    let tokio = tokio_with(1);
    let rt = tidings::Runtime::builder().tokio_handle(tokio.handle().clone());
    let rt = rt.build().unwrap();
    let (tx, rx) = tidings::unbounded();
    let task = rt.spawn(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        tx.send(()).await.unwrap();
        listener.accept().await.map(drop)
    });
    rt.block_on(async { rx.recv().await.unwrap() });
    drop(rt);
    assert!(
        futures::executor::block_on(task)
            .unwrap_err()
            .is_cancelled()
    );
}

#[test]
fn without_a_handle_tokio_is_not_there() {
    let rt = tidings::Runtime::new().unwrap();
    let there = rt.spawn(async { tokio::runtime::Handle::try_current().is_ok() });
    assert!(!futures::executor::block_on(there).unwrap());
}
