//! Who waits for what: a record of every wait of the process, kept while some runtime watches for
//! deadlocks, and read when one stands still (`sched/deadlock.rs`).
//!
//! Without a watcher a wait costs one look at a count. The line of a wait is where its event was
//! awaited; it is known in builds with debug assertions, where each wait has a word for it.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;

use super::Lock;
use crate::primitive::thread::{self, ThreadId};
use crate::primitive::{Mutex, lock};
use crate::sched::Party;
use crate::task::{AbortHandle, in_words};

/// The sources that signals of the system go through: few, and there for good.
static OUTSIDE: Mutex<Vec<usize>> = Mutex::new(Vec::new());
/// Runtimes that watch.
static WATCHERS: AtomicUsize = AtomicUsize::new(0);
/// Runtimes that record communications, and, in the upper half, those who keep books of channels. A word
/// of its own, so that a communication has only to compare it with 0.
static NOTERS: AtomicUsize = AtomicUsize::new(0);
const RECORDER: usize = 1;
const BOOKS: usize = 1 << (usize::BITS / 2);

static RECORD: Mutex<Record> = Mutex::new(Record {
    begun: 0,
    waits: BTreeMap::new(),
    holders: BTreeMap::new(),
    foreign: None,
});

struct Record {
    /// So many waits have begun.
    begun: usize,
    /// By the address of the wait.
    waits: BTreeMap<usize, Wait>,
    /// Who has a lock, by the lock's number.
    holders: BTreeMap<usize, Party>,
    /// Tasks whose waker foreign code has had.
    foreign: Option<HashSet<usize>>,
}

/// One wait.
#[derive(Clone, Debug)]
pub(crate) struct Wait {
    /// Among all of the process, in the order in which they began: where one lies says nothing.
    pub(crate) number: usize,
    /// The task, or the thread, by its waker.
    pub(crate) waiter: usize,
    at: Option<&'static Location<'static>>,
    pub(crate) of: Waits,
    /// Where it was polled.
    thread: ThreadId,
}

/// What a wait waits for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits {
    what: Vec<What>,
    /// Time will end it.
    pub(crate) timed: bool,
    /// A signal of the system may end it.
    pub(crate) outside: bool,
    /// The end of a task of these may end it, as tasks know whose they are.
    pub(crate) owners: Vec<usize>,
    /// Copies of the waker that it has.
    pub(crate) wakers: usize,
}

#[derive(Clone, Debug)]
enum What {
    /// In words.
    Event(String, Option<About>),
    /// The end of this task, which was started there. It has a name when it has been polled.
    End(AbortHandle, &'static Location<'static>),
}

/// What more may be known of when a report is made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum About {
    /// Its source: of a lock, who has it.
    Source(usize),
    /// The actor of this number, and how many messages had come to it with the request of a call.
    Call(u64, u64),
}

impl Waits {
    /// Of these words.
    pub(crate) fn of(&mut self, what: fmt::Arguments<'_>) {
        self.what.push(What::Event(what.to_string(), None));
    }

    /// Of the answer of this actor, in words, to which so many messages have come, and the request is one of them.
    pub(crate) fn call(&mut self, what: String, actor: u64, come: u64) {
        self.what
            .push(What::Event(what, Some(About::Call(actor, come))));
    }

    /// Of the end of a task that was started there.
    pub(crate) fn end(&mut self, task: AbortHandle, started: &'static Location<'static>) {
        self.owners.push(task.owner().addr());
        self.what.push(What::End(task, started));
    }

    /// An event of this type, by its name, on the source of this lock.
    pub(crate) fn event(&mut self, of_type: &str, lock: Option<&Lock>) {
        let mut what = plain(of_type);
        if let Some(lock) = lock {
            what += &format!(" of {:#x}", std::ptr::from_ref(lock).addr());
            #[cfg(debug_assertions)]
            if let Some(made) = of_a_program(lock.made.line()) {
                what += &format!(", made at {made}");
            }
        }
        let source = lock.map(|lock| std::ptr::from_ref(lock).addr());
        self.outside |= source.is_some_and(is_from_outside);
        let about = source.map(About::Source);
        self.what.push(What::Event(what, about));
    }
}

impl Wait {
    /// The task whose end it waits for, if nothing else ends it.
    fn joins(&self) -> Option<&AbortHandle> {
        match &self.of.what[..] {
            [What::End(task, _)] if !self.of.timed && !self.of.outside => Some(task),
            _ => None,
        }
    }

