//! chain: every child makes the next, the answer comes back through all of them.

use crate::cells::{Cell, Cells, Counts, Fault, Params, Sample, repeat, within};
use crate::flavour::{AsyncBounded, Flavour, FlumeBounded, KanalBounded, Msg, Obj};
use std::any::Any;
use std::marker::PhantomData;
use tokio::sync::oneshot;

/// How Ping and Pong travel.
trait Form: Msg {
    fn ping(number: i64) -> Self;
    fn pong(depth: i64) -> Self;
    fn kind(self) -> Is;
}

/// A message, once its kind is known.
enum Is {
    /// The number of the receiver; the root is 0.
    Ping(i64),
    /// The depth below the sender, the sender included.
    Pong(i64),
}

impl Form for Is {
    fn ping(number: i64) -> Self {
        Self::Ping(number)
    }
    fn pong(depth: i64) -> Self {
        Self::Pong(depth)
    }
    fn kind(self) -> Is {
        self
    }
}

struct PingObj(i64);
struct PongObj(i64);

impl Form for Obj {
    fn ping(number: i64) -> Self {
        Box::new(PingObj(number))
    }
    fn pong(depth: i64) -> Self {
        Box::new(PongObj(depth))
    }
    fn kind(self) -> Is {
        match (self as Box<dyn Any + Send>).downcast::<PingObj>() {
            Ok(ping) => Is::Ping(ping.0),
            Err(other) => Is::Pong(other.downcast::<PongObj>().expect("Ping or Pong").0),
        }
    }
}

/// A child. It answers `parent`; its own address goes to its child, or to itself at the end.
struct Node<F: Flavour, M: Form> {
    actors: i64,
    inbox: F::Rx<M>,
    address: Option<F::Tx<M>>,
    parent: F::Tx<M>,
}

fn spawn_node<F: Flavour, M: Form>(actors: i64, parent: F::Tx<M>) -> F::Tx<M> {
    let (address, inbox) = F::channel(1);
    let node = Node::<F, M> {
        actors,
        inbox,
        address: Some(address.clone()),
        parent,
    };
    tokio::spawn(node.run());
    address
}

impl<F: Flavour, M: Form> Node<F, M> {
    async fn run(mut self) {
        while let Some(message) = F::recv(&mut self.inbox).await {
            match message.kind() {
                Is::Ping(number) => {
                    let address = self.address.take().expect("one Ping");
                    if number < self.actors {
                        let child = spawn_node::<F, M>(self.actors, address);
                        F::send(&child, M::ping(number + 1)).await;
                    } else {
                        F::send(&address, M::pong(0)).await;
                    }
                }
                Is::Pong(depth) => return F::send(&self.parent, M::pong(depth + 1)).await,
            }
        }
    }
}

async fn root<F: Flavour, M: Form>(
    actors: i64,
    mut inbox: F::Rx<M>,
    address: F::Tx<M>,
    done: oneshot::Sender<i64>,
) {
    let mut address = Some(address);
    while let Some(message) = F::recv(&mut inbox).await {
        match message.kind() {
            Is::Ping(number) => {
                let child = spawn_node::<F, M>(actors, address.take().expect("one Ping"));
                F::send(&child, M::ping(number + 1)).await;
            }
            Is::Pong(depth) => return done.send(depth).expect("the driver waits"),
        }
    }
}

/// The counts follow from the depth that came back: a Ping and a Pong for each child that
/// answered, the driver's Ping and the last child's Pong to itself.
fn counts(depth: i64) -> Counts {
    Counts {
        msgs: 2 * depth + 2,
        units: depth + 1,
        check: depth,
    }
}

async fn mailboxes<F: Flavour, M: Form>(actors: i64) -> Result<Counts, Fault> {
    let (address, inbox) = F::channel(1);
    let (done, depth) = oneshot::channel();
    tokio::spawn(root::<F, M>(actors, inbox, address.clone(), done));
    F::send(&address, M::ping(0)).await;
    Ok(counts(depth.await.map_err(|e| Fault::Bug(e.to_string()))?))
}

/// A child of the version with one-shot cells: one for its Ping and one for its Pong.
struct Cellular<M> {
    actors: i64,
    ping: oneshot::Receiver<M>,
    parent: oneshot::Sender<M>,
    kind: PhantomData<M>,
}

fn spawn_cellular<M: Form>(actors: i64, parent: oneshot::Sender<M>) -> oneshot::Sender<M> {
    let (address, ping) = oneshot::channel();
    tokio::spawn(
        Cellular {
            actors,
            ping,
            parent,
            kind: PhantomData,
        }
        .run(),
    );
    address
}

impl<M: Form> Cellular<M> {
    async fn run(self) {
        let Ok(Is::Ping(number)) = self.ping.await.map(M::kind) else {
            return;
        };
        let (address, pong) = oneshot::channel();
        if number < self.actors {
            let _ = spawn_cellular(self.actors, address).send(M::ping(number + 1));
        } else {
            let _ = address.send(M::pong(0));
        }
        let Ok(Is::Pong(depth)) = pong.await.map(M::kind) else {
            return;
        };
        let _ = self.parent.send(M::pong(depth + 1));
    }
}

async fn oneshots<M: Form>(actors: i64) -> Result<Counts, Fault> {
    let (address, ping) = oneshot::channel();
    let root = tokio::spawn(async move {
        let Ok(Is::Ping(number)) = ping.await.map(M::kind) else {
            return 0;
        };
        let (address, pong) = oneshot::channel();
        let _ = spawn_cellular(actors, address).send(M::ping(number + 1));
        match pong.await.map(M::kind) {
            Ok(Is::Pong(depth)) => depth,
            _ => 0,
        }
    });
    let _ = address.send(M::ping(0));
    Ok(counts(root.await?))
}

fn cell<S, R>(params: Params, scenario: S) -> Result<Sample, Fault>
where
    S: Fn(i64) -> R + Send + Sync + Copy + 'static,
    R: Future<Output = Result<Counts, Fault>> + Send,
{
    within(&[("A", params.A, 5_000_000)])?;
    Ok(repeat(move || scenario(params.A)))
}

fn of<F: Flavour>() -> Cells {
    Cells::from([
        ("chain/struct", (|p| cell(p, mailboxes::<F, Is>)) as Cell),
        ("chain/obj", |p| cell(p, mailboxes::<F, Obj>)),
    ])
}

pub(crate) fn cells(library: &str) -> Cells {
    match library {
        "tokio" => Cells::from([
            ("chain/struct", (|p| cell(p, oneshots::<Is>)) as Cell),
            ("chain/obj", |p| cell(p, oneshots::<Obj>)),
        ]),
        "async-channel" => of::<AsyncBounded>(),
        "flume" => of::<FlumeBounded>(),
        _ => of::<KanalBounded>(),
    }
}
