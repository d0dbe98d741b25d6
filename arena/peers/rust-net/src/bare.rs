//! tokio's sockets and nothing else: frames by hand.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::cells::{End, Fault, Transport};
use crate::mux::{Parcel, Parcels};
use crate::tcp;

/// A frame is the length of what follows in 4 bytes, then it; integers are big-endian.
const FRAME: usize = 4 + 8;
const MUX_FRAME: usize = 4 + 4 + 8;

/// What a connection has read and not used yet. The buffer is longer than a frame: a read that fills it would make
/// tokio try again for nothing.
struct Buffer<const SIZE: usize> {
    bytes: Box<[u8; SIZE]>,
    begin: usize,
    end: usize,
}

impl<const SIZE: usize> Buffer<SIZE> {
    fn new() -> Self {
        Self {
            bytes: Box::new([0; SIZE]),
            begin: 0,
            end: 0,
        }
    }

    /// The next frame that is here in whole.
    fn frame<const LENGTH: usize>(&mut self) -> Result<Option<[u8; LENGTH]>, Fault> {
        let Some(frame) = self.bytes[self.begin..self.end].first_chunk::<LENGTH>() else {
            return Ok(None);
        };
        let length = frame.first_chunk().copied().map_or(0, u32::from_be_bytes) as usize;
        if length != LENGTH - 4 {
            let wanted = LENGTH - 4;
            return Err(Fault::Bug(format!(
                "a frame of {length} bytes, must have {wanted}"
            )));
        }
        self.begin += LENGTH;
        Ok(Some(*frame))
    }

    /// Reads what comes next; false at the end.
    async fn fill(&mut self, from: &mut (impl AsyncReadExt + Unpin)) -> Result<bool, Fault> {
        self.bytes.copy_within(self.begin..self.end, 0);
        self.end -= self.begin;
        self.begin = 0;
        let count = from.read(&mut self.bytes[self.end..]).await?;
        self.end += count;
        if count == 0 && self.end > 0 {
            return Err(Fault::Bug("the connection ended inside a frame".into()));
        }
        Ok(count > 0)
    }
}

fn number(bytes: &[u8]) -> i64 {
    bytes
        .last_chunk()
        .map_or(0, |number| i64::from_be_bytes(*number))
}

/// A connection per client.
pub(crate) struct Bare;

pub(crate) struct BareEnd {
    stream: TcpStream,
    buffer: Buffer<256>,
}

impl End for BareEnd {
    async fn echo(&mut self, asked: i64) -> Result<i64, Fault> {
        let mut frame = [0; FRAME];
        frame[..4].copy_from_slice(&8_u32.to_be_bytes());
        frame[4..].copy_from_slice(&asked.to_be_bytes());
        self.stream.write_all(&frame).await?;
        loop {
            if let Some(frame) = self.buffer.frame::<FRAME>()? {
                return Ok(number(&frame));
            }
            if !self.buffer.fill(&mut self.stream).await? {
                return Err(Fault::Bug("the connection ended".into()));
            }
        }
    }
}

async fn serve_one(mut stream: TcpStream) -> Result<(), Fault> {
    let mut buffer = Buffer::<256>::new();
    loop {
        while let Some(frame) = buffer.frame::<FRAME>()? {
            stream.write_all(&frame).await?;
        }
        if !buffer.fill(&mut stream).await? {
            return Ok(());
        }
    }
}

impl Transport for Bare {
    type End = BareEnd;

    async fn serve(_pairs: usize) -> Result<SocketAddr, Fault> {
        tcp::serve(serve_one).await
    }

    async fn connect(addr: SocketAddr, pairs: usize) -> Result<Vec<BareEnd>, Fault> {
        tcp::connect_each(addr, pairs, |stream| async {
            Ok(BareEnd {
                stream,
                buffer: Buffer::new(),
            })
        })
        .await
    }
}

/// A shared connection, frame by frame.
pub(crate) struct BareParcels;

pub(crate) struct Reader {
    from: OwnedReadHalf,
    buffer: Buffer<65_536>,
}

pub(crate) struct Writer {
    to: OwnedWriteHalf,
    bytes: Vec<u8>,
}

impl Parcels for BareParcels {
    type Reader = Reader;
    type Writer = Writer;

    fn split(stream: TcpStream) -> (Reader, Writer) {
        let (from, to) = stream.into_split();
        let buffer = Buffer::new();
        (
            Reader { from, buffer },
            Writer {
                to,
                bytes: Vec::new(),
            },
        )
    }

    async fn read(reader: &mut Reader) -> Result<Option<Parcel>, Fault> {
        loop {
            if let Some(frame) = reader.buffer.frame::<MUX_FRAME>()? {
                let [_, _, _, _, a, b, c, d, ..] = frame;
                let pair = u32::from_be_bytes([a, b, c, d]);
                return Ok(Some(Parcel {
                    pair,
                    number: number(&frame),
                }));
            }
            if !reader.buffer.fill(&mut reader.from).await? {
                return Ok(None);
            }
        }
    }

    async fn write(writer: &mut Writer, parcels: &[Parcel]) -> Result<(), Fault> {
        writer.bytes.clear();
        for parcel in parcels {
            writer.bytes.extend_from_slice(&12_u32.to_be_bytes());
            writer.bytes.extend_from_slice(&parcel.pair.to_be_bytes());
            writer.bytes.extend_from_slice(&parcel.number.to_be_bytes());
        }
        Ok(writer.to.write_all(&writer.bytes).await?)
    }
}
