//! Deadlocks: a runtime on which nothing can happen any more says who waits for what.
//!
//! On if asked for ([`Builder::watch_deadlocks`](super::Builder::watch_deadlocks), `#[tidings::main(deadlocks = true)]`),
//! and in `#[tidings::test]`. The thread in `block_on`, which has nothing else to do, looks now and then; the
//! workers pay nothing. A runtime stands still if
//! 1. all workers sleep, no task is queued, no local task runs, nor the future of another thread's `block_on`, and
//!    neither a worker has taken a turn nor one of these run since the last look;
//! 2. no timer is set, neither of a worker, nor of the future of a `block_on` or a local task;
//! 3. what runs of blocking work waits for an event, as in 2 and 4 ([`Event::wait`](crate::Event::wait); an actor on a
//!    thread of its own), and what is queued has no other thread;
//! 4. no foreign code has had the waker of a task that is alive (I/O of another library), nor has
//!    that of the future of a `block_on`, and none of them waits for ctrl-C, or for the end of another runtime's task;
//! 5. all this has been so for as long as the runtime was told to be patient. A thread outside that
//!    holds a sender or a reference, and uses it later than that, cannot be known of: it is what the
//!    patience is for. Under a seam there are no such threads unless the program starts them.
//!
//! Tasks that wait for each other's ends in a circle stand still though others run. They are looked for as often, and
//! told of as patiently ([`waits::circles`]); not under a seam.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::panic::Location;
use std::ptr;
use std::task::{Context, Waker};
use std::time::Duration;

use super::blocking::Blocking;
use super::record::Party;
use super::root::Main;
use super::{Shared, record, root};
use crate::actor;
use crate::event::waits::{self, About, Wait};
use crate::primitive::Arc;
use crate::primitive::atomic::{AtomicBool, Ordering};
use crate::task;
use crate::time::{self, Instant};

/// Looks in the time of the patience; all must find the same.
const LOOKS: u32 = 4;

/// So many who wait for what is no event are named.
const UNKNOWN: usize = 16;

/// As `root::block_on`, watching.
pub(super) fn block_on(shared: &Arc<Shared>, patience: Duration, mut main: Main<'_>) {
    root::inside(shared, move |root, mine| {
        let waker = root.waker();
        let mut context = Context::from_waker(&waker);
        let interval = patience / LOOKS;
        let mut joins = Joins::new(interval);
        while root.poll(shared, &mut main, &mut context).is_pending() {
            let (mut seen, mut looks) = (None, 0);
            loop {
                let woken = mine.wait(root, shared.budget, Some(interval));
                joins.look(shared);
                if woken {
                    break;
                }
                let still = shared.stillness().filter(|_| root.stuck(shared).is_some());
                looks = if still.is_some() && still == seen {
                    looks + 1
                } else {
                    0
                };
                seen = still;
                if looks == LOOKS {
                    panic!("{}", report(shared, root.address()));
                }
            }
        }
    });
}

/// Tasks that wait for each other's ends: while others run the runtime does not stand still, but those do.
struct Joins {
    /// A look each.
    interval: Duration,
    looked: Instant,
    seen: Vec<Vec<usize>>,
    /// So often that was seen.
    looks: u32,
}

impl Joins {
    fn new(interval: Duration) -> Self {
        Self {
            interval,
            looked: time::system(),
            seen: Vec::new(),
            looks: 0,
        }
    }

    /// Looks if it is time to.
    fn look(&mut self, shared: &Shared) {
        let now = time::system();
        if now.saturating_since(self.looked) < self.interval {
            return;
        }
        self.looked = now;
        let circles = waits::circles();
        let same = !circles.is_empty() && circles == self.seen;
        self.looks = if same { self.looks + 1 } else { 0 };
        self.seen = circles;
        if self.looks >= LOOKS
            && let Some(text) = shared.tell_circles(&self.seen)
        {
            panic!("{text}");
        }
    }
}

impl Shared {
    /// `Some`: the future of a `block_on` waits for nothing but what is on record, and not for a time; and for how many
    /// it does. For none: it has given nobody its waker.
    /// `counts`: of its waker, by whose address it is known; all but `ours` are of copies.
    pub(super) fn stuck(&self, waiter: usize, counts: usize, ours: usize) -> Option<usize> {
        // Fewer: it has just gone on.
        let copies = counts.checked_sub(ours)?;
        let waits = waits::all();
        let mine = || waits.iter().filter(|wait| wait.waiter == waiter);
        let known: usize = mine().map(|wait| wait.of.wakers).sum();
        let mut others = mine().filter(|wait| wait.of.timed || self.is_foreign_to(wait));
        (others.next().is_none() && copies <= known).then(|| mine().count())
    }

