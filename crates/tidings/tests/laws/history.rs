//! What the parties of a program did, and what came back.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a party asked for. A number is a value's, but where it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Gives a value away, to one: send, put, complete.
    Put(u64),
    /// Gives a value to all who listen or look: broadcast, watch, a cell that is filled once.
    Share(u64),
    /// Takes a value that is then nobody else's: receive, take, join.
    Take,
    /// The next value that every listener gets: broadcast, watch.
    Hear,
    /// Reads a value that stays: a cell.
    Look,
    /// So many permits, or the lock.
    Acquire(u64),
    /// Gives so many permits back.
    Release(u64),
    /// Meets the others.
    Meet,
    /// Signals one who waits.
    Signal,
    /// Waits for a signal.
    Await,
    /// So many nanoseconds.
    Sleep(u64),
    /// Waits for the end of an actor: a reason.
    Watch,
    /// Asks an actor to end after the message it handles, for good.
    Stop,
    /// Calls another, whose party is the source.
    Call,
    /// One of several branches, which stand in records of their own.
    Choose,
    Close,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Got {
    /// Nothing yet.
    Pending,
    Done,
    /// Done; of those who met, this one leads.
    Lead,
    /// A value; of a sleep, the nanoseconds that passed.
    Value(u64),
    /// The value is the asker's again.
    Back,
    /// Nobody is left, or it was closed.
    Closed,
    /// It could not happen at once.
    Nothing,
    /// So many values passed by unheard.
    Missed(u64),
    /// It is known that it has not been done, and will not be.
    Refused,
    /// The wait was dropped, by choice, a timeout, an abort or a panic. Of a value that went with
    /// its wait: it was sent or is gone, the asker can't tell.
    Dropped,
}

/// One act.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) party: u32,
    /// Which of the program's channels, cells, locks.
    pub(crate) source: u32,
    pub(crate) act: Act,
    pub(crate) got: Got,
    /// When it was asked, and when it was known: places in one order of the whole program.
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The choice it is a branch of; 0: none.
    pub(crate) choice: u64,
}

/// The end of what has not ended.
pub(crate) const NEVER: u64 = u64::MAX;

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            party,
            source,
            act,
            got,
            start,
            ..
        } = self;
        write!(f, "[{start:>4}..")?;
        match self.end {
            NEVER => write!(f, "    ]")?,
            end => write!(f, "{end:>4}]")?,
        }
        write!(f, " party {party}, source {source}: {act:?} -> {got:?}")?;
        match self.choice {
            0 => Ok(()),
            choice => write!(f, " (choice {choice})"),
        }
    }
}

/// What was measured when all had ended: by the law it belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Gauge {
    pub(crate) law: &'static str,
    pub(crate) what: &'static str,
    pub(crate) expected: u64,
    pub(crate) found: u64,
}

/// All that is known of a run that has ended, or that has not come to an end.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    /// In the order of their starts.
    pub(crate) records: Vec<Record>,
    pub(crate) gauges: Vec<Gauge>,
    /// How many values a channel holds, how many permits there are, how many meet.
    pub(crate) capacity: Option<u64>,
    /// Values that were dropped because no receiver was left.
    pub(crate) dead: u64,
}

impl History {
    pub(crate) fn of(&self, source: u32) -> impl Iterator<Item = &Record> {
        self.records
            .iter()
            .filter(move |record| record.source == source)
    }

    /// The sources there are.
    pub(crate) fn sources(&self) -> impl Iterator<Item = u32> + use<> {
        0..=self
            .records
            .iter()
            .map(|record| record.source)
            .max()
            .unwrap_or(0)
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for record in &self.records {
            writeln!(f, "  {record:?}")?;
        }
        for Gauge {
            law,
            what,
            expected,
            found,
        } in &self.gauges
        {
            writeln!(f, "  {law}: {what}: {found}, expected {expected}")?;
        }
        writeln!(f, "  dead letters: {}", self.dead)
    }
}

/// Gets through to what a party that panicked had locked.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

type Page = Arc<Mutex<Vec<Record>>>;

/// Where all parties write; each has a page of its own, so that they do not order one another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pages: Arc<Mutex<Vec<Page>>>,
    clock: Arc<AtomicU64>,
}

impl Log {
    /// A page for one more party.
    pub(crate) fn diary(&self) -> Diary {
        let mut pages = lock(&self.pages);
        let page = Page::default();
        pages.push(Arc::clone(&page));
        Diary {
            party: u32::try_from(pages.len()).unwrap(),
            page,
            clock: Arc::clone(&self.clock),
        }
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        let mut all: Vec<Record> = Vec::new();
        lock(&self.pages)
            .iter()
            .for_each(|page| all.extend(lock(page).iter()));
        all.sort_by_key(|record| record.start);
        all
    }
}

/// One party's page.
#[derive(Clone, Debug)]
pub(crate) struct Diary {
    pub(crate) party: u32,
    page: Page,
    clock: Arc<AtomicU64>,
}

impl Diary {
    /// Writes down what is asked for.
    pub(crate) fn ask(&self, source: u32, act: Act) -> Asked {
        self.ask_in(source, act, 0)
    }

    /// The same, as a branch of a choice, from [`choice`](Self::choice).
    pub(crate) fn ask_in(&self, source: u32, act: Act, choice: u64) -> Asked {
        let (party, got, start) = (self.party, Got::Pending, self.tick());
        let mut page = lock(&self.page);
        page.push(Record {
            party,
            source,
            act,
            got,
            start,
            end: NEVER,
            choice,
        });
        Asked {
            diary: self.clone(),
            index: page.len() - 1,
        }
    }

    /// A number for a choice that no other has.
    pub(crate) fn choice(&self) -> u64 {
        self.tick()
    }

    fn tick(&self) -> u64 {
        1 + self.clock.fetch_add(1, Ordering::SeqCst)
    }
}

/// An act whose end is awaited. Dropped before: the wait was dropped.
#[derive(Debug)]
pub(crate) struct Asked {
    diary: Diary,
    index: usize,
}

impl Asked {
    pub(crate) fn got(self, got: Got) {
        self.set(got);
    }

    fn set(&self, got: Got) {
        let end = self.diary.tick();
        let mut page = lock(&self.diary.page);
        let record = &mut page[self.index];
        if record.got == Got::Pending {
            (record.got, record.end) = (got, end);
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.set(Got::Dropped);
    }
}
