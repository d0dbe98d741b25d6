//! Which worker, and which runtime, this thread belongs to. What operations ask of their thread besides: `task/here.rs`.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::ptr;
use std::rc::Rc;

use super::local_tasks::Mine;
use super::worker::Worker;
use super::{Handle, Shared};
use crate::primitive::{Arc, drawn, thread_local};
use crate::task::here::{self, Refused};
use crate::task::{self, Header};

/// A runtime that was entered.
struct Entered {
    shared: Arc<Shared>,
    by: By,
    /// Whose it is finds it by that: guards go in any order, also before a `block_on` around which they were made.
    id: Rc<()>,
}

enum By {
    /// A `block_on` with these local tasks.
    BlockOn(Rc<Mine>),
    /// A thread for blocking work.
    Thread,
    Guard,
}

/// In one poll of a guest so many times its budget are refused before it has that once more, all but the first of these
/// in a row, or in two.
const GUEST_REFUSED: u32 = 4;

/// A poll of a local task, or, with null, of none.
#[derive(Clone, Copy)]
struct Polled {
    task: *mut Header,
    budget: u32,
    /// The operations that were refused in it for want of budget.
    refused: Refused,
}

impl Polled {
    const fn new(task: *mut Header, budget: u32) -> Self {
        Self {
            task,
            budget,
            refused: Refused::NONE,
        }
    }
}

thread_local! {
    /// The worker that runs on this thread, while it does.
    static WORKER: Cell<*const Worker> = const { Cell::new(ptr::null()) };
    /// The runtimes entered on this thread, the innermost last; with the local tasks of `block_on`, where it is that.
    static ENTERED: RefCell<Vec<Entered>> = const { RefCell::new(Vec::new()) };
    /// The local task that is polled on this thread, which is no worker.
    static POLLED: Cell<Polled> = const { Cell::new(Polled::new(ptr::null_mut(), u32::MAX)) };
    /// The generator of threads that are not workers.
    static RANDOM: Cell<u64> = Cell::new(random_start());
}

/// Where a generator begins: elsewhere in each thread of each process, or else two nodes of a cluster
/// draw the same numbers. In a model always there.
pub(super) fn random_start() -> u64 {
    let start = 0x9e37_79b9_7f4a_7c15;
    match cfg!(any(loom, shuttle)) {
        true => start,
        // Xorshift stays at 0 for ever.
        false => RandomState::new().hash_one(start) | 1,
    }
}

/// The worker of this thread.
#[inline(always)]
pub(super) fn worker<'a>() -> Option<&'a Worker> {
    // SAFETY: `become_worker` takes the pointer back before the worker is dropped; callers do
    // not keep the reference beyond the call they are in.
    WORKER
        .try_with(|worker| unsafe { worker.get().as_ref() })
        .ok()
        .flatten()
}

/// Runs `f` with `worker` as the worker of this thread.
pub(super) fn become_worker<R>(worker: &Worker, f: impl FnOnce() -> R) -> R {
    let before = WORKER.with(|before| before.replace(worker));
    let (me, budget) = (here::comes(worker.me()), worker.refill_budget());
    task::finally(f, || {
        WORKER.with(|worker| worker.set(before));
        here::comes(me);
        here::refill(budget);
    })
}

/// Runs `f` with `shared` as the runtime of this thread; `mine`: in its `block_on`, of which a local task may wait
/// for the end.
pub(super) fn enter<R>(shared: &Arc<Shared>, mine: Option<Rc<Mine>>, f: impl FnOnce() -> R) -> R {
    let id = push(shared, mine.map_or(By::Thread, By::BlockOn));
    let inside = || {
        let _entered = shared.foreign.enter();
        poll_local(ptr::null_mut(), u32::MAX, f)
    };
    // With guards of what ran here that were not dropped.
    task::finally(inside, || drop(leave(&id, Vec::split_off)))
}

/// Enters a runtime; gives whom the entry is known by.
fn push(shared: &Arc<Shared>, by: By) -> Rc<()> {
    let (shared, id) = (Arc::clone(shared), Rc::new(()));
    let entry = Entered {
        shared,
        by,
        id: Rc::clone(&id),
    };
    ENTERED.with(|entered| entered.borrow_mut().push(entry));
    id
}

/// Gives what `take` takes from the place of this entry on, to be dropped. `None`: it is not there, or these are the
/// thread's last destructors.
fn leave<R>(id: &Rc<()>, take: impl FnOnce(&mut Vec<Entered>, usize) -> R) -> Option<R> {
    let taken = ENTERED.try_with(|entered| {
        let mut entered = entered.borrow_mut();
        let at = entered.iter().rposition(|its| Rc::ptr_eq(&its.id, id))?;
        Some(take(&mut entered, at))
    });
    taken.ok().flatten()
}

/// This thread is inside of a runtime, as [`Handle::enter`] says, until the guard is dropped.
#[must_use = "the thread is inside as long as the guard lives"]
pub struct EnterGuard {
    /// `None` on a worker. Stays on its thread, whose it is.
    id: Option<Rc<()>>,
}

