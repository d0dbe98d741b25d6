//! fan: a parent sends N Pings without waiting, the child answers each.

use crate::cells::{Cell, Cells, Counts, Fault, Params, Sample, repeat, within};
use crate::flavour::{
    AsyncUnbounded, Flavour, FlumeUnbounded, KanalUnbounded, Msg, Obj, TokioUnbounded,
};

/// A message, once its kind is known.
pub(crate) enum Is {
    Start,
    Ping(i64),
    Pong(i64),
    Stop,
}

/// How a message travels.
pub(crate) trait Form: Msg {
    fn pack(is: Is) -> Self;
    fn kind(self) -> Is;
}

impl Form for Is {
    fn pack(is: Is) -> Self {
        is
    }
    fn kind(self) -> Is {
        self
    }
}

struct StartObj;
struct PingObj(i64);
struct PongObj(i64);
struct StopObj;

impl Form for Obj {
    fn pack(is: Is) -> Self {
        match is {
            Is::Start => Box::new(StartObj),
            Is::Ping(index) => Box::new(PingObj(index)),
            Is::Pong(index) => Box::new(PongObj(index)),
            Is::Stop => Box::new(StopObj),
        }
    }
    fn kind(self) -> Is {
        if let Some(ping) = self.downcast_ref::<PingObj>() {
            Is::Ping(ping.0)
        } else if let Some(pong) = self.downcast_ref::<PongObj>() {
            Is::Pong(pong.0)
        } else if (*self).is::<StartObj>() {
            Is::Start
        } else {
            assert!((*self).is::<StopObj>(), "a message of this workload");
            Is::Stop
        }
    }
}

/// How many messages an actor takes at once at most.
fn batch<M>(n: i64) -> Vec<M> {
    Vec::with_capacity(n.min(127) as usize + 1)
}

/// Answers until it has told itself to stop; gives the number of messages it took.
async fn child<F: Flavour, M: Form>(
    n: i64,
    mut inbox: F::Rx<M>,
    address: F::Tx<M>,
    parent: F::Tx<M>,
) -> i64 {
    let mut taken = 0;
    let mut messages = batch(n);
    loop {
        F::recv_many(&mut inbox, &mut messages).await;
        for message in messages.drain(..) {
            taken += 1;
            let Is::Ping(index) = message.kind() else {
                return taken;
            };
            F::send(&parent, M::pack(Is::Pong(index))).await;
            if index == n - 1 {
                F::send(&address, M::pack(Is::Stop)).await;
            }
        }
    }
}

async fn parent<F: Flavour, M: Form>(
    n: i64,
    mut inbox: F::Rx<M>,
    address: F::Tx<M>,
) -> Result<Counts, Fault> {
    let (mut taken, mut sum) = (0, 0);
    let mut children = None;
    let mut messages = batch(n);
    'life: loop {
        F::recv_many(&mut inbox, &mut messages).await;
        for message in messages.drain(..) {
            taken += 1;
            match message.kind() {
                Is::Start => {
                    let (tx, rx) = F::channel(0);
                    let child = child::<F, M>(n, rx, tx.clone(), address.clone());
                    children = Some(tokio::spawn(child));
                    for index in 0..n {
                        F::send(&tx, M::pack(Is::Ping(index))).await;
                    }
                }
                Is::Pong(index) => {
                    sum += index;
                    if index == n - 1 {
                        F::send(&address, M::pack(Is::Stop)).await;
                    }
                }
                _ => break 'life,
            }
        }
    }
    let taken_by_child = children.expect("Start came first").await?;
    Ok(Counts {
        msgs: taken + taken_by_child,
        units: 2,
        check: sum,
    })
}

async fn fan<F: Flavour, M: Form>(n: i64) -> Result<Counts, Fault> {
    let (address, inbox) = F::channel(0);
    let parent = tokio::spawn(parent::<F, M>(n, inbox, address.clone()));
    F::send(&address, M::pack(Is::Start)).await;
    parent.await?
}

fn cell<S, R>(params: Params, scenario: S) -> Result<Sample, Fault>
where
    S: Fn(i64) -> R + Send + Sync + Copy + 'static,
    R: Future<Output = Result<Counts, Fault>> + Send,
{
    within(&[("N", params.N, 100_000_000)])?;
    Ok(repeat(move || scenario(params.N)))
}

fn of<F: Flavour>() -> Cells {
    Cells::from([
        ("fan/struct", (|p| cell(p, fan::<F, Is>)) as Cell),
        ("fan/obj", |p| cell(p, fan::<F, Obj>)),
    ])
}

pub(crate) fn cells(library: &str) -> Cells {
    match library {
        "tokio" => of::<TokioUnbounded>(),
        "async-channel" => of::<AsyncUnbounded>(),
        "flume" => of::<FlumeUnbounded>(),
        _ => of::<KanalUnbounded>(),
    }
}
