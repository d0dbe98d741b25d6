//! skynet: a tree of ten children per node, sums come back to the root.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tidings::actor::{self, ActorRef, Mailbox};
use tidings::channel::ivar::IVar;
use tidings::{JoinHandle, Runtime, Sender, oneshot, unbounded};

use crate::cell::{Cells, Counts, Fault, Params, Sample, plain, repeat, within};

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
        // RELAXED: read after the tasks have ended.
        self.fetch_add(1, Ordering::Relaxed);
    }
}

fn reply(parent: &Sender<i64>, sum: i64) {
    assert!(parent.try_send(sum).is_ok(), "the parent waits");
}

/// An inner node: makes its children with `spawn`, and waits on a channel of its own.
async fn node(parent: Sender<i64>, number: i64, size: i64, spawn: impl Fn(Sender<i64>, i64, i64)) {
    let (tx, rx) = unbounded();
    let size = size / CHILDREN;
    for i in 0..CHILDREN {
        spawn(tx.clone(), number + i * size, size);
    }
    let mut sum = 0;
    for _ in 0..CHILDREN {
        sum += rx.recv().await.expect("we hold a sender");
    }
    reply(&parent, sum);
}

/// Every node is a task; an inner node waits on a channel of its own.
fn spawn_channel_node<C: Census>(c: C, parent: Sender<i64>, number: i64, size: i64) {
    c.born();
    if size == 1 {
        tidings::spawn(async move { reply(&parent, number) });
    } else {
        tidings::spawn(channel_node(c, parent, number, size));
    }
}

fn channel_node<C: Census>(
    c: C,
    parent: Sender<i64>,
    number: i64,
    size: i64,
) -> impl Future<Output = ()> + Send {
    node(parent, number, size, move |tx, number, size| {
        spawn_channel_node(c.clone(), tx, number, size);
    })
}

/// Every node is an actor with a mailbox of its own, leaves too.
fn spawn_actor_node<C: Census>(c: C, parent: ActorRef<i64>, number: i64, size: i64) {
    c.born();
    actor::spawn(move |mailbox| {
        let this = mailbox.this().upgrade().expect("it is being started");
        actor_node(c, mailbox, this, parent, number, size)
    });
}

async fn actor_node<C: Census>(
    c: C,
    mut mailbox: Mailbox<i64>,
    this: ActorRef<i64>,
    parent: ActorRef<i64>,
    number: i64,
    size: i64,
) {
    let mut sum = number;
    if size > 1 {
        sum = 0;
        let size = size / CHILDREN;
        for i in 0..CHILDREN {
            spawn_actor_node(c.clone(), this.clone(), number + i * size, size);
        }
        for _ in 0..CHILDREN {
            sum += mailbox.recv().await.expect("nobody stops it");
        }
    }
    assert!(parent.try_send(sum).is_ok(), "the parent waits");
}

/// The driver takes the place of the root's parent.
async fn actors<C: Census>(c: C, size: i64) -> Result<i64, Fault> {
    let (done, sum) = oneshot();
    let driver = actor::spawn(|mut mailbox: Mailbox<i64>| async move {
        if let Ok(sum) = mailbox.recv().await {
            done.send(sum).expect("the driver waits");
        }
    });
    spawn_actor_node(c, driver, 0, size);
    Ok(sum.await?)
}

async fn channels<C: Census>(c: C, size: i64) -> Result<i64, Fault> {
    let (tx, rx) = unbounded();
    spawn_channel_node(c, tx, 0, size);
    Ok(rx.recv().await?)
}

/// Opens when the last of a known number has arrived.
struct Barrier {
    missing: AtomicI64,
    open: IVar<()>,
}

impl Barrier {
    async fn wait(&self) {
        // RELAXED: whoever opens it synchronises through the cell.
        if self.missing.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.open.fill(()).expect("one is the last");
        }
        self.open.read().await;
    }
}

/// As a channel node, but a leaf answers only when all leaves exist.
fn spawn_alive_node<C: Census>(
    c: C,
    all: Arc<Barrier>,
    parent: Sender<i64>,
    number: i64,
    size: i64,
) {
    c.born();
    if size == 1 {
        tidings::spawn(async move {
            all.wait().await;
            reply(&parent, number);
        });
    } else {
        tidings::spawn(alive_node(c, all, parent, number, size));
    }
}

fn alive_node<C: Census>(
    c: C,
    all: Arc<Barrier>,
    parent: Sender<i64>,
    number: i64,
    size: i64,
) -> impl Future<Output = ()> + Send {
    node(parent, number, size, move |tx, number, size| {
        spawn_alive_node(c.clone(), Arc::clone(&all), tx, number, size);
    })
}

async fn alive<C: Census>(c: C, size: i64) -> Result<i64, Fault> {
    let (tx, rx) = unbounded();
    let all = Barrier {
        missing: AtomicI64::new(size),
        open: IVar::new(),
    };
    spawn_alive_node(c, Arc::new(all), tx, 0, size);
    Ok(rx.recv().await?)
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
        tidings::spawn(async move { number })
    } else {
        tidings::spawn(task_node(c, number, size))
    }
}

async fn tasks<C: Census>(c: C, size: i64) -> Result<i64, Fault> {
    Ok(spawn_task_node(c, 0, size).await?)
}

/// Recursion, no units.
fn floor(number: i64, size: i64) -> (i64, i64) {
    if size == 1 {
        return (1, black_box(number));
    }
    let size = size / CHILDREN;
    let below = (0..CHILDREN).map(|i| floor(number + i * size, size));
    below.fold((1, 0), |(nodes, sum), (n, s)| (nodes + n, sum + s))
}

fn power_of_ten(size: i64) -> Result<i64, Fault> {
    within(&[("S", size, 100_000_000)])?;
    if 10_i64.pow((size as u64).ilog10()) == size {
        Ok(size)
    } else {
        Err(Fault::Limit(format!(
            "S={size}: this peer takes powers of 10"
        )))
    }
}

/// Counts the nodes in a run that is not timed, then makes the timed ones.
fn cell<R, Q>(
    params: Params,
    runtime: &Runtime,
    timed: fn(Timed, i64) -> R,
    pass: fn(Arc<AtomicI64>, i64) -> Q,
) -> Result<Sample, Fault>
where
    R: Future<Output = Result<i64, Fault>> + Send + 'static,
    Q: Future<Output = Result<i64, Fault>> + Send + 'static,
{
    let size = power_of_ten(params.S)?;
    let nodes = Arc::new(AtomicI64::new(0));
    runtime.block_on(runtime.spawn(pass(Arc::clone(&nodes), size)))??;
    // RELAXED: the tasks that counted have been waited for.
    let nodes = nodes.load(Ordering::Relaxed);
    Ok(repeat(move || async move {
        Ok(Counts {
            msgs: nodes,
            units: nodes,
            check: timed(Timed, size).await?,
        })
    }))
}

pub(crate) fn cells() -> Cells {
    plain([
        ("skynet/tree", |p, rt| cell(p, rt, actors, actors)),
        ("skynet/tree-ch", |p, rt| cell(p, rt, channels, channels)),
        ("skynet/alive", |p, rt| cell(p, rt, alive, alive)),
        ("skynet/tasks", |p, rt| cell(p, rt, tasks, tasks)),
        ("skynet/floor", |p, _| {
            let size = power_of_ten(p.S)?;
            Ok(repeat(move || async move {
                let (msgs, check) = floor(0, black_box(size));
                Ok(Counts {
                    msgs,
                    units: 0,
                    check,
                })
            }))
        }),
    ])
}
