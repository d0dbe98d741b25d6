//! All pairs over one connection of tokio: a task that reads and routes, one that writes what waits, and at the server's
//! end a task with a queue of its own for every pair.

use std::future::poll_fn;
use std::marker::PhantomData;
use std::mem::replace;
use std::net::SocketAddr;
use std::task::Poll;

use peer_protocol::net::{End, Parcel, Transport};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::cells::Fault;
use crate::tcp;

/// How parcels are put on a connection.
pub(crate) trait Parcels: Send + 'static {
    type Reader: Send + 'static;
    type Writer: Send + 'static;

    fn split(stream: TcpStream) -> (Self::Reader, Self::Writer);

    /// `None` when the other side has closed.
    fn read(
        reader: &mut Self::Reader,
    ) -> impl Future<Output = Result<Option<Parcel>, Fault>> + Send;

    /// Writes all of them, together.
    fn write(
        writer: &mut Self::Writer,
        parcels: &[Parcel],
    ) -> impl Future<Output = Result<(), Fault>> + Send;
}

/// Goes to the end of the queue once. tokio's own `yield_now` waits for a look at the sockets, too: three times the packets
/// of this one, as counted with 100 callers.
async fn let_others_run() {
    let mut has_waited = false;
    poll_fn(|cx| {
        if replace(&mut has_waited, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

async fn write_all<P: Parcels>(
    mut writer: P::Writer,
    mut parcels: UnboundedReceiver<Parcel>,
) -> Result<(), Fault> {
    let mut batch = Vec::with_capacity(Parcel::BATCH);
    while parcels.recv_many(&mut batch, Parcel::BATCH).await > 0 {
        // The first parcel woke it, while those who will send the next are ready and have not run.
        let_others_run().await;
        while batch.len() < Parcel::BATCH
            && let Ok(parcel) = parcels.try_recv()
        {
            batch.push(parcel);
        }
        P::write(&mut writer, &batch).await?;
        batch.clear();
    }
    Ok(())
}

async fn route<P: Parcels>(
    mut reader: P::Reader,
    pairs: Vec<UnboundedSender<i64>>,
) -> Result<(), Fault> {
    while let Some(Parcel { pair, number }) = P::read(&mut reader).await? {
        let Some(queue) = pairs.get(pair as usize) else {
            return Err(Fault::Bug(format!("pair {pair} of {}", pairs.len())));
        };
        queue
            .send(number)
            .map_err(|_| Fault::Bug(format!("pair {pair} is gone")))?;
    }
    Ok(())
}

async fn serve_pairs<P: Parcels>(stream: TcpStream, pairs: usize) -> Result<(), Fault> {
    let (reader, writer) = P::split(stream);
    let (answers, answered) = unbounded_channel();
    let server = |pair| {
        let (queue, mut requests) = unbounded_channel();
        let answers = answers.clone();
        tokio::spawn(async move {
            while let Some(number) = requests.recv().await {
                if answers.send(Parcel { pair, number }).is_err() {
                    return; // the writer told why
                }
            }
        });
        queue
    };
    let queues = (0..pairs as u32).map(server).collect();
    drop(answers);
    let writing = tokio::spawn(write_all::<P>(writer, answered));
    route::<P>(reader, queues).await?;
    writing.await?
}

/// A client's end of the shared connection.
pub(crate) struct MuxEnd {
    pair: u32,
    requests: UnboundedSender<Parcel>,
    answers: UnboundedReceiver<i64>,
}

impl End for MuxEnd {
    async fn echo(&mut self, number: i64) -> Result<i64, Fault> {
        let gone = || Fault::Bug("the connection ended".into());
        let pair = self.pair;
        self.requests
            .send(Parcel { pair, number })
            .map_err(|_| gone())?;
        self.answers.recv().await.ok_or_else(gone)
    }
}

pub(crate) struct Mux<P>(PhantomData<P>);

impl<P: Parcels> Transport for Mux<P> {
    type End = MuxEnd;

    async fn serve(pairs: usize) -> Result<SocketAddr, Fault> {
        tcp::serve(move |stream| serve_pairs::<P>(stream, pairs)).await
    }

    async fn connect(addr: SocketAddr, pairs: usize) -> Result<Vec<MuxEnd>, Fault> {
        let (reader, writer) = P::split(tcp::connect(addr).await?);
        let (requests, asked) = unbounded_channel();
        let (mut ends, mut queues) = (Vec::new(), Vec::new());
        for pair in 0..pairs as u32 {
            let (queue, answers) = unbounded_channel();
            queues.push(queue);
            ends.push(MuxEnd {
                pair,
                requests: requests.clone(),
                answers,
            });
        }
        for task in [
            tokio::spawn(write_all::<P>(writer, asked)),
            tokio::spawn(route::<P>(reader, queues)),
        ] {
            tokio::spawn(async move {
                if let Ok(Err(fault)) = task.await {
                    eprintln!("peer-rust-net: the shared connection: {fault:?}");
                }
            });
        }
        Ok(ends)
    }
}
