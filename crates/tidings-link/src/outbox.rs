//! What waits to be written, in three classes: control, answers, requests. What is urgent goes
//! first, frame by frame, so that no answer ever waits behind requests.

use std::collections::VecDeque;

use serde::Serialize;
use tidings::remote::prefetch_first;

use crate::frame::{self, Head, LONGEST, kind};

/// How much is put together for one write; a frame more, if it is a long one.
const CHUNK: usize = 64 << 10;

/// What is no longer goes with what is more urgent in one write. More is not copied for that.
const COPIED: usize = CHUNK / 4;

/// So many buffers that have been written are kept for what comes next, of each class.
const SPARES: usize = 2;

/// Whole frames of one class, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// Those of which there is a chunk.
    full: VecDeque<Chunk>,
    /// What comes after them.
    last: Chunk,
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
        let full = std::mem::replace(&mut self.last, next);
        self.before += full.bytes.len() as u64;
        self.full.push_back(full);
    }

    /// Appends a message: one frame, or several.
    #[inline]
    pub(crate) fn message(&mut self, kind: u8, header: &impl Head, body: &[u8]) {
        let mut rest = frame::write_first(self.end(), kind, header, body);
        while !rest.is_empty() {
            rest = frame::write_rest(self.end(), kind, rest);
        }
    }

    /// Appends a word.
    pub(crate) fn word<H: Serialize>(&mut self, kind: u8, header: &H) {
        debug_assert!(is_word(kind));
        let end = self.end();
        let before = end.len();
        frame::write(end, kind, header);
        let length = end.len() - before;
        self.last.words += length;
    }

    /// Puts whole frames before all others.
    pub(crate) fn prepend(&mut self, bytes: Vec<u8>) {
        self.before += bytes.len() as u64;
        self.full.push_front(Chunk { bytes, words: 0 });
    }

    fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.full.iter().chain([&self.last])
    }

    #[inline]
    fn len(&self) -> usize {
        (self.position() - self.passed) as usize
    }

    fn words(&self) -> usize {
        self.chunks().map(|chunk| chunk.words).sum()
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
    pub(crate) fn position(&self) -> u64 {
        self.before + self.last.bytes.len() as u64
    }

    /// How much has ever been taken out.
    pub(crate) fn passed(&self) -> u64 {
        self.passed
    }

    /// Moves what may go in one write to `to`. `false`: there is more.
    #[inline]
    fn fill(&mut self, to: &mut Vec<u8>) -> bool {
        while !self.full.is_empty() {
            if !self.take(to) {
                return false;
            }
        }
        self.last.bytes.is_empty() || self.take(to)
    }

    /// The same of the first chunk.
    fn take(&mut self, to: &mut Vec<u8>) -> bool {
        let is_last = self.full.is_empty();
        let first = self.full.front_mut().unwrap_or(&mut self.last);
        let length = first.bytes.len();
        if to.is_empty() {
            std::mem::swap(to, &mut first.bytes);
        } else if length <= COPIED && to.len() + length <= CHUNK {
            to.extend_from_slice(&first.bytes);
            first.bytes.clear();
        } else {
            return false;
        }
        first.words = 0;
        self.passed += length as u64;
        if is_last {
            self.before += length as u64;
        } else if let Some(Chunk { bytes, .. }) = self.full.pop_front()
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
}

impl Outbox {
    /// What is to be written next.
    #[inline]
    pub(crate) fn next(&mut self) -> &[u8] {
        if self.written == self.wire.len() {
            if self.len() == 0 {
                return &[];
            }
            self.refill();
        }
        &self.wire[self.written..]
    }

    #[inline(never)]
    fn refill(&mut self) {
        self.wire.clear();
        self.written = 0;
        for queue in [&mut self.control, &mut self.answers, &mut self.requests] {
            if !queue.fill(&mut self.wire) {
                return;
            }
        }
    }

    pub(crate) fn written(&mut self, n: usize) {
        self.written += n;
        if self.written == self.wire.len() {
            self.wire.clear();
            self.written = 0;
            // An idle link has one buffer, not two by turns: a thousand of them stay in the cache longer.
            let mut queues = [&mut self.requests, &mut self.answers].into_iter();
            if let Some(queue) = queues.find(|queue| queue.last.bytes.capacity() == 0) {
                std::mem::swap(&mut queue.last.bytes, &mut self.wire);
            }
        }
    }

    /// Gives back room that is not needed.
    pub(crate) fn trim(&mut self) {
        if self.len() == 0 {
            for queue in [&mut self.control, &mut self.answers, &mut self.requests] {
                (queue.last.bytes, queue.spares) = (Vec::new(), Vec::new());
                queue.full = VecDeque::new();
            }
            (self.wire, self.written) = (Vec::new(), 0);
        }
    }

    /// As [`Hub::prefetch`](crate::hub::Hub::prefetch).
    pub(crate) fn prefetch(&self) {
        prefetch_first(&self.requests.last.bytes);
        prefetch_first(&self.answers.last.bytes);
    }

    /// How much of what waits are words, in bytes.
    pub(crate) fn words(&self) -> usize {
        self.control.words() + self.requests.words()
    }

    /// How much waits, in bytes.
    pub(crate) fn len(&self) -> usize {
        let queued = self.control.len() + self.answers.len() + self.requests.len();
        queued + self.wire.len() - self.written
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
            out.requests.message(kind::TELL, &head, &[7; 10_000]);
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
            steps in prop::collection::vec((0..3_usize, 0_usize..100_000, 0_u32..16, any::<bool>()), 1..60),
        ) {
            let head = TellHead { target: 0, method: [0; 4], carried: vec![] };
            let mut out = Outbox::default();
            let (mut put, mut came) = ([const { Vec::new() }; 3], [const { Vec::new() }; 3]);
            let takes = steps.len() * 4;
            let steps = steps.into_iter().map(Some).chain(std::iter::repeat_n(None, takes));
            for step in steps {
                if let Some((to, size, shift, _)) = step {
                    let kind = [kind::PING, kind::ANSWER, kind::TELL][to];
                    let body = vec![to as u8; size >> shift];
                    let queue = match to {
                        0 => &mut out.control,
                        1 => &mut out.answers,
                        _ => &mut out.requests,
                    };
                    if to == 0 {
                        write(queue.end(), kind, &size);
                        write(&mut put[to], kind, &size);
                    } else {
                        queue.message(kind, &head, &body);
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
            [7; 1_000],
        );
        let mut words = 0;
        for at in 0..300 {
            out.requests.message(kind::TELL, &tell, &body);
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
