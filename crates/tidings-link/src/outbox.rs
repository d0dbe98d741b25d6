//! What waits to be written, in three classes: control, answers, requests. What is urgent goes
//! first, frame by frame, so that no answer ever waits behind requests.

use std::collections::VecDeque;
use std::mem::{replace, swap, take};

use serde::Serialize;
use tidings::remote::prefetch_first;

use crate::frame::{self, Head, LONGEST, kind};
use crate::long::Long;

/// How much is put together for one write; a frame more, if it is a long one.
const CHUNK: usize = 64 << 10;

/// What is no longer goes with what is more urgent in one write. More is not copied for that.
const COPIED: usize = CHUNK / 4;

/// What comes after the first frame of a body is not copied into chunks if it is longer: it is written where it lies.
const LONG: usize = 2 * CHUNK;

/// So many buffers that have been written are kept for what comes next, of each class.
const SPARES: usize = 2;

/// Whole frames of one class, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// Those of which there is a chunk, and long bodies.
    full: VecDeque<Full>,
    /// What comes after them.
    last: Chunk,
    /// How much of all that are words.
    words: usize,
    spares: Vec<Vec<u8>>,
    /// How much has ever been put in, but for what is in `last`.
    before: u64,
    /// How much has ever been taken.
    passed: u64,
}

#[derive(Debug, Default)]
struct Chunk {
    bytes: Vec<u8>,
    /// How much of it are words.
    words: usize,
}

#[derive(Debug)]
enum Full {
    Chunk(Chunk),
    Long(Long),
}

/// Is a frame of this kind a word: one that the peer brings about by what it says, and no message?
fn is_word(kind: u8) -> bool {
    matches!(
        kind,
        kind::CREDIT | kind::RELEASE | kind::BOUND | kind::PONG
    )
}

impl Queue {
    /// Where to append a frame.
    #[inline]
    pub(crate) fn end(&mut self) -> &mut Vec<u8> {
        if self.last.bytes.len() >= CHUNK {
            self.begin();
        }
        &mut self.last.bytes
    }

    /// Begins a chunk.
    #[cold]
    fn begin(&mut self) {
        let room = || Vec::with_capacity(2 * CHUNK);
        let next = Chunk {
            bytes: self.spares.pop().unwrap_or_else(room),
            words: 0,
        };
        let full = replace(&mut self.last, next);
        self.before += full.bytes.len() as u64;
        self.full.push_back(Full::Chunk(full));
    }

    /// Appends a message: one frame, or several. The memory of a long body is taken.
    #[inline]
    pub(crate) fn message(&mut self, kind: u8, header: &impl Head, body: &mut Vec<u8>) {
        let mut rest = frame::write_first(self.end(), kind, header, body);
        if rest.len() > LONG {
            return self.long(kind, take(body));
        }
        while !rest.is_empty() {
            rest = frame::write_rest(self.end(), kind, rest);
        }
    }

    /// Appends what comes after the first frame of a message.
    #[inline(never)]
    fn long(&mut self, kind: u8, body: Vec<u8>) {
        self.begin();
        let long = Long::new(kind, body);
        self.before += long.waiting() as u64;
        self.full.push_back(Full::Long(long));
    }

    /// Appends a word.
    pub(crate) fn word<H: Serialize>(&mut self, kind: u8, header: &H) {
        debug_assert!(is_word(kind));
        let end = self.end();
        let before = end.len();
        frame::write(end, kind, header);
        let length = end.len() - before;
        self.last.words += length;
        self.words += length;
    }

    /// Puts whole frames before all others.
    pub(crate) fn prepend(&mut self, bytes: Vec<u8>) {
        self.before += bytes.len() as u64;
        self.full.push_front(Full::Chunk(Chunk { bytes, words: 0 }));
    }

    fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        let full = self.full.iter().filter_map(|full| match full {
            Full::Chunk(chunk) => Some(chunk),
            Full::Long(_) => None,
        });
        full.chain([&self.last])
    }

    #[inline]
    fn len(&self) -> usize {
        (self.position() - self.passed) as usize
    }

    /// Does nothing wait?
    #[inline]
    fn is_empty(&self) -> bool {
        self.last.bytes.is_empty() && self.full.is_empty()
    }

    /// How many messages of this kind wait to be taken, from their first frames on.
    pub(crate) fn waiting(&self, kind: u8) -> usize {
        let mut count = 0;
        for chunk in self.chunks() {
            let mut rest = &chunk.bytes[..];
            while let Ok(Some((length, frame))) = frame::parse(rest, LONGEST) {
                count += usize::from(frame.kind == kind);
                rest = &rest[length..];
            }
        }
        count
    }

    /// How much has ever been put in.
    #[inline]
    pub(crate) fn position(&self) -> u64 {
        self.before + self.last.bytes.len() as u64
    }

    /// How much has ever been taken out.
    #[inline]
    pub(crate) fn passed(&self) -> u64 {
        self.passed
    }

    /// Moves what may go in one write to `to`, or to `long`. `false`: there is more, or nothing goes along with it.
    #[inline]
    fn fill(&mut self, to: &mut Vec<u8>, long: &mut Option<Long>) -> bool {
        while let Some(first) = self.full.front() {
            if matches!(first, Full::Long(_)) {
                if to.is_empty() {
                    *long = self.take_long();
                }
                return false;
            }
            if !self.take(to) {
                return false;
            }
        }
        self.last.bytes.is_empty() || self.take(to)
    }

    /// The long body that is first, to write the next part of it.
    #[inline(never)]
    fn take_long(&mut self) -> Option<Long> {
        let Some(Full::Long(mut long)) = self.full.pop_front() else {
            return None;
        };
        self.passed += long.begin() as u64;
        Some(long)
    }

    /// The same of the first chunk.
    #[inline]
    fn take(&mut self, to: &mut Vec<u8>) -> bool {
        let is_last = self.full.is_empty();
        let first = match self.full.front_mut() {
            Some(Full::Chunk(first)) => first,
            _ => &mut self.last,
        };
        let length = first.bytes.len();
        if to.is_empty() {
            swap(to, &mut first.bytes);
        } else if length <= COPIED && to.len() + length <= CHUNK {
            to.extend_from_slice(&first.bytes);
            first.bytes.clear();
        } else {
            return false;
        }
        self.words -= take(&mut first.words);
        self.passed += length as u64;
        if is_last {
            self.before += length as u64;
        } else if let Some(Full::Chunk(Chunk { bytes, .. })) = self.full.pop_front()
            && bytes.capacity() >= CHUNK
            && self.spares.len() < SPARES
        {
            self.spares.push(bytes);
        }
        true
    }
}

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub(crate) control: Queue,
    pub(crate) answers: Queue,
    pub(crate) requests: Queue,
    /// What is being written, and how much of it has been.
    wire: Vec<u8>,
    written: usize,
    /// In place of that: what is being written is a part of this.
    long: Option<Long>,
    /// Of the last long body.
    room: Vec<u8>,
}

impl Outbox {
    /// What is to be written next.
    #[inline]
    pub(crate) fn next(&mut self) -> &[u8] {
        if self.written == self.wire.len() {
            if self.is_empty() {
                return &[];
            }
            if self.long.is_none() {
                self.refill();
            }
            if let Some(long) = &self.long {
                return long.output();
            }
        }
        &self.wire[self.written..]
    }

    #[inline(never)]
    fn refill(&mut self) {
        self.wire.clear();
        self.written = 0;
        for queue in [&mut self.control, &mut self.answers, &mut self.requests] {
            if !queue.fill(&mut self.wire, &mut self.long) {
                return;
            }
        }
    }

    #[inline]
    pub(crate) fn written(&mut self, n: usize) {
        if self.long.is_some() {
            return self.written_of_long(n);
        }
        self.written += n;
        if self.written == self.wire.len() {
            self.wire.clear();
            self.written = 0;
            // An idle link has one buffer, not two by turns: a thousand of them stay in the cache longer.
            let mut queues = [&mut self.requests, &mut self.answers].into_iter();
            if let Some(queue) = queues.find(|queue| queue.last.bytes.capacity() == 0) {
                swap(&mut queue.last.bytes, &mut self.wire);
            }
        }
    }

