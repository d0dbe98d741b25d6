//! The flight recorder: the last communications of each worker, in rings that are read when
//! something went wrong.
//!
//! On if asked for ([`Builder::flight_recorder`](super::Builder::flight_recorder)). Otherwise a
//! communication costs a look at a count (`event/waits.rs`).
//!
//! Cheap enough to stay on: a note is 64 bytes in the ring of the worker that does it (addresses of tasks
//! and of constants, and the processor's ticks), takes no lock and, once the ring is full, allocates
//! nothing (`rings.rs`). Names and times are made of it when it is read. `cargo x hooks` counts what it
//! costs, `cargo bench -p tidings --bench hooks` times it.

use std::any::type_name;
use std::cell::Cell;
use std::fmt;
use std::hint::cold_path;
use std::panic::Location;
use std::task::Waker;
use std::time::Duration;

use super::rings::{Name, Note, Way};
use super::{Shared, books, current};
use crate::event::waits;
use crate::primitive::Arc;
use crate::primitive::atomic::Ordering;
use crate::task::{self, Task};

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
    /// When, since the start of the clock that [`Instant`](crate::time::Instant) reads; outside of a
    /// simulation, when the poll began that did it, or a little later.
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

/// Who was woken, as two words and not as a reference, for which the waker would have to lie in memory
/// where nobody records, too.
#[derive(Clone, Copy)]
struct Woken {
    data: *const (),
    by: By,
}

/// Whose a waker is, if there is one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Nobody,
    Us,
    Others,
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
    waits::noted().then(|| Line {
        outer: AT.replace(Some(at)),
    })
}

#[cfg(debug_assertions)]
impl Drop for Line {
    fn drop(&mut self) {
        AT.set(self.outer);
    }
}

/// A value of type `T`, the `number`th, went into a channel or cell, to whom this wakes if to anybody.
#[inline(always)]
pub(crate) fn sent<T>(channel: usize, number: u64, to: Option<&Waker>) {
    if waits::noted() {
        cold_path();
        let way = Way::new(Happened::Sent, channel, number);
        exchanged(way, type_name::<T>, woken(to));
    }
}

/// A value came out of a channel or cell, from whom this wakes if he waited with it.
#[inline(always)]
pub(crate) fn received<T>(channel: usize, number: u64, from: Option<&Waker>) {
    if waits::noted() {
        cold_path();
        let way = Way::new(Happened::Received, channel, number);
        exchanged(way, type_name::<T>, woken(from));
    }
}

/// The value of a sender that waited has entered a channel, where a place has become free.
#[inline(always)]
pub(crate) fn entered<T>(channel: usize, number: u64, sender: Option<&Waker>) {
    if waits::noted() {
        books::sent(channel, false);
        let way = Way::new(Happened::Sent, channel, number);
        note_of(way, type_name::<T>, woken(sender));
    }
}

/// The oldest value of a channel was handed to a receiver that waited.
#[inline(always)]
pub(crate) fn passed<T>(channel: usize, number: u64, receiver: Option<&Waker>) {
    if waits::noted() {
        books::received(channel, false);
        let way = Way::new(Happened::Received, channel, number);
        note_of(way, type_name::<T>, woken(receiver));
    }
}

/// A wait in a cell or lock was ended.
#[cold]
pub(crate) fn released<S>(source: usize, whom: &Waker) {
    let with = party(woken(Some(whom)));
    let way = Way::new(Happened::Released, source, 0);
    note(way, type_name::<S>, None, with);
}

/// A task was started.
#[cold]
pub(crate) fn spawned(header: *mut task::Header) {
    let way = Way::new(Happened::Spawned, 0, 0);
    note(way, type_name::<()>, None, of(header));
}

#[inline(always)]
fn woken(waker: Option<&Waker>) -> Woken {
    Woken {
        data: waker.map_or(std::ptr::null(), Waker::data),
        by: match waker {
            None => By::Nobody,
            Some(waker) if task::is_ours(waker) => By::Us,
            Some(_) => By::Others,
        },
    }
}

