//! The flight recorder: the last communications of each worker, in rings that are read when
//! something went wrong.
//!
//! On if asked for ([`Builder::flight_recorder`](super::Builder::flight_recorder)). Otherwise a
//! communication costs a look at the count in `event/waits.rs`, which is what the channels ask before
//! they come here. A ring belongs to a worker, behind a mutex that only a reader contends for; a note
//! reads the clock and writes some words, and allocates nothing.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::panic::Location;
use std::task::Waker;
use std::time::Duration;

use super::{Shared, books, current};
use crate::event::waits::{self, Recording};
use crate::primitive::{Mutex, lock};
use crate::task::{self, Task};
use crate::time::Instant;

/// So many are printed when a task panics, or a runtime stands still.
const SHOWN: usize = 16;

thread_local! {
    /// Where the communication that goes on was begun; known in builds with debug assertions.
    static AT: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}

/// What happened, in a [`Communication`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Happened {
    /// A task started another, which is `with`.
    Spawned,
    /// A value went into a channel; straight to `with`, if that waited for it.
    Sent,
    /// A value came out of a channel; straight from `with`, if that waited to send it.
    Received,
    /// A wait of `with` in a cell or lock was ended.
    Released,
}

/// A task, or a thread that is no worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Party {
    /// Its number among those of this moment: a later task may have it again.
    pub id: usize,
    /// Where it was started; `None`: it is a thread.
    pub started: Option<&'static Location<'static>>,
}

/// One step of a message: what the flight recorder keeps.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Communication {
    /// When, since the start of the clock that [`Instant`] reads.
    pub time: Duration,
    /// Who did it.
    pub who: Party,
    /// What.
    pub happened: Happened,
    /// The channel, cell or lock, by a number; 0: none.
    pub channel: usize,
    /// The type of the value, or of the cell.
    pub value: &'static str,
    /// The partner.
    pub with: Option<Party>,
    /// The line that did it; known in builds with debug assertions.
    pub at: Option<&'static Location<'static>>,
}

/// The rings of a runtime: one for each worker, and one for threads outside.
#[derive(Debug)]
pub(super) struct Recorder {
    rings: Box<[Mutex<VecDeque<Communication>>]>,
    kept: usize,
    _recording: Recording,
}

impl Recorder {
    pub(super) fn new(kept: usize, workers: usize) -> Self {
        Self {
            rings: (0..=workers).map(|_| Mutex::default()).collect(),
            kept,
            _recording: Recording::start(),
        }
    }

    fn note(&self, ring: usize, communication: Communication) {
        let mut ring = lock(&self.rings[ring]);
        if ring.len() == self.kept {
            ring.pop_front();
        }
        ring.push_back(communication);
    }

    /// All that is kept, in the order of time. `taken`: it is not kept any more.
    fn all(&self, taken: bool) -> Vec<Communication> {
        let mut all: Vec<Communication> = Vec::new();
        for ring in &self.rings {
            let mut ring = lock(ring);
            if taken {
                all.extend(ring.drain(..));
            } else {
                all.extend(ring.iter());
            }
        }
        all.sort_by_key(|communication| communication.time);
        all
    }
}

/// What is done on this thread while this lives is done by this line.
#[must_use]
#[cfg_attr(not(debug_assertions), derive(Clone, Copy))]
pub(crate) struct Line {
    #[cfg(debug_assertions)]
    outer: Option<&'static Location<'static>>,
}

/// What comes is done by the caller's caller, if somebody records it.
#[inline(always)]
#[cfg_attr(debug_assertions, track_caller)]
pub(crate) fn called() -> Option<Line> {
    #[cfg(debug_assertions)]
    return line(Location::caller());
    #[cfg(not(debug_assertions))]
    None
}

/// What comes is done by this line, if somebody records it.
#[cfg(debug_assertions)]
pub(crate) fn line(at: &'static Location<'static>) -> Option<Line> {
    waits::recorded().then(|| Line {
        outer: AT.replace(Some(at)),
    })
}

