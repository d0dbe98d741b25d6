//! A worker: the loop that runs tasks.
//!
//! One turn: pop a task, poll it once, queue it again if it was woken meanwhile, share work if
//! somebody is hungry. Without work: `search.rs`.

use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::ptr::NonNull;
use std::task::Waker;
use std::time::Duration;

use super::appetite::{Appetite, Pull};
use super::current::{random_start, xorshift_below};
#[cfg(all(feature = "net", any(unix, windows), not(any(loom, shuttle))))]
use super::linger::Linger;
use super::local::Local;
use super::local_tasks::{Mine, Told};
use super::pace::Pace;
use super::rescue::Watched;
use super::seam::{Choice, Seam, Yielded};
use super::{Shared, current};
use crate::event::waits::HOOKS;
use crate::primitive::atomic::Ordering;
use crate::primitive::{ANYBODY, Arc, Me, Met, Parker, Seat};
use crate::task::here::{self, Refused};
use crate::task::{At, Header, Home, Task, drop_quietly, wake_quietly};
use crate::time::{self, Instant};

/// Turns between looks at the clock, while timers are armed.
pub(crate) const REFRESH: u32 = 32;
/// Turns between looks at the sockets by a worker that is busy.
const LOOK_TURNS: u32 = 64;
/// Turns between looks at stuck neighbours by a worker that is busy itself.
const WATCH_TURNS: u32 = 1024;

/// The part of a worker that only its thread touches. The rest is in [`Shared`].
pub(crate) struct Worker {
    pub(super) shared: Arc<Shared>,
    index: usize,
    /// Ours of `shared.remotes`.
    remote: NonNull<super::Remote>,
    pub(super) parker: Arc<Parker>,
    /// `index`, as tasks remember it and as channel locks do.
    id: Cell<u32>,
    me: Me,
    /// As a home of tasks.
    pub(super) at: At,
    /// What both have of it.
    _seat: Option<Seat>,
    /// The channel locks that lower workers held when our tasks wanted them.
    pull: Cell<Pull>,
    /// The worker to which these bring the task that runs.
    pulled: Cell<Option<usize>>,
    /// Operations for which the seam was asked in this poll; `None`: it is not.
    asked: Cell<Option<u32>>,
    /// The tasks that have let others run before an operation, and have not come back to it.
    yielded: RefCell<Yielded>,
    /// The last turn in which an operation was refused for want of budget, and those that were.
    refused: Cell<(u32, Refused)>,
    random: Cell<u64>,
    turn: Cell<u32>,
    pub(super) pace: Cell<Pace>,
    #[cfg(all(feature = "net", any(unix, windows), not(any(loom, shuttle))))]
    pub(super) linger: Cell<Linger>,
    pub(super) appetite: RefCell<Appetite>,
    /// For each neighbour: what was seen of it.
    pub(super) watched: RefCell<Vec<Watched>>,
    /// Scratch for the wakers of expired and cancelled timers, and of sockets.
    pub(super) due: RefCell<(Vec<Waker>, Vec<Waker>)>,
    /// What its runtime had heard from outside when it had nothing to do.
    pub(super) heard: Cell<u32>,
    pub(super) seam: Option<RefCell<Box<dyn Seam>>>,
    /// The local tasks, under a seam.
    pub(super) locals: Option<Mine>,
}

// SAFETY: `remote` points into `shared`, which the worker keeps and which may be sent; `locals` looks which thread it
// is on (local_tasks.rs, rule 2).
unsafe impl Send for Worker {}

