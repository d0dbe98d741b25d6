//! big: A actors, each pings others at random n times, and answers all pings.

use std::sync::Arc;

use savina::{PseudoRandom, Share, Sizes};
use tidings::actor::{ActorRef, Mailbox};

use super::{Program, start, tell};

type All = Arc<[ActorRef<Big>]>;

enum Big {
    Neighbours(All),
    /// From the actor with this place.
    Ping(i64),
    Pong(i64),
    End,
}

enum ToSink {
    Neighbours(All),
    Done,
}

/// The pong that begins.
const NOBODY: i64 = -1;

async fn big(
    place: i64,
    n: i64,
    sink: ActorRef<ToSink>,
    mut mailbox: Mailbox<Big>,
    mut share: Share,
) {
    let mut random = PseudoRandom::new(place);
    let mut neighbours: All = Arc::new([]);
    let (mut pings, mut pinged) = (0, NOBODY);
    while let Ok(message) = mailbox.recv().await {
        share.msgs += 1;
        match message {
            Big::Neighbours(all) => neighbours = all,
            Big::Ping(from) => tell(&neighbours[from as usize], Big::Pong(place)).await,
            Big::Pong(from) => {
                assert_eq!(from, pinged, "an answer from who was asked");
                share.check += from.max(0);
                if pings == n {
                    tell(&sink, ToSink::Done).await;
                } else {
                    pings += 1;
                    pinged = random.below(neighbours.len() as i64);
                    tell(&neighbours[pinged as usize], Big::Ping(place)).await;
                }
            }
            Big::End => return,
        }
    }
}

async fn sink(mut mailbox: Mailbox<ToSink>, mut share: Share) {
    let mut neighbours: All = Arc::new([]);
    let mut done = 0;
    while let Ok(message) = mailbox.recv().await {
        share.msgs += 1;
        match message {
            ToSink::Neighbours(all) => neighbours = all,
            ToSink::Done => done += 1,
        }
        if done == neighbours.len() {
            for actor in &*neighbours {
                tell(actor, Big::End).await;
            }
            return;
        }
    }
}

async fn run(sizes: Sizes, share: Share) {
    let sink = start(|mailbox| sink(mailbox, share.actor()));
    let all: All = (0..sizes.A)
        .map(|place| start(|mailbox| big(place, sizes.n, sink.clone(), mailbox, share.actor())))
        .collect();
    tell(&sink, ToSink::Neighbours(Arc::clone(&all))).await;
    for actor in &*all {
        tell(actor, Big::Neighbours(Arc::clone(&all))).await;
    }
    for actor in &*all {
        tell(actor, Big::Pong(NOBODY)).await;
    }
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes, share))
}
