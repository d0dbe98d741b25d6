//! The end of a task as an event.

use std::sync::Arc;
use std::task::Poll;

use crate::both::{on_all, run, seeded};
use crate::hands::{Wakes, pinned, poll_with};
use tidings::channel::oneshot::Sender;
use tidings::{Event, JoinHandle, oneshot, unbounded, yield_now};

/// A task that ends when it is told.
fn told_to_end() -> (JoinHandle<()>, Sender<()>) {
    let (tell, told) = oneshot::<()>();
    (tidings::spawn(async move { told.await.unwrap() }), tell)
}

#[test]
fn a_join_that_is_dropped_leaves_no_waker() {
    run(&seeded(1), async {
        let (mut task, tell) = told_to_end();
        let (_open, nothing) = unbounded::<()>();
        for alone in [true, false] {
            let (wakes, waker) = Wakes::new();
            let ended = task.join().map(drop);
            let mut wait = if alone {
                pinned(ended.boxed())
            } else {
                pinned(ended.or(nothing.recv().map(drop)).boxed())
            };
            assert!(poll_with(wait.as_mut(), &waker).is_pending());
            drop(wait);
            drop(waker);
            assert_eq!(Arc::strong_count(&wakes), 1, "alone: {alone}");
        }
        tell.send(()).unwrap();
        task.await.unwrap();
    });
}

#[test]
fn a_join_handle_that_is_dropped_takes_the_waker_of_who_polled_it_along() {
    run(&seeded(1), async {
        let (mut task, tell) = told_to_end();
        let end = task.abort_handle();
        let (wakes, waker) = Wakes::new();
        assert!(poll_with(std::pin::Pin::new(&mut task), &waker).is_pending());
        drop(waker);
        assert_eq!(Arc::strong_count(&wakes), 2);
        drop(task);
        assert_eq!(Arc::strong_count(&wakes), 1);
        tell.send(()).unwrap();
        while !end.is_finished() {
            yield_now().await;
        }
        assert_eq!(wakes.count(), 0);
    });
}

#[test]
fn a_join_wakes_the_last_waker_it_was_polled_with() {
    run(&seeded(2), async {
        let (mut task, tell) = told_to_end();
        let (_open, nothing) = unbounded::<()>();
        let ended = task.join().map(drop).or(nothing.recv().map(drop));
        let mut wait = pinned(ended);
        let ((first, waker), (last, other)) = (Wakes::new(), Wakes::new());
        assert!(poll_with(wait.as_mut(), &waker).is_pending());
        assert!(poll_with(wait.as_mut(), &other).is_pending());
        yield_now().await;
        assert_eq!((first.count(), last.count()), (0, 0));
        tell.send(()).unwrap();
        while last.count() == 0 {
            yield_now().await;
        }
        assert_eq!((first.count(), last.count()), (0, 1));
        assert_eq!(poll_with(wait.as_mut(), &other), Poll::Ready(()));
    });
}

#[test]
fn a_join_can_happen_at_once_when_the_task_has_ended() {
    on_all(|| async {
        let (mut task, tell) = told_to_end();
        assert!(task.join().try_now().is_err());
        tell.send(()).unwrap();
        while !task.is_finished() {
            yield_now().await;
        }
        task.join().try_now().unwrap().unwrap();
    });
}
