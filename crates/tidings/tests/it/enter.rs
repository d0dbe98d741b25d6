//! `Handle::enter`: threads that others call on.

use std::panic::catch_unwind;
use std::rc::Rc;
use std::thread;

use crate::both::{pool, run, seeded, watchdog};
use tidings::{Event, Handle, Runtime};

/// The name of the worker of whichever runtime this thread is inside of.
fn inside() -> Option<String> {
    let handle = Handle::try_current()?;
    let name = || thread::current().name().unwrap().to_owned();
    Some(handle.block_on(async { tidings::spawn(async move { name() }).await.unwrap() }))
}

fn named(name: &str) -> Runtime {
    Runtime::builder().workers(1).name(name).build().unwrap()
}

#[test]
fn a_thread_that_has_entered_a_runtime_starts_tasks_there_and_not_afterwards() {
    let _watchdog = watchdog();
    let rt = named("one");
    let handle = rt.handle();
    let callback = thread::spawn(move || {
        assert_eq!(inside(), None);
        let guard = handle.enter();
        assert_eq!(inside().as_deref(), Some("one-0"));
        let works = tidings::spawn_blocking(|| 1);
        assert!(catch_unwind(|| tidings::spawn_local(async {})).is_err());
        drop(guard);
        assert_eq!(inside(), None);
        assert!(catch_unwind(|| tidings::spawn(async {})).is_err());
        works
    });
    let works = callback.join().unwrap();
    assert_eq!(rt.block_on(works).unwrap(), 1);
    // A seam's tasks run when its runtime does.
    let rt = seeded(1);
    let handle = rt.handle();
    let task = {
        let _guard = handle.enter();
        tidings::spawn(async { 2 })
    };
    assert_eq!(rt.block_on(task).unwrap(), 2);
}

#[test]
fn guards_may_be_dropped_in_any_order_and_the_one_made_last_counts() {
    let _watchdog = watchdog();
    let (one, other) = (named("one"), named("other"));
    let handles = [one.handle(), other.handle()];
    let guards = handles.each_ref().map(Handle::enter);
    assert_eq!(inside().as_deref(), Some("other-0"));
    let [first, second] = guards;
    drop(first);
    assert_eq!(inside().as_deref(), Some("other-0"));
    drop(second);
    assert_eq!(inside(), None);
    let [first, second] = handles.each_ref().map(Handle::enter);
    drop(second);
    assert_eq!(inside().as_deref(), Some("one-0"));
    drop(first);
    assert_eq!(inside(), None);
}

#[test]
fn a_guard_inside_of_a_block_on_leaves_it_its_local_tasks_and_ends_with_it() {
    let _watchdog = watchdog();
    let (one, other) = (pool(1), named("other"));
    let handle = other.handle();
    let mut kept = None;
    one.block_on(async {
        kept = Some(handle.enter());
        assert_eq!(inside().as_deref(), Some("other-0"));
        let local = Rc::new(3);
        let local = tidings::spawn_local(async move { Rc::clone(&local) });
        assert_eq!(*local.await.unwrap(), 3);
    });
    assert_eq!(inside(), None);
    drop(kept);
    assert_eq!(inside(), None);
}

#[test]
fn in_a_task_a_guard_changes_nothing() {
    let _watchdog = watchdog();
    let (one, other) = (named("one"), named("other"));
    let handle = other.handle();
    let name = run(&one, async move {
        let task = {
            let _guard = handle.enter();
            tidings::spawn(async { thread::current().name().unwrap().to_owned() })
        };
        task.await.unwrap()
    });
    assert_eq!(name, "one-0");
}

#[test]
fn a_block_on_that_drops_guards_of_before_is_left_as_any() {
    let _watchdog = watchdog();
    let (one, other) = (named("one"), named("other"));
    let handle = other.handle();
    for guards in 0..3 {
        let guards: Vec<_> = (0..guards).map(|_| handle.enter()).collect();
        one.block_on(async {
            drop(guards);
            assert_eq!(inside().as_deref(), Some("one-0"));
        });
        assert_eq!(inside(), None);
        assert_eq!(tidings::always(1).wait(), 1);
    }
    let guard = handle.enter();
    one.block_on(async {
        other.block_on(async {
            drop(guard);
            assert_eq!(inside().as_deref(), Some("other-0"));
        });
        assert_eq!(inside().as_deref(), Some("one-0"));
        assert_eq!(tidings::spawn_local(async { 2 }).await.unwrap(), 2);
    });
    assert_eq!(inside(), None);
    assert_eq!(tidings::always(3).wait(), 3);
}

#[test]
fn where_a_worker_is_a_guard_changes_nothing_afterwards_either() {
    let _watchdog = watchdog();
    let other = named("other");
    let handle = other.handle();
    let rt = seeded(1);
    let mut kept = None;
    rt.block_on(async {
        kept = Some(handle.enter());
        let _for_ever = std::mem::ManuallyDrop::new(handle.enter());
    });
    assert_eq!(inside(), None);
    drop(kept);
    assert_eq!(inside(), None);
}
