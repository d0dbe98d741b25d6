//! Tasks: what runs beside other things, and how its end is heard of.
//!
//! A task is a future that the workers of a runtime poll, whether or not anybody waits for it.
//!
//! - **Spawn.** [`spawn`](crate::spawn) starts one, [`spawn_local`](crate::spawn_local) one whose future is
//!   not `Send`, on the thread of a `block_on`. The [`JoinHandle`] gives its output; a handle that is dropped lets the
//!   task go on. [`JoinSet`] and [`scope`](crate::scope()) are for several; a scope ends when its tasks have.
//! - **Budget.** A task runs until it waits. After 128 operations of channels, timers and sockets in one poll
//!   ([`Builder::budget`](crate::sched::Builder::budget)) the next one lets others run first. Code that computes for
//!   long without any awaits [`yield_now`] now and then.
//! - **Abort.** [`abort`](JoinHandle::abort) drops the future at the task's next turn; who joins it hears
//!   [`is_cancelled`](JoinError::is_cancelled). Asking a task to end, rather than dropping it where it waits, is
//!   what a [`CancellationToken`](crate::CancellationToken) is for.
//! - **Panic.** It ends its task and nothing else; who joins it gets the panic as a [`JoinError`]. Of one that nobody
//!   joins, [`Builder::watch_panics`](crate::sched::Builder::watch_panics) tells; it is on in tests.
//! - **Blocking.** A future that blocks its thread holds a worker; what waits behind it is taken by another worker,
//!   if there is one. [`spawn_blocking`](crate::spawn_blocking) runs a closure on a thread that is made for it. The
//!   `block_on` of another library is for such a closure, too: inside of a task it holds the worker, and for ever where
//!   it does more operations than the budget, which is full again only when the task's poll ends.
//!
//! ```
//! # tidings::Runtime::new().unwrap().block_on(async {
//! let sum = tidings::spawn(async { 1 + 2 });
//! assert_eq!(sum.await.unwrap(), 3);
//!
//! let waits = tidings::spawn(std::future::pending::<()>());
//! waits.abort();
//! assert!(waits.await.unwrap_err().is_cancelled());
//!
//! let panics = tidings::spawn(async { panic!("boom") });
//! assert_eq!(panics.await.unwrap_err().panic_message(), Some("boom"));
//! # });
//! ```

// | file | what |
// |---|---|
// | `word.rs` | what the state word says |
// | `state.rs` | its transitions |
// | `lean.rs` | the run right of a task that one worker runs, without read-modify-writes |
// | `cell.rs` | the allocation: header, then future or output; what knows the future's type |
// | `ending.rs` | complete, and free: what does not |
// | `alive.rs` | all tasks that have not ended |
// | `stage.rs` | what the allocation holds: future, output or nothing |
// | `waker.rs` | the waker, free to clone and drop |
// | `handle.rs` | `JoinHandle`, `AbortHandle`, `JoinError`, `Join` |
// | `child.rs` | a task that tells its parent when it ends |
// | `panic.rs` | what a task has panicked with, until somebody hears of it |
// | `set.rs` | `JoinSet` |
// | `local.rs` | `task_local!`, `LocalKey` |
// | `here.rs` | what every operation asks of its thread: as whom it locks, its budget, what its poll has done |
// | `yield_now.rs` | `yield_now` |
// | `name.rs` | `named`: a future by whose name its task goes in reports |
//
// Who may touch what in a cell:
//
// | field | before the spawn | while alive | once complete |
// |---|---|---|---|
// | `state`, `lean`, `out` | anybody, by their methods | | |
// | `parent`, `ran_on` | maker | owner of the run right | nobody |
// | `holds`, `stage` | maker | the running worker | the join handle, or the completer if it is gone |
// | `joiner` | nobody | the join handle; from the end on the completer, if the state has a waker | nobody |
// | `vtable`, `shared`, `location` | maker | read by all | read by the slot's owner |

mod alive;
mod cell;
pub(crate) mod child;
mod ending;
mod handle;
pub(crate) mod here;
mod lean;
mod local;
mod name;
pub(crate) mod panic;
mod set;
mod stage;
mod state;
mod waker;
mod word;
mod yield_now;

pub(crate) use alive::{Alive, each_alive};
pub(crate) use cell::{Header, Task};
#[cfg(all(test, loom))]
pub(crate) use ending::Out;
pub use handle::{AbortHandle, Join, JoinError, JoinHandle};
pub(crate) use lean::Home;
#[cfg(all(test, loom))]
pub(crate) use lean::Lean;
pub use local::{LocalKey, NoTaskLocal, Scoped};
pub use name::{Named, named};
pub(crate) use name::{in_words, name_of, words};
pub(crate) use panic::text_of;
pub use set::{JoinNext, JoinSet};
#[cfg(all(test, loom))]
pub(crate) use state::State;
pub(crate) use waker::{
    Woken, clone_waker, copy_ours, drop_quietly, each, finally, first, go_on, is_ours, quietly,
    wake_all, wake_each, wake_now, wake_partner, wake_quietly,
};
pub(crate) use word::At;
pub use yield_now::{YieldNow, yield_now};

/// Gives task memory that nothing uses back to the system; returns bytes.
///
/// A task's memory is type-stable: slots are kept for reuse at their peak, so that wakers need
/// no reference count. Call this after a burst of tasks if the memory matters. Slots in the
/// caches of other threads (at most 128 per size class and thread) stay. Only Linux gives
/// pages back; elsewhere this returns 0.
///
/// ```
/// let given_back = tidings::task::trim();
/// assert_eq!(given_back % 4096, 0);
/// ```
pub fn trim() -> usize {
    crate::primitive::slab::trim()
}