#[cfg(debug_assertions)]
impl Drop for Line {
    fn drop(&mut self) {
        AT.set(self.outer);
    }
}

/// A value of type `T` went into a channel, to whom this wakes if to anybody.
#[inline(always)]
pub(crate) fn sent<T>(channel: usize, to: Option<&Waker>) {
    if waits::recorded() {
        books::sent(channel, to.is_some());
        met::<T>(Happened::Sent, channel, to);
    }
}

/// A value came out of a channel, from whom this wakes if he waited with it.
#[inline(always)]
pub(crate) fn received<T>(channel: usize, from: Option<&Waker>) {
    if waits::recorded() {
        books::received(channel, from.is_some());
        met::<T>(Happened::Received, channel, from);
    }
}

/// As `sent`, of what takes one value only: no books are kept of it.
#[inline(always)]
pub(crate) fn put<T>(channel: usize, to: Option<&Waker>) {
    if waits::recorded() {
        met::<T>(Happened::Sent, channel, to);
    }
}

/// As `received`, of what took one value only.
#[inline(always)]
pub(crate) fn taken<T>(channel: usize) {
    if waits::recorded() {
        met::<T>(Happened::Received, channel, None);
    }
}

#[cold]
fn met<T>(happened: Happened, channel: usize, with: Option<&Waker>) {
    note_of::<T>(None, happened, channel, with.and_then(party));
}

/// The value of a sender that waited has entered a channel, where a place has become free.
#[inline(always)]
pub(crate) fn entered<T>(channel: usize, sender: Option<&Waker>) {
    if waits::recorded() {
        books::sent(channel, false);
        note_of::<T>(sender.and_then(party), Happened::Sent, channel, None);
    }
}

/// The oldest value of a channel was handed to a receiver that waited.
#[inline(always)]
pub(crate) fn passed<T>(channel: usize, receiver: Option<&Waker>) {
    if waits::recorded() {
        books::received(channel, false);
        note_of::<T>(receiver.and_then(party), Happened::Received, channel, None);
    }
}

/// A wait in a cell or lock was ended.
#[cold]
pub(crate) fn released<S>(source: usize, whom: &Waker) {
    note::<S>(Happened::Released, source, party(whom));
}

/// A task was started.
#[cold]
pub(crate) fn spawned(header: *mut task::Header) {
    note::<()>(Happened::Spawned, 0, of(Task::polled(header)));
}

/// The task that is woken by this.
fn party(waker: &Waker) -> Option<Party> {
    if task::is_ours(waker) {
        of(Task::polled(waker.data().cast_mut().cast()))
    } else {
        let (id, started) = (waker.data().addr(), None);
        Some(Party { id, started })
    }
}

fn of(polled: Option<(usize, &'static Location<'static>)>) -> Option<Party> {
    polled.map(|(id, at)| Party {
        id,
        started: Some(at),
    })
}

fn note<T>(happened: Happened, channel: usize, with: Option<Party>) {
    note_of::<T>(None, happened, channel, with);
}

/// `who`: not the task that runs, but for whom it acts.
#[cold]
fn note_of<T>(who: Option<Party>, happened: Happened, channel: usize, with: Option<Party>) {
    let outside = Party {
        id: 0,
        started: None,
    };
    let (shared, ring, here) = match current::worker() {
        Some(worker) => {
            let here = of(Task::polled(worker.running()));
            (worker.shared(), worker.index(), here.unwrap_or(outside))
        }
        None => match current::shared() {
            Some(shared) => {
                let ring = shared.remotes.len();
                (shared, ring, outside)
            }
            None => return,
        },
    };
    let Some(recorder) = &shared.recorder else {
        return;
    };
    let communication = Communication {
        time: Instant::now().since_start(),
        who: who.unwrap_or(here),
        happened,
        channel,
        value: std::any::type_name::<T>(),
        with,
        at: AT.get().filter(|_| who.is_none()),
    };
    recorder.note(ring, communication);
}

