//! cigsmok: an arbiter gives one of A smokers after the other what it lacks, n times.

use savina::{PseudoRandom, Share, Sizes, busy_wait};
use tidings::actor::{ActorRef, Mailbox};

use super::{Program, me, start, tell};

enum ToArbiter {
    Start,
    /// A smoker smokes: the table is free again.
    Smoking,
}

enum ToSmoker {
    /// For so long.
    Smoke(i64),
    End,
}

async fn smoke(arbiter: ActorRef<ToArbiter>, mut mailbox: Mailbox<ToSmoker>, mut share: Share) {
    while let Ok(message) = mailbox.recv().await {
        share.msgs += 1;
        let ToSmoker::Smoke(time) = message else {
            return;
        };
        share.check += time;
        // The arbiter may have had enough by now.
        let _ = arbiter.send(ToArbiter::Smoking).await;
        busy_wait(time);
    }
}

async fn arbitrate(
    sizes: Sizes,
    me: ActorRef<ToArbiter>,
    mut mailbox: Mailbox<ToArbiter>,
    mut share: Share,
) {
    let smoker = |_| start(|mailbox| smoke(me.clone(), mailbox, share.actor()));
    let smokers: Vec<_> = (0..sizes.A).map(smoker).collect();
    let mut random = PseudoRandom::new(sizes.n * sizes.A);
    let mut rounds = 0;
    while let Ok(message) = mailbox.recv().await {
        share.msgs += 1;
        rounds += i64::from(matches!(message, ToArbiter::Smoking));
        if rounds == sizes.n {
            break;
        }
        let smoker = &smokers[random.below(sizes.A) as usize];
        tell(smoker, ToSmoker::Smoke(random.below(1000) + 10)).await;
    }
    for smoker in &smokers {
        tell(smoker, ToSmoker::End).await;
    }
}

async fn run(sizes: Sizes, share: Share) {
    let arbiter = start(|mailbox| arbitrate(sizes, me(&mailbox), mailbox, share.actor()));
    tell(&arbiter, ToArbiter::Start).await;
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes, share))
}
