//! tokio's `tests/{task_abort,task_join_set,task_local,task_blocking,macros_select}.rs` and
//! tokio-util's `tests/sync_cancellation_token.rs`.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures::StreamExt;

use crate::both::{on_all, on_pools, pool, run, watchdog};
use crate::hands::{Wakes, pinned, poll, poll_with};
use crate::letter::Ledger;
use crate::turns;
use tidings::{
    CancellationToken, Event, JoinSet, after, always, channel, choose, never, oneshot, select,
    unbounded, yield_now,
};

fn quiet_panic() -> ! {
    resume_unwind(Box::new("quiet"))
}

/// `task_abort.rs: test_abort_without_panic_3157`, `_3662`, `test_abort_wakes_task_3964`: a task that
/// sleeps is aborted, through either handle, more than once, after its end, and its handle says so.
#[test]
fn a_task_is_aborted_at_any_time_any_number_of_times() {
    on_all(|| async {
        for at in 0..4 {
            let ledger = Ledger::default();
            let letter = ledger.letter(1);
            let task = tidings::spawn(async move {
                let _letter = letter;
                after(Duration::from_secs(100)).await;
            });
            let handle = task.abort_handle();
            turns(at).await;
            handle.abort();
            task.abort();
            handle.clone().abort();
            let error = task.await.unwrap_err();
            assert!(error.is_cancelled() && !error.is_panic());
            assert_eq!(ledger.alive(), 0);
            handle.abort();
            assert!(handle.is_finished());
        }
    });
}

/// `test_join_error_display`, `test_join_error_debug`: an error says whether it is an abort or a
/// panic, and the panic's text if it has one.
#[test]
fn a_join_error_says_what_happened() {
    on_all(|| async {
        let aborted = tidings::spawn(std::future::pending::<()>());
        aborted.abort();
        let aborted = aborted.await.unwrap_err();
        let owned = tidings::spawn(async { resume_unwind(Box::new("with text".to_owned())) });
        let owned: Result<(), _> = owned.await;
        let owned = owned.unwrap_err();
        let odd = tidings::spawn(async { resume_unwind(Box::new(1234)) });
        let odd: Result<(), _> = odd.await;
        let odd = odd.unwrap_err();
        assert!(format!("{owned} {owned:?}").contains("with text"));
        assert_eq!(
            (owned.panic_message(), odd.panic_message()),
            (Some("with text"), None)
        );
        assert_ne!(aborted.to_string(), odd.to_string());
        assert_eq!(odd.try_into_panic().unwrap().downcast_ref(), Some(&1234));
        assert!(aborted.try_into_panic().is_err());
    });
}

/// `task_join_set.rs: alternating`, `spawn_then_join_next`, `try_join_next`, `test_with_sleep`: tasks
/// are added and joined in turn; the count is right all the time.
#[test]
fn tasks_are_added_to_a_set_and_joined_in_turn() {
    on_all(|| async {
        let mut set = JoinSet::new();
        assert!(set.is_empty() && set.join_next().await.is_none());
        assert!(set.try_join_next().is_none());
        set.spawn(async { 0 });
        for n in 1..16 {
            set.spawn(async move { n });
            assert_eq!(set.len(), 2);
            set.join_next().await.unwrap().unwrap();
            assert_eq!(set.len(), 1);
        }
        while set.try_join_next().is_none() {
            yield_now().await;
        }
        assert!(set.is_empty());
    });
}

/// `abort_tasks`, `abort_all`, `task_panics`, `join_all`: some are aborted, some panic, some end: each
/// is joined once, as what it was.
#[test]
fn each_task_of_a_set_is_joined_as_what_it_was() {
    on_all(|| async {
        let mut set = JoinSet::new();
        let ledger = Ledger::default();
        for n in 0..15 {
            let letter = ledger.letter(n);
            let handle = set.spawn(async move {
                match n % 3 {
                    0 => letter.n,
                    1 => quiet_panic(),
                    _ => std::future::pending().await,
                }
            });
            if n % 3 == 2 {
                handle.abort();
            }
        }
        let mut counts = [0; 3];
        while let Some(end) = set.join_next().await {
            match end {
                Ok(n) => assert_eq!(n % 3, 0),
                Err(error) => {
                    counts[1 + usize::from(error.is_cancelled())] += 1;
                    continue;
                }
            }
            counts[0] += 1;
        }
        assert_eq!((counts, ledger.alive()), ([5; 3], 0));
        (0..5).for_each(|_| drop(set.spawn(std::future::pending())));
        set.abort_all();
        for _ in 0..5 {
            assert!(set.join_next().await.unwrap().unwrap_err().is_cancelled());
        }
    });
}

