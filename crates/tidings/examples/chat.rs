//! A chat over TCP: a server, and two guests who talk to each other, in one process.
//! `cargo run -p tidings --example chat`.

use std::io;
use std::net::SocketAddr;

use futures::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use futures::{StreamExt, TryStreamExt};
use tidings::channel::broadcast::{self, RecvError};
use tidings::net::{ReadHalf, TcpListener, TcpStream, WriteHalf};
use tidings::select;

/// Serves everybody who comes, until it is aborted.
async fn serve(listener: TcpListener) -> io::Result<()> {
    let (room, _) = tidings::broadcast(64);
    loop {
        let (stream, _) = listener.accept().await?;
        tidings::spawn(host(stream, room.clone()));
    }
}

/// One guest: what he says goes to all, and what anybody says goes to him. His first line is his name.
async fn host(stream: TcpStream, room: broadcast::Sender<String>) -> io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut heard = room.subscribe();
    let mut listens = tidings::spawn(async move {
        let mut lines = BufReader::new(reader).lines();
        let Some(Ok(name)) = lines.next().await else {
            return;
        };
        let _ = room.send(format!("{name} is here\n"));
        while let Some(Ok(line)) = lines.next().await {
            let _ = room.send(format!("{name}: {line}\n"));
        }
    });
    loop {
        // A read of a socket is a future; the end of the task that reads is an event.
        select! {
            said = heard.recv() => match said {
                Ok(line) => writer.write_all(line.as_bytes()).await?,
                Err(RecvError::Lagged(n)) => eprintln!("a slow guest has missed {n} lines"),
                Err(RecvError::Closed) => return Ok(()),
            },
            _ = listens.join() => return Ok(()),
        }
    }
}

type Hears = Lines<BufReader<ReadHalf<TcpStream>>>;

async fn enter(server: SocketAddr, name: &str) -> io::Result<(Hears, WriteHalf<TcpStream>)> {
    let (reader, mut writer) = TcpStream::connect(server).await?.into_split();
    writer.write_all(format!("{name}\n").as_bytes()).await?;
    Ok((BufReader::new(reader).lines(), writer))
}

/// What the two of them hear.
pub(crate) async fn talk() -> io::Result<[Vec<String>; 2]> {
    let listener = TcpListener::bind(([127, 0, 0, 1], 0))?;
    let at = listener.local_addr()?;
    let server = tidings::spawn(serve(listener));

    let (mut ann, mut ann_says) = enter(at, "ann").await?;
    let mut heard: Vec<String> = ann.by_ref().take(1).try_collect().await?;
    let (bob, mut bob_says) = enter(at, "bob").await?;
    bob_says.write_all(b"anybody here?\n").await?;
    heard.extend(ann.take(2).try_collect::<Vec<_>>().await?);
    ann_says.write_all(b"me\n").await?;
    let heard = [heard, bob.take(3).try_collect().await?];
    server.abort();
    Ok(heard)
}

#[tidings::main]
async fn main() -> io::Result<()> {
    let [ann, bob] = talk().await?;
    println!("ann heard {ann:#?}\nbob heard {bob:#?}");
    Ok(())
}