    #[inline(never)]
    fn written_of_long(&mut self, n: usize) {
        let Some(long) = self.long.take_if(|long| long.written(n)) else {
            return;
        };
        match long.end() {
            Ok(room) => self.room = room,
            Err(long) => {
                let queue = match long.kind {
                    kind::ANSWER => &mut self.answers,
                    _ => &mut self.requests,
                };
                queue.full.push_front(Full::Long(long));
            }
        }
    }

    /// Does nothing wait?
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        let is_written = self.written == self.wire.len() && self.long.is_none();
        let queues = [&self.control, &self.answers, &self.requests];
        is_written && queues.into_iter().all(Queue::is_empty)
    }

    /// Room for a body: of one that has been written, if there is one.
    #[inline]
    pub(crate) fn room(&mut self) -> Vec<u8> {
        let mut room = take(&mut self.room);
        room.clear();
        room
    }

    /// Gives back room that is not needed.
    pub(crate) fn trim(&mut self) {
        if self.is_empty() {
            for queue in [&mut self.control, &mut self.answers, &mut self.requests] {
                (queue.last.bytes, queue.spares) = (Vec::new(), Vec::new());
                queue.full = VecDeque::new();
            }
            (self.wire, self.written) = (Vec::new(), 0);
            self.room = Vec::new();
        }
    }

    /// As [`Hub::prefetch`](crate::hub::Hub::prefetch).
    pub(crate) fn prefetch(&self) {
        prefetch_first(&self.requests.last.bytes);
        prefetch_first(&self.answers.last.bytes);
    }

    /// How much of what waits are words, in bytes.
    pub(crate) fn words(&self) -> usize {
        self.control.words + self.requests.words
    }

    /// How much waits, in bytes.
    pub(crate) fn len(&self) -> usize {
        let queued = self.control.len() + self.answers.len() + self.requests.len();
        let long = self.long.as_ref().map_or(0, |long| long.output().len());
        queued + self.wire.len() - self.written + long
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::{PongHead, ReleaseHead, TellHead, write};

    #[test]
    fn what_is_urgent_waits_for_a_chunk_at_most_and_frames_stay_whole() {
        let mut out = Outbox::default();
        for _ in 0..100 {
            let head = TellHead {
                target: 0,
                method: [0; 4],
                carried: vec![],
            };
            out.requests
                .message(kind::TELL, &head, &mut vec![7; 10_000]);
        }
        let first = out.next().to_vec();
        assert!(first.len() <= CHUNK + 11_000);
        out.written(first.len());
        write(out.control.end(), kind::PING, &());
        assert_eq!(out.next()[4], kind::PING);
        let mut all = first;
        loop {
            let next = out.next().to_vec();
            if next.is_empty() {
                break;
            }
            out.written(next.len());
            all.extend(next);
        }
        let mut frames = 0;
        let mut rest = &all[..];
        while let Some((length, _)) = frame::parse(rest, LONGEST).unwrap() {
            rest = &rest[length..];
            frames += 1;
        }
        assert!(rest.is_empty());
        assert_eq!(frames, 101);
    }

    #[test]
    fn the_memory_of_a_long_body_is_taken_and_comes_back_when_it_has_been_written() {
        let head = TellHead {
            target: 0,
            method: [0; 4],
            carried: vec![],
        };
        let mut out = Outbox::default();
        let mut body = vec![7; LONG];
        out.requests.message(kind::TELL, &head, &mut body);
        assert_eq!(body.len(), LONG);
        body.resize(4 * LONG, 7);
        let its = body.as_ptr();
        out.requests.message(kind::TELL, &head, &mut body);
        assert!(body.is_empty());
        loop {
            // A byte is left each time, which is written by itself.
            let n = out.next().len();
            if n == 0 {
                break;
            }
            assert_eq!(out.room().capacity(), 0);
            out.written(n - 1);
            assert_eq!(out.next().len(), 1);
            out.written(1);
        }
        assert_eq!(out.len(), 0);
        let room = out.room();
        assert!(room.is_empty() && room.capacity() >= 4 * LONG);
        assert_eq!(room.as_ptr(), its);
    }

    /// The class of a frame of the test below.
    fn class(frame: &frame::Frame<'_>) -> usize {
        match frame.kind {
            kind::REST if frame.rest[0] == kind::ANSWER => 1,
            kind::REST | kind::TELL => 2,
            kind::ANSWER => 1,
            _ => 0,
        }
    }

    proptest! {
        #[test]
        fn each_class_comes_as_it_was_put_in_and_what_is_urgent_in_the_next_write(
            steps in prop::collection::vec((0..3_usize, 0_usize..400_000, 0_u32..18, any::<bool>()), 1..60),
        ) {
            let head = TellHead { target: 0, method: [0; 4], carried: vec![] };
            let mut out = Outbox::default();
            let (mut put, mut came) = ([const { Vec::new() }; 3], [const { Vec::new() }; 3]);
            // A body of 400,000 bytes takes seven: its first frame, and then two at a time.
            let takes = steps.len() * 8;
            let steps = steps.into_iter().map(Some).chain(std::iter::repeat_n(None, takes));
            for step in steps {
                if let Some((to, size, shift, _)) = step {
                    let kind = [kind::PING, kind::ANSWER, kind::TELL][to];
                    let body: Vec<u8> = (0..size >> shift).map(|n| (n >> 3) as u8).collect();
                    let queue = match to {
                        0 => &mut out.control,
                        1 => &mut out.answers,
                        _ => &mut out.requests,
                    };
                    if to == 0 {
                        write(queue.end(), kind, &size);
                        write(&mut put[to], kind, &size);
                    } else {
                        queue.message(kind, &head, &mut body.clone());
                        let mut rest = frame::write_first(&mut put[to], kind, &head, &body);
                        while !rest.is_empty() {
                            rest = frame::write_rest(&mut put[to], kind, rest);
                        }
                    }
                    prop_assert_eq!(queue.position(), put[to].len() as u64);
                }
                if step.is_none_or(|(.., take)| take) {
                    let next = out.next().to_vec();
                    prop_assert!(next.len() < CHUNK + LONGEST);
                    out.written(next.len());
                    let mut rest = &next[..];
                    while let Some((length, frame)) = frame::parse(rest, LONGEST).unwrap() {
                        came[class(&frame)].extend_from_slice(&rest[..length]);
                        rest = &rest[length..];
                    }
                    prop_assert!(rest.is_empty(), "a frame is cut");
                    prop_assert_eq!(&came[0], &put[0]);
                    prop_assert_eq!(out.requests.passed(), came[2].len() as u64);
                    let waits = |class: usize| put[class].len() - came[class].len();
                    prop_assert_eq!(out.len(), waits(1) + waits(2));
                }
            }
            prop_assert_eq!(&came, &put);
            prop_assert_eq!(out.len(), 0);
        }
    }

    #[test]
    fn words_count_until_they_are_taken_and_nothing_else_does() {
        let mut out = Outbox::default();
        let (tell, body) = (
            TellHead {
                target: 0,
                method: [0; 4],
                carried: vec![],
            },
            vec![7; 1_000],
        );
        let mut words = 0;
        for at in 0..300 {
            out.requests.message(kind::TELL, &tell, &mut body.clone());
            let release = ReleaseHead {
                target: 7,
                count: 1,
            };
            out.requests.word(kind::RELEASE, &release);
            out.control.word(kind::PONG, &PongHead { at, clock: 0 });
            write(out.control.end(), kind::PING, &at);
            words += 2;
        }
        // By hand, of all that still waits.
        let count = |out: &Outbox| {
            let count = |queue: &Queue| {
                let mut words = 0;
                for chunk in queue.chunks() {
                    let mut rest = &chunk.bytes[..];
                    while let Some((length, frame)) = frame::parse(rest, LONGEST).unwrap() {
                        words += if is_word(frame.kind) { length } else { 0 };
                        rest = &rest[length..];
                    }
                }
                words
            };
            count(&out.control) + count(&out.requests)
        };
        assert!(out.words() > 7 * words);
        let mut chunks = 0;
        loop {
            assert_eq!(out.words(), count(&out));
            let length = out.next().len();
            if length == 0 {
                break;
            }
            chunks += 1;
            out.written(length);
        }
        assert!(chunks > 3 && out.words() == 0);
    }
}
