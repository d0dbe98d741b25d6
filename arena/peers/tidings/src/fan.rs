//! fan: one parent sends all its messages at once to one child.

use std::any::Any;

use tidings::{Receiver, Sender, unbounded};

use crate::cell::within;
use crate::cell::{Cells, Counts, Fault, Params, Sample, plain, repeat, repeat_cold, sums_fit};

/// How many messages an actor takes at once at most.
const BATCH: usize = 128;

/// A message, or what is in one.
pub(crate) enum Is {
    Start,
    Ping(i64),
    Pong(i64),
    Stop,
}

/// How messages travel.
pub(crate) trait Form: Send + 'static {
    fn pack(is: Is) -> Self;
    fn open(self) -> Is;
}

impl Form for Is {
    fn pack(is: Is) -> Self {
        is
    }
    fn open(self) -> Is {
        self
    }
}

/// A dynamic message: each kind is a type of its own.
pub(crate) type Obj = Box<dyn Any + Send>;

struct Start;
struct Ping(i64);
struct Pong(i64);
struct Stop;

impl Form for Obj {
    fn pack(is: Is) -> Self {
        match is {
            Is::Start => Box::new(Start),
            Is::Ping(index) => Box::new(Ping(index)),
            Is::Pong(index) => Box::new(Pong(index)),
            Is::Stop => Box::new(Stop),
        }
    }
    fn open(self) -> Is {
        if let Some(ping) = self.downcast_ref::<Ping>() {
            Is::Ping(ping.0)
        } else if let Some(pong) = self.downcast_ref::<Pong>() {
            Is::Pong(pong.0)
        } else if (*self).is::<Start>() {
            Is::Start
        } else {
            assert!((*self).is::<Stop>(), "a message of this workload");
            Is::Stop
        }
    }
}

fn tell<M: Form>(to: &Sender<M>, is: Is) {
    assert!(to.try_send(M::pack(is)).is_ok(), "the receiver is alive");
}

/// Answers until it has told itself to stop; gives the number of messages it took.
async fn child<M: Form>(n: i64, inbox: Receiver<M>, address: Sender<M>, parent: Sender<M>) -> i64 {
    let mut taken = 0;
    let mut messages = Vec::with_capacity(BATCH);
    loop {
        inbox.recv_many(&mut messages, BATCH).await;
        for message in messages.drain(..) {
            taken += 1;
            let Is::Ping(index) = message.open() else {
                return taken;
            };
            tell(&parent, Is::Pong(index));
            if index == n - 1 {
                tell(&address, Is::Stop);
            }
        }
    }
}

async fn parent<M: Form>(n: i64, inbox: Receiver<M>, address: Sender<M>) -> Result<Counts, Fault> {
    let (mut taken, mut sum) = (0, 0);
    let mut started = None;
    let mut messages = Vec::with_capacity(BATCH);
    'life: loop {
        inbox.recv_many(&mut messages, BATCH).await;
        for message in messages.drain(..) {
            taken += 1;
            match message.open() {
                Is::Start => {
                    let (to_child, from_parent) = unbounded();
                    let child = child(n, from_parent, to_child.clone(), address.clone());
                    started = Some(tidings::spawn(child));
                    for index in 0..n {
                        tell(&to_child, Is::Ping(index));
                    }
                }
                Is::Pong(index) => {
                    sum += index;
                    if index == n - 1 {
                        tell(&address, Is::Stop);
                    }
                }
                _ => break 'life,
            }
        }
    }
    let taken_by_child = started.expect("Start came first").await?;
    Ok(Counts {
        msgs: taken + taken_by_child,
        units: 2,
        check: sum,
    })
}

async fn fan<M: Form>(n: i64) -> Result<Counts, Fault> {
    let (address, inbox) = unbounded();
    let parent = tidings::spawn(parent::<M>(n, inbox, address.clone()));
    tell(&address, Is::Start);
    drop(address);
    parent.await?
}

fn size(params: Params) -> Result<i64, Fault> {
    within(&[("N", params.N, 100_000_000)])?;
    sums_fit(1, params.N)?;
    Ok(params.N)
}

pub(crate) fn cell<R>(params: Params, scenario: fn(i64) -> R) -> Result<Sample, Fault>
where
    R: Future<Output = Result<Counts, Fault>> + Send + 'static,
{
    let n = size(params)?;
    Ok(repeat(move || scenario(n)))
}

pub(crate) fn cells() -> Cells {
    plain([
        ("fan/struct", |p, _| cell(p, fan::<Is>)),
        ("fan/obj", |p, _| cell(p, fan::<Obj>)),
        ("fan/cold-system", |p, _| {
            let n = size(p)?;
            Ok(repeat_cold(p.threads, move || fan::<Is>(n)))
        }),
    ])
}
