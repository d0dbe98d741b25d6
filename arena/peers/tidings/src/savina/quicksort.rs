//! quicksort: an actor sorts what is short, and has two others sort the halves of what is long.

use savina::{Share, Sizes, Split, quicksort, split, values};
use tidings::actor::{ActorRef, Mailbox};

use super::{Program, me, start, tell};

enum Sort {
    Sort(Vec<i64>),
    /// From the actor for the smaller values (0) or for the greater ones (1).
    Sorted(usize, Vec<i64>),
}

/// Sorts once. Gives the values to its parent, or none to the one that has none.
async fn sort(
    threshold: i64,
    parent: Option<(ActorRef<Sort>, usize)>,
    address: ActorRef<Sort>,
    mut mailbox: Mailbox<Sort>,
    mut share: Share,
) {
    let Ok(Sort::Sort(data)) = mailbox.recv().await else {
        return;
    };
    let sorted = if (data.len() as i64) < threshold {
        quicksort(data)
    } else {
        let Split {
            less,
            equal,
            greater,
        } = split(&data);
        for (place, part) in [less, greater].into_iter().enumerate() {
            let actor = new(threshold, Some((address.clone(), place)), share.actor());
            tell(&actor, Sort::Sort(part)).await;
        }
        let mut parts = [Vec::new(), Vec::new()];
        for _ in 0..2 {
            if let Ok(Sort::Sorted(place, part)) = mailbox.recv().await {
                parts[place] = part;
            }
        }
        let [mut sorted, greater] = parts;
        sorted.extend(equal);
        sorted.extend(greater);
        sorted
    };
    if let Some((parent, place)) = parent {
        return tell(&parent, Sort::Sorted(place, sorted)).await;
    }
    assert!(sorted.is_sorted(), "values come back sorted");
    share.msgs = sorted.len() as i64;
    share.check = sorted
        .iter()
        .zip(0..)
        .map(|(value, place)| value * place)
        .sum();
}

/// Not an `async fn`, or the type of its future would contain itself.
fn new(threshold: i64, parent: Option<(ActorRef<Sort>, usize)>, share: Share) -> ActorRef<Sort> {
    start(|mailbox| sort(threshold, parent, me(&mailbox), mailbox, share))
}

async fn run(sizes: Sizes, share: Share) {
    let data = values(1024, sizes.n).collect();
    let root = new(sizes.w, None, share.actor());
    tell(&root, Sort::Sort(data)).await;
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes, share))
}
