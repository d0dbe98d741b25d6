//! trapezoid: P workers each sum their share of n pieces of an area.

use savina::{Share, Sizes, trapezoids};
use tidings::actor::{ActorRef, Mailbox};

use super::{Program, me, start, tell};

/// The pieces from the first to before the second.
struct Work(i64, i64);

enum ToMaster {
    Start,
    /// From the worker with this place.
    Area(usize, f64),
}

async fn work(
    place: usize,
    n: i64,
    master: ActorRef<ToMaster>,
    mut mailbox: Mailbox<Work>,
    mut share: Share,
) {
    let Ok(Work(from, to)) = mailbox.recv().await else {
        return;
    };
    share.msgs = to - from;
    tell(&master, ToMaster::Area(place, trapezoids(n, from, to))).await;
}

async fn master(
    sizes: Sizes,
    me: ActorRef<ToMaster>,
    mut mailbox: Mailbox<ToMaster>,
    mut share: Share,
) {
    let Sizes { n, P, .. } = sizes;
    let worker =
        |place| start(|mailbox| work(place as usize, n, me.clone(), mailbox, share.actor()));
    let workers: Vec<_> = (0..P).map(worker).collect();
    // Added in their order: a sum of such numbers depends on it.
    let mut areas = vec![0.0; workers.len()];
    let mut left = P;
    while left > 0 {
        match mailbox.recv().await {
            Ok(ToMaster::Start) => {
                for (worker, i) in workers.iter().zip(0..) {
                    tell(worker, Work(n * i / P, n * (i + 1) / P)).await;
                }
            }
            Ok(ToMaster::Area(place, area)) => {
                areas[place] = area;
                left -= 1;
            }
            Err(_) => return,
        }
    }
    share.check = (areas.iter().sum::<f64>() * 1e6).round() as i64;
}

async fn run(sizes: Sizes, share: Share) {
    let master = start(|mailbox| master(sizes, me(&mailbox), mailbox, share.actor()));
    tell(&master, ToMaster::Start).await;
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes, share))
}