/// `runtime_gone`, `panic_outside_any_runtime`: tasks of a set whose runtime ends are cancelled; a
/// set outside of every runtime says so.
#[test]
fn a_set_outlives_its_runtime() {
    let _watchdog = watchdog();
    let mut set = JoinSet::new();
    let rt = pool(1);
    rt.block_on(async { drop(set.spawn(std::future::pending::<()>())) });
    drop(rt);
    assert!(set.join_next().wait().unwrap().unwrap_err().is_cancelled());
    let spawn = std::panic::AssertUnwindSafe(|| drop(set.spawn(async {})));
    assert!(std::panic::catch_unwind(spawn).is_err());
}

/// `join_set_coop`: a set in which everything has ended lets other tasks run.
#[test]
fn a_set_in_which_all_has_ended_starves_nobody() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let mut set = JoinSet::new();
        (0..1_000).for_each(|n| drop(set.spawn(async move { n })));
        turns(3).await;
        let ran = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&ran);
        drop(tidings::spawn(
            async move { flag.store(true, Ordering::SeqCst) },
        ));
        let mut joined = 0;
        while set.join_next().await.is_some() {
            joined += 1;
            if joined == 900 {
                assert!(ran.load(Ordering::SeqCst), "900 joins in one turn");
            }
        }
    });
}

tidings::task_local! {
    static PLACE: Arc<AtomicUsize>;
}

/// `task_local.rs: task_local_available_on_abort`, `_on_completion_drop`: what a task drops, at its
/// end and at its abort, still sees the task's value.
#[test]
fn what_a_task_drops_sees_the_tasks_value() {
    struct Looks;
    impl Drop for Looks {
        fn drop(&mut self) {
            PLACE.with(|place| place.fetch_add(1, Ordering::SeqCst));
        }
    }
    on_all(|| async {
        let place = Arc::new(AtomicUsize::new(0));
        for (round, ends) in [true, false].into_iter().enumerate() {
            let task = tidings::spawn(PLACE.scope(Arc::clone(&place), async move {
                let _looks = Looks;
                if !ends {
                    std::future::pending::<()>().await;
                }
            }));
            turns(3).await;
            task.abort();
            // A look in vain would have been a panic.
            assert!(
                task.await
                    .map_or_else(|error| error.is_cancelled(), |()| true)
            );
            // Aborted before its first poll it has made nothing that could look.
            assert!(place.load(Ordering::SeqCst) <= round + 1);
        }
        let before = place.load(Ordering::SeqCst);
        let mut scoped = Box::pin(PLACE.scope(Arc::clone(&place), async {
            let _looks = Looks;
            std::future::pending::<()>().await;
        }));
        assert!(poll(scoped.as_mut()).is_pending());
        drop(scoped);
        assert_eq!(place.load(Ordering::SeqCst), before + 1);
        assert!(PLACE.try_with(|_| ()).is_err());
    });
}

/// `task_blocking.rs: basic_blocking`, `block_in_blocking`: blocking work starts blocking work and
/// tasks, and waits for them.
#[test]
fn blocking_work_starts_more_and_waits_for_it() {
    on_pools(|| async {
        let outer = tidings::spawn_blocking(|| {
            let rt = tidings::Handle::current();
            let inner = rt.spawn_blocking(|| 40);
            let task = rt.spawn(async { 2 });
            let (mut inner, mut task) = (inner, task);
            inner.join().wait().unwrap() + task.join().wait().unwrap()
        });
        assert_eq!(outer.await.unwrap(), 42);
        let panics = tidings::spawn_blocking(|| quiet_panic());
        let panicked: Result<(), _> = panics.await;
        assert!(panicked.unwrap_err().is_panic());
    });
}

/// `macros_select.rs: many_branches`, `nested_one`, `never_branch_no_warnings`, `mut_ref_patterns`,
/// `one_ready`, `sync_*`: a choice of very many arms, written out.
#[test]
fn a_choice_may_be_written_with_very_many_arms() {
    on_all(|| async {
        let mut last = 0;
        for _ in 0..20 {
            last = select! {
                n = always(1) => n, n = always(1) => n, n = always(1) => n, n = always(1) => n,
                n = always(1) => n, n = always(1) => n, n = always(1) => n, n = always(1) => n,
                n = always(1) => n, n = always(1) => n, n = always(1) => n, n = always(1) => n,
                n = always(1) => n, n = always(1) => n, n = always(1) => n, n = always(1) => n,
                mut n = always(0) => { n += 1; n }
                (a, _) = always((1, "two")) => a,
                [a, ..] = always([1, 2, 3]) => a,
                () = never() => 9,
            };
            assert_eq!(last, 1);
        }
        assert_eq!(last, 1);
    });
}

