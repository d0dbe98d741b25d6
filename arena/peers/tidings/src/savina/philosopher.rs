//! philosopher: A philosophers ask an arbitrator for both their forks, again and again, until each has eaten n times.

use savina::{Share, Sizes};
use tidings::actor::{ActorRef, Mailbox, Reply};

use super::{Program, start, tell};

enum Ask {
    /// The philosopher with this place would like to eat: may it?
    Hungry(usize, Reply<bool>),
    /// It has eaten, for the nth time.
    Done(usize, i64),
}

struct Go;

async fn dine(
    place: usize,
    n: i64,
    arbitrator: ActorRef<Ask>,
    mut mailbox: Mailbox<Go>,
    _share: Share,
) {
    let Ok(Go) = mailbox.recv().await else { return };
    for meal in 0..n {
        let hungry = || arbitrator.call(|reply| Ask::Hungry(place, reply));
        while !hungry().await.expect("the arbitrator is alive") {}
        tell(&arbitrator, Ask::Done(place, meal)).await;
    }
}

async fn arbitrate(philosophers: usize, mut mailbox: Mailbox<Ask>, mut share: Share) {
    let mut taken = vec![false; philosophers];
    while let Ok(ask) = mailbox.recv().await {
        match ask {
            Ask::Hungry(place, reply) => {
                let next = (place + 1) % philosophers;
                let may = !taken[place] && !taken[next];
                if may {
                    (taken[place], taken[next]) = (true, true);
                }
                let _ = reply.send(may);
            }
            Ask::Done(place, meal) => {
                let next = (place + 1) % philosophers;
                assert!(taken[place] && taken[next], "who eats has two forks");
                (taken[place], taken[next]) = (false, false);
                share.msgs += 1;
                share.check += meal;
            }
        }
    }
}

async fn run(sizes: Sizes, share: Share) {
    let arbitrator = start(|mailbox| arbitrate(sizes.A as usize, mailbox, share.actor()));
    for place in 0..sizes.A as usize {
        let arbitrator = arbitrator.clone();
        let philosopher = start(|mailbox| dine(place, sizes.n, arbitrator, mailbox, share.actor()));
        tell(&philosopher, Go).await;
    }
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes, share))
}
