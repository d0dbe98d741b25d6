//! The exceptions to the rules of `tidy`, each with its reason. An entry that is no longer needed
//! is an error, so the tables shrink when the code does.

/// A file has at most this many lines.
pub(super) const CAP: usize = 600;

/// The only files with `unsafe` in them, and why.
pub(super) const UNSAFE: &str = "\
crates/tidings/src/models/biased.rs: a model calls what it explores, and touches loom's cells
crates/tidings/src/models/cancel.rs: data that two threads hand over by a cancellation
crates/tidings/src/models/lean.rs: a model touches loom's cells
crates/tidings/src/models/leaning.rs: a model touches loom's cells
crates/tidings/src/models/lock.rs: a model touches loom's cells
crates/tidings/src/models/mod.rs: a value that counts its drops, in a model's cell
crates/tidings/src/models/parker.rs: a model touches loom's cells
crates/tidings/src/models/state.rs: a model touches loom's cells
crates/tidings/src/models/timers.rs: a model calls what it explores
crates/tidings/tests/memory.rs: an allocator that counts, which is an unsafe trait
crates/tidings/tests/stress/stalls.rs: a signal handler that sleeps, and signals to threads
crates/tidings/src/channel/wait.rs: the commit protocol of all cells and locks, written once
arena/peers/shared/rust-protocol/src/alloc.rs: an allocator that counts, which is an unsafe trait
arena/peers/rust-actors/src/on_may/mod.rs: may's way to start a coroutine
crates/tidings/src/actor/address.rs: a counted pointer to a mailbox whose message type is not known any more
crates/tidings/src/event/boxed.rs: an event that owns what it borrows from
crates/tidings/src/actor/exit.rs: a reply without its bound `'static`, which its maker has
crates/tidings/src/actor/roll.rs: counted pointers to mailboxes whose message types are not known any more
crates/tidings/src/actor/run.rs: the pinned future of an actor, which is dropped in place before its task ends
crates/tidings/src/actor/tell.rs: the slot of a wait for a place, enrolled by its event
crates/tidings/src/channel/refs.rs: handles that count themselves
crates/tidings/src/channel/chan.rs: one count for both sides of a channel, which frees its slot; values beside waiters
crates/tidings/src/channel/oneshot/mod.rs: two halves own one cell, without a count; the last to go frees it
crates/tidings/src/channel/oneshot/receiver.rs: one of the two halves
crates/tidings/src/channel/queue.rs: values in blocks of the slab, some of whose places are empty
crates/tidings/src/channel/source.rs: the state behind a lock that the event holds, and slots that partners write to
crates/tidings/src/channel/stream.rs: a handle and the wait that borrows it, in one value
crates/tidings/src/event/future.rs: the one future of all events, to which its waiters point
crates/tidings/src/event/offer.rs: a list linked through the waits themselves
crates/tidings/src/event/wait.rs: locks of an event that is tried while they are held
crates/tidings/src/event/slice.rs: the elements of a pinned slice, which std cannot give out yet
crates/tidings/src/primitive/alarm.rs: a timerfd, which std does not have
crates/tidings/src/primitive/barrier.rs: a system call that touches no memory
crates/tidings/src/primitive/biased.rs: the owner's side of the biased lock hands out its value
crates/tidings/src/primitive/leaning.rs: what only the holder of a lock touches
crates/tidings/src/primitive/lock.rs: the guard of the spin lock hands out its value
crates/tidings/src/primitive/prefetch.rs: a hint to the processor, of any address
crates/tidings/src/primitive/chunk.rs: a chunk is found from the address of a slot in it
crates/tidings/src/primitive/slab.rs: the free list runs through slots that are never given back
crates/tidings/src/primitive/small_box.rs: a trait object lies in place, and is found from where that is
crates/tidings/src/remote/port.rs: the link of a thread, which comes back as the type as which it went in
crates/tidings/src/sched/current.rs: the worker of this thread, by a pointer in a thread-local
crates/tidings/src/sync/barrier.rs: a future around a pinned future
crates/tidings/src/sync/guard.rs: the guards of locks hand out their values
crates/tidings/src/sync/mutex.rs: the value goes with the lock
crates/tidings/src/sync/rw_lock.rs: the value goes with the lock
crates/tidings/src/sched/local_tasks.rs: a local task refers to its set without a count
crates/tidings/src/sched/mod.rs: a task refers to its runtime without a count
crates/tidings/src/sched/record.rs: the worker of this thread is the owner of its ring
crates/tidings/src/sched/rings.rs: a worker's own ring, behind the lock that is biased towards it
crates/tidings/src/sched/worker.rs: a worker points to its place in the runtime that it keeps, and owns its biased lock
crates/tidings/src/task/alive.rs: the slots of all tasks, of which it looks at what is atomic
crates/tidings/src/task/cell.rs: the memory of a task: future and output in one place, behind a table of functions
crates/tidings/src/task/child.rs: a future around a pinned future
crates/tidings/src/task/ending.rs: who completes a task, or lets go of it last, owns its cell
crates/tidings/src/task/handle.rs: a handle is a pointer to its task's cell
crates/tidings/src/task/stage.rs: a future and its output share the place, and its owner alone touches it
crates/tidings/src/task/waker.rs: a waker is a pointer to its task's cell, without a count
crates/tidings/src/time/clock.rs: the processor's time stamp counter, which std does not read
crates/tidings/src/time/outside.rs: a timer's node belongs to the wait that armed it
crates/tidings/src/time/timers.rs: a timer's node belongs to the wait that armed it
";

