//! savina: benchmarks of the Savina suite (`SAVINA.md`), written once for the actor libraries of this peer.
//!
//! A program is plain: actors with state that get messages one at a time and tell each other, as in
//! the originals. A library says how an actor is started, told and ended; all is resolved when this
//! is compiled, so a library runs its own actors with its own messages.

mod banking;
mod barber;
mod big;
mod bitonicsort;
mod bndbuffer;
mod chameneos;
mod cigsmok;
mod concdict;
mod concsll;
mod count;
mod fib;
mod fjcreate;
mod fjthrput;
mod logmap;
mod philosopher;
mod pingpong;
mod radixsort;
mod sieve;
mod sor;
mod threadring;
mod uct;

use crate::cells::{Cell, Cells, Counts, Fault, Params, Sample};
use ::savina::{Share, Sizes};
use tokio::sync::oneshot;

/// An actor library.
pub(crate) trait System: Clone + Send + Sync + 'static {
    type Ref<B: Behaviour<Self>>: Clone + Send + Unpin + 'static;

    /// Starts an actor near the one that starts it.
    fn start<B: Behaviour<Self>>(&self, behaviour: B) -> impl Future<Output = Self::Ref<B>> + Send;

    /// Starts the i-th of several actors that compute much, where a library has a choice.
    fn start_apart<B: Behaviour<Self>>(
        &self,
        _i: i64,
        behaviour: B,
    ) -> impl Future<Output = Self::Ref<B>> + Send {
        self.start(behaviour)
    }

    /// Sends one-way. To an actor that has ended: nothing happens.
    fn tell<B: Behaviour<Self>>(to: &Self::Ref<B>, message: B::Message);

    /// Times a program.
    fn repeat<P: Program>(params: Params, sizes: Sizes) -> Result<Sample, Fault>;
}

/// Whether an actor goes on after a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Go,
    End,
}

/// What an actor does.
pub(crate) trait Behaviour<S: System>: Send + Unpin + Sized + 'static {
    type Message: Send + 'static;

    fn receive(
        &mut self,
        message: Self::Message,
        context: &mut Context<S, Self>,
    ) -> impl Future<Output = Next> + Send;
}

/// Where an actor is.
pub(crate) struct Context<S: System, B: Behaviour<S>> {
    pub(crate) me: S::Ref<B>,
    pub(crate) system: S,
}

/// Starts the actors of one repetition.
pub(crate) trait Program: 'static {
    const ID: &'static str;

    fn run<S: System>(system: S, sizes: Sizes, share: Share) -> impl Future<Output = ()> + Send;
}

/// One repetition: until the last actor has gone with its share.
pub(crate) async fn once<S: System, P: Program>(system: S, sizes: Sizes) -> Result<Counts, Fault> {
    let (end, ended) = oneshot::channel();
    let share = Share::first(move |counts| {
        let _ = end.send(counts); // a sample that has failed does not wait
    });
    P::run(system, sizes, share).await;
    let ::savina::Counts { msgs, units, check } = ended.await?;
    Ok(Counts { msgs, units, check })
}

fn cell<S: System, P: Program>(params: Params) -> Result<Sample, Fault> {
    let sizes = Sizes {
        n: params.n,
        w: params.w,
        P: params.P,
        A: params.A,
        N: params.N,
        M: params.M,
        S: params.S,
    };
    let known = ::savina::benchmark(P::ID).ok_or_else(|| Fault::Unsupported(P::ID.into()))?;
    known.check(sizes).map_err(Fault::Limit)?;
    S::repeat::<P>(params, sizes)
}

pub(crate) fn cells<S: System>() -> Cells {
    Cells::from([
        ("savina/banking", cell::<S, banking::Banking> as Cell),
        ("savina/barber", cell::<S, barber::Barber>),
        ("savina/big", cell::<S, big::Big>),
        ("savina/bitonicsort", cell::<S, bitonicsort::BitonicSort>),
        ("savina/bndbuffer", cell::<S, bndbuffer::BndBuffer>),
        ("savina/chameneos", cell::<S, chameneos::Chameneos>),
        ("savina/cigsmok", cell::<S, cigsmok::CigSmok>),
        ("savina/concdict", cell::<S, concdict::ConcDict>),
        ("savina/concsll", cell::<S, concsll::ConcSll>),
        ("savina/count", cell::<S, count::Count>),
        ("savina/fib", cell::<S, fib::Fib>),
        ("savina/fjcreate", cell::<S, fjcreate::FjCreate>),
        ("savina/fjthrput", cell::<S, fjthrput::FjThrput>),
        ("savina/logmap", cell::<S, logmap::LogMap>),
        ("savina/philosopher", cell::<S, philosopher::Philosopher>),
        ("savina/pingpong", cell::<S, pingpong::PingPong>),
        ("savina/radixsort", cell::<S, radixsort::RadixSort>),
        ("savina/sieve", cell::<S, sieve::Sieve>),
        ("savina/sor", cell::<S, sor::Sor>),
        ("savina/threadring", cell::<S, threadring::ThreadRing>),
        ("savina/uct", cell::<S, uct::Uct>),
    ])
}
