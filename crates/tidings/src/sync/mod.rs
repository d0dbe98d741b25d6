//! Locks and signals between tasks, for what is easier to share than to send.
//!
//! | type | waits | woken in which order |
//! |---|---|---|
//! | [`Mutex`] | until nobody else has the value | first come, first served |
//! | [`RwLock`] | until nobody writes, or nobody has the value | first come, first served |
//! | [`Semaphore`] | until there are enough permits | first come, first served |
//! | [`Notify`] | until notified | one: first come, first served; or all |
//! | [`OnceCell`] | until somebody has made the value | all |
//! | [`Barrier`] | until enough others wait | all |
//!
//! All but the last two are [events](crate::Event): they stand in choices and take
//! time-outs. All work on any executor and on plain threads, and may be dropped at any point
//! without effect on the others.
//!
//! # What was handed over belongs to the waiter
//! Locks here are fair: when a holder lets go, the lock *passes* to the first waiter at once. If
//! that waiter's task is not polled, everybody behind it waits, also the task that holds the
//! future: polling `a` in a `select!`, leaving `a` alive without polling it, and awaiting the
//! same lock in a branch stops for ever, if the lock has passed to `a` (the *futurelock*;
//! tokio#6450). So: do not keep a wait for a lock that you no longer poll; drop it, which passes the lock
//! on. A choice of events cannot do this: its losers have left every list before a branch runs.

mod barrier;
mod guard;
mod mutex;
mod notify;
mod once_cell;
mod rw_lock;
mod semaphore;

pub use barrier::{Barrier, BarrierWait, BarrierWaitResult};
pub use mutex::{Lock, Mutex, MutexGuard, OwnedMutexGuard};
pub use notify::{Notified, Notify};
pub use once_cell::OnceCell;
pub use rw_lock::{
    OwnedRwLockReadGuard, OwnedRwLockWriteGuard, Read, RwLock, RwLockReadGuard, RwLockWriteGuard,
    Write,
};
pub use semaphore::{Acquire, AcquireError, Permit, Semaphore, TryAcquireError};