/// `drop_in_fut`, `move_uncompleted_futures`, `mutable_borrowing_future_with_same_borrow_in_block`:
/// arms use what the losing events borrowed, which are gone by then.
#[test]
fn arms_may_use_what_the_losers_borrowed() {
    on_all(|| async {
        let ((tx, rx), (one, mut reply)) = (unbounded(), oneshot::<u8>());
        tx.send(1).await.unwrap();
        let mut place = Some(5);
        let (closed, _rx) = channel();
        select! {
            got = rx.recv() => {
                assert_eq!((got, place.take()), (Ok(1), Some(5)));
                one.send(2).unwrap();
                assert_eq!(reply.recv().await, Ok(2));
            }
            got = reply.recv() => assert!(got.is_err()),
            sent = closed.send_from(&mut place) => sent.unwrap(),
        }
        // A wait that is kept may stand in a choice again and again.
        let mut join = tidings::spawn(async { turns(10).await });
        let mut rounds = 0;
        loop {
            select! {
                end = join.join() => { end.unwrap(); break }
                () = after(Duration::from_micros(10)) => rounds += 1,
            }
        }
        assert!(join.is_finished() || rounds > 0);
    });
}

/// `select_streams`, `join_with_select`: two streams are drained by a choice, until both have ended.
#[test]
fn two_streams_are_drained_by_choices() {
    on_all(|| async {
        let ((a, ar), (b, br)) = (unbounded(), channel());
        let feeder = tidings::spawn(async move {
            for n in 0..20 {
                a.send(n).await.unwrap();
                b.send(n).await.unwrap();
            }
        });
        let (mut sum, mut open) = (0, [true; 2]);
        while open != [false; 2] {
            let recv = |nth: usize, rx| {
                let rx: &tidings::Receiver<u32> = rx;
                rx.recv().map(move |got| (nth, got))
            };
            let ready = [(0, &ar), (1, &br)].into_iter().filter(|end| open[end.0]);
            match choose(ready.map(|(nth, rx)| recv(nth, rx))).await {
                (_, Ok(n)) => sum += n,
                (nth, Err(_)) => open[nth] = false,
            }
        }
        assert_eq!(sum, 2 * 190);
        feeder.await.unwrap();
        assert_eq!(ar.into_stream().next().await, None);
    });
}

/// `sync_cancellation_token.rs: cancel_child_token_through_parent`, `cancel_only_all_descendants`,
/// `cancel_grandchild_token_through_parent_if_child_was_dropped`, `drop_parent_before_child_tokens`,
/// `create_child_token_after_parent_was_cancelled`, `cancel_child_token_without_parent`.
#[test]
fn a_tree_of_tokens_is_cancelled_from_any_place_downwards() {
    on_all(|| async {
        let root = CancellationToken::new();
        let (left, right) = (root.child_token(), root.child_token());
        let (leaf, other) = (left.child_token(), right.child_token());
        drop(left);
        let (wakes, waker) = Wakes::new();
        let mut wait = pinned(leaf.cancelled());
        assert!(poll_with(wait.as_mut(), &waker).is_pending());
        other.cancel();
        assert!(!right.is_cancelled() && !leaf.is_cancelled());
        right.cancel();
        assert!(!root.is_cancelled() && wakes.count() == 0);
        root.cancel();
        assert_eq!((wakes.count(), poll(wait.as_mut())), (1, Poll::Ready(())));
        assert!(root.child_token().is_cancelled());
        let root = CancellationToken::new();
        let child = root.child_token();
        drop(root);
        assert!(
            !child.is_cancelled(),
            "a token that is dropped cancels nothing"
        );
        child.cancel();
        child.cancelled().await;
    });
}

/// `run_until_cancelled_test`, `run_until_cancelled_owned_test`: work that is dropped when the token is cancelled.
#[test]
fn work_runs_until_it_is_cancelled() {
    on_all(|| async {
        let ledger = Ledger::default();
        let letter = ledger.letter(1);
        let token = CancellationToken::new();
        let mut given_up = Box::pin(token.run_until_cancelled(async move {
            let _letter = letter;
            std::future::pending::<()>().await;
        }));
        let (wakes, waker) = Wakes::new();
        assert!(poll_with(given_up.as_mut(), &waker).is_pending());
        assert_eq!((wakes.count(), ledger.alive()), (0, 1));
        token.cancel();
        assert_eq!(wakes.count(), 1);
        assert_eq!(poll_with(given_up.as_mut(), &waker), Poll::Ready(None));
        assert_eq!(ledger.alive(), 0);
        // It is not polled if the token is cancelled before, by its first poll at the latest.
        let token = CancellationToken::new();
        let unpolled = token.run_until_cancelled(async { panic!("it is polled") });
        token.cancel();
        assert_eq!(unpolled.await, None::<()>);

        let (tx, rx) = oneshot();
        let token = CancellationToken::new();
        let mut done = Box::pin(token.run_until_cancelled(rx));
        assert!(poll(done.as_mut()).is_pending());
        tx.send(42).unwrap();
        // Both at one poll: what has been done counts.
        token.cancel();
        assert_eq!(poll(done.as_mut()), Poll::Ready(Some(Ok(42))));

        // With a token of its own.
        let token = CancellationToken::new();
        let work = tidings::spawn({
            let token = token.clone();
            async move {
                token
                    .run_until_cancelled(std::future::pending::<()>())
                    .await
            }
        });
        turns(3).await;
        token.cancel();
        assert_eq!(work.await.unwrap(), None);
    });
}
