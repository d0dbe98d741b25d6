//! An actor on a thread of its own: a task stands for it, whose end, by a kill or with its runtime,
//! ends the actor's future there.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use super::roll::Entry;
use crate::task::JoinHandle;
use crate::{oneshot, sched};

/// Runs `actor`, of this entry, on a thread for blocking work; gives the task that stands for it. Few actors are run
/// so, and each could be: with its type here all of this would be compiled for each.
#[track_caller]
pub(super) fn spawn(
    mut actor: Pin<Box<dyn Future<Output = ()> + Send>>,
    entry: Entry,
) -> JoinHandle<()> {
    let (alive, killed) = oneshot::<()>();
    crate::spawn_blocking(move || {
        sched::block_on(async {
            let mut killed = pin!(killed.into_future());
            poll_fn(|cx| match killed.as_mut().poll(cx) {
                Poll::Ready(_) => Poll::Ready(()),
                Poll::Pending => {
                    let life = entry.peer().life();
                    life.set_busy(true);
                    let polled = actor.as_mut().poll(cx);
                    life.set_busy(false);
                    polled
                }
            })
            .await;
        });
    });
    // It ends when the thread has dropped its end of the channel.
    crate::spawn(async move { alive.closed().await })
}
