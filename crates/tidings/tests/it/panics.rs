//! Panics where nobody is left to be told: in the drops of wakers, of outputs, of what was panicked with.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use crate::both::{on_all, on_all_unheard, pool, run, watchdog};
use crate::hands::{Bomb, Wakes, pinned, poll_with};
use crate::process::child;
use tidings::actor::{self, Builder, CallError, Exit, Mailbox, Reply};
use tidings::sync::{Mutex, Notify, Semaphore};
use tidings::{Event, after, choose, never, oneshot, unbounded, with_nack, yield_now};

const HOUR: Duration = Duration::from_secs(3600);
const MS: Duration = Duration::from_millis(1);

/// Its drop panics.
pub(crate) struct BadDrop;

impl Drop for BadDrop {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("a bad drop");
        }
    }
}

/// A waker whose last copy panics as it is dropped.
struct BadWaker(BadDrop);

impl Wake for BadWaker {
    fn wake(self: Arc<Self>) {}
}

fn bad_waker() -> Waker {
    Waker::from(Arc::new(BadWaker(BadDrop)))
}

/// Panics when it is woken, with what panics again.
struct BadWake;

impl Wake for BadWake {
    fn wake(self: Arc<Self>) {
        panic_any(BadDrop);
    }
}

fn bad_wake() -> Waker {
    Waker::from(Arc::new(BadWake))
}

#[test]
fn a_waker_behind_a_branch_that_lost_does_not_cost_the_one_that_won() {
    on_all_unheard(|| async {
        let bomb = Waker::from(Arc::new(Bomb));
        for awaited in [true, false] {
            let semaphore = Semaphore::new(1);
            let mutex = Mutex::new(());
            let held = mutex.lock().await;
            let won = mutex.lock().map(|_guard| ());
            let lost = semaphore.acquire(2).map(drop);
            let mut choice = pinned(won.or(lost));
            assert!(poll_with(choice.as_mut(), Waker::noop()).is_pending());
            let mut behind = pinned(semaphore.acquire(1));
            assert!(poll_with(behind.as_mut(), &bomb).is_pending());
            drop(held);
            // The loser is withdrawn, and who waits behind it is woken.
            let unwound = catch_unwind(AssertUnwindSafe(|| {
                if awaited {
                    let _ = poll_with(choice.as_mut(), Waker::noop());
                }
                drop(choice);
            }));
            assert!(unwound.is_err());
            drop(behind);
            assert!(mutex.try_lock().is_some());
            assert_eq!(semaphore.available_permits(), 1);
        }
    });
}

#[test]
fn a_loser_that_panics_as_it_leaves_keeps_none_behind_it_in_a_list() {
    on_all_unheard(|| async {
        let bomb = Waker::from(Arc::new(Bomb));
        for (awaited, many) in [(true, false), (false, false), (true, true), (false, true)] {
            let semaphore = Semaphore::new(1);
            let mutex = Mutex::new(());
            let (tx, rx) = unbounded::<()>();
            let held = mutex.lock().await;
            let won = mutex.lock().map(|_guard| ());
            let lost = semaphore.acquire(2).map(drop);
            let last = rx.recv().map(drop);
            let choice = match many {
                false => won.or(lost).or(last).boxed(),
                true => choose([won.boxed(), lost.boxed(), last.boxed()]).boxed(),
            };
            let mut choice = pinned(choice);
            assert!(poll_with(choice.as_mut(), Waker::noop()).is_pending());
            let mut behind = pinned(semaphore.acquire(1));
            assert!(poll_with(behind.as_mut(), &bomb).is_pending());
            drop(held);
            assert!(tx.counts().receiver_waits);
            let unwound = catch_unwind(AssertUnwindSafe(|| {
                if awaited {
                    let _ = poll_with(choice.as_mut(), Waker::noop());
                }
                drop(choice);
            }));
            assert!(unwound.is_err());
            assert!(!tx.counts().receiver_waits);
            assert!(mutex.try_lock().is_some());
        }
    });
}

