//! A server that ends well. At SIGTERM or ctrl-C it accepts nobody any more; who is being served gets his answer, if it
//! does not take too long, and who is left then is cut off. `cargo run -p tidings --example graceful`.

use std::io;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use futures::future::{Either, select};
use futures::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tidings::net::{TcpListener, TcpStream};
use tidings::signal::{SignalKind, signal};
use tidings::{CancellationToken, Event, JoinError, JoinSet, after, select, time};

/// What has become of those who came.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) to_the_end: usize,
    pub(crate) cut_off: usize,
}

impl Served {
    fn count(&mut self, end: &Result<io::Result<()>, JoinError>) {
        match end {
            Ok(Ok(())) => self.to_the_end += 1,
            _ => self.cut_off += 1,
        }
    }
}

/// Serves until it is told to stop, and then for so long at most.
pub(crate) async fn serve(
    listener: TcpListener,
    stop: CancellationToken,
    patience: Duration,
) -> Served {
    let mut served = Served::default();
    let mut guests = JoinSet::new();
    loop {
        select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(guests.spawn(host(stream, stop.clone()))),
                // One that broke off, or too many open files: the next may do.
                Err(_) => after(Duration::from_millis(100)).await,
            },
            end = guests.joined() => served.count(&end),
        }
    }
    // From here on the system refuses who comes.
    drop(listener);
    let all = async {
        while let Some(end) = guests.join_next().await {
            served.count(&end);
        }
    };
    if time::timeout(patience, all).await.is_err() {
        guests.abort_all();
        while let Some(end) = guests.join_next().await {
            served.count(&end);
        }
    }
    served
}

/// One guest, until he goes, or the server stops while he has asked nothing.
async fn host(stream: TcpStream, stop: CancellationToken) -> io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut questions = BufReader::new(reader).lines();
    loop {
        let stopped = pin!(stop.cancelled().into_future());
        let question = match select(questions.next(), stopped).await {
            Either::Left((Some(question), _)) => question?,
            Either::Left((None, _)) | Either::Right(_) => return Ok(()),
        };
        // This is not given up when the server stops.
        let answer = answer(&question).await;
        writer.write_all(answer.as_bytes()).await?;
    }
}

/// As many seconds later as was asked for.
async fn answer(question: &str) -> String {
    match question.parse() {
        Ok(seconds) => {
            after(Duration::from_secs(seconds)).await;
            format!("{seconds} seconds have passed\n")
        }
        Err(_) => "so many seconds?\n".to_owned(),
    }
}

#[tidings::main]
async fn main() -> io::Result<()> {
    let listener = TcpListener::bind(([127, 0, 0, 1], 0))?;
    println!(
        "process {} at {}: ask it a number of seconds, then press ctrl-C",
        std::process::id(),
        listener.local_addr()?
    );
    let stop = CancellationToken::new();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let told = stop.clone();
    drop(tidings::spawn(async move {
        interrupt.recv().or(terminate.recv()).await;
        told.cancel();
    }));
    println!("{:?}", serve(listener, stop, Duration::from_secs(10)).await);
    Ok(())
}