impl Worker {
    pub(super) fn new(
        shared: &Arc<Shared>,
        index: usize,
        parker: Arc<Parker>,
        seam: Option<Box<dyn Seam>>,
    ) -> Self {
        // In a simulation locks lean towards nobody: it has one thread.
        let seat = seam.is_none().then(Seat::take).flatten();
        if let Some(seat) = &seat {
            shared.remotes[index].section.settle(seat.id());
        }
        Self {
            shared: Arc::clone(shared),
            index,
            remote: NonNull::from(&*shared.remotes[index]),
            parker,
            id: Cell::new(u32::try_from(index).expect("at most 65535 workers")),
            at: At::new(seat.as_ref().map(Seat::id)),
            me: Me {
                name: u8::try_from(index + 1).unwrap_or(ANYBODY),
                id: seat.as_ref().map_or(Me::ANYBODY.id, Seat::id),
            },
            _seat: seat,
            pull: Cell::default(),
            pulled: Cell::default(),
            asked: Cell::new(
                seam.as_ref()
                    .and_then(|seam| seam.interrupts().then_some(0)),
            ),
            yielded: RefCell::default(),
            refused: Cell::new((0, Refused::NONE)),
            random: Cell::new(random_start() ^ ((index as u64 + 1) << 32)),
            turn: Cell::new(0),
            pace: Cell::default(),
            #[cfg(all(feature = "net", any(unix, windows), not(any(loom, shuttle))))]
            linger: Cell::default(),
            appetite: RefCell::default(),
            watched: RefCell::new(vec![Watched::default(); shared.remotes.len()]),
            due: RefCell::default(),
            heard: Cell::new(0),
            locals: seam
                .is_some()
                .then(|| Mine::new(Told::Solo(Arc::clone(shared)))),
            seam: seam.map(RefCell::new),
        }
    }

    pub(super) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// The task that it runs, or ran last.
    #[inline(always)]
    pub(super) fn running(&self) -> *mut Header {
        // RELAXED: our own.
        self.remote().running.load(Ordering::Relaxed)
    }

    /// What runs now is no task.
    pub(super) fn runs_no_task(&self) {
        let none = std::ptr::null_mut();
        // RELAXED: our own.
        self.remote().running.store(none, Ordering::Relaxed);
    }

    pub(super) fn turn(&self) -> u32 {
        self.turn.get()
    }

    /// Waits to be unparked, for at most `timeout`.
    pub(super) fn park(&self, timeout: Option<Duration>) {
        match timeout {
            Some(timeout) => self.parker.park_timeout(timeout),
            None => self.parker.park(),
        }
    }

    pub(super) fn shared_ptr(&self) -> *const Shared {
        Arc::as_ptr(&self.shared)
    }

    /// Gives what was left.
    #[inline(always)]
    pub(super) fn refill_budget(&self) -> u32 {
        here::refill(self.shared.budget)
    }

    /// As `refill_budget`, for a seam that may be asked before each operation; `task` runs.
    pub(super) fn refill_asked(&self, task: u32) {
        self.id.set(task);
        // It has no turns.
        self.refused.set((0, Refused::NONE));
        if self.asked.get().is_some() {
            here::refill(0);
            self.asked.set(Some(0));
            self.yielded.borrow_mut().begin();
        }
    }

    /// The budget is spent, or a seam is asked before each operation. `false`: yield.
    #[cold]
    pub(super) fn goes_on(&self) -> bool {
        self.goes_on_unasked() && {
            let asked = self.asked.get().unwrap_or(0);
            self.asked.set(Some(asked + 1));
            let task = self.id.get();
            let mut yielded = self.yielded.borrow_mut();
            yielded.may_pass(task, asked) || {
                let goes_on = asked < self.shared.budget && self.choose(Choice::Yield, 2) == 0;
                yielded.note(task, goes_on);
                goes_on
            }
        }
    }

    /// As `goes_on`, where a seam that is asked before each operation is not asked, and it goes on.
    ///
    /// Where there is none, others of the same poll have what [`Refused::beside`] says from here on: the second of a `join!`,
    /// or the timer of a timeout, which would never begin beside one that is always ready.
    #[cold]
    pub(super) fn goes_on_unasked(&self) -> bool {
        let asking = self.asked.get().is_some();
        let left = if asking {
            // Under such a seam the next operation comes here, too.
            0
        } else {
            let (poll, refused) = self.refused.get();
            let turn = self.turn.get();
            let mut refused = if poll == turn { refused } else { Refused::NONE };
            let left = refused.beside(self.shared.budget, |n| self.choose(Choice::Random, n));
            self.refused.set((turn, refused));
            left
        };
        here::refill(left);
        asking
    }

