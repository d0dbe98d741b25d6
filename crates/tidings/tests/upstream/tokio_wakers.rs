//! tokio's tests of wakers that panic, that use what they wake for, and that do so when they are
//! dropped, from every suite of `tokio/tests/sync_*.rs`; here for every source of events.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as StdMutex};
use std::task::{Poll, Wake, Waker};
use std::time::Duration;

use crate::both::{pool, watchdog};
use crate::hands::{Bomb, Wakes, pinned, poll, poll_with};
use tidings::channel::broadcast::broadcast;
use tidings::channel::ivar::IVar;
use tidings::channel::mvar::MVar;
use tidings::channel::watch::watch;
use tidings::sync::{Barrier, Mutex, Notify, Semaphore};
use tidings::{
    CancellationToken, Event, JoinSet, RecvError, TryRecvError, TrySendError, bounded, channel,
    choose, oneshot, unbounded, with_nack,
};

/// Runs a closure when it is woken, and another when it is dropped.
struct Calls<W: Fn(), D: Fn()> {
    woken: W,
    dropped: D,
}

impl<W, D> Wake for Calls<W, D>
where
    W: Fn() + Send + Sync + 'static,
    D: Fn() + Send + Sync + 'static,
{
    fn wake(self: Arc<Self>) {
        (self.woken)();
    }
}

impl<W: Fn(), D: Fn()> Drop for Calls<W, D> {
    fn drop(&mut self) {
        (self.dropped)();
    }
}

/// Polls `wait` with a waker that does `use_it` when it is woken and when it is dropped, then again
/// with another waker, then lets `end` happen, then drops the wait: none of it may deadlock.
fn waker_uses<F: Future>(
    mut wait: Pin<Box<F>>,
    use_it: impl Fn() + Send + Sync + 'static,
    end: impl FnOnce(),
) {
    let use_it = Arc::new(use_it);
    let calls = Arc::new(AtomicUsize::new(0));
    let waker = || {
        let (woken, dropped) = (Arc::clone(&use_it), Arc::clone(&use_it));
        let count = Arc::clone(&calls);
        Waker::from(Arc::new(Calls {
            woken: move || woken(),
            dropped: move || {
                count.fetch_add(1, Ordering::SeqCst);
                dropped();
            },
        }))
    };
    assert!(poll_with(wait.as_mut(), &waker()).is_pending());
    // The first waker is replaced, and dropped with that.
    assert!(poll_with(wait.as_mut(), &waker()).is_pending());
    end();
    drop(wait);
    assert_eq!(calls.load(Ordering::SeqCst), 2, "both wakers are gone");
}

/// `sync_mpsc.rs: dropping_rx_drops_sender_wakers_outside_lock`, for all waits on channels.
#[test]
fn a_channels_wakers_are_woken_and_dropped_outside_of_its_lock() {
    let _watchdog = watchdog();
    for by_end in [true, false] {
        let (tx, rx) = bounded(1);
        let other = tx.clone();
        let use_it = move || drop((other.try_send(9), other.len()));
        waker_uses(pinned(rx.recv()), use_it, || {
            if by_end {
                tx.close();
            } else {
                drop(tx.try_send(1));
            }
        });
        for reserve in [true, false] {
            let (tx, rx) = bounded(1);
            tx.try_send(0).unwrap();
            let other = rx.clone();
            let use_it = move || drop((other.try_recv(), other.len()));
            let end = || {
                if by_end {
                    rx.close();
                } else {
                    rx.try_recv().unwrap();
                }
            };
            if reserve {
                // The first waker's drop frees the place that the wait is for.
                let mut wait = pinned(tx.reserve());
                let other = rx.clone();
                let waker = Waker::from(Arc::new(Calls {
                    woken: || {},
                    dropped: move || drop(other.try_recv()),
                }));
                assert!(poll_with(wait.as_mut(), &waker).is_pending());
                drop(waker);
                end();
                drop(wait);
            } else {
                let mut place = Some(2);
                waker_uses(pinned(tx.send_from(&mut place)), || {}, end);
                let _ = use_it;
            }
        }
        let (tx, rx) = unbounded::<u8>();
        let other = tx.clone();
        waker_uses(
            pinned(tx.closed()),
            move || drop(other.is_closed()),
            || {
                rx.close();
            },
        );
    }
}

