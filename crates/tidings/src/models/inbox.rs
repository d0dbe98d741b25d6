//! `sched/inbox.rs`: every task pushed is taken once, or given back by a closed inbox.

use std::sync::Arc;

use super::{explore, fork, seen};
use crate::sched::Inbox;
use crate::task::Task;

fn take(inbox: &Inbox) -> usize {
    let mut n = 0;
    inbox.take_half(1, |_, task| {
        task.drop_stub();
        n += 1;
    });
    n
}

#[test]
fn two_takers_share_what_is_pushed() {
    explore("inbox", &["mine", "the other's", "left"], || {
        let inbox = Arc::new(Inbox::new());
        let pusher = Arc::clone(&inbox);
        let pusher = fork(move || assert!(pusher.push([Task::stub(), Task::stub()]).is_ok()));
        let taker = Arc::clone(&inbox);
        let taker = fork(move || take(&taker));
        crate::primitive::thread::yield_now();
        let mine = take(&inbox);
        pusher.join().unwrap();
        let others = taker.join().unwrap();
        let mut left = 0;
        inbox.take_all(|task| {
            task.drop_stub();
            left += 1;
        });
        assert_eq!(mine + others + left, 2);
        [("mine", mine), ("the other's", others), ("left", left)]
            .into_iter()
            .filter(|(_, n)| *n > 0)
            .for_each(|(who, _)| seen(who));
        assert!(inbox.is_empty());
    });
}

#[test]
fn a_closed_inbox_gives_tasks_back() {
    explore("inbox/close", &["taken", "given back"], || {
        let inbox = Arc::new(Inbox::new());
        let pusher = Arc::clone(&inbox);
        let pusher = fork(move || match pusher.push([Task::stub()]) {
            Ok(()) => 0,
            Err(tasks) => {
                seen("given back");
                tasks.into_iter().map(Task::drop_stub).count()
            }
        });
        inbox.close();
        let mut taken = 0;
        inbox.take_all(|task| {
            task.drop_stub();
            taken += 1;
        });
        if taken == 1 {
            seen("taken");
        }
        assert_eq!(
            taken + pusher.join().unwrap(),
            1,
            "nothing comes in behind a close"
        );
    });
}