    #[inline(always)]
    pub(super) fn runs_for(&self, shared: *const Shared) -> bool {
        std::ptr::eq(Arc::as_ptr(&self.shared), shared)
    }

    #[inline(always)]
    pub(super) fn remote(&self) -> &super::Remote {
        // SAFETY: it is in `shared`, which this worker keeps.
        unsafe { self.remote.as_ref() }
    }

    /// The private queues.
    #[inline(always)]
    pub(super) fn local<R>(&self, f: impl FnOnce(&mut Local) -> R) -> R {
        // SAFETY: this thread is the worker, and `f` (ours, in this module and in `mod.rs`)
        // does not come back here.
        unsafe { self.remote().local.enter(f) }
    }

    /// A task was woken by the one that runs.
    #[inline(always)]
    pub(super) fn push_woken(&self, task: Task) {
        if task.ran_elsewhere(self.id.get()) {
            self.appetite.borrow_mut().crossed();
        }
        self.local(|local| local.push_woken(task));
    }

    /// The one that runs has spawned a task.
    #[inline(always)]
    pub(super) fn push_spawned(&self, task: Task) {
        let hungry = if self.seam.is_none() {
            self.shared.idle.is_hungry()
        } else {
            self.number(&task);
            false
        };
        task.set_parent(self.running());
        let shared = self.local(|local| {
            local.push_spawned(task);
            hungry && local.share_spawned(&self.remote().inbox)
        });
        if shared {
            self.shared.notify();
        }
    }

    /// See the function of `mod.rs`.
    #[inline(always)]
    pub(super) fn forgoes_new(&self, task: &Header) -> bool {
        self.local(|local| local.is_newest(task) && task.forgo_new())
    }

