//! chameneos: A creatures meet in pairs in a mall, n times, and change their colours.

use savina::{Share, Sizes};
use tidings::actor::{ActorRef, Mailbox};

use super::{Program, me, start, tell};

/// One of three.
type Colour = u8;

fn complement(own: Colour, other: Colour) -> Colour {
    if own == other { own } else { 3 - own - other }
}

enum ToMall {
    Meet(Colour, ActorRef<ToCreature>),
    /// It has met so often, and ends.
    Met(i64),
}

enum ToCreature {
    Meet(Colour, ActorRef<Self>),
    Change(Colour),
    End,
}

async fn creature(
    mut colour: Colour,
    mall: ActorRef<ToMall>,
    me: ActorRef<ToCreature>,
    mut mailbox: Mailbox<ToCreature>,
    mut share: Share,
) {
    let mut meetings = 0;
    loop {
        tell(&mall, ToMall::Meet(colour, me.clone())).await;
        let Ok(message) = mailbox.recv().await else {
            return;
        };
        share.msgs += 1;
        match message {
            ToCreature::Meet(other, from) => {
                colour = complement(colour, other);
                tell(&from, ToCreature::Change(colour)).await;
            }
            ToCreature::Change(other) => colour = other,
            ToCreature::End => return tell(&mall, ToMall::Met(meetings)).await,
        }
        meetings += 1;
    }
}

async fn mall(
    sizes: Sizes,
    address: ActorRef<ToMall>,
    mut mailbox: Mailbox<ToMall>,
    mut share: Share,
) {
    for i in 0..sizes.A {
        let (mall, share) = (address.clone(), share.actor());
        start(|mailbox| creature((i % 3) as Colour, mall, me(&mailbox), mailbox, share));
    }
    let (mut left, mut living) = (sizes.n, sizes.A);
    let mut waiting: Option<ActorRef<ToCreature>> = None;
    while let Ok(message) = mailbox.recv().await {
        share.msgs += 1;
        match message {
            ToMall::Meet(_, from) if left == 0 => tell(&from, ToCreature::End).await,
            ToMall::Meet(colour, from) => match waiting.take() {
                None => waiting = Some(from),
                Some(first) => {
                    left -= 1;
                    tell(&first, ToCreature::Meet(colour, from)).await;
                }
            },
            ToMall::Met(meetings) => {
                share.check += meetings;
                living -= 1;
                if living == 0 {
                    return;
                }
            }
        }
    }
}

async fn run(sizes: Sizes, share: Share) {
    start(|mailbox| mall(sizes, me(&mailbox), mailbox, share.actor()));
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes, share))
}