    /// In words; `more`: what else is said.
    pub(crate) fn words(&self, more: impl Fn(About) -> Option<String>) -> String {
        let what = self.of.what.iter().map(|what| match what {
            What::Event(what, about) => match about.and_then(&more) {
                Some(more) => format!("{what}, {more}"),
                None => what.clone(),
            },
            What::End(task, started) => {
                format!("the end of the {}", in_words(task.address(), started))
            }
        });
        let what = what.collect::<Vec<_>>().join(", or ");
        match self.at {
            Some(at) => format!("{what}, at {at}"),
            None => what,
        }
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words(|_| None))
    }
}

/// A line, if it is one of a program, and not ours or std's, who were called by others.
#[cfg(debug_assertions)]
pub(crate) fn of_a_program(at: &'static Location<'static>) -> Option<&'static Location<'static>> {
    let here = file!().strip_suffix("event/waits.rs").unwrap_or_default();
    let ours = at.file().starts_with(here) || at.file().starts_with("/rustc/");
    (!ours).then_some(at)
}

/// The name of a type without the paths and the lifetimes in it.
pub(crate) fn plain(name: &str) -> String {
    let name = name.replace("'_, ", "").replace("<'_>", "");
    let mut plain = String::new();
    for word in name.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_') {
        if word.ends_with(':') {
            continue;
        }
        plain.push_str(word);
    }
    plain
}

/// Counts a runtime that watches, while it lives.
#[derive(Debug)]
pub(crate) struct Watching(());

impl Watching {
    pub(crate) fn start() -> Self {
        // Counted under its lock, as `drop` does: who takes the record of the last has seen that there is no next.
        let _record = lock(&RECORD);
        // RELAXED: waits that began before are not on record, and a runtime begins without any.
        WATCHERS.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut record = lock(&RECORD);
        if WATCHERS.fetch_sub(1, Ordering::Relaxed) == 1 {
            let waits = std::mem::take(&mut record.waits);
            let old = (waits, record.foreign.take());
            record.holders.clear();
            drop(record);
            drop(old);
        }
    }
}

/// `false` in a library without the hooks, which is built with `--cfg tidings_bare` to measure what they
/// cost (`benches/hooks.rs`).
pub(crate) const HOOKS: bool = cfg!(not(tidings_bare));

/// Does anybody watch?
#[inline(always)]
pub(crate) fn watched() -> bool {
    HOOKS && WATCHERS.load(Ordering::Relaxed) != 0
}

/// Does anybody record communications (`sched/record.rs`), or keep books (`sched/books.rs`)?
#[inline(always)]
pub(crate) fn noted() -> bool {
    HOOKS && NOTERS.load(Ordering::Relaxed) != 0
}

/// Does anybody keep books?
#[inline]
pub(crate) fn booked() -> bool {
    NOTERS.load(Ordering::Relaxed) >= BOOKS
}

/// Counts a runtime that records, or somebody who keeps books, while it lives.
#[derive(Debug)]
pub(crate) struct Recording(usize);

impl Recording {
    pub(crate) fn communications() -> Self {
        Self::start(RECORDER)
    }

    pub(crate) fn books() -> Self {
        Self::start(BOOKS)
    }

