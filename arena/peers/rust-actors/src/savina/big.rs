//! big: A actors, each pings others at random n times, and answers all pings.

use super::{Behaviour, Context, Next, Program, System};
use ::savina::{PseudoRandom, Share, Sizes};

pub(super) struct Big;

type Ref<S> = <S as System>::Ref<Actor<S>>;

enum ToActor<S: System> {
    Neighbours(Vec<Ref<S>>),
    /// From the actor with this place.
    Ping(i64),
    Pong(i64),
    End,
}

enum ToSink<S: System> {
    Neighbours(Vec<Ref<S>>),
    Done,
}

/// The pong that begins.
const NOBODY: i64 = -1;

struct Actor<S: System> {
    place: i64,
    n: i64,
    pings: i64,
    pinged: i64,
    random: PseudoRandom,
    neighbours: Vec<Ref<S>>,
    sink: S::Ref<Sink<S>>,
    share: Share,
}

impl<S: System> Behaviour<S> for Actor<S> {
    type Message = ToActor<S>;

    async fn receive(&mut self, message: ToActor<S>, _: &mut Context<S, Self>) -> Next {
        self.share.msgs += 1;
        match message {
            ToActor::Neighbours(all) => self.neighbours = all,
            ToActor::Ping(from) => {
                S::tell(&self.neighbours[from as usize], ToActor::Pong(self.place));
            }
            ToActor::Pong(from) => {
                assert_eq!(from, self.pinged, "an answer from who was asked");
                self.share.check += from.max(0);
                if self.pings == self.n {
                    S::tell(&self.sink, ToSink::Done);
                } else {
                    self.pings += 1;
                    self.pinged = self.random.below(self.neighbours.len() as i64);
                    S::tell(
                        &self.neighbours[self.pinged as usize],
                        ToActor::Ping(self.place),
                    );
                }
            }
            ToActor::End => return Next::End,
        }
        Next::Go
    }
}

struct Sink<S: System> {
    neighbours: Vec<Ref<S>>,
    done: usize,
    share: Share,
}

impl<S: System> Behaviour<S> for Sink<S> {
    type Message = ToSink<S>;

    async fn receive(&mut self, message: ToSink<S>, _: &mut Context<S, Self>) -> Next {
        self.share.msgs += 1;
        match message {
            ToSink::Neighbours(all) => self.neighbours = all,
            ToSink::Done => self.done += 1,
        }
        if self.done < self.neighbours.len() {
            return Next::Go;
        }
        for actor in &self.neighbours {
            S::tell(actor, ToActor::End);
        }
        Next::End
    }
}

impl Program for Big {
    const ID: &'static str = "big";

    async fn run<S: System>(system: S, sizes: Sizes, share: Share) {
        let sink = Sink::<S> {
            neighbours: Vec::new(),
            done: 0,
            share: share.actor(),
        };
        let sink = system.start(sink).await;
        let mut all: Vec<Ref<S>> = Vec::new();
        for place in 0..sizes.A {
            let actor = Actor::<S> {
                place,
                n: sizes.n,
                pings: 0,
                pinged: NOBODY,
                random: PseudoRandom::new(place),
                neighbours: Vec::new(),
                sink: sink.clone(),
                share: share.actor(),
            };
            all.push(system.start(actor).await);
        }
        S::tell(&sink, ToSink::Neighbours(all.clone()));
        for actor in &all {
            S::tell(actor, ToActor::Neighbours(all.clone()));
        }
        for actor in &all {
            S::tell(actor, ToActor::Pong(NOBODY));
        }
    }
}
