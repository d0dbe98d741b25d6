//! chain: every child makes the next, the answer comes back through all of them.

use std::any::Any;

use tidings::{Receiver, Sender, oneshot, unbounded};

use crate::cell::{Cells, Counts, Fault, Params, Sample, plain, repeat, repeat_cold, within};

/// A message, or what is in one.
pub(crate) enum Is {
    /// The number of the receiver; the root is 0.
    Ping(i64),
    /// The depth below the sender, the sender included.
    Pong(i64),
}

/// How Ping and Pong travel.
pub(crate) trait Form: Sized + Send + 'static {
    fn ping(number: i64) -> Self;
    fn pong(depth: i64) -> Self;
    fn open(self) -> Is;
}

impl Form for Is {
    fn ping(number: i64) -> Self {
        Self::Ping(number)
    }
    fn pong(depth: i64) -> Self {
        Self::Pong(depth)
    }
    fn open(self) -> Is {
        self
    }
}

/// A dynamic message: each kind is a type of its own.
pub(crate) type Obj = Box<dyn Any + Send>;

struct Ping(i64);
struct Pong(i64);

impl Form for Obj {
    fn ping(number: i64) -> Self {
        Box::new(Ping(number))
    }
    fn pong(depth: i64) -> Self {
        Box::new(Pong(depth))
    }
    fn open(self) -> Is {
        match self.downcast::<Ping>() {
            Ok(ping) => Is::Ping(ping.0),
            Err(other) => Is::Pong(other.downcast::<Pong>().expect("Ping or Pong").0),
        }
    }
}

fn tell<M>(to: &Sender<M>, message: M) {
    assert!(to.try_send(message).is_ok(), "the receiver waits for it");
}

fn spawn_child<M: Form>(actors: i64, parent: Sender<M>) -> Sender<M> {
    let (address, inbox) = unbounded();
    tidings::spawn(child(actors, inbox, address.clone(), parent));
    address
}

/// A child. Its own address goes to its child, or it sends to itself at the end.
async fn child<M: Form>(actors: i64, inbox: Receiver<M>, address: Sender<M>, parent: Sender<M>) {
    let mut address = Some(address);
    while let Ok(message) = inbox.recv().await {
        match message.open() {
            Is::Ping(number) => {
                let address = address.take().expect("one Ping");
                if number < actors {
                    tell(&spawn_child(actors, address), M::ping(number + 1));
                } else {
                    tell(&address, M::pong(0));
                }
            }
            Is::Pong(depth) => return tell(&parent, M::pong(depth + 1)),
        }
    }
}

async fn root<M: Form>(
    actors: i64,
    inbox: Receiver<M>,
    address: Sender<M>,
    done: oneshot::Sender<i64>,
) {
    let mut address = Some(address);
    while let Ok(message) = inbox.recv().await {
        match message.open() {
            Is::Ping(number) => {
                let first = spawn_child(actors, address.take().expect("one Ping"));
                tell(&first, M::ping(number + 1));
            }
            Is::Pong(depth) => return done.send(depth).expect("the driver waits"),
        }
    }
}

async fn chain<M: Form>(actors: i64) -> Result<Counts, Fault> {
    let (address, inbox) = unbounded();
    let (done, depth) = oneshot();
    tidings::spawn(root::<M>(actors, inbox, address.clone(), done));
    tell(&address, M::ping(0));
    drop(address);
    Ok(counts(depth.await?))
}

/// The counts follow from the depth that came back, to which every child that answered has added
/// one: a Ping and a Pong for each, the driver's Ping and the last child's Pong to itself.
pub(crate) fn counts(depth: i64) -> Counts {
    Counts {
        msgs: 2 * depth + 2,
        units: depth + 1,
        check: depth,
    }
}

fn actors(params: Params) -> Result<i64, Fault> {
    within(&[("A", params.A, 5_000_000)])?;
    Ok(params.A)
}

pub(crate) fn cell<R>(params: Params, scenario: fn(i64) -> R) -> Result<Sample, Fault>
where
    R: Future<Output = Result<Counts, Fault>> + Send + 'static,
{
    let actors = actors(params)?;
    Ok(repeat(move || scenario(actors)))
}

pub(crate) fn cells() -> Cells {
    plain([
        ("chain/struct", |p, _| cell(p, chain::<Is>)),
        ("chain/obj", |p, _| cell(p, chain::<Obj>)),
        ("chain/cold-system", |p, _| {
            let actors = actors(p)?;
            Ok(repeat_cold(p.threads, move || chain::<Is>(actors)))
        }),
    ])
}
