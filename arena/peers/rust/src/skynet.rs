//! skynet: a tree of ten children per node, sums come back to the root.

use crate::cells::{Cell, Cells, Counts, Fault, Params, Sample, repeat, within};
use crate::flavour::{AsyncBounded, Flavour, FlumeBounded, KanalBounded};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use tokio::runtime::Builder;
use tokio::sync::{Barrier, oneshot};
use tokio::task::JoinHandle;

const CHILDREN: i64 = 10;

/// How the nodes of the untimed pass of `prep` are counted; nothing in a timed run.
trait Census: Clone + Send + 'static {
    fn born(&self);
}

#[derive(Clone)]
struct Timed;

impl Census for Timed {
    fn born(&self) {}
}

impl Census for Arc<AtomicI64> {
    fn born(&self) {
        self.fetch_add(1, Relaxed);
    }
}

/// Every node is a task; an inner node waits on a channel of its own.
async fn channel_node<F: Flavour, C: Census>(c: C, parent: F::Tx<i64>, number: i64, size: i64) {
    let (tx, mut rx) = F::channel(CHILDREN as usize);
    let size = size / CHILDREN;
    for i in 0..CHILDREN {
        spawn_channel_node::<F, C>(c.clone(), tx.clone(), number + i * size, size);
    }
    let mut sum = 0;
    for _ in 0..CHILDREN {
        sum += F::recv(&mut rx).await.expect("a sender is here");
    }
    F::send(&parent, sum).await;
}

fn spawn_channel_node<F: Flavour, C: Census>(c: C, parent: F::Tx<i64>, number: i64, size: i64) {
    c.born();
    if size == 1 {
        tokio::spawn(async move { F::send(&parent, number).await });
    } else {
        tokio::spawn(channel_node::<F, C>(c, parent, number, size));
    }
}

async fn channels<F: Flavour, C: Census>(c: C, size: i64) -> Result<i64, Fault> {
    let (tx, mut rx) = F::channel(1);
    spawn_channel_node::<F, C>(c, tx, 0, size);
    F::recv(&mut rx)
        .await
        .ok_or_else(|| Fault::Bug("a node was lost".into()))
}

/// The same with a one-shot channel from each child.
async fn oneshot_node<C: Census>(c: C, parent: oneshot::Sender<i64>, number: i64, size: i64) {
    let size = size / CHILDREN;
    let replies: [_; CHILDREN as usize] = std::array::from_fn(|i| {
        let (tx, rx) = oneshot::channel();
        spawn_oneshot_node(c.clone(), tx, number + i as i64 * size, size);
        rx
    });
    let mut sum = 0;
    for reply in replies {
        sum += reply.await.expect("a child answers");
    }
    let _ = parent.send(sum);
}

fn spawn_oneshot_node<C: Census>(c: C, parent: oneshot::Sender<i64>, number: i64, size: i64) {
    c.born();
    if size == 1 {
        tokio::spawn(async move { parent.send(number) });
    } else {
        tokio::spawn(oneshot_node(c, parent, number, size));
    }
}

async fn oneshots<C: Census>(c: C, size: i64) -> Result<i64, Fault> {
    let (tx, rx) = oneshot::channel();
    spawn_oneshot_node(c, tx, 0, size);
    rx.await.map_err(|e| Fault::Bug(e.to_string()))
}

/// As `oneshot_node`, but a leaf answers only when all leaves exist.
async fn alive_node<C: Census>(
    c: C,
    gate: Arc<Barrier>,
    parent: oneshot::Sender<i64>,
    number: i64,
    size: i64,
) {
    let size = size / CHILDREN;
    let replies: [_; CHILDREN as usize] = std::array::from_fn(|i| {
        let (tx, rx) = oneshot::channel();
        spawn_alive_node(
            c.clone(),
            Arc::clone(&gate),
            tx,
            number + i as i64 * size,
            size,
        );
        rx
    });
    drop(gate);
    let mut sum = 0;
    for reply in replies {
        sum += reply.await.expect("a child answers");
    }
    let _ = parent.send(sum);
}