    /// May this wait be ended by what we do not look at: a signal of the system, or the task of another runtime?
    fn is_foreign_to(&self, wait: &Wait) -> bool {
        let ours = [ptr::from_ref(self), Blocking::owner(self)].map(<*const _>::addr);
        let mut owners = wait.of.owners.iter();
        let is_ours = |owner: &usize| ours.contains(owner) || self.local_tasks.own(*owner);
        wait.of.outside || !owners.all(is_ours)
    }

    /// Conditions 1 to 4, but for the future of this thread's `block_on`; `Some`: the turns that were taken.
    fn stillness(&self) -> Option<u64> {
        let asleep = self.idle.all_asleep(self.remotes.len());
        let turns = || -> u64 {
            let turn = |remote: &crate::primitive::CachePadded<super::Remote>| {
                u64::from(remote.turn.load(Ordering::Relaxed))
            };
            self.remotes.iter().map(turn).sum()
        };
        let before = turns();
        let polls = self.roots.stillness(self)? + self.blocking.stillness(self)?;
        let still =
            asleep && self.is_empty() && !self.local_tasks.are_woken() && !self.has_foreign();
        (still && turns() == before).then_some(before + polls)
    }

    /// As `stillness`, under a seam: nothing ran just before.
    pub(super) fn is_still(&self, woken: &AtomicBool, waker: &Waker, counts: usize) -> bool {
        self.is_empty()
            && !woken.load(Ordering::Acquire)
            && self.roots.stillness(self).is_some()
            && !self.local_tasks.are_woken()
            && !self.has_foreign()
            // Two of the counts are of `block_on`.
            && self.stuck(waker.data().addr(), counts, 2).is_some()
    }

    /// What is said of those that have a task of the runtime among them.
    fn tell_circles(&self, circles: &[Vec<usize>]) -> Option<String> {
        let mut mine = HashMap::new();
        self.each_task(|task, _| _ = mine.insert(task.address(), task.location()));
        let is_mine = |circle: &&Vec<usize>| circle.iter().any(|task| mine.contains_key(task));
        let waits = waits::all();
        let mut text = String::new();
        for task in circles.iter().filter(is_mine).flatten() {
            let started = mine.get(task);
            let who = started.map_or("a task of another runtime".to_owned(), |at| {
                format!("the {}", task::in_words(*task, at))
            });
            let its = waits.iter().filter(|wait| wait.waiter == *task);
            text.extend(its.map(|wait| format!("\n  {who} waits for {wait}")));
        }
        (!text.is_empty()).then(|| {
            format!("deadlock: tasks wait for each other's ends, and for nothing else{text}")
        })
    }

    /// No task is queued, and no timer set.
    pub(super) fn is_empty(&self) -> bool {
        self.remotes.iter().all(|remote| {
            remote.inbox.is_empty()
                && remote.sent.is_empty()
                && remote.local.revoke(|local| {
                    local.timers.take_cancelled();
                    local.is_empty() && local.timers.is_idle()
                })
        })
    }

    /// Has foreign code had the waker of a live task, or who else may end its wait: a thread of ours, that of the signals,
    /// or of the timers that of a local one, which are no worker's; or another runtime?
    pub(super) fn has_foreign(&self) -> bool {
        let (mut tasks, mut locals) = (HashSet::new(), HashSet::new());
        self.each_task(|task, local| {
            let its = if local { &mut locals } else { &mut tasks };
            its.insert(task.address());
        });
        let mut all = tasks.union(&locals);
        all.any(|&task| waits::is_foreign(task))
            || waits::all().iter().any(|wait| {
                let local = locals.contains(&wait.waiter);
                let mine = local || tasks.contains(&wait.waiter);
                local && wait.of.timed || mine && self.is_foreign_to(wait)
            })
    }
}

/// The report of a runtime that stands still.
pub(super) fn report(shared: &Shared, main: usize) -> String {
    let who = who_waits(shared, Some(main));
    let last = record::last_of(shared, None);
    format!(
        "deadlock: nothing can run, no timer is set, and nobody is known who could wake a task{who}{last}"
    )
}