/// What the runtime may name in few places only.
pub(super) struct Door {
    /// Paths, matched whole: `std::thread` is also `std::thread::spawn` and `use std::{thread}`.
    pub(super) names: &'static [&'static str],
    /// Folders or files below `RUNTIME` where they may stand.
    pub(super) inside: &'static [&'static str],
    pub(super) why: &'static str,
}

/// The sources the doors are about.
pub(super) const RUNTIME: &str = "crates/tidings/src/";

pub(super) const DOORS: &[Door] = &[
    Door {
        names: &["std::sync::atomic", "core::sync::atomic"],
        inside: &["primitive/"],
        why: "take atomics from `crate::primitive`, so that loom sees them",
    },
    Door {
        names: &["std::thread"],
        inside: &["primitive/"],
        why: "take threads from `crate::primitive`, so that loom sees them",
    },
    Door {
        names: &["std::cell::UnsafeCell", "core::cell::UnsafeCell"],
        inside: &["primitive/"],
        why: "take cells from `crate::primitive`, so that loom sees them",
    },
    Door {
        names: &["std::time::Instant", "std::time::SystemTime"],
        inside: &["primitive/", "time/clock.rs"],
        why: "take the time from `crate::time`, so that a simulation can own it",
    },
];

/// Single uses that no door can serve: file, name, and why.
pub(super) const THROUGH_THE_WALL: &str = "\
crates/tidings/src/actor/mod.rs std::sync::atomic: the last actor's number is a static, which an atomic of loom cannot be; it orders nothing
crates/tidings/src/channel/mod.rs std::sync::atomic: the count of dead letters is a static, which an atomic of loom cannot be; it orders nothing
crates/tidings/src/event/waits.rs std::sync::atomic: the count of runtimes that watch is a static, which an atomic of loom cannot be; it orders nothing
crates/tidings/src/event/locks.rs std::sync::atomic: the number of a lock in a model, which is outside of what the model explores
crates/tidings/src/models/mod.rs std::sync::atomic: the tally of outcomes is outside of what a model explores
crates/tidings/src/models/lean.rs std::sync::atomic: a check that is outside of what the model explores
crates/tidings/src/models/mod.rs std::time::Instant: how long a model took is printed, and nothing depends on it
crates/tidings/src/models/state.rs std::sync::atomic: a check that is outside of what the model explores
crates/tidings/src/task/local.rs std::thread: the key that `thread_local!` makes in the user's crate; no thread is started
";

/// What a table lists, without the reasons.
pub(super) fn listed(table: &str) -> impl Iterator<Item = &str> {
    table
        .lines()
        .filter_map(|line| Some(line.split_once(": ")?.0))
}