/// The last communications of a runtime, as lines; of one task, if it is named.
pub(super) fn last_of(shared: &Shared, task: Option<usize>) -> String {
    let Some(recorder) = &shared.recorder else {
        return String::new();
    };
    let concerns = |one: &Communication| {
        let with = one.with.is_some_and(|with| Some(with.id) == task);
        task.is_none() || Some(one.who.id) == task || with
    };
    let all: Vec<_> = recorder.all(false).into_iter().filter(concerns).collect();
    let last = &all[all.len().saturating_sub(SHOWN)..];
    if last.is_empty() {
        return String::new();
    }
    let mut text = format!("\n  the last {} communications:", last.len());
    for one in last {
        text.push_str(&format!("\n    {one}"));
    }
    text
}

/// A task of this thread's runtime has panicked.
#[cold]
pub(super) fn task_panicked(started: &'static Location<'static>) {
    let Some(worker) = current::worker().filter(|worker| worker.shared().recorder.is_some()) else {
        return;
    };
    let task = Task::polled(worker.running()).map(|(id, _)| id);
    let last = last_of(&worker.shared(), task);
    eprintln!("the task started at {started} panicked{last}");
}

impl super::Runtime {
    /// Takes what the [flight recorder](super::Builder::flight_recorder) has kept, in the order of
    /// time; nothing without one.
    ///
    /// ```
    /// use tidings::sched::{Happened, Runtime};
    /// let rt = Runtime::builder().workers(1).flight_recorder(100).build().unwrap();
    /// rt.block_on(async {
    ///     let (tx, rx) = tidings::unbounded();
    ///     tidings::spawn(async move { tx.send("tea").await }).await.unwrap().unwrap();
    ///     rx.recv().await.unwrap();
    /// });
    /// let record = rt.flight_record();
    /// assert_eq!(record[1].happened, Happened::Sent);
    /// println!("{}", record[1]);
    /// ```
    #[must_use]
    pub fn flight_record(&self) -> Vec<Communication> {
        self.shared.flight_record()
    }
}

impl super::Handle {
    /// As [`Runtime::flight_record`](super::Runtime::flight_record).
    #[must_use]
    pub fn flight_record(&self) -> Vec<Communication> {
        self.shared().flight_record()
    }
}

impl Shared {
    fn flight_record(&self) -> Vec<Communication> {
        let recorder = self.recorder.as_ref();
        recorder.map_or(Vec::new(), |recorder| recorder.all(true))
    }
}

impl super::Builder {
    /// Keeps the last `n` communications of each worker: who started, sent to, received from or released
    /// whom. They are printed when a task panics and in a report of a deadlock, and read by
    /// [`Runtime::flight_record`](super::Runtime::flight_record).
    ///
    /// Each communication of the process then looks whether its runtime keeps it, and one that is kept
    /// reads the clock and locks its worker's ring. The lines are known in builds with debug assertions.
    ///
    /// # Panics
    /// If `n` is 0.
    #[must_use]
    pub fn flight_recorder(mut self, n: usize) -> Self {
        assert!(n > 0, "a flight recorder keeps at least one communication");
        self.recorded = Some(n);
        self
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.started {
            Some(at) => write!(f, "task {:#x} ({at})", self.id),
            None => f.write_str("a thread"),
        }
    }
}

impl fmt::Display for Communication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            time,
            who,
            happened,
            channel,
            ..
        } = self;
        let value = waits::plain(self.value);
        write!(f, "{time:?} {who} ")?;
        match happened {
            Happened::Spawned => f.write_str("started")?,
            Happened::Sent => write!(f, "sent a {value} into {channel:#x}")?,
            Happened::Received => write!(f, "received a {value} from {channel:#x}")?,
            Happened::Released => write!(f, "released, by {value} {channel:#x},")?,
        }
        if let Some(with) = &self.with {
            let to = match happened {
                Happened::Sent => " to",
                Happened::Received => " of",
                _ => "",
            };
            write!(f, "{to} {with}")?;
        }
        match self.at {
            Some(at) => write!(f, ", at {at}"),
            None => Ok(()),
        }
    }
}