fn spawn_alive_node<C: Census>(
    c: C,
    gate: Arc<Barrier>,
    parent: oneshot::Sender<i64>,
    number: i64,
    size: i64,
) {
    c.born();
    if size == 1 {
        tokio::spawn(async move {
            gate.wait().await;
            parent.send(number)
        });
    } else {
        tokio::spawn(alive_node(c, gate, parent, number, size));
    }
}

async fn alive<C: Census>(c: C, size: i64) -> Result<i64, Fault> {
    let (tx, rx) = oneshot::channel();
    spawn_alive_node(c, Arc::new(Barrier::new(size as usize)), tx, 0, size);
    rx.await.map_err(|e| Fault::Bug(e.to_string()))
}

/// Every node is a task; the parent awaits the handles of its children.
async fn task_node<C: Census>(c: C, number: i64, size: i64) -> i64 {
    let size = size / CHILDREN;
    let children: [_; CHILDREN as usize] =
        std::array::from_fn(|i| spawn_task_node(c.clone(), number + i as i64 * size, size));
    let mut sum = 0;
    for child in children {
        sum += child.await.expect("a child ends");
    }
    sum
}

fn spawn_task_node<C: Census>(c: C, number: i64, size: i64) -> JoinHandle<i64> {
    c.born();
    if size == 1 {
        tokio::spawn(async move { number })
    } else {
        tokio::spawn(task_node(c, number, size))
    }
}

async fn tasks<C: Census>(c: C, size: i64) -> Result<i64, Fault> {
    Ok(spawn_task_node(c, 0, size).await?)
}

/// Recursion, no units.
fn floor(number: i64, size: i64) -> i64 {
    if size == 1 {
        return black_box(number);
    }
    let size = size / CHILDREN;
    (0..CHILDREN).map(|i| floor(number + i * size, size)).sum()
}

fn power_of_ten(size: i64) -> Result<(), Fault> {
    within(&[("S", size, 100_000_000)])?;
    if 10_i64.pow((size as u64).ilog10()) == size {
        Ok(())
    } else {
        Err(Fault::Limit("S must be a power of 10".into()))
    }
}

/// Counts the nodes in a run that is not timed, then makes the timed ones.
fn cell<T, R, P, Q>(params: Params, timed: T, pass: P) -> Result<Sample, Fault>
where
    T: Fn(Timed, i64) -> R + Send + Sync + Copy + 'static,
    R: Future<Output = Result<i64, Fault>> + Send,
    P: Fn(Arc<AtomicI64>, i64) -> Q,
    Q: Future<Output = Result<i64, Fault>>,
{
    let size = params.S;
    power_of_ten(size)?;
    let nodes = Arc::new(AtomicI64::new(0));
    let runtime = Builder::new_current_thread().build();
    let runtime = runtime.map_err(|e| Fault::Limit(e.to_string()))?;
    runtime.block_on(pass(Arc::clone(&nodes), size))?;
    let nodes = nodes.load(Relaxed);
    Ok(repeat(move || async move {
        Ok(Counts {
            msgs: nodes,
            units: nodes,
            check: timed(Timed, size).await?,
        })
    }))
}

fn of<F: Flavour>() -> Cells {
    Cells::from([(
        "skynet/tree-ch",
        (|p| cell(p, channels::<F, _>, channels::<F, _>)) as Cell,
    )])
}

pub(crate) fn cells(library: &str) -> Cells {
    match library {
        "tokio" => Cells::from([
            ("skynet/tree-ch", (|p| cell(p, oneshots, oneshots)) as Cell),
            ("skynet/alive", |p| cell(p, alive, alive)),
            ("skynet/tasks", |p| cell(p, tasks, tasks)),
            ("skynet/floor", |p| {
                power_of_ten(p.S)?;
                Ok(repeat(move || async move {
                    let check = floor(0, black_box(p.S));
                    Ok(Counts {
                        msgs: (10 * p.S - 1) / 9,
                        units: 0,
                        check,
                    })
                }))
            }),
        ]),
        "async-channel" => of::<AsyncBounded>(),
        "flume" => of::<FlumeBounded>(),
        _ => of::<KanalBounded>(),
    }
}
