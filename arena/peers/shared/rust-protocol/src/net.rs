//! The workload `net` of `WORKLOADS.md`, as far as it is the same on every runtime: what a system brings, frames by hand,
//! and what the clients of a cell count.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use crate::{Counts, Fault, Histogram, Sampled};

/// A client's end of a pair. The answer is verified by who calls.
pub trait End: Send + 'static {
    fn echo(&mut self, number: i64) -> impl Future<Output = Result<i64, Fault>> + Send;
}

/// How a system makes its pairs.
pub trait Transport: 'static {
    type End: End;

    /// Serves until the runtime ends; gives the address.
    fn serve(pairs: usize) -> impl Future<Output = Result<SocketAddr, Fault>> + Send;

    /// Connects all clients.
    fn connect(
        addr: SocketAddr,
        pairs: usize,
    ) -> impl Future<Output = Result<Vec<Self::End>, Fault>> + Send;
}

/// An echo, whose answer is the one.
pub async fn verified(end: &mut impl End, number: i64) -> Result<i64, Fault> {
    let answer = end.echo(number).await?;
    if answer == number {
        Ok(answer)
    } else {
        Err(Fault::Bug(format!(
            "asked {number}, the answer is {answer}"
        )))
    }
}

/// A client has done nothing yet; it and its server are counted.
pub fn pair() -> Counts {
    Counts {
        units: 2,
        ..Counts::default()
    }
}

/// When request `k` of a schedule is due, from its start.
pub fn due_at(k: i64, rate: i64) -> Duration {
    Duration::from_secs((k / rate) as u64)
        + Duration::from_nanos((k % rate * 1_000_000_000 / rate) as u64)
}

/// From the time requests were due, and from the time they were written.
#[derive(Debug, Default)]
pub struct Latencies {
    pub due: Histogram,
    pub sent: Histogram,
}

/// What a sample on a schedule was like.
#[derive(Debug)]
pub struct Paced {
    pub time: Duration,
    pub counts: Counts,
    pub latencies: Latencies,
}

impl From<Paced> for Sampled {
    fn from(paced: Paced) -> Self {
        let (due, sent) = (paced.latencies.due.json(), paced.latencies.sent.json());
        Self {
            inner: 1,
            time: paced.time,
            counts: paced.counts,
            more: format!(",\"hist\":{due},\"hist_service\":{sent}"),
        }
    }
}

/// What can be read from, of any runtime.
pub trait Read: Send + 'static {
    fn read(&mut self, to: &mut [u8]) -> impl Future<Output = io::Result<usize>> + Send;
}

/// What can be written to, of any runtime.
pub trait Write: Send + 'static {
    fn write_all(&mut self, bytes: &[u8]) -> impl Future<Output = io::Result<()>> + Send;
}

/// What a connection has read and not used yet. Longer than a frame: a read that fills it would make a runtime try again
/// for nothing.
#[derive(Debug)]
pub struct Buffer<const SIZE: usize> {
    bytes: Box<[u8; SIZE]>,
    begin: usize,
    end: usize,
}

impl<const SIZE: usize> Default for Buffer<SIZE> {
    fn default() -> Self {
        Self {
            bytes: Box::new([0; SIZE]),
            begin: 0,
            end: 0,
        }
    }
}

impl<const SIZE: usize> Buffer<SIZE> {
    /// The next frame; `None` at the end. A frame is the length of what follows in 4 bytes, then it; integers are
    /// big-endian.
    pub async fn next<const LENGTH: usize>(
        &mut self,
        from: &mut impl Read,
    ) -> Result<Option<[u8; LENGTH]>, Fault> {
        loop {
            if let Some(frame) = self.bytes[self.begin..self.end].first_chunk::<LENGTH>() {
                let length = frame.first_chunk().copied().map_or(0, u32::from_be_bytes) as usize;
                if length != LENGTH - 4 {
                    let wanted = LENGTH - 4;
                    return Err(Fault::Bug(format!(
                        "a frame of {length} bytes, must have {wanted}"
                    )));
                }
                self.begin += LENGTH;
                return Ok(Some(*frame));
            }
            self.bytes.copy_within(self.begin..self.end, 0);
            self.end -= self.begin;
            self.begin = 0;
            let count = from.read(&mut self.bytes[self.end..]).await?;
            self.end += count;
            if count == 0 {
                return match self.end {
                    0 => Ok(None),
                    _ => Err(Fault::bug("the connection ended inside a frame")),
                };
            }
        }
    }
}

/// The number that a frame ends with.
fn number(frame: &[u8]) -> i64 {
    frame
        .last_chunk()
        .map_or(0, |number| i64::from_be_bytes(*number))
}

const FRAME: usize = 4 + 8;

/// A connection of its own for a client: frames of a number.
#[derive(Debug)]
pub struct Framed<S> {
    stream: S,
    buffer: Buffer<256>,
}

impl<S: Read + Write> Framed<S> {
    pub fn new(stream: S) -> Self {
        Self {
            stream,
            buffer: Buffer::default(),
        }
    }

    /// The server's end: answers until the client has gone.
    pub async fn serve(mut self) -> Result<(), Fault> {
        while let Some(frame) = self.buffer.next::<FRAME>(&mut self.stream).await? {
            self.stream.write_all(&frame).await?;
        }
        Ok(())
    }
}

impl<S: Read + Write> End for Framed<S> {
    async fn echo(&mut self, asked: i64) -> Result<i64, Fault> {
        let mut frame = [0; FRAME];
        frame[..4].copy_from_slice(&8_u32.to_be_bytes());
        frame[4..].copy_from_slice(&asked.to_be_bytes());
        self.stream.write_all(&frame).await?;
        match self.buffer.next::<FRAME>(&mut self.stream).await? {
            Some(frame) => Ok(number(&frame)),
            None => Err(Fault::bug("the connection ended")),
        }
    }
}

/// What one frame of a connection holds that all pairs share.
#[derive(Clone, Copy, Debug)]
pub struct Parcel {
    pub pair: u32,
    pub number: i64,
}

impl Parcel {
    /// Parcels in one write, at most.
    pub const BATCH: usize = 4096;
    const FRAME: usize = 4 + 4 + 8;

    /// The next one; `None` at the end.
    pub async fn next(
        buffer: &mut Buffer<65_536>,
        from: &mut impl Read,
    ) -> Result<Option<Self>, Fault> {
        let frame = buffer.next::<{ Self::FRAME }>(from).await?;
        Ok(frame.map(|frame| {
            let [_, _, _, _, a, b, c, d, ..] = frame;
            Self {
                pair: u32::from_be_bytes([a, b, c, d]),
                number: number(&frame),
            }
        }))
    }

    /// Appends its frame.
    pub fn put(self, to: &mut Vec<u8>) {
        to.extend_from_slice(&12_u32.to_be_bytes());
        to.extend_from_slice(&self.pair.to_be_bytes());
        to.extend_from_slice(&self.number.to_be_bytes());
    }
}
