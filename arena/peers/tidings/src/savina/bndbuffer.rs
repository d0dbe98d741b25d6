//! bndbuffer: P producers and N consumers with a buffer between them, which a manager keeps.

use std::collections::VecDeque;

use savina::{Share, Sizes, item};
use tidings::actor::{ActorRef, Mailbox};

use super::{Program, me, start, tell};

struct Produce;

struct Item {
    number: i64,
    value: f64,
    producer: ActorRef<Produce>,
}

enum ToManager {
    Item(Item),
    Free(ActorRef<ToConsumer>),
    ProducerEnds,
}

enum ToConsumer {
    Item(Item),
    End,
}

async fn produce(
    sizes: Sizes,
    manager: ActorRef<ToManager>,
    me: ActorRef<Produce>,
    mut mailbox: Mailbox<Produce>,
    mut share: Share,
) {
    let mut value = 0.0;
    for number in 0..=sizes.n {
        let Ok(Produce) = mailbox.recv().await else {
            return;
        };
        share.msgs += 1;
        if number < sizes.n {
            value = item(value, sizes.S);
            let producer = me.clone();
            tell(
                &manager,
                ToManager::Item(Item {
                    number,
                    value,
                    producer,
                }),
            )
            .await;
        }
    }
    tell(&manager, ToManager::ProducerEnds).await;
}

async fn consume(
    cost: i64,
    manager: ActorRef<ToManager>,
    me: ActorRef<ToConsumer>,
    mut mailbox: Mailbox<ToConsumer>,
    mut share: Share,
) {
    let mut sum = 0.0;
    while let Ok(message) = mailbox.recv().await {
        share.msgs += 1;
        let ToConsumer::Item(got) = message else {
            break;
        };
        share.check += got.number;
        sum = item(sum + got.value, cost);
        tell(&manager, ToManager::Free(me.clone())).await;
    }
    assert!(sum <= 0.0, "the logarithms of fractions");
}

async fn manage(
    sizes: Sizes,
    address: ActorRef<ToManager>,
    mut mailbox: Mailbox<ToManager>,
    mut share: Share,
) {
    let producer = |_| {
        let (manager, share) = (address.clone(), share.actor());
        start(|mailbox| produce(sizes, manager, me(&mailbox), mailbox, share))
    };
    let consumer = |_| {
        let (manager, share) = (address.clone(), share.actor());
        start(|mailbox| consume(sizes.S, manager, me(&mailbox), mailbox, share))
    };
    let producers: Vec<_> = (0..sizes.P).map(producer).collect();
    let mut free: VecDeque<_> = (0..sizes.N).map(consumer).collect();
    for producer in &producers {
        tell(producer, Produce).await;
    }
    let room = (sizes.w - sizes.P) as usize;
    let mut buffer = VecDeque::new();
    let mut waiting = VecDeque::new();
    let mut producing = sizes.P;
    while producing > 0 || free.len() < sizes.N as usize {
        let Ok(message) = mailbox.recv().await else {
            return;
        };
        share.msgs += 1;
        match message {
            ToManager::Item(item) => {
                let producer = item.producer.clone();
                match free.pop_front() {
                    None => buffer.push_back(item),
                    Some(consumer) => tell(&consumer, ToConsumer::Item(item)).await,
                }
                if buffer.len() >= room {
                    waiting.push_back(producer);
                } else {
                    tell(&producer, Produce).await;
                }
            }
            ToManager::Free(consumer) => match buffer.pop_front() {
                None => free.push_back(consumer),
                Some(item) => {
                    tell(&consumer, ToConsumer::Item(item)).await;
                    if let Some(producer) = waiting.pop_front() {
                        tell(&producer, Produce).await;
                    }
                }
            },
            ToManager::ProducerEnds => producing -= 1,
        }
    }
    for consumer in free {
        tell(&consumer, ToConsumer::End).await;
    }
}

async fn run(sizes: Sizes, share: Share) {
    start(|mailbox| manage(sizes, me(&mailbox), mailbox, share.actor()));
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes, share))
}
