//! logmap: A series of n terms each; for each term a series asks an actor that computes it, and keeps what comes meanwhile.

use super::{Behaviour, Context, Next, Program, System};
use ::savina::{Share, Sizes, fingerprint, logistic, start_of};

pub(super) struct LogMap;

enum ToComputer<S: System> {
    Compute(f64, S::Ref<Series<S>>),
    /// Not counted.
    End,
}

enum ToSeries<S: System> {
    Next,
    Result(f64),
    Get(S::Ref<Master<S>>),
    /// Not counted.
    End,
}

enum ToMaster {
    Start,
    Last(f64),
}

struct Computer {
    rate: f64,
    share: Share,
}

impl<S: System> Behaviour<S> for Computer {
    type Message = ToComputer<S>;

    async fn receive(&mut self, message: ToComputer<S>, _: &mut Context<S, Self>) -> Next {
        let ToComputer::Compute(term, from) = message else {
            return Next::End;
        };
        self.share.msgs += 1;
        S::tell(&from, ToSeries::Result(logistic(self.rate, term)));
        Next::Go
    }
}

/// While a term is computed, orders for more are counted, and the question for the last is kept.
struct Series<S: System> {
    term: f64,
    computing: bool,
    orders: i64,
    asked: Option<S::Ref<Master<S>>>,
    computer: S::Ref<Computer>,
    share: Share,
}

impl<S: System> Behaviour<S> for Series<S> {
    type Message = ToSeries<S>;

    async fn receive(&mut self, message: ToSeries<S>, context: &mut Context<S, Self>) -> Next {
        match message {
            ToSeries::Next => self.orders += 1,
            ToSeries::Result(term) => {
                self.term = term;
                self.computing = false;
            }
            ToSeries::Get(master) => self.asked = Some(master),
            ToSeries::End => {
                S::tell(&self.computer, ToComputer::End);
                return Next::End;
            }
        }
        self.share.msgs += 1;
        if !self.computing && self.orders > 0 {
            self.orders -= 1;
            self.computing = true;
            S::tell(
                &self.computer,
                ToComputer::Compute(self.term, context.me.clone()),
            );
        } else if !self.computing
            && let Some(master) = self.asked.take()
        {
            S::tell(&master, ToMaster::Last(self.term));
        }
        Next::Go
    }
}

struct Master<S: System> {
    n: i64,
    left: usize,
    series: Vec<S::Ref<Series<S>>>,
    share: Share,
}

impl<S: System> Behaviour<S> for Master<S> {
    type Message = ToMaster;

    async fn receive(&mut self, message: ToMaster, context: &mut Context<S, Self>) -> Next {
        self.share.msgs += 1;
        match message {
            ToMaster::Start => {
                for _ in 0..self.n {
                    for series in &self.series {
                        S::tell(series, ToSeries::Next);
                    }
                }
                for series in &self.series {
                    S::tell(series, ToSeries::Get(context.me.clone()));
                }
            }
            ToMaster::Last(term) => {
                self.share.check += fingerprint(term);
                self.left -= 1;
            }
        }
        if self.left > 0 {
            return Next::Go;
        }
        for series in &self.series {
            S::tell(series, ToSeries::End);
        }
        Next::End
    }
}

impl Program for LogMap {
    const ID: &'static str = "logmap";

    async fn run<S: System>(system: S, sizes: Sizes, share: Share) {
        let mut all = Vec::new();
        for number in 0..sizes.A {
            let (rate, term) = start_of(number);
            let computer = Computer {
                rate,
                share: share.actor(),
            };
            let series = Series::<S> {
                term,
                computing: false,
                orders: 0,
                asked: None,
                computer: system.start(computer).await,
                share: share.actor(),
            };
            all.push(system.start(series).await);
        }
        let master = Master::<S> {
            n: sizes.n,
            left: all.len(),
            series: all,
            share: share.actor(),
        };
        S::tell(&system.start(master).await, ToMaster::Start);
    }
}