#[test]
fn a_request_that_panics_as_it_is_dropped_keeps_no_branch_behind_its_call_in_a_list() {
    struct Ask(
        BadDrop,
        #[expect(dead_code, reason = "is dropped")] Reply<()>,
    );
    on_all_unheard(|| async {
        let (go, wait) = oneshot::<()>();
        let slow =
            Builder::new()
                .capacity(1)
                .spawn(|mut mailbox: Mailbox<Option<Ask>>| async move {
                    let _ = wait.await;
                    while let Ok(ask) = mailbox.recv().await {
                        assert!(ask.is_none());
                    }
                });
        slow.send(None).await.unwrap();
        let ((tx, rx), (last_tx, last)) = (unbounded::<()>(), unbounded::<()>());
        let call = slow.call(|reply| Some(Ask(BadDrop, reply)));
        let choice = rx
            .recv()
            .map(drop)
            .or(call.map(drop))
            .or(last.recv().map(drop));
        let mut choice = pinned(choice);
        assert!(poll_with(choice.as_mut(), Waker::noop()).is_pending());
        tx.try_send(()).unwrap();
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let _ = poll_with(choice.as_mut(), Waker::noop());
        }));
        assert!(unwound.is_err());
        drop(choice);
        assert!(!last_tx.counts().receiver_waits);
        // What won and was lost in the panic is there again.
        assert_eq!(rx.try_recv(), Ok(()));
        let _ = go.send(());
    });
}

#[test]
fn who_waits_behind_a_choice_that_is_dropped_goes_on_though_another_panics() {
    on_all_unheard(|| async {
        let (a, b) = (Semaphore::new(1), Semaphore::new(1));
        let two = a.acquire(2).map(drop).or(b.acquire(2).map(drop));
        let mut choice = pinned(two);
        assert!(poll_with(choice.as_mut(), Waker::noop()).is_pending());
        let (mut in_a, mut in_b) = (pinned(a.acquire(1)), pinned(b.acquire(1)));
        let (wakes, waker) = Wakes::new();
        assert!(poll_with(in_a.as_mut(), &Waker::from(Arc::new(Bomb))).is_pending());
        assert!(poll_with(in_b.as_mut(), &waker).is_pending());
        let unwound = catch_unwind(AssertUnwindSafe(|| drop(choice)));
        assert!(unwound.is_err());
        assert_eq!(wakes.count(), 1);
        assert!(poll_with(in_b.as_mut(), &waker).is_ready());
    });
}

#[test]
fn a_notification_of_all_that_is_lost_in_a_panic_is_nobody_elses() {
    on_all_unheard(|| async {
        let notify = Notify::new();
        let heard = notify.notified();
        notify.notify_waiters();
        let mut nacked = None;
        let lost = with_nack(|nack| {
            let mut wait = Box::pin(async move { nack.lost().await });
            let bomb = Waker::from(Arc::new(Bomb));
            assert!(poll_with(wait.as_mut(), &bomb).is_pending());
            nacked = Some(wait);
            never()
        });
        let mut choice = Box::pin(heard.or(lost).into_future());
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let _ = poll_with(choice.as_mut(), Waker::noop());
        }));
        assert!(unwound.is_err());
        drop(choice);
        assert!(nacked.is_some());
        assert!(notify.notified().try_now().is_err());
    });
}

/// Ready at once, with an output that is as bad as itself.
struct BadFuture(BadDrop);

impl Future for BadFuture {
    type Output = BadDrop;
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<BadDrop> {
        Poll::Ready(BadDrop)
    }
}

#[test]
fn a_waker_that_panics_as_it_is_dropped_ends_no_worker() {
    let _watchdog = watchdog();
    let rt = pool(1);
    // Armed there, and given up here.
    let (give, given) = oneshot();
    run(&rt, async move {
        let mut wait = pinned(after(HOUR));
        assert!(poll_with(wait.as_mut(), &bad_waker()).is_pending());
        let _ = give.send(wait);
    });
    let wait = given.recv_blocking().unwrap();
    // It panics where it is dropped, as that of any wait.
    assert!(catch_unwind(AssertUnwindSafe(|| drop(wait))).is_err());
    // The worker looks at its timers before this is over.
    run(&rt, async { after(MS).await });
    run(&rt, async { after(MS).await });
}

#[test]
fn a_waker_that_panics_as_it_is_dropped_ends_no_timers_of_threads() {
    let _watchdog = watchdog();
    let mut wait = pinned(after(HOUR));
    assert!(poll_with(wait.as_mut(), &bad_waker()).is_pending());
    // Armed outside of all workers, and given up on one.
    let dropped = run(&pool(1), async move {
        catch_unwind(AssertUnwindSafe(|| drop(wait))).is_err()
    });
    assert!(dropped);
    after(MS).wait();
    after(MS).wait();
}

#[test]
fn timers_go_on_after_a_waker_that_panics_with_what_panics_again() {
    let _watchdog = watchdog();
    let rt = pool(1);
    let waits = run(&rt, async {
        let mut waits = [pinned(after(MS)), pinned(after(MS)), pinned(after(MS))];
        let (wakes, waker) = Wakes::new();
        for (wait, waker) in waits.iter_mut().zip([bad_wake(), bad_wake(), waker]) {
            assert!(poll_with(wait.as_mut(), &waker).is_pending());
        }
        after(2 * MS).await;
        while wakes.count() == 0 {
            yield_now().await;
        }
        waits
    });
    drop(waits);
    run(&rt, async { after(MS).await });
}

