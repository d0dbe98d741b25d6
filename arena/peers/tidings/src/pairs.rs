//! pingpong, the rest: fixed channels, a reply cell per call, choices on both sides.

use tidings::channel::oneshot::{self, oneshot};
use tidings::event::Nack;
use tidings::{Either, Event, JoinHandle, Receiver, RecvError, Sender, channel, with_nack};

use crate::cell::{Counts, Fault};
use crate::pingpong::{GONE, Way, side, with_room};

/// One task of a pair, and what it did.
pub(crate) type Side = JoinHandle<Counts>;

/// Starts all pairs, waits for both sides of each.
pub(crate) async fn pairs(p: i64, start: impl Fn() -> [Side; 2]) -> Result<Counts, Fault> {
    let sides: Vec<Side> = (0..p).flat_map(|_| start()).collect();
    let mut counts = Counts::default();
    for side in sides {
        counts += side.await?;
    }
    Ok(counts)
}

/// Two channels per pair, the message is the number alone.
pub(crate) fn fixed<W: Way>(n: i64, room: usize) -> [Side; 2] {
    let (request, requests) = with_room(room);
    let (reply, replies) = with_room(room);
    let server = tidings::spawn(async move {
        let mut sent = 0;
        while let Ok(seq) = requests.recv().await {
            W::send(&reply, seq).await;
            sent += 1;
        }
        side(sent, 0)
    });
    let client = tidings::spawn(async move {
        let mut sum = 0;
        for seq in 0..n {
            W::send(&request, seq).await;
            sum += replies.recv().await.expect("the server answers");
        }
        side(n, sum)
    });
    [server, client]
}

/// A fresh one-shot cell per call, carried by the request over a rendezvous channel.
pub(crate) fn call<W: Way>(n: i64) -> [Side; 2] {
    let (request, requests) = channel::<(i64, oneshot::Sender<i64>)>();
    let server = tidings::spawn(async move {
        let mut sent = 0;
        while let Ok((seq, reply)) = requests.recv().await {
            reply.send(seq).expect("the client waits");
            sent += 1;
        }
        side(sent, 0)
    });
    let client = tidings::spawn(async move {
        let mut sum = 0;
        for seq in 0..n {
            let (reply, answer) = oneshot();
            W::send(&request, (seq, reply)).await;
            sum += answer.await.expect("the server answers");
        }
        side(n, sum)
    });
    [server, client]
}

/// A request that can be withdrawn.
struct Request {
    seq: i64,
    reply: Sender<i64>,
    nack: Nack,
}

/// Posts a request when it is performed, and waits for its answer.
fn asked<'a>(
    request: &'a Sender<Request>,
    seq: i64,
    reply: Sender<i64>,
    answer: &'a Receiver<i64>,
) -> impl Event<Output = Result<i64, RecvError>> + Send + 'a {
    with_nack(move |nack| {
        assert!(request.post(Request { seq, reply, nack }).is_ok(), "{GONE}");
        answer.recv()
    })
}

/// As `call-send`; the server chooses between the reply, which is given, and the nack.
pub(crate) fn call_nack(n: i64) -> [Side; 2] {
    let (request, requests) = channel::<Request>();
    let server = tidings::spawn(async move {
        let mut sent = 0;
        while let Ok(Request { seq, reply, nack }) = requests.recv().await {
            if let Either::Left(given, _) = reply.send(seq).either(nack.lost()).await {
                given.expect("the client waits");
                sent += 1;
            }
        }
        side(sent, 0)
    });
    let client = tidings::spawn(async move {
        let mut sum = 0;
        for seq in 0..n {
            let (reply, answer) = channel();
            sum += asked(&request, seq, reply, &answer)
                .await
                .expect("the server answers");
        }
        side(n, sum)
    });
    [server, client]
}

/// As `give-fixed`, each operation in a choice with a receive on a channel nobody sends on.
pub(crate) fn choice(n: i64) -> [Side; 2] {
    let (request, requests) = channel();
    let (reply, replies) = channel();
    let server = tidings::spawn(async move {
        let (_open, never) = channel::<i64>();
        let mut sent = 0;
        while let Ok(seq) = requests.recv().or(never.recv()).await {
            let given = reply.send(seq).map(|given| i64::from(given.is_ok()));
            sent += given.or(never.recv().map(|_| 0)).await;
        }
        side(sent, 0)
    });
    let client = tidings::spawn(async move {
        let (_open, never) = channel::<i64>();
        let (mut sent, mut sum) = (0, 0);
        for seq in 0..n {
            let given = request.send(seq).map(|given| i64::from(given.is_ok()));
            sent += given.or(never.recv().map(|_| 0)).await;
            sum += replies
                .recv()
                .or(never.recv())
                .await
                .expect("the server answers");
        }
        side(sent, sum)
    });
    [server, client]
}