/// `sync_broadcast.rs: send_in_waker_drop`, `broadcast_sender_closed_in_waker`, and the like for
/// `watch`.
#[test]
fn the_wakers_of_broadcast_and_watch_may_use_them() {
    let _watchdog = watchdog();
    let (tx, mut rx) = broadcast(16);
    let other = tx.clone();
    waker_uses(
        pinned(rx.recv()),
        move || drop((other.len(), other.subscribe())),
        || {
            tx.send(1).unwrap();
        },
    );
    let other = tx.clone();
    waker_uses(
        pinned(tx.closed()),
        move || drop(other.send(2)),
        || drop(rx),
    );
    let (tx, mut rx) = watch(0);
    let other = tx.clone();
    waker_uses(
        pinned(rx.changed()),
        move || drop((other.get(), other.subscribe())),
        || {
            tx.send(1).unwrap();
        },
    );
    let other = tx.clone();
    waker_uses(
        pinned(tx.closed()),
        move || drop(other.send(2)),
        || drop(rx),
    );
}

/// `sync_notify.rs: notify_in_drop_after_wake`, `sync_semaphore.rs:
/// close_drops_wakers_outside_lock`, `close_wakes_waiters_outside_lock`, and the other locks.
#[test]
fn the_wakers_of_locks_and_signals_may_use_them() {
    let _watchdog = watchdog();
    let notify = Arc::new(Notify::new());
    for all in [true, false] {
        let other = Arc::clone(&notify);
        waker_uses(
            pinned(notify.notified()),
            move || other.notify_waiters(),
            || {
                if all {
                    notify.notify_waiters();
                } else {
                    notify.notify_one();
                }
            },
        );
    }
    for by_close in [true, false] {
        let semaphore = Arc::new(Semaphore::new(0));
        let other = Arc::clone(&semaphore);
        let use_it = move || drop((other.try_acquire(1), other.available_permits()));
        waker_uses(pinned(semaphore.acquire(1)), use_it, || {
            if by_close {
                semaphore.close();
            } else {
                semaphore.add_permits(1);
            }
        });
    }
    let mutex = Arc::new(Mutex::new(0));
    let held = mutex.try_lock().unwrap();
    let other = Arc::clone(&mutex);
    waker_uses(
        pinned(mutex.lock()),
        move || drop(other.try_lock()),
        || drop(held),
    );
    let barrier = Arc::new(Barrier::new(2));
    let other = Arc::clone(&barrier);
    let look = move || drop(format!("{other:?}"));
    waker_uses(Box::pin(barrier.wait()), look, || {
        assert!(poll(Box::pin(barrier.wait()).as_mut()).is_ready());
    });
    let token = CancellationToken::new();
    let other = token.clone();
    let child = token.child_token();
    waker_uses(
        pinned(child.cancelled()),
        move || other.cancel(),
        || token.cancel(),
    );
}

/// The same for the cells, where one value and its end wake.
#[test]
fn the_wakers_of_cells_may_use_them() {
    let _watchdog = watchdog();
    let (tx, mut rx) = oneshot();
    let place = Arc::new(StdMutex::new(Some(tx)));
    let other = Arc::clone(&place);
    let use_it = move || {
        drop(
            other
                .try_lock()
                .map(|tx| tx.as_ref().map(|tx| tx.is_closed())),
        );
    };
    waker_uses(pinned(rx.recv()), use_it, || {
        let tx = place.lock().unwrap().take();
        tx.unwrap().send(1).unwrap();
    });
    let (tx, rx) = oneshot::<u8>();
    waker_uses(pinned(tx.closed()), || {}, || drop(rx));
    let cell = IVar::new();
    let other = cell.clone();
    waker_uses(
        pinned(cell.read()),
        move || drop(other.fill(2)),
        || {
            // The drop of the waker that was replaced has filled it.
            assert_eq!(cell.fill(1), Err(1));
        },
    );
    let cell = MVar::<u8>::empty();
    let other = cell.clone();
    waker_uses(
        pinned(cell.take()),
        move || drop(other.is_full()),
        || {
            cell.try_put(1).unwrap();
        },
    );
    let rt = pool(1);
    let mut set = JoinSet::new();
    let (go, gone) = oneshot::<()>();
    rt.block_on(async { drop(set.spawn(async move { gone.await.is_ok() })) });
    waker_uses(pinned(set.join_next()), || {}, || go.send(()).unwrap());
}