    /// As tasks know us that lean towards us.
    #[inline(always)]
    pub(super) fn home(&self) -> Home<'_> {
        Home {
            section: &self.remote().section,
            at: self.at,
            turn: self.turn.get(),
        }
    }

    /// As whom we lock a channel; workers beyond 254 are anybody.
    #[inline(always)]
    pub(super) fn me(&self) -> Me {
        self.me
    }

    /// The task that runs found that another has, or had, the lock of a channel.
    pub(super) fn met(&self, whom: Met) {
        let Met::Holder(holder) = whom else {
            return self.appetite.borrow_mut().crossed();
        };
        self.appetite.borrow_mut().waited();
        let worker = usize::from(holder) - 1;
        // Always towards the lower number, so that two workers do not change places.
        if holder != ANYBODY && worker < self.index {
            let mut pull = self.pull.get();
            if pull.met(time::system()) {
                self.pulled.set(Some(worker));
            }
            self.pull.set(pull);
        }
    }

    #[inline(always)]
    fn seam(&self) -> Option<&RefCell<Box<dyn Seam>>> {
        self.seam.as_ref().filter(|_| HOOKS)
    }

    #[inline(always)]
    pub(super) fn choose(&self, choice: Choice, n: usize) -> usize {
        match self.seam() {
            None => xorshift_below(&self.random, n),
            Some(seam) => seam.borrow_mut().choose(choice, n),
        }
    }

    pub(super) fn seam_now(&self) -> Option<Duration> {
        self.seam().map(|seam| seam.borrow_mut().now())
    }

    pub(super) fn seam_incarnation(&self) -> Option<u64> {
        self.seam.as_ref()?.borrow().incarnation()
    }

    pub(super) fn seam_fault(&self, at: &'static Location<'static>) -> bool {
        let seam = self.seam.as_ref();
        seam.is_some_and(|seam| seam.borrow_mut().fault(at))
    }

    /// Asks the seam what to do when nothing can run.
    pub(super) fn seam_idle(&self, next: Option<Duration>) -> Option<bool> {
        self.seam.as_ref().map(|seam| seam.borrow_mut().idle(next))
    }

    /// The thread of a worker, until the runtime shuts down.
    pub(super) fn run(&self) {
        current::become_worker(self, || {
            while !self.shared.is_closing() {
                match self.next_task() {
                    Some(task) => self.run_task(task),
                    None => self.idle(),
                }
            }
        });
    }

    /// Runs one task for one poll.
    #[inline(always)]
    pub(super) fn run_task(&self, task: Task) {
        self.refill_budget();
        self.run_on(task);
    }

    /// As [`run_task`](Self::run_task), with the budget as it is.
    #[inline(always)]
    fn run_on(&self, task: Task) {
        let again = self.poll_task(task);
        // Also if it waits now: who wakes it decides where it goes on.
        let pulled = self.pulled.take();
        if let Some(again) = again {
            if let Some(worker) = pulled {
                again.let_go(self.at);
                self.shared.send_to(worker, again);
            } else {
                self.local(|local| local.push_yielded(again));
            }
        }
    }

    /// Polls a task; gives it if it is to run again.
    #[inline(always)]
    fn poll_task(&self, task: Task) -> Option<Task> {
        // RELAXED: a neighbour asks whom we poll when we have done so for long.
        self.remote()
            .running
            .store(task.as_ptr(), Ordering::Relaxed);
        let moved = task.set_ran_on(self.id.get());
        task.run(Some(self.home()), moved)
    }

    /// Under a seam, where there is one worker, tasks remember their number instead of it.
    pub(super) fn number(&self, task: &Task) -> u32 {
        task.ran_on().unwrap_or_else(|| {
            let number = self.turn.get();
            self.turn.set(number + 1);
            task.set_ran_on(number);
            number
        })
    }

    /// Under a seam, all that could run: local tasks last, or first if another one ran last.
    pub(super) fn each_ready(&self, mut each: impl FnMut(&Task)) {
        let Some(locals) = &self.locals else { return };
        let first = locals.first() > 0;
        if first {
            locals.each(&mut each);
        }
        self.local(|local| local.line_up().iter().for_each(&mut each));
        if !first {
            locals.each(each);
        }
    }

    /// Runs the `pick`th of those, and gives its number.
    pub(super) fn run_picked(&self, pick: usize) -> Option<u32> {
        let locals = self.locals.as_ref()?;
        let (first, others) = (locals.first(), self.local(|local| local.line_up().len()));
        let is_local = !(first..first + others).contains(&pick);
        let task = match is_local {
            true if pick < first => locals.pick(pick),
            true => locals.pick(pick - others),
            false => self.local(|local| local.line_up().remove(pick - first)),
        };
        let task = task?;
        locals.turn(!is_local);
        let number = self.number(&task);
        self.refill_budget();
        self.refill_asked(number);
        if is_local {
            // RELAXED: our own.
            self.remote()
                .running
                .store(task.as_ptr(), Ordering::Relaxed);
            if let Some(again) = task.run(None, true) {
                locals.again(again);
            }
        } else if let Some(again) = self.poll_task(task) {
            self.local(|local| local.line_up().push_back(again));
        }
        Some(number)
    }

    /// Under a seam: the runtime ends. `true`: its local tasks are another thread's, and stay.
    pub(super) fn end(&self) -> bool {
        let end = || self.locals.as_ref().filter(|locals| !locals.end());
        let stay = current::become_worker(self, end);
        Shared::end(&self.shared, Some(self));
        stay.inspect(|locals| locals.leak()).is_some()
    }

    #[inline(always)]
    pub(super) fn begin_turn(&self) {
        let turn = self.turn.get().wrapping_add(1);
        self.turn.set(turn);
        // RELAXED: a neighbour only compares it with what it saw a millisecond ago.
        self.remote().turn.store(turn, Ordering::Relaxed);
        if turn.is_multiple_of(REFRESH) {
            self.tick(turn);
        }
    }

    #[inline]
    fn next_task(&self) -> Option<Task> {
        self.begin_turn();
        let remote = self.remote();
        let hungry = self.shared.idle.is_hungry();
        let (task, shared) = self.local(|local| {
            if !remote.sent.is_empty() {
                remote.sent.take_all(|task| local.push_yielded(task));
            }
            let task = local.pop(&remote.inbox);
            let shared = hungry && task.is_some() && local.share(&remote.inbox, self.at);
            (task, shared)
        });
        if shared {
            self.shared.notify();
        }
        task.or_else(|| self.take_from(self.index))
    }

    /// Every [`REFRESH`] turns: timers, and now and then a look at the sockets and the neighbours.
    #[cold]
    fn tick(&self, turn: u32) {
        if !self.local(|local| local.timers.is_idle()) {
            self.refresh_timers();
        }
        if turn.is_multiple_of(LOOK_TURNS) {
            if self.shared.idle.has_sated() {
                self.note_pace(time::system());
            }
            self.look_at_sockets();
        }
        if turn.is_multiple_of(WATCH_TURNS) && self.shared.remotes.len() > 1 {
            self.rescue();
        }
    }

    /// Gives new timers their time, wakes those that are due. The earliest left.
    pub(super) fn refresh_timers(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut due = self.due.take();
        let next = self.local(|local| {
            if local.timers.is_idle() {
                return None;
            }
            local.timers.refresh(now, &mut due.0, &mut due.1);
            local.timers.next()
        });
        drop_quietly(due.1.drain(..));
        if !due.0.is_empty() {
            self.hear();
        }
        wake_quietly(due.0.drain(..));
        self.due.replace(due);
        next
    }

    /// Takes the older half of an inbox; runs one of them, queues the rest.
    #[inline]
    pub(super) fn take_from(&self, index: usize) -> Option<Task> {
        let inbox = &self.shared.remotes[index].inbox;
        if inbox.is_empty() {
            return None;
        }
        let (first, taken) = self.local(|local| local.take_from(inbox));
        // What waits behind a long poll is taken whatever it costs.
        if taken > 0 && index != self.index && !self.is_rescued(index) {
            let now = time::system();
            self.appetite.borrow_mut().take(taken, index, now);
        }
        first
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
pub(super) mod tests {
    use std::sync::{Barrier, Mutex};

    use super::super::appetite::PULLED;
    use super::{ANYBODY, Arc, Met, Worker, current};
    use crate::Runtime;

    /// Runs `part` on two workers of `runtime`, one poll on each, which begin together; what one of them gives.
    pub(in super::super) fn on_both<R: Send + 'static>(
        runtime: &Runtime,
        part: impl Fn(&Worker, &Barrier) -> Option<R> + Clone + Send + 'static,
    ) -> Option<R> {
        let both = Arc::new(Barrier::new(2));
        let parts = [Arc::clone(&both), both].map(|both| {
            let part = part.clone();
            runtime.spawn(async move {
                let worker = current::worker().expect("it is one");
                both.wait();
                part(worker, &both)
            })
        });
        let gave = parts.map(|part| runtime.block_on(part).unwrap());
        gave.into_iter().flatten().next()
    }

    #[test]
    fn new_tasks_that_are_stuck_are_new_to_who_takes_them() {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let ran = on_both(&runtime, |worker, both| {
            let began = Arc::new(Mutex::new(Vec::new()));
            if worker.index() == 0 {
                // The other one is not hungry yet.
                for parent in 0..8 {
                    let began = Arc::clone(&began);
                    crate::spawn(async move {
                        began.lock().unwrap().push(parent);
                        crate::spawn(async move { began.lock().unwrap().push(parent + 8) });
                    });
                }
            }
            both.wait();
            if worker.index() == 1 {
                return None;
            }
            let mut ran = Vec::new();
            while ran.len() < 16 {
                ran.clone_from(&began.lock().unwrap());
            }
            Some(ran)
        });
        // Four come over at once. The child of the first is before the last.
        let first = ran.unwrap()[..4].to_vec();
        assert!(first.iter().any(|began| *began >= 8), "{first:?}");
    }

    #[test]
    fn a_lock_that_anybody_holds_draws_a_task_to_no_worker() {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let drawn = runtime.spawn(async {
            let worker = current::worker().expect("it is one");
            (0..=PULLED).for_each(|_| worker.met(Met::Holder(ANYBODY)));
            worker.pulled.get()
        });
        assert_eq!(runtime.block_on(drawn).unwrap(), None);
    }
}