/// What the futures wait for that were polled on this thread, in words, in the order in which they began to, by a
/// number that each has; known while some runtime [watches](super::Builder::watch_deadlocks). One whose task has ended
/// is kept by somebody who will not poll it.
///
/// ```
/// use std::time::Duration;
/// let runtime = tidings::Runtime::builder().watch_deadlocks(Duration::MAX).build().unwrap();
/// let (_tx, rx) = tidings::unbounded::<u8>();
/// let mut wait = Box::pin(async { rx.recv().await });
/// runtime.block_on(async { assert!(futures::poll!(&mut wait).is_pending()) });
/// let waits = tidings::sched::waits();
/// assert!(waits.values().next().unwrap().starts_with("Recv<u8> of"));
/// drop(wait);
/// assert!(tidings::sched::waits().is_empty());
/// ```
#[must_use]
pub fn waits() -> BTreeMap<usize, String> {
    let waits = waits::here().into_iter();
    waits.map(|wait| (wait.number, wait.to_string())).collect()
}

impl super::Handle {
    /// Which tasks of the runtime wait for what, a line for each task and wait; known if it
    /// [watches](super::Builder::watch_deadlocks), as with `#[tidings::main(deadlocks = true)]`. Actors that
    /// wait for a message are counted only.
    ///
    /// For people: to be printed when a program seems to hang. It looks at every task and every wait.
    ///
    /// ```
    /// #[tidings::main(deadlocks = true)]
    /// async fn main() {
    ///     let (open, gate) = tidings::channel::<u32>();
    ///     let visitor = tidings::spawn(async move { gate.recv().await });
    ///     let handle = tidings::Handle::current();
    ///     while !handle.who_waits().contains("waits for Recv<u32>") {
    ///         tidings::yield_now().await;
    ///     }
    ///     println!("{}", handle.who_waits());
    ///     open.send(1).await.unwrap();
    ///     assert_eq!(visitor.await.unwrap(), Ok(1));
    /// }
    /// ```
    #[must_use]
    pub fn who_waits(&self) -> String {
        who_waits(self.shared(), None)
    }
}

/// A task that has a name, as [`inspect`](crate::inspect()) finds it.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TaskView {
    /// Its [name](crate::task::named).
    pub name: String,
    /// The line that has started it.
    pub started: String,
    /// What it waits for, and where, if that is known: while a runtime of the process
    /// [watches for deadlocks](super::Builder::watch_deadlocks).
    pub waits: Option<String>,
}

/// The tasks of a runtime that have names, by these.
pub(super) fn named_tasks(shared: &Shared) -> Vec<TaskView> {
    let mut waits: HashMap<usize, Vec<Wait>> = HashMap::new();
    for wait in waits::all() {
        waits.entry(wait.waiter).or_default().push(wait);
    }
    let mut views = Vec::new();
    shared.each_task(|task, _| {
        let Some(name) = task::name_of(task.address()) else {
            return;
        };
        let waits = waits.get(&task.address()).map(|waits| {
            let waits: Vec<String> = waits.iter().map(Wait::to_string).collect();
            waits.join("; ")
        });
        views.push(TaskView {
            name: name.to_string(),
            started: task.location().to_string(),
            waits,
        });
    });
    views.sort_by(|one, other| (&one.name, &one.started).cmp(&(&other.name, &other.started)));
    views
}

