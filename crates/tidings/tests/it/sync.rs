//! Locks and signals: what was handed over and not looked at passes on.

use crate::by_hand::{Chance, on_tokio, poll, poll_and_drop, rt};
use crate::hands::{pinned, poll_with};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::task::{Poll, Wake, Waker};
use tidings::sync::{
    AcquireError, Barrier, BarrierWait, Mutex, Notified, Notify, RwLock, Semaphore, TryAcquireError,
};
use tidings::{Event, unbounded};

#[test]
fn a_mutex_passes_to_waiters_in_order() {
    let mutex = Mutex::new(0);
    let held = mutex.try_lock().unwrap();
    let (mut a, mut b) = (
        pin!(mutex.lock().into_future()),
        pin!(mutex.lock().into_future()),
    );
    assert!(poll(a.as_mut()).is_pending() && poll(b.as_mut()).is_pending());
    drop(held);
    assert!(mutex.try_lock().is_none(), "it has passed to the first");
    assert!(poll(b.as_mut()).is_pending());
    let Poll::Ready(mut first) = poll(a.as_mut()) else {
        panic!("the lock is its own")
    };
    *first = 1;
    drop(first);
    let Poll::Ready(second) = poll(b.as_mut()) else {
        panic!("the lock is its own")
    };
    assert_eq!(*second, 1);
}

#[test]
fn a_lock_handed_to_a_dropped_wait_passes_on() {
    let mutex = Mutex::new(());
    let held = mutex.try_lock().unwrap();
    poll_and_drop(mutex.lock());
    let mut last = pin!(mutex.lock().into_future());
    {
        let mut dropped = pin!(mutex.lock().into_future());
        assert!(poll(dropped.as_mut()).is_pending());
        assert!(poll(last.as_mut()).is_pending());
        drop(held);
    }
    assert!(poll(last.as_mut()).is_ready());
    assert_eq!(
        format!("{mutex:?}"),
        "Mutex { locked: false, waiting: 0, .. }"
    );
}

#[test]
fn a_loser_that_has_not_looked_holds_nobody_up() {
    let mutex = Mutex::new(());
    let (tx, rx) = unbounded();
    let held = mutex.try_lock().unwrap();
    let choice = mutex.lock().map(|_| 0).or(rx.recv().map(Result::unwrap));
    let mut choice = pin!(choice.into_future());
    assert!(poll(choice.as_mut()).is_pending());
    // The choice commits to the message, and is still in the mutex' list when it gets free.
    tx.try_send(1).unwrap();
    drop(held);
    assert!(mutex.try_lock().is_some());
    assert!(mutex.lock().try_now().is_ok());
    assert_eq!(poll(choice.as_mut()), Poll::Ready(1));
}

#[test]
fn a_panic_while_locked_unlocks() {
    rt().block_on(async {
        let mutex = Arc::new(Mutex::new(0));
        let other = mutex.clone();
        let task = tidings::spawn(async move {
            let _held = other.lock().await;
            std::panic::resume_unwind(Box::new("quiet"));
        });
        assert!(task.await.is_err());
        *mutex.lock().await += 1;
        let mut mutex = Arc::into_inner(mutex).unwrap();
        assert_eq!((*mutex.get_mut(), mutex.into_inner()), (1, 1));
    });
}

#[test]
fn many_permits_are_not_overtaken_by_few() {
    let semaphore = Semaphore::new(2);
    let mut many = pin!(semaphore.acquire(3).into_future());
    assert!(poll(many.as_mut()).is_pending());
    assert_eq!(
        semaphore.try_acquire(1).unwrap_err(),
        TryAcquireError::NoPermits
    );
    let mut few = pin!(semaphore.acquire(1).into_future());
    assert!(poll(few.as_mut()).is_pending());
    semaphore.add_permits(1);
    assert!(poll(few.as_mut()).is_pending());
    let Poll::Ready(Ok(mut three)) = poll(many.as_mut()) else {
        panic!("there are three")
    };
    let one = three.split(1).unwrap();
    assert!(three.split(3).is_none());
    drop(one);
    assert!(poll(few.as_mut()).is_ready());
}

