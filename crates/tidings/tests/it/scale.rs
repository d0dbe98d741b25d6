//! What there may be very many of: handles of a channel, members of a group, links to one actor.

use crate::both::{pool, run, watchdog};
#[cfg(unix)]
use crate::process::child;
use tidings::actor::{self, ActorRef, Builder, Group, Mailbox};
use tidings::{TryRecvError, unbounded};

/// Takes messages until it is to end.
async fn sink(mut mailbox: Mailbox<u32>) {
    while mailbox.recv().await.is_ok() {}
}

fn start() -> ActorRef<u32> {
    actor::spawn(sink)
}

/// One weak handle more than 32,767 ended the process once, without a word.
#[test]
fn a_channel_has_a_million_handles_of_each_kind() {
    const MANY: usize = 1_000_000;
    let (tx, rx) = unbounded::<u8>();
    let senders: Vec<_> = (1..MANY).map(|_| tx.clone()).collect();
    let receivers: Vec<_> = (1..MANY).map(|_| rx.clone()).collect();
    let weak: Vec<_> = (0..MANY).map(|_| tx.downgrade()).collect();
    let counts = tx.counts();
    assert_eq!((counts.senders, counts.receivers), (MANY, MANY));
    drop(receivers);
    drop((tx, senders));
    assert!(weak[MANY - 1].upgrade().is_none());
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
}

/// Handles that are forgotten are not given back: a count that overflows would free memory in use.
#[cfg(unix)]
#[test]
fn a_task_has_sixteen_million_handles_and_one_more_ends_the_process() {
    use std::os::unix::process::ExitStatusExt;
    const MOST: u32 = 16_760_832;
    let _watchdog = watchdog();
    let Some(mut child) = child() else {
        let rt = pool(1);
        let task = rt.spawn(std::future::pending::<()>());
        let abort = task.abort_handle();
        for _ in 2..MOST {
            #[expect(clippy::mem_forget, reason = "so many are not to be kept")]
            std::mem::forget(abort.clone());
        }
        println!("so many");
        let _one_more = abort.clone();
        println!("too many");
        return;
    };
    let ended = child.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(said.contains("so many") && !said.contains("too many"));
    assert_eq!(ended.status.signal(), Some(6), "{ended:?}");
}

/// In a time that grows with their number: with the square of it this is longer than the watchdog's.
#[test]
fn a_group_has_fifty_thousand_members_in_the_order_in_which_they_came() {
    const MEMBERS: usize = 50_000;
    let _watchdog = watchdog();
    run(&pool(2), async {
        let group = Group::new();
        let mut changes = group.changes();
        let members: Vec<_> = (0..MEMBERS).map(|_| start()).collect();
        // The youngest first, so that the order is not that of their numbers.
        for member in members.iter().rev() {
            assert!(group.join(member));
        }
        assert!(!group.join(&members[7]));
        assert!(changes.changed().await.iter().eq(members.iter().rev()));
        let (leave, stay) = members.split_at(MEMBERS / 2);
        for member in leave {
            assert!(group.leave(member) && !group.leave(member));
        }
        assert_eq!(group.broadcast(1).await, stay.len());
        assert!(group.members().iter().eq(stay.iter().rev()));
        for member in stay {
            member.stop();
        }
        for member in stay {
            member.down().await;
        }
        assert_eq!(group.members(), []);
    });
}

/// In a time that grows with their number: with the square of it this is longer than the watchdog's.
#[test]
fn fifty_thousand_share_the_fate_of_one() {
    const MANY: usize = 50_000;
    let _watchdog = watchdog();
    run(&pool(2), async {
        let hub = Builder::new().name("hub").spawn(sink);
        let others: Vec<_> = (0..MANY).map(|_| start()).collect();
        for other in &others {
            other.link(&hub.any());
        }
        let (untied, tied) = others.split_at(MANY / 2);
        for other in untied {
            hub.unlink(&other.any());
        }
        hub.kill();
        for other in tied {
            let exit = other.down().await.to_string();
            assert_eq!(exit, "was linked to hub, which was killed");
        }
        assert!(untied.iter().all(|other| other.exit().is_none()));
    });
}
