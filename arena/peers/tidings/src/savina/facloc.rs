//! facloc: customers go down a tree of quadrants, which open facilities and become four where it is worth it.

use savina::{Point, Points, Quadrant, Share, Sizes};
use tidings::actor::{ActorRef, Mailbox};

use super::{Program, me, start, tell};

struct NextCustomer;

enum ToQuadrant {
    Customer(Point),
    /// A facility was opened: by a child, which has this place, or elsewhere.
    Facility(Option<usize>),
    RequestExit,
    /// A child has ended, with so many customers and this sum of their numbers.
    Exited(i64, i64),
}

struct Node {
    quadrant: Quadrant,
    /// Who is told of facilities, and the place there; the root has none and tells the producer.
    parent: Option<(ActorRef<ToQuadrant>, usize)>,
    producer: Option<ActorRef<NextCustomer>>,
    facilities: i64,
    share: Share,
}

impl Node {
    async fn tell_parent(&self) {
        if let Some((parent, place)) = &self.parent {
            tell(parent, ToQuadrant::Facility(Some(*place))).await;
        }
    }

    fn open(&self, four: [Quadrant; 4], me: &ActorRef<ToQuadrant>) -> Vec<ActorRef<ToQuadrant>> {
        let child = |(place, quadrant)| {
            let node = Self {
                quadrant,
                parent: Some((me.clone(), place)),
                producer: None,
                facilities: self.facilities,
                share: self.share.actor(),
            };
            start(|mailbox| node.live(self::me(&mailbox), mailbox))
        };
        four.into_iter()
            .enumerate()
            .map(|(place, quadrant)| child((place, quadrant)))
            .collect()
    }

    async fn live(mut self, me: ActorRef<ToQuadrant>, mut mailbox: Mailbox<ToQuadrant>) {
        let mut children: Vec<ActorRef<ToQuadrant>> = Vec::new();
        let (mut exited, mut served) = (0, (0, 0));
        while let Ok(message) = mailbox.recv().await {
            match message {
                ToQuadrant::Customer(point) => {
                    if !children.is_empty() {
                        tell(
                            &children[self.quadrant.child(point)],
                            ToQuadrant::Customer(point),
                        )
                        .await;
                    } else if let Some(four) = self.quadrant.add(point) {
                        self.tell_parent().await;
                        children = self.open(four, &me);
                    }
                    if let Some(producer) = &self.producer {
                        tell(producer, NextCustomer).await;
                    }
                }
                ToQuadrant::Facility(from) => {
                    self.facilities += 1;
                    // Those who have no more customers may have ended.
                    match from {
                        Some(place) => {
                            self.tell_parent().await;
                            let _ = children[3 - place].send(ToQuadrant::Facility(None)).await;
                        }
                        None => {
                            for child in &children {
                                let _ = child.send(ToQuadrant::Facility(None)).await;
                            }
                        }
                    }
                }
                ToQuadrant::RequestExit if children.is_empty() => {
                    served = self.quadrant.served();
                    break;
                }
                ToQuadrant::RequestExit => {
                    for child in &children {
                        tell(child, ToQuadrant::RequestExit).await;
                    }
                }
                ToQuadrant::Exited(customers, numbers) => {
                    served = (served.0 + customers, served.1 + numbers);
                    exited += 1;
                    if exited == 4 {
                        break;
                    }
                }
            }
        }
        if let Some((parent, _)) = &self.parent {
            tell(parent, ToQuadrant::Exited(served.0, served.1)).await;
        } else {
            (self.share.msgs, self.share.check) = served;
        }
    }
}

async fn produce(
    sizes: Sizes,
    root: ActorRef<ToQuadrant>,
    mut mailbox: Mailbox<NextCustomer>,
    _share: Share,
) {
    for point in Points::new(sizes.S).take(sizes.n as usize) {
        tell(&root, ToQuadrant::Customer(point)).await;
        let Ok(NextCustomer) = mailbox.recv().await else {
            return;
        };
    }
    tell(&root, ToQuadrant::RequestExit).await;
}

async fn run(sizes: Sizes, share: Share) {
    let share = &share;
    start(|mailbox| {
        let root = Node {
            quadrant: Quadrant::root(sizes.S, sizes.w),
            parent: None,
            producer: Some(me(&mailbox)),
            facilities: 1,
            share: share.actor(),
        };
        let root = start(|mailbox| root.live(me(&mailbox), mailbox));
        produce(sizes, root, mailbox, share.actor())
    });
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes, share))
}
