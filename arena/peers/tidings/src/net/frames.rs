//! The runtime's sockets and nothing else: frames by hand, a connection per client.

use std::net::{Ipv4Addr, SocketAddr};

use futures::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tidings::net::{TcpListener, TcpStream};

use super::{End, Transport};
use crate::cell::Fault;

/// A frame is the length of what follows in 4 bytes, then it; integers are big-endian.
const FRAME: usize = 4 + 8;

/// What a connection has read and not used yet.
pub(super) struct Buffer<const SIZE: usize> {
    bytes: Box<[u8; SIZE]>,
    begin: usize,
    end: usize,
}

impl<const SIZE: usize> Buffer<SIZE> {
    pub(super) fn new() -> Self {
        Self {
            bytes: Box::new([0; SIZE]),
            begin: 0,
            end: 0,
        }
    }

    /// The next frame that is here in whole.
    pub(super) fn frame<const LENGTH: usize>(&mut self) -> Result<Option<[u8; LENGTH]>, Fault> {
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
    pub(super) async fn fill(
        &mut self,
        from: &mut (impl AsyncRead + Unpin),
    ) -> Result<bool, Fault> {
        self.bytes.copy_within(self.begin..self.end, 0);
        self.end -= self.begin;
        self.begin = 0;
        let count = from.read(&mut self.bytes[self.end..]).await?;
        self.end += count;
        if count == 0 && self.end > 0 {
            return Err(Fault::bug("the connection ended inside a frame"));
        }
        Ok(count > 0)
    }
}

/// The number that a frame ends with.
pub(super) fn number(frame: &[u8]) -> i64 {
    frame
        .last_chunk()
        .map_or(0, |number| i64::from_be_bytes(*number))
}

/// Accepts for ever; `handle` gets each connection in a task of its own.
pub(super) async fn serve<F, H>(handle: H) -> Result<SocketAddr, Fault>
where
    H: Fn(TcpStream) -> F + Send + 'static,
    F: Future<Output = Result<(), Fault>> + Send + 'static,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let addr = listener.local_addr()?;
    drop(tidings::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let connection = handle(stream);
            drop(tidings::spawn(async move {
                if let Err(fault) = connection.await {
                    eprintln!("peer-tidings: a connection ended: {fault:?}");
                }
            }));
        }
        #[expect(unreachable_code, reason = "tells the type")]
        Ok::<(), Fault>(())
    }));
    Ok(addr)
}

pub(super) async fn connect(addr: SocketAddr) -> Result<TcpStream, Fault> {
    let stream = TcpStream::connect(addr).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A connection for each client, all at once.
pub(super) struct Frames;

pub(super) struct FramesEnd {
    stream: TcpStream,
    buffer: Buffer<256>,
}

impl End for FramesEnd {
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
                return Err(Fault::bug("the connection ended"));
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

impl Transport for Frames {
    type End = FramesEnd;

    async fn serve(_pairs: usize) -> Result<SocketAddr, Fault> {
        serve(serve_one).await
    }

    async fn connect(addr: SocketAddr, pairs: usize) -> Result<Vec<FramesEnd>, Fault> {
        let tasks: Vec<_> = (0..pairs).map(|_| tidings::spawn(connect(addr))).collect();
        let mut ends = Vec::with_capacity(pairs);
        for task in tasks {
            ends.push(FramesEnd {
                stream: task.await??,
                buffer: Buffer::new(),
            });
        }
        Ok(ends)
    }
}