#[inline(never)]
fn exchanged(way: Way, value: Name, with: Woken) {
    if waits::booked() {
        let met = with.by != By::Nobody;
        match way.happened {
            Happened::Sent => books::sent(way.channel, met),
            _ => books::received(way.channel, met),
        }
    }
    note(way, value, None, party(with));
}

/// Done for `who` by the task that runs.
#[cold]
#[inline(never)]
fn note_of(way: Way, value: Name, who: Woken) {
    note(way, value, Some(party(who)), NOBODY);
}

const NOBODY: Party = Party {
    id: 0,
    started: None,
};

/// The task that is woken by this.
#[inline(always)]
fn party(woken: Woken) -> Party {
    match woken.by {
        By::Nobody => NOBODY,
        By::Us => of(woken.data.cast_mut().cast()),
        // One without data is somebody, too.
        By::Others => Party {
            id: woken.data.addr().max(1),
            started: None,
        },
    }
}

/// The task in this slot, which is or was alive.
#[inline(always)]
pub(super) fn of(header: *mut task::Header) -> Party {
    Task::polled(header).map_or(NOBODY, |(id, at)| Party {
        id,
        started: Some(at),
    })
}

/// `who`: not the task that runs, but for whom it acts.
#[inline(always)]
fn note(way: Way, value: Name, who: Option<Party>, with: Party) {
    let note = |here: Party| Note {
        ticks: 0,
        who: who.unwrap_or(here),
        with,
        value,
        #[cfg(debug_assertions)]
        at: AT.get().filter(|_| who.is_none()),
        way,
    };
    if let Some(worker) = current::worker() {
        if let Some(recorder) = &worker.shared.recorder {
            // RELAXED: our own.
            let turn = worker.shared.remotes[worker.index()]
                .turn
                .load(Ordering::Relaxed);
            let note = note(of(worker.running()));
            // SAFETY: this thread is the worker.
            unsafe { recorder.push(worker.index(), turn, note) };
        }
    } else {
        note_outside(note(of(current::polled())));
    }
}

#[cold]
fn note_outside(note: Note) {
    if let Some(shared) = current::shared()
        && let Some(recorder) = &shared.recorder
    {
        recorder.push_outside(note);
    }
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
    // Under a seam he tells of it who drives the runtime, and has the record.
    let prints = |shared: &Arc<Shared>| shared.recorder.is_some() && !shared.has_seam;
    let shared = current::shared().filter(prints);
    let (
        Some(shared),
        Party {
            id,
            started: Some(_),
        },
    ) = (shared, super::running())
    else {
        return;
    };
    let last = last_of(&shared, Some(id));
    if last.is_empty() {
        return;
    }
    // Where nobody can read it this panics, and must not end the worker.
    let task = task::in_words(id, started);
    task::quietly(|| eprintln!("the {task} panicked{last}"));
}

impl super::Handle {
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
    /// let record = rt.handle().flight_record();
    /// assert_eq!(record[1].happened, Happened::Sent);
    /// println!("{}", record[1]);
    /// ```
    #[must_use]
    pub fn flight_record(&self) -> Vec<Communication> {
        let recorder = self.shared().recorder.as_ref();
        recorder.map_or(Vec::new(), |recorder| recorder.all(true))
    }
}

impl super::Builder {
    /// Keeps the last `n` communications of each worker: who started, sent to, received from or released
    /// whom. They are printed when a task panics (but under a [seam](Self::seam)) and in a report of a deadlock, and
    /// read by [`Handle::flight_record`](super::Handle::flight_record).
    ///
    /// It may stay on: a communication costs 70 to 120 instructions more (`cargo x hooks`), and one that is
    /// kept 64 bytes. Channels are recorded that were made while a runtime with a recorder lives. The lines
    /// are known in builds with debug assertions.
    ///
    /// # Panics
    /// If `n` is 0.
    ///
    /// ```
    /// let rt = tidings::Runtime::builder().flight_recorder(1000).build().unwrap();
    /// rt.block_on(async {
    ///     let (tx, rx) = tidings::unbounded();
    ///     tx.send(1).await.unwrap();
    ///     rx.recv().await.unwrap();
    /// });
    /// for communication in rt.handle().flight_record() {
    ///     println!("{communication}");
    /// }
    /// ```
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