/// `sync_mpsc.rs: permit_send_panicking_rx_waker`: the receiver's waker panics in the send; the
/// value is there all the same, and so is the channel.
#[test]
fn a_value_sent_to_a_waker_that_panics_is_sent() {
    let bomb = Waker::from(Arc::new(Bomb));
    let (tx, rx) = bounded(1);
    for form in 0..3 {
        let mut wait = pinned(rx.recv());
        assert!(poll_with(wait.as_mut(), &bomb).is_pending());
        let send = AssertUnwindSafe(|| match form {
            0 => tx.try_send(7).map_err(TrySendError::into_inner),
            1 => tx
                .reserve()
                .try_now()
                .unwrap()
                .unwrap()
                .send(7)
                .map_err(|error| error.0),
            _ => tx.send(7).try_now().unwrap().map_err(|error| error.0),
        });
        assert!(catch_unwind(send).is_err(), "the waker's panic");
        assert_eq!(poll(wait.as_mut()), Poll::Ready(Ok(7)));
        drop(wait);
        assert_eq!((rx.try_recv(), tx.len()), (Err(TryRecvError::Empty), 0));
    }
    rx.close();
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
}

/// The other way round: the sender's waker panics in the receive, which gives nothing then.
#[test]
fn a_value_taken_from_a_sender_whose_waker_panics_is_the_next_receivers() {
    fn panics<T>(receive: impl FnOnce() -> T) {
        assert!(catch_unwind(AssertUnwindSafe(receive)).is_err());
    }
    let bomb = Waker::from(Arc::new(Bomb));
    for capacity in [0, 1] {
        let (tx, rx) = if capacity == 0 {
            channel()
        } else {
            bounded(capacity)
        };
        let (_silent, nothing) = unbounded();
        for way in 0..6 {
            let all: Vec<_> = (0..capacity).chain([7]).collect();
            all[..capacity]
                .iter()
                .for_each(|&n| tx.try_send(n).unwrap());
            let mut send = pinned(tx.send(7));
            assert!(poll_with(send.as_mut(), &bomb).is_pending());
            match way {
                0 => panics(|| rx.try_recv()),
                1 => panics(|| rx.recv().try_now()),
                2 => panics(|| poll(pinned(rx.recv()).as_mut())),
                3 => panics(|| poll(pinned(rx.recv().or(nothing.recv())).as_mut())),
                4 => {
                    let others = (0..20).map(|_| nothing.recv());
                    panics(|| poll(pinned(choose([rx.recv()].into_iter().chain(others))).as_mut()));
                }
                _ => panics(|| poll(pinned(rx.recv_many(&mut Vec::new(), 9)).as_mut())),
            }
            assert_eq!(poll(send.as_mut()), Poll::Ready(Ok(())), "{way}");
            let mut got = Vec::new();
            rx.try_recv_many(&mut got, 9);
            assert_eq!(got, all, "{way}");
        }
        let counts = rx.counts();
        assert_eq!((counts.sent, counts.queued), (counts.received, 0));
    }
}

/// And it is what the panicking wait's own nack is about.
#[test]
fn a_nack_fires_when_its_wait_ends_by_a_waker_that_panics() {
    let (tx, rx) = channel();
    let mut send = pinned(tx.send(7));
    let bomb = Waker::from(Arc::new(Bomb));
    assert!(poll_with(send.as_mut(), &bomb).is_pending());
    let mut kept = None;
    let asked = with_nack(|nack| {
        kept = Some(nack);
        rx.recv()
    });
    assert!(catch_unwind(AssertUnwindSafe(|| asked.try_now())).is_err());
    assert!(kept.unwrap().is_lost());
    assert_eq!(rx.try_recv(), Ok(7));
}

