//! Guards of locks that borrow nothing.

use crate::by_hand::{poll, rt};
use crate::hands::pinned;
use std::sync::Arc;
use std::task::Poll;
use tidings::Event;
use tidings::sync::{Mutex, RwLock};

#[test]
fn owned_guards_go_into_tasks_and_keep_their_lock() {
    let mutex = Arc::new(Mutex::new(1));
    let mut held = mutex.try_lock_owned().unwrap();
    assert!(mutex.try_lock().is_none() && mutex.try_lock_owned().is_none());
    let mut dropped = pinned(mutex.lock_owned());
    let mut wait = pinned(mutex.lock_owned());
    assert!(poll(dropped.as_mut()).is_pending() && poll(wait.as_mut()).is_pending());
    rt().block_on(async { tidings::spawn(async move { *held += 1 }).await })
        .unwrap();
    // It had been handed the lock.
    drop(dropped);
    let Poll::Ready(held) = poll(wait.as_mut()) else {
        panic!("the task has let go")
    };
    let weak = Arc::downgrade(&mutex);
    drop((mutex, wait));
    assert_eq!((*held, weak.strong_count()), (2, 1));
    drop(held);
    assert_eq!(weak.strong_count(), 0);
}

#[test]
fn owned_reads_and_writes_are_as_borrowed_ones() {
    let lock = Arc::new(RwLock::new(1));
    let (a, b) = (
        lock.try_read_owned().unwrap(),
        lock.read_owned().try_now().unwrap(),
    );
    let mut write = pinned(lock.write_owned());
    assert!(poll(write.as_mut()).is_pending() && lock.try_write_owned().is_none());
    let mut late = pinned(lock.read_owned());
    assert!(poll(late.as_mut()).is_pending() && lock.try_read_owned().is_none());
    rt().block_on(async { tidings::spawn(async move { *a + *b }).await })
        .unwrap();
    let Poll::Ready(mut written) = poll(write.as_mut()) else {
        panic!("nobody reads")
    };
    *written = 2;
    let read = written.downgrade();
    let Poll::Ready(other) = poll(late.as_mut()) else {
        panic!("who wrote reads now")
    };
    assert!(lock.try_write().is_none());
    let weak = Arc::downgrade(&lock);
    drop((lock, write, late));
    assert_eq!((*read, *other), (2, 2));
    drop((read, other));
    assert_eq!(weak.strong_count(), 0);
}
