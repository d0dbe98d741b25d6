//! savina: the thirty benchmarks of the Savina suite on actors, one file each (`SAVINA.md`).
//!
//! All mailboxes are unbounded, as in the originals. An actor counts in its [`Share`]; a repetition
//! ends when the last actor has ended.

mod apsp;
mod astar;
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
mod facloc;
mod fib;
mod filterbank;
mod fjcreate;
mod fjthrput;
mod logmap;
mod nqueenk;
mod philosopher;
mod pingpong;
mod piprecision;
mod quicksort;
mod radixsort;
mod recmatmul;
mod sieve;
mod sor;
mod threadring;
mod trapezoid;
mod uct;

use std::pin::Pin;
use std::sync::Arc;

use ::savina::{Share, Sizes};
use tidings::Event;
use tidings::actor::{ActorRef, Builder, IntoExit, Mailbox};
use tidings::channel::oneshot::oneshot;

use crate::cell::{Cells, Counts, Fault, Params, Sample, plain, repeat};

/// Starts the actors of one repetition, and may do some of their work.
type Program = Arc<dyn Fn(Share) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// A program that prepares nothing.
fn program<F>(run: impl Fn(Share) -> F + Send + Sync + 'static) -> Program
where
    F: Future<Output = ()> + Send + 'static,
{
    Arc::new(move |share| Box::pin(run(share)))
}

fn start<M, F, Fut>(f: F) -> ActorRef<M>
where
    M: Send + 'static,
    F: FnOnce(Mailbox<M>) -> Fut,
    Fut: Future<Output: IntoExit> + Send + 'static,
{
    Builder::new().unbounded().spawn(f)
}

/// An actor's reference to itself, to be made before whoever started it lets go of it.
fn me<M>(mailbox: &Mailbox<M>) -> ActorRef<M> {
    mailbox.this().upgrade().expect("it is just being started")
}

/// Sends to an actor that must be alive.
fn tell<M: Send + 'static>(to: &ActorRef<M>, message: M) -> impl Event<Output = ()> {
    to.send(message)
        .map(|sent| sent.expect("the receiver is alive"))
}

fn cell(p: Params, id: &str, make: fn(Sizes) -> Program) -> Result<Sample, Fault> {
    let sizes = Sizes {
        n: p.n,
        w: p.w,
        P: p.P,
        A: p.A,
        N: p.N,
        M: p.M,
        S: p.S,
    };
    let known = savina::benchmark(id).ok_or_else(|| Fault::Unsupported(id.into()))?;
    known.check(sizes).map_err(Fault::Limit)?;
    let program = make(sizes);
    Ok(repeat(move || {
        let (end, ended) = oneshot();
        let running = program(Share::first(move |counts| {
            let _ = end.send(counts); // a sample that has failed does not wait
        }));
        async move {
            running.await;
            let savina::Counts { msgs, units, check } = ended.await?;
            Ok(Counts { msgs, units, check })
        }
    }))
}

/// The cells of benchmarks, by the names of their modules.
macro_rules! cells_of {
    ($($name:ident)*) => {
        plain([$(
            (concat!("savina/", stringify!($name)), |params, _| {
                cell(params, stringify!($name), $name::program)
            }),
        )*])
    };
}

pub(crate) fn cells() -> Cells {
    cells_of!(
        apsp astar banking barber big bitonicsort bndbuffer chameneos cigsmok concdict concsll
        count facloc fib filterbank fjcreate fjthrput logmap nqueenk philosopher pingpong
        piprecision quicksort radixsort recmatmul sieve sor threadring trapezoid uct
    )
}
