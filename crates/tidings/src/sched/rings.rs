//! What the flight recorder keeps: a ring of notes for each worker, and how they are put in one order.
//!
//! A ring belongs to its worker by the lock that is biased towards it: a note costs its owner no atomic
//! read-modify-write. The processor's ticks take longer to read than all the rest, so they are read at the
//! first note of a poll and at every [`STALE`]th from there. That leaves the order of two workers' notes
//! open; but a value comes out of a channel after it went in, and each note has its number there: [`merge`]
//! goes by that.

use std::collections::HashMap;
#[cfg(debug_assertions)]
use std::panic::Location;
use std::time::Duration;

use super::record::{Communication, Happened, Party};
use crate::actor::message_name;
use crate::event::waits::Recording;
use crate::primitive::{Biased, CachePadded, Mutex, lock};
use crate::time::{Instant, Ticks};

/// Notes of one poll that have the same ticks, at most.
const STALE: u32 = 8;

/// A [`Communication`] as it is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Note {
    /// Not later than it happened.
    pub(super) ticks: u64,
    pub(super) who: Party,
    /// Of the number 0: nobody.
    pub(super) with: Party,
    pub(super) value: Name,
    #[cfg(debug_assertions)]
    pub(super) at: Option<&'static Location<'static>>,
    pub(super) way: Way,
}

/// Which way a value went.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) channel: usize,
    /// Which value of the channel it is, the lower half of that; 0: not known.
    number: u32,
    pub(super) happened: Happened,
}

/// Gives the name of a type: in a note it is one word, where the name would be two.
pub(super) type Name = fn() -> &'static str;

/// The last notes of one writer.
#[derive(Debug, Default)]
struct Ring {
    notes: Vec<Note>,
    /// The oldest, if it is full.
    next: usize,
    /// The ticks read last, in which turn of the worker, and for how many more notes they will do.
    ticks: u64,
    turn: u32,
    fresh: u32,
}

impl Ring {
    #[inline(always)]
    fn push(&mut self, kept: usize, note: Note) {
        if let Some(oldest) = self.notes.get_mut(self.next) {
            *oldest = note;
        } else {
            self.notes.push(note);
        }
        self.next = if self.next + 1 == kept {
            0
        } else {
            self.next + 1
        };
    }

    /// The processor's ticks, or some of a moment ago.
    #[inline(always)]
    fn ticks(&mut self, turn: u32, ticks: Ticks) -> u64 {
        if self.fresh == 0 || self.turn != turn {
            (self.turn, self.fresh, self.ticks) = (turn, STALE, ticks.now());
        }
        self.fresh -= 1;
        self.ticks
    }

    /// In the order in which they came.
    fn read(&mut self, taken: bool) -> Vec<Note> {
        let (newer, older) = self.notes.split_at(self.next);
        let all = [older, newer].concat();
        if taken {
            (self.notes, self.next) = (Vec::new(), 0);
        }
        all
    }
}

/// The rings of a runtime: one for each worker, and one for threads outside.
#[derive(Debug)]
pub(super) struct Recorder {
    workers: Box<[CachePadded<Biased<Ring>>]>,
    outside: Mutex<Ring>,
    kept: usize,
    /// `None`: notes have the nanoseconds of the clock, which a seam may have made.
    ticks: Option<Ticks>,
    _recording: Recording,
}

impl Recorder {
    pub(super) fn new(kept: usize, workers: usize, seam: bool) -> Self {
        let ring = || CachePadded(Biased::new(Ring::default()));
        Self {
            workers: (0..workers).map(|_| ring()).collect(),
            outside: Mutex::default(),
            kept,
            ticks: if seam { None } else { Ticks::start() },
            _recording: Recording::communications(),
        }
    }

    /// Keeps what happens on a worker, in this turn of it. The note gets its ticks here.
    ///
    /// # Safety
    /// This thread is that worker.
    #[inline(always)]
    pub(super) unsafe fn push(&self, worker: usize, turn: u32, note: Note) {
        let push = |ring: &mut Ring| {
            let ticks = match self.ticks {
                Some(ticks) => ring.ticks(turn, ticks),
                None => Instant::now().as_nanos(),
            };
            ring.push(self.kept, Note { ticks, ..note });
        };
        // SAFETY: the caller's promise, and a push does not come back here.
        unsafe { self.workers[worker].enter(push) };
    }

