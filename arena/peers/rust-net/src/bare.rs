//! tokio's sockets and nothing else: frames by hand.

use std::net::SocketAddr;

use peer_protocol::net::{Buffer, Framed, Parcel, Transport, Write as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::cells::Fault;
use crate::mux::Parcels;
use crate::tcp::{self, Stream};

/// A connection per client.
pub(crate) struct Bare;

impl Transport for Bare {
    type End = Framed<Stream<TcpStream>>;

    async fn serve(_pairs: usize) -> Result<SocketAddr, Fault> {
        tcp::serve(|stream| Framed::new(Stream(stream)).serve()).await
    }

    async fn connect(addr: SocketAddr, pairs: usize) -> Result<Vec<Self::End>, Fault> {
        tcp::connect_each(addr, pairs, |stream| async {
            Ok(Framed::new(Stream(stream)))
        })
        .await
    }
}

/// A shared connection, frame by frame.
pub(crate) struct BareParcels;

pub(crate) struct Reader {
    from: Stream<OwnedReadHalf>,
    buffer: Buffer<65_536>,
}

pub(crate) struct Writer {
    to: Stream<OwnedWriteHalf>,
    bytes: Vec<u8>,
}

impl Parcels for BareParcels {
    type Reader = Reader;
    type Writer = Writer;

    fn split(stream: TcpStream) -> (Reader, Writer) {
        let (from, to) = stream.into_split();
        let reader = Reader {
            from: Stream(from),
            buffer: Buffer::default(),
        };
        let writer = Writer {
            to: Stream(to),
            bytes: Vec::new(),
        };
        (reader, writer)
    }

    async fn read(reader: &mut Reader) -> Result<Option<Parcel>, Fault> {
        Parcel::next(&mut reader.buffer, &mut reader.from).await
    }

    async fn write(writer: &mut Writer, parcels: &[Parcel]) -> Result<(), Fault> {
        writer.bytes.clear();
        for parcel in parcels {
            parcel.put(&mut writer.bytes);
        }
        Ok(writer.to.write_all(&writer.bytes).await?)
    }
}
