//! The workloads whose units are actors, on the actor layer: the system `tidings-actors`.
//!
//! Where the seed's actors are typed (pingpong, counter) these are interfaces; where they are loops
//! over a mailbox (chain, fan) so are these. Mailboxes are unbounded where the variant says so.

use tidings::actor::{ActorRef, Builder, Mailbox};
use tidings::channel::oneshot::{self, oneshot};
use tidings::{JoinHandle, unbounded};

use crate::cell::{Cells, Counts, Fault, Params, Sample, plain, repeat, sums_fit, within};
use crate::chain;
use crate::counter::{self, STEP};
use crate::fan;
use crate::pingpong::GONE;

/// An actor with an unbounded mailbox and a reference to itself.
fn start<M, F>(run: impl FnOnce(Mailbox<M>, ActorRef<M>) -> F) -> ActorRef<M>
where
    M: Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    Builder::new().unbounded().spawn(|mailbox| {
        let this = mailbox.this().upgrade().expect("it is being started");
        run(mailbox, this)
    })
}

#[tidings::interface]
trait Server {
    /// Answered by a pong to whoever the message says.
    async fn ping(&mut self, seq: i64, reply: ClientRef);
    /// Answered by the call's reply.
    async fn echo(&mut self, seq: i64) -> i64;
}

#[tidings::interface]
trait Client {
    async fn begin(&mut self, this: ClientRef);
    async fn pong(&mut self, seq: i64);
}

struct Echo;

impl Server for Echo {
    async fn ping(&mut self, seq: i64, reply: ClientRef) {
        reply.pong(seq).await.expect(GONE);
    }
    async fn echo(&mut self, seq: i64) -> i64 {
        seq
    }
}

/// Keeps `w` requests in flight, until `n` are answered.
struct Asker {
    server: ServerRef,
    /// Itself, until it has all answers.
    this: Option<ClientRef>,
    n: i64,
    w: i64,
    sent: i64,
    answered: i64,
    sum: i64,
    done: tidings::Sender<Counts>,
}

impl Asker {
    async fn ask(&mut self) {
        let this = self.this.clone().expect("it asks while it lives");
        self.server.ping(self.sent, this).await.expect(GONE);
        self.sent += 1;
    }
}

impl Client for Asker {
    async fn begin(&mut self, this: ClientRef) {
        self.this = Some(this);
        while self.sent < self.w.min(self.n) {
            self.ask().await;
        }
    }
    async fn pong(&mut self, seq: i64) {
        self.sum += seq;
        self.answered += 1;
        if self.sent < self.n {
            self.ask().await;
        } else if self.answered == self.n {
            self.this = None;
            let counts = Counts {
                msgs: self.sent + self.answered,
                units: 2,
                check: self.sum,
            };
            self.done.send(counts).await.expect("the driver waits");
        }
    }
}

fn server() -> ServerRef {
    Builder::new().unbounded().start(Echo)
}

async fn tell(p: i64, n: i64, w: i64) -> Result<Counts, Fault> {
    let (done, ends) = unbounded();
    for _ in 0..p {
        let client: ClientRef = Builder::new().unbounded().start(Asker {
            server: server(),
            this: None,
            n,
            w,
            sent: 0,
            answered: 0,
            sum: 0,
            done: done.clone(),
        });
        client.begin(client.clone()).await.expect(GONE);
    }
    drop(done);
    let mut counts = Counts::default();
    for _ in 0..p {
        counts += ends.recv().await?;
    }
    Ok(counts)
}

/// The clients are tasks: they call, and have no use for a mailbox.
async fn call(p: i64, n: i64) -> Result<Counts, Fault> {
    let client = |server: ServerRef| async move {
        let (mut msgs, mut check) = (0, 0);
        for seq in 0..n {
            check += server.echo(seq).await.expect("the server answers");
            msgs += 2;
        }
        Counts {
            msgs,
            units: 2,
            check,
        }
    };
    let clients: Vec<_> = (0..p).map(|_| tidings::spawn(client(server()))).collect();
    let mut counts = Counts::default();
    for client in clients {
        counts += client.await?;
    }
    Ok(counts)
}

fn pingpong<S, R>(params: Params, w: i64, scenario: S) -> Result<Sample, Fault>
where
    S: Fn(i64, i64, i64) -> R + Send + Sync + Copy + 'static,
    R: Future<Output = Result<Counts, Fault>> + Send,
{
    let (p, n) = (params.p, params.n);
    let w = if params.w == 0 { w } else { params.w };
    within(&[("p", p, 1_000_000), ("n", n, 1 << 31), ("w", w, 1 << 31)])?;
    sums_fit(p, n)?;
    Ok(repeat(move || scenario(p, n, w)))
}

fn send<M: Send + 'static>(to: &ActorRef<M>, message: M) {
    assert!(to.try_send(message).is_ok(), "{GONE}");
}

/// Makes a child that answers `parent`.
fn child<M: chain::Form>(actors: i64, parent: ActorRef<M>) -> ActorRef<M> {
    start(move |mut mailbox: Mailbox<M>, this| async move {
        let mut this = Some(this);
        while let Ok(message) = mailbox.recv().await {
            match message.open() {
                chain::Is::Ping(number) => {
                    let this = this.take().expect("one Ping");
                    if number < actors {
                        send(&child(actors, this), M::ping(number + 1));
                    } else {
                        send(&this, M::pong(0));
                    }
                }
                chain::Is::Pong(depth) => return send(&parent, M::pong(depth + 1)),
            }
        }
    })
}