/// `sync_semaphore.rs: close_wakes_all_waiters`; of those who wait, one has a waker that panics: the
/// others are woken too.
#[test]
fn a_waker_that_panics_keeps_no_other_from_being_woken() {
    let bomb = Waker::from(Arc::new(Bomb));
    let woken_beside_a_bomb = |waits: &mut dyn FnMut(&Waker), end: &mut dyn FnMut()| {
        let wakes: Vec<_> = (0..3)
            .map(|nth| {
                let (wakes, waker) = Wakes::new();
                waits(&waker);
                if nth == 0 {
                    waits(&bomb);
                }
                wakes
            })
            .collect();
        drop(catch_unwind(AssertUnwindSafe(end)));
        wakes.iter().map(|wakes| wakes.count()).sum::<usize>()
    };
    let (tx, rx) = channel::<u8>();
    let mut kept = Vec::new();
    let mut wait = |waker: &Waker| {
        let mut wait = pinned(rx.recv());
        assert!(poll_with(wait.as_mut(), waker).is_pending());
        kept.push(wait);
    };
    let mut close = || drop(tx.close());
    assert_eq!(
        woken_beside_a_bomb(&mut wait, &mut close),
        3,
        "a channel that is closed"
    );
    let semaphore = Semaphore::new(0);
    let mut kept = Vec::new();
    let mut wait = |waker: &Waker| {
        let mut wait = pinned(semaphore.acquire(1));
        assert!(poll_with(wait.as_mut(), waker).is_pending());
        kept.push(wait);
    };
    let mut close = || semaphore.close();
    assert_eq!(
        woken_beside_a_bomb(&mut wait, &mut close),
        3,
        "a semaphore that is closed"
    );
    let notify = Notify::new();
    let mut kept = Vec::new();
    let mut wait = |waker: &Waker| {
        let mut wait = pinned(notify.notified());
        assert!(poll_with(wait.as_mut(), waker).is_pending());
        kept.push(wait);
    };
    let mut all = || notify.notify_waiters();
    assert_eq!(
        woken_beside_a_bomb(&mut wait, &mut all),
        3,
        "all that were notified"
    );
    let cell = IVar::new();
    let mut kept = Vec::new();
    let mut wait = |waker: &Waker| {
        let mut wait = pinned(cell.read());
        assert!(poll_with(wait.as_mut(), waker).is_pending());
        kept.push(wait);
    };
    let mut fill = || cell.fill(1).unwrap();
    assert_eq!(
        woken_beside_a_bomb(&mut wait, &mut fill),
        3,
        "a cell that is filled"
    );
    // A tree of tokens: the bomb waits for the root, the others for its children.
    let root = CancellationToken::new();
    let children: Vec<_> = (0..4).map(|_| root.child_token()).collect();
    let (mut kept, mut nth) = (Vec::new(), 0);
    let mut wait = |waker: &Waker| {
        let token = if waker.will_wake(&bomb) {
            &root
        } else {
            &children[nth]
        };
        nth += 1;
        let mut wait = pinned(token.cancelled());
        assert!(poll_with(wait.as_mut(), waker).is_pending());
        kept.push(wait);
    };
    let mut cancel = || root.cancel();
    let woken = woken_beside_a_bomb(&mut wait, &mut cancel);
    assert_eq!(woken, 3, "a tree that is cancelled");
}

/// `sync_mpsc.rs: release_waker_on_rx_drop`, `sync_oneshot.rs: drops_tasks`, `time_sleep.rs:
/// drop_from_wake`: a wait that is dropped lets go of its waker, whatever it waited for.
#[test]
fn a_dropped_wait_lets_go_of_its_waker() {
    fn lets_go<E: Event>(event: E) {
        let (wakes, waker) = Wakes::new();
        let mut wait = pinned(event);
        assert!(poll_with(wait.as_mut(), &waker).is_pending());
        assert!(
            Arc::strong_count(&wakes) > 2,
            "it is kept while the wait is"
        );
        drop(wait);
        assert_eq!(
            Arc::strong_count(&wakes),
            2,
            "{}",
            std::any::type_name::<E>()
        );
    }
    let (full, rx) = bounded(1);
    full.try_send(1).unwrap();
    let (_tx, empty) = channel::<u8>();
    lets_go(empty.recv());
    lets_go(full.send(2));
    lets_go(full.reserve());
    lets_go(full.closed());
    lets_go(empty.recv().or(empty.recv()));
    lets_go(choose([empty.recv(), empty.recv()]).timeout(Duration::from_secs(3_600)));
    let (one, mut once) = oneshot::<u8>();
    lets_go(once.recv());
    lets_go(one.closed());
    lets_go(IVar::<u8>::new().read());
    lets_go(MVar::<u8>::empty().take());
    lets_go(Notify::new().notified());
    lets_go(Semaphore::new(0).acquire(1));
    lets_go(CancellationToken::new().cancelled());
    lets_go(tidings::after(Duration::from_secs(3_600)));
    drop(rx);
    // And one that was over.
    let (wakes, waker) = Wakes::new();
    let (tx, rx) = channel();
    let mut wait = pinned(rx.recv());
    assert!(poll_with(wait.as_mut(), &waker).is_pending());
    tx.try_send(1).unwrap();
    assert!(poll(wait.as_mut()).is_ready());
    assert_eq!(Arc::strong_count(&wakes), 2);
    drop(tx);
    assert_eq!(rx.recv().wait(), Err(RecvError));
}
