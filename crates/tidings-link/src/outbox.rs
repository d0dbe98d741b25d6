//! What waits to be written, in three classes: control, answers, requests. What is urgent goes
//! first, frame by frame, so that no answer ever waits behind requests.

use serde::Serialize;
use tidings::remote::prefetch_first;

use crate::frame::{self, kind};

/// How much is put together for one write.
const CHUNK: usize = 64 << 10;

/// Room that is kept when nothing waits.
const KEPT: usize = 2 * CHUNK;

/// Whole frames of one class, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    bytes: Vec<u8>,
    /// So much has been taken.
    taken: usize,
    /// How much has ever been taken.
    passed: u64,
    /// How much of what waits are words.
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
    pub(crate) fn end(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Appends a word.
    pub(crate) fn word<H: Serialize>(&mut self, kind: u8, header: &H) {
        debug_assert!(is_word(kind));
        let before = self.bytes.len();
        frame::write(&mut self.bytes, kind, header);
        self.words += self.bytes.len() - before;
    }

    fn len(&self) -> usize {
        self.bytes.len() - self.taken
    }

    /// How many messages of this kind wait to be taken, from their first frames on.
    pub(crate) fn waiting(&self, kind: u8) -> usize {
        let (mut rest, mut count) = (&self.bytes[self.taken..], 0);
        while let Ok(Some((length, frame))) = frame::parse(rest, frame::LONGEST) {
            count += usize::from(frame.kind == kind);
            rest = &rest[length..];
        }
        count
    }

    /// How much has ever been put in.
    pub(crate) fn position(&self) -> u64 {
        self.passed + self.len() as u64
    }

    /// How much has ever been taken out.
    pub(crate) fn passed(&self) -> u64 {
        self.passed
    }

    /// Moves frames until `to` has a chunk.
    fn fill(&mut self, to: &mut Vec<u8>) {
        let waiting = &self.bytes[self.taken..];
        if waiting.is_empty() {
            return;
        }
        if to.is_empty() && waiting.len() <= CHUNK && self.taken == 0 {
            self.passed += waiting.len() as u64;
            self.words = 0;
            return std::mem::swap(to, &mut self.bytes);
        }
        let room = CHUNK.saturating_sub(to.len());
        let mut length = waiting.len();
        if length > room {
            // At least one, if there is any room.
            length = 0;
            while length < room
                && let Some([header @ .., kind]) = waiting[length..].first_chunk::<5>()
            {
                let frame = 4 + u32::from_le_bytes(*header) as usize;
                length += frame;
                self.words -= if is_word(*kind) { frame } else { 0 };
            }
        } else {
            self.words = 0;
        }
        to.extend_from_slice(&waiting[..length]);
        self.taken += length;
        self.passed += length as u64;
        if self.taken == self.bytes.len() {
            self.bytes.clear();
            self.bytes.shrink_to(KEPT);
            self.taken = 0;
        } else if self.taken > self.bytes.len() / 2 {
            // What is moved is less than what was taken.
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
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
        self.wire.shrink_to(KEPT);
        self.written = 0;
        for queue in [&mut self.control, &mut self.answers, &mut self.requests] {
            queue.fill(&mut self.wire);
        }
    }

    pub(crate) fn written(&mut self, n: usize) {
        self.written += n;
        if self.written == self.wire.len() {
            self.wire.clear();
            self.written = 0;
            // An idle link has one buffer, not two by turns: a thousand of them stay in the cache longer.
            let mut queues = [&mut self.requests, &mut self.answers].into_iter();
            if let Some(queue) = queues.find(|queue| queue.bytes.capacity() == 0) {
                std::mem::swap(&mut queue.bytes, &mut self.wire);
            }
        }
    }

    /// Gives back room that is not needed.
    pub(crate) fn trim(&mut self) {
        if self.len() == 0 {
            for queue in [&mut self.control, &mut self.answers, &mut self.requests] {
                (queue.bytes, queue.taken) = (Vec::new(), 0);
            }
            (self.wire, self.written) = (Vec::new(), 0);
        }
    }

    /// As [`Hub::prefetch`](crate::hub::Hub::prefetch).
    pub(crate) fn prefetch(&self) {
        prefetch_first(&self.requests.bytes);
        prefetch_first(&self.answers.bytes);
    }

    /// How much of what waits are words, in bytes.
    pub(crate) fn words(&self) -> usize {
        self.control.words + self.requests.words
    }

    /// How much waits, in bytes.
    pub(crate) fn len(&self) -> usize {
        let queued = self.control.len() + self.answers.len() + self.requests.len();
        queued + self.wire.len() - self.written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{PongHead, ReleaseHead, TellHead, write, write_message};

    #[test]
    fn what_is_urgent_waits_for_a_chunk_at_most_and_frames_stay_whole() {
        let mut out = Outbox::default();
        for _ in 0..100 {
            let head = TellHead {
                target: 0,
                method: [0; 4],
                carried: vec![],
            };
            write_message(out.requests.end(), kind::TELL, &head, &[7; 10_000]);
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
        while let Some((length, _)) = frame::parse(rest, frame::LONGEST).unwrap() {
            rest = &rest[length..];
            frames += 1;
        }
        assert!(rest.is_empty());
        assert_eq!(frames, 101);
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
            write_message(out.requests.end(), kind::TELL, &tell, &body);
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
                let (mut rest, mut words) = (&queue.bytes[queue.taken..], 0);
                while let Some((length, frame)) = frame::parse(rest, frame::LONGEST).unwrap() {
                    words += if is_word(frame.kind) { length } else { 0 };
                    rest = &rest[length..];
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
