//! logmap: A series of n terms each; for each term a series asks an actor that computes it.

use savina::{Share, Sizes, fingerprint, logistic, start_of};
use tidings::actor::{Builder, Mailbox, Reply};

use super::{Program, start, tell};

#[tidings::interface]
pub(crate) trait Compute {
    async fn next(&mut self, term: f64) -> f64;
}

struct Rate(f64, Share);

impl Compute for Rate {
    async fn next(&mut self, term: f64) -> f64 {
        self.1.msgs += 1;
        logistic(self.0, term)
    }
}

enum Series {
    Next,
    Get(Reply<f64>),
}

/// While it waits for a term, its orders wait in its mailbox.
async fn series(
    mut term: f64,
    computer: ComputeRef,
    mut mailbox: Mailbox<Series>,
    mut share: Share,
) {
    while let Ok(message) = mailbox.recv().await {
        share.msgs += 1;
        match message {
            Series::Next => {
                term = computer.next(term).await.expect("the computer is alive");
                share.msgs += 1;
            }
            Series::Get(reply) => {
                let _ = reply.send(term);
            }
        }
    }
}

struct Go;

async fn master(sizes: Sizes, mut mailbox: Mailbox<Go>, mut share: Share) {
    let mut all = Vec::new();
    for number in 0..sizes.A {
        let (rate, first) = start_of(number);
        let computer: ComputeRef = Builder::new().unbounded().start(Rate(rate, share.actor()));
        all.push(start(|mailbox| {
            series(first, computer, mailbox, share.actor())
        }));
    }
    let Ok(Go) = mailbox.recv().await else { return };
    share.msgs += 1;
    for _ in 0..sizes.n {
        for series in &all {
            tell(series, Series::Next).await;
        }
    }
    for series in &all {
        let last = series.call(Series::Get).await.expect("the series is alive");
        share.msgs += 1;
        share.check += fingerprint(last);
    }
}

async fn run(sizes: Sizes, share: Share) {
    let master = start(|mailbox| master(sizes, mailbox, share.actor()));
    tell(&master, Go).await;
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes, share))
}
