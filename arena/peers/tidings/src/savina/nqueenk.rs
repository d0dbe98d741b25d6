//! nqueenk: P workers place queens; a master hands the boards that are left back to them.

use savina::{Share, Sizes, place, solve};
use tidings::actor::{ActorRef, Mailbox};

use super::{Program, me, start, tell};

type Board = Vec<i64>;

enum ToMaster {
    Board(Board),
    Solution,
    /// A worker has done with a board.
    Done,
}

async fn work(
    sizes: Sizes,
    master: ActorRef<ToMaster>,
    mut mailbox: Mailbox<Board>,
    mut share: Share,
) {
    while let Ok(board) = mailbox.recv().await {
        let depth = board.len() as i64;
        if depth < sizes.w && depth < sizes.n {
            share.msgs += sizes.n;
            for more in place(&board, sizes.n) {
                tell(&master, ToMaster::Board(more)).await;
            }
        } else {
            let mut found = || {
                master
                    .try_send(ToMaster::Solution)
                    .expect("the master is alive");
            };
            share.msgs += solve(&board, sizes.n, &mut found);
        }
        tell(&master, ToMaster::Done).await;
    }
}

async fn master(
    sizes: Sizes,
    me: ActorRef<ToMaster>,
    mut mailbox: Mailbox<ToMaster>,
    mut share: Share,
) {
    let worker = |_| start(|mailbox| work(sizes, me.clone(), mailbox, share.actor()));
    let workers: Vec<_> = (0..sizes.P).map(worker).collect();
    let mut turn = workers.iter().cycle();
    let mut open = 0;
    let mut board = Some(Board::new());
    loop {
        if let (Some(board), Some(worker)) = (board.take(), turn.next()) {
            open += 1;
            tell(worker, board).await;
        }
        let Ok(message) = mailbox.recv().await else {
            return;
        };
        match message {
            ToMaster::Board(more) => board = Some(more),
            ToMaster::Solution => share.check += 1,
            ToMaster::Done => open -= 1,
        }
        if open == 0 && board.is_none() {
            return;
        }
    }
}

async fn run(sizes: Sizes, share: Share) {
    start(|mailbox| master(sizes, me(&mailbox), mailbox, share.actor()));
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes, share))
}
