//! barber: customers come to a waiting room for w; a barber cuts their hair, or sleeps.

use std::collections::VecDeque;

use savina::{PseudoRandom, Share, Sizes, busy_wait};
use tidings::actor::{ActorRef, Mailbox};

use super::{Program, me, start, tell};

type Customer = ActorRef<ToCustomer>;

enum ToCustomer {
    Full,
    Wait,
    Start,
    Done,
}

enum ToRoom {
    Enter(Customer),
    Next,
    End,
}

enum ToBarber {
    Cut(Customer, ActorRef<ToRoom>),
    Wait,
}

enum ToFactory {
    Start,
    /// The room was full.
    Returned(Customer),
    /// The customer with this number has been served.
    Done(i64),
}

async fn customer(
    number: i64,
    factory: ActorRef<ToFactory>,
    me: Customer,
    mut mailbox: Mailbox<ToCustomer>,
    _share: Share,
) {
    while let Ok(message) = mailbox.recv().await {
        match message {
            ToCustomer::Full => tell(&factory, ToFactory::Returned(me.clone())).await,
            ToCustomer::Wait | ToCustomer::Start => {}
            ToCustomer::Done => return tell(&factory, ToFactory::Done(number)).await,
        }
    }
}

async fn room(
    places: usize,
    barber: ActorRef<ToBarber>,
    me: ActorRef<ToRoom>,
    mut mailbox: Mailbox<ToRoom>,
    _share: Share,
) {
    let mut waiting = VecDeque::new();
    let mut asleep = true;
    while let Ok(message) = mailbox.recv().await {
        match message {
            ToRoom::Enter(customer) if waiting.len() == places => {
                tell(&customer, ToCustomer::Full).await;
            }
            ToRoom::Enter(customer) => {
                if asleep {
                    asleep = false;
                    tell(&me, ToRoom::Next).await;
                } else {
                    tell(&customer, ToCustomer::Wait).await;
                }
                waiting.push_back(customer);
            }
            ToRoom::Next => match waiting.pop_front() {
                Some(customer) => tell(&barber, ToBarber::Cut(customer, me.clone())).await,
                None => {
                    asleep = true;
                    tell(&barber, ToBarber::Wait).await;
                }
            },
            ToRoom::End => return,
        }
    }
}

async fn barber(rate: i64, mut mailbox: Mailbox<ToBarber>, mut share: Share) {
    let mut random = PseudoRandom::new(74_755);
    while let Ok(message) = mailbox.recv().await {
        let ToBarber::Cut(customer, room) = message else {
            continue;
        };
        tell(&customer, ToCustomer::Start).await;
        busy_wait(random.below(rate) + 10);
        share.msgs += 1;
        tell(&customer, ToCustomer::Done).await;
        // The last one is gone before the room knows that the barber is free.
        let _ = room.send(ToRoom::Next).await;
    }
}

async fn factory(
    sizes: Sizes,
    room: ActorRef<ToRoom>,
    address: ActorRef<ToFactory>,
    mut mailbox: Mailbox<ToFactory>,
    mut share: Share,
) {
    let mut random = PseudoRandom::new(74_755);
    let mut left = sizes.n;
    while let Ok(message) = mailbox.recv().await {
        match message {
            ToFactory::Start => {
                for number in 0..sizes.n {
                    let (factory, share) = (address.clone(), share.actor());
                    let new =
                        start(|mailbox| customer(number, factory, me(&mailbox), mailbox, share));
                    tell(&room, ToRoom::Enter(new)).await;
                    busy_wait(random.below(sizes.S) + 10);
                }
            }
            ToFactory::Returned(customer) => tell(&room, ToRoom::Enter(customer)).await,
            ToFactory::Done(number) => {
                share.check += number;
                left -= 1;
                if left == 0 {
                    return tell(&room, ToRoom::End).await;
                }
            }
        }
    }
}

async fn run(sizes: Sizes, share: Share) {
    let barber = start(|mailbox| barber(sizes.S, mailbox, share.actor()));
    let room = start(|mailbox| {
        room(
            sizes.w as usize,
            barber,
            me(&mailbox),
            mailbox,
            share.actor(),
        )
    });
    let factory = start(|mailbox| factory(sizes, room, me(&mailbox), mailbox, share.actor()));
    tell(&factory, ToFactory::Start).await;
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes, share))
}
