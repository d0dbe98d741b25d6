//! sor: each cell of a matrix is an actor, which tells its neighbours its value for M rounds. A runner has the left half, a
//! peer that it makes the right one.

use std::sync::Arc;

use savina::{PseudoRandom, Share, Sizes, attos, colour, relaxed};
use tidings::actor::{ActorRef, Mailbox};

use super::{Program, me, start, tell};

enum ToCell {
    /// All cells, and how many rounds there are.
    Start(Cells),
    Value(f64),
}

/// The cells of both halves, row by row.
type Cells = Arc<[ActorRef<ToCell>]>;

enum ToHalf {
    Boot,
    /// The cells of the other half, row by row.
    Border(Vec<ActorRef<ToCell>>),
    /// Of a cell, or of all cells of the other half.
    Result(i64),
}

async fn cell(
    at: i64,
    mut value: f64,
    sizes: Sizes,
    half: ActorRef<ToHalf>,
    mut mailbox: Mailbox<ToCell>,
    mut share: Share,
) {
    let Sizes { n, M: rounds, .. } = sizes;
    let (row, column) = (at / n, at % n);
    // Values may be there before it knows its neighbours.
    let started = mailbox.scan(|message| match message {
        ToCell::Start(cells) => Ok(cells),
        value @ ToCell::Value(_) => Err(value),
    });
    let Ok(cells) = started.await else { return };
    share.msgs += 1;
    let near = [
        (column + 1 < n, at + 1),
        (row + 1 < n, at + n),
        (column > 0, at - 1),
        (row > 0, at - n),
    ];
    let near: Vec<_> = near
        .into_iter()
        .filter(|(inside, _)| *inside)
        .map(|(_, at)| &cells[at as usize])
        .collect();
    let begins = colour(row, column);
    for round in 0..rounds {
        if round > 0 || !begins {
            let mut sum = 0.0;
            for _ in &near {
                let Ok(ToCell::Value(value)) = mailbox.recv().await else {
                    return;
                };
                share.msgs += 1;
                sum += value;
            }
            value = relaxed(value, sum);
        }
        // What the second colour has in the end nobody waits for.
        if round + 1 < rounds || begins {
            for cell in &near {
                tell(cell, ToCell::Value(value)).await;
            }
        }
    }
    tell(&half, ToHalf::Result(attos(value))).await;
}

/// Values of the columns of one half, with their places.
fn half_of(sizes: Sizes, left: bool) -> impl Iterator<Item = (i64, f64)> {
    let mut random = PseudoRandom::new(10_101_010);
    (0..sizes.n * sizes.n)
        .map(move |at| (at, random.fraction() * 1e-6))
        .filter(move |(at, _)| (at % sizes.n < sizes.n / 2) == left)
}

/// A half: the left one, with its own results and that of the right, which it makes; or the right one.
async fn half(
    sizes: Sizes,
    left: Option<(ActorRef<ToHalf>, Vec<ActorRef<ToCell>>)>,
    address: ActorRef<ToHalf>,
    mut mailbox: Mailbox<ToHalf>,
    mut share: Share,
) {
    let mut own = Vec::new();
    let (mut sum, mut results) = (0, 0);
    while let Ok(message) = mailbox.recv().await {
        share.msgs += 1;
        match message {
            ToHalf::Boot => {
                let new = |(at, value)| {
                    start(|mailbox| cell(at, value, sizes, address.clone(), mailbox, share.actor()))
                };
                own = half_of(sizes, left.is_none()).map(new).collect();
                if let Some((runner, others)) = &left {
                    tell(runner, ToHalf::Border(own.clone())).await;
                    start_all(sizes, others, &own, false).await;
                } else {
                    let peer = new_half(sizes, Some((address.clone(), own.clone())), share.actor());
                    tell(&peer, ToHalf::Boot).await;
                }
            }
            ToHalf::Border(others) => start_all(sizes, &own, &others, true).await,
            ToHalf::Result(value) => {
                sum += value;
                results += 1;
                if results == own.len() + usize::from(left.is_none()) {
                    break;
                }
            }
        }
    }
    match left {
        Some((runner, _)) => tell(&runner, ToHalf::Result(sum)).await,
        None => share.check = sum,
    }
}

/// Tells the cells of one half where all are.
async fn start_all(
    sizes: Sizes,
    left: &[ActorRef<ToCell>],
    right: &[ActorRef<ToCell>],
    is_left: bool,
) {
    let (n, part) = (sizes.n as usize, sizes.n as usize / 2);
    let rows = left.chunks_exact(part).zip(right.chunks_exact(n - part));
    let cells: Cells = rows
        .flat_map(|(left, right)| left.iter().chain(right))
        .cloned()
        .collect();
    for cell in if is_left { left } else { right } {
        tell(cell, ToCell::Start(Arc::clone(&cells))).await;
    }
}

/// Not an `async fn`, or the type of its future would contain itself.
fn new_half(
    sizes: Sizes,
    left: Option<(ActorRef<ToHalf>, Vec<ActorRef<ToCell>>)>,
    share: Share,
) -> ActorRef<ToHalf> {
    start(|mailbox| half(sizes, left, me(&mailbox), mailbox, share))
}

async fn run(sizes: Sizes, share: Share) {
    let runner = new_half(sizes, None, share.actor());
    tell(&runner, ToHalf::Boot).await;
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes, share))
}
