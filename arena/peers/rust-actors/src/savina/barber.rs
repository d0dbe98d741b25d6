//! barber: customers come to a waiting room for w; a barber cuts their hair, or sleeps.

use super::{Behaviour, Context, Next, Program, System};
use ::savina::{PseudoRandom, Share, Sizes, busy_wait};
use std::collections::VecDeque;

pub(super) struct Barber;

const SEED: i64 = 74_755;

enum ToCustomer {
    Full,
    Wait,
    Start,
    Done,
}

enum ToRoom<S: System> {
    Enter(S::Ref<Customer<S>>),
    Next,
    End,
}

enum ToBarber<S: System> {
    Cut(S::Ref<Customer<S>>, S::Ref<Room<S>>),
    Wait,
    End,
}

enum ToFactory<S: System> {
    Start,
    /// The room was full.
    Returned(S::Ref<Customer<S>>),
    /// The customer with this number has been served.
    Done(i64),
}

struct Customer<S: System> {
    number: i64,
    factory: S::Ref<Factory<S>>,
    _share: Share,
}

impl<S: System> Behaviour<S> for Customer<S> {
    type Message = ToCustomer;

    async fn receive(&mut self, message: ToCustomer, context: &mut Context<S, Self>) -> Next {
        match message {
            ToCustomer::Full => S::tell(&self.factory, ToFactory::Returned(context.me.clone())),
            ToCustomer::Wait | ToCustomer::Start => {}
            ToCustomer::Done => {
                S::tell(&self.factory, ToFactory::Done(self.number));
                return Next::End;
            }
        }
        Next::Go
    }
}

struct Room<S: System> {
    places: usize,
    waiting: VecDeque<S::Ref<Customer<S>>>,
    asleep: bool,
    barber: S::Ref<Cutter>,
    _share: Share,
}

impl<S: System> Behaviour<S> for Room<S> {
    type Message = ToRoom<S>;

    async fn receive(&mut self, message: ToRoom<S>, context: &mut Context<S, Self>) -> Next {
        match message {
            ToRoom::Enter(customer) if self.waiting.len() == self.places => {
                S::tell(&customer, ToCustomer::Full);
            }
            ToRoom::Enter(customer) => {
                if self.asleep {
                    self.asleep = false;
                    S::tell(&context.me, ToRoom::Next);
                } else {
                    S::tell(&customer, ToCustomer::Wait);
                }
                self.waiting.push_back(customer);
            }
            ToRoom::Next => match self.waiting.pop_front() {
                Some(customer) => {
                    S::tell(&self.barber, ToBarber::Cut(customer, context.me.clone()));
                }
                None => {
                    self.asleep = true;
                    S::tell(&self.barber, ToBarber::Wait);
                }
            },
            ToRoom::End => {
                S::tell(&self.barber, ToBarber::End);
                return Next::End;
            }
        }
        Next::Go
    }
}

struct Cutter {
    rate: i64,
    random: PseudoRandom,
    share: Share,
}

impl<S: System> Behaviour<S> for Cutter {
    type Message = ToBarber<S>;

    async fn receive(&mut self, message: ToBarber<S>, _: &mut Context<S, Self>) -> Next {
        match message {
            ToBarber::Cut(customer, room) => {
                S::tell(&customer, ToCustomer::Start);
                busy_wait(self.random.below(self.rate) + 10);
                self.share.msgs += 1;
                S::tell(&customer, ToCustomer::Done);
                S::tell(&room, ToRoom::Next);
                Next::Go
            }
            ToBarber::Wait => Next::Go,
            ToBarber::End => Next::End,
        }
    }
}

struct Factory<S: System> {
    sizes: Sizes,
    left: i64,
    random: PseudoRandom,
    room: S::Ref<Room<S>>,
    share: Share,
}

impl<S: System> Behaviour<S> for Factory<S> {
    type Message = ToFactory<S>;

    async fn receive(&mut self, message: ToFactory<S>, context: &mut Context<S, Self>) -> Next {
        match message {
            ToFactory::Start => {
                for number in 0..self.sizes.n {
                    let customer = Customer::<S> {
                        number,
                        factory: context.me.clone(),
                        _share: self.share.actor(),
                    };
                    let customer = context.system.start(customer).await;
                    S::tell(&self.room, ToRoom::Enter(customer));
                    busy_wait(self.random.below(self.sizes.S) + 10);
                }
            }
            ToFactory::Returned(customer) => S::tell(&self.room, ToRoom::Enter(customer)),
            ToFactory::Done(number) => {
                self.share.check += number;
                self.left -= 1;
                if self.left == 0 {
                    S::tell(&self.room, ToRoom::End);
                    return Next::End;
                }
            }
        }
        Next::Go
    }
}

impl Program for Barber {
    const ID: &'static str = "barber";

    async fn run<S: System>(system: S, sizes: Sizes, share: Share) {
        let cutter = Cutter {
            rate: sizes.S,
            random: PseudoRandom::new(SEED),
            share: share.actor(),
        };
        let room = Room::<S> {
            places: sizes.w as usize,
            waiting: VecDeque::new(),
            asleep: true,
            barber: system.start_apart(1, cutter).await,
            _share: share.actor(),
        };
        let factory = Factory::<S> {
            sizes,
            left: sizes.n,
            random: PseudoRandom::new(SEED),
            room: system.start(room).await,
            share: share.actor(),
        };
        S::tell(&system.start(factory).await, ToFactory::Start);
    }
}