#[test]
fn the_next_goes_on_when_the_first_leaves() {
    let semaphore = Semaphore::new(1);
    let mut few = pin!(semaphore.acquire(1).into_future());
    {
        let mut many = pin!(semaphore.acquire(2).into_future());
        assert!(poll(many.as_mut()).is_pending());
        assert!(poll(few.as_mut()).is_pending());
    }
    assert!(poll(few.as_mut()).is_ready());
    assert_eq!(semaphore.available_permits(), 1, "the output was dropped");
}

#[test]
fn permits_handed_to_a_dropped_wait_come_back() {
    let semaphore = Semaphore::new(0);
    {
        let mut wait = pin!(semaphore.acquire(2).into_future());
        assert!(poll(wait.as_mut()).is_pending());
        semaphore.add_permits(2);
        assert_eq!(semaphore.available_permits(), 0);
    }
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn closing_a_semaphore_wakes_everybody() {
    let semaphore = Semaphore::new(1);
    let held = semaphore.try_acquire(1).unwrap();
    let mut waits: Vec<_> = (0..100)
        .map(|_| Box::pin(semaphore.acquire(1).into_future()))
        .collect();
    assert!(
        waits
            .iter_mut()
            .all(|wait| poll(wait.as_mut()).is_pending())
    );
    semaphore.close();
    for wait in &mut waits {
        assert_eq!(
            poll(wait.as_mut()).map(Result::unwrap_err),
            Poll::Ready(AcquireError)
        );
    }
    drop(held);
    assert_eq!(
        semaphore.try_acquire(1).unwrap_err(),
        TryAcquireError::Closed
    );
    assert!(format!("{semaphore:?}").contains("waiting: 0"));
}

#[test]
fn owned_permits_go_into_tasks_and_keep_their_semaphore() {
    let semaphore = Arc::new(Semaphore::new(2));
    let mut both = semaphore.try_acquire_owned(2).unwrap();
    let error = semaphore.try_acquire_owned(1).unwrap_err();
    assert_eq!(error, TryAcquireError::NoPermits);
    let mut wait = pin!(semaphore.acquire_owned(1).into_future());
    assert!(poll(wait.as_mut()).is_pending());
    let one = both.split(1).unwrap();
    rt().block_on(async move { tidings::spawn(async move { drop(one) }).await })
        .unwrap();
    let Poll::Ready(Ok(one)) = poll(wait.as_mut()) else {
        panic!("the task has given it back")
    };
    let weak = Arc::downgrade(&semaphore);
    drop(semaphore);
    both.forget();
    drop(one);
    assert_eq!(weak.upgrade().unwrap().available_permits(), 1);
}

#[test]
fn many_read_or_one_writes_in_the_order_they_came() {
    let lock = RwLock::new(0);
    let (a, b) = (lock.try_read().unwrap(), lock.read().wait());
    let mut write = pin!(lock.write().into_future());
    assert!(poll(write.as_mut()).is_pending());
    let mut late = pin!(lock.read().into_future());
    assert!(poll(late.as_mut()).is_pending(), "a write waits before it");
    assert!(lock.try_read().is_none() && lock.try_write().is_none());
    assert_eq!(
        format!("{lock:?}"),
        "RwLock { written: false, readers: 2, waiting: 2, .. }"
    );
    assert_eq!((*a, *b), (0, 0));
    drop((a, b));
    let Poll::Ready(mut written) = poll(write.as_mut()) else {
        panic!("nobody reads")
    };
    assert!(poll(late.as_mut()).is_pending());
    *written = 1;
    let mut next = pin!(lock.write().into_future());
    assert!(poll(next.as_mut()).is_pending());
    let read = written.downgrade();
    let Poll::Ready(other) = poll(late.as_mut()) else {
        panic!("who wrote reads now")
    };
    assert_eq!((*read, *other), (1, 1));
    drop((read, other));
    assert!(poll(next.as_mut()).is_ready());
}

#[test]
fn a_write_that_is_dropped_lets_the_reads_behind_it_pass() {
    for is_handed_over in [false, true] {
        let lock = RwLock::new(());
        let held = lock.try_read().unwrap();
        let mut reads = [pinned(lock.read()), pinned(lock.read())];
        let mut write = pinned(lock.write());
        assert!(poll(write.as_mut()).is_pending());
        for read in &mut reads {
            assert!(poll(read.as_mut()).is_pending());
        }
        if is_handed_over {
            drop(held);
        }
        drop(write);
        let guards = reads.map(|mut read| poll(read.as_mut()));
        assert!(guards.iter().all(Poll::is_ready));
    }
}

#[test]
fn a_read_that_is_dropped_lets_the_write_behind_it_pass() {
    for is_handed_over in [false, true] {
        let lock = RwLock::new(());
        let held = lock.try_write().unwrap();
        let mut read = pinned(lock.read());
        let mut write = pinned(lock.write());
        assert!(poll(read.as_mut()).is_pending());
        assert!(poll(write.as_mut()).is_pending());
        if is_handed_over {
            drop(held);
            drop(read);
        } else {
            drop(read);
            drop(held);
        }
        assert!(poll(write.as_mut()).is_ready());
    }
}

/// What eight tasks come to together, each with a chance of its own.
fn of_eight<F>(task: impl Fn(Chance) -> F) -> u64
where
    F: Future<Output = u64> + Send + 'static,
{
    rt().block_on(async {
        let tasks: Vec<_> = (0..8)
            .map(|seed| tidings::spawn(task(Chance::new(seed))))
            .collect();
        let mut total = 0;
        for task in tasks {
            total += task.await.unwrap();
        }
        total
    })
}

#[test]
fn stress_nobody_reads_while_somebody_writes() {
    let lock = Arc::new(RwLock::new([0_u64; 2]));
    let written = of_eight(|mut chance| {
        let lock = lock.clone();
        async move {
            let mut written = 0;
            for _ in 0..1000 {
                if chance.below(3) > 0 {
                    if let Some(read) = chance.maybe(lock.read()).await {
                        let first = read[0];
                        tidings::yield_now().await;
                        assert_eq!(*read, [first; 2]);
                    }
                } else if let Some(mut write) = chance.maybe(lock.write()).await {
                    write[0] += 1;
                    tidings::yield_now().await;
                    write[1] += 1;
                    written += 1;
                    if chance.below(2) == 0 {
                        let read = write.downgrade();
                        tidings::yield_now().await;
                        assert_eq!(read[0], read[1]);
                    }
                }
            }
            written
        }
    });
    assert_eq!(*lock.try_write().unwrap(), [written; 2]);
}

#[test]
fn notify_one_reaches_one_and_passes_on() {
    let notify = Notify::new();
    let mut second = pin!(notify.notified().into_future());
    {
        let mut first = pin!(notify.notified().into_future());
        assert!(poll(first.as_mut()).is_pending());
        assert!(poll(second.as_mut()).is_pending());
        notify.notify_one();
        assert!(poll(second.as_mut()).is_pending());
    }
    assert!(poll(second.as_mut()).is_ready());
    poll_and_drop(notify.notified());
    notify.notify_one();
    notify.notified().wait();
}

#[test]
fn notify_waiters_reaches_those_that_were_made() {
    let notify = Notify::new();
    let mut early: Vec<_> = (0..100)
        .map(|_| Box::pin(notify.notified().into_future()))
        .collect();
    assert!(
        early
            .iter_mut()
            .step_by(2)
            .all(|wait| poll(wait.as_mut()).is_pending())
    );
    notify.notify_waiters();
    poll_and_drop(notify.notified());
    // Dropped unseen: a notification of all does not pass on.
    drop(early.remove(0));
    assert!(early.iter_mut().all(|wait| poll(wait.as_mut()).is_ready()));
    poll_and_drop(notify.notified());
    assert_eq!(
        format!("{notify:?}"),
        "Notify { permit: false, waiting: 0 }"
    );
}

/// When it is first woken it comes to wait itself.
#[derive(Default)]
struct Latecomer(OnceLock<std::sync::Mutex<Heard>>);

type Heard = Pin<Box<<Notified<'static> as IntoFuture>::IntoFuture>>;

static LATE: LazyLock<Notify> = LazyLock::new(Notify::new);

impl Wake for Latecomer {
    fn wake(self: Arc<Self>) {
        self.0.get_or_init(|| {
            let mut wait = pinned(LATE.notified());
            assert!(poll(wait.as_mut()).is_pending());
            std::sync::Mutex::new(wait)
        });
    }
}

#[test]
fn whoever_comes_while_a_crowd_is_woken_is_not_of_it() {
    let late = Arc::new(Latecomer::default());
    let waker = Waker::from(Arc::clone(&late));
    // More than are woken at once.
    let mut crowd: Vec<_> = (0..100).map(|_| pinned(LATE.notified())).collect();
    for wait in &mut crowd {
        assert!(poll_with(wait.as_mut(), &waker).is_pending());
    }
    LATE.notify_waiters();
    for wait in &mut crowd {
        assert!(poll(wait.as_mut()).is_ready());
    }
    let late = late.0.get().expect("it was woken");
    assert!(poll(late.lock().unwrap().as_mut()).is_pending());
}

/// Notifies one, once.
struct Notifier(Notify, AtomicBool);

impl Wake for Notifier {
    fn wake(self: Arc<Self>) {
        if !self.1.swap(true, Ordering::Relaxed) {
            self.0.notify_one();
        }
    }
}

#[test]
fn notify_one_while_a_crowd_is_woken_is_not_lost_on_the_crowd() {
    let notifier = Arc::new(Notifier(Notify::new(), AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&notifier));
    // More than are woken at once: the last still wait when the first is woken.
    let mut crowd: Vec<_> = (0..100).map(|_| pinned(notifier.0.notified())).collect();
    for wait in &mut crowd {
        assert!(poll_with(wait.as_mut(), &waker).is_pending());
    }
    notifier.0.notify_waiters();
    for wait in &mut crowd {
        assert!(poll(wait.as_mut()).is_ready());
    }
    assert!(notifier.0.notified().try_now().is_ok());
}

#[test]
fn a_party_that_goes_after_its_meeting_does_not_change_the_next() {
    let barrier = Barrier::new(2);
    for _ in 0..3 {
        let mut gone = pinned(barrier.wait());
        assert!(poll(gone.as_mut()).is_pending());
        assert!(poll(pin!(barrier.wait())).is_ready());
        drop(gone);
    }
    assert!(format!("{barrier:?}").contains("arrived: 0"));
}

static HALL: LazyLock<Barrier> = LazyLock::new(|| Barrier::new(101));

/// Drops one of these for each that is woken.
#[derive(Default)]
struct Leavers(std::sync::Mutex<Vec<Pin<Box<BarrierWait<'static>>>>>);

impl Wake for Leavers {
    fn wake(self: Arc<Self>) {
        let gone = self.0.lock().unwrap().pop();
        drop(gone);
    }
}

#[test]
fn a_party_that_goes_while_its_meeting_is_woken_does_not_change_the_next() {
    let leavers = Arc::new(Leavers::default());
    let waker = Waker::from(Arc::clone(&leavers));
    // More than are woken at once: the last go before they have heard.
    let mut crowd: Vec<_> = (0..100).map(|_| Box::pin(HALL.wait())).collect();
    for wait in &mut crowd {
        assert!(poll_with(wait.as_mut(), &waker).is_pending());
    }
    leavers.0.lock().unwrap().extend(crowd);
    assert!(poll(pin!(HALL.wait())).is_ready());
    assert!(format!("{:?}", *HALL).contains("arrived: 0"));
}

#[test]
fn a_barrier_counts_those_that_are_there() {
    let barrier = Barrier::new(3);
    for _ in 0..3 {
        poll_and_drop(barrier.wait());
        let (mut a, mut b) = (pin!(barrier.wait()), pin!(barrier.wait()));
        assert!(poll(a.as_mut()).is_pending() && poll(b.as_mut()).is_pending());
        let Poll::Ready(last) = poll(pin!(barrier.wait())) else {
            panic!("three have come")
        };
        assert!(last.is_leader());
        // Next meeting: it does not wake those of the last.
        poll_and_drop(barrier.wait());
        for wait in [a, b] {
            assert_eq!(poll(wait).map(|end| end.is_leader()), Poll::Ready(false));
        }
    }
    assert!(format!("{barrier:?}").contains("arrived: 0"));
}

#[test]
fn stress_locks_and_permits_are_conserved() {
    let mutex = Arc::new(Mutex::new((0u64, false)));
    let semaphore = Arc::new(Semaphore::new(5));
    let total = of_eight(|mut chance| {
        let (mutex, semaphore) = (mutex.clone(), semaphore.clone());
        async move {
            let mut done = 0;
            for _ in 0..2000 {
                if let Some(mut held) = chance.maybe(mutex.lock()).await {
                    assert!(!std::mem::replace(&mut held.1, true), "two have the lock");
                    if chance.below(4) == 0 {
                        tidings::yield_now().await;
                    }
                    held.0 += 1;
                    held.1 = false;
                    done += 1;
                }
                let n = chance.below(5) as usize + 1;
                if let Some(permit) = chance.maybe(semaphore.acquire(n)).await {
                    tidings::yield_now().await;
                    drop(permit.unwrap());
                }
            }
            done
        }
    });
    assert_eq!(mutex.try_lock().unwrap().0, total);
    assert_eq!(semaphore.available_permits(), 5);
    assert!(format!("{semaphore:?}").contains("waiting: 0"));
}

#[test]
fn stress_no_notification_is_lost() {
    // The next is sent when the last was heard, so that no two are merged.
    let (notify, heard) = (Arc::new(Notify::new()), unbounded());
    rt().block_on(async {
        let tasks: Vec<_> = (0..8)
            .map(|seed| {
                let (notify, heard) = (notify.clone(), heard.0.clone());
                tidings::spawn(async move {
                    let mut chance = Chance::new(seed);
                    while heard.try_send(false).is_ok() {
                        if chance.maybe(notify.notified()).await.is_some()
                            && heard.try_send(true).is_err()
                        {
                            break;
                        }
                    }
                })
            })
            .collect();
        for _ in 0..1000 {
            notify.notify_one();
            while !heard.1.recv().await.unwrap() {}
        }
        heard.1.close();
        for task in tasks {
            task.await.unwrap();
        }
    });
    poll_and_drop(notify.notified());
}

#[test]
fn stress_meetings_have_one_leader() {
    let barrier = Arc::new(Barrier::new(8));
    let led = of_eight(|mut chance| {
        let barrier = barrier.clone();
        async move {
            let mut led = 0;
            for _ in 0..500 {
                if chance.below(3) == 0 {
                    tidings::yield_now().await;
                }
                led += u64::from(barrier.wait().await.is_leader());
            }
            led
        }
    });
    assert_eq!(led, 500);
}

#[test]
fn under_tokio_and_on_threads() {
    let mutex = Arc::new(Mutex::new(0));
    let theirs = mutex.clone();
    let thread = std::thread::spawn(move || (0..500).for_each(|_| *theirs.lock().wait() += 1));
    let theirs = mutex.clone();
    on_tokio(async move {
        let tasks = [(); 4].map(|()| {
            let mutex = theirs.clone();
            tokio::spawn(async move {
                for _ in 0..500 {
                    *mutex.lock().await += 1;
                }
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
    });
    thread.join().unwrap();
    assert_eq!(*mutex.lock().wait(), 2500);
}

#[test]
fn a_lock_may_be_around_what_has_no_size() {
    let mutex: Arc<Mutex<dyn Iterator<Item = u8> + Send>> = Arc::new(Mutex::new(0..3));
    let lock: Arc<RwLock<[u8]>> = Arc::new(RwLock::new([1, 2]));
    rt().block_on(async move {
        let task = tidings::spawn({
            let mutex = mutex.clone();
            async move { mutex.lock().await.next() }
        });
        assert_eq!(task.await.unwrap(), Some(0));
        assert_eq!(mutex.try_lock().unwrap().next(), Some(1));
        lock.write().await[1] = 3;
        assert_eq!(*lock.write().await.downgrade(), [1, 3]);
        assert_eq!(*lock.read().await, [1, 3]);
    });
}