#[test]
fn a_future_and_an_output_that_both_panic_as_they_are_dropped_harm_no_worker() {
    on_all_unheard(|| async {
        let error = tidings::spawn(BadFuture(BadDrop)).await.err().unwrap();
        assert_eq!(error.panic_message(), Some("a bad drop"));
        drop(tidings::spawn(BadFuture(BadDrop)));
        assert_eq!(tidings::spawn(async { 1 }).await.unwrap(), 1);
    });
}

#[test]
fn a_scope_hears_of_a_child_whose_drops_all_panic() {
    on_all(|| async {
        let ended = tidings::scope(|scope| async move {
            scope.spawn(BadFuture(BadDrop));
        });
        assert!(tidings::spawn(ended).await.is_err());
        assert_eq!(tidings::spawn(async { 1 }).await.unwrap(), 1);
    });
}

#[test]
fn a_waker_that_panics_while_a_child_unwinds_ends_no_process() {
    if let Some(mut child) = child() {
        assert!(child.status().unwrap().success());
        return;
    }
    let _watchdog = watchdog();
    let rt = pool(1);
    let bomb = Waker::from(Arc::new(Bomb));
    let bad = || {
        let bad = BadDrop;
        async move {
            std::future::pending::<()>().await;
            drop(bad);
        }
    };
    let mut set = tidings::JoinSet::new();
    let (give, mut given) = oneshot();
    let in_scope = tidings::scope(|scope| async move {
        give.send(scope.spawn(bad()).abort_handle()).unwrap();
    });
    let (in_set, mut in_scope) = (rt.block_on(async { set.spawn(bad()) }), Box::pin(in_scope));
    let mut next = pinned(set.join_next());
    rt.block_on(async {
        assert!(poll_with(next.as_mut(), &bomb).is_pending());
        assert!(poll_with(in_scope.as_mut(), &bomb).is_pending());
    });
    for child in [in_set, given.try_recv().unwrap()] {
        child.abort();
        while !child.is_finished() {
            std::thread::yield_now();
        }
    }
    rt.block_on(async {
        assert!(next.await.unwrap().unwrap_err().is_cancelled());
        in_scope.await;
    });
}

#[test]
fn what_a_task_panicked_with_may_panic_as_it_is_dropped() {
    on_all_unheard(|| async {
        for _ in 0..3 {
            drop(tidings::spawn(async { panic_any(BadDrop) }));
            let task = tidings::spawn(async { panic_any(BadDrop) });
            while !task.is_finished() {
                yield_now().await;
            }
            drop(task);
        }
        let (go, wait) = oneshot::<()>();
        let mut task = tidings::spawn(async move { wait.await.unwrap() });
        assert!(poll_with(Pin::new(&mut task), &bad_wake()).is_pending());
        go.send(()).unwrap();
        while !task.is_finished() {
            yield_now().await;
        }
        assert_eq!(tidings::spawn(async { 1 }).await.unwrap(), 1);
    });
}

#[test]
fn what_an_actor_panicked_with_may_panic_as_it_is_dropped() {
    on_all_unheard(|| async {
        let actor = actor::spawn(|mut mailbox: Mailbox<Reply<()>>| async move {
            let _reply = mailbox.recv().await;
            panic_any(BadDrop)
        });
        let heard = actor.call(|reply| reply).await;
        assert!(
            matches!(heard, Err(CallError::Ended(Exit::Panicked(_)))),
            "{heard:?}"
        );
        let exit = actor.down().await;
        assert!(matches!(exit, Exit::Panicked(_)), "{exit}");
    });
}

#[cfg(unix)]
#[test]
fn a_waker_that_panics_as_a_runtime_ends_keeps_nobody_who_waits_for_the_time() {
    let _watchdog = watchdog();
    let rt = pool(1);
    // Who holds this keeps what is left of the runtime.
    let _handle = rt.handle();
    let (wakes, waker) = Wakes::new();
    let waits = run(&rt, async move {
        let (socket, other) = tidings::net::UnixStream::pair().unwrap();
        assert!(socket.try_read(&mut [0]).is_err());
        let mut readable = Box::pin(async move { socket.readable().await });
        assert!(poll_with(readable.as_mut(), &Waker::from(Arc::new(Bomb))).is_pending());
        let mut wait = pinned(after(HOUR));
        assert!(poll_with(wait.as_mut(), &waker).is_pending());
        (readable, other, wait)
    });
    drop(rt);
    assert_eq!(wakes.count(), 1);
    drop(waits);
}