    /// Keeps what happens on a thread that is no worker.
    #[cold]
    pub(super) fn push_outside(&self, note: Note) {
        let ticks = self.ticks.map(Ticks::now);
        let ticks = ticks.unwrap_or_else(|| Instant::now().as_nanos());
        lock(&self.outside).push(self.kept, Note { ticks, ..note });
    }

    /// All that is kept, in the order of time. `taken`: it is not kept any more.
    pub(super) fn all(&self, taken: bool) -> Vec<Communication> {
        let workers = self.workers.iter();
        let mut rings: Vec<Vec<Note>> = workers
            .map(|ring| ring.revoke(|ring| ring.read(taken)))
            .collect();
        rings.push(lock(&self.outside).read(taken));
        let times = self.ticks.map(Ticks::times);
        let time = |ticks| match &times {
            Some(time) => time(ticks),
            None => Duration::from_nanos(ticks),
        };
        let communication = |note: Note| Communication {
            time: time(note.ticks),
            who: note.who,
            happened: note.way.happened,
            channel: note.way.channel,
            value: message_name((note.value)()),
            with: Some(note.with).filter(|with| with.id != 0),
            #[cfg(debug_assertions)]
            at: note.at,
            #[cfg(not(debug_assertions))]
            at: None,
        };
        merge(&rings).into_iter().map(communication).collect()
    }
}

/// Puts the notes of several rings in one order: by their ticks, but for a value that would come out of a
/// channel before it went in.
fn merge(rings: &[Vec<Note>]) -> Vec<Note> {
    /// By so much the ticks of two processors may differ: some 100 us.
    const NEAR: u64 = 300_000;
    /// One that went in, or came out, by itself.
    fn value(note: &Note, happened: Happened) -> Option<(usize, u32)> {
        let way = note.way;
        let alone = way.happened == happened && way.number != 0 && note.with.id == 0;
        alone.then_some((way.channel, way.number))
    }
    /// Where it went in, in which ring, and whether it is on its way.
    #[derive(Default)]
    struct Value {
        places: Vec<(usize, usize)>,
        on_its_way: i32,
    }
    let mut sent: HashMap<(usize, u32), Value> = HashMap::new();
    for (ring, notes) in rings.iter().enumerate() {
        for (at, note) in notes.iter().enumerate() {
            if let Some(value) = value(note, Happened::Sent) {
                sent.entry(value).or_default().places.push((ring, at));
            }
        }
    }
    let mut next = vec![0; rings.len()];
    let mut all: Vec<Note> = Vec::new();
    loop {
        let comes_later = |ring: usize, note: &Note| {
            let value = value(note, Happened::Received);
            let Some(value) = value.and_then(|value| sent.get(&value)) else {
                return false;
            };
            // It had come out when its worker read the ticks again, which may have stood still before that.
            // What went in later still is another channel's, which was at the same address.
            let mut later = rings[ring][next[ring]..].iter().map(|later| later.ticks);
            let by = later.find(|&ticks| ticks > note.ticks);
            let is_to_come = |&(other, at): &(usize, usize)| {
                let sent = rings[other][at].ticks;
                other != ring && at >= next[other] && by.is_none_or(|by| sent <= by + NEAR)
            };
            value.on_its_way <= 0 && value.places.iter().any(is_to_come)
        };
        let heads = (0..rings.len()).filter_map(|ring| {
            let note = rings[ring].get(next[ring])?;
            Some((comes_later(ring, note), note.ticks, ring))
        });
        let Some((_, _, ring)) = heads.min() else {
            return all;
        };
        let mut note = rings[ring][next[ring]];
        next[ring] += 1;
        for (happened, n) in [(Happened::Sent, 1), (Happened::Received, -1)] {
            if let Some(known) = value(&note, happened).and_then(|value| sent.get_mut(&value)) {
                known.on_its_way += n;
            }
        }
        let last = all.last().map_or(0, |last| last.ticks);
        note.ticks = note.ticks.max(last);
        all.push(note);
    }
}