async fn chain_of<M: chain::Form>(actors: i64) -> Result<Counts, Fault> {
    let (done, depth) = oneshot();
    let root = start(move |mut mailbox: Mailbox<M>, this| async move {
        let mut this = Some(this);
        while let Ok(message) = mailbox.recv().await {
            match message.open() {
                chain::Is::Ping(number) => {
                    let first = child(actors, this.take().expect("one Ping"));
                    send(&first, M::ping(number + 1));
                }
                chain::Is::Pong(depth) => return done.send(depth).expect("the driver waits"),
            }
        }
    });
    send(&root, M::ping(0));
    Ok(chain::counts(depth.await?))
}

/// The child: answers until it has told itself to stop.
fn answering<M: fan::Form>(n: i64, parent: ActorRef<M>, done: oneshot::Sender<i64>) -> ActorRef<M> {
    start(move |mut mailbox: Mailbox<M>, this| async move {
        let mut taken = 0;
        while let Ok(message) = mailbox.recv().await {
            taken += 1;
            let fan::Is::Ping(index) = message.open() else {
                break;
            };
            send(&parent, M::pack(fan::Is::Pong(index)));
            if index == n - 1 {
                send(&this, M::pack(fan::Is::Stop));
            }
        }
        done.send(taken).expect("the driver waits");
    })
}

async fn fan_of<M: fan::Form>(n: i64) -> Result<Counts, Fault> {
    let (done, ended) = oneshot();
    let (child_done, child_ended) = oneshot();
    let parent = start(move |mut mailbox: Mailbox<M>, this| async move {
        let (mut taken, mut sum) = (0, 0);
        let mut child_done = Some(child_done);
        while let Ok(message) = mailbox.recv().await {
            taken += 1;
            match message.open() {
                fan::Is::Start => {
                    let child_done = child_done.take().expect("one Start");
                    let child = answering(n, this.clone(), child_done);
                    for index in 0..n {
                        send(&child, M::pack(fan::Is::Ping(index)));
                    }
                }
                fan::Is::Pong(index) => {
                    sum += index;
                    if index == n - 1 {
                        send(&this, M::pack(fan::Is::Stop));
                    }
                }
                _ => break,
            }
        }
        done.send((taken, sum)).expect("the driver waits");
    });
    send(&parent, M::pack(fan::Is::Start));
    drop(parent);
    let (taken, check) = ended.await?;
    Ok(Counts {
        msgs: taken + child_ended.await?,
        units: 2,
        check,
    })
}

#[tidings::interface]
trait Counter {
    async fn add(&mut self, n: i64);
    async fn get_and_reset(&mut self) -> i64;
}

struct Tally(i64);

impl Counter for Tally {
    async fn add(&mut self, n: i64) {
        self.0 += n;
    }
    async fn get_and_reset(&mut self) -> i64 {
        std::mem::take(&mut self.0)
    }
}

async fn sum(counter: &CounterRef) -> Result<i64, Fault> {
    let sum = counter.get_and_reset().await;
    sum.map_err(|error| Fault::Bug(error.to_string()))
}

async fn count(p: Params, mailbox: Builder, each: bool) -> Result<Counts, Fault> {
    let counter: CounterRef = mailbox.start(Tally(0));
    let producer = |counter: CounterRef| async move {
        let mut msgs = 0;
        while msgs < p.n {
            counter.add(STEP).await.expect("the counter counts");
            msgs += 1;
        }
        let check = if each { sum(&counter).await? } else { 0 };
        Ok::<_, Fault>(Counts {
            msgs,
            units: 1,
            check,
        })
    };
    let producers: Vec<JoinHandle<_>> = (0..p.P)
        .map(|_| tidings::spawn(producer(counter.clone())))
        .collect();
    let mut counts = Counts {
        msgs: 0,
        units: 1,
        check: 0,
    };
    for producer in producers {
        counts += producer.await??;
    }
    if !each {
        counts.check = sum(&counter).await?;
    }
    Ok(counts)
}

pub(crate) fn cells() -> Cells {
    plain([
        ("pingpong/tell", |p, _| pingpong(p, 1, tell)),
        ("pingpong/tell-w100", |p, _| pingpong(p, 100, tell)),
        ("pingpong/tell-w1000", |p, _| pingpong(p, 1000, tell)),
        ("pingpong/call-send", |p, _| {
            pingpong(p, 1, |p, n, _| call(p, n))
        }),
        ("chain/struct", |p, _| chain::cell(p, chain_of::<chain::Is>)),
        ("chain/obj", |p, _| chain::cell(p, chain_of::<chain::Obj>)),
        ("fan/struct", |p, _| fan::cell(p, fan_of::<fan::Is>)),
        ("fan/obj", |p, _| fan::cell(p, fan_of::<fan::Obj>)),
        ("counter/send", |p, _| {
            counter::cell(p, |p| count(p, Builder::new().unbounded(), false))
        }),
        ("counter/bounded-1024", |p, _| {
            counter::cell(p, |p| count(p, Builder::new().capacity(1024), false))
        }),
        ("counter/ask-each", |p, _| {
            counter::cell(p, |p| count(p, Builder::new().unbounded(), true))
        }),
    ])
}