/// Who waits for what, each on a line of its own. `main`: the waker of the future of `block_on` when nothing runs any more.
pub(super) fn who_waits(shared: &Shared, main: Option<usize>) -> String {
    let waits = waits::all();
    let names = actor::names_of_tasks();
    let holders = waits::holders();
    let has = |lock: usize| {
        let Party { id, started } = holders.get(&lock)?;
        let actor = names.get(id).map(|actor| actor.name.to_string());
        let holder = actor.unwrap_or_else(|| {
            let nobody = "the future of block_on (or a thread)";
            started.map_or(nobody.to_owned(), |at| {
                format!("the {}", task::in_words(*id, at))
            })
        });
        Some(format!("which {holder} has"))
    };
    let actors: HashMap<_, _> = names.values().map(|actor| (actor.id, actor)).collect();
    let more = |about| match about {
        About::Source(lock) => has(lock),
        About::Call(actor, come) => Some(actors.get(&actor)?.has_taken(come)),
    };
    let mut text = String::new();
    // Appends the waits of one; `false` if it has none.
    let say = |text: &mut String, who: &str, waiter: usize| {
        let mine = waits.iter().filter(|wait| wait.waiter == waiter);
        let lines = mine.map(|wait| format!("\n  {who} waits for {}", wait.words(more)));
        let before = text.len();
        text.extend(lines);
        text.len() > before
    };
    let (mut idle, mut unknown) = (0, 0);
    // Under a seam nobody runs beside who asks.
    let runs = match main.is_some() || shared.has_seam {
        true => "waits",
        false => "runs, or waits",
    };
    let mut tell = |who: &str, address| {
        if !say(&mut text, who, address) {
            unknown += 1;
            if unknown <= UNKNOWN {
                let _ = write!(text, "\n  {who} {runs} for something that is no event");
            }
        }
    };
    if let Some(main) = main {
        let who = match task::name_of(main) {
            Some(name) => format!("the future of block_on, {name:?},"),
            None => "the future of block_on".to_owned(),
        };
        tell(&who, main);
        let other = "the future of another block_on";
        shared.roots.each_other(|root| tell(other, root));
    }
    for (_, task, at, local) in in_order(shared, &waits) {
        match names.get(&task) {
            Some(actor) if actor.awaits => idle += 1,
            Some(actor) => tell(actor.name.as_ref(), task),
            None => {
                let the = if local { "the local" } else { "the" };
                tell(&format!("{the} {}", task::in_words(task, at)), task);
            }
        }
    }
    shared.blocking.each_parked(|parked| {
        say(&mut text, "a thread for blocking work", parked);
    });
    for (n, what) in [
        (
            shared.blocking.queued(),
            "wait for a thread for blocking work",
        ),
        (idle, "wait for messages, each an actor"),
        (
            unknown.saturating_sub(UNKNOWN),
            "more wait for something that is no event",
        ),
    ] {
        if n > 0 {
            let _ = write!(text, "\n  {n} {what}");
        }
    }
    text
}

/// All tasks, in the order in which they have begun to wait, and then of their lines: where one lies says nothing.
fn in_order(
    shared: &Shared,
    waits: &[Wait],
) -> Vec<(Option<usize>, usize, &'static Location<'static>, bool)> {
    let mut since = HashMap::new();
    for wait in waits {
        since.entry(wait.waiter).or_insert(wait.number);
    }
    let mut tasks = Vec::new();
    shared.each_task(|task, local| {
        let (task, at) = (task.address(), task.location());
        tasks.push((since.get(&task).copied(), task, at, local));
    });
    tasks.sort_by_key(|&(since, _, at, local)| (local, since.is_none(), since, at));
    tasks
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::panic::Location;
    use std::sync::mpsc;
    use std::task::{Context, Waker};

    use super::{Arc, Duration, waits};
    use crate::Runtime;
    use crate::primitive::{Parker, thread};
    use crate::task::Task;

    #[test]
    fn who_has_fewer_of_its_waker_than_one_who_waits_has_gone_on() {
        let _watching = waits::Watching::start();
        let parker = Arc::new(Parker::current());
        let waiter = Arc::as_ptr(&parker).addr();
        // The wait is where nobody else's is.
        let waker = Waker::from(parker);
        waits::begin(waiter, &waker, None, waits::Waits::default());
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let stuck = [3, 4, 5].map(|counts| runtime.shared.stuck(waiter, counts, 4));
        waits::end(waiter);
        assert_eq!(stuck, [None, Some(1), None]);
    }

    #[test]
    fn a_timer_that_was_taken_back_on_another_worker_is_none() {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let shared = &runtime.shared;
        let rest = || {
            while !shared.idle.all_asleep(2) {
                thread::yield_now();
            }
        };
        let (give, given) = mpsc::channel();
        let arms = async move {
            let hour = Duration::from_secs(3600);
            let mut wait = Box::pin(crate::after(hour).into_future());
            let polled = wait.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
            give.send(wait).unwrap();
        };
        rest();
        let (task, arms) = Task::new(arms, Arc::as_ptr(shared), Location::caller());
        shared.send_to(0, task);
        runtime.block_on(arms).unwrap();
        rest();
        assert!(!shared.is_empty());
        let wait = given.recv().unwrap();
        let drops = async move { drop(wait) };
        let (task, drops) = Task::new(drops, Arc::as_ptr(shared), Location::caller());
        shared.send_to(1, task);
        runtime.block_on(drops).unwrap();
        assert!(shared.is_empty());
    }
}