impl Way {
    /// `number`: which value it is, since the channel was made.
    #[inline(always)]
    pub(super) fn new(happened: Happened, channel: usize, number: u64) -> Self {
        Self {
            channel,
            number: number as u32,
            happened,
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::Happened::{Received, Sent};
    use super::{Happened, Note, Party, Ring, STALE, Ticks, Way, merge};

    fn note(ticks: u64, happened: Happened, channel: usize, number: u64) -> Note {
        let nobody = Party {
            id: 0,
            started: None,
        };
        Note {
            ticks,
            who: nobody,
            with: nobody,
            value: || "u8",
            #[cfg(debug_assertions)]
            at: None,
            way: Way::new(happened, channel, number),
        }
    }

    /// What happened to which value of which channel, in the order of the merge, and when.
    fn merged(rings: &[Vec<Note>]) -> Vec<(Happened, usize, u32, u64)> {
        let all = merge(rings).into_iter();
        all.map(|note| {
            (
                note.way.happened,
                note.way.channel,
                note.way.number,
                note.ticks,
            )
        })
        .collect()
    }

    #[test]
    fn a_value_goes_in_before_it_comes_out_whatever_the_ticks_say() {
        // The poll that received began before the one that sent; what it did next comes later still.
        let receiver = vec![note(10, Received, 1, 1), note(10, Sent, 2, 1)];
        let sender = vec![note(12, Sent, 1, 1), note(12, Received, 2, 1)];
        let all = merged(&[receiver, sender]);
        let right = [
            (Sent, 1, 1, 12),
            (Received, 1, 1, 12),
            (Sent, 2, 1, 12),
            (Received, 2, 1, 12),
        ];
        assert_eq!(all, right);
        // However long the receiver stood still in its poll, be there another or not.
        let sender = [note(4_000_000, Sent, 1, 1)];
        for later in [None, Some(5_000_000)] {
            let mut receiver = vec![note(10, Received, 1, 1)];
            receiver.extend(later.map(|ticks| note(ticks, Sent, 2, 1)));
            let all = merged(&[receiver, sender.to_vec()]);
            assert_eq!(
                all[..2],
                [(Sent, 1, 1, 4_000_000), (Received, 1, 1, 4_000_000)]
            );
        }
    }

    #[test]
    fn a_later_channel_at_the_same_address_holds_nothing_up() {
        // The first send is not kept any more.
        let receiver = vec![note(10, Received, 1, 1), note(11, Received, 1, 2)];
        let sender = vec![note(2_000_000, Sent, 1, 1)];
        assert_eq!(merged(&[receiver, sender])[2].0, Sent);
        // It is, and the value has come out.
        let receiver = vec![note(10, Received, 1, 1)];
        let sender = vec![note(5, Sent, 1, 1), note(20, Sent, 1, 1)];
        let all = merged(&[receiver, sender]);
        let ticks: Vec<u64> = all.iter().map(|all| all.3).collect();
        assert_eq!(ticks, [5, 10, 20]);
        // The later one's value is waited for, too.
        let receiver = vec![note(10, Received, 1, 1), note(20, Received, 1, 1)];
        let sender = vec![note(5, Sent, 1, 1), note(25, Sent, 1, 1)];
        let ways: Vec<_> = merged(&[receiver, sender])
            .iter()
            .map(|all| all.0)
            .collect();
        assert_eq!(ways, [Sent, Received, Sent, Received]);
    }

    #[test]
    fn the_ticks_are_read_anew_for_each_poll_and_after_some_notes() {
        let Some(ticks) = Ticks::start() else {
            return;
        };
        let mut ring = Ring::default();
        let first = ring.ticks(1, ticks);
        assert!(first > 0);
        for _ in 1..STALE {
            assert_eq!(ring.ticks(1, ticks), first);
        }
        let second = ring.ticks(1, ticks);
        assert!(second > first);
        assert!(ring.ticks(2, ticks) > second);
    }

    #[test]
    fn a_ring_keeps_the_last_notes_in_their_order() {
        let mut ring = Ring::default();
        let kept = |ring: &mut Ring| -> Vec<u64> {
            ring.read(false).iter().map(|note| note.ticks).collect()
        };
        for ticks in 0..2 {
            ring.push(3, note(ticks, Sent, 1, 1));
        }
        assert_eq!(kept(&mut ring), [0, 1]);
        for ticks in 2..5 {
            ring.push(3, note(ticks, Sent, 1, 1));
        }
        assert_eq!(kept(&mut ring), [2, 3, 4]);
        assert_eq!(ring.read(true).len(), 3);
        ring.push(3, note(7, Sent, 1, 1));
        assert_eq!(kept(&mut ring), [7]);
    }
}