    fn start(what: usize) -> Self {
        // RELAXED: a communication of before is not recorded, and a runtime begins without any.
        NOTERS.fetch_add(what, Ordering::Relaxed);
        Self(what)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        NOTERS.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Puts a wait on record, or its new waker.
#[cold]
pub(crate) fn begin(wait: usize, waker: &Waker, at: Option<&'static Location<'static>>, of: Waits) {
    let thread = thread::current().id();
    let mut record = lock(&RECORD);
    let known = record.waits.get(&wait).map(|before| before.number);
    record.begun += usize::from(known.is_none());
    let new = Wait {
        number: known.unwrap_or(record.begun),
        waiter: waker.data().addr(),
        at,
        of,
        thread,
    };
    let old = record.waits.insert(wait, new);
    drop(record);
    drop(old);
}

/// A wait has ended, or is polled; gives its number, if it was on record.
#[cold]
pub(crate) fn end(wait: usize) -> Option<usize> {
    let old = lock(&RECORD).waits.remove(&wait);
    old.map(|old| old.number)
}

/// A wait that was polled had this number before.
#[cold]
pub(crate) fn goes_on(wait: usize, number: usize) {
    if let Some(wait) = lock(&RECORD).waits.get_mut(&wait) {
        wait.number = number;
    }
}

/// Who runs on this thread has this lock now.
#[cold]
pub(crate) fn held(source: usize, by: Party) {
    lock(&RECORD).holders.insert(source, by);
}

/// Nobody has it any more.
#[cold]
pub(crate) fn let_go(source: usize) {
    lock(&RECORD).holders.remove(&source);
}

/// Signals of the system go through the source with this number, for good.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn come_from_outside(source: usize) {
    lock(&OUTSIDE).push(source);
}

fn is_from_outside(source: usize) -> bool {
    lock(&OUTSIDE).contains(&source)
}

/// Who has which lock.
pub(crate) fn holders() -> BTreeMap<usize, Party> {
    lock(&RECORD).holders.clone()
}

/// Foreign code has the waker of this task.
#[cold]
pub(crate) fn foreign(waiter: usize) {
    lock(&RECORD).foreign.get_or_insert_default().insert(waiter);
}

/// A task is new in this place.
#[cold]
pub(crate) fn fresh(waiter: usize) {
    if let Some(foreign) = &mut lock(&RECORD).foreign {
        foreign.remove(&waiter);
    }
}

/// Has foreign code had the waker of this task?
pub(crate) fn is_foreign(waiter: usize) -> bool {
    let record = lock(&RECORD);
    record
        .foreign
        .as_ref()
        .is_some_and(|foreign| foreign.contains(&waiter))
}

/// All waits of this moment, in the order of their numbers.
pub(crate) fn all() -> Vec<Wait> {
    let mut all: Vec<_> = lock(&RECORD).waits.values().cloned().collect();
    all.sort_by_key(|wait| wait.number);
    all
}

/// All waits of this thread.
pub(crate) fn here() -> Vec<Wait> {
    let here = thread::current().id();
    let record = lock(&RECORD);
    let mine = record.waits.values().filter(|wait| wait.thread == here);
    mine.cloned().collect()
}

/// As `begin`, for a wait of this line on the end of a task that was started there: the task is the wait.
#[cold]
pub(crate) fn begin_join(
    task: AbortHandle,
    waker: &Waker,
    at: Option<&'static Location<'static>>,
    started: &'static Location<'static>,
) {
    let wait = task.address();
    let mut of = Waits {
        wakers: 1,
        ..Waits::default()
    };
    of.end(task, started);
    begin(wait, waker, at, of);
}

/// Circles of tasks, each of which waits for the end of the next, and for nothing else. Nobody else can end one of them,
/// nor wake it: it neither runs nor is queued, no foreign code has had its waker, and of its handles there are those that
/// its wait has: the join handle, and the record's.
pub(crate) fn circles() -> Vec<Vec<usize>> {
    let record = lock(&RECORD);
    // By who waits; `None`: for something else, too.
    let mut joins: BTreeMap<usize, Option<&AbortHandle>> = BTreeMap::new();
    for wait in record.waits.values() {
        let others = joins.entry(wait.waiter);
        others
            .and_modify(|join| *join = None)
            .or_insert(wait.joins());
    }
    let is_foreign = |task| {
        let foreign = record.foreign.as_ref();
        foreign.is_some_and(|foreign| foreign.contains(&task))
    };
    let is_stuck =
        |task: &AbortHandle| task.handles() == 2 && task.is_idle() && !is_foreign(task.address());
    let (mut circles, mut walks) = (Vec::new(), BTreeMap::new());
    for &start in joins.keys() {
        let (mut at, mut path) = (start, Vec::new());
        loop {
            if let Some(&walk) = walks.get(&at) {
                if walk == start {
                    let first = path.iter().position(|&task| task == at);
                    circles.extend(first.map(|first| path.split_off(first)));
                }
                break;
            }
            let next = joins.get(&at).copied().flatten();
            let Some(next) = next.filter(|next| is_stuck(next)) else {
                break;
            };
            walks.insert(at, start);
            path.push(at);
            at = next.address();
        }
    }
    circles
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::{RECORD, Watching, foreign, fresh, is_foreign, lock, plain};

    #[test]
    fn a_type_is_named_without_paths() {
        let name = plain("tidings::channel::receiver::Recv<'_, alloc::vec::Vec<(u8, core::x::Y)>>");
        assert_eq!(name, "Recv<Vec<(u8, Y)>>");
    }

    #[test]
    fn the_last_watcher_that_goes_takes_nothing_of_the_next() {
        const ROUNDS: usize = 500;
        let (both, over) = (std::sync::Barrier::new(2), AtomicBool::new(false));
        let kept = std::thread::scope(|threads| {
            // Has others wait for the record.
            threads.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let record = lock(&RECORD);
                    (0..1_000).for_each(|_| std::hint::spin_loop());
                    drop(record);
                }
            });
            threads.spawn(|| {
                for _ in 0..ROUNDS {
                    let last = Watching::start();
                    both.wait();
                    drop(last);
                    both.wait();
                }
            });
            let mut kept = true;
            for task in 0..ROUNDS {
                // The address of nobody.
                let task = usize::MAX - task;
                both.wait();
                let next = Watching::start();
                foreign(task);
                both.wait();
                kept &= is_foreign(task);
                drop(next);
                fresh(task);
            }
            over.store(true, Ordering::Relaxed);
            kept
        });
        assert!(kept);
    }
}
