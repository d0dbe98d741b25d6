//! A long body, which is written where it lies, and not copied into frames: the head of each is put over the end of
//! what stands before it, and has been written.

use std::ops::Range;

use crate::frame::{FRAGMENT, REST_HEAD, rest_head};

/// What comes after the first frame of a message.
#[derive(Debug)]
pub(crate) struct Long {
    /// Of the message.
    pub(crate) kind: u8,
    body: Vec<u8>,
    /// Where the next frame's part of it begins.
    at: usize,
    /// Where the frames lie that are being written, or what is left of them.
    frames: Range<usize>,
}

impl Long {
    /// Of a message of this kind, in whose first frame is as much of the body as goes into one.
    pub(crate) fn new(kind: u8, body: Vec<u8>) -> Self {
        Self {
            kind,
            body,
            at: FRAGMENT,
            frames: 0..0,
        }
    }

    /// How long the frames are that are to come, all together.
    pub(crate) fn waiting(&self) -> usize {
        let rest = self.body.len() - self.at;
        rest + rest.div_ceil(FRAGMENT) * REST_HEAD
    }

    /// Makes the next two frames, or the last, for one write. Gives how long they are.
    pub(crate) fn begin(&mut self) -> usize {
        let Self { kind, body, .. } = self;
        let part = |from: usize| from..body.len().min(from + FRAGMENT);
        let first = part(self.at);
        let second = part(first.end);
        let count = if second.is_empty() { 1 } else { 2 };
        let (start, end) = (first.start - count * REST_HEAD, second.end);
        for (n, part) in [first, second].into_iter().take(count).enumerate() {
            // Nearer to the start by the heads that come between this part and the next.
            let place = part.start - (count - 1 - n) * REST_HEAD;
            let head = rest_head(*kind, part.len(), part.end < body.len());
            if place < part.start {
                body.copy_within(part, place);
            }
            body[place - REST_HEAD..place].copy_from_slice(&head);
        }
        self.at = end;
        self.frames = start..end;
        self.frames.len()
    }

    /// What is to be written of them.
    pub(crate) fn output(&self) -> &[u8] {
        &self.body[self.frames.clone()]
    }

    /// So much of it was. `true`: that is all.
    pub(crate) fn written(&mut self, n: usize) -> bool {
        self.frames.start += n;
        self.frames.is_empty()
    }

    /// Its memory, if nothing is to come.
    pub(crate) fn end(self) -> Result<Vec<u8>, Self> {
        match self.waiting() {
            0 => Ok(self.body),
            _ => Err(self),
        }
    }
}
