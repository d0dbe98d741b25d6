//! All pairs over one bare connection: a task that reads and routes, one that writes what waits, and
//! at the server's end a task with a queue of its own for every pair.

use std::net::SocketAddr;

use peer_protocol::net::{Buffer, End, Parcel, Transport, Write as _};
use tidings::net::{ReadHalf, TcpStream, WriteHalf};
use tidings::{Receiver, Sender, unbounded, yield_now};

use super::frames::{Stream, connect, serve};
use crate::cell::Fault;

async fn write_all(to: WriteHalf<TcpStream>, parcels: Receiver<Parcel>) -> Result<(), Fault> {
    let mut to = Stream(to);
    let (mut batch, mut bytes) = (Vec::with_capacity(Parcel::BATCH), Vec::new());
    while parcels.recv_many(&mut batch, Parcel::BATCH).await > 0 {
        // The first parcel woke it, while those who will send the next are ready and have not run.
        yield_now().await;
        let room = Parcel::BATCH - batch.len();
        parcels.try_recv_many(&mut batch, room);
        bytes.clear();
        batch.drain(..).for_each(|parcel| parcel.put(&mut bytes));
        to.write_all(&bytes).await?;
    }
    Ok(())
}

async fn route(from: ReadHalf<TcpStream>, pairs: Vec<Sender<i64>>) -> Result<(), Fault> {
    let (mut from, mut buffer) = (Stream(from), Buffer::default());
    while let Some(Parcel { pair, number }) = Parcel::next(&mut buffer, &mut from).await? {
        let Some(queue) = pairs.get(pair as usize) else {
            return Err(Fault::Bug(format!("pair {pair} of {}", pairs.len())));
        };
        queue
            .try_send(number)
            .map_err(|_| Fault::Bug(format!("pair {pair} is gone")))?;
    }
    Ok(())
}

async fn serve_pairs(stream: TcpStream, pairs: usize) -> Result<(), Fault> {
    let (from, to) = stream.into_split();
    let (answers, answered) = unbounded();
    let server = |pair| {
        let (queue, requests) = unbounded();
        let answers = answers.clone();
        drop(tidings::spawn(async move {
            while let Ok(number) = requests.recv().await {
                if answers.try_send(Parcel { pair, number }).is_err() {
                    return; // the writer told why
                }
            }
        }));
        queue
    };
    let queues = (0..pairs as u32).map(server).collect();
    drop(answers);
    let writing = tidings::spawn(write_all(to, answered));
    route(from, queues).await?;
    writing.await?
}

/// A client's end of the shared connection.
pub(super) struct MuxEnd {
    pair: u32,
    requests: Sender<Parcel>,
    answers: Receiver<i64>,
}

impl End for MuxEnd {
    async fn echo(&mut self, number: i64) -> Result<i64, Fault> {
        let pair = self.pair;
        self.requests
            .try_send(Parcel { pair, number })
            .map_err(|_| Fault::bug("the connection ended"))?;
        Ok(self.answers.recv().await?)
    }
}

pub(super) struct Mux;

impl Transport for Mux {
    type End = MuxEnd;

    async fn serve(pairs: usize) -> Result<SocketAddr, Fault> {
        serve(move |stream| serve_pairs(stream, pairs)).await
    }

    async fn connect(addr: SocketAddr, pairs: usize) -> Result<Vec<MuxEnd>, Fault> {
        let (from, to) = connect(addr).await?.into_split();
        let (requests, asked) = unbounded();
        let (mut ends, mut queues) = (Vec::new(), Vec::new());
        for pair in 0..pairs as u32 {
            let (queue, answers) = unbounded();
            queues.push(queue);
            ends.push(MuxEnd {
                pair,
                requests: requests.clone(),
                answers,
            });
        }
        for task in [
            tidings::spawn(write_all(to, asked)),
            tidings::spawn(route(from, queues)),
        ] {
            drop(tidings::spawn(async move {
                if let Ok(Err(fault)) = task.await {
                    eprintln!("peer-tidings: the shared connection: {fault:?}");
                }
            }));
        }
        Ok(ends)
    }
}