impl Handle {
    /// From here on this thread, which is no worker, is inside of that runtime, until the guard is dropped:
    /// [`spawn`](crate::spawn), [`spawn_blocking`](crate::spawn_blocking), and what else needs a runtime, work there. For
    /// callbacks that others call on threads of their own.
    ///
    /// Of several guards the one made last counts; they may be dropped in any order. A guard made inside of a `block_on`
    /// ends with that at the latest, and is not to be held across an await. In a task it changes nothing: what a task
    /// starts is of its own runtime. [`spawn_local`](crate::spawn_local) needs a [`block_on`](Self::block_on). A runtime
    /// of tokio's is not entered with ours: enter that by its own handle, if the callback itself needs it.
    ///
    /// ```
    /// let rt = tidings::Runtime::new().unwrap();
    /// let handle = rt.handle();
    /// let callback = std::thread::spawn(move || {
    ///     let _inside = handle.enter();
    ///     tidings::spawn(async { 6 * 7 })
    /// });
    /// assert_eq!(rt.block_on(callback.join().unwrap()).unwrap(), 42);
    /// ```
    ///
    /// ```compile_fail
    /// fn moves<T: Send>(_: T) {}
    /// let rt = tidings::Runtime::new().unwrap();
    /// moves(rt.handle().enter());
    /// ```
    pub fn enter(&self) -> EnterGuard {
        let enters = worker().is_none();
        EnterGuard {
            id: enters.then(|| push(self.shared(), By::Guard)),
        }
    }
}

impl Drop for EnterGuard {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            drop(leave(id, Vec::remove));
        }
    }
}

impl fmt::Debug for EnterGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnterGuard").finish_non_exhaustive()
    }
}

/// The runtime of this thread. None in its last destructors.
pub(super) fn shared() -> Option<Arc<Shared>> {
    let entered = |entered: &RefCell<Vec<Entered>>| {
        let entered = entered.borrow();
        entered.last().map(|last| Arc::clone(&last.shared))
    };
    let worker = worker().map(Worker::shared);
    worker.or_else(|| ENTERED.try_with(entered).ok().flatten())
}

/// The innermost `block_on` of this thread, if that is what it is in.
pub(super) fn mine() -> Option<(Arc<Shared>, Rc<Mine>)> {
    ENTERED.with(|entered| match innermost(&entered.borrow())? {
        Entered {
            shared,
            by: By::BlockOn(mine),
            ..
        } => Some((Arc::clone(shared), Rc::clone(mine))),
        _ => None,
    })
}

/// The last that was entered by no guard.
fn innermost(entered: &[Entered]) -> Option<&Entered> {
    let mut entered = entered.iter().rev();
    entered.find(|entered| !matches!(entered.by, By::Guard))
}

/// Is this thread, which is no worker, in a `block_on` of a runtime? Not in its last destructors.
pub(super) fn is_in_block_on() -> bool {
    ENTERED
        .try_with(|entered| {
            let entered = entered.borrow();
            innermost(&entered).is_some_and(|entered| matches!(entered.by, By::BlockOn(_)))
        })
        .unwrap_or(false)
}

/// Runs `poll` as the poll of a local task, or, with null, as that of none, with so many operations. What a local
/// task does an actor does not that polls it.
pub(super) fn poll_local<R>(task: *mut Header, budget: u32, poll: impl FnOnce() -> R) -> R {
    let before = POLLED.with(|polled| polled.replace(Polled::new(task, budget)));
    let (actor, left) = (here::actor(), here::refill(budget));
    if !task.is_null() {
        here::here(|here| here.actor.set(0));
    }
    task::finally(poll, || {
        POLLED.with(|polled| polled.set(before));
        here::refill(left);
        here::here(|here| here.actor.set(actor));
    })
}

/// Runs `poll` as a poll by somebody else's executor, to which it gives the thread back after so many operations.
/// Inside of another poll it is a part of that.
pub(super) fn poll_as_guest<R>(budget: u32, poll: impl FnOnce() -> R) -> R {
    match worker().is_none() && is_endless() {
        true => poll_local(ptr::null_mut(), budget, poll),
        false => poll(),
    }
}

/// Is what runs on this thread, which is no worker, no poll to which there is an end?
pub(super) fn is_endless() -> bool {
    let now = POLLED.with(Cell::get);
    now.task.is_null() && now.budget == u32::MAX
}

/// The local task that is polled here, or null.
pub(super) fn polled() -> *mut Header {
    POLLED.with(Cell::get).task
}

/// The budget is spent, and this thread is no worker. `false`: a local task or a guest runs; others of its poll have
/// what [`Refused::beside`] says from here on, as those of a worker's task.
///
/// In a guest's poll a thread may wait for what is refused, by a `block_on` that is not ours and asks again and again:
/// after so many in a row that no loop around a `select!` has as many branches, it has its budget once more.
pub(super) fn goes_on() -> bool {
    let now = POLLED.with(Cell::get);
    let guest = now.task.is_null();
    if guest && now.budget == u32::MAX {
        here::refill(now.budget);
        return true;
    }
    let mut refused = now.refused;
    let left = if guest && refused.times() == now.budget.saturating_mul(GUEST_REFUSED) {
        refused = Refused::NONE;
        now.budget
    } else {
        refused.beside(now.budget, random_below)
    };
    here::refill(left);
    POLLED.with(|polled| polled.set(Polled { refused, ..now }));
    false
}

/// Xorshift (Marsaglia 2003): a number below `n`, for a thread that is not a worker.
pub(super) fn random_below(n: usize) -> usize {
    drawn(n).unwrap_or_else(|| RANDOM.with(|state| xorshift_below(state, n)))
}

#[inline(always)]
pub(super) fn xorshift_below(state: &Cell<u64>, n: usize) -> usize {
    let mut x = state.get();
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    state.set(x);
    // The product's high half is below n.
    (((x >> 32) * n as u64) >> 32) as usize
}
