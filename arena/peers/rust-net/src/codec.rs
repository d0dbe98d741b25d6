//! tokio's sockets behind `tokio_util`'s `LengthDelimitedCodec`, whose frames are those of `WORKLOADS.md`.

use std::net::SocketAddr;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures::{SinkExt, StreamExt};
use peer_protocol::net::{End, Parcel, Transport};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio_util::codec::{Framed, FramedRead, FramedWrite, LengthDelimitedCodec};

use crate::cells::Fault;
use crate::mux::Parcels;
use crate::tcp;

/// A connection per client.
pub(crate) struct Codec;

pub(crate) struct CodecEnd(Framed<TcpStream, LengthDelimitedCodec>);

impl End for CodecEnd {
    async fn echo(&mut self, asked: i64) -> Result<i64, Fault> {
        let mut frame = BytesMut::with_capacity(8);
        frame.put_i64(asked);
        self.0.send(frame.freeze()).await?;
        let Some(frame) = self.0.next().await else {
            return Err(Fault::Bug("the connection ended".into()));
        };
        frame?.try_get_i64().map_err(Fault::bug)
    }
}

async fn serve_one(stream: TcpStream) -> Result<(), Fault> {
    let mut framed = Framed::new(stream, LengthDelimitedCodec::new());
    while let Some(frame) = framed.next().await {
        framed.send(frame?.freeze()).await?;
    }
    Ok(())
}

impl Transport for Codec {
    type End = CodecEnd;

    async fn serve(_pairs: usize) -> Result<SocketAddr, Fault> {
        tcp::serve(serve_one).await
    }

    async fn connect(addr: SocketAddr, pairs: usize) -> Result<Vec<CodecEnd>, Fault> {
        tcp::connect_each(addr, pairs, |stream| async {
            Ok(CodecEnd(Framed::new(stream, LengthDelimitedCodec::new())))
        })
        .await
    }
}

/// A shared connection.
pub(crate) struct CodecParcels;

impl Parcels for CodecParcels {
    type Reader = FramedRead<OwnedReadHalf, LengthDelimitedCodec>;
    type Writer = FramedWrite<OwnedWriteHalf, LengthDelimitedCodec>;

    fn split(stream: TcpStream) -> (Self::Reader, Self::Writer) {
        let (from, to) = stream.into_split();
        (
            FramedRead::new(from, LengthDelimitedCodec::new()),
            FramedWrite::new(to, LengthDelimitedCodec::new()),
        )
    }

    async fn read(reader: &mut Self::Reader) -> Result<Option<Parcel>, Fault> {
        let Some(frame) = reader.next().await else {
            return Ok(None);
        };
        let mut frame = frame?;
        let pair = frame.try_get_u32().map_err(Fault::bug)?;
        let number = frame.try_get_i64().map_err(Fault::bug)?;
        Ok(Some(Parcel { pair, number }))
    }

    async fn write(writer: &mut Self::Writer, parcels: &[Parcel]) -> Result<(), Fault> {
        let mut frames = BytesMut::with_capacity(12 * parcels.len());
        for parcel in parcels {
            frames.put_u32(parcel.pair);
            frames.put_i64(parcel.number);
            writer.feed(frames.split().freeze()).await?;
        }
        Ok(SinkExt::<Bytes>::flush(writer).await?)
    }
}
