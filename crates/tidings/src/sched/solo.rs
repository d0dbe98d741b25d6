//! The scheduler under a seam: one thread, every choice asked for. Read this first.
//!
//! `block_on` runs the root future and all tasks on the calling thread, one poll at a time. The
//! seam picks the next among all that could run; when nothing can, it moves time on, or says
//! that only a thread outside can help.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::seam::Choice;
use super::worker::Worker;
use super::{Shared, current, deadlock};
use crate::primitive::atomic::{AtomicBool, Ordering};
use crate::primitive::{Arc, Parker};

/// Wakes the root future: it counts as one of the runnable tasks.
struct Root {
    woken: AtomicBool,
    parker: Arc<Parker>,
}

impl std::task::Wake for Root {
    fn wake(self: Arc<Self>) {
        self.woken.swap(true, Ordering::AcqRel);
        self.parker.unpark();
    }
}

/// Runs `future` and all tasks to the future's end.
pub(super) fn block_on<F: Future>(
    worker: &Worker,
    shared: &Shared,
    parker: &Arc<Parker>,
    mut future: Pin<&mut F>,
) -> F::Output {
    let root = Arc::new(Root {
        woken: AtomicBool::new(true),
        parker: Arc::clone(parker),
    });
    let waker = Waker::from(Arc::clone(&root));
    let mut context = Context::from_waker(&waker);
    // Idle turns in a row.
    let mut still = 0;
    current::become_worker(worker, || {
        loop {
            // What came from threads outside takes part from here on.
            worker.local(|local| {
                shared.remotes[0]
                    .inbox
                    .take_all(|task| local.push_yielded(task));
            });
            let root_runs = root.woken.load(Ordering::Acquire);
            let tasks = worker.local(|local| local.len());
            let runnable = tasks + usize::from(root_runs);
            if runnable == 0 {
                let next = worker.refresh_timers();
                let nothing = worker.local(|local| local.is_empty());
                if nothing && !root.woken.load(Ordering::Acquire) {
                    let moved = worker.seam_idle(next.map(|next| next.since_start()));
                    if moved == Some(false) {
                        match &shared.patience {
                            None => parker.park(),
                            Some((patience, _)) => {
                                parker.park_timeout(*patience);
                                // Two of the counts are ours.
                                let copies = Arc::strong_count(&root) - 2;
                                still += 1;
                                // One may be over at once for no reason.
                                if still > 1 && shared.is_still(&root.woken, &waker, copies) {
                                    let main = waker.data().addr();
                                    panic!("{}", deadlock::report(shared, main));
                                }
                            }
                        }
                    }
                }
                continue;
            }
            still = 0;
            let pick = worker.choose(Choice::Task, runnable);
            if pick == tasks {
                // A wake that comes from here on is for the next poll.
                root.woken.swap(false, Ordering::AcqRel);
                worker.refill_budget();
                if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                    return output;
                }
            } else if let Some(task) = worker.local(|local| local.pick(pick)) {
                worker.run_task(task);
            }
        }
    })
}
