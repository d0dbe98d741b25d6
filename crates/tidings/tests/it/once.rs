//! A value that is made once.

use crate::by_hand::{poll, rt};
use std::sync::Arc;
use std::task::Poll;
use tidings::sync::{Notify, OnceCell};

#[test]
fn a_value_is_made_by_one_at_a_time_until_one_succeeds() {
    let cell = OnceCell::new();
    let gate = Notify::new();
    let make = |says: Result<u8, &'static str>| {
        let gate = &gate;
        cell.get_or_try_init(move || async move {
            gate.notified().await;
            says
        })
    };
    let mut waits = [Err("first"), Ok(2), Ok(3), Ok(4)].map(|says| Box::pin(make(says)));
    for wait in &mut waits {
        assert!(poll(wait.as_mut()).is_pending());
    }
    assert_eq!(cell.get(), None);
    let [first, second, third, fourth] = &mut waits;
    gate.notify_one();
    assert_eq!(poll(first.as_mut()), Poll::Ready(Err("first")));
    assert!(poll(third.as_mut()).is_pending(), "the second makes it");
    assert!(poll(second.as_mut()).is_pending());
    // Dropped amid the making.
    second.set(make(Ok(5)));
    assert!(poll(third.as_mut()).is_pending());
    gate.notify_one();
    assert_eq!(poll(third.as_mut()), Poll::Ready(Ok(&3)));
    assert_eq!(poll(fourth.as_mut()), Poll::Ready(Ok(&3)));
    assert_eq!(poll(second.as_mut()), Poll::Ready(Ok(&3)));
}

#[test]
fn who_waits_for_a_value_has_it_once_it_is_there_whoever_else_waits() {
    let (cell, gate) = (OnceCell::new(), Notify::new());
    let make = |value| {
        let gate = &gate;
        cell.get_or_init(move || async move {
            gate.notified().await;
            value
        })
    };
    let mut waits = [1, 2, 3].map(|value| Box::pin(make(value)));
    for wait in &mut waits {
        assert!(poll(wait.as_mut()).is_pending());
    }
    let [first, _kept, third] = &mut waits;
    gate.notify_one();
    assert_eq!(poll(first.as_mut()), Poll::Ready(&1));
    // Not behind one who is not polled.
    assert_eq!(poll(third.as_mut()), Poll::Ready(&1));

    let cell = OnceCell::new();
    let mut makes = Box::pin(cell.get_or_init(std::future::pending::<u8>));
    let mut waits = Box::pin(cell.get_or_init(|| async { 2 }));
    assert!(poll(makes.as_mut()).is_pending() && poll(waits.as_mut()).is_pending());
    cell.set(3).unwrap();
    assert_eq!(
        poll(waits.as_mut()),
        Poll::Ready(&3),
        "though one makes it still"
    );
}

#[test]
fn what_is_set_while_another_is_made_is_the_value() {
    rt().block_on(async {
        let cell = Arc::new(OnceCell::new());
        let theirs = cell.clone();
        let panics = tidings::spawn(async move {
            theirs
                .get_or_init(|| async { std::panic::resume_unwind(Box::new("quiet")) })
                .await;
        });
        assert!(panics.await.is_err());
        let made = cell.get_or_init(|| async {
            cell.set(1).unwrap();
            2
        });
        assert_eq!(made.await, &1);
        assert_eq!(cell.set(3), Err(3));
        assert_eq!(format!("{cell:?}"), "OnceCell(Some(1))");
        let mut cell = Arc::into_inner(cell).unwrap();
        *cell.get_mut().unwrap() += 1;
        assert_eq!(cell.into_inner(), Some(2));
    });
}
