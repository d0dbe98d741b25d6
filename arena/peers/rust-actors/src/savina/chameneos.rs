//! chameneos: A creatures meet in pairs in a mall, n times, and change their colours.

use super::{Behaviour, Context, Next, Program, System};
use ::savina::{Share, Sizes};

pub(super) struct Chameneos;

/// One of three.
type Colour = u8;

fn complement(own: Colour, other: Colour) -> Colour {
    if own == other { own } else { 3 - own - other }
}

enum ToMall<S: System> {
    /// Makes the creatures: not counted.
    Open,
    Meet(Colour, S::Ref<Creature<S>>),
    /// It has met so often, and ends.
    Met(i64),
}

enum ToCreature<S: System> {
    /// Not counted.
    Go,
    Meet(Colour, S::Ref<Creature<S>>),
    Change(Colour),
    End,
}

struct Creature<S: System> {
    colour: Colour,
    meetings: i64,
    mall: S::Ref<Mall<S>>,
    share: Share,
}

impl<S: System> Behaviour<S> for Creature<S> {
    type Message = ToCreature<S>;

    async fn receive(&mut self, message: ToCreature<S>, context: &mut Context<S, Self>) -> Next {
        match message {
            ToCreature::Go => {}
            ToCreature::Meet(other, from) => {
                self.colour = complement(self.colour, other);
                S::tell(&from, ToCreature::Change(self.colour));
                self.meetings += 1;
                self.share.msgs += 1;
            }
            ToCreature::Change(other) => {
                self.colour = other;
                self.meetings += 1;
                self.share.msgs += 1;
            }
            ToCreature::End => {
                S::tell(&self.mall, ToMall::Met(self.meetings));
                self.share.msgs += 1;
                return Next::End;
            }
        }
        S::tell(&self.mall, ToMall::Meet(self.colour, context.me.clone()));
        Next::Go
    }
}

struct Mall<S: System> {
    actors: i64,
    meetings: i64,
    living: i64,
    waiting: Option<S::Ref<Creature<S>>>,
    share: Share,
}

impl<S: System> Behaviour<S> for Mall<S> {
    type Message = ToMall<S>;

    async fn receive(&mut self, message: ToMall<S>, context: &mut Context<S, Self>) -> Next {
        match message {
            ToMall::Open => {
                for i in 0..self.actors {
                    let creature = Creature::<S> {
                        colour: (i % 3) as Colour,
                        meetings: 0,
                        mall: context.me.clone(),
                        share: self.share.actor(),
                    };
                    S::tell(&context.system.start(creature).await, ToCreature::Go);
                }
                return Next::Go;
            }
            ToMall::Meet(_, from) if self.meetings == 0 => S::tell(&from, ToCreature::End),
            ToMall::Meet(colour, from) => match self.waiting.take() {
                None => self.waiting = Some(from),
                Some(first) => {
                    self.meetings -= 1;
                    S::tell(&first, ToCreature::Meet(colour, from));
                }
            },
            ToMall::Met(meetings) => {
                self.share.check += meetings;
                self.living -= 1;
            }
        }
        self.share.msgs += 1;
        if self.living == 0 {
            Next::End
        } else {
            Next::Go
        }
    }
}

impl Program for Chameneos {
    const ID: &'static str = "chameneos";

    async fn run<S: System>(system: S, sizes: Sizes, share: Share) {
        let mall = Mall::<S> {
            actors: sizes.A,
            meetings: sizes.n,
            living: sizes.A,
            waiting: None,
            share: share.actor(),
        };
        S::tell(&system.start(mall).await, ToMall::Open);
    }
}
